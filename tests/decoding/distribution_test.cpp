// Drawn texts follow the target's distribution, whatever drafts: their first three tokens, as 64
// outcomes of a vocabulary of 4, against the product of exact conditional probabilities. Checks and
// their power are those of tests/statistics.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "../sized.h"
#include "generation.h"
#include "model.h"
#include "source.h"

namespace decoding_test::distribution_test {
namespace {

using statistics_test::Counts;
using statistics_test::Probabilities;
using statistics_test::Source;

constexpr std::int64_t kNumTexts = 200000;
constexpr std::size_t kNumCols = 4;
constexpr std::uint64_t kSeed = 0xDEC0'D100;

// Behind each token a row of its own. Multiples of 1/16, so that no filter cuts at a tie by chance.
const std::vector<std::vector<double>> kTarget = {{6 / 16., 5 / 16., 3 / 16., 2 / 16.},
                                                  {3 / 16., 6 / 16., 2 / 16., 5 / 16.},
                                                  {2 / 16., 3 / 16., 5 / 16., 6 / 16.},
                                                  {5 / 16., 2 / 16., 6 / 16., 3 / 16.}};
const std::vector<std::vector<double>> kDrafter = {{10 / 16., 1 / 16., 4 / 16., 1 / 16.},
                                                   {3 / 16., 2 / 16., 5 / 16., 6 / 16.},
                                                   {4 / 16., 4 / 16., 4 / 16., 4 / 16.},
                                                   {1 / 16., 6 / 16., 6 / 16., 3 / 16.}};
const Tokens kPrompt = {2, 0};

NextLogits rows_of(const std::vector<std::vector<double>> &rows) {
  std::vector<Logits> logits;
  for (const auto &row : rows) logits.push_back(logits_of(row));
  return [=](const Tokens &text) { return logits[std::size_t(text.back())]; };
}

struct Options {
  float temperature = 1;
  std::int32_t top_k = 0;
  float top_p = 1;
  float min_p = 0;
  sampler_temperature_order order = SAMPLER_TEMPERATURE_FIRST;
};

// The target's distribution after a token, filtered.
Probabilities conditional(const Options &options, std::size_t token) {
  Source source;
  source.values = logits_of(kTarget[token]);
  source.temperature = options.temperature;
  source.top_k = options.top_k;
  source.top_p = options.top_p;
  source.min_p = options.min_p;
  source.temperature_order = options.order;
  return statistics_test::expected_probabilities(source);
}

// Probabilities of the first three tokens: entry (a * 4 + b) * 4 + c.
Probabilities expected_triples(const Options &options) {
  Probabilities triples;
  for (std::size_t i = 0; i < kNumCols * kNumCols * kNumCols; ++i) {
    const std::size_t a = i / 16, b = i / 4 % 4, c = i % 4;
    triples.push_back(conditional(options, std::size_t(kPrompt.back()))[a] *
                      conditional(options, a)[b] * conditional(options, b)[c]);
  }
  return triples;
}

class Distribution : public testing::Test {
 protected:
  Distribution() {
    limits_.vocabulary_size = kNumCols;
    limits_.max_sequences = kNumTexts;
    target_ = std::make_unique<Model>(limits_, rows_of(kTarget), &calls_);
    drafter_ = std::make_unique<Model>(limits_, rows_of(kDrafter), &calls_);
  }

  // Texts long enough that no limit makes drafts of the first three tokens fewer.
  const std::vector<Text> &run(const Loop &loop, const Options &options,
                               std::int64_t max_new_tokens) {
    generation_ =
        std::make_unique<Generation>(target_.get(), std::vector<Tokens>(kNumTexts, kPrompt));
    sampler_generation_args &args = generation_->args;
    args.processor = SAMPLER_PROCESSOR_SAMPLE;
    sampler_params &params = generation_->params;
    params.temperature = options.temperature;
    params.top_k = options.top_k;
    params.top_p = options.top_p;
    params.min_p = options.min_p;
    params.temperature_order = options.order;
    args.max_new_tokens = max_new_tokens;
    args.use_cache = 1;
    args.seed = kSeed;
    return generation_->texts_of(sampler_.get(), loop);
  }

