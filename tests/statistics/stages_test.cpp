// Draws through stages that do more than keep a prefix follow the distributions of their
// definitions, here in long double: XTC, mirostat and adaptive-p. Each case finds a bias of 3 % of
// any token of the probability that it names, with chance kPower: every output goes through the
// stages by itself, and a wrong weight or coin is no small bias.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "source.h"

namespace statistics_test::stages_test {
namespace {

constexpr double kBias = 0.03;
constexpr std::uint64_t kSeed = 0x5EED'0002'0000'0000;

const std::vector<double> kShares = {0.16, 0.06, 0.24, 0.10, 0.04, 0.20, 0.08, 0.12};

Source source_of_shares(sampler_draw_method draw_method = SAMPLER_DRAW_INVERSE_CDF) {
  Source source;
  source.values = logits_of(kShares);
  source.draw_method = draw_method;
  return source;
}

// The shares that `keeps` keeps, normalised.
template <class Keeps>
Probabilities kept_shares(const Keeps &keeps) {
  Probabilities result;
  for (const double p : kShares) result.push_back(keeps(p) ? p : 0);
  const long double total = std::accumulate(result.begin(), result.end(), 0.0L);
  for (long double &p : result) p /= total;
  return result;
}

void expect(const Source &source, const Probabilities &expected, std::uint64_t seed) {
  long double least = 1;
  for (const long double p : expected) least = p > 0.02 ? std::min(least, p) : least;
  const std::uint64_t num_draws = draws_needed(double(least), kBias, source.values.size());
  EXPECT_EQ(frequency_fault(draw_counts(source, num_draws, seed), expected), "");
}

// By a coin of 0.4, 0.24, 0.20, 0.16 and 0.12 go: of those of 0.09 and more all but the last.
TEST(StagesDistribution, Xtc) {
  for (const sampler_draw_method draw_method : {SAMPLER_DRAW_INVERSE_CDF, SAMPLER_DRAW_GUMBEL}) {
    Source source = source_of_shares(draw_method);
    source.xtc_probability = 0.4f;
    source.xtc_threshold = 0.09f;
    const Probabilities all = kept_shares([](double) { return true; });
    const Probabilities rest = kept_shares([](double p) { return p < 0.11; });
    Probabilities expected;
    for (std::size_t i = 0; i < all.size(); ++i) {
      expected.push_back(0.6L * all[i] + 0.4L * rest[i]);
    }
    expect(source, expected, kSeed + std::uint64_t(draw_method));
  }
}

// mu is 3.2: tokens of 2^-3.2 = 0.109 and more.
TEST(StagesDistribution, MirostatV2) {
  Source source = source_of_shares();
  source.adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V2;
  source.adaptive_target = 1.6f;
  expect(source, kept_shares([](double p) { return p > 0.11; }), kSeed + 2);
}

// The slope of the eight tokens is 0.5626, and with mu = 3 their k is 4.598, rounded down 4.
TEST(StagesDistribution, MirostatV1) {
  std::vector<double> p = kShares;
  std::sort(p.begin(), p.end(), std::greater<double>());
  double products = 0, squares = 0;
  for (std::size_t i = 0; i + 1 < p.size(); ++i) {
    const double t = std::log(double(i + 2) / double(i + 1));
    products += t * std::log(p[i] / p[i + 1]);
    squares += t * t;
  }
  const double s = products / squares, epsilon = s - 1;
  const double k = std::pow(epsilon * std::pow(2, 3) / (1 - std::pow(8, -epsilon)), 1 / s);
  ASSERT_NEAR(k, 4.598, 0.001);
  Source source = source_of_shares();
  source.adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V1;
  source.adaptive_target = 1.5f;
  expect(source, kept_shares([](double share) { return share > 0.11; }), kSeed + 3);
}

// A token of probability q becomes exp(-10 d^2 / (1 + d)), d = |q - a| / 0.3; a is the target at
// the start.
TEST(StagesDistribution, AdaptiveP) {
  for (const sampler_draw_method draw_method : {SAMPLER_DRAW_INVERSE_CDF, SAMPLER_DRAW_GUMBEL}) {
    Source source = source_of_shares(draw_method);
    source.adaptive_kind = SAMPLER_ADAPTIVE_P;
    source.adaptive_target = 0.3f;
    Probabilities expected;
    for (const double q : kShares) {
      const long double d = std::fabs(q - 0.3L) / 0.3L;
      expected.push_back(std::exp(-10 * d * d / (1 + d)));
    }
    const long double total = std::accumulate(expected.begin(), expected.end(), 0.0L);
    for (long double &p : expected) p /= total;
    expect(source, expected, kSeed + 4 + std::uint64_t(draw_method));
  }
}

// A token d below the first in logit gets exp(-k d^2 - s d^3), k and s of the factor and the curve.
TEST(StagesDistribution, Smoothing) {
  for (const float curve : {1.0f, 2.0f}) {
    Source source = source_of_shares();
    source.adaptive_kind = SAMPLER_ADAPTIVE_SMOOTHING;
    source.adaptive_target = 0.5f;
    source.adaptive_rate = curve;
    const double most = *std::max_element(std::begin(kShares), std::end(kShares));
    Probabilities expected;
    for (const double q : kShares) {
      const long double d = std::log(static_cast<long double>(most) / q);
      const long double k = 0.5L * (3 - curve) / 2, s = 0.5L * (curve - 1) / 2;
      expected.push_back(std::exp(-k * d * d - s * d * d * d));
    }
    const long double total = std::accumulate(expected.begin(), expected.end(), 0.0L);
    for (long double &p : expected) p /= total;
    expect(source, expected, kSeed + 6 + std::uint64_t(curve));
  }
}

}  // namespace
}  // namespace statistics_test::stages_test
