#include "cpu/simd/select.h"

#include <algorithm>

#include "contract/weight.h"

namespace sampler::cpu {

namespace {

// The place of the median of some elements spread over the list.
int64_t pivot_place(const float *values, int64_t count) {
  constexpr int64_t kProbes = 9;
  if (count < kProbes) return count / 2;
  int64_t places[kProbes];
  for (int64_t i = 0; i < kProbes; ++i) places[i] = (2 * i + 1) * count / (2 * kProbes);
  const auto before = [&](int64_t a, int64_t b) { return values[a] < values[b]; };
  std::nth_element(places, places + kProbes / 2, places + kProbes, before);
  return places[kProbes / 2];
}

}  // namespace

// Quickselect: each pivot leaves the elements on one side of it, or ends the search.
Selected select(const Passes &passes, const float *values, const float *relative, int64_t count,
                uint64_t target, float *scratch_values, float *scratch_relative) {
  uint64_t above = 0;
  while (count > 0) {
    const int64_t place = pivot_place(values, count);
    const float pivot = values[place];
    const uint64_t own = relative ? contract::weight_of(relative[place]) : 1;
    const PivotMeasure measure = passes.measure(values, relative, count, pivot);
    const uint64_t larger = above + (relative ? measure.weight_above : uint64_t(measure.above));
    const bool is_above = larger >= target;
    if (!is_above) {
      const uint64_t through = larger + own * uint64_t(measure.equal);
      if (through >= target) return {true, pivot, larger};
      above = through;
    }
    count = passes.keep_side(values, relative, count, pivot, is_above, scratch_values,
                             scratch_relative);
    values = scratch_values;
    if (relative) relative = scratch_relative;
  }
  return {false, 0.0f, above};
}

}  // namespace sampler::cpu
