// Typical-p on a row: selects the tokens nearest to the mean surprise.
#include <algorithm>
#include <array>

#include "cpu/simd/row_windows.h"
#include "cpu/simd/select.h"

namespace sampler::cpu {

using contract::Rank;
using contract::Window;

// One search in a window of the row, by weight or by count.
class RowWindows::Nearest {
 public:
  // `scaling` null: each token measures 1.
  Nearest(RowWindows &windows, const NearestOrder &order, const Scaling *scaling, Rank cut)
      : windows_(windows),
        row_(windows.row_),
        passes_(windows.passes_),
        order_(order),
        scaling_(scaling),
        cut_(cut) {}

  // Finds the first tokens, in the order of distance, that reach the target, as the window's
  // `count` tokens together do. If these are most of the window, works on the remaining tokens
  // instead.
  void find(uint64_t target, uint64_t total, int64_t count) {
    target_ = target;
    for (int attempt = 0;; ++attempt) {
      const Hint hint = make_hint(attempt, total, count);
      band_ = {hint.above, hint.most};
      outside_ = {};
      if (!is_dense(hint, count)) {
        leave_likely(hint.num_kept);
        if (select_level()) return;
      } else if (leave_surely_kept(total, count)) {
        const NearestBand expected = band_;
        if (select_level()) return;
        band_ = expected;
        band_.most = NearestOrder::kLastLevel;
        part_ = part_of_none();
        take_all(outside());
        select_level();
        return;
      }
    }
  }

  // The window of the tokens found.
  Window window(sampler_tie_rule ties, Window seen) {
    const NearRange range = order_.within(band_.most);
    // If only the list is valid, listing would overwrite arrays in use.
    if (!row_.is_only_listed_) {
      windows_.list_few(contract::rank_of_key(range.low), band_.num_below + part_.count);
    }
    if (ties == SAMPLER_TIES_KEEP) {
      return window_from(begin_at_most(range.high, seen), band_.num_below + part_.count,
                         contract::rank_of_key(range.low));
    }
    // Within the last level the likelier tokens come first, starting with the last of them in rank
    // order.
    const NearRange likelier = order_.likelier(), all = order_.all();
    const uint64_t wanted = target_ - band_.below;
    const int64_t num_likelier = pack_part(likelier);
    const uint64_t weight = measure(part_.spare, num_likelier);
    if (weight >= wanted) {
      const Selected first = select(num_likelier, weight - wanted + 1);
      const auto dropped = int64_t((weight - wanted - first.above) / measure_of(first.value));
      return window_from(begin_at(first.value, dropped + 1, seen),
                         band_.num_below + num_likelier - num_above(first.value) - dropped,
                         contract::rank_of_key(order_.within(band_.most - 1).low));
    }
    const Selected last = select(pack_part({all.low, likelier.low - 1}), wanted - weight);
    const uint64_t own = measure_of(last.value), left = wanted - weight - last.above;
    const auto taken = int64_t(left / own + (left % own != 0));
    return window_from(begin_at_most(range.high, seen),
                       band_.num_below + num_above(last.value) + taken, end_at(last.value, taken));
  }

 private:
  // Shorter rows are not sampled.
  static constexpr int64_t kLeastSampled = 4096;
  // Tokens heavier than this fraction of the total are listed individually.
  static constexpr uint64_t kHeavyShare = 512;
  static constexpr size_t kMostHeavy = kHeavyShare + kListPadding;

  // Levels between which the target is expected (0 and kLastLevel are always safe), and the
  // approximate numbers of tokens up to `most` and up to the target.
  struct Hint {
    uint32_t above;
    uint32_t most;
    int64_t num_most;
    int64_t num_kept;
  };
  // The window's values outside `inner`, in values(); count -1: not available.
  struct Outside {
    NearRange inner;
    int64_t count = -1;
  };

