// Selection from a list: where the running measure of its elements, by descending value, reaches a
// target.
#pragma once

#include <cstdint>

#include "cpu/places.h"
#include "cpu/simd/passes.h"

namespace sampler::cpu {

// The largest value that is smaller than x.
float value_before(float x);

// The lowest key in [low, high] whose value weighs at least `weight`, as that of `high` does.
uint32_t lowest_key_of_weight(const contract::RowScale &scale, uint64_t weight, uint32_t low,
                              uint32_t high);

struct Selected {
  bool found;      // false: all elements together do not reach it
  float value;     // of the elements among which the target is reached
  uint64_t above;  // measure of the larger ones, below the target
};

// `list`: f32 values. `scaling`: what makes weights of them, which are measured; null: each element
// measures 1. `target` > 0. `scratch` has room for the list and the list padding; it may be the
// list's own array, which is destroyed then.
Selected select(const Passes &passes, Places *places, const RowView &list, const Scaling *scaling,
                uint64_t target, float *scratch);

}  // namespace sampler::cpu
