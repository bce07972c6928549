// Where texts end: contexts, budgets, end tokens, bad rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "scenario.h"

namespace decoding_test::limits_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Token i + 1 after token i.
NextLogits counting(std::int64_t vocabulary_size) {
  return [=](const Tokens &text) {
    Logits logits(std::size_t(vocabulary_size), -3.0f);
    logits[std::size_t((text.back() + 1) % vocabulary_size)] = 3.0f;
    return logits;
  };
}

class LimitsOf : public testing::TestWithParam<int> {
 protected:
  Model *add_model(const Limits &limits, NextLogits next_logits) {
    models_.push_back(std::make_unique<Model>(limits, std::move(next_logits), &calls_));
    return models_.back().get();
  }

  // The drafter is mostly right. The first token may be a draft, too.
  Loop loop(Model *target, std::int64_t drafter_context = 64) {
    Limits limits = target->limits();
    limits.max_context = drafter_context;
    Model *const drafter =
        add_model(limits, mixed_logits(counting(limits.vocabulary_size),
                                       table_logits(5, limits.vocabulary_size), 25, 3));
    SpeculativeArgs speculative_args;
    speculative_args.first_target = GetParam() == 2;
    SpeculativeArgs ngram_args;
    ngram_args.first_target = GetParam() == 4;
    ngram_args.filler_top_k = 3;
    ngram_ = std::make_unique<ScriptedNgram>(
        [=](const Tokens &context) {
          return ScriptedNgram::Next{std::int32_t((context.back() + 1) % limits.vocabulary_size),
                                     true};
        },
        &calls_);
    switch (GetParam()) {
      case 0:
        return autoregressive();
      case 1:
      case 2:
        return speculative(drafter, speculative_args);
      default:
        return speculative(ngram_->interface(), ngram_args);
    }
  }

  void expect_texts(Generation *generation, Model *target, std::int64_t drafter_context = 64) {
    for (const int use_cache : {0, 1}) {
      generation->args.use_cache = use_cache;
      EXPECT_EQ(without_counts(generation->texts_of(sampler_.get(), loop(target, drafter_context))),
                expected_texts(sampler_.get(), *target, *generation));
    }
  }

  Calls calls_;
  Sampler sampler_ = make_sampler();
  std::vector<std::unique_ptr<Model>> models_;
  std::unique_ptr<ScriptedNgram> ngram_;
};

TEST_P(LimitsOf, TheContext) {
  for (std::int64_t max_context = 4; max_context < 20; ++max_context) {
    for (const std::int64_t drafter_context : {1, 3, 5, 10, 64}) {
      Limits limits;
      limits.vocabulary_size = 7;
      limits.max_context = max_context;
      Model *const target = add_model(limits, counting(7));
      Generation generation(target, {{1, 2, 3, 4}, {5}, {0, 0}});
      generation.args.max_new_tokens = 30;
      expect_texts(&generation, target, drafter_context);
      for (const Text &text : generation.texts()) EXPECT_EQ(text.reason, SAMPLER_FINISH_CONTEXT);
    }
  }
}

TEST_P(LimitsOf, APromptThatIsTheContext) {
  Limits limits;
  limits.vocabulary_size = 7;
  limits.max_context = 3;
  Model *const target = add_model(limits, counting(7));
  Generation generation(target, {{1, 2, 3}, {4, 4, 4}});
  expect_texts(&generation, target);
  EXPECT_EQ(target->num_forwards(), 0);
  for (const Text &text : generation.texts()) {
    EXPECT_EQ(text.reason, SAMPLER_FINISH_CONTEXT);
    EXPECT_TRUE(text.tokens.empty());
  }
}

TEST_P(LimitsOf, TheBudget) {
  for (std::int64_t max_new_tokens = 1; max_new_tokens < 15; ++max_new_tokens) {
    Limits limits;
    limits.vocabulary_size = 9;
    Model *const target = add_model(limits, counting(9));
    Generation generation(target, {{1, 2, 3, 4}, {5}, {0, 0}});
    generation.args.max_new_tokens = max_new_tokens;
    expect_texts(&generation, target);
    for (const Text &text : generation.texts()) {
      EXPECT_EQ(text.reason, SAMPLER_FINISH_LENGTH);
      EXPECT_LE(text.num_accepted, max_new_tokens);
    }
    // One row of logits for a token, and one more for each draft.
    EXPECT_LE(target->num_logit_rows(),
              generation.stats().num_new_tokens + generation.stats().num_drafted);
  }
}

