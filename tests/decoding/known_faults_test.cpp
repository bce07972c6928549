// What implementations of these loops are known to get wrong, each as a test of what is right.
#include <gtest/gtest.h>

#include <cmath>

#include "scenario.h"

namespace decoding_test::known_faults_test {
namespace {

class KnownFaults : public testing::Test {
 protected:
  Model *add_model(NextLogits next_logits, Limits limits) {
    models_.push_back(std::make_unique<Model>(limits, std::move(next_logits), &calls_));
    return models_.back().get();
  }
  Model *add_model(NextLogits next_logits) {
    Limits limits;
    limits.vocabulary_size = 3;
    return add_model(std::move(next_logits), limits);
  }
  // Behind a text whose last token is i: the token next[i], with certainty.
  Model *add_chain(const Tokens &next) {
    Limits limits;
    limits.vocabulary_size = std::int64_t(next.size());
    return add_model(
        [next](const Tokens &text) {
          Logits logits(next.size(), 0.0f);
          logits[std::size_t(next[std::size_t(text.back())])] = 50.0f;
          return logits;
        },
        limits);
  }

  Calls calls_;
  Sampler sampler_ = make_sampler();
  std::vector<std::unique_ptr<Model>> models_;
};

// With a coin the draft would be kept with probability 5/9, and the residual is token 1.
TEST_F(KnownFaults, GreedySpeculationThrowsNoCoin) {
  Model *const target = add_model(constant_logits(logits_of({0.5, 0.4, 0.1})));
  Model *const drafter = add_model(constant_logits(logits_of({0.9, 0.1, 0})));
  Model *const wrong_drafter = add_model(constant_logits(logits_of({0.1, 0.9, 0})));
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Generation generation(target, {{2}, {1, 0}});
    generation.args.seed = seed * 0x9E3779B97F4A7C15u;
    generation.args.use_cache = seed % 2;
    generation.args.max_new_tokens = 12;
    for (Model *model : {drafter, wrong_drafter}) {
      for (const Text &text : generation.texts_of(sampler_.get(), speculative(model))) {
        ASSERT_EQ(text.tokens, Tokens(12, 0));
        ASSERT_EQ(text.num_accepted, model == drafter ? text.num_drafted : 0);
      }
    }
  }
}

// A mismatch that is drawn again makes this p (2 - p), which is 3/4.
TEST_F(KnownFaults, NgramDraftOfProbabilityOneHalfComesHalfOfTheTime) {
  Limits limits;
  limits.vocabulary_size = 3;
  limits.max_sequences = 20000;
  Model *const target = add_model(constant_logits(logits_of({0.5, 0.3, 0.2})), limits);
  ScriptedNgram ngram([](const Tokens &) { return ScriptedNgram::Next{0, true}; }, &calls_);
  Generation generation(target, std::vector<Tokens>(20000, Tokens{1}));
  generation.args.processor = SAMPLER_PROCESSOR_SAMPLE;
  generation.args.max_new_tokens = 2;
  SpeculativeArgs args;
  args.first_target = 0;
  std::int64_t num_drafts = 0, num_zeros = 0;
  for (const Text &text :
       generation.texts_of(sampler_.get(), speculative(ngram.interface(), args))) {
    num_drafts += text.num_drafted > 0;
    num_zeros += text.tokens[0] == 0;
  }
  EXPECT_EQ(num_drafts, 20000);
  // Half of 20000 draws has a standard deviation of 71.
  EXPECT_NEAR(double(num_zeros), 10000.0, 5 * 71);
}

// End tokens 1 and 2; what is drafted is 2, 1.
TEST_F(KnownFaults, TheEarliestOfSeveralEndTokensEnds) {
  Model *const target = add_chain({2, 1, 1});
  ScriptedNgram ngram(
      [](const Tokens &context) {
        return ScriptedNgram::Next{context.back() == 0 ? 2 : 1, true};
      },
      &calls_);
  for (const std::vector<std::int32_t> &ends :
       {std::vector<std::int32_t>{1, 2}, std::vector<std::int32_t>{2, 1}}) {
    for (const int first_target : {0, 1}) {
      SpeculativeArgs args;
      args.first_target = first_target;
      for (const Loop &loop :
           {autoregressive(), speculative(target, args), speculative(ngram.interface(), args)}) {
        Model *const own_target = add_chain({2, 1, 1});
        Generation generation(own_target, {{0}, {0, 0}});
        generation.ends = ends;
        for (const Text &text : generation.texts_of(sampler_.get(), loop)) {
          EXPECT_EQ(text.tokens, Tokens{2});
          EXPECT_EQ(text.reason, SAMPLER_FINISH_END_TOKEN);
        }
      }
    }
  }
}

TEST_F(KnownFaults, PruningNothingKeepsTheCache) {
  // Each draft is what the target says: nothing is ever cut off.
  Model *const target = add_chain({1, 2, 3, 4, 0});
  Model *const drafter = add_chain({1, 2, 3, 4, 0});
  Generation generation(target, {{0, 1}, {3}});
  generation.args.use_cache = 1;
  generation.args.max_new_tokens = 23;
  SpeculativeArgs args;
  args.gamma = 4;
  const auto &texts = generation.texts_of(sampler_.get(), speculative(drafter, args));
  EXPECT_EQ(generation.stats().acceptance_rate, 1.0);
  EXPECT_EQ(target->num_truncates(), 0);
  EXPECT_EQ(drafter->num_truncates(), 0);
  // No token is fed twice.
  EXPECT_EQ(target->num_tokens_fed(), texts[0].cache_length + texts[1].cache_length);
  EXPECT_EQ(drafter->num_tokens_fed(),
            std::int64_t(drafter->cache(0).size() + drafter->cache(1).size()));
  std::int64_t from_target = -1, from_drafter = -1, missing = -1;
  ASSERT_EQ(sampler_prune_count(5, 5, &from_target, &from_drafter, &missing), SAMPLER_OK);
  EXPECT_EQ(from_target, 0);
  EXPECT_EQ(from_drafter, 0);
}

// After token 0: 1, which ends, with p = 0.6, else 2; after 2: 2 or 3, with 0.5 each. So one beam
// ends at first with the best score; with alpha 8 the others overtake it as they grow.
TEST_F(KnownFaults, AFinishedBeamKeepsItsScore) {
  Limits limits;
  limits.vocabulary_size = 4;
  Model *const target = add_model(
      [](const Tokens &text) {
        return text.back() == 0 ? logits_of({0, 0.6, 0.4, 0}) : logits_of({0, 0, 0.5, 0.5});
      },
      limits);
  const Tokens prompt = {0};
  const std::int64_t offsets[] = {0, 1};
  const sampler_model model = target->interface();
  sampler_generation_args generation = sampler_generation_args_default();
  generation.target = &model;
  generation.num_sequences = 1;
  generation.prompt_offsets = offsets;
  generation.prompt_token_ids = prompt.data();
  generation.max_new_tokens = 4;
  Tokens token_ids(9 * 4);
  std::int64_t lengths[9];
  sampler_finish_reason reasons[9];
  float scores[9];
  generation.out_token_ids = token_ids.data();
  generation.out_lengths = lengths;
  generation.out_finish_reasons = reasons;
  sampler_beam_search_args args = sampler_beam_search_args_default();
  args.generation = &generation;
  args.num_beams = args.num_results = 9;
  args.top_k = 2;
  args.min_length = 0;
  args.alpha = 8;
  args.out_scores = scores;
  ASSERT_EQ(sampler_beam_search(sampler_.get(), &args), SAMPLER_OK) << sampler_last_error();
  int place = 0;
  while (place < 9 && reasons[place] != SAMPLER_FINISH_END_TOKEN) ++place;
  ASSERT_LT(place, 9);
  EXPECT_GT(place, 0) << "longer beams have a better score";
  EXPECT_EQ(lengths[place], 1);
  EXPECT_EQ(token_ids[std::size_t(place) * 4], 1);
  EXPECT_NEAR(scores[place], std::log(0.6), 1e-6);  // f32
}

TEST_F(KnownFaults, BeamScoresStartAtZero) {
  Model *const target = add_model(constant_logits(logits_of({0.5, 0.375, 0.125})));
  const Tokens prompt = {2, 0};
  const std::int64_t offsets[] = {0, 2};
  const sampler_model model = target->interface();
  sampler_generation_args generation = sampler_generation_args_default();
  generation.target = &model;
  generation.num_sequences = 1;
  generation.prompt_offsets = offsets;
  generation.prompt_token_ids = prompt.data();
  generation.max_new_tokens = 1;
  Tokens token_ids(3);
  generation.out_token_ids = token_ids.data();
  for (const float alpha : {0.0f, 1.2f}) {
    float scores[3] = {};
    sampler_beam_search_args args = sampler_beam_search_args_default();
    args.generation = &generation;
    args.num_beams = args.num_results = 3;
    args.alpha = alpha;
    args.out_scores = scores;
    ASSERT_EQ(sampler_beam_search(sampler_.get(), &args), SAMPLER_OK) << sampler_last_error();
    EXPECT_EQ(token_ids, Tokens({0, 1, 2}));
    EXPECT_NEAR(scores[0], std::log(0.5), 1e-6);  // f32
    EXPECT_NEAR(scores[1], std::log(0.375), 1e-6);
    EXPECT_NEAR(scores[2], std::log(0.125), 1e-6);
  }
}

// A storage of bigrams drafts: each token of the prompt's cycle is known from the one before.
TEST_F(KnownFaults, BigramsAreStored) {
  for (const std::int32_t order : {2, 3}) {
    sampler_ngram_storage_options options = sized<sampler_ngram_storage_options>();
    options.vocabulary_size = 5;
    options.order = order;
    sampler_ngram_storage_t storage = nullptr;
    ASSERT_EQ(sampler_ngram_storage_create(&options, &storage), SAMPLER_OK);
    sampler_ngram ngram = sized<sampler_ngram>();
    ASSERT_EQ(sampler_ngram_storage_interface(storage, &ngram), SAMPLER_OK);
    Model *const target = add_chain({1, 2, 3, 4, 0});
    Generation generation(target, {{0, 1, 2, 3, 4, 0}});
    generation.args.max_new_tokens = 12;
    SpeculativeArgs args;
    args.stop_if_unknown = 1;
    generation.texts_of(sampler_.get(), speculative(ngram, args));
    EXPECT_GT(generation.stats().num_drafted, 8);
    EXPECT_EQ(generation.stats().num_accepted, generation.stats().num_drafted);
    sampler_ngram_storage_destroy(storage);
  }
}

TEST_F(KnownFaults, NothingDraftedGivesRateZero) {
  Model *const target = add_chain({1, 2, 0});
  ScriptedNgram ngram([](const Tokens &) { return ScriptedNgram::Next{0, false}; }, &calls_);
  SpeculativeArgs args;
  args.stop_if_unknown = 1;
  for (const Loop &loop : {autoregressive(), speculative(ngram.interface(), args)}) {
    Generation generation(target, {{0}});
    generation.texts_of(sampler_.get(), loop);
    EXPECT_EQ(generation.stats().num_drafted, 0);
    EXPECT_EQ(generation.stats().acceptance_rate, 0.0);
  }
  // Nor is 0 / 0 looked at where one token is all that there may be, or none.
  Model *const drafter = add_chain({1, 2, 0});
  Generation one_token(target, {{0}});
  one_token.args.max_new_tokens = 1;
  one_token.texts_of(sampler_.get(), speculative(drafter));
  EXPECT_EQ(one_token.stats().acceptance_rate, 0.0);
  Generation nothing(target, {});
  EXPECT_EQ(nothing.run(sampler_.get(), speculative(drafter)), SAMPLER_OK);
}

// ---- sampler_prune_count ------------------------------------------------------------------------

TEST(PruneCount, OfEachRound) {
  struct Case {
    std::int64_t num_drafted, num_emitted, target, drafter, missing;
  };
  for (const Case &c : std::vector<Case>{{0, 0, 0, 0, 0},
                                         {1, 0, 1, 0, 0},
                                         {1, 1, 0, 0, 1},
                                         {2, 0, 2, 1, 0},
                                         {2, 1, 1, 0, 0},
                                         {2, 2, 0, 0, 1},
                                         {5, 0, 5, 4, 0},
                                         {5, 3, 2, 1, 0},
                                         {5, 4, 1, 0, 0},
                                         {5, 5, 0, 0, 1},
                                         {INT64_MAX - 1, 0, INT64_MAX - 1, INT64_MAX - 2, 0},
                                         {INT64_MAX - 1, INT64_MAX - 1, 0, 0, 1}}) {
    SCOPED_TRACE(testing::Message() << c.num_emitted << " of " << c.num_drafted);
    std::int64_t target = -1, drafter = -1, missing = -1;
    ASSERT_EQ(sampler_prune_count(c.num_drafted, c.num_emitted, &target, &drafter, &missing),
              SAMPLER_OK);
    EXPECT_EQ(target, c.target);
    EXPECT_EQ(drafter, c.drafter);
    EXPECT_EQ(missing, c.missing);
  }
}

TEST(PruneCount, RefusesWhatIsNoRound) {
  std::int64_t out[3] = {7, 7, 7};
  const auto refused = [&](std::int64_t num_drafted, std::int64_t num_emitted,
                           const std::string &start) {
    EXPECT_EQ(sampler_prune_count(num_drafted, num_emitted, &out[0], &out[1], &out[2]),
              SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(std::string(sampler_last_error()).substr(0, start.size()), start);
    EXPECT_EQ(std::vector<std::int64_t>(out, out + 3), std::vector<std::int64_t>(3, 7));
  };
  refused(-1, 0, "num_drafted is -1; it must be");
  refused(INT64_MIN, INT64_MIN, "num_drafted is -9223372036854775808; it must be");
  refused(3, -1, "num_emitted is -1; it must be");
  refused(3, 4, "num_emitted is 4; it must be");
  refused(0, INT64_MAX, "num_emitted is 9223372036854775807; it must be");
  for (int missing = 0; missing < 3; ++missing) {
    std::int64_t *const pointers[3] = {missing == 0 ? nullptr : &out[0],
                                       missing == 1 ? nullptr : &out[1],
                                       missing == 2 ? nullptr : &out[2]};
    const char *const names[3] = {"out_target", "out_drafter", "out_missing"};
    EXPECT_EQ(sampler_prune_count(3, 1, pointers[0], pointers[1], pointers[2]),
              SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(sampler_last_error(), std::string(names[missing]) + " is NULL; it is required");
    EXPECT_EQ(std::vector<std::int64_t>(out, out + 3), std::vector<std::int64_t>(3, 7));
  }
}

}  // namespace
}  // namespace decoding_test::known_faults_test
