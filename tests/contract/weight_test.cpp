// Scales and weights of rows. exhaustive_weight_test.cpp looks at every f32.
#include "contract/weight.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support.h"

namespace sampler::contract::weight_test {
namespace {

using test::Failures;
using test::kInfinity;
using test::kLargestFloat;
using test::kSmallestSubnormal;
using test::next_down;
using test::next_up;
using test::Random;

constexpr uint64_t kOne = uint64_t(1) << 44;
constexpr uint64_t kLargestTotal = UINT64_MAX - kOne + 1;  // 2^64 - 2^44

// ---- logits ----

TEST(LogitScale, IsOneCorrectlyRoundedDivision) {
  EXPECT_EQ(logit_scale(1.0f), kLog2E);
  EXPECT_EQ(logit_scale(0.5f), 2.0f * kLog2E);
  Random random(1);
  Failures failures;
  for (int i = 0; i < 300000; ++i) {
    const float temperature = std::fabs(random.float_of_exponent(random.between(111, 190)));
    // f64 has more than twice the bits of f32, so rounding its quotient again changes nothing.
    const float expected = float(double(kLog2E) / double(temperature));
    failures.expect(logit_scale(temperature) == expected, bits_of(temperature));
  }
  EXPECT_TRUE(failures.none());
}

TEST(LogitScale, StopsAt2To64) {
  EXPECT_GT(logit_scale(next_down(0x1p64f)), kLog2E * 0x1p-64f);
  for (const float temperature : {0x1p64f, 0x1p65f, kLargestFloat, kInfinity}) {
    EXPECT_EQ(logit_scale(temperature), kLog2E * 0x1p-64f);
  }
}

TEST(LogitScale, GreedyUpTo1e5) {
  for (const float temperature : {1e-5f, 0.0f, -0.0f, -1.0f, -kInfinity}) {
    EXPECT_TRUE(is_greedy(temperature)) << temperature;
  }
  for (const float temperature : {next_up(1e-5f), 1.0f, kInfinity}) {
    EXPECT_FALSE(is_greedy(temperature)) << temperature;
  }
}

TEST(Log2Ratio, IsOneFmaOfTheDifference) {
  Random random(2);
  Failures failures;
  for (int i = 0; i < 100000; ++i) {
    const float max = random.float_of_exponent(random.between(110, 140));
    const float x = random.float_of_exponent(random.between(110, 140));
    const float scale = logit_scale(std::fabs(random.float_of_exponent(random.between(115, 130))));
    const float difference = float(double(x) - double(max));
    failures.expect(log2_ratio_minus_1(x, max, scale) == std::fma(difference, scale, -1.0f),
                    bits_of(x));
  }
  EXPECT_TRUE(failures.none());
}

TEST(LogitWeight, OfTheMaximumAndOfNothing) {
  for (const float max : {-kLargestFloat, -30.0f, -0.0f, 0.0f, 1e-40f, 12.5f, kLargestFloat}) {
    for (const float temperature : {next_up(1e-5f), 0.7f, 1.0f, 1e9f, kInfinity}) {
      const RowScale row = logits_row_scale(max, temperature);
      EXPECT_EQ(weight(row, max), kOne);
      EXPECT_EQ(relative_probability(row, max), 1.0f);
      EXPECT_EQ(weight(row, -kInfinity), 0u);
      EXPECT_EQ(relative_probability(row, -kInfinity), 0.0f);
    }
  }
}

TEST(LogitWeight, EndsBelow101Halvings) {
  EXPECT_EQ(exp2_plus_1(-101.0f), 0x1p-100f);
  EXPECT_EQ(exp2_plus_1(next_down(-101.0f)), 0.0f);
  EXPECT_EQ(exp2_plus_1(-kInfinity), 0.0f);
  EXPECT_EQ(weight_of(exp2_plus_1(-45.0f)), 1u);
  EXPECT_EQ(weight_of(exp2_plus_1(-46.0f)), 0u);  // a tie: to even
  // -1e30 - 1e30 and less: the difference itself may overflow.
  EXPECT_EQ(weight(logits_row_scale(1e30f, 1.0f), -1e30f), 0u);
  EXPECT_EQ(weight(logits_row_scale(kLargestFloat, kInfinity), -kLargestFloat), 0u);
}

TEST(LogitWeight, NeverRisesAsTheLogitFalls) {
  Failures failures;
  for (const float max : {-2e4f, -0.3f, 0.0f, 1e-3f, 11.7f, 1e30f}) {
    for (const float temperature : {2e-5f, 0.3f, 1.0f, 1.7f, 1e4f, 1e20f}) {
      const RowScale row = logits_row_scale(max, temperature);
      // Neighbours below the maximum, then ever wider steps down to where nothing weighs any more.
      float x = max, step = std::fabs(max) * 0x1p-24f + 0x1p-149f;
      uint64_t previous = weight(row, x);
      for (int i = 0; i < 20000; ++i) {
        x = i < 10000 ? next_down(x) : x - step;
        if (i >= 10000) step *= 1.01f;
        const uint64_t current = weight(row, x);
        failures.expect(current <= previous, bits_of(x));
        previous = current;
      }
      EXPECT_EQ(weight(row, -kLargestFloat) * (max < 1e4f && temperature < 1e5f), 0u);
    }
  }
  EXPECT_TRUE(failures.none());
}

// ---- probabilities ----

// The exponent that puts `max` into (0.5, 1].
void expect_scale(float max, Failures *failures) {
  const RowScale row = probabilities_row_scale(max);
  const double scaled = std::ldexp(double(max), row.exponent);
  failures->expect(scaled > 0.5 && scaled <= 1.0, bits_of(max));
  failures->expect(double(relative_probability(row, max)) == scaled, bits_of(max));
  failures->expect(row.kind == SAMPLER_PROBABILITIES, bits_of(max));
}

TEST(ProbabilityScale, PutsTheLargestBetweenAHalfAnd1) {
  Failures failures;
  for (int n = -149; n <= 127; ++n) {
    const float power = std::ldexp(1.0f, n);
    EXPECT_EQ(probabilities_row_scale(power).exponent, -n);
    for (const float max : {next_down(power), power, next_up(power)}) {
      if (max > 0.0f) expect_scale(max, &failures);
    }
  }
  expect_scale(kLargestFloat, &failures);
  Random random(3);
  for (int i = 0; i < 300000; ++i) {
    const float max = std::fabs(random.float_of_exponent(random.between(0, 254)));
    if (max > 0.0f) expect_scale(max, &failures);
  }
  EXPECT_TRUE(failures.none());
}

TEST(ProbabilityScale, ScalesOthersLikeLdexp) {
  Random random(4);
  Failures failures;
  for (int i = 0; i < 300000; ++i) {
    const int exponent = random.between(0, 254);
    const float max = std::fabs(random.float_of_exponent(exponent));
    const float x = std::fabs(random.float_of_exponent(random.between(0, exponent)));
    if (max == 0.0f || x > max) continue;
    const RowScale row = probabilities_row_scale(max);
    const float expected = std::ldexp(x, row.exponent);  // rounded once, where it is subnormal
    failures.expect(relative_probability(row, x) == expected, bits_of(x));
    failures.expect(weight(row, x) == weight_of(expected), bits_of(x));
  }
  EXPECT_TRUE(failures.none());
}

TEST(RowScale, IsChosenByKind) {
  const RowScale logits = row_scale(SAMPLER_LOGITS, 3.0f, 0.5f);
  EXPECT_EQ(logits.kind, SAMPLER_LOGITS);
  EXPECT_EQ(logits.max, 3.0f);
  EXPECT_EQ(logits.scale, logit_scale(0.5f));
  const RowScale probabilities = row_scale(SAMPLER_PROBABILITIES, 3.0f, 0.5f);
  EXPECT_EQ(probabilities.kind, SAMPLER_PROBABILITIES);
  EXPECT_EQ(probabilities.exponent, -2);
}

// ---- rounding and sums ----

// The nearest multiple of 2^-44, ties to even, from the number's bits.
uint64_t rounded_weight(float relative) {
  const uint32_t bits = bits_of(relative);
  const uint64_t significand = (bits & 0x7FFFFFu) | (bits >> 23 ? 0x800000u : 0u);
  const int shift = int(bits >> 23 ? bits >> 23 : 1) - 150 + 44;
  if (shift >= 0) return significand << shift;
  if (shift < -40) return 0;
  const uint64_t quotient = significand >> -shift, rest = significand - (quotient << -shift);
  const uint64_t half = uint64_t(1) << (-shift - 1);
  return quotient + (rest > half || (rest == half && (quotient & 1)) ? 1 : 0);
}

TEST(WeightOf, RoundsToTheNearestTiesToEven) {
  EXPECT_EQ(weight_of(0.0f), 0u);
  EXPECT_EQ(weight_of(1.0f), kOne);
  EXPECT_EQ(weight_of(0x1p-44f), 1u);
  EXPECT_EQ(weight_of(0x1p-45f), 0u);
  EXPECT_EQ(weight_of(next_up(0x1p-45f)), 1u);
  EXPECT_EQ(weight_of(0x1.8p-44f), 2u);
  EXPECT_EQ(weight_of(0x1.4p-43f), 2u);
  EXPECT_EQ(weight_of(kSmallestSubnormal), 0u);
  Failures failures;
  for (uint32_t bits = 0; bits <= bits_of(1.0f); bits += 251) {
    failures.expect(weight_of(float_of(bits)) == rounded_weight(float_of(bits)), bits);
  }
  EXPECT_TRUE(failures.none());
}

TEST(WeightOf, WithItsBiasIsTheSameAndTheBias) {
  Random random(8);
  Failures failures;
  EXPECT_EQ(bits_of(kLowLimb), kWeightBias);
  for (int i = 0; i < 300000; ++i) {
    const float relative = std::fabs(random.float_of_exponent(random.between(0, 126)));
    failures.expect(biased_weight_of(relative) == weight_of(relative) + kWeightBias,
                    bits_of(relative));
  }
  for (const float relative : {0.0f, 0.5f, 1.0f}) {
    EXPECT_EQ(biased_weight_of(relative), weight_of(relative) + kWeightBias);
  }
  EXPECT_TRUE(failures.none());
}

TEST(RelativeForWeightAbove, WeighsWhatIsAboveTheBoundAndNothingElse) {
  Random random(9);
  Failures failures;
  for (int i = 0; i < 300000; ++i) {
    const bool is_logits = random.between(0, 3) != 0;
    const float max = is_logits ? random.float_of_exponent(random.between(100, 135))
                                : std::fabs(random.float_of_exponent(random.between(1, 126)));
    const float temperature = std::fabs(random.float_of_exponent(random.between(115, 140)));
    const RowScale row =
        row_scale(is_logits ? SAMPLER_LOGITS : SAMPLER_PROBABILITIES, max, temperature);
    const auto at = [&](int below) {
      const float share = std::ldexp(1.0f, -below);
      return is_logits ? max - float(random.between(0, 80)) * temperature * share : max * share;
    };
    const float bound = at(random.between(0, 12));
    if (weight(row, bound) == 0) continue;  // some token that weighs something is no higher
    const float x = at(random.between(0, 60));
    const float relative = relative_for_weight_above(row, x, bound);
    failures.expect(weight_of(relative) == (x > bound ? weight(row, x) : 0), bits_of(x));
  }
  const RowScale logits = row_scale(SAMPLER_LOGITS, 3.0f, 1.0f);
  EXPECT_EQ(weight_of(relative_for_weight_above(logits, negative_infinity(), 0.0f)), 0u);
  EXPECT_TRUE(failures.none());
}

TEST(Normalizer, IsTheReciprocalOfTheSum) {
  EXPECT_EQ(normalizer(kOne), 1.0f);
  EXPECT_EQ(normalizer(2 * kOne), 0.5f);
  EXPECT_EQ(normalizer(3 * kOne), 1.0f / 3.0f);
  Random random(5);
  Failures failures;
  for (int i = 0; i < 300000; ++i) {
    const uint64_t total =
        std::min(kOne / 2 + (random.bits64() >> random.between(0, 20)), kLargestTotal);
    const double product = double(normalizer(total)) * (double(total) * 0x1p-44);
    // Half an ulp of f32, and three roundings of f64.
    failures.expect(std::fabs(product - 1.0) <= 0x1p-24 + 0x1p-51, total);
  }
  EXPECT_TRUE(failures.none());
}

}  // namespace
}  // namespace sampler::contract::weight_test
