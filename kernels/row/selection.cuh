// Selection: the token at which the running measure of a row's tokens, in some order, first reaches
// a target. In rank order top-k measures 1 per token and top-p the weight; the draw measures the
// weight by ascending id.
//
// Tokens are u64 keys that contain the order and what is needed of the token: a larger key comes
// first, and keys are unique. Histograms narrow the keys until few enough remain to be listed and
// sorted in the leader's shared memory, or until all remaining have one value: those are ordered by
// id, as in the row.
//
// The number of passes is bounded for every row. A histogram leaves one of kBins bins of equal
// width; f32 values have 32 bits, so three passes leave a single value.
#pragma once

#include <cstdint>
#include <type_traits>

#include "contract/filters.h"
#include "contract/rank.h"
#include "contract/weight.h"
#include "machine/team.cuh"
#include "row/row.cuh"

namespace sampler::kernels {

// Value descending, then id ascending.
struct RankOrder {
  SAMPLER_HD static uint64_t key(float x, uint32_t id) { return contract::rank_of(x, id); }
  SAMPLER_HD static float value(uint64_t key) { return contract::value_of_rank(key); }
  SAMPLER_HD static uint32_t id(uint64_t key) { return contract::id_of_rank(key); }
  // Bounds of the values whose keys lie in a range; NaN: unbounded.
  SAMPLER_HD static float lowest_value(uint64_t low) { return value(low); }
  SAMPLER_HD static float highest_value(uint64_t high) { return value(high); }
  // Lowest bits of a value's key that are the same for all values of one sign.
  template <class Row>
  SAMPLER_HD static int unused_bits(const Row &row) {
    return row.source().unused_value_bits();
  }
};

// Id ascending.
struct IdOrder {
  SAMPLER_HD static uint64_t key(float x, uint32_t id) {
    return uint64_t(~id) << 32 | contract::bits_of(x);
  }
  SAMPLER_HD static float value(uint64_t key) { return contract::float_of(uint32_t(key)); }
  SAMPLER_HD static uint32_t id(uint64_t key) { return ~uint32_t(key >> 32); }
  SAMPLER_HD static float lowest_value(uint64_t) { return contract::quiet_nan(); }
  SAMPLER_HD static float highest_value(uint64_t) { return contract::quiet_nan(); }
  template <class Row>
  SAMPLER_HD static int unused_bits(const Row &) {
    return 0;
  }
};

// The leader's list. Every thread of the team has this state.
struct ListState {
  int count = -1;      // -1: no list
  uint64_t floor = 0;  // rank order: the list has all tokens of the row from this rank up