TEST_P(LimitsOf, EndTokens) {
  for (std::int32_t end = 0; end < 9; ++end) {
    Limits limits;
    limits.vocabulary_size = 9;
    Model *const target = add_model(limits, counting(9));
    Generation generation(target, {{end}, {std::int32_t((end + 8) % 9)}, {0}, {1, 5}});
    generation.ends = {end, end, std::int32_t((end + 4) % 9)};
    expect_texts(&generation, target);
    EXPECT_EQ(generation.texts()[1].tokens, Tokens{end}) << "an end token as the first";
  }
}

TEST_P(LimitsOf, TheDefaultEndToken) {
  Limits limits;
  limits.vocabulary_size = 5;
  Model *const target = add_model(limits, counting(5));
  Generation generation(target, {{2}, {0}, {1}});
  generation.default_ends = true;
  expect_texts(&generation, target);
  EXPECT_EQ(generation.texts()[0].tokens, Tokens({3, 4, 0, 1}));
  EXPECT_EQ(generation.texts()[1].tokens, Tokens({1}));
  EXPECT_EQ(generation.texts()[2].tokens, Tokens({2, 3, 4, 0, 1}));
}

TEST_P(LimitsOf, AVocabularyOfOne) {
  Limits limits;
  limits.vocabulary_size = 1;
  Model *const target = add_model(limits, constant_logits({0.5f}));
  Generation generation(target, {{0}, {0, 0}});
  generation.args.max_new_tokens = 7;
  expect_texts(&generation, target);
  EXPECT_EQ(generation.texts()[0].tokens, Tokens(7, 0));
}

TEST_P(LimitsOf, NoTexts) {
  Limits limits;
  limits.vocabulary_size = 3;
  Model *const target = add_model(limits, counting(3));
  Generation generation(target, {});
  EXPECT_EQ(generation.run(sampler_.get(), loop(target)), SAMPLER_OK) << sampler_last_error();
  EXPECT_EQ(calls_.count(), 0);
  EXPECT_EQ(generation.stats().num_new_tokens, 0);
}

// ---- Bad rows -----------------------------------------------------------------------------------

// Behind some texts a row without a token.
NextLogits with_bad_rows(NextLogits next_logits, std::uint64_t seed, std::int64_t one_in) {
  const NextLogits nan = [=](const Tokens &text) {
    Logits row = next_logits(text);
    Random random(seed + text.size());
    switch (random.between(0, 2)) {
      case 0:
        row[std::size_t(random.between(0, std::int64_t(row.size()) - 1))] = kNan;
        break;
      case 1:
        row[std::size_t(random.between(0, std::int64_t(row.size()) - 1))] = kInf;
        break;
      default:
        std::fill(row.begin(), row.end(), -kInf);
    }
    return row;
  };
  return mixed_logits(next_logits, nan, int(100 / one_in), seed);
}

// The drafts before one are text, and the text ends there.
TEST_P(LimitsOf, BadRowsOfTheTarget) {
  std::int64_t num_bad = 0, num_accepted = 0;
  for (std::uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Limits limits;
    limits.vocabulary_size = 6;
    limits.dtype = sampler_dtype(seed % 3);
    Model *const target = add_model(limits, with_bad_rows(counting(6), seed, 10));
    Generation generation(target, {{1, 2, 3, 4}, {5}, {0, 0}, {3}});
    generation.args.max_new_tokens = 12;
    expect_texts(&generation, target);
    for (const Text &text : generation.texts()) num_bad += text.reason == SAMPLER_FINISH_BAD_ROW;
    num_accepted += generation.stats().num_accepted;
  }
  EXPECT_GT(num_bad, 300);
  if (GetParam() > 0) {
    EXPECT_GT(num_accepted, 300);
  }
}

