// Drafts of several tokens a position: what the target gets of them, and that texts stay as they
// are.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "../seed.h"
#include "../sized.h"
#include "scenario.h"

namespace decoding_test::trees_test {
namespace {

constexpr std::uint64_t kNumScenarios = 300;

void set_draws(std::uint64_t seed, Generation *generation) {
  generation->args.processor = SAMPLER_PROCESSOR_SAMPLE;
  generation->params.temperature = 0.7f;
  generation->params.top_k = std::int32_t(seed % 5);
}

// The texts of `change`d scenarios are those without drafts, and there were more trees than these.
template <class Change>
void expect_texts_without_drafts(const Change &change, std::int64_t least_trees = 300) {
  const Sampler sampler = make_sampler();
  std::int64_t num_drafted = 0, num_accepted = 0, num_trees = 0;
  for (std::uint64_t seed = 0; seed < kNumScenarios && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Scenario scenario(seed);
    scenario.take_trees();
    change(seed, &scenario);
    Generation &generation = *scenario.generation;
    const auto &texts = generation.texts_of(sampler.get(), scenario.in_trees());
    EXPECT_EQ(without_counts(texts), expected_texts(sampler.get(), *scenario.target, generation));
    scenario.expect_drafter_of_texts();
    num_drafted += generation.stats().num_drafted;
    num_accepted += generation.stats().num_accepted;
    num_trees += scenario.target->num_trees();
  }
  EXPECT_GT(num_accepted, num_drafted / 8);
  EXPECT_LT(num_accepted, num_drafted * 3 / 4);
  EXPECT_GT(num_trees, least_trees);
}

TEST(Trees, GreedyTextsAreThoseWithoutDrafts) {
  expect_texts_without_drafts([](std::uint64_t, Scenario *) {});
}

TEST(Trees, TextsBySampleMatchAreThoseWithoutDrafts) {
  expect_texts_without_drafts([](std::uint64_t seed, Scenario *scenario) {
    set_draws(seed, scenario->generation.get());
    scenario->tree_args.acceptance_params.rule = SAMPLER_ACCEPT_SAMPLE_MATCH;
  });
}

// On a clock by which all steps take as long.
TEST(Trees, TextsByAMeasuredNumberOfDraftsAreThoseWithoutDrafts) {
  std::int64_t time = 0;
  expect_texts_without_drafts(
      [&](std::uint64_t, Scenario *scenario) {
        scenario->tree_args.adaptive_gamma = SAMPLER_GAMMA_MEASURED;
        scenario->tree_args.clock = [](void *now) { return ++*static_cast<std::int64_t *>(now); };
        scenario->tree_args.clock_user = &time;
      },
      100);
}

// Rules of texts, caches, counts and traces hold by every rule, whatever is drawn.
TEST(Trees, OfEveryRuleKeepTheRules) {
  const Sampler sampler = make_sampler();
  const std::vector<float> rates(9, 0.6f);
  for (const sampler_acceptance acceptance :
       {SAMPLER_ACCEPT_STANDARD, SAMPLER_ACCEPT_TYPICAL, SAMPLER_ACCEPT_RELAXED,
        SAMPLER_ACCEPT_THRESHOLD, SAMPLER_ACCEPT_SYNTHETIC}) {
    std::int64_t num_drafted = 0, num_accepted = 0;
    for (std::uint64_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
      SCOPED_TRACE(testing::Message() << "rule " << acceptance << ", seed " << seed);
      Scenario scenario(seeded(seed));
      scenario.take_trees();
      set_draws(seed, scenario.generation.get());
      scenario.tree_args.acceptance_params.rule = acceptance;
      scenario.tree_args.acceptance_params.synthetic_rates = rates.data();
      scenario.generation->texts_of(sampler.get(), scenario.in_trees());
      num_drafted += scenario.generation->stats().num_drafted;
      num_accepted += scenario.generation->stats().num_accepted;
    }
    EXPECT_GT(num_accepted, num_drafted / 10) << acceptance;
    EXPECT_LT(num_accepted, num_drafted) << acceptance;
  }
}

// A tree of one token a position is the chain of the drafter's likeliest tokens, round by round;
// its target needs no parents.
TEST(Trees, OfTopK1AreChains) {
  const Sampler sampler = make_sampler();
  std::int64_t num_drafted = 0, num_accepted = 0;
  for (std::uint64_t seed = 0; seed < 100 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Scenario scenario(seeded(seed));
    SpeculativeArgs args;
    args.gamma = 1 + std::int64_t(seed % 6);
    Generation &generation = *scenario.generation;
    const std::vector<Text> texts =
        generation.texts_of(sampler.get(), speculative(scenario.drafter.get(), args));
    const std::vector<Round> rounds = generation.rounds();
    args.draft_top_k = 1;
    EXPECT_EQ(generation.texts_of(sampler.get(), speculative(scenario.drafter.get(), args)), texts);
    ASSERT_EQ(generation.rounds().size(), rounds.size());
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      EXPECT_EQ(generation.rounds()[i].drafts, rounds[i].drafts);
      EXPECT_EQ(generation.rounds()[i].line, rounds[i].line);
    }
    num_drafted += generation.stats().num_drafted;
    num_accepted += generation.stats().num_accepted;
  }
  EXPECT_GT(num_accepted, num_drafted / 10);
}

// ---- What the target is told --------------------------------------------------------------------

// After token t the drafter likes t + 1 best, then t + 2.
Logits one_or_two(const Tokens &text) {
  Logits logits(10, -3.0f);
  logits[std::size_t(text.back() + 1) % 10] = 3.0f;
  logits[std::size_t(text.back() + 2) % 10] = 2.0f;
  return logits;
}

// Copies of the arguments of a forward of one span.
struct Forward {
  std::int64_t start, num_logits;
  Tokens tokens, parents;