  void expect_distribution(const Loop &loop, const Options &options = {},
                           std::int64_t max_new_tokens = 3) {
    Counts counts(kNumCols * kNumCols * kNumCols);
    for (const Text &text : run(loop, options, max_new_tokens)) {
      const auto token = [&](std::size_t i) { return std::size_t(text.tokens.at(i)); };
      ++counts[(token(0) * 4 + token(1)) * 4 + token(2)];
    }
    EXPECT_EQ(statistics_test::frequency_fault(counts, expected_triples(options)), "");
    // Drafts were kept and rejected.
    const sampler_generation_stats &stats = generation_->stats();
    EXPECT_GT(stats.acceptance_rate, 0.1);
    EXPECT_LT(stats.acceptance_rate, 0.9);
  }

  Loop speculative_loop(std::int64_t gamma, int first_target = 1) {
    SpeculativeArgs args;
    args.gamma = gamma;
    args.first_target = first_target;
    return speculative(drafter_.get(), args);
  }

  Limits limits_;
  Calls calls_;
  Sampler sampler_ = make_sampler();
  std::unique_ptr<Model> target_, drafter_;
  std::unique_ptr<Generation> generation_;
};

// Among 64 outcomes the likeliest ones have 0.04: a bias of 8.5 % of one of them is found.
TEST_F(Distribution, PowerIsAsDocumented) {
  EXPECT_GE(statistics_test::power_against_bias(kNumTexts, 0.04, 0.085, 64),
            statistics_test::kPower);
  EXPECT_GE(statistics_test::power_against_bias(kNumTexts, 0.04, -0.085, 64),
            statistics_test::kPower);
  const Probabilities triples = expected_triples({});
  EXPECT_GT(*std::max_element(triples.begin(), triples.end()), 0.04);
}

// Every round is one of gamma 1 after a first token that the target draws.
TEST_F(Distribution, SpeculativeWithOneDraft) {
  expect_distribution(speculative_loop(1), {}, 5);
}

TEST_F(Distribution, SpeculativeWithThreeDrafts) {
  expect_distribution(speculative_loop(3), {}, 7);
}

TEST_F(Distribution, SpeculativeWithFiveDrafts) {
  expect_distribution(speculative_loop(5), {}, 9);
}

// The first round drafts, too, and the budget cuts the last.
TEST_F(Distribution, SpeculativeFromTheStart) {
  expect_distribution(speculative_loop(3, 0));
}

TEST_F(Distribution, SpeculativeAdaptive) {
  SpeculativeArgs args;
  args.gamma = 5;
  args.gamma_min = 0;
  args.gamma_max = 12;
  args.ema_beta = 0.25f;
  args.adaptive_gamma = 1;
  expect_distribution(speculative(drafter_.get(), args), {}, 8);
}

// Drafts are the drafter's likeliest tokens, also those that no filter keeps.
TEST_F(Distribution, SpeculativeInTrees) {
  target_->take_trees(6);
  for (const std::int32_t first_target : {0, 1}) {
    SpeculativeArgs args;
    args.gamma = 6;
    args.draft_top_k = 2 + first_target;
    args.first_target = first_target;
    Options options;
    if (first_target == 0) options.top_k = 3;
    expect_distribution(speculative(drafter_.get(), args), options, 10);
  }
}

TEST_F(Distribution, SpeculativeByBlocks) {
  for (const std::int32_t first_target : {0, 1}) {
    SpeculativeArgs args;
    args.gamma = 3;
    args.first_target = first_target;
    args.acceptance_params.rule = SAMPLER_ACCEPT_BLOCK;
    expect_distribution(speculative(drafter_.get(), args), {}, 7);
  }
}

// Whether a draft follows depends on the one before it alone.
TEST_F(Distribution, SpeculativeUpToAnUnlikelyDraft) {
  for (const sampler_acceptance acceptance : {SAMPLER_ACCEPT_STANDARD, SAMPLER_ACCEPT_BLOCK}) {
    SpeculativeArgs args;
    args.gamma = 3;
    args.first_target = 0;
    args.acceptance_params.rule = acceptance;
    args.least_draft_probability = 0.2f;
    expect_distribution(speculative(drafter_.get(), args), {}, 7);
  }
}

TEST_F(Distribution, SpeculativeBehindTheTemperature) {
  expect_distribution(speculative_loop(3, 0), {0.7f, 3, 0.9f, 0, SAMPLER_TEMPERATURE_FIRST}, 6);
}

TEST_F(Distribution, SpeculativeWithTheTemperatureLast) {
  expect_distribution(speculative_loop(3), {1.5f, 0, 0.8f, 0.2f, SAMPLER_TEMPERATURE_LAST}, 6);
}

// ---- Drafts of n-grams --------------------------------------------------------------------------

class NgramDistribution : public Distribution {
 protected:
  // Knows what mostly follows most tokens.
  Loop ngram_loop(int stop_if_unknown, std::int64_t filler_top_k, int first_target = 1) {
    ngram_ = std::make_unique<ScriptedNgram>(
        [](const Tokens &context) {
          const std::int32_t next[] = {1, 3, 0, 2};
          return ScriptedNgram::Next{next[context.back()], context.back() != 3};
        },
        &calls_);
    SpeculativeArgs args;
    args.gamma = 3;
    args.stop_if_unknown = stop_if_unknown;
    args.filler_top_k = filler_top_k;
    args.first_target = first_target;
    return speculative(ngram_->interface(), args);
  }

