// Weights: integers proportional to the tokens' probabilities.
//
// The likeliest token of a row weighs about 2^44, so sums over a row stay below 2^64. Integer sums
// do not depend on the order of addition.
#pragma once

#include <cstdint>

#include "contract/float_bits.h"
#include "contract/host_device.h"
#include "sampler/types.h"

namespace sampler::contract {

constexpr float kGreedyTemperature = 1e-5f;
constexpr float kLargestTemperature = 0x1p64f;  // a row with a larger one is bad
constexpr float kLog2E = 0x1.715476p+0f;
constexpr int kWeightBits = 44;

// A relative probability is 0 if log2_ratio_minus_1() is below this.
constexpr float kLowestLog2 = -101.0f;
// 2^f for f in [-0.5, 0.5], in descending degree.
constexpr float kExp2C5 = 0x1.5bba14p-10f;
constexpr float kExp2C4 = 0x1.3cea88p-7f;
constexpr float kExp2C3 = 0x1.c6b752p-5f;
constexpr float kExp2C2 = 0x1.ebf9bcp-3f;
constexpr float kExp2C1 = 0x1.62e42ap-1f;
constexpr float kExp2C0 = 0x1p+0f;
// Adding n units to a constant adds n to its bits.
constexpr float kHighLimb = 6.0f;
constexpr float kLowLimb = 0x1.8p-21f;
// log2 of the ratio of the limbs' units.
constexpr int kLowLimbBits = 23;

SAMPLER_HD inline bool is_greedy(float temperature) {
  return temperature <= kGreedyTemperature;
}

// log2(e) / T for T above the greedy bound. Capped, since a dynamic temperature may exceed the
// largest.
SAMPLER_HD inline float logit_scale(float temperature) {
  return kLog2E / (temperature < kLargestTemperature ? temperature : kLargestTemperature);
}

// log2 of a token's probability relative to the row's maximum, minus 1. Subtracting 1 puts the
// values near the maximum on one grid of 2^-23, which makes the weight monotone.
SAMPLER_HD inline float log2_ratio_minus_1(float x, float max, float scale) {
  return fma32(x - max, scale, -1.0f);
}

// 2^(t + 1) for t in [-101, -1], relative error at most 1.71e-7. Monotone.
SAMPLER_HD inline float exp2_plus_1_in_range(float t) {
  const ShiftedInteger n = nearest_integer(t);
  const float f = t - n.value();
  float p = 2 * kExp2C5;  // twice the polynomial, to the bit
  p = fma32(p, f, 2 * kExp2C4);
  p = fma32(p, f, 2 * kExp2C3);
  p = fma32(p, f, 2 * kExp2C2);
  p = fma32(p, f, 2 * kExp2C1);
  p = fma32(p, f, 2 * kExp2C0);
  return n.times_power_of_two(p);
}

// The same; 0 below -101.
SAMPLER_HD inline float exp2_plus_1(float t) {
  const bool is_zero = !(t >= kLowestLog2);  // selected at the end: no branch
  const float result = exp2_plus_1_in_range(is_zero ? kLowestLog2 : t);
  return is_zero ? 0.0f : result;
}

// 2^y for y <= 0, with the same accuracy; 0 below -100.
SAMPLER_HD inline float exp2_of_negative(float y) {
  return exp2_plus_1(y - 1.0f);
}

// Scale from a row's values to probabilities relative to its largest: `max` and `scale` for logits,
// `exponent` for probabilities.
struct RowScale {
  sampler_input_kind kind;
  float max;
  float scale;
  int exponent;
};

SAMPLER_HD inline RowScale logits_row_scale(float max, float temperature) {
  return {SAMPLER_LOGITS, max, logit_scale(temperature), 0};
}

// The power of two that scales `max` (> 0, finite) into (0.5, 1].
SAMPLER_HD inline RowScale probabilities_row_scale(float max) {
  // Every nonzero f32 is normal in f64. The predecessor's exponent makes a power of two scale to 1.
  const uint64_t below = bits_of(double(max)) - 1;
  return {SAMPLER_PROBABILITIES, max, 0.0f, 1022 - int(below >> 52)};
}

SAMPLER_HD inline RowScale row_scale(sampler_input_kind kind, float max, float temperature) {
  return kind == SAMPLER_LOGITS ? logits_row_scale(max, temperature) : probabilities_row_scale(max);
}

// A token's probability relative to approximately the largest, in [0, 1]; 0 for the logit -inf.
SAMPLER_HD inline float relative_probability(const RowScale &row, float x) {
  if (row.kind == SAMPLER_LOGITS) {
    return exp2_plus_1(log2_ratio_minus_1(x, row.max, row.scale));
  }
  return times_power_of_two(x, row.exponent);
}

// Rounds `relative`, in [0, 1], to a multiple of 2^-44, ties to even; in units of 2^-44.
//
// Two limbs, each the bits of an f32 whose ulp is the unit wanted: 2^-21 in [4, 8), 2^-44 in
// [2^-21, 2^-20). The rounding error of the first limb is exact in f32.
struct WeightLimbs {
  int32_t high;  // in [0, 2^21]
  int32_t low;   // in [-2^22, 2^22]
};

SAMPLER_HD inline WeightLimbs limbs_of_weight(float relative) {
  const float high = relative + kHighLimb;
  const float low = (relative - (high - kHighLimb)) + kLowLimb;
  return {int32_t(bits_of(high) - bits_of(kHighLimb)), int32_t(bits_of(low) - bits_of(kLowLimb))};
}

SAMPLER_HD inline uint64_t weight_of(const WeightLimbs &limbs) {
  return uint64_t(int64_t(limbs.high) * (int64_t(1) << kLowLimbBits) + limbs.low);
}
SAMPLER_HD inline uint64_t weight_of(float relative) {
  return weight_of(limbs_of_weight(relative));
}

// weight_of() + kWeightBias, which are the bits of kLowLimb: one subtraction less.
constexpr uint64_t kWeightBias = 0x35400000;

SAMPLER_HD inline uint64_t biased_weight_of(float relative) {
  const float high = relative + kHighLimb;
  const float low = (relative - (high - kHighLimb)) + kLowLimb;
  const uint64_t limbs = (uint64_t(bits_of(high)) << kLowLimbBits) + bits_of(low);
  // The shifted bits of kHighLimb have a zero lower word.
  const uint32_t upper = uint32_t(limbs >> 32) - (bits_of(kHighLimb) >> (32 - kLowLimbBits));
  return uint64_t(upper) << 32 | uint32_t(limbs);
}

SAMPLER_HD inline uint64_t weight(const RowScale &row, float x) {
  return weight_of(relative_probability(row, x));
}

// A relative probability of the same weight, without the test for 0: below -101 the result is
// clamped instead.
SAMPLER_HD inline float relative_for_weight(const RowScale &row, float x) {
  if (row.kind != SAMPLER_LOGITS) return relative_probability(row, x);
  const float t = log2_ratio_minus_1(x, row.max, row.scale);
  return exp2_plus_1_in_range(larger_of(t, kLowestLog2));
}

// The same for values above `bound`, which is at least the value of some token of nonzero weight;
// other values get weight 0.
SAMPLER_HD inline float relative_for_weight_above(const RowScale &row, float x, float bound) {
  if (row.kind != SAMPLER_LOGITS) return x > bound ? relative_probability(row, x) : 0.0f;
  const float t = log2_ratio_minus_1(x, row.max, row.scale);
  return exp2_plus_1_in_range(x > bound ? t : kLowestLog2);
}

// Sum of up to 511 weights, with the limbs' bits summed apart: the constants are subtracted once,
// at the end.
struct WeightSum {
  uint32_t high_bits = 0;
  uint32_t low_bits = 0;

  SAMPLER_HD void add(float relative) {
    const float high = relative + kHighLimb;
    high_bits += bits_of(high);
    low_bits += bits_of((relative - (high - kHighLimb)) + kLowLimb);
  }

  SAMPLER_HD uint64_t of(uint32_t count) const {
    const uint32_t high_units = high_bits - count * bits_of(kHighLimb);
    const int32_t low_units = int32_t(low_bits - count * bits_of(kLowLimb));
    return (uint64_t(high_units) << kLowLimbBits) + uint64_t(int64_t(low_units));
  }
};

// Sum of a row of given probabilities of this total weight.
SAMPLER_HD inline double sum_of_weights(const RowScale &row, uint64_t weight) {
  const int n = -row.exponent, half = n / 2;
  return double(weight) * 0x1p-44 * double(power_of_two(half)) * double(power_of_two(n - half));
}

// Factor from relative probabilities to probabilities that sum to 1 over the kept tokens.
SAMPLER_HD inline float normalizer(uint64_t total_weight) {
  return float(0x1p44 / double(total_weight));
}

}  // namespace sampler::contract