  SAMPLER_HD bool covers(Rank cut) const { return count > 0 && floor <= cut; }
};

// Sorts list[0, count) of this block in descending order: a bitonic sort, one pair per thread.
// CUB's block sorts take a compile-time number of keys, always 2,048 here, and 16 KiB more of
// shared memory. Up to kWarpStride a warp's pairs are its own. Barriers of the block.
template <class Context>
SAMPLER_DEVICE_CALL void sort_list(Context &ctx, uint64_t *list, int count) {
  constexpr int kWarpStride = 32;
  int size = 2;
  while (size < count) size *= 2;
  for (int i = count + ctx.thread(); i < size; i += Context::kThreads) list[i] = 0;
  ctx.sync();
  for (int run = 2; run <= size; run *= 2) {
    for (int stride = run / 2; stride > 0; stride /= 2) {
      for (int i = ctx.thread(); i < size / 2; i += Context::kThreads) {
        const int low = 2 * i - (i & (stride - 1));
        const int high = low + stride;
        const uint64_t a = list[low], b = list[high];
        const bool descending = (low & run) == 0;
        if ((a < b) == descending) {
          list[low] = b;
          list[high] = a;
        }
      }
      const bool is_last = run == size && stride == 1;
      const int next_stride = stride > 1 ? stride / 2 : run;
      if (is_last || stride > kWarpStride || next_stride > kWarpStride) {
        ctx.sync();
      } else {
        ctx.warp_sync();
      }
    }
  }
}

// Sum of measure(key) over list[0, count), in every thread of the block.
template <class Context, class Measure>
SAMPLER_DEVICE_CALL uint64_t list_sum(Context &ctx, const uint64_t *list, int count,
                                      const Measure &measure) {
  uint64_t sum = 0;
  for (int i = ctx.thread(); i < count; i += Context::kThreads) sum += measure(list[i]);
  return ctx.block_sum(sum);
}

// Index of the first key at which the running sum of measure(key) reaches `target` (> 0); count if
// it never does. In every thread of the block. The caller must pass a barrier before the next
// search.
template <class Context, class Measure>
SAMPLER_DEVICE_CALL int find_in_list(Context &ctx, TeamShared &shared, const uint64_t *list,
                                     int count, uint64_t target, const Measure &measure) {
  const Part own = Part{0, count}.of(ctx.thread(), Context::kThreads);
  uint64_t sum = 0;
  for (int i = own.begin; i < own.end; ++i) sum += measure(list[i]);
  if (ctx.thread() == 0) shared.found[0] = uint64_t(count);
  uint64_t total;
  uint64_t running = ctx.block_exclusive_sum(sum, &total);
  if (running < target && running + sum >= target) {
    for (int i = own.begin; running < target; ++i) {
      running += measure(list[i]);
      if (running >= target) shared.found[0] = uint64_t(i);
    }
  }
  ctx.sync();
  return int(shared.found[0]);
}

// Empties the leader's list. A barrier of the team, after which all may add to it.
template <class Context>
SAMPLER_DEVICE void open_list(Team<Context> &team) {
  if (team.is_first_thread()) team.shared.list_count = team.shared.group_count = 0;
  team.ctx.team_sync();  // after it the leader no longer reads an earlier list
}

// Adds the key of each lane that is `wanted` to a list of `limit` keys. Called by the whole warp.
// False if the list was already full.
template <class Context>
SAMPLER_DEVICE bool append(Context &ctx, uint64_t *list, uint32_t *list_count, uint32_t limit,
                           bool wanted, uint64_t key) {
  const uint32_t lanes = ctx.ballot(wanted);
  if (lanes == 0) return true;
  const int first = Context::lowest_bit(lanes);
  uint32_t place = 0;
  if (ctx.lane() == first) {
    place = ctx.atomic_add(list_count, uint32_t(Context::count_bits(lanes)));
  }
  place = uint32_t(ctx.warp_broadcast(place, first));
  const uint32_t before = lanes & ((uint32_t(1) << ctx.lane()) - 1);
  const uint32_t own_place = place + uint32_t(Context::count_bits(before));
  if (wanted && own_place < limit) list[own_place] = key;
  return place < limit;
}

// Adds this warp's tokens with keys in [low, high] to the list, up to the tile that holds
// `last_index`. Beyond `limit` tokens are only counted, and not all of them.
template <class Order, class Context, class Row>
SAMPLER_DEVICE_CALL void add_to_list(Team<Context> &team, const Row &row, uint64_t low,
                                     uint64_t high, int limit, int last_index) {
  Context &ctx = team.ctx;
  uint64_t *list = ctx.peer(&team.shared.list[0], 0);
  uint32_t *list_count = ctx.peer(&team.shared.list_count, 0);
  row.template for_each_between<Order>(low, high, last_index, [=, &ctx](bool wanted, uint64_t key) {
    return append(ctx, list, list_count, uint32_t(limit), wanted, key);
  });
}

// Sorts the list. Returns its number of tokens, from the leader, or -1 if that exceeds `limit`. The
// caller must pass a barrier of the team after it.
template <class Context>
SAMPLER_DEVICE int close_list(Team<Context> &team, int limit) {
  team.ctx.team_sync();
  const int count = int(*team.ctx.peer(&team.shared.list_count, 0));
  if (count > limit) {
    team.ctx.team_sync();  // all have read the count before another list is opened
    return -1;
  }
  if (team.is_leader()) sort_list(team.ctx, team.shared.list, count);
  return count;
}

// Lists and sorts the tokens with keys in [low, high], at most `limit`. Returns their number, or -1
// if there are more. The caller must pass a barrier of the team after it.
template <class Order, class Context, class Row>
SAMPLER_DEVICE_CALL int make_list(Team<Context> &team, const Row &row, uint64_t low, uint64_t high,
                                  int limit = kListCapacity) {
  open_list(team);
  add_to_list<Order>(team, row, low, high, limit, kNoLastIndex);
  return close_list(team, limit);
}

// Whether the warps that have called this have more than `limit` groups with a token of rank `low`
// or higher: then those do not fit a list. Called by the whole warp, once per list.
template <class Context, class Row>
SAMPLER_DEVICE bool has_too_many_groups(Team<Context> &team, const Row &row, Rank low, int limit) {
  if (!row.has_maxima()) return false;
  Context &ctx = team.ctx;
  uint32_t own = 0;
  row.for_each_maximum(low, ~uint64_t(0), [&own](bool reaches, uint64_t) { own += reaches; });
  own = uint32_t(ctx.warp_sum(own));
  uint32_t before = 0;
  if (ctx.lane() == 0) before = ctx.atomic_add(ctx.peer(&team.shared.group_count, 0), own);
  return uint32_t(ctx.warp_broadcast(before, 0)) + own > uint32_t(limit);
}

// As make_list, for tokens from `low` up that may be too many: then most warps notice by the group
// maxima and read no tokens.
template <class Context, class Row>
SAMPLER_DEVICE_CALL int try_list(Team<Context> &team, const Row &row, Rank low, Rank high,
                                 int limit) {
  open_list(team);
  if (!has_too_many_groups(team, row, low, limit)) {
    add_to_list<RankOrder>(team, row, low, high, limit, kNoLastIndex);
  } else if (team.ctx.lane() == 0) {
    team.ctx.atomic_add(team.ctx.peer(&team.shared.list_count, 0), uint32_t(limit) + 1);
  }
  return close_list(team, limit);
}

// The lowest key of a value in [low, high] from which on `holds` is true; it must be true at
// `high`. Each thread tries one key, so few rounds are needed.
template <class Context, class Holds>
SAMPLER_DEVICE_CALL uint32_t lowest_value_key(Context &ctx, uint32_t low, uint32_t high,
                                              const Holds &holds) {
  while (low < high) {
    const uint64_t step = (high - low) / uint32_t(Context::kThreads) + 1;
    const uint64_t own = low + uint64_t(ctx.thread()) * step;
    const bool fails = own < high && !holds(uint32_t(own));
    const uint64_t num_failing = ctx.block_count(fails);
    const uint64_t end = low + num_failing * step;
    if (end < high) high = uint32_t(end);
    if (num_failing > 0) low = uint32_t(end - step + 1);
  }
  return low;
}

// Top-k's measure.
struct CountTokens {
  SAMPLER_HD uint64_t operator()(uint64_t) const { return 1; }
};

// The range of keys, both ends included, that a search has reached.
struct KeyRange {
  uint64_t low;
  uint64_t high;
  uint64_t target;  // of the token within the range: the measure of tokens above is subtracted
  int count;        // upper bound of the tokens in it
  int count_above;  // tokens above it from the start of the search
};

// Bins of equal width in the keys.
struct KeyBins {
  uint64_t base;
  int shift;

  // For a range of more than one key. `order_shift`: bits below it identify the token only. While
  // values differ above it, a bin holds whole values.
  SAMPLER_HD static KeyBins of(const KeyRange &range, int order_shift) {
    const bool splits_values = range.low >> order_shift != range.high >> order_shift;
    KeyBins bins = {range.low, 0};
    if (splits_values) {
      bins.shift = order_shift;
      bins.base = range.low >> order_shift << order_shift;
    }
    while (((range.high - bins.base) >> bins.shift) >= uint64_t(kBins)) ++bins.shift;
    return bins;
  }