// A handle's fallback token takes the place of no row's token here.
TEST_P(LimitsOf, BadRowsWithAFallbackToken) {
  const Sampler with_fallback = make_sampler_with_fallback(2);
  for (std::uint64_t seed = 0; seed < 50 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Limits limits;
    limits.vocabulary_size = 6;
    const NextLogits rows = with_bad_rows(counting(6), seed, 6);
    Model *const target = add_model(limits, rows);
    Generation generation(target, {{1, 2, 3, 4}, {5}, {0, 0}, {3}});
    generation.args.processor = sampler_processor(seed % 2);
    generation.params.top_k = 1;  // so that drawn texts are greedy ones
    const auto &texts = generation.texts_of(with_fallback.get(), loop(target));
    EXPECT_EQ(without_counts(texts), expected_texts(sampler_.get(), *target, generation));
  }
}

// They make drafts fewer, and no text another.
TEST(BadRows, OfTheDrafter) {
  const Sampler sampler = make_sampler(), with_fallback = make_sampler_with_fallback(2);
  for (std::uint64_t seed = 0; seed < 200 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Calls calls;
    Limits limits;
    limits.vocabulary_size = 6;
    limits.dtype = sampler_dtype(seed % 3);
    Model target(limits, counting(6), &calls);
    Model drafter(limits, with_bad_rows(counting(6), seed, 4), &calls);
    Generation generation(&target, {{1, 2, 3, 4}, {5}, {0, 0}, {3}});
    generation.args.max_new_tokens = 12;
    generation.args.use_cache = seed % 2;
    SpeculativeArgs args;
    args.adaptive_gamma = seed % 4 < 2;
    generation.args.processor = sampler_processor(seed / 8 % 2);
    generation.params.top_k = 1;  // so that drawn texts are greedy ones
    const std::vector<Text> expected = expected_texts(sampler.get(), target, generation);
    for (const Sampler *handle : {&sampler, &with_fallback}) {
      EXPECT_EQ(without_counts(generation.texts_of(handle->get(), speculative(&drafter, args))),
                expected);
    }
  }
}

// A drafter's row without a token is no draft, and the target's ends its text after the drafts
// that were kept: it is found by few verifications, however many drafts there are.
TEST(BadRows, AreFoundByFewVerifications) {
  constexpr std::int64_t kGamma = 1000;
  for (const std::int64_t bad : {1, 2, 500, 999, 1000}) {
    SCOPED_TRACE(bad);
    Calls calls;
    Limits limits;
    limits.vocabulary_size = 6;
    limits.max_context = 2000;
    Model drafter(limits, counting(6), &calls);
    const NextLogits until_bad = [=](const Tokens &text) {
      return std::int64_t(text.size()) == bad + 1 ? Logits(6, kNan) : counting(6)(text);
    };
    Model target(limits, until_bad, &calls);
    Generation generation(&target, {{1}, {2}});
    generation.args.max_new_tokens = kGamma + 1;
    generation.args.use_cache = 1;
    SpeculativeArgs args;
    args.gamma = kGamma;
    args.first_target = 0;

    // An operation on both texts asks for its tasks once: one for each draft, and one or two
    // verify.
    int num_operations = 0;
    sampler_options options = sampler_options_default();
    options.num_threads = 2;
    options.parallel_for_user = &num_operations;
    options.parallel_for = [](void *user, std::int64_t num_tasks, sampler_task_fn task,
                              void *task_user) {
      ++*static_cast<int *>(user);
      for (std::int64_t i = 0; i < num_tasks; ++i) task(task_user, i);
    };
    sampler_t created = nullptr;
    ASSERT_EQ(sampler_create(&options, &created), SAMPLER_OK);
    const Sampler sampler(created);
    for (const Text &text : generation.texts_of(sampler.get(), speculative(&drafter, args))) {
      EXPECT_EQ(std::int64_t(text.tokens.size()), bad);
      EXPECT_EQ(text.reason, SAMPLER_FINISH_BAD_ROW);
    }
    EXPECT_GT(num_operations, kGamma);
    EXPECT_LE(num_operations, kGamma + 2);
  }
}

std::string loop_name(const testing::TestParamInfo<int> &parameter) {
  const char *const names[] = {"Autoregressive", "SpeculativeFromTheStart", "Speculative",
                               "NgramsFromTheStart", "Ngrams"};
  return names[parameter.param];
}

INSTANTIATE_TEST_SUITE_P(Loops, LimitsOf, testing::Values(0, 1, 2, 3, 4), loop_name);

}  // namespace
}  // namespace decoding_test::limits_test
