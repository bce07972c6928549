// The measuring instrument itself: quantiles as published, faults found when they are there.
#include "chi_square.h"

#include <gtest/gtest.h>

#include <random>

namespace statistics_test::chi_square_test {
namespace {

constexpr std::uint64_t kNumDraws = 6'000'000;

// Draws from a generator that has nothing to do with the library.
Counts draw_from(const Probabilities &probabilities, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Counts counts(probabilities.size());
  for (std::uint64_t i = 0; i < kNumDraws; ++i) {
    long double u = static_cast<long double>(engine() >> 11) * 0x1p-53L;
    std::size_t token = 0;
    while (token + 1 < counts.size() && u >= probabilities[token]) u -= probabilities[token++];
    ++counts[token];
  }
  return counts;
}

// The table of the NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.4: quantiles of three
// decimals, so tails are as exact as their slope there allows.
TEST(ChiSquare, TailsAreThePublishedOnes) {
  EXPECT_NEAR(chi_square_tail(10.828, 1), 0.001, 1e-6);
  EXPECT_NEAR(chi_square_tail(3.841, 1), 0.05, 2e-5);
  EXPECT_NEAR(chi_square_tail(29.588, 10), 0.001, 1e-6);
  EXPECT_NEAR(chi_square_tail(3.940, 10), 0.95, 1e-4);
  EXPECT_NEAR(chi_square_tail(149.449, 100), 0.001, 1e-6);
  EXPECT_NEAR(chi_square_tail(124.342, 100), 0.05, 1e-4);
  EXPECT_EQ(chi_square_tail(0, 3), 1);
}

TEST(ChiSquare, NormalQuantilesAreThePublishedOnes) {
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-9);
  EXPECT_NEAR(normal_quantile(0.025), 1.959964, 1e-6);
  EXPECT_NEAR(normal_quantile(0.001), 3.090232, 1e-6);
  EXPECT_NEAR(normal_quantile(1e-6), 4.753424, 1e-6);
}

TEST(ChiSquare, HonestDrawsPass) {
  const Probabilities p = {0.3L, 0.1L, 0.25L, 0.15L, 0.2L};
  EXPECT_EQ(frequency_fault(draw_from(p, 1), p), "");
}

TEST(ChiSquare, OnePercentBiasOfOneTokenFails) {
  const Probabilities p = {0.3L, 0.1L, 0.25L, 0.15L, 0.2L};
  ASSERT_GE(power_against_bias(kNumDraws, 0.1, 0.01, 5), kPower);
  for (const long double bias : {0.01L, -0.01L}) {
    Probabilities biased = p;
    for (long double &other : biased) other *= 1 - bias * p[1] / (1 - p[1]);
    biased[1] = p[1] * (1 + bias);
    const std::string fault = frequency_fault(draw_from(biased, 2), p);
    EXPECT_EQ(fault.substr(0, 7), "token 1") << fault;
  }
}

TEST(ChiSquare, SmallBiasOfManyTokensFails) {
  // Each token's own test has little power: two standard deviations.
  Probabilities p(64, 1 / 64.0L), biased = p;
  for (std::size_t i = 0; i < 64; ++i) biased[i] *= i % 2 == 0 ? 1.0065L : 0.9935L;
  ASSERT_LT(power_against_bias(kNumDraws, 1 / 64.0, 0.0065, 64), 0.05);
  EXPECT_EQ(frequency_fault(draw_from(p, 3), p), "");
  const std::string fault = frequency_fault(draw_from(biased, 3), p);
  EXPECT_EQ(fault.substr(0, 10), "chi-square") << fault;
}

TEST(ChiSquare, WhatIsImpossibleMustNotHappen) {
  EXPECT_EQ(frequency_fault({500, 500, 0}, {0.5L, 0.5L, 0.0L}), "");
  EXPECT_NE(frequency_fault({500, 500, 1}, {0.5L, 0.5L, 0.0L}), "");
}

TEST(ChiSquare, RareTokensCountTogether) {
  // 10 tokens of 1e-5 each: together 100 of 1e6 draws, and none of the 10 alone has 25.
  Probabilities p(10, 1e-5L);
  p.push_back(1 - 1e-4L);
  Counts counts(10, 10);
  counts.push_back(999'900);
  EXPECT_EQ(frequency_fault(counts, p), "");
  counts.assign(10, 25);
  counts.push_back(999'750);
  EXPECT_NE(frequency_fault(counts, p), "");
}

TEST(ChiSquare, TooFewDrawsAreNoPass) {
  EXPECT_NE(frequency_fault({3, 4}, {0.5L, 0.5L}), "");
  EXPECT_NE(frequency_fault({1000}, {1.0L}), "");
}

TEST(ChiSquare, PowerGrowsFromAlphaToCertainty) {
  EXPECT_NEAR(power_against_bias(1e8, 0.1, 0, 1), kAlpha / 4, 1e-6);
  EXPECT_NEAR(power_against_bias(4.6e7, 0.01, 0.01, 4), 0.99, 0.01);
  EXPECT_GT(power_against_bias(1e9, 0.01, 0.01, 4), 0.999999);
  // Exactly, as the Poisson mixture of central tails: 0.9938 and 0.1439.
  EXPECT_NEAR(power_against_correlation(70, 1, 16), 0.9938, 0.01);
  EXPECT_NEAR(power_against_correlation(20, 1, 16), 0.1439, 0.01);
}

}  // namespace
}  // namespace statistics_test::chi_square_test