  bool operator==(const Forward &other) const {
    return start == other.start && num_logits == other.num_logits && tokens == other.tokens &&
           parents == other.parents;
  }
};
std::ostream &operator<<(std::ostream &out, const Forward &forward) {
  out << "\nfrom " << forward.start << ":";
  for (const std::int32_t token : forward.tokens) out << " " << token;
  out << ", parents";
  for (const std::int32_t parent : forward.parents) out << " " << parent;
  return out << ", " << forward.num_logits << " logits";
}

class Told : public testing::Test {
 protected:
  // One text from {5} by trees of 2 tokens a position.
  std::vector<Forward> forwards(const NextLogits &target_logits, std::int64_t use_cache,
                                std::int64_t max_span_tokens = 0) {
    Limits limits;
    limits.vocabulary_size = 10;
    limits.max_span_tokens = max_span_tokens;
    limits.reads_parents = true;
    Calls calls;
    Model target(limits, target_logits, &calls);
    limits.max_span_tokens = 0;
    limits.reads_parents = false;
    Model drafter(limits, one_or_two, &calls);
    std::vector<Forward> result;
    target.on_forward([&](const sampler_forward_args &args) {
      const std::int64_t count = args.token_offsets[args.num_spans];
      Forward forward = {args.starts[0], args.logit_counts[0], {}, {}};
      forward.tokens.assign(args.token_ids, args.token_ids + count);
      if (args.parents) forward.parents.assign(args.parents, args.parents + count);
      result.push_back(forward);
    });
    generation_ = std::make_unique<Generation>(&target, prompts_);
    generation_->args.max_new_tokens = 7;
    generation_->args.use_cache = std::int32_t(use_cache);
    SpeculativeArgs args;
    args.gamma = 5;
    args.draft_top_k = 2;
    const Sampler sampler = make_sampler();
    generation_->texts_of(sampler.get(), speculative(&drafter, args));
    num_truncates_ = target.num_truncates();
    return result;
  }