  // Scratch arrays: values of the window or the sample, and two for a selection.
  float *values() const { return row_.scratch_values_; }
  RowView outside() const { return contract::f32_view(values(), outside_.count); }
  NearestPart part_of_none() const {
    return {row_.spare_, reinterpret_cast<float *>(row_.scratch_ids_), 0, 1};
  }

  bool is_dense(const Hint &hint, int64_t count) const {
    return scaling_ && hint.above > 0 && hint.num_most * 2 > count;
  }

  // Compacts the values that are not surely kept. False if the target lies before them.
  bool leave_surely_kept(uint64_t total, int64_t count) {
    const NearRange inner = order_.within(band_.above);
    outside_ = {inner, pack_beyond(inner, count, values())};
    band_.below = total - measure(values(), outside_.count);
    band_.num_below = count - outside_.count;
    if (band_.below >= target_) return false;
    part_ = part_of_none();
    part_.count = pack_from(outside(), order_.within(band_.most), part_.values);
    return true;
  }
  // Narrows the band to the level of the target. False if the target is beyond the band.
  bool select_level() {
    return select_nearest(passes_, &row_.places_, order_, scaling_, target_, 0, &band_, &part_, 1);
  }

  // Compacts the values that may be kept, but not surely.
  void leave_likely(int64_t num_kept) {
    const NearRange most = order_.within(band_.most), inner = order_.within(band_.above);
    // num_kept is an estimate and may be too high.
    windows_.list_few(rank_from(most), num_kept / 4 * 3);
    const RowView likely = values_of(most);
    part_ = part_of_none();
    if (band_.above == 0) {
      take_all(likely);
      return;
    }
    band_.num_below = pack_from(likely, inner, part_.spare);
    band_.below = measure(part_.spare, band_.num_below);
    if (band_.below >= target_) {
      take_all(likely);
      band_ = {0, band_.most};
      return;
    }
    part_.count =
        passes_.pack_beyond(likely, -kInfinity, inner.least(), inner.most(), part_.values);
  }

  void take_all(const RowView &source) {
    part_.count = source.count;
    std::copy_n(static_cast<const float *>(source.values), source.count, part_.values);
  }

  // Lowest rank of a range within the window.
  Rank rank_from(const NearRange &range) const {
    return std::max(cut_, contract::rank_of_key(range.low));
  }

  // Calls f(part, at_least) for the parts of the window with values >= the range's lowest.
  template <class F>
  void for_each_part(const NearRange &range, const F &f) {
    const SimdRow::Kept tokens = windows_.kept(rank_from(range));
    SimdRow::for_each_range(tokens, 0, tokens.source.count,
                            [&](int64_t begin, int64_t end, float at_least) {
                              f(part_of(tokens.source, begin, end - begin), at_least);
                            });
  }

  int64_t pack(const NearRange &range, float *out) {
    if (range.is_empty()) return 0;
    int64_t count = 0;
    for_each_part(range, [&](const RowView &part, float at_least) {
      count += passes_.pack(part, std::max(at_least, range.least()), range.most(), out + count);
    });
    return count;
  }
  // Compacts the window's values outside a range. The window has `num_tokens`.
  int64_t pack_beyond(const NearRange &range, int64_t num_tokens, float *out) {
    int64_t count = 0;
    const bool is_all = num_tokens == windows_.kept(cut_).source.count;
    for_each_part(order_.all(), [&](const RowView &part, float at_least) {
      const float least = is_all ? -kInfinity : at_least;
      count += passes_.pack_beyond(part, least, range.least(), range.most(), out + count);
    });
    return count;
  }
  int64_t pack_from(const RowView &source, const NearRange &range, float *out) const {
    if (range.is_empty()) return 0;
    return passes_.pack(source, range.least(), range.most(), out);
  }
  // The window's values in a range: the list itself if it has no others, otherwise compacted.
  RowView values_of(const NearRange &range) {
    const SimdRow::Kept tokens = windows_.kept(rank_from(range));
    const bool has_others =
        tokens.at_least > -kInfinity || tokens.after > -kInfinity || range.high < order_.all().high;
    return tokens.source.ids && !has_others
               ? contract::f32_view(row_.list_values_, row_.list_.count)
               : contract::f32_view(values(), pack(range, values()));
  }

