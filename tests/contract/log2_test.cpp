// Logarithms, noise and log-probabilities. exhaustive_log2_test.cpp looks at every f32.
#include "contract/log2.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support.h"

namespace sampler::contract::log2_test {
namespace {

using test::Failures;
using test::kInfinity;
using test::kLargestFloat;
using test::kSmallestSubnormal;
using test::Random;

TEST(Log2, IsExactAtPowersOfTwo) {
  for (int n = -149; n <= 127; ++n) {
    const float power = std::ldexp(1.0f, n);
    EXPECT_EQ(log2_shifted(power, 0), float(n));
    EXPECT_EQ(log2_shifted(power, -44), float(n - 44));
    EXPECT_EQ(log2_shifted(power, 149), float(n + 149));
  }
}

TEST(Log2, OfAnyNumberWithAnyShift) {
  Random random(1);
  Failures failures;
  for (int i = 0; i < 300000; ++i) {
    const float y = std::fabs(random.float_of_exponent(random.between(0, 254)));
    if (y == 0.0f) continue;
    const int shift = random.between(-149, 149);
    const double expected = std::log2(double(y)) + shift;
    // The polynomial, and the rounding of the result.
    const double bound = 5.7e-8 + 0x1p-24 * std::fabs(expected);
    failures.expect(std::fabs(double(log2_shifted(y, shift)) - expected) <= bound, bits_of(y));
  }
  EXPECT_TRUE(failures.none());
}

TEST(GumbelNoise, AtItsEnds) {
  EXPECT_EQ(gumbel_noise(0), 33.0f);
  // v stays below 1, however large the word.
  EXPECT_EQ(gumbel_noise(UINT32_MAX), gumbel_noise(0xFFFFFF00u));
  EXPECT_NEAR(gumbel_noise(UINT32_MAX), -std::log2(24.0 * std::log(2.0)), 1e-6);
}

TEST(GumbelScore, IsTheScaledValuePlusNoise) {
  Random random(2);
  Failures failures;
  for (int i = 0; i < 100000; ++i) {
    const uint32_t word = random.bits32();
    const float noise = gumbel_noise(word);
    const float x = random.float_of_exponent(random.between(100, 140));
    const float scale = logit_scale(0.25f + random.unit());
    failures.expect(gumbel_score(SAMPLER_LOGITS, x, scale, word) == std::fma(x, scale, noise),
                    word);
    const float p = std::fabs(random.float_of_exponent(random.between(0, 254)));
    if (p == 0.0f) continue;
    failures.expect(gumbel_score(SAMPLER_PROBABILITIES, p, scale, word) ==
                        float(double(log2_shifted(p, 0)) + double(noise)),
                    word);
  }
  EXPECT_TRUE(failures.none());
}

TEST(GumbelScore, IsFinite) {
  EXPECT_EQ(gumbel_score(SAMPLER_LOGITS, 0x1.8p125f, 1.0f, 0), 0x1.8p125f);
  EXPECT_EQ(gumbel_score(SAMPLER_LOGITS, 0x1.8p126f, 1.0f, 0), 0x1p126f);
  EXPECT_EQ(gumbel_score(SAMPLER_LOGITS, -0x1.8p125f, 1.0f, 0), -0x1.8p125f);
  EXPECT_EQ(gumbel_score(SAMPLER_LOGITS, -0x1.8p126f, 1.0f, 0), -0x1p126f);
  for (const float x : {kLargestFloat, 1e38f}) {
    EXPECT_EQ(gumbel_score(SAMPLER_LOGITS, x, logit_scale(1e-3f), 0), 0x1p126f);
    EXPECT_EQ(gumbel_score(SAMPLER_LOGITS, -x, logit_scale(1e-3f), 0), -0x1p126f);
  }
  EXPECT_LT(gumbel_score(SAMPLER_PROBABILITIES, kLargestFloat, 0.0f, 0), 200.0f);
  EXPECT_GT(gumbel_score(SAMPLER_PROBABILITIES, kSmallestSubnormal, 0.0f, UINT32_MAX), -200.0f);
}

// ---- log-probabilities ----

struct LogprobErrors {
  // |error| / max(1e-5, 1e-6 |logprob|).
  double worst = 0.0;
};

// Compares the logprobs of a whole row, weights included, with a softmax in long double.
void compare_logprobs(const RowScale &row, const std::vector<float> &values, float temperature,
                      LogprobErrors *errors) {
  const bool logits = row.kind == SAMPLER_LOGITS;
  const auto exact_log = [&](float x) {
    const long double value = static_cast<long double>(x);
    return logits ? (value - static_cast<long double>(row.max)) /
                        static_cast<long double>(std::min(temperature, 0x1p64f))
                  : std::log(value / static_cast<long double>(row.max));
  };
  uint64_t total = 0;
  long double exact_total = 0.0L;
  for (const float x : values) {
    total += weight(row, x);
    exact_total += std::exp(exact_log(x));
  }
  const long double log_total = std::log(exact_total);
  for (const float x : values) {
    const double expected = double(exact_log(x) - log_total);
    const double error = std::fabs(double(log_probability(row, x, total)) - expected);
    errors->worst = std::max(errors->worst, error / std::max(1e-5, 1e-6 * std::fabs(expected)));
  }
}

TEST(Logprob, OfLogitsKeepsItsBound) {
  Random random(3);
  LogprobErrors errors;
  for (int row = 0; row < 400; ++row) {
    std::vector<float> values(size_t(random.between(1, 300)));
    const float spread = std::ldexp(1.0f, random.between(-12, 9));
    const float centre = row % 3 == 0 ? 1000.0f * (random.unit() - 0.5f) : 0.0f;
    for (float &x : values) x = centre + spread * random.unit();
    const float temperatures[] = {2e-5f, 0.1f, 0.7f, 1.0f, 1.3f, 10.0f, 1e6f, kInfinity};
    const float temperature = temperatures[random.between(0, 7)];
    const float max = *std::max_element(values.begin(), values.end());
    compare_logprobs(logits_row_scale(max, temperature), values, temperature, &errors);
  }
  EXPECT_LE(errors.worst, 1.0);
}

TEST(Logprob, OfProbabilitiesKeepsItsBound) {
  Random random(4);
  LogprobErrors errors;
  for (int row = 0; row < 400; ++row) {
    std::vector<float> values(size_t(random.between(1, 300)));
    const int top = random.between(1, 254), spread = random.between(0, 60);
    for (float &x : values) {
      x = std::fabs(random.float_of_exponent(std::max(0, top - random.between(0, spread))));
      x = std::max(x, kSmallestSubnormal);
    }
    const float max = *std::max_element(values.begin(), values.end());
    compare_logprobs(probabilities_row_scale(max), values, 1.0f, &errors);
  }
  EXPECT_LE(errors.worst, 1.0);
}

TEST(Logprob, KeepsItsBoundForTheLargestSum) {
  const RowScale row = logits_row_scale(0.0f, 1.0f);
  constexpr uint64_t kColumns = (1u << 20) - 1;
  EXPECT_NEAR(log_probability(row, 0.0f, kColumns << 44), -std::log(double(kColumns)), 1e-5);
  EXPECT_NEAR(log_probability(row, -1e4f, uint64_t(1) << 44), -1e4, 1e-2);
}

TEST(Logprob, OfACertainTokenIsZero) {
  EXPECT_EQ(log_probability(logits_row_scale(3.5f, 0.7f), 3.5f, uint64_t(1) << 44), 0.0f);
  EXPECT_EQ(log_probability(probabilities_row_scale(0.25f), 0.25f, uint64_t(1) << 44), 0.0f);
}

// No word above it scores more than the limit with any smaller logit, and not many below it do not.
TEST(GumbelScore, OfWordsAboveTheLastOneIsNoMore) {
  Random random(5);
  Failures failures;
  int64_t num_useful = 0;
  constexpr int kRounds = 200000;
  for (int round = 0; round < kRounds; ++round) {
    const float magnitude = std::ldexp(1.0f, int(random.bits32() % 40) - 10);
    const auto number = [&] { return magnitude * (float(int32_t(random.bits32())) * 0x1p-31f); };
    const float scale = logit_scale(std::ldexp(1.0f, int(random.bits32() % 12) - 6));
    const float x = number();
    const float limit = round % 100 == 0 ? -kInfinity
                        : round % 2 == 0 ? number()
                                         : gumbel_score(number(), scale, random.bits32());
    const uint32_t last = last_word_above(x, scale, limit);
    if (last == UINT32_MAX) continue;
    const float score = gumbel_score(x, scale, last + 1);
    failures.expect(score <= limit, round);
    failures.expect(gumbel_score(std::nextafter(x, -kInfinity), scale, last + 1) <= limit, round);
    const uint32_t above = last + 1 + random.bits32() % (UINT32_MAX - last);
    failures.expect(gumbel_score(x, scale, above) <= limit, round);
    if (last > 0x10000 && gumbel_score(x, scale, last - last / 4) > limit) ++num_useful;
  }
  EXPECT_TRUE(failures.none());
  EXPECT_GT(num_useful, kRounds / 50);
}

}  // namespace
}  // namespace sampler::contract::log2_test
