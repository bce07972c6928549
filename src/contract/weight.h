// Weights: the integer that stands for a token's probability.
//
// The likeliest token of a row weighs about 2^44, so sums over a row are integers below 2^64: any
// order of adding them gives the same total.
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

// Below it, log2 of a token's share less 1, a probability is 0.
constexpr float kLowestLog2 = -101.0f;
// 2^f for f in [-0.5, 0.5], by descending degree.
constexpr float kExp2C5 = 0x1.5bba14p-10f;
constexpr float kExp2C4 = 0x1.3cea88p-7f;
constexpr float kExp2C3 = 0x1.c6b752p-5f;
constexpr float kExp2C2 = 0x1.ebf9bcp-3f;
constexpr float kExp2C1 = 0x1.62e42ap-1f;
constexpr float kExp2C0 = 0x1p+0f;
// Their bits plus a limb's units are the sum's bits.
constexpr float kHighLimb = 6.0f;
constexpr float kLowLimb = 0x1.8p-21f;
// Units of the low limb in one of the high limb.
constexpr int kLowLimbBits = 23;

SAMPLER_HD inline bool is_greedy(float temperature) {
  return temperature <= kGreedyTemperature;
}

// log2(e) / T, for T above the greedy bound. A dynamic temperature may be above the largest.
SAMPLER_HD inline float logit_scale(float temperature) {
  return kLog2E / (temperature < kLargestTemperature ? temperature : kLargestTemperature);
}

// log2 of a token's probability relative to the row's maximum, minus 1. The 1 puts the values near
// the top on one grid of 2^-23, without which the weight would not fall monotonically.
SAMPLER_HD inline float log2_ratio_minus_1(float x, float max, float scale) {
  return fma32(x - max, scale, -1.0f);
}

// 2^(t + 1) for t in [-101, -1], relative error 1.71e-7 at most. Never rises as t falls.
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

// The same, and 0 below -101.
SAMPLER_HD inline float exp2_plus_1(float t) {
  const bool is_zero = !(t >= kLowestLog2);  // taken in at the end, which leaves no branch
  const float result = exp2_plus_1_in_range(is_zero ? kLowestLog2 : t);
  return is_zero ? 0.0f : result;
}

// 2^y for y <= 0, of the accuracy of a weight; 0 below -100.
SAMPLER_HD inline float exp2_of_negative(float y) {
  return exp2_plus_1(y - 1.0f);
}

// How a row's values become probabilities relative to its largest: `max` and `scale` for logits,
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

// The power of two that puts `max` (> 0, finite) into (0.5, 1].
SAMPLER_HD inline RowScale probabilities_row_scale(float max) {
  // Every f32 is normal in f64. The predecessor's exponent rounds a power of two down to 1.
  const uint64_t below = bits_of(double(max)) - 1;
  return {SAMPLER_PROBABILITIES, max, 0.0f, 1022 - int(below >> 52)};
}

SAMPLER_HD inline RowScale row_scale(sampler_input_kind kind, float max, float temperature) {
  return kind == SAMPLER_LOGITS ? logits_row_scale(max, temperature) : probabilities_row_scale(max);
}

// A token's probability relative to about the largest, in [0, 1]; 0 for the logit -inf.
SAMPLER_HD inline float relative_probability(const RowScale &row, float x) {
  if (row.kind == SAMPLER_LOGITS) {
    return exp2_plus_1(log2_ratio_minus_1(x, row.max, row.scale));
  }
  return times_power_of_two(x, row.exponent);
}

// Rounds `relative`, in [0, 1], to a multiple of 2^-44, ties to even; in units of 2^-44.
//
// Two limbs, each the raw bits of an f32 whose last place has the unit wanted: 2^-21 in [4, 8),
// 2^-44 in [2^-21, 2^-20). What the first one rounds away is exact in f32.
SAMPLER_HD inline uint64_t weight_of(float relative) {
  const float high = relative + kHighLimb;
  const float low = (relative - (high - kHighLimb)) + kLowLimb;
  const int64_t high_units = int32_t(bits_of(high) - bits_of(kHighLimb));
  const int64_t low_units = int32_t(bits_of(low) - bits_of(kLowLimb));
  return uint64_t(high_units * (int64_t(1) << kLowLimbBits) + low_units);
}

// The same and kWeightBias, the bits of kLowLimb, for less.
constexpr uint64_t kWeightBias = 0x35400000;

SAMPLER_HD inline uint64_t biased_weight_of(float relative) {
  const float high = relative + kHighLimb;
  const float low = (relative - (high - kHighLimb)) + kLowLimb;
  const uint64_t limbs = (uint64_t(bits_of(high)) << kLowLimbBits) + bits_of(low);
  // Of the bits of kHighLimb the lower word has none.
  const uint32_t upper = uint32_t(limbs >> 32) - (bits_of(kHighLimb) >> (32 - kLowLimbBits));
  return uint64_t(upper) << 32 | uint32_t(limbs);
}

SAMPLER_HD inline uint64_t weight(const RowScale &row, float x) {
  return weight_of(relative_probability(row, x));
}

// A relative probability of the same weight, for less: one that weighs nothing may be larger.
SAMPLER_HD inline float relative_for_weight(const RowScale &row, float x) {
  if (row.kind != SAMPLER_LOGITS) return relative_probability(row, x);
  const float t = log2_ratio_minus_1(x, row.max, row.scale);
  return exp2_plus_1_in_range(larger_of(t, kLowestLog2));
}

// The same of what is above a bound that some token is not above which weighs something; of others
// one that weighs nothing.
SAMPLER_HD inline float relative_for_weight_above(const RowScale &row, float x, float bound) {
  if (row.kind != SAMPLER_LOGITS) return x > bound ? relative_probability(row, x) : 0.0f;
  const float t = log2_ratio_minus_1(x, row.max, row.scale);
  return exp2_plus_1_in_range(x > bound ? t : kLowestLog2);
}

// The sum of up to 511 weights, the limbs' bits apart: what weight_of() takes off each of them is
// taken off once.
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

// The sum of a row of given probabilities that weigh so much.
SAMPLER_HD inline double sum_of_weights(const RowScale &row, uint64_t weight) {
  const int n = -row.exponent, half = n / 2;
  return double(weight) * 0x1p-44 * double(power_of_two(half)) * double(power_of_two(n - half));
}

// What a relative probability is multiplied with to make the row's kept tokens sum to 1.
SAMPLER_HD inline float normalizer(uint64_t total_weight) {
  return float(0x1p44 / double(total_weight));
}

}  // namespace sampler::contract
