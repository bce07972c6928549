// The standard deviation of a window's logits, from sums of integers: any order of adding gives the
// same.
#pragma once

#include <cstdint>

#include "contract/float_bits.h"
#include "contract/host_device.h"
#include "contract/log2.h"
#include "contract/weight.h"

namespace sampler::contract {

constexpr int kDeviationBits = 22;

// What top-n-sigma looks at: the logit, or a probability's log2. `row` is the scale by the window's
// first token.
SAMPLER_HD inline float sigma_value(const RowScale &row, float x) {
  return row.kind == SAMPLER_LOGITS ? x : relative_log2(row, x);
}

// `first` less `value`, at most the largest f32.
SAMPLER_HD inline float distance_below(float first, float value) {
  const float distance = first - value;
  const float largest = float_of(kInfinityBits - 1);
  return distance < largest ? distance : largest;
}

// The unit in which distances below the window's first value are rounded to integers: 2^-exponent.
struct DeviationScale {
  float first;
  int exponent;
};

// `last` < `first` is the window's least value. It comes to lie in [2^21, 2^22].
SAMPLER_HD inline DeviationScale deviation_scale(float first, float last) {
  // Every f32 is normal in f64.
  const int exponent = int(bits_of(double(distance_below(first, last))) >> 52) - 1023;
  return {first, kDeviationBits - 1 - exponent};
}

// A value's distance below the first, at most 2^22: sums of squares stay below 2^64.
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

// Of the `count` values of the whole window.
SAMPLER_HD inline float standard_deviation(const DeviationScale &scale, const DeviationSums &sums,
                                           uint64_t count) {
  const double mean = double(sums.sum) / double(count);
  // Above 2^20: the first token is 0 and the last one 2^21 or more, of at most 2^20 tokens.
  const double variance = double(sums.squares) / double(count) - mean * mean;
  const float root = float(square_root(variance));
  return times_power_of_two(root, -scale.exponent);
}

// The least value that top-n-sigma keeps.
SAMPLER_HD inline float top_n_sigma_bound(float first, float top_n_sigma, float deviation) {
  return deviation > 0.0f ? first - top_n_sigma * deviation : first;
}

}  // namespace sampler::contract