  std::unique_ptr<ScriptedNgram> ngram_;
};

TEST_F(NgramDistribution, UnknownContextsDraft) {
  expect_distribution(ngram_loop(0, 3), {}, 6);
}

TEST_F(NgramDistribution, UnknownContextsStop) {
  expect_distribution(ngram_loop(1, 0), {}, 6);
}

// Rules that are lossless for drafts that were chosen without chance.
TEST_F(NgramDistribution, ByOtherRules) {
  for (const sampler_acceptance acceptance : {SAMPLER_ACCEPT_BLOCK, SAMPLER_ACCEPT_THRESHOLD}) {
    ngram_loop(0, 0, 0);
    SpeculativeArgs args;
    args.gamma = 3;
    args.filler_top_k = 0;
    args.first_target = 0;
    args.acceptance_params.rule = acceptance;
    expect_distribution(speculative(ngram_->interface(), args), {}, 6);
  }
}

TEST_F(NgramDistribution, FromTheStart) {
  expect_distribution(ngram_loop(0, 0, 0));
}

TEST_F(NgramDistribution, BehindTheTemperature) {
  expect_distribution(ngram_loop(0, 3, 0), {0.7f, 3, 0.9f, 0, SAMPLER_TEMPERATURE_FIRST}, 5);
}

TEST_F(NgramDistribution, WithTheTemperatureLast) {
  expect_distribution(ngram_loop(1, 3, 0), {1.5f, 0, 0.8f, 0.2f, SAMPLER_TEMPERATURE_LAST}, 5);
}

// The texts share a storage, which learns as they grow: drafts depend on other texts, and the
// distribution of none does.
TEST_F(NgramDistribution, OfTheLibrarysStorage) {
  sampler_ngram_storage_options options = sized<sampler_ngram_storage_options>();
  options.vocabulary_size = kNumCols;
  sampler_ngram_storage_t storage = nullptr;
  ASSERT_EQ(sampler_ngram_storage_create(&options, &storage), SAMPLER_OK);
  sampler_ngram ngram = sized<sampler_ngram>();
  ASSERT_EQ(sampler_ngram_storage_interface(storage, &ngram), SAMPLER_OK);
  SpeculativeArgs args;
  args.gamma = 3;
  args.filler_top_k = 0;
  args.first_target = 0;
  expect_distribution(speculative(ngram, args));
  sampler_ngram_storage_destroy(storage);
}

// ---- Without the adjustment ---------------------------------------------------------------------

// Token x comes as a kept draft, with min(p, q), or after a rejected one, drawn from p; a draft is
// rejected with 1 - sum min(p, q).
TEST_F(Distribution, WithoutTheAdjustmentItIsAnother) {
  SpeculativeArgs args;
  args.gamma = 1;
  args.first_target = 0;
  args.skip_sample_adjustment = 1;
  Counts counts(kNumCols);
  for (const Text &text : run(speculative(drafter_.get(), args), {}, 3)) {
    ++counts[std::size_t(text.tokens.at(0))];
  }
  const auto row = std::size_t(kPrompt.back());
  const std::vector<double> &p = kTarget[row], &q = kDrafter[row];
  double kept = 0;
  for (std::size_t x = 0; x < kNumCols; ++x) kept += std::min(p[x], q[x]);
  Probabilities expected;
  for (std::size_t x = 0; x < kNumCols; ++x) {
    expected.push_back(std::min(p[x], q[x]) + (1 - kept) * p[x]);
  }
  EXPECT_EQ(statistics_test::frequency_fault(counts, expected), "");
  EXPECT_NE(statistics_test::frequency_fault(counts, Probabilities(p.begin(), p.end())), "");
}

}  // namespace
}  // namespace decoding_test::distribution_test
