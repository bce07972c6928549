// Selection in typical-p's order of tokens.
#include "cpu/simd/nearest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "cpu/simd/select.h"

namespace sampler::cpu {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Rounds with an interpolated pivot or a sampled element; later rounds bisect the levels.
constexpr int kElementRounds = 90;
constexpr int kMostParts = 2;
// At most this many values are sorted.
constexpr int64_t kFew = 32;

RowView view_of(const NearestPart &part) {
  return contract::f32_view(part.values, part.count);
}

int64_t pack(const Passes &passes, const RowView &source, const NearRange &range, float *out) {
  if (range.is_empty() || source.count == 0) return 0;
  return passes.pack(source, range.least(), range.most(), out);
}

// The view's kind does not affect weights.
uint64_t measure(const Passes &passes, const float *values, int64_t count, const Scaling *scaling) {
  if (!scaling || count == 0) return uint64_t(count);
  RowView list = contract::f32_view(values, count);
  return passes.weigh(list, *scaling, 0, count, -kInfinity, nullptr);
}

// Chooses pivots. Once the measures at both ends of the band are known, pivots are interpolated on
// alternating sides of the target. Before that, or if interpolation does not help, they are medians
// of sampled elements.
class Pivots {
 public:
  Pivots(uint64_t target, uint64_t margin, const NearestBand &band)
      : target_(target),
        margin_(margin),
        begin_{band.above, band.below},
        end_{band.most, kUnknown},
        least_near_(end_),
        last_near_(begin_) {}

  bool was_reached() const { return end_.through != kUnknown; }
  // Whether the margin allows no further narrowing, or little.
  bool are_done() const {
    return margin_ > 0 &&
           (num_near_ == kMostNear || (!wants_later_begin() && !wants_earlier_end()));
  }

  // Records that tokens up to `level` measure `through`. `is_end`: the level is a new end of the
  // band; otherwise it is closer to the target than the margin.
  void set(uint32_t level, uint64_t through, bool is_end) {
    const Point point = {level, through};
    const bool is_reached = through >= target_, is_missed = !is_end || is_before_ == is_reached;
    num_missed_ = is_missed ? std::min(num_missed_ + 1, kMostMissed) : 0;
    if (!is_end || is_reached) least_near_ = level < least_near_.level ? point : least_near_;
    if (!is_end || !is_reached) last_near_ = level > last_near_.level ? point : last_near_;
    is_before_ = is_reached;
    if (is_end) {
      (is_reached ? end_ : begin_) = point;
    } else {
      ++num_near_;
      num_guesses_ = 0;
    }
  }

  uint32_t next(const NearestOrder &order, const NearestPart *parts, int num_parts,
                Places *places) {
    const NearestPart &part = *std::max_element(
        parts, parts + num_parts,
        [](const NearestPart &a, const NearestPart &b) { return a.count < b.count; });
    return was_reached() && guesses_help(part.count) ? guess(part.count)
                                                     : level_of(order, part, places);
  }

 private:
  static constexpr uint64_t kUnknown = UINT64_MAX;
  static constexpr int kMostNear = 4, kMostMissed = 8;

  struct Point {
    uint32_t level;
    uint64_t through;

    double distance() const { return level == 0 ? 0.0 : double(contract::float_of(level - 1)); }
  };

  bool is_far(uint64_t measure) const { return measure / 5 * 2 > margin_; }
  bool wants_later_begin() const { return is_far(target_ - begin_.through); }
  bool wants_earlier_end() const { return !was_reached() || is_far(end_.through - target_); }

  // Two guesses should halve the values; after the first failure no more guesses are made.
  bool guesses_help(int64_t count) {
    constexpr int kGuesses = 2;
    if (num_guesses_ > 0 && num_guesses_ % kGuesses == 0 && count * 2 > count_before_) {
      are_useless_ = true;
    }
    if (num_guesses_ % kGuesses == 0) count_before_ = count;
    ++num_guesses_;
    return !are_useless_;
  }

