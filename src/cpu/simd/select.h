// Selection from a list: where the running measure of its elements, by descending value, reaches a
// target.
#pragma once

#include <cstdint>

#include "cpu/simd/passes.h"

namespace sampler::cpu {

struct Selected {
  bool found;      // false: all elements together do not reach it
  float value;     // of the elements among which the target is reached
  uint64_t above;  // measure of the larger ones, below the target
};

// `relative`: relative probabilities, whose weights are measured; null: each element measures 1.
// `target` > 0. The scratch arrays have room for `count` elements and the list padding.
Selected select(const Passes &passes, const float *values, const float *relative, int64_t count,
                uint64_t target, float *scratch_values, float *scratch_relative);

}  // namespace sampler::cpu