  SAMPLER_HD int bin(uint64_t key) const { return int((key - base) >> shift); }

  template <class Context>
  SAMPLER_DEVICE void narrow(Context &, int bin, KeyRange *range) const {
    const uint64_t low = base + (uint64_t(bin) << shift);
    const uint64_t size_minus_1 = (uint64_t(1) << shift) - 1;
    if (range->low < low) range->low = low;
    if (range->high - low > size_minus_1) range->high = low + size_minus_1;
  }
};

// Narrows a range to the values of a bin. Bin numbers must be monotone in the value.
template <class Context, class Bins>
SAMPLER_DEVICE void narrow_to_bin(Context &ctx, const Bins &bins, int bin, KeyRange *range) {
  const uint32_t first = uint32_t(range->low >> 32), last = uint32_t(range->high >> 32);
  const auto bin_of = [&](uint32_t value_key) { return bins.of_value_key(value_key); };
  const uint32_t begin =
      lowest_value_key(ctx, first, last, [&](uint32_t key) { return bin_of(key) >= bin; });
  if (begin > first) range->low = uint64_t(begin) << 32;
  if (bin_of(last) == bin) return;
  const uint32_t end =
      lowest_value_key(ctx, begin, last, [&](uint32_t key) { return bin_of(key) > bin; });
  range->high = (uint64_t(end) << 32) - 1;
}

// Bins around one value, which may be that of most tokens. Some have equal width in the keys; the
// others divide the keys' distances from the centre, equally many per power of two, so that the
// centre has a bin of its own and neighbours are resolved at every distance.
struct CentredBins {
  static constexpr int kDistances = 256;  // on each side
  static constexpr int kWidths = kBins - 2 * kDistances;

  uint32_t base;
  uint32_t centre;
  uint32_t width;
  int unused_bits;

  SAMPLER_HD static CentredBins of(const KeyRange &range, uint32_t centre, int unused_bits) {
    const uint32_t base = uint32_t(range.low >> 32), high = uint32_t(range.high >> 32);
    return {base, centre, (high - base) / uint32_t(kWidths - 1) + 1, unused_bits};
  }

  SAMPLER_HD int of_value_key(uint32_t key) const {
    const int of_width = int((key - base) / width);
    return of_width + (key < centre ? kDistances - 1 - of_distance(centre - key)
                                    : kDistances - 1 + of_distance(key - centre));
  }
  SAMPLER_HD int bin(uint64_t key) const { return of_value_key(uint32_t(key >> 32)); }

  template <class Context>
  SAMPLER_DEVICE void narrow(Context &ctx, int bin, KeyRange *range) const {
    narrow_to_bin(ctx, *this, bin, range);
  }

 private:
  // Bin in [0, kDistances), 0 for the centre: the leading bits of the distance as an f32.
  SAMPLER_HD int of_distance(uint32_t distance) const {
    const uint32_t steps = distance >> unused_bits;
    const int place = int(contract::bits_of(float(steps)) >> 20) - (127 << 3);
    return steps == 0 ? 0 : place < kDistances - 1 ? place + 1 : kDistances - 1;
  }
};

// Bins for weights. For logits they have equal width in the values, so equal ratios of weights and,
// for a model's row, about equally many tokens. For probabilities, and for logits too close or too
// far apart, they have equal width in the values' keys, which rise about as the logarithm. The
// first bins are one per lane, for tokens too light for any other.
struct WeightBins {
  static constexpr int kOwn = 32;

  float low;
  float bins_per_unit;  // per unit of value; 0: the keys are divided
  uint32_t low_key;
  int key_shift;

  SAMPLER_HD static WeightBins of(const KeyRange &range, int unused_bits, bool is_logits) {
    WeightBins bins;
    bins.low = RankOrder::value(range.low);
    bins.low_key = uint32_t(range.low >> 32);
    const uint32_t high_key = uint32_t(range.high >> 32);
    const float width = RankOrder::value(range.high) - bins.low;
    const bool divides_values = is_logits && width > 0x1p-60f && width < 0x1p60f;
    bins.bins_per_unit = divides_values ? float(kBins - 1 - kOwn) / width : 0.0f;
    bins.key_shift = unused_bits;
    while (bins.steps_to(high_key) >= uint32_t(kBins - kOwn)) ++bins.key_shift;
    return bins;
  }

  // Bin of a value in the range; monotone in the value.
  SAMPLER_HD int bin_of(float x) const {
    return divides_values() ? of_value(x) : of_key(contract::value_key(x));
  }

  // Whether the values are divided; then they are logits.
  SAMPLER_HD bool divides_values() const { return bins_per_unit > 0.0f; }

  // Finds the bins of a run's tokens, in any order. A token too light for a bin has a lane's own,
  // mostly this lane's; a value just below the lowest may share its bin.
  template <class Context>
  SAMPLER_DEVICE void find_by_value(Context &ctx, const float (&x)[kRun],
                                    uint32_t (&places)[kRun]) const {
    const float own = float(-1 - ctx.lane()) / bins_per_unit;
    for (int i = 0; i < kRun; ++i) {
      places[i] = contract::bits_of(shifted(Context::larger(x[i] - low, own)).shifted);
    }
  }
  template <class Context>
  SAMPLER_DEVICE void find_by_key(Context &ctx, const float (&x)[kRun],
                                  uint32_t (&places)[kRun]) const {
    for (int i = 0; i < kRun; ++i) {
      const int bin = x[i] >= low ? of_key(contract::value_key(x[i])) : ctx.lane();
      places[i] = uint32_t(bin - kOwn) + kPlaceOfLow;
    }
  }
  SAMPLER_HD static int bin_at(uint32_t place) { return int(place - kPlaceOfLow) + kOwn; }

  SAMPLER_HD int of_value_key(uint32_t key) const { return bin_of(contract::value_of_key(key)); }

  template <class Context>
  SAMPLER_DEVICE void narrow(Context &ctx, int bin, KeyRange *range) const {
    narrow_to_bin(ctx, *this, bin, range);
  }