  // Interpolates linearly between two levels.
  uint32_t guess(int64_t count) {
    const double target = double(target_), first = double(begin_.through);
    const double last = double(end_.through);
    // Distance from the target: the likely error, by the square root of the count.
    const double least = margin_ > 0 ? 1.25 * double(margin_)
                                     : 1.5 * (last - first) / std::sqrt(double(count) + 1.0);
    const double before = target - first, after = last - target;
    if (margin_ > 0 && wants_later_begin() != wants_earlier_end()) is_before_ = wants_later_begin();
    if (margin_ == 0 && before <= least) is_before_ = false;
    if (margin_ == 0 && after <= least) is_before_ = true;
    const double beside =
        std::min(least * double(1 << num_missed_), 0.6 * (is_before_ ? before : after));
    const Point &from = is_before_ ? begin_ : last_near_, &to = is_before_ ? least_near_ : end_;
    const double aim = is_before_ ? target - beside : target + beside;
    const double share = (aim - double(from.through)) / (double(to.through - from.through) + 1.0);
    const double low = from.distance(), high = to.distance();
    return contract::bits_of(float(low + std::clamp(share, 0.0, 1.0) * (high - low))) + 1;
  }

  // The median level of sampled elements, or the upper quartile if the median did not reach the
  // target.
  uint32_t level_of(const NearestOrder &order, const NearestPart &part, Places *places) const {
    constexpr int64_t kMostProbes = 33, kElementsPerProbe = 64;
    const int quarters = was_reached() || last_near_.level == 0 ? 2 : 3;
    uint32_t probes[kMostProbes];
    const int64_t num_probes =
        std::clamp<int64_t>(part.count / kElementsPerProbe | 1, 3, kMostProbes);
    for (int64_t i = 0; i < num_probes; ++i) {
      probes[i] = order.level(part.values[places->below(part.count)]);
    }
    uint32_t *const level = probes + num_probes * quarters / 4;
    std::nth_element(probes, level, probes + num_probes);
    return *level;
  }

  const uint64_t target_, margin_;
  Point begin_, end_;  // ends of the band
  // Levels within the margin of the target are in [least_near_, last_near_], once there is one.
  Point least_near_, last_near_;
  bool are_useless_ = false;
  bool is_before_ = false;  // side of the target for the next pivot
  int num_near_ = 0, num_missed_ = 0, num_guesses_ = 0;
  int64_t count_before_ = 0;
};

// Finishes select_nearest() by sorting few values.
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

// Approximate key of a value with this excess.
uint32_t NearestOrder::key_near(float excess) const {
  return cpu::key_near(rule_.row, excess - rule_.mean);
}

NearRange NearestOrder::within(uint32_t level, const NearRange &inner,
                               const NearRange &outer) const {
  if (level == 0) return {likelier().low, likelier().low - 1};
  const float most = contract::float_of(level - 1);
  const uint32_t low = first_key(outer.low, inner.low, key_near(-most),
                                 [&](float x) { return -rule_.excess(x) <= most; });
  const uint32_t beyond = first_key(inner.high + 1, outer.high + 1, key_near(most),
                                    [&](float x) { return rule_.excess(x) > most; });
  return {low, beyond - 1};
}

NearRange NearestOrder::likelier() const {
  return {
      first_key(low_, high_ + 1, key_near(0.0f), [&](float x) { return rule_.excess(x) > 0.0f; }),
      high_};
}

bool select_nearest(const Passes &passes, Places *places, const NearestOrder &order,
                    const Scaling *scaling, uint64_t target, uint64_t margin, NearestBand *band,
                    NearestPart *parts, int num_parts) {
  NearRange inner = order.within(band->above), outer = order.within(band->most);
  Pivots pivots(target, margin, *band);
  for (int round = 0; band->most - band->above > 1; ++round) {
    if (margin == 0 && num_parts == 1 && parts[0].count <= kFew) {
      return select_of_few(order, scaling, target, band, parts);
    }
    if (pivots.are_done()) return true;
    const uint32_t pivot = round < kElementRounds
                               ? std::clamp(pivots.next(order, parts, num_parts, places),
                                            band->above + 1, band->most - 1)
                               : band->above + (band->most - band->above) / 2;
    const NearRange range = order.within(pivot, inner, outer);
    int64_t inside[kMostParts];
    uint64_t through = band->below;
    for (int i = 0; i < num_parts; ++i) {
      inside[i] = pack(passes, view_of(parts[i]), range, parts[i].spare);
      through += parts[i].times * measure(passes, parts[i].spare, inside[i], scaling);
    }
    const bool is_reached = through >= target;
    const bool is_end = (is_reached ? through - target : target - through) >= margin;
    pivots.set(pivot, through, is_end);
    if (!is_end) continue;
    if (is_reached) {
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
  if (pivots.was_reached()) return true;
  uint64_t through = band->below;
  for (int i = 0; i < num_parts; ++i) {
    through += parts[i].times * measure(passes, parts[i].values, parts[i].count, scaling);
  }
  return through >= target;
}

}  // namespace sampler::cpu
