// Adaptive stages: the bits that section 14.2 of the contract fixes, and how far they are from
// exact arithmetic.
#include "contract/adaptive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <vector>

#include "edits_oracle.h"
#include "support.h"

namespace sampler::contract::adaptive_test {
namespace {

using oracle::Ranked;
using oracle::Real;
using test::Failures;
using test::kInfinity;
using test::kLargestFloat;
using test::kNaN;
using test::kSmallestSubnormal;
using test::Random;

bool equal(float a, float b) {
  return bits_of(a) == bits_of(b) || (is_nan(a) && is_nan(b));
}

RowScale scale_of(const Ranked &row) {
  return row_scale(row.are_logits ? SAMPLER_LOGITS : SAMPLER_PROBABILITIES, row.values[0],
                   row.temperature);
}

// Rows as models give them, flat ones, steep ones, ones of equal values, up to a few thousand
// tokens; half of them logits.
Ranked random_row(Random &random, bool are_logits, int most) {
  Ranked row = {{}, are_logits, 1.0f};
  const int size = random.between(0, 9) == 0 ? random.between(1, 3) : random.between(1, most);
  const float spread = std::ldexp(1.0f, random.between(-10, 5));
  const float steps = random.between(0, 4) == 0 ? 4.0f : 0.0f;
  for (int i = 0; i < size; ++i) {
    // About normal.
    float x = 0;
    for (int term = 0; term < 4; ++term) x += random.unit() - 0.5f;
    x *= spread;
    if (steps != 0.0f) x = std::nearbyint(x * steps) / steps;  // many are equal
    row.values.push_back(are_logits ? x : std::exp2(x));
  }
  if (are_logits) {
    const float temperatures[] = {0.25f, 0.7f, 1.0f, 1.0f, 1.5f, 4.0f};
    row.temperature = temperatures[random.between(0, 5)];
  }
  std::sort(row.values.begin(), row.values.end(), std::greater<float>());
  return row;
}

uint64_t total_of(const std::vector<uint64_t> &weights) {
  return std::accumulate(weights.begin(), weights.end(), uint64_t(0));
}

// ---- mirostat ----

TEST(Exp2, OfNegativeNumbersIsThatOfTheOracle) {
  Random random(1);
  Failures failures;
  for (int i = 0; i < 200000; ++i) {
    const float y = -std::ldexp(random.unit(), random.between(-10, 8));
    failures.expect(equal(exp2_of_negative(y), oracle::relative_of_log2(y)), bits_of(y));
    failures.expect(
        weight_of(exp2_of_negative(y)) == oracle::weight_of_relative(oracle::relative_of_log2(y)),
        bits_of(y));
  }
  EXPECT_TRUE(failures.none());
  EXPECT_EQ(exp2_of_negative(0.0f), 1.0f);
  EXPECT_EQ(exp2_of_negative(-100.0f), 0x1p-100f);
  EXPECT_EQ(exp2_of_negative(-101.0f), 0.0f);
  EXPECT_EQ(exp2_of_negative(-kInfinity), 0.0f);
}

TEST(MirostatV2, HasTheThresholdOfTheContract) {
  Random random(2);
  Failures failures;
  const float ends[] = {0.0f,   -0.0f,  -5.0f,         -kLargestFloat, kSmallestSubnormal,
                        100.0f, 100.5f, kLargestFloat, 44.0f,          64.0f,
                        20.0f};
  for (int i = 0; i < 200000; ++i) {
    const float mu = i % 10 == 0 ? ends[random.between(0, 10)]
                                 : std::ldexp(random.unit(), random.between(-4, 7));
    const uint64_t total = (uint64_t(1) << 43) + (random.bits64() >> random.between(1, 30));
    failures.expect(mirostat_threshold(mu, total) == oracle::mirostat_threshold(mu, total),
                    bits_of(mu));
  }
  EXPECT_TRUE(failures.none());
  constexpr uint64_t kTotal = uint64_t(3) << 44;
  EXPECT_EQ(mirostat_threshold(0.0f, kTotal), kTotal);
  EXPECT_EQ(mirostat_threshold(-7.0f, kTotal), kTotal);
  EXPECT_EQ(mirostat_threshold(1.0f, kTotal), kTotal / 2);
  EXPECT_EQ(mirostat_threshold(10.0f, kTotal), kTotal >> 10);
  EXPECT_EQ(mirostat_threshold(100.0f, kTotal), 1u);
  EXPECT_EQ(mirostat_threshold(100.5f, kTotal), 0u);
}

// 1.71e-7 of e, and the rounding of t, half an ulp of mu + 1, as a factor.
TEST(MirostatV2, ThresholdKeepsItsBound) {
  Random random(3);
  Real worst = 0, worst_below_7 = 0;
  for (int i = 0; i < 200000; ++i) {
    const float mu = std::ldexp(random.unit(), random.between(-4, 7));
    if (mu > 100) continue;
    const Real exact = std::exp2(-Real(mu));
    const Real error = std::fabs(Real(exp2_of_negative(-mu)) - exact) / exact;
    worst = std::max(worst, error);
    if (mu < 7) worst_below_7 = std::max(worst_below_7, error);
  }
  RecordProperty("relative_error", std::to_string(double(worst * 1e6L)) + "e-6");
  RecordProperty("relative_error_below_7", std::to_string(double(worst_below_7 * 1e6L)) + "e-6");
  EXPECT_LE(worst, 2.9e-6L);
  EXPECT_LE(worst_below_7, 3.4e-7L);
}

MirostatSlope slope_of(const Ranked &row) {
  MirostatSlope slope;
  const RowScale scale = scale_of(row);
  for (int32_t i = 0; i + 1 < std::min(int32_t(row.values.size()), kMirostatTokens); ++i) {
    slope.add(i, log2_fall(scale, row.values[size_t(i)], row.values[size_t(i) + 1]));
  }
  return slope;
}

TEST(MirostatV1, HasTheBitsOfTheContract) {
  Random random(4);
  Failures failures;
  int64_t num_flat = 0, num_cut = 0;
  for (int round = 0; round < 20000; ++round) {
    const Ranked row = random_row(random, round % 2 == 0, 300);
    const int32_t size = int32_t(row.values.size());
    const float mu = 24 * random.unit() - 2;
    const float slope = slope_of(row).slope();
    if (size > 1) failures.expect(equal(slope, oracle::mirostat_slope(row)), uint64_t(round));
    for (const int32_t num_elements : {size, 32000, 1048575}) {
      const int32_t k = mirostat_k(slope, mu, num_elements, size);
      failures.expect(k == oracle::mirostat_k(slope, mu, num_elements, size), uint64_t(round));
      failures.expect(1 <= k && k <= size, uint64_t(round));
      if (k > 1 && k < size) ++num_cut;
    }
    if (slope < 1) ++num_flat;
  }
  EXPECT_TRUE(failures.none());
  EXPECT_GT(num_flat, 3000);
  EXPECT_GT(num_cut, 3000);
}

TEST(MirostatV1, KOfAnySlope) {
  Random random(5);
  Failures failures;
  for (int i = 0; i < 200000; ++i) {
    const float slope = i % 3 == 0 ? std::fabs(random.float_of_exponent(random.between(0, 254)))
                        : i % 3 == 1
                            ? 1.0f + std::ldexp(random.unit() - 0.5f, -random.between(0, 24))
                            : 8 * random.unit();
    const float mu =
        i % 5 == 0 ? random.float_of_exponent(random.between(0, 254)) : 24 * random.unit() - 2;
    const int32_t num_elements = random.between(2, 1 << random.between(2, 20)) - 1;
    const int32_t size = random.between(1, std::max(1, num_elements));
    failures.expect(mirostat_k(slope, mu, std::max(num_elements, 2), size) ==
                        oracle::mirostat_k(slope, mu, std::max(num_elements, 2), size),
                    bits_of(slope));
  }
  EXPECT_TRUE(failures.none());
}

TEST(MirostatV1, AtItsEnds) {
  // One token, slopes that are no number.
  EXPECT_EQ(mirostat_k(quiet_nan(), 10.0f, 1, 1), 1);
  EXPECT_EQ(mirostat_k(kInfinity, 10.0f, 32000, 100), 1);
  // Equal tokens: all where mu is above the entropy of V of them, else one.
  const Ranked equal_tokens = {std::vector<float>(1000, 2.0f), true, 1.0f};
  const float slope = slope_of(equal_tokens).slope();
  EXPECT_EQ(slope, 0.0f);
  EXPECT_EQ(mirostat_k(slope, 10.1f, 1000, 1000), 1000);
  EXPECT_EQ(mirostat_k(slope, 9.9f, 1000, 1000), 1);
  // A slope of 1 is the limit from both sides: 2^mu / ln(V).
  const int32_t at_1 = mirostat_k(1.0f, 12.0f, 32000, 32000);
  EXPECT_EQ(at_1, 394);  // 4096 / 10.3735
  EXPECT_EQ(mirostat_k(test::next_up(1.0f), 12.0f, 32000, 32000), at_1);
  EXPECT_EQ(mirostat_k(test::next_down(1.0f), 12.0f, 32000, 32000), at_1);
  // A flat row: (0.2 * 2^10 / (32000^0.2 - 1))^(1 / 0.8)
  EXPECT_EQ(mirostat_k(0.8f, 10.0f, 32000, 32000), 68);
  EXPECT_EQ(mirostat_k(0.8f, 10.0f, 32000, 50), 50);
  for (const float mu : {kInfinity, kLargestFloat}) {
    EXPECT_EQ(mirostat_k(1.2f, mu, 32000, 777), 777);
    EXPECT_EQ(mirostat_k(1.2f, -mu, 32000, 777), 1);
  }
  // Logits as far apart as they can be, at the lowest temperature.
  const Ranked far = {{kLargestFloat, 0.0f, -kLargestFloat}, true, 2e-5f};
  EXPECT_EQ(mirostat_k(slope_of(far).slope(), 10.0f, 3, 3), 1);
}

TEST(MirostatV1, KeepsItsBounds) {
  Random random(6);
  Real worst_slope = 0, worst_k = 0;
  int64_t num_compared = 0;
  for (int round = 0; round < 20000; ++round) {
    const Ranked row = random_row(random, true, 300);
    if (row.values.size() < 2) continue;
    const Real exact = oracle::exact_mirostat_slope(row);
    const float slope = slope_of(row).slope();
    if (exact > 0) worst_slope = std::max(worst_slope, std::fabs(Real(slope) / exact - 1));
    const float mu = 20 * random.unit();
    if (exact < 0.25L) continue;
    const Real exact_k = std::exp2(oracle::exact_mirostat_log2_k(exact, mu, 128256));
    if (exact_k < 1 || exact_k > 128256) continue;
    ++num_compared;
    const Real k = mirostat_k(slope, mu, 128256, 128256);
    // What is left of k's error when the rounding down is taken off.
    const Real error = std::max(k - exact_k, exact_k - 1 - k);
    worst_k = std::max(worst_k, error / exact_k);
  }
  RecordProperty("slope_error", std::to_string(double(worst_slope * 1e6L)) + "e-6");
  RecordProperty("k_error", std::to_string(double(worst_k * 1e6L)) + "e-6");
  EXPECT_GT(num_compared, 2000);
  // The slope: 1.9e-7 of each fall, three roundings and log2e's own; as much of each length, of
  // which there are three; 0.6e-7 of the quotient. log2(k), where the slope is 1/4: 6.5e-6 of rho
  // over the slope, and 17 times the relative error of the slope. k: ln(2) times that, and 2^q.
  EXPECT_LE(worst_slope, 8.2e-7L);
  EXPECT_LE(worst_k, 3e-5L);
}

TEST(MirostatObservation, HasTheBitsOfTheContractAndKeepsItsBound) {
  Random random(7);
  Failures failures;
  Real worst = 0;
  for (int round = 0; round < 2000; ++round) {
    const Ranked row = random_row(random, round % 2 == 0, 300);
    const uint64_t total = total_of(oracle::weights_of(row));
    const size_t rank = size_t(random.between(0, int(row.values.size()) - 1));
    const float log2_relative = relative_log2(scale_of(row), row.values[rank]);
    failures.expect(equal(log2_relative, oracle::relative_log2(row, rank)), uint64_t(round));
    const float observed = surprise(log2_relative, total);
    failures.expect(equal(observed, oracle::mirostat_observation(log2_relative, total)),
                    uint64_t(round));
    const Real exact = -oracle::exact_log2(row, rank);
    const Real bound = std::max(1.5e-5L, 1e-6L * exact);
    worst = std::max(worst, std::fabs(Real(observed) - exact) / bound);
  }
  RecordProperty("share_of_bound", std::to_string(double(worst)));
  EXPECT_TRUE(failures.none());
  EXPECT_LE(worst, 1.0L);
}

TEST(Mirostat, MovesMu) {
  Random random(8);
  Failures failures;
  for (int i = 0; i < 200000; ++i) {
    const auto any = [&] {
      return i % 4 == 0 ? random.float_of_exponent(random.between(0, 254)) : 20 * random.unit() - 4;
    };
    const float mu = any(), observation = any(), target = std::fabs(any()), rate = std::fabs(any());
    failures.expect(equal(mirostat_moved(mu, observation, {target, rate}),
                          oracle::mirostat_moved(mu, observation, target, rate)),
                    bits_of(mu));
  }
  EXPECT_TRUE(failures.none());
  EXPECT_EQ(mirostat_moved(10.0f, 9.0f, {5.0f, 0.5f}), 8.0f);
  EXPECT_EQ(mirostat_moved(10.0f, kNaN, {5.0f, 0.5f}), 10.0f);
  EXPECT_EQ(mirostat_moved(10.0f, kInfinity, {5.0f, 0.5f}), 10.0f);
  EXPECT_EQ(mirostat_moved(10.0f, kInfinity, {5.0f, 0.0f}), 10.0f);
  EXPECT_EQ(mirostat_moved(-kLargestFloat, kLargestFloat, {5.0f, 9.0f}), -kLargestFloat);
}

TEST(Mirostat, HasDefaults) {
  const MirostatRules defaults = mirostat_rules(0.0f, 0.0f);
  EXPECT_EQ(defaults.target, 5.0f);
  EXPECT_EQ(defaults.rate, 0.1f);
  EXPECT_EQ(mirostat_start(defaults), 10.0f);
  EXPECT_EQ(mirostat_rules(3.0f, -1.0f).rate, 0.0f);
  EXPECT_EQ(mirostat_rules(3.0f, 0.2f).target, 3.0f);
  EXPECT_TRUE(are_valid_mirostat_rules(0.0f, -1.0f));
  for (const float bad : {kNaN, kInfinity, -kInfinity}) {
    EXPECT_FALSE(are_valid_mirostat_rules(bad, 0.1f));
    EXPECT_FALSE(are_valid_mirostat_rules(5.0f, bad));
  }
  EXPECT_FALSE(are_valid_mirostat_rules(-1.0f, 0.1f));
}

// Between the draw from logits, at temperature 1, and the exact shares.
Real total_variation(const std::vector<float> &logits, const std::vector<Real> &exact) {
  const RowScale scale = logits_row_scale(*std::max_element(logits.begin(), logits.end()), 1.0f);
  std::vector<uint64_t> weights;
  for (const float y : logits) weights.push_back(weight(scale, y));
  const Real total = Real(total_of(weights));
  Real distance = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    distance += std::fabs(Real(weights[i]) / total - exact[i]) / 2;
  }
  return distance;
}

// ---- adaptive-p ----

AdaptivePState random_sums(Random &random, const AdaptivePRules &rules) {
  AdaptivePState state = adaptive_p_start(rules);
  for (int i = random.between(0, 30); i > 0; --i) {
    state = adaptive_p_moved(state, random.unit(), rules);
  }
  return state;
}

AdaptiveP stage_of(const Ranked &row, const AdaptivePState &state, const AdaptivePRules &rules) {
  return adaptive_p(state, rules, scale_of(row), total_of(oracle::weights_of(row)));
}

TEST(AdaptiveP, HasTheBitsOfTheContract) {
  Random random(9);
  Failures failures;
  for (int round = 0; round < 5000; ++round) {
    const Ranked row = random_row(random, round % 2 == 0, 100);
    const AdaptivePRules rules = adaptive_p_rules(random.unit(), random.unit());
    AdaptivePState state = random_sums(random, rules);
    if (round % 50 == 0) state.weight = round % 100 == 0 ? 0.0f : -1.0f;
    const auto probabilities = oracle::adaptive_p_probabilities(row);
    const auto expected = oracle::adaptive_p_logits(row, {state.sum, state.weight}, rules.target);
    const AdaptiveP stage = stage_of(row, state, rules);
    for (size_t rank = 0; rank < row.values.size(); ++rank) {
      const float x = row.values[rank];
      failures.expect(equal(stage.probability(x), probabilities[rank]), uint64_t(round));
      failures.expect(equal(stage.logit(x), expected[rank]), uint64_t(round));
    }
  }
  EXPECT_TRUE(failures.none());
}

TEST(AdaptiveP, OfATokenAloneTheProbabilityIsOne) {
  Random random(12);
  Failures failures;
  const AdaptivePRules rules = adaptive_p_rules(0.3f, 0.9f);
  for (int i = 0; i < 100000; ++i) {
    const Ranked row = {{std::ldexp(1.0f + random.unit(), random.between(-149, 100))},
                        i % 2 == 0,
                        i % 4 == 0 ? 0.7f : 1.0f};
    const AdaptiveP stage = stage_of(row, adaptive_p_start(rules), rules);
    failures.expect(equal(stage.probability(row.values[0]), 1.0f), bits_of(row.values[0]));
    failures.expect(equal(stage.rounded_probability(row.values[0]), 1.0f), bits_of(row.values[0]));
  }
  EXPECT_TRUE(failures.none());
}

// As far from the wanted probability as a token can be, beside one that has it.
TEST(AdaptiveP, LeavesEachTokenSomeWeight) {
  const AdaptivePRules rules = adaptive_p_rules(1.0f, 0.9f);
  const AdaptiveP stage = adaptive_p({1.0f, 1.0f}, rules, logits_row_scale(0, 1), 1);
  ASSERT_EQ(stage.wanted, 1.0f);
  const RowScale scale = logits_row_scale(stage.logit_of(1.0f), 1.0f);
  EXPECT_EQ(weight(scale, stage.logit_of(1.0f)), uint64_t(1) << kWeightBits);
  EXPECT_GT(weight(scale, stage.logit_of(0.0f)), uint64_t(1) << 6);
}

// The largest logit is that of one of the two tokens that are nearest to the wanted probability.
TEST(AdaptiveP, LogitsFallWithTheDistance) {
  constexpr int kUnits = 1 << 21;
  Failures failures;
  for (const float wanted : {0.0f, 1e-7f, 1e-3f, 0.1f, 0.3f, 0.5f, 0x1.fffffep-2f, 0.9f, 1.0f}) {
    const AdaptiveP stage = {logits_row_scale(0.0f, 1.0f), 1.0f, 1.0f, wanted};
    for (int i = 1; i <= kUnits; ++i) {
      const float low = float(i - 1) / float(kUnits), high = float(i) / float(kUnits);
      if (low < wanted && high > wanted) continue;
      const float rise = stage.logit_of(high) - stage.logit_of(low);
      failures.expect(low < wanted ? rise > 0.0f : rise < 0.0f, uint64_t(i));
      failures.expect(equal(stage.rounded(high), high), uint64_t(i));
    }
  }
  EXPECT_TRUE(failures.none());
}

// q has an error of 2.4e-7 by its rounding, and y falls by at most 32 for 1 of q: half of that for
// the distribution, 3.8e-6. Rounding d and y adds at most 3e-6.
TEST(AdaptiveP, KeepsItsBound) {
  Random random(10);
  Real worst = 0;
  for (int round = 0; round < 2000; ++round) {
    const Ranked row = random_row(random, round % 2 == 0, 300);
    const AdaptivePRules rules = adaptive_p_rules(random.unit(), random.unit());
    const AdaptivePState state = random_sums(random, rules);
    const auto exact = oracle::exact_adaptive_p(row, {state.sum, state.weight}, rules.target);
    const AdaptiveP stage = stage_of(row, state, rules);
    std::vector<float> logits;
    for (const float x : row.values) logits.push_back(stage.logit(x));
    worst = std::max(worst, total_variation(logits, exact));
  }
  RecordProperty("total_variation", std::to_string(double(worst * 1e6L)) + "e-6");
  EXPECT_LE(worst, 1e-5L);
}

// Two probabilities, of half of the tokens each, that may be rounded by half a unit up and down.
TEST(AdaptiveP, KeepsItsBoundOfTwoProbabilities) {
  Random random(15);
  Real worst = 0;
  for (int round = 0; round < 3000; ++round) {
    Ranked row = {{}, true, 1.0f};
    const int half = random.between(1, 40);
    row.values.assign(size_t(2 * half), 0.0f);
    const float below = (0.5f + random.unit()) * float(4 * half) * 0x1p-21f;
    for (int i = half; i < 2 * half; ++i) row.values[size_t(i)] = -below;
    const AdaptivePRules rules = adaptive_p_rules(1.0f, 0.0f);
    const auto exact = oracle::exact_adaptive_p(row, {1.0f, 1.0f}, rules.target);
    const AdaptiveP stage = stage_of(row, {1.0f, 1.0f}, rules);
    std::vector<float> logits;
    for (const float x : row.values) logits.push_back(stage.logit(x));
    worst = std::max(worst, total_variation(logits, exact));
  }
  RecordProperty("total_variation", std::to_string(double(worst * 1e6L)) + "e-6");
  EXPECT_LE(worst, 1e-5L);
}

// ---- smoothing ----

float random_curve(Random &random) {
  const int which = random.between(0, 4);
  return which < 4 ? float(which) : 1.0f + 2.0f * random.unit();
}

TEST(Smoothing, HasTheBitsOfTheContract) {
  Random random(13);
  Failures failures;
  for (int round = 0; round < 5000; ++round) {
    const Ranked row = random_row(random, round % 2 == 0, 100);
    const float factor = round % 3 == 0
                             ? std::fabs(random.float_of_exponent(random.between(1, 254)))
                             : std::exp(8 * random.unit() - 6);
    const float curve = random_curve(random);
    const auto expected = oracle::smoothed_logits(row, factor, curve);
    const Smoothing stage = smoothing(factor, curve, scale_of(row));
    for (size_t rank = 0; rank < row.values.size(); ++rank) {
      const float y = stage.logit(row.values[rank]);
      failures.expect(equal(y, expected[rank]) && is_finite(y), uint64_t(round));
    }
  }
  EXPECT_TRUE(failures.none());
}

// b has an error of 2e-7 and, of probabilities, 4e-7 of the logarithms that it comes of; y moves by
// at most 3 times its relative error, and only tokens of y above -30 count.
TEST(Smoothing, KeepsItsBound) {
  Random random(14);
  Real worst = 0;
  for (int round = 0; round < 2000; ++round) {
    const Ranked row = random_row(random, round % 2 == 0, 300);
    const float factor = std::exp(11 * random.unit() - 4);  // up to 1,097
    const float curve = random_curve(random);
    const auto exact = oracle::exact_smoothing(row, factor, curve);
    const Smoothing stage = smoothing(factor, curve, scale_of(row));
    std::vector<float> logits;
    for (const float x : row.values) logits.push_back(stage.logit(x));
    worst = std::max(worst, total_variation(logits, exact));
  }
  RecordProperty("total_variation", std::to_string(double(worst * 1e6L)) + "e-6");
  EXPECT_LE(worst, 1e-5L);
}

TEST(Smoothing, HasBoundsAndIsFiniteFarAway) {
  EXPECT_TRUE(smoothing_is_on(kSmallestSubnormal));
  EXPECT_FALSE(smoothing_is_on(0.0f));
  for (const float curve : {0.0f, 1.0f, 2.0f, 3.0f}) {
    EXPECT_TRUE(are_valid_smoothing_rules(0.0f, curve));
    EXPECT_TRUE(are_valid_smoothing_rules(kLargestFloat, curve));
    for (const float factor : {kSmallestSubnormal, 1.0f, kLargestFloat}) {
      const Smoothing stage = smoothing(factor, curve, logits_row_scale(kLargestFloat, 0.1f));
      EXPECT_EQ(stage.logit(kLargestFloat), 0.0f);
      EXPECT_TRUE(is_finite(stage.logit(-kLargestFloat))) << factor << " " << curve;
    }
  }
  for (const float bad : {kNaN, kInfinity, -kInfinity, -1.0f}) {
    EXPECT_FALSE(are_valid_smoothing_rules(bad, 1.0f));
    EXPECT_FALSE(are_valid_smoothing_rules(1.0f, bad));
  }
  EXPECT_FALSE(are_valid_smoothing_rules(1.0f, 0.99f));
  EXPECT_FALSE(are_valid_smoothing_rules(1.0f, 3.01f));
}

TEST(AdaptiveP, MovesItsSums) {
  Random random(11);
  Failures failures;
  for (int i = 0; i < 100000; ++i) {
    const AdaptivePRules rules = adaptive_p_rules(2 * random.unit(), 1.2f * random.unit() - 0.1f);
    const AdaptivePState start = adaptive_p_start(rules);
    const auto expected = oracle::adaptive_p_start(rules.target, rules.decay);
    failures.expect(equal(start.sum, expected.sum) && equal(start.weight, expected.weight), i);
    const bool any = i % 4 == 0;
    const AdaptivePState state = {
        any ? random.float_of_exponent(random.between(0, 254)) : 10 * random.unit(),
        any ? random.float_of_exponent(random.between(0, 254)) : 10 * random.unit()};
    const float observation = i % 100 == 0 ? kNaN : random.unit();
    const auto moved_state = adaptive_p_moved(state, observation, rules);
    const auto expected_state =
        oracle::adaptive_p_moved({state.sum, state.weight}, observation, rules.decay);
    failures.expect(equal(moved_state.sum, expected_state.sum) &&
                        equal(moved_state.weight, expected_state.weight),
                    i);
  }
  EXPECT_TRUE(failures.none());
}

TEST(AdaptiveP, HasDefaultsAndBounds) {
  EXPECT_EQ(adaptive_p_rules(0.3f, 0.0f).decay, 0.9f);
  EXPECT_EQ(adaptive_p_rules(0.3f, -1.0f).decay, 0.0f);
  EXPECT_EQ(adaptive_p_rules(0.3f, 1.0f).decay, 0.99f);
  EXPECT_EQ(adaptive_p_rules(0.3f, 0.5f).decay, 0.5f);
  EXPECT_EQ(adaptive_p_rules(7.0f, 0.5f).target, 1.0f);
  EXPECT_EQ(adaptive_p_rules(0.3f, 0.5f).target, 0.3f);
  EXPECT_TRUE(adaptive_p_is_on(0.0f));
  EXPECT_FALSE(adaptive_p_is_on(-kSmallestSubnormal));
  EXPECT_TRUE(are_valid_adaptive_p_rules(-1.0f, 0.0f));
  for (const float bad : {kNaN, kInfinity, -kInfinity}) {
    EXPECT_FALSE(are_valid_adaptive_p_rules(bad, 0.5f));
    EXPECT_FALSE(are_valid_adaptive_p_rules(0.5f, bad));
  }
  // The wanted probability: 2 * 0.5 less the mean so far.
  const AdaptivePRules rules = adaptive_p_rules(0.5f, 0.5f);
  const auto wanted = [&](const AdaptivePState &state) {
    return adaptive_p(state, rules, logits_row_scale(0.0f, 1.0f), 1).wanted;
  };
  EXPECT_EQ(wanted(adaptive_p_start(rules)), 0.5f);
  EXPECT_EQ(wanted({1.0f, 4.0f}), 0.75f);
  EXPECT_EQ(wanted({-1.0f, 4.0f}), 1.0f);
  EXPECT_EQ(wanted({8.0f, 4.0f}), 0.0f);
  EXPECT_EQ(wanted({8.0f, 0.0f}), 0.5f);
  EXPECT_EQ(wanted({8.0f, kSmallestSubnormal}), 0.0f);
}

// ---- top-p decay ----

TEST(TopPDecay, MovesTheRunningTopP) {
  Random random(12);
  Failures failures;
  for (int i = 0; i < 100000; ++i) {
    const float running = random.unit(), top_p = 3 * random.unit() - 1, factor = random.unit();
    const float least = 0.5f * random.unit();
    for (const bool is_reset : {false, true}) {
      failures.expect(equal(top_p_moved(running, top_p, factor, least, is_reset),
                            oracle::top_p_moved(running, top_p, factor, least, is_reset)),
                      i);
    }
  }
  EXPECT_TRUE(failures.none());
  EXPECT_EQ(top_p_moved(0.5f, 0.9f, 0.5f, 0.0f, false), 0.25f);
  EXPECT_EQ(top_p_moved(0.5f, 0.9f, 0.5f, 0.3f, false), 0.3f);
  EXPECT_EQ(top_p_moved(0.5f, 0.9f, 0.5f, 0.3f, true), 0.9f);
  EXPECT_EQ(top_p_moved(0.5f, kInfinity, 0.5f, 0.3f, true), 1.0f);
  EXPECT_EQ(top_p_start(-kInfinity), 0.0f);
  for (const float off : {0.0f, -0.5f, 1.0f, 2.0f}) EXPECT_FALSE(top_p_decay_is_on(off)) << off;
  EXPECT_TRUE(top_p_decay_is_on(0.5f));
}

// ---- a forced token ----

TEST(ForcedToken, HasItsOwnLogProbability) {
  const RowScale logits = logits_row_scale(2.0f, 1.0f);
  const RowScale probabilities = probabilities_row_scale(0.5f);
  constexpr uint64_t kTotal = uint64_t(1) << 45;
  EXPECT_EQ(forced_log_probability(logits, 1.5f, true, kTotal),
            log_probability(logits, 1.5f, kTotal));
  EXPECT_EQ(forced_log_probability(logits, 0.0f, true, kTotal),
            log_probability(logits, 0.0f, kTotal));
  EXPECT_EQ(forced_log_probability(probabilities, 0.25f, true, kTotal),
            log_probability(probabilities, 0.25f, kTotal));
  EXPECT_EQ(forced_log_probability(logits, 1.5f, false, kTotal), -kInfinity);
  EXPECT_EQ(forced_log_probability(logits, -kInfinity, true, kTotal), -kInfinity);
  EXPECT_EQ(forced_log_probability(probabilities, 0.0f, true, kTotal), -kInfinity);
}

}  // namespace
}  // namespace sampler::contract::adaptive_test