  uint64_t measure(const float *values, int64_t count) const {
    if (!scaling_ || count == 0) return uint64_t(count);
    return passes_.weigh(contract::f32_view(values, count), *scaling_, 0, count, -kInfinity,
                         nullptr);
  }
  uint64_t measure_of(float value) const {
    return scaling_ ? contract::weight(scaling_->row, value) : 1;
  }

  int64_t pack_part(const NearRange &range) {
    return pack_from(contract::f32_view(part_.values, part_.count), range, part_.spare);
  }
  Selected select(int64_t count, uint64_t target) {
    return cpu::select(passes_, &row_.places_, contract::f32_view(part_.spare, count), scaling_,
                       target, part_.spare);
  }

  // ---- Ends of windows

  // Number of tokens of the last level with values >= `value`.
  int64_t num_from(float value) const {
    return passes_.count(contract::f32_view(part_.values, part_.count), 0, part_.count, value);
  }
  int64_t num_above(float value) const { return num_from(contract::next_value(value)); }

  Window window_from(int64_t begin, int64_t count, Rank cut) {
    windows_.remember(begin + count, std::max(cut, cut_));
    return {begin, begin + count};
  }

  // The rank of the n-th token of a value of the last level. If that is the last, ids need not be
  // read.
  Rank end_at(float value, int64_t n) {
    return n == num_from(value) - num_above(value)
               ? contract::rank_of_key(contract::value_key(value))
               : windows_.nth_of_value(cut_, value, uint64_t(n));
  }

  int64_t begin_at_most(uint32_t key, Window seen) {
    const int64_t num_before = num_beyond(key);
    return num_before == 0 ? seen.begin : begin_with(largest_up_to(key), 1, num_before, seen);
  }
  // Begins the window at the n-th token of the value.
  int64_t begin_at(float value, int64_t n, Window seen) {
    return begin_with(value, n, num_beyond(contract::value_key(value)) + n - 1, seen);
  }
  int64_t begin_with(float value, int64_t n, int64_t num_before, Window seen) {
    const bool is_found = n > 1;
    const Rank first =
        is_found ? windows_.nth_of_value(cut_, value, uint64_t(n)) : contract::rank_of(value, 0);
    windows_.begin_ = {seen.begin + num_before, first, is_found};
    return windows_.begin_.place;
  }

  // Number of tokens with larger keys. None of them is surely kept.
  int64_t num_beyond(uint32_t key) {
    if (outside_.count < 0) return windows_.count(contract::rank_of_key(key + 1));
    return passes_.count(outside(), 0, outside_.count, contract::value_of_key(key + 1));
  }
  // The largest kept value whose key is at most `key`.
  float largest_up_to(uint32_t key) {
    const float most = contract::value_of_key(key);
    if (outside_.count >= 0 && outside_.inner.high < key) {
      const ValueRange beyond = passes_.find_range(
          outside(), 0, outside_.count, contract::value_of_key(outside_.inner.high + 1), most);
      if (beyond.count > 0) return beyond.largest;
    }
    return windows_.range_of(rank_from(order_.within(band_.most)), most).largest;
  }

  // ---- Estimates