  std::vector<Tokens> prompts_ = {{5}};
  std::unique_ptr<Generation> generation_;
  std::int64_t num_truncates_ = 0;
};

// The target takes the second token of each first position: the draft that was kept lies beside the
// first path, so that it is fed again, and nothing else.
TEST_F(Told, AKeptDraftBesideTheFirstPathComesAgain) {
  const NextLogits by_two = [](const Tokens &text) {
    Logits logits(10, -3.0f);
    logits[std::size_t(text.back() + 2) % 10] = 3.0f;
    return logits;
  };
  const std::vector<Forward> expected = {
      {0, 1, {5}, {}},
      {1, 5, {7, 8, 9, 9, 0}, {-1, 0, 1, 0, 1}},
      {2, 3, {9, 1, 2, 3}, {-1, 0, 1, 1}},  // there is room for 3 tokens more
      {4, 1, {3, 5}, {}},
      {6, 1, {7}, {}},
  };
  EXPECT_EQ(forwards(by_two, 1), expected);
  EXPECT_EQ(generation_->texts()[0].tokens, (Tokens{7, 9, 1, 3, 5, 7, 9}));
  EXPECT_EQ(num_truncates_, 2);
  // Kept ones first.
  ASSERT_EQ(generation_->rounds().size(), 5u);
  EXPECT_EQ(generation_->rounds()[1].drafts, (Tokens{9, 8, 9, 0}));
  EXPECT_EQ(generation_->rounds()[1].num_accepted, 1);
  EXPECT_EQ(generation_->rounds()[1].line,
            "text 0 round 1: 1 of 4 drafts [9] | [8][9][0], then [1]");
}

// The first path stays, also where the last of the kept drafts lies beside it.
TEST_F(Told, TheFirstPathStaysInTheCache) {
  const NextLogits by_one_then_two = [](const Tokens &text) {
    Logits logits(10, -3.0f);
    logits[std::size_t(text.back() + 1 + (text.size() % 2 == 1)) % 10] = 3.0f;
    return logits;
  };
  const std::vector<Forward> expected = {
      {0, 1, {5}, {}},
      {1, 5, {7, 8, 9, 9, 0}, {-1, 0, 1, 0, 1}},
      {3, 3, {0, 1, 2, 3}, {-1, 0, 1, 1}},
  };
  const std::vector<Forward> told = forwards(by_one_then_two, 1);
  ASSERT_GE(told.size(), 3u);
  EXPECT_EQ(told[0], expected[0]);
  EXPECT_EQ(told[1], expected[1]);
  EXPECT_EQ(told[2], expected[2]);
  EXPECT_EQ(generation_->texts()[0].tokens, (Tokens{7, 8, 0, 1, 3, 4, 6}));
}

// Without caches the text comes before the tree, in forwards of their own where there is no room.
TEST_F(Told, ATreeStaysWithTheTokenBeforeIt) {
  prompts_ = {{1, 2, 3, 4, 5}};
  const std::vector<Forward> whole = forwards(one_or_two, 0);
  ASSERT_GE(whole.size(), 2u);
  EXPECT_EQ(whole[0], (Forward{0, 1, {1, 2, 3, 4, 5}, {}}));
  EXPECT_EQ(whole[1],
            (Forward{0, 5, {1, 2, 3, 4, 5, 6, 7, 8, 8, 9}, {-1, 0, 1, 2, 3, 4, 5, 6, 5, 6}}));
  const std::vector<Text> texts = generation_->texts();
  const std::vector<Forward> parts = forwards(one_or_two, 0, 6);
  ASSERT_GE(parts.size(), 3u);
  EXPECT_EQ(parts[1], (Forward{0, 0, {1, 2, 3, 4, 5}, {}}));
  EXPECT_EQ(parts[2], (Forward{5, 5, {6, 7, 8, 8, 9}, {-1, 0, 1, 0, 1}}));
  EXPECT_EQ(generation_->texts(), texts);
}

// `process` gets the text that each row follows.
TEST_F(Told, LengthsAreThoseOfPaths) {
  std::vector<std::int64_t> lengths;
  Limits limits;
  limits.vocabulary_size = 10;
  limits.reads_parents = true;
  Calls calls;
  Model target(limits, one_or_two, &calls), drafter(limits, one_or_two, &calls);
  Generation generation(&target, {{1, 2, 3}});
  generation.args.max_new_tokens = 9;
  generation.process = [&](const ProcessCall &call) {
    if (call.num_rows > 1) lengths.assign(call.lengths, call.lengths + call.num_rows);
    return lengths.empty() ? SAMPLER_OK : sampler_status(-5);
  };
  SpeculativeArgs args;
  args.gamma = 6;
  args.draft_top_k = 3;
  const Sampler sampler = make_sampler();
  EXPECT_EQ(generation.run(sampler.get(), speculative(&drafter, args)), -5);
  EXPECT_EQ(lengths, (std::vector<std::int64_t>{4, 5, 6, 5, 5, 6, 6}));
}

// A text depends neither on caches nor on how spans are split.
TEST(Trees, TextsDependOnNothingElse) {
  const Sampler sampler = make_sampler();
  for (std::uint64_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    std::vector<Text> first;
    for (const std::int64_t more : {-1, 0, 1, 3, 100}) {
      Scenario s(seeded(seed));
      s.take_trees();
      set_draws(seed, s.generation.get());
      Limits limits = s.target->limits();
      limits.max_span_tokens = more < 0 ? 0 : s.tree_args.gamma + 1 + more;
      Model target(
          limits, [&](const Tokens &text) { return s.target->logits(text); }, &s.calls);
      Generation generation(&target, s.generation->prompts());
      generation.args.use_cache = std::int32_t(more) & 1;
      generation.args.first_sequence = s.generation->args.first_sequence;
      generation.args.processor = SAMPLER_PROCESSOR_SAMPLE;
      generation.params = s.generation->params;
      generation.process = s.generation->process;
      const auto &texts = generation.texts_of(sampler.get(), s.in_trees());
      if (first.empty()) first = texts;
      EXPECT_EQ(texts, first) << "max_span_tokens " << limits.max_span_tokens;
    }
  }
}

// With as many forwards of the drafter more drafts are kept.
TEST(Trees, KeepMoreThanChainsOfTheirDepth) {
  const Sampler sampler = make_sampler();
  std::int64_t num_forwards[2] = {};
  for (const bool is_tree : {false, true}) {
    Limits limits;
    limits.vocabulary_size = 20;
    limits.max_context = 300;
    limits.reads_parents = true;
    Calls calls;
    const NextLogits table = table_logits(7, 20, 1);
    Model target(limits, table, &calls);
    Model drafter(limits, mixed_logits(table, table_logits(8, 20, 1), 30, 3), &calls);
    Generation generation(&target, {{1, 2, 3}});
    generation.args.max_new_tokens = 250;
    generation.args.processor = SAMPLER_PROCESSOR_SAMPLE;
    SpeculativeArgs args;
    args.gamma = is_tree ? 9 : 3;
    args.draft_top_k = is_tree ? 3 : 1;
    args.acceptance_params.rule = SAMPLER_ACCEPT_SAMPLE_MATCH;
    generation.texts_of(sampler.get(), speculative(&drafter, args));
    num_forwards[is_tree] = generation.stats().target_forwards;
  }
  EXPECT_LT(double(num_forwards[1]), 0.9 * double(num_forwards[0]));
}

TEST(Trees, CallbacksThatFailEndTheLoop) {
  const Sampler sampler = make_sampler();
  std::int64_t num_failures = 0;
  for (std::uint64_t seed = 300; seed < 310 && !HasFailure(); ++seed) {
    Scenario scenario(seed);
    scenario.take_trees();
    Generation &generation = *scenario.generation;
    const std::vector<Text> whole = generation.texts_of(sampler.get(), scenario.in_trees());
    const std::int64_t num_calls = scenario.calls.count();
    for (std::int64_t i = 0; i < num_calls && !HasFailure(); ++i, ++num_failures) {
      scenario.calls.reset();
      scenario.calls.fail(i, -77);
      EXPECT_EQ(generation.run(sampler.get(), scenario.in_trees()), -77);
      EXPECT_EQ(scenario.calls.count(), i + 1);
      for (std::size_t text = 0; text < whole.size(); ++text) {
        const Tokens &tokens = generation.texts()[text].tokens;
        ASSERT_LE(tokens.size(), whole[text].tokens.size());
        EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), whole[text].tokens.begin()));
      }
    }
    scenario.calls.reset();
    EXPECT_EQ(generation.texts_of(sampler.get(), scenario.in_trees()), whole);
  }
  EXPECT_GT(num_failures, 100);
}

