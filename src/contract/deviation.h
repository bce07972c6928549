// Standard deviation of a window's logits, from integer sums, which do not depend on the order of
// addition.
#pragma once

#include <cstdint>

#include "contract/float_bits.h"
#include "contract/host_device.h"
#include "contract/log2.h"
#include "contract/weight.h"

namespace sampler::contract {

constexpr int kDeviationBits = 22;

// The value that top-n-sigma compares: the logit, or log2 of a probability. `row` is the scale of
// the window's first token.
SAMPLER_HD inline float sigma_value(const RowScale &row, float x) {
  return row.kind == SAMPLER_LOGITS ? x : relative_log2(row, x);
}

// first - value, at most the largest finite f32.
SAMPLER_HD inline float distance_below(float first, float value) {
  const float distance = first - value;
  const float largest = float_of(kInfinityBits - 1);
  return distance < largest ? distance : largest;
}

// Distances below the window's first value are rounded to multiples of 2^-exponent.
struct DeviationScale {
  float first;
  int exponent;
};

// `last` < `first` is the window's lowest value. Its scaled distance lies in [2^21, 2^22].
SAMPLER_HD inline DeviationScale deviation_scale(float first, float last) {
  // Every nonzero f32 is normal in f64.
  const int exponent = int(bits_of(double(distance_below(first, last))) >> 52) - 1023;
  return {first, kDeviationBits - 1 - exponent};
}

// Scaled distance below the first value, at most 2^22, so that sums of squares stay below 2^64.
SAMPLER_HD inline uint32_t deviation(const DeviationScale &scale, float value) {
  const float distance = distance_below(scale.first, value);
  return uint32_t(nearest_integer(times_power_of_two(distance, scale.exponent)).integer());
}

struct DeviationSums {
  uint64_t sum = 0;
  uint64_t squares = 0;

  SAMPLER_HD void add(uint32_t deviation) {
    sum += deviation;
    squares += uint64_t(deviation) * deviation;
  }
  SAMPLER_HD void add(const DeviationSums &other) {
    sum += other.sum;
    squares += other.squares;
  }
};

// `count`: tokens of the window.
SAMPLER_HD inline float standard_deviation(const DeviationScale &scale, const DeviationSums &sums,
                                           uint64_t count) {
  const double mean = double(sums.sum) / double(count);
  // Positive: the distances 0 and >= 2^21 are among at most 2^20 tokens, so it exceeds 2^20.
  const double variance = double(sums.squares) / double(count) - mean * mean;
  const float root = float(square_root(variance));
  return times_power_of_two(root, -scale.exponent);
}

// The lowest value that top-n-sigma keeps.
SAMPLER_HD inline float top_n_sigma_bound(float first, float top_n_sigma, float deviation) {
  return deviation > 0.0f ? first - top_n_sigma * deviation : first;
}

}  // namespace sampler::contract
