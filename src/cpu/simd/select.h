// Selection from a list: the value at which the running measure, in descending order, reaches a
// target.
#pragma once

#include <algorithm>
#include <cstdint>

#include "contract/rank.h"
#include "cpu/places.h"
#include "cpu/simd/passes.h"

namespace sampler::cpu {

// The lowest key in [low, high] whose value weighs at least `weight`; that of `high` does.
uint32_t lowest_key_of_weight(const contract::RowScale &scale, uint64_t weight, uint32_t low,
                              uint32_t high);

struct Selected {
  bool found;      // false: the whole list does not reach the target
  float value;     // value at which the target is reached
  uint64_t above;  // measure of larger values, below the target
};

// `list`: f32 values. Elements measure their weight by `scaling`; null: each measures 1. `target` >
// 0. `scratch` has room for the list and the list padding; it may be the list's own array, which is
// then overwritten.
Selected select(const Passes &passes, Places *places, const RowView &list, const Scaling *scaling,
                uint64_t target, float *scratch);

// The lowest key in [low, end) for whose value `holds` is true, or `end`. It must be true for all
// larger keys. Galloping search from `guess`.
template <class Holds>
uint32_t first_key(uint32_t low, uint32_t end, uint32_t guess, const Holds &holds) {
  const auto holds_at = [&](uint32_t key) { return holds(contract::value_of_key(key)); };
  uint32_t place = std::clamp(guess, low, end);
  for (uint32_t step = 1; low < end; step *= 2) {
    if (place < end && !holds_at(place)) {
      low = place + 1;
      if (end - place <= step) break;
      place += step;
    } else {
      end = place;
      if (place - low <= step) break;
      place -= step;
    }
  }
  while (low < end) {
    const uint32_t middle = low + (end - low) / 2;
    if (holds_at(middle)) {
      end = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Approximate key of a value with this contract::relative_log2().
uint32_t key_near(const contract::RowScale &scale, float log2);

}  // namespace sampler::cpu