 private:
  static constexpr uint32_t kPlaceOfLow = 0x4B400000;  // bits of a shifted 0

  SAMPLER_HD contract::ShiftedInteger shifted(float above_low) const {
    return {contract::fma32(above_low, bins_per_unit, contract::ShiftedInteger::kShift)};
  }
  SAMPLER_HD int of_value(float x) const { return kOwn + shifted(x - low).integer(); }
  SAMPLER_HD uint32_t steps_to(uint32_t value_key) const {
    return (value_key >> key_shift) - (low_key >> key_shift);
  }
  SAMPLER_HD int of_key(uint32_t value_key) const { return kOwn + int(steps_to(value_key)); }
};

constexpr int kNoBin = -1;
constexpr int kMaxTurns = 3;             // of lanes at one bin
constexpr int kMaxTurnsAtSum = 2;        // of two words, with turns for each
constexpr uint32_t kRoundsToALook = 32;  // of a warp between searches for a bin worth holding

// A bin in which a warp's tokens crowd. Each lane accumulates its part until another bin is held.
struct HeldBin {
  int bin = kNoBin;  // the same in all lanes
  uint32_t count = 0;
  uint64_t measure = 0;
};

// Adds what all lanes hold to the histogram. Called by the whole warp.
template <class Measure, class Context>
SAMPLER_DEVICE_CALL void add_held(Context &ctx, TeamShared &shared, HeldBin held) {
  constexpr bool kCounts = std::is_same_v<Measure, CountTokens>;
  if (held.bin == kNoBin) return;
  const uint64_t count = ctx.warp_inclusive_sum(held.count);
  const uint64_t measure = kCounts ? 0 : ctx.warp_inclusive_sum(held.measure);
  if (ctx.lane() != 31) return;
  Bin &bin = shared.bins[held.bin];
  ctx.add_to_shared(&bin.count, uint32_t(count));
  if (!kCounts) ctx.add_to_shared(&bin.measure, measure);
}

// Adds a number of each lane that is `in` to a sum in shared memory, the same for all of `lanes`.
// Called by the whole warp. For more than a few lanes, one calls `add` for all. `alike()`: lanes
// with the same number; if those are all, no sum is needed.
template <class Context, class Alike, class Add>
SAMPLER_DEVICE void add_in_few_turns(Context &ctx, bool in, uint32_t lanes, uint64_t number,
                                     const Alike &alike, const Add &add) {
  const int count = Context::count_bits(lanes);
  const bool is_first = in && Context::lowest_bit(lanes) == ctx.lane();
  const bool is_crowded = in && count > kMaxTurnsAtSum;
  uint64_t sum = number;
  if (ctx.ballot(is_crowded) != 0) {
    const bool are_alike = (lanes & ~alike()) == 0;
    if (is_crowded) sum = number * uint32_t(count);
    for (uint32_t left = ctx.ballot(is_first && is_crowded && !are_alike); left != 0;
         left &= left - 1) {
      const int first = Context::lowest_bit(left);
      const uint64_t all = ctx.warp_sum(in && ((lanes >> first) & 1) != 0 ? number : 0);
      if (ctx.lane() == first) sum = all;
    }
  }
  if (is_first || (in && !is_crowded)) add(sum);
}

// Adds a token of each lane that is `in` a bin to the histogram. Called by the whole warp. Tokens
// of one `value` have one measure, or 0 where they are not kept. Lanes with the same bin would
// serialise, possibly all 32: beyond a few, one lane adds for them. With `looks` returns a bin
// worth holding, that of most of these tokens, the same in all lanes.
template <class Measure, class Context>
SAMPLER_DEVICE_CALL int add_to_bins(Context &ctx, TeamShared &shared, bool in, int bin, float value,
                                    uint64_t measure, bool looks) {
  constexpr int kWorthHolding = 3;
  const uint32_t lanes = ctx.warp_match(uint32_t(in ? bin : kNoBin));
  const int count = Context::count_bits(lanes);
  if (!in && lanes == ~uint32_t(0)) return kNoBin;  // then no lane is
  const bool is_first = in && Context::lowest_bit(lanes) == ctx.lane();
  if (is_first) ctx.add_to_shared(&shared.bins[bin].count, uint32_t(count));
  if constexpr (!std::is_same_v<Measure, CountTokens>) {
    constexpr uint32_t kNotKept = ~uint32_t(0);  // the bits of no token's value
    const auto alike = [&] {
      return ctx.warp_match(measure == 0 ? kNotKept : contract::bits_of(value));
    };
    add_in_few_turns(ctx, in, lanes, measure, alike,
                     [&](uint64_t sum) { ctx.add_to_shared(&shared.bins[bin].measure, sum); });
  }
  if (!looks) return kNoBin;
  const int num_in = Context::count_bits(ctx.ballot(in));
  const uint32_t most = ctx.ballot(is_first && count >= kWorthHolding && 2 * count > num_in);
  return most == 0 ? kNoBin : int(ctx.warp_broadcast(uint64_t(bin), Context::lowest_bit(most)));
}

// The same, holding a bin in which the warp's tokens crowd.
template <class Measure, class Context>
SAMPLER_DEVICE_CALL HeldBin add_to_bins_or_hold(Context &ctx, TeamShared &shared, bool in, int bin,
                                                float value, uint64_t measure, bool looks,
                                                HeldBin held) {
  const bool is_held = in && bin == held.bin;
  held.count += is_held;
  held.measure += is_held ? measure : 0;
  const int next = add_to_bins<Measure>(ctx, shared, in && !is_held, bin, value, measure, looks);
  if (next == kNoBin) return held;
  add_held<Measure>(ctx, shared, held);
  return {next, 0, 0};
}

template <class Context>
SAMPLER_DEVICE void clear_bins(Context &ctx, TeamShared &shared) {
  for (int i = ctx.thread(); i < kBins; i += Context::kThreads) shared.bins[i] = {};
  ctx.sync();
}

// The measure to reach: a number, or the share of the weight that top-p keeps.
struct Target {
  bool is_share;
  contract::Share share;
  uint64_t number;

