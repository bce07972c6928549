// Single draws follow the distribution that temperature and filters define.
//
// Every case draws so often that the bias it claims to find in any token of the probability it
// names is found with chance kPower. The case OneInAThousand stands for all in what it claims: 1 %
// of any token of probability 1e-3 or more, through temperature and every filter. The word of
// randomness does not know the parameters, so the others need no more than to show that each
// parameter leads to its distribution: they have no rarer token than they name.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "source.h"

namespace statistics_test::distribution_test {
namespace {

constexpr double kOnePercent = 0.01;
constexpr std::uint64_t kSeed = 0x5EED'0001'0000'0000;

const std::vector<double> kShares = {0.16, 0.06, 0.24, 0.10, 0.04, 0.20, 0.08, 0.12};
constexpr double kLeastShare = 0.04;

Source logits_source() {
  Source source;
  source.values = logits_of(kShares);
  return source;
}

Source probabilities_source(double sum) {
  Source source;
  source.kind = SAMPLER_PROBABILITIES;
  for (const double p : kShares) source.values.push_back(static_cast<float>(p * sum));
  return source;
}

std::size_t num_kept(const Source &source) {
  const Probabilities p = expected_probabilities(source);
  return p.size() - static_cast<std::size_t>(std::count(p.begin(), p.end(), 0.0L));
}

// Top-k drops two of 16 tokens, then top-p one and min-p two; the rest reaches down to 1.02e-3.
// 4.9e8 draws: their non-centrality is 7.0^2 at 1e-3, of which 4.65 lie below the bound that an
// honest token exceeds with chance kAlpha / 32, and 2.33 are needed for the power.
TEST(Distribution, OneInAThousand) {
  Source source;
  source.temperature = 0.7f;
  source.values = logits_of({1.02e-3, 0.30, 5e-4, 0.15, 1.05e-3, 6e-4, 0.10, 0.02, 8e-4, 0.25, 4e-3,
                             3e-4, 0.12, 9e-4, 0.05, 1.1e-3},
                            0.7);
  source.top_k = 14;
  source.top_p = 0.999f;
  source.min_p = 0.0032f;
  ASSERT_EQ(num_kept(source), 11U);
  expect_frequencies(source, 1e-3, kOnePercent, kSeed + 1);
}

TEST(Distribution, TemperatureBelowOne) {
  Source source = logits_source();
  source.temperature = 0.8f;
  expect_frequencies(source, 0.025, kOnePercent, kSeed + 2);
}

TEST(Distribution, TemperatureAboveOne) {
  Source source = logits_source();
  source.temperature = 1.9f;
  expect_frequencies(source, kLeastShare, kOnePercent, kSeed + 3);
}

TEST(Distribution, MaskedTokens) {
  Source source = logits_source();
  for (const std::size_t i : {0, 4, 7}) source.values[i] = -INFINITY;
  expect_frequencies(source, kLeastShare, kOnePercent, kSeed + 4);
}

TEST(Distribution, TopK) {
  Source source = logits_source();
  source.top_k = 5;
  ASSERT_EQ(num_kept(source), 5U);
  expect_frequencies(source, kLeastShare, kOnePercent, kSeed + 5);
}

TEST(Distribution, TopP) {
  Source source = logits_source();
  source.top_p = 0.8f;
  ASSERT_EQ(num_kept(source), 5U);
  expect_frequencies(source, kLeastShare, kOnePercent, kSeed + 6);
}

TEST(Distribution, MinP) {
  Source source = logits_source();
  source.min_p = 0.3f;
  ASSERT_EQ(num_kept(source), 6U);
  expect_frequencies(source, kLeastShare, kOnePercent, kSeed + 7);
}

// top-k, top-p and min-p that keep 4, 5 or 3 tokens, by their order.
Source combined_source(sampler_filter_order order) {
  Source source = logits_source();
  source.top_k = 6;
  source.top_p = 0.727f;
  source.min_p = 0.4f;
  source.filter_order = order;
  return source;
}

TEST(Distribution, FiltersInSequence) {
  const Source source = combined_source(SAMPLER_FILTERS_SEQUENTIAL);
  ASSERT_EQ(num_kept(source), 4U);
  expect_frequencies(source, kLeastShare, kOnePercent, kSeed + 8);
}

TEST(Distribution, FiltersJointly) {
  const Source source = combined_source(SAMPLER_FILTERS_JOINT);
  ASSERT_EQ(num_kept(source), 5U);
  expect_frequencies(source, kLeastShare, kOnePercent, kSeed + 9);
}

TEST(Distribution, MinPFirst) {
  const Source source = combined_source(SAMPLER_FILTERS_MIN_P_FIRST);
  ASSERT_EQ(num_kept(source), 3U);
  expect_frequencies(source, kLeastShare, kOnePercent, kSeed + 10);
}

// The filters see the shares, the draw their square roots.
TEST(Distribution, TemperatureLast) {
  Source source = combined_source(SAMPLER_FILTERS_MIN_P_FIRST);
  source.temperature = 2.0f;
  ASSERT_EQ(num_kept(source), 4U);
  source.temperature_order = SAMPLER_TEMPERATURE_LAST;
  ASSERT_EQ(num_kept(source), 3U);
  expect_frequencies(source, kLeastShare, kOnePercent, kSeed + 11);
}

// Two of five equal values fit: the lower ids, or all five.
Source tied_source(sampler_tie_rule ties) {
  Source source;
  source.values = {0.0f, 1.0f, 0.5f, 0.0f, 0.5f, 0.5f, 0.5f, 0.5f};
  source.top_k_ties = source.top_p_ties = ties;
  return source;
}

TEST(Distribution, TiesOfTopK) {
  Source source = tied_source(SAMPLER_TIES_EXACT);
  source.top_k = 3;
  ASSERT_EQ(num_kept(source), 3U);
  expect_frequencies(source, 0.1, kOnePercent, kSeed + 12);
  source.top_k_ties = SAMPLER_TIES_KEEP;
  ASSERT_EQ(num_kept(source), 6U);
  expect_frequencies(source, 0.1, kOnePercent, kSeed + 13);
}

TEST(Distribution, TiesOfTopP) {
  Source source = tied_source(SAMPLER_TIES_EXACT);
  source.top_p = 0.4f;
  ASSERT_EQ(num_kept(source), 3U);
  expect_frequencies(source, 0.1, kOnePercent, kSeed + 14);
  source.top_p_ties = SAMPLER_TIES_KEEP;
  ASSERT_EQ(num_kept(source), 6U);
  expect_frequencies(source, 0.1, kOnePercent, kSeed + 15);
}

TEST(Distribution, Probabilities) {
  expect_frequencies(probabilities_source(1), kLeastShare, kOnePercent, kSeed + 16);
}

TEST(Distribution, UnnormalisedProbabilities) {
  expect_frequencies(probabilities_source(3e4), kLeastShare, kOnePercent, kSeed + 17);
  Source source = probabilities_source(1e-30);
  source.top_k = 6;
  source.top_p = 0.727f;
  source.min_p = 0.4f;
  ASSERT_EQ(num_kept(source), 4U);
  expect_frequencies(source, kLeastShare, kOnePercent, kSeed + 18);
}

// Ids in no order, from all over the range.
TEST(Distribution, CandidateLists) {
  Source source = logits_source();
  source.candidate_ids = {1048575, 7, 524288, 3, 0, 99999, 5, 65536};
  expect_frequencies(source, kLeastShare, kOnePercent, kSeed + 19);
  source.top_p = 0.8f;
  expect_frequencies(source, kLeastShare, kOnePercent, kSeed + 20);
}

// Values that the 16-bit types hold exactly; the least probability is 0.044.
Source half_source(sampler_dtype dtype) {
  Source source;
  source.values = {1.25f, 0.5f, 2.0f, 0.75f, 1.0f, 1.75f, 0.25f, 1.5f};
  source.dtype = dtype;
  return source;
}

TEST(Distribution, F16) {
  expect_frequencies(half_source(SAMPLER_F16), kLeastShare, kOnePercent, kSeed + 21);
}

TEST(Distribution, Bf16) {
  Source source = half_source(SAMPLER_BF16);
  expect_frequencies(source, kLeastShare, kOnePercent, kSeed + 22);
  source.kind = SAMPLER_PROBABILITIES;  // of sum 9
  expect_frequencies(source, 0.02, kOnePercent, kSeed + 23);
}

// ---- Gumbel: 0.1 us a token of the row and draw, so the full claim for one row, 3 % for the
// others

Source gumbel_source() {
  Source source;
  source.draw_method = SAMPLER_DRAW_GUMBEL;
  source.values = logits_of({0.25, 0.06, 0.30, 0.08, 0.21, 0.10});
  return source;
}

TEST(Gumbel, OnePercent) {
  expect_frequencies(gumbel_source(), 0.06, kOnePercent, kSeed + 31);
}

TEST(Gumbel, TemperatureAndFilters) {
  Source source = gumbel_source();
  source.temperature = 1.5f;
  source.top_k = 5;
  source.min_p = 0.45f;
  ASSERT_EQ(num_kept(source), 4U);
  expect_frequencies(source, 0.06, 0.03, kSeed + 32);
}

TEST(Gumbel, Probabilities) {
  Source source = gumbel_source();
  source.kind = SAMPLER_PROBABILITIES;
  source.values = {2.5f, 0.6f, 3.0f, 0.8f, 2.1f, 1.0f};
  source.top_p = 0.9f;
  ASSERT_EQ(num_kept(source), 5U);
  expect_frequencies(source, 0.06, 0.03, kSeed + 33);
}

// Four ids share a block of random words: here all, some and none of a block's are in the list.
TEST(Gumbel, CandidateLists) {
  Source source = gumbel_source();
  source.candidate_ids = {10, 8, 1048575, 9, 11, 4};
  expect_frequencies(source, 0.06, 0.03, kSeed + 34);
}

// The likeliest noises, those of small uniform numbers: a token of 1e-4 against one other.
TEST(Gumbel, RareToken) {
  Source source = gumbel_source();
  source.values = logits_of({1e-4, 1 - 1e-4});
  expect_frequencies(source, 1e-4, 0.15, kSeed + 35);
}

}  // namespace
}  // namespace statistics_test::distribution_test
