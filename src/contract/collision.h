// Sum of a window's squared weights, exactly, for p-less: section 13.9 of docs/contract.md.
#pragma once

#include <cstdint>

#include "contract/float_bits.h"
#include "contract/host_device.h"
#include "contract/weight.h"

namespace sampler::contract {

// Sums of the products of the weights' limbs: weight = high * 2^23 + low, where high is in
// [0, 2^21] and low in [-2^22, 2^22]. Fewer than 2^20 of them fit 64 bits.
struct CollisionSums {
  uint64_t weight = 0;
  uint64_t high = 0;  // of high * high
  int64_t cross = 0;  // of high * low
  uint64_t low = 0;   // of low * low

  SAMPLER_HD void add(float relative) {
    const WeightLimbs limbs = limbs_of_weight(relative);
    weight += weight_of(limbs);
    high += uint64_t(int64_t(limbs.high) * limbs.high);
    cross += int64_t(limbs.high) * limbs.low;
    low += uint64_t(int64_t(limbs.low) * limbs.low);
  }
  SAMPLER_HD void add(const CollisionSums &other) {
    weight += other.weight;
    high += other.high;
    cross += other.cross;
    low += other.low;
  }

  // Sum of the squared weights.
  SAMPLER_HD Product128 squares() const {
    const uint64_t crossed = uint64_t(cross < 0 ? -cross : cross);
    const Product128 middle = shifted_128(crossed, kLowLimbBits + 1);
    const Product128 outer = plus_128(shifted_128(high, 2 * kLowLimbBits), {0, low});
    return cross < 0 ? minus_128(outer, middle) : plus_128(outer, middle);
  }
};

// The least weight w for which w * total >= the sum of squared weights: the lowest that p-less
// keeps. At most the largest weight.
SAMPLER_HD inline uint64_t p_less_threshold(const CollisionSums &sums) {
  const Product128 squares = sums.squares();
  uint64_t least = 0;
  for (int bit = kWeightBits; bit >= 0; --bit) {
    const uint64_t below = (least | uint64_t(1) << bit) - 1;
    if (is_less_128(multiply_128(below, sums.weight), squares)) least = below + 1;
  }
  return least;
}

// The same for the normalised form. `least`: p_less_threshold(). `count`: tokens of the window.
SAMPLER_HD inline uint64_t p_less_norm_threshold(uint64_t least, uint64_t total, int64_t count) {
  return count > 1 ? least - (total - least) / uint64_t(count - 1) : least;
}

}  // namespace sampler::contract