  SAMPLER_DEVICE uint64_t of(uint64_t total) const {
    const uint64_t target = is_share ? contract::top_p_threshold(share, total) : number;
    return target > 0 ? target : 1;
  }
};

// What a thread knows of its tokens: the highest key, and the complement of the lowest, of those in
// bins; the weight of those in none.
struct BinnedKeys {
  uint64_t highest = 0;
  uint64_t lowest_upside_down = 0;
  uint64_t in_no_bin = 0;
};

// The bin in which a search continues.
struct FoundBin {
  bool is_reached;
  int bin;
  uint64_t target;  // of the whole search
  uint64_t highest;
  uint64_t lowest;

  template <class Context, class Bins>
  SAMPLER_DEVICE void narrow(Context &ctx, const Bins &bins, KeyRange *range) const {
    bins.narrow(ctx, bin, range);
    // If all values are close or equal, the next bins need not cover empty ranges.
    if (range->high > highest) range->high = highest;
    if (range->low < lowest) range->low = lowest;
  }
};

// Ends a histogram: finds the bin in which the running measure, from the highest key down, reaches
// its target. `counts`: the measure is the number of tokens. Each token was added with `bias`. If
// the bins together do not reach the target, sets the range's count.
template <class Context>
SAMPLER_DEVICE_CALL FoundBin find_bin(Team<Context> &team, bool counts, const Target &wanted,
                                      const BinnedKeys &own_keys, uint64_t bias, KeyRange *range) {
  Context &ctx = team.ctx;
  TeamShared &shared = team.shared;
  ctx.team_sync();

  // Each block sums a part of the team's bins, each thread some consecutive ones, from the highest
  // bin down.
  const Part own =
      Part{0, kBins}.of(ctx.cluster_rank(), ctx.team_size()).of(ctx.thread(), Context::kThreads);
  const auto team_count = [&](int i) {
    uint64_t sum = 0;
    for (int rank = 0; rank < ctx.team_size(); ++rank) {
      sum += ctx.peer(&shared.bins[kBins - 1 - i], rank)->count;
    }
    return sum;
  };
  const auto team_measure = [&](int i) {
    if (counts) return team_count(i);
    uint64_t sum = 0;
    for (int rank = 0; rank < ctx.team_size(); ++rank) {
      sum += ctx.peer(&shared.bins[kBins - 1 - i], rank)->measure.value();
    }
    return sum - bias * team_count(i);
  };
  uint64_t own_sum = 0, own_count = 0;
  for (int i = own.begin; i < own.end; ++i) {
    own_sum += team_measure(i);
    own_count += team_count(i);
  }
  uint64_t block_sum, block_count;
  uint64_t above = ctx.block_exclusive_sum(own_sum, &block_sum);
  uint64_t count_above = ctx.block_exclusive_sum(own_count, &block_count);
  const uint64_t values[] = {block_sum, block_count, ctx.block_max(own_keys.highest),
                             ctx.block_max(own_keys.lowest_upside_down),
                             ctx.block_sum(own_keys.in_no_bin)};
  const Exchanged all = team.exchange(values);
  above += all.sum_before(0, ctx.cluster_rank());
  count_above += all.sum_before(1, ctx.cluster_rank());
  const uint64_t target = wanted.of(all.sum(0) + all.sum(4));
  const bool is_reached = all.sum(0) >= target;
  if (above < target && above + own_sum >= target) {
    int i = own.begin;
    for (uint64_t next = team_measure(i); above + next < target; next = team_measure(++i)) {
      above += next;
      count_above += team_count(i);
    }
    const uint64_t found[] = {uint64_t(kBins - 1 - i), above, team_count(i), count_above};
    for (int rank = 0; rank < ctx.team_size(); ++rank) {
      for (int j = 0; j < 4; ++j) *ctx.peer(&shared.found[j], rank) = found[j];
    }
  }
  ctx.team_sync();  // after it nobody reads the bins
  const FoundBin result = {is_reached, int(shared.found[0]), target, all.max(2), ~all.max(3)};
  if (!is_reached) {
    range->count = int(all.sum(1));
    return result;
  }
  range->target = target - shared.found[1];
  range->count = int(shared.found[2]);
  range->count_above += int(shared.found[3]);
  return result;
}

// A row whose tokens are another's group maxima.
template <class Row>
struct GroupMaxima {
  const Row &row;
};

template <class Order, class Row, class F>
SAMPLER_DEVICE void for_each_key(const Row &row, uint64_t low, uint64_t high, const F &f) {
  row.template for_each_between<Order>(low, high, kNoLastIndex, f);
}
template <class Order, class Row, class F>
SAMPLER_DEVICE void for_each_key(const GroupMaxima<Row> &maxima, uint64_t low, uint64_t high,
                                 const F &f) {
  maxima.row.for_each_maximum(low, high, f);
}

// Narrows a range to the bin in which the running measure, from the highest key down, reaches its
// target. If the whole range does not reach it, returns false and sets the range's count. Destroys
// the list.
template <class Order, class Context, class Row, class Measure, class Bins>
SAMPLER_DEVICE_CALL bool narrow(Team<Context> &team, const Row &row, const Measure &measure,
                                const Bins &bins, KeyRange *range) {
  constexpr bool kCounts = std::is_same_v<Measure, CountTokens>;
  Context &ctx = team.ctx;
  TeamShared &shared = team.shared;
  clear_bins(ctx, shared);
  BinnedKeys keys;
  HeldBin held;
  uint32_t num_rounds = 0;
  for_each_key<Order>(row, range->low, range->high, [&](bool in, uint64_t key) {
    if (in && key > keys.highest) keys.highest = key;
    if (in && ~key > keys.lowest_upside_down) keys.lowest_upside_down = ~key;
    const uint64_t own = in && !kCounts ? measure(key) : 0;
    const bool looks = num_rounds++ % kRoundsToALook == 0;
    held = add_to_bins_or_hold<Measure>(ctx, shared, in, in ? bins.bin(key) : kNoBin,
                                        Order::value(key), own, looks, held);
    return true;
  });
  add_held<Measure>(ctx, shared, held);
  const FoundBin found = find_bin(team, kCounts, {false, {}, range->target}, keys, 0, range);
  if (found.is_reached) found.narrow(ctx, bins, range);
  return found.is_reached;
}

constexpr uint32_t kNoId = ~uint32_t(0);

// Id of the element at which the running sum of measure(value, id), by ascending index over the
// row, first exceeds `target`; kNoId if it never does. `warp_sum`, in all lanes, is that of the
// warp's part; `tile_sums` and `low` as for find_in_warp. In every thread of the team. Not for rows
// with ids.
template <class Context, class Row, class Measure>
SAMPLER_DEVICE_CALL uint32_t find_in_row(Team<Context> &team, const Row &row, uint64_t warp_sum,
                                         uint64_t target, const uint64_t *tile_sums, float low,
                                         const Measure &measure) {
  Context &ctx = team.ctx;
  uint64_t block_sum;
  const uint64_t before_warp = ctx.block_exclusive_sum(ctx.lane() == 0 ? warp_sum : 0, &block_sum);
  const uint64_t block_values[] = {block_sum};
  const uint64_t before_block = team.exchange(block_values).sum_before(0, ctx.cluster_rank());
  // Lane 0's sum excludes this warp; the other lanes' already include it.
  const uint64_t before = before_block + ctx.warp_broadcast(before_warp, 0);
  const int found = row.find_in_warp(target - before, warp_sum, tile_sums, low, measure);
  return uint32_t(team.max(uint64_t(found + 1)) - 1);
}

// A key in a range of ranks around which tokens may crowd: the value of a quarter of the tokens
// that the leader's first warp reads first, or the one nearest to 0.
template <class Context, class Row>
SAMPLER_DEVICE_CALL uint32_t centre_of(Team<Context> &team, const Row &row, const KeyRange &range) {
  Context &ctx = team.ctx;
  uint64_t centre = 0;
  bool is_first = true;
  if (team.is_leader() && ctx.warp() == 0) {
    row.template for_each_between<RankOrder>(
        range.low, range.high, kNoLastIndex, [&](bool wanted, uint64_t key) {
          const uint32_t lanes = ctx.ballot(wanted);
          if (!is_first || lanes == 0) return is_first;
          const uint32_t same = ctx.warp_match(wanted ? uint32_t(key >> 32) : 0);
          const uint32_t count = wanted ? uint32_t(Context::count_bits(same)) : 0;
          const uint32_t most = ctx.warp_max(count << 5 | uint32_t(ctx.lane()));
          const bool are_many = 4 * (most >> 5) >= uint32_t(Context::count_bits(lanes));
          if (are_many) centre = ctx.warp_broadcast(key, int(most & 31));
          return is_first = false;
        });
  }
  centre = team.broadcast(centre, 0);
  if (centre == 0) centre = uint64_t(contract::value_key(0.0f)) << 32;
  if (centre < range.low) centre = range.low;
  if (centre > range.high) centre = range.high;
  return uint32_t(centre >> 32);
}

// A search for the token at which the running measure over the keys in [low, high], from the
// highest down, reaches the target.
struct Search {
  uint64_t low;
  uint64_t high;
  uint64_t target;       // > 0
  int limit;             // most tokens to list, at most kListCapacity
  bool any_tie = false;  // any token of the right value will do
  int enough = 0;        // unless 0: lists this many tokens before the target instead
};

// The result of a search.
struct Selected {
  uint64_t key;    // of the token; the lowest searched if the target is not reached
  uint64_t floor;  // the leader's list, if any, has all searched keys from here up
  int listed;      // number of listed tokens; -1: no list
  bool is_reached = true;
  int count = 0;  // if not: number of tokens searched
};

// Empties the team's bitmap of ids. A barrier of the team.
template <class Context>
SAMPLER_DEVICE void clear_bitmap(Team<Context> &team) {
  Context &ctx = team.ctx;
  const int num_threads = ctx.team_size() * Context::kThreads;
  for (int i = ctx.cluster_rank() * Context::kThreads + ctx.thread(); i < int(kIdWords);
       i += num_threads) {
    team.bitmap[i] = 0;
  }
  ctx.team_sync();
}

// Marks an id; returns whether it was marked before.
template <class Context>
SAMPLER_DEVICE bool mark(Team<Context> &team, uint32_t id) {
  const uint32_t bit = uint32_t(1) << (id % 32);
  return (team.ctx.atomic_or(&team.bitmap[id / 32], bit) & bit) != 0;
}

// The `n`-th candidate, from 1, of a range of ranks with a single value, ordered by the bitmap of
// ids; kNoId if there are fewer. Adds it and those before it to the list, if that is open.
template <class Context, class Row>
SAMPLER_DEVICE_CALL uint32_t find_tied_candidate(Team<Context> &team, const Row &row,
                                                 const KeyRange &range, uint64_t n, bool lists) {
  Context &ctx = team.ctx;
  const auto word = [&team](int i) { return word_of_bitmap(team.ctx, team.bitmap, i); };
  clear_bitmap(team);
  row.template for_each_between<RankOrder>(range.low, range.high, kNoLastIndex,
                                           [&](bool is_in, uint64_t key) {
                                             if (is_in) mark(team, contract::id_of_rank(key));
                                             return true;
                                           });
  ctx.team_sync();
  const Part own = Part{0, int(kIdWords)}
                       .of(ctx.cluster_rank(), ctx.team_size())
                       .of(ctx.thread(), Context::kThreads);
  uint64_t own_count = 0;
  for (int i = own.begin; i < own.end; ++i) own_count += uint64_t(Context::count_bits(word(i)));
  uint64_t block_count;
  uint64_t before = ctx.block_exclusive_sum(own_count, &block_count);
  const uint64_t counts[] = {block_count};
  before += team.exchange(counts).sum_before(0, ctx.cluster_rank());
  uint64_t found = 0;  // id + 1
  if (before < n && before + own_count >= n) {
    int i = own.begin;
    uint32_t left = word(i);
    for (; before + uint64_t(Context::count_bits(left)) < n; left = word(++i)) {
      before += uint64_t(Context::count_bits(left));
    }
    for (; before + 1 < n; ++before) left &= left - 1;
    found = uint64_t(32 * i + Context::lowest_bit(left) + 1);
  }
  found = team.max(found);
  if (found == 0) return kNoId;
  const uint32_t last = uint32_t(found - 1);
  if (!lists) return last;
  uint64_t *list = ctx.peer(&team.shared.list[0], 0);
  uint32_t *list_count = ctx.peer(&team.shared.list_count, 0);
  const int num_warps = ctx.team_size() * Context::kThreads / 32;
  const int first_warp = ctx.cluster_rank() * Context::kThreads / 32 + ctx.warp();
  for (int first = 32 * first_warp; first <= int(last / 32); first += 32 * num_warps) {
    const int i = first + ctx.lane();
    uint32_t left = i <= int(last / 32) ? word(i) : 0;
    if (i == int(last / 32)) left &= (uint32_t(2) << (last % 32)) - 1;
    while (ctx.ballot(left != 0) != 0) {
      const uint32_t id = left != 0 ? uint32_t(32 * i + Context::lowest_bit(left)) : 0;
      append(ctx, list, list_count, uint32_t(kListCapacity), left != 0,
             range.high >> 32 << 32 | uint32_t(~id));
      left &= left - 1;
    }
  }
  return last;
}

// Ends a search at the `n`-th token, from 1, of a range with a single value: in the order of the
// row or, for candidates, of the bitmap. Lists it and all searched before it if the search may list
// that many. `has_above`: the list already has those above the range.
template <class Context, class Row>
SAMPLER_DEVICE_CALL Selected select_among_ties(Team<Context> &team, const Row &row,
                                               const Search &search, const KeyRange &range,
                                               uint64_t n, bool has_above = false) {
  const auto is_tie = [&range](float x, uint32_t id) {
    const Rank rank = contract::rank_of(x, id);
    return uint64_t(range.low <= rank && rank <= range.high);
  };
  const bool lists = uint64_t(range.count_above) + n <= uint64_t(search.limit);
  if (lists && !has_above) {
    open_list(team);
    if (range.high < search.high) {
      add_to_list<RankOrder>(team, row, range.high + 1, search.high, kListCapacity, kNoLastIndex);
    }
  }
  if (row.source().ids) {
    const uint32_t id = find_tied_candidate(team, row, range, n, lists);
    if (id == kNoId) return {search.low, 0, -1};
    const Rank last = range.high >> 32 << 32 | uint32_t(~id);
    return lists ? Selected{last, last, close_list(team, kListCapacity)} : Selected{last, 0, -1};
  }
  // A warp stops counting at n.
  uint32_t count = 0;
  row.template for_each_between<RankOrder>(
      range.low, range.high, kNoLastIndex, [&](bool is_in, uint64_t) {
        count += uint32_t(Context::count_bits(team.ctx.ballot(is_in)));
        return count < n;
      });
  const uint32_t id =
      find_in_row(team, row, count, n - 1, nullptr, RankOrder::value(range.low), is_tie);
  if (id == kNoId) return {search.low, 0, -1};
  const Rank last = range.high >> 32 << 32 | uint32_t(~id);
  if (!lists) return {last, 0, -1};
  add_to_list<RankOrder>(team, row, last, range.high, kListCapacity, int(id));
  return {last, last, close_list(team, kListCapacity)};
}

// Shrinks a range of ranks to the values that the row's type has: the lowest bits of their keys are
// zeros, or ones for negative values.
SAMPLER_HD inline void leave_out_unused(KeyRange *range, int unused_bits) {
  const uint32_t unused = (uint32_t(1) << unused_bits) - 1;
  uint32_t low = uint32_t(range->low >> 32), high = uint32_t(range->high >> 32);
  low = (low & contract::kSignBit) ? (low + unused) & ~unused : low | unused;
  high = (high & contract::kSignBit) ? high & ~unused : ((high + 1) & ~unused) - 1;
  if (low == contract::value_key(0.0f) - 1) ++low;  // key of -0, which ranks as 0
  if (low != uint32_t(range->low >> 32)) range->low = uint64_t(low) << 32;
  if (high != uint32_t(range->high >> 32)) range->high = uint64_t(high) << 32 | ~uint32_t(0);
}

// Continues a search from a range. Destroys the list. State between passes stays in memory: passes
// need the registers.
template <class Order, class Context, class Row, class Measure>
SAMPLER_DEVICE_CALL Selected select_key_in(Team<Context> &team, const Row &row,
                                           const Search &search, KeyRange range,
                                           [[maybe_unused]] bool is_narrowed,
                                           const Measure &measure) {
  constexpr bool kIsRanked = std::is_same_v<Order, RankOrder>;
  int limit = search.limit;
  const auto has_enough = [&] { return search.enough > 0 && range.count_above >= search.enough; };
  while (range.count > limit && !has_enough()) {
    if constexpr (kIsRanked) {
      leave_out_unused(&range, Order::unused_bits(row));
      const uint64_t value = range.high >> 32 << 32;
      if (range.low >= value) {  // it is the only value: ids decide
        if (search.any_tie && is_narrowed) return {range.high, 0, -1};
        if (row.source().ids && row.count() <= kListCapacity) {
          limit = kListCapacity;
          break;
        }
        const uint64_t each = measure(range.high);
        return select_among_ties(team, row, search, range, (range.target + each - 1) / each);
      }
    }
    const KeyBins bins = KeyBins::of(range, 32 + Order::unused_bits(row));
    const bool is_reached = narrow<Order>(team, row, measure, bins, &range);
    if (!is_reached) return {search.low, 0, -1, false, range.count_above + range.count};
    if constexpr (kIsRanked) is_narrowed = true;
  }

  if (has_enough()) range.low = range.high + 1, range.count = 0;
  const bool lists_all = range.count_above + range.count <= limit;
  const int count = make_list<Order>(team, row, range.low, lists_all ? search.high : range.high);
  uint64_t key = search.low;
  bool is_reached = false;
  if (team.is_leader()) {
    const int index = find_in_list(team.ctx, team.shared, team.shared.list, count,
                                   lists_all ? search.target : range.target, measure);
    is_reached = index < count;
    if (is_reached) key = team.shared.list[index];
  }
  const uint64_t values[] = {key, uint64_t(is_reached)};
  const Exchanged found = team.exchange(values);
  return {found.of(0, 0), range.low, lists_all ? count : -1, found.of(1, 0) != 0,
          range.count_above + count};
}

// The same from the start.
template <class Order, class Context, class Row, class Measure>
SAMPLER_DEVICE Selected select_key(Team<Context> &team, const Row &row, const Search &search,
                                   const Measure &measure) {
  const KeyRange range = {search.low, search.high, search.target, row.count(), 0};
  return select_key_in<Order>(team, row, search, range, false, measure);
}

// A range that holds the n-th largest group maximum: of one value, or such that at most 9/8 n
// groups reach its lowest. At least n groups must have a maximum in [low, high].
template <class Context, class Row>
SAMPLER_DEVICE KeyRange find_nth_maximum(Team<Context> &team, const Row &row, Rank low, Rank high,
                                         int n) {
  const int unused_bits = RankOrder::unused_bits(row);
  KeyRange range = {low, high | ~uint32_t(0), uint64_t(n), row.num_groups(), 0};
  while (range.count_above + range.count > n + n / 8) {
    leave_out_unused(&range, unused_bits);
    if (range.low >= contract::cut_with_ties(range.high)) break;
    narrow<RankOrder>(team, GroupMaxima<Row>{row}, CountTokens(),
                      KeyBins::of(range, 32 + unused_bits), &range);
  }
  return range;
}

// With one group in this many, every fourth tile of the row may have a token of the search.
constexpr int kManyGroups = 4 * 32;

// The list's k-th token, in every thread of the team.
template <class Context>
SAMPLER_DEVICE Rank kth_of_list(Team<Context> &team, int k) {
  return team.broadcast(team.is_leader() ? team.shared.list[k - 1] : 0, 0);
}

// Continues the search for the k-th token, known to have the value of `ties` or to lie above it,
// where `num_groups` groups hold tokens. Lists all tokens above, unless more than enough are; if
// that may be, and many groups would be read in vain, a histogram counts them first.
template <class Context, class Row>
SAMPLER_DEVICE Selected select_to_ties(Team<Context> &team, const Row &row, const Search &search,
                                       KeyRange ties, int num_groups) {
  const int k = int(search.target);
  bool has_above = false;
  Search above = search;
  above.low = ties.high + 1;
  if (above.low <= search.high) {
    const bool may_be_too_many = num_groups > search.limit / kGroup;
    const bool are_many_groups = num_groups > row.num_groups() / kManyGroups;
    has_above = !may_be_too_many || !are_many_groups;
    if (has_above) {
      const int count = make_list<RankOrder>(team, row, above.low, search.high, search.limit);
      if (count >= k) return {kth_of_list(team, k), above.low, count};
      has_above = count >= 0;
      ties.count_above = count;
    }
    if (!has_above) {
      KeyRange range = {above.low, above.high, above.target, row.count(), 0};
      const CentredBins bins =
          CentredBins::of(range, centre_of(team, row, range), RankOrder::unused_bits(row));
      if (narrow<RankOrder>(team, row, CountTokens(), bins, &range)) {
        return select_key_in<RankOrder>(team, row, above, range, true, CountTokens());
      }
      ties.count_above = range.count;
    }
  }
  ties.target = uint64_t(k - ties.count_above);
  if (search.any_tie || (row.source().ids && row.count() <= kListCapacity)) {
    if (has_above) team.ctx.team_sync();  // all have read the count before another list is opened
    return select_key_in<RankOrder>(team, row, search, ties, true, CountTokens());
  }
  return select_among_ties(team, row, search, ties, ties.target, has_above);
}

// Searches for a row's k-th token by groups: the k-th largest maximum is a lower bound. Fewer than
// k groups hold tokens above it; those equal to it are ordered by id.
template <class Context, class Row>
SAMPLER_DEVICE_CALL Selected select_by_maxima(Team<Context> &team, const Row &row,
                                              const Search &search) {
  const KeyRange maximum = find_nth_maximum(team, row, search.low, search.high, int(search.target));
  const Rank lowest_tie = contract::cut_with_ties(maximum.low);
  const Rank low = lowest_tie > search.low ? lowest_tie : search.low;
  const Rank highest_tie = maximum.high | ~uint32_t(0);
  if (contract::cut_with_ties(low) != contract::cut_with_ties(highest_tie)) {
    Search few = search;
    few.low = low;
    return select_key<RankOrder>(team, row, few, CountTokens());
  }
  const KeyRange ties = {low, highest_tie, search.target, row.count(), 0};
  return select_to_ties(team, row, search, ties, maximum.count_above);
}

// Searches for a row's k-th token, where at least k threads' largest values reach `search.low`. In
// most rows few tokens do.
template <class Context, class Row>
SAMPLER_DEVICE Selected select_top(Team<Context> &team, const Row &row, const Search &search) {
  if (!row.source().ids) {
    const int count = try_list(team, row, search.low, search.high, search.limit);
    if (count >= 0) return {kth_of_list(team, int(search.target)), search.low, count};
  }
  if (!row.has_maxima()) return select_key<RankOrder>(team, row, search, CountTokens());
  return select_by_maxima(team, row, search);
}

}  // namespace sampler::kernels
