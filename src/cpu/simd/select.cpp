// Quickselect by row passes, and searches of keys.
#include "cpu/simd/select.h"

#include <algorithm>
#include <limits>

#include "contract/log2.h"
#include "contract/rank.h"
#include "contract/weight.h"

namespace sampler::cpu {

namespace {

// Rounds with a sampled pivot. Each leaves about half of the list, so few lists need 30. Later
// rounds bisect the keys: at most 32.
constexpr int kElementRounds = 60;

// Median of sampled elements; longer lists use larger samples.
float pivot_of(const float *values, int64_t count, Places *places) {
  constexpr int64_t kMostProbes = 33, kElementsPerProbe = 64;
  float probes[kMostProbes];
  const int64_t num_probes = std::clamp<int64_t>(count / kElementsPerProbe | 1, 3, kMostProbes);
  for (int64_t i = 0; i < num_probes; ++i) probes[i] = values[places->below(count)];
  std::nth_element(probes, probes + num_probes / 2, probes + num_probes);
  return probes[num_probes / 2];
}

}  // namespace

uint32_t key_near(const contract::RowScale &scale, float log2) {
  if (scale.kind == SAMPLER_LOGITS) return contract::value_key(scale.max + log2 / scale.scale);
  const float relative = contract::exp2_of_negative(std::min(log2, 0.0f));
  return contract::value_key(contract::times_power_of_two(relative, -scale.exponent));
}

uint32_t lowest_key_of_weight(const contract::RowScale &scale, uint64_t weight, uint32_t low,
                              uint32_t high) {
  const uint32_t guess = key_near(scale, contract::log2_of_weight(weight));
  return first_key(low, high, guess, [&](float x) { return contract::weight(scale, x) >= weight; });
}

// Quickselect: each pivot discards the elements on one side, or ends the search.
Selected select(const Passes &passes, Places *places, const RowView &list, const Scaling *scaling,
                uint64_t target, float *scratch) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  RowView left = list;
  uint64_t above = 0;
  // Range of the remaining keys.
  uint32_t low = contract::value_key(-kInfinity), high = contract::value_key(kInfinity);
  for (int round = 0; left.count > 0; ++round) {
    const float pivot = round < kElementRounds
                            ? pivot_of(static_cast<const float *>(left.values), left.count, places)
                            : contract::value_of_key(low + (high - low) / 2);
    const uint32_t key = contract::value_key(pivot);
    const float next = contract::value_of_key(key + 1);
    const int64_t num_larger = passes.count(left, 0, left.count, next);
    const uint64_t larger =
        above + (scaling && num_larger > 0
                     ? passes.weigh(left, *scaling, 0, left.count, next, nullptr)
                     : uint64_t(num_larger));
    const bool is_above = larger >= target;
    if (is_above) {
      low = key + 1;
    } else {
      high = key - 1;
      const int64_t num_equal = passes.count(left, 0, left.count, pivot) - num_larger;
      const uint64_t own = scaling ? contract::weight(scaling->row, pivot) : 1;
      const uint64_t through = larger + own * uint64_t(num_equal);
      if (through >= target) return {true, pivot, larger};
      above = through;
    }
    left.count =
        int32_t(is_above ? passes.pack(left, next, kInfinity, scratch)
                         : passes.pack(left, -kInfinity, contract::previous_value(pivot), scratch));
    left.values = scratch;
  }
  return {false, 0.0f, above};
}

}  // namespace sampler::cpu