// ---- Bad rows -----------------------------------------------------------------------------------

// Bad rows of the drafter end the drafts of their round, those of the target their text.
TEST(Trees, MayMeetBadRows) {
  const Sampler sampler = make_sampler();
  std::int64_t num_bad = 0, num_accepted = 0;
  for (std::uint64_t seed = 0; seed < 100 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Limits limits;
    limits.vocabulary_size = 10;
    limits.reads_parents = true;
    Calls calls;
    const NextLogits bad = constant_logits(Logits(10, std::numeric_limits<float>::quiet_NaN()));
    Model target(limits, mixed_logits(one_or_two, bad, 7, seed), &calls);
    Model drafter(limits, mixed_logits(one_or_two, bad, 20, seed + 1), &calls);
    Generation generation(&target, {{1, 2, 3, 4}, {5}, {0, 0}, {3}});
    generation.args.max_new_tokens = 15;
    SpeculativeArgs args;
    args.gamma = 6;
    args.draft_top_k = 2;
    args.first_target = std::int32_t(seed % 2);
    const auto &texts = generation.texts_of(sampler.get(), speculative(&drafter, args));
    EXPECT_EQ(without_counts(texts), expected_texts(sampler.get(), target, generation));
    for (const Text &text : texts) num_bad += text.reason == SAMPLER_FINISH_BAD_ROW;
    num_accepted += generation.stats().num_accepted;
  }
  EXPECT_GT(num_bad, 50);
  EXPECT_GT(num_accepted, 500);
}

}  // namespace
}  // namespace decoding_test::trees_test
