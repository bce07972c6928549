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
// So few values are sorted in the end.
constexpr int64_t kFew = 32;

RowView view_of(const NearestPart &part) {
  return contract::f32_view(part.values, part.count);
}

int64_t pack(const Passes &passes, const RowView &source, const KeyRange &range, float *out) {
  if (range.is_empty() || source.count == 0) return 0;
  return passes.pack(source, range.least(), range.most(), out);
}

// Weights do not depend on the kind of the list.
uint64_t measure(const Passes &passes, const float *values, int64_t count, const Scaling *scaling) {
  if (!scaling || count == 0) return uint64_t(count);
  RowView list = contract::f32_view(values, count);
  return passes.weigh(list, *scaling, 0, count, -kInfinity, nullptr);
}

// The level that so many quarters of some elements of the largest part do not exceed.
uint32_t pivot_of(const NearestOrder &order, const NearestPart *parts, int num_parts, int quarters,
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
  uint32_t *const pivot = probes + num_probes * quarters / 4;
  std::nth_element(probes, pivot, probes + num_probes);
  return *pivot;
}

// As select_nearest() to the end, of few values.
bool select_of_few(const NearestOrder &order, const Scaling *scaling, uint64_t target,
                   NearestBand *band, NearestPart *part) {
  struct Token {
    uint32_t level;
    float value;
  };
  Token tokens[kFew];
  const int64_t count = part->count;
  for (int64_t i = 0; i < count; ++i) tokens[i] = {order.level(part->values[i]), part->values[i]};
  std::sort(tokens, tokens + count,
            [](const Token &a, const Token &b) { return a.level < b.level; });
  uint64_t through = band->below;
  for (int64_t begin = 0, i = 0; i < count; ++i) {
    if (tokens[i].level > tokens[begin].level) {
      band->below = through;
      band->num_below += i - begin;
      begin = i;
    }
    through += part->times * (scaling ? contract::weight(scaling->row, tokens[i].value) : 1);
    const bool is_last = i + 1 == count || tokens[i + 1].level > tokens[i].level;
    if (!is_last || through < target) continue;
    band->above = tokens[i].level - 1;
    band->most = tokens[i].level;
    part->count = i + 1 - begin;
    for (int64_t j = begin; j <= i; ++j) part->values[j - begin] = tokens[j].value;
    return true;
  }
  return false;
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

bool select_nearest(const Passes &passes, Places *places, const NearestOrder &order,
                    const Scaling *scaling, uint64_t target, uint64_t margin, NearestBand *band,
                    NearestPart *parts, int num_parts) {
  KeyRange inner = order.within(band->above), outer = order.within(band->most);
  // Medians, until one is too near to the target: then quartiles, in turns, until both are.
  int quarters = 2, num_near = 0;
  bool was_reached = false;
  for (int round = 0; band->most - band->above > 1; ++round) {
    if (margin == 0 && num_parts == 1 && parts[0].count <= kFew) {
      return select_of_few(order, scaling, target, band, parts);
    }
    const uint32_t pivot = round < kElementRounds
                               ? std::clamp(pivot_of(order, parts, num_parts, quarters, places),
                                            band->above + 1, band->most - 1)
                               : band->above + (band->most - band->above) / 2;
    const KeyRange range = order.within(pivot, inner, outer);
    int64_t inside[kMostParts];
    uint64_t through = band->below;
    for (int i = 0; i < num_parts; ++i) {
      inside[i] = pack(passes, view_of(parts[i]), range, parts[i].spare);
      through += parts[i].times * measure(passes, parts[i].spare, inside[i], scaling);
    }
    const bool is_reached = through >= target;
    const bool is_near = (is_reached ? through - target : target - through) < margin;
    num_near = is_near ? num_near + 1 : 0;
    if (num_near > 0 || quarters != 2) {
      if (num_near > 1 && quarters != 2) return true;
      quarters = quarters == 3 ? 1 : 3;
      if (is_near) continue;
    }
    if (is_reached) {
      was_reached = true;
      band->most = pivot;
      outer = range;
    } else {
      band->above = pivot;
      inner = range;
      band->below = through;
      band->num_below += inside[0];
    }
    for (int i = 0; i < num_parts; ++i) {
      NearestPart &part = parts[i];
      if (!is_reached && part.count > 0) {
        inside[i] =
            passes.pack_beyond(view_of(part), -kInfinity, range.least(), range.most(), part.spare);
      }
      part.count = inside[i];
      std::swap(part.values, part.spare);
    }
  }
  if (was_reached) return true;
  uint64_t through = band->below;
  for (int i = 0; i < num_parts; ++i) {
    through += parts[i].times * measure(passes, parts[i].values, parts[i].count, scaling);
  }
  return through >= target;
}

}  // namespace sampler::cpu