  // Estimates levels around the target from a sample. Each attempt widens the margin; the last hint
  // is always right.
  Hint make_hint(int attempt, uint64_t total, int64_t count) {
    constexpr int kAttempts = 2;
    constexpr uint64_t kMoreTokens = 512;
    Hint hint = {0, NearestOrder::kLastLevel, count, count};
    const RowView source = windows_.kept(cut_).source;
    if (attempt >= kAttempts || source.count < kLeastSampled) return hint;

    Sample sample = take_sample(source, total);
    const uint64_t rest = total - target_;
    const uint64_t margin = std::min(rest / 8, target_ / 2) << (2 * attempt);
    const uint64_t wanted = scaling_ ? target_ : 2 * target_ + kMoreTokens;
    // From the smaller part, whose sampling error is smaller.
    const uint64_t rest_of_sample = std::min(total - std::min(wanted, total), sample.weight);
    const uint64_t expected = wanted < total / 2 ? wanted : sample.weight - rest_of_sample;
    if (expected == 0 || expected > sample.weight) return hint;
    NearestPart parts[] = {{values(), row_.spare_, sample.num_light, uint64_t(kSampleStep)},
                           {sample.heavy.data(), sample.spare.data(), sample.num_heavy, 1}};
    NearestBand band;
    select_nearest(passes_, &row_.places_, order_, scaling_, expected, scaling_ ? margin : 0, &band,
                   parts, 2);
    hint.most = band.most;
    hint.num_most = (band.num_below + parts[0].count) * kSampleStep;
    hint.num_kept = (band.num_below + parts[0].count / 2) * kSampleStep;
    if (scaling_) hint.above = band.above;
    return hint;
  }

  // Sample of the window: `num_light` entries in values(), each representing kSampleStep tokens,
  // and all heavy tokens.
  struct Sample {
    int64_t num_light, num_heavy;
    std::array<float, kMostHeavy> heavy, spare;
    uint64_t weight;
  };

  Sample take_sample(const RowView &source, uint64_t total) {
    Sample sample = {};
    NearRange light = order_.all();
    if (scaling_) {
      light.high = heavy_key(total) - 1;
      sample.num_heavy = list_heavy(source, light.high + 1, sample.heavy.data());
    }
    if (!light.is_empty()) sample.num_light = pack_sample(source, light, values());
    sample.weight = uint64_t(kSampleStep) * measure(values(), sample.num_light) +
                    measure(sample.heavy.data(), sample.num_heavy);
    return sample;
  }

  // Lowest key of heavy tokens, above the window's lowest key.
  uint32_t heavy_key(uint64_t total) const {
    const NearRange all = order_.all();
    const uint64_t least = total / kHeavyShare + 1;
    if (measure_of(all.most()) < least) return all.high + 1;
    return std::max(lowest_key_of_weight(scaling_->row, least, all.low, all.high), all.low + 1);
  }

  int64_t list_heavy(const RowView &source, uint32_t key, float *out) {
    if (key > order_.all().high) return 0;
    const float least = contract::value_of_key(key);
    if (source.ids) return passes_.pack(source, least, kInfinity, out);
    std::array<int32_t, kMostHeavy> ids;
    return passes_.list(source, row_.maxima_, 0, source.count, {least, INT64_MAX}, out, ids.data())
        .count;
  }

  int64_t pack_sample(const RowView &source, const NearRange &range, float *out) {
    const int64_t count = passes_.sample(source, range.least(), row_.places_.next(), out);
    if (range.high == order_.all().high) return count;
    return passes_.pack(contract::f32_view(out, count), range.least(), range.most(), out);
  }

  RowWindows &windows_;
  SimdRow &row_;
  const Passes &passes_;
  const NearestOrder &order_;
  const Scaling *scaling_;
  Rank cut_;
  uint64_t target_ = 0;
  NearestPart part_ = {};
  NearestBand band_;
  Outside outside_ = {};
};

Window RowWindows::nearest(const contract::Typical &rule, Window seen) {
  const Rank cut = look_at(seen);
  const NearestOrder order(rule, contract::key_of_rank(cut), contract::key_of_rank(row_.first_));
  const Scaling scaling = {rule.row};
  Nearest by_weight(*this, order, &scaling, cut);
  by_weight.find(rule.threshold, rule.total, seen.count());
  const Window kept = by_weight.window(rule.ties, seen);
  const int64_t least = std::min(rule.min_keep, seen.count());
  if (kept.count() >= least) return kept;
  Nearest by_count(*this, order, nullptr, cut);
  by_count.find(uint64_t(least), uint64_t(seen.count()), seen.count());
  return by_count.window(SAMPLER_TIES_EXACT, seen);
}

}  // namespace sampler::cpu
