// Base-2 logarithm, Gumbel noise and log-probabilities, from one polynomial.
//
// Fitted by tools/fit_polynomials.py; docs/contract.md states the errors, tests/contract measures
// them over every f32.
#pragma once

#include <cstdint>

#include "contract/float_bits.h"
#include "contract/host_device.h"
#include "contract/weight.h"

namespace sampler::contract {

// log2(1 + z) / z for 1 + z in [sqrt(1/2), sqrt(2)), in descending degree; the constant term is
// kLog2E.
constexpr float kLog2C8 = 0x1.01515cp-3f;
constexpr float kLog2C7 = -0x1.a75d36p-3f;
constexpr float kLog2C6 = 0x1.b96434p-3f;
constexpr float kLog2C5 = -0x1.e98638p-3f;
constexpr float kLog2C4 = 0x1.26dc6ep-2f;
constexpr float kLog2C3 = -0x1.715b62p-2f;
constexpr float kLog2C2 = 0x1.ec736cp-2f;
constexpr float kLog2C1 = -0x1.715472p-1f;
constexpr uint32_t kSqrtHalfBits = 0x3F3504F3u;
constexpr float kSmallestNormal = 0x1p-126f;
// Gumbel draw: the largest uniform number, -log2(ln(2)), the bound of scores.
constexpr float kLargestUniform = 1.0f - 0x1p-24f;
constexpr float kMinusLog2Ln2 = 0x1.0eba78p-1f;
constexpr float kScoreBound = 0x1p126f;
constexpr float kLargestNoise = 33.0f;  // noise of word 0

SAMPLER_HD inline float log2_quotient(float z) {
  float q = kLog2C8;
  q = fma32(q, z, kLog2C7);
  q = fma32(q, z, kLog2C6);
  q = fma32(q, z, kLog2C5);
  q = fma32(q, z, kLog2C4);
  q = fma32(q, z, kLog2C3);
  q = fma32(q, z, kLog2C2);
  q = fma32(q, z, kLog2C1);
  return fma32(q, z, kLog2E);
}

// y = 2^exponent * (1 + z) with 1 + z in about [sqrt(1/2), sqrt(2)); y > 0 and normal.
struct Log2Parts {
  int exponent;
  float z;
};

SAMPLER_HD inline Log2Parts split_for_log2(float y) {
  const int exponent = int(bits_of(y) - kSqrtHalfBits) >> 23;
  return {exponent, float_of(bits_of(y) - (uint32_t(exponent) << 23)) - 1.0f};
}

// log2(y) + shift for y > 0, subnormals included.
SAMPLER_HD inline float log2_shifted(float y, int shift) {
  if (y < kSmallestNormal) {
    y *= 0x1p24f;
    shift -= 24;
  }
  const Log2Parts parts = split_for_log2(y);
  return fma32(parts.z, log2_quotient(parts.z), float(parts.exponent + shift));
}

// Standard Gumbel noise in units of log2: -log2(-ln(1 - v)), v uniform in (0, 1) from `word`. Small
// v, that is large noise, keeps full relative accuracy.
SAMPLER_HD inline float gumbel_noise(uint32_t word) {
  const float scaled = fma32(float(word), 0x1p-32f, 0x1p-33f);
  const float v = scaled < kLargestUniform ? scaled : kLargestUniform;

  const int exponent = split_for_log2(1.0f - v).exponent;
  const float scale = power_of_two(-exponent);
  const float z = fma32(-v, scale, scale - 1.0f);
  const float minus_log2_1_minus_v = -fma32(z, log2_quotient(z), float(exponent));

  const Log2Parts outer = split_for_log2(minus_log2_1_minus_v);
  return fma32(-outer.z, log2_quotient(outer.z), kMinusLog2Ln2) - float(outer.exponent);
}

// Score of a token with log2 probability `log2_weight` * scale, up to a constant shared by all
// tokens. Monotone in `log2_weight` and in `noise`.
SAMPLER_HD inline float score_of_noise(float log2_weight, float scale, float noise) {
  const float score = fma32(log2_weight, scale, noise);
  return score > kScoreBound ? kScoreBound : score < -kScoreBound ? -kScoreBound : score;
}
SAMPLER_HD inline float gumbel_score(float log2_weight, float scale, uint32_t word) {
  return score_of_noise(log2_weight, scale, gumbel_noise(word));
}

// Cheap bounds that rule out tokens without computing their scores. The bits of a float, read as an
// integer, approximate its log2 in units of 2^-23, from below by at most 0.0861.
//
// Upper bound of log2_shifted(y, 0), for y >= 0.
SAMPLER_HD inline float log2_bound(float y) {
  constexpr float kMostAbove = 0.0862f;  // tests/contract checks every y
  return fma32(float(int32_t(bits_of(y))), 0x1p-23f, -127.0f + kMostAbove);
}

// Upper bound of gumbel_noise(word); never rises with the word.
SAMPLER_HD inline float gumbel_noise_bound(uint32_t word) {
  constexpr float kMostRounded = 0x1p-14f;
  return fma32(float(int32_t(bits_of(float(word)))), -0x1p-23f, 159.0f + kMostRounded);
}

// A word above which no token of at most `log2_weight` scores more than `limit`: about the lowest
// such word, or UINT32_MAX if there is none.
SAMPLER_HD inline uint32_t last_word_above(float log2_weight, float scale, float limit) {
  constexpr float kLargestWord = 0x1.FFFFp31f;
  // Bits of the word whose bound equals the limit, with a margin for rounding.
  const float noise = fma32(-log2_weight, scale, limit) - 0x1p-10f;
  const float bits = fma32(noise, -0x1p23f, 159.0f * 0x1p23f);
  const float least = larger_of(bits, 0.0f);
  const float largest = float(bits_of(kLargestWord));
  const uint32_t word = uint32_t(float_of(uint32_t(least < largest ? least : largest)));
  const bool holds = score_of_noise(log2_weight, scale, gumbel_noise_bound(word + 1)) <= limit;
  return holds ? word : UINT32_MAX;
}

// The score that the Gumbel draw maximises over the kept tokens. Logits need neither maximum nor
// sum.
SAMPLER_HD inline float gumbel_score(sampler_input_kind kind, float x, float scale, uint32_t word) {
  return kind == SAMPLER_LOGITS ? gumbel_score(x, scale, word)
                                : gumbel_score(log2_shifted(x, 0), 1.0f, word);
}

// log2 of the relative probability, before rounding; at most 0. For a logit the addition of 1 is
// exact, since log2_ratio_minus_1() lies on the coarser grid.
SAMPLER_HD inline float relative_log2(const RowScale &row, float x) {
  return row.kind == SAMPLER_LOGITS ? log2_ratio_minus_1(x, row.max, row.scale) + 1.0f
                                    : log2_shifted(x, row.exponent);
}

// log2 of a sum of weights, with 2^44 as unit.
SAMPLER_HD inline float log2_of_weight(uint64_t weight) {
  return log2_shifted(float(weight), -kWeightBits);
}

// Nats per bit.
constexpr float kLn2 = 0x1.62e430p-1f;

// Natural logarithm of a token's share of `total_weight`.
SAMPLER_HD inline float log_probability(const RowScale &row, float x, uint64_t total_weight) {
  return (relative_log2(row, x) - log2_of_weight(total_weight)) * kLn2;
}

}  // namespace sampler::contract
