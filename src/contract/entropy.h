// Entropy of a window of rank order, from integer sums, which do not depend on the order of
// addition.
#pragma once

#include <cstdint>

#include "contract/float_bits.h"
#include "contract/host_device.h"
#include "contract/log2.h"
#include "contract/weight.h"

namespace sampler::contract {

// -relative_log2() * relative probability of a token, in [0, 0.531].
SAMPLER_HD inline float relative_surprise(float log2, float relative) {
  return relative > 0.0f ? -log2 * relative : 0.0f;
}

// Sums over a window, in units of 2^-44, both below 2^64.
struct EntropySums {
  uint64_t weight = 0;
  uint64_t surprise = 0;

  SAMPLER_HD void add(const EntropySums &other) {
    weight += other.weight;
    surprise += other.surprise;
  }
};

// One token's terms. `row` is the scale of the window's first token.
SAMPLER_HD inline EntropySums entropy_sums(const RowScale &row, float x) {
  const float relative = relative_probability(row, x);
  const float surprise = relative_surprise(relative_log2(row, x), relative);
  return {weight_of(relative), weight_of(surprise)};
}

// Mean of -relative_log2(): bits below the first token.
SAMPLER_HD inline float mean_surprise(const EntropySums &sums) {
  return float(double(sums.surprise) / double(sums.weight));
}

// In bits, >= 0.
SAMPLER_HD inline float entropy(const EntropySums &sums) {
  return larger_of(mean_surprise(sums) + log2_of_weight(sums.weight), 0.0f);
}

SAMPLER_HD inline float entropy_in_nats(const EntropySums &sums) {
  return entropy(sums) * kLn2;
}

}  // namespace sampler::contract
