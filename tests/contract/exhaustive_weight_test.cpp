// The weight function over every f32, with the figures that docs/contract.md states. The hash holds
// every bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "contract/weight.h"
#include "support.h"

namespace sampler::contract::exhaustive_weight_test {
namespace {

using test::Failures;
using test::Hash;

TEST(EveryF32, WeightsAreMonotoneAndAccurate) {
  Failures inversions, weight_inversions;
  Hash hash;
  double worst = 0.0;
  float previous = 1.0f;
  for (uint32_t bits = bits_of(-1.0f); bits <= bits_of(-101.0f); ++bits) {
    const float t = float_of(bits), e = exp2_plus_1(t);
    hash.add(e);
    inversions.expect(e <= previous, bits);
    weight_inversions.expect(weight_of(e) <= weight_of(previous), bits);
    worst = std::max(worst, std::fabs(double(e) / std::exp2(double(t) + 1.0) - 1.0));
    previous = e;
  }
  EXPECT_TRUE(inversions.none());
  EXPECT_TRUE(weight_inversions.none());
  EXPECT_NEAR(worst, 1.709e-7, 0.0005e-7);
  EXPECT_EQ(previous, 0x1p-100f);
  EXPECT_TRUE(hash.is(0xD0237B2059A42CDCu));
}

// Why t has its -1: without it t is finer than the results, and neighbours come out in the wrong
// order. All of that happens between -0.5 and -2^-11, where rint(t) is 0.
TEST(EveryF32, ThePlainFormWouldHaveInversions) {
  int64_t inversions = 0;
  float previous = 1.0f;
  for (uint32_t bits = bits_of(-0x1p-11f); bits <= bits_of(-0.5f); ++bits) {
    const float t = float_of(bits);
    float e = 0x1.5bba14p-10f;
    for (const float coefficient :
         {0x1.3cea88p-7f, 0x1.c6b752p-5f, 0x1.ebf9bcp-3f, 0x1.62e42ap-1f, 0x1p+0f}) {
      e = fma32(e, t, coefficient);
    }
    if (e > previous) ++inversions;
    previous = e;
  }
  EXPECT_EQ(inversions, 83588);
}

// ---- the sum in two 32-bit limbs ----

// What a lane adds up for a token: raw bits, in units of 2^-21 and 2^-44 above the constants'.
struct Limbs {
  uint32_t high;
  uint32_t low;
};

constexpr float kHighConstant = 6.0f;
constexpr float kLowConstant = 1.5f * 0x1p-21f;

Limbs limbs_of(float e) {
  const float high = e + kHighConstant;
  const float low = e - (high - kHighConstant);
  return {bits_of(high), bits_of(low + kLowConstant)};
}

// What `count` tokens weigh whose limbs add up to `sum`.
uint64_t weight_of_limbs(const Limbs &sum, uint32_t count) {
  const uint32_t high = sum.high - count * bits_of(kHighConstant);
  const int32_t low = int32_t(sum.low - count * bits_of(kLowConstant));
  return (uint64_t(high) << 23) + uint64_t(int64_t(low));
}

TEST(EveryF32, LimbsHoldTheWeight) {
  // The differences are or-ed rather than compared one by one, which lets the loop be vectorised.
  uint64_t differences = 0;
  for (uint32_t bits = 0; bits <= bits_of(1.0f); ++bits) {
    const float e = float_of(bits);
    differences |= weight_of(e) ^ weight_of_limbs(limbs_of(e), 1);
  }
  EXPECT_EQ(differences, 0u);
}

// What weighs nothing may be taken for something larger.
TEST(EveryF32, WeighsTheSameForLess) {
  const RowScale row = logits_row_scale(0.0f, 1.0f);
  uint64_t differences = 0;
  for (uint32_t bits = bits_of(-60.0f); bits <= bits_of(negative_infinity()); ++bits) {
    const float x = float_of(bits);
    differences |= weight_of(relative_for_weight(row, x)) ^ weight(row, x);
  }
  EXPECT_EQ(differences, 0u);
  for (const float x : {0.0f, -0x1p-24f, -1.0f, -30.0f, -31.5f}) {
    EXPECT_EQ(relative_for_weight(row, x), relative_probability(row, x)) << x;
  }
}

// 511 tokens of the largest and of the least low limb.
TEST(Limbs, OfABlockDoNotOverflow) {
  for (const float e : {0x1p-22f, 0x1.8p-21f, 1.0f, 1.0f - 0x1p-24f, 0x1.000002p-22f}) {
    Limbs sum = {0, 0};
    for (int i = 0; i < 511; ++i) {
      sum.high += limbs_of(e).high;
      sum.low += limbs_of(e).low;
    }
    EXPECT_EQ(weight_of_limbs(sum, 511), 511 * weight_of(e)) << e;
    WeightSum same;
    for (int i = 0; i < 511; ++i) same.add(e);
    EXPECT_EQ(same.of(511), 511 * weight_of(e)) << e;
  }
  Limbs one_too_many = {0, 0};
  for (int i = 0; i < 512; ++i) {
    one_too_many.high += limbs_of(0x1p-22f).high;
    one_too_many.low += limbs_of(0x1p-22f).low;
  }
  EXPECT_NE(weight_of_limbs(one_too_many, 512), 512 * weight_of(0x1p-22f));
}

}  // namespace
}  // namespace sampler::contract::exhaustive_weight_test
