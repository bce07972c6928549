#include "cpu/simd/nearest.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cpu/simd/select.h"

namespace sampler::cpu {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Rounds whose pivot is an element; after them levels are halved.
constexpr int kElementRounds = 60;
constexpr int kMostParts = 2;

RowView view_of(const NearestPart &part) {
  return contract::f32_view(part.values, part.count);
}

int64_t pack(const Passes &passes, const RowView &source, const KeyRange &range, float *out) {
  if (range.is_empty()) return 0;
  return passes.pack(source, range.least(), range.most(), out);
}

// Weights do not depend on the kind of the list.
uint64_t measure(const Passes &passes, const float *values, int64_t count, const Scaling *scaling) {
  if (!scaling || count == 0) return uint64_t(count);
  RowView list = contract::f32_view(values, count);
  return passes.weigh(list, *scaling, 0, count, -kInfinity, nullptr);
}

// The median level of some elements of the largest part.
uint32_t pivot_of(const NearestOrder &order, const NearestPart *parts, int num_parts,
                  Places *places) {
  constexpr int64_t kMostProbes = 33, kElementsPerProbe = 64;
  const NearestPart &part = *std::max_element(
      parts, parts + num_parts,
      [](const NearestPart &a, const NearestPart &b) { return a.count < b.count; });
  uint32_t probes[kMostProbes];
  const int64_t num_probes =
      std::clamp<int64_t>(part.count / kElementsPerProbe | 1, 3, kMostProbes);
  for (int64_t i = 0; i < num_probes; ++i) {
    probes[i] = order.level(part.values[places->below(part.count)]);
  }
  std::nth_element(probes, probes + num_probes / 2, probes + num_probes);
  return probes[num_probes / 2];
}

}  // namespace

// About the key of a value of this excess.
uint32_t NearestOrder::key_near(float excess) const {
  return cpu::key_near(rule_.row, excess - rule_.mean);
}

KeyRange NearestOrder::within(uint32_t level, const KeyRange &inner, const KeyRange &outer) const {
  if (level == 0) return {likelier().low, likelier().low - 1};
  const float most = contract::float_of(level - 1);
  const uint32_t low = first_key(outer.low, inner.low, key_near(-most),
                                 [&](float x) { return -rule_.excess(x) <= most; });
  const uint32_t beyond = first_key(inner.high + 1, outer.high + 1, key_near(most),
                                    [&](float x) { return rule_.excess(x) > most; });
  return {low, beyond - 1};
}

KeyRange NearestOrder::likelier() const {
  return {
      first_key(low_, high_ + 1, key_near(0.0f), [&](float x) { return rule_.excess(x) > 0.0f; }),
      high_};
}

NearestLevel select_nearest(const Passes &passes, Places *places, const NearestOrder &order,
                            const Scaling *scaling, uint64_t target, uint32_t above, uint32_t most,
                            const NearestLevel &below, NearestPart *parts, int num_parts) {
  NearestLevel result = below;
  KeyRange inner = order.within(above), outer = order.within(most);
  for (int round = 0; most - above > 1; ++round) {
    const uint32_t pivot =
        round < kElementRounds
            ? std::clamp(pivot_of(order, parts, num_parts, places), above + 1, most - 1)
            : above + (most - above) / 2;
    const KeyRange range = order.within(pivot, inner, outer);
    int64_t inside[kMostParts];
    uint64_t through = result.below;
    for (int i = 0; i < num_parts; ++i) {
      inside[i] = pack(passes, view_of(parts[i]), range, parts[i].spare);
      through += parts[i].times * measure(passes, parts[i].spare, inside[i], scaling);
    }
    const bool is_reached = through >= target;
    if (is_reached) {
      most = pivot;
      outer = range;
    } else {
      above = pivot;
      inner = range;
      result.below = through;
      result.num_below += inside[0];
    }
    for (int i = 0; i < num_parts; ++i) {
      NearestPart &part = parts[i];
      if (!is_reached) {
        inside[i] =
            passes.pack_beyond(view_of(part), -kInfinity, range.least(), range.most(), part.spare);
      }
      part.count = inside[i];
      std::swap(part.values, part.spare);
    }
  }
  result.level = most;
  return result;
}

}  // namespace sampler::cpu
