// The first tokens of a row, listed in a block's shared memory: sorted, summed, cut by filters.
#pragma once

#include <cstdint>

#include "contract/filters.h"
#include "contract/rank.h"
#include "contract/weight.h"
#include "machine/device.cuh"
#include "stream/stream.h"

namespace sampler::kernels {

using contract::Rank;

// Counters below 2^16, two per register.
template <int kCount>
struct Halves {
  uint32_t words[(kCount + 1) / 2] = {};

  SAMPLER_DEVICE void set(int i, uint32_t number) {
    const uint32_t other = words[i / 2] & (i % 2 == 0 ? 0xFFFF0000u : 0xFFFFu);
    words[i / 2] = other | number << (i % 2 * 16);
  }
  SAMPLER_DEVICE uint32_t get(int i) const { return words[i / 2] >> (i % 2 * 16) & 0xFFFFu; }
};

// Shared: a struct with `row`, a StreamedList of `num_listed` tokens, and `partial`. All functions
// are called by the whole block.
template <class Context, class Shared>
class RankedList {
 public:
  SAMPLER_DEVICE RankedList(const Context &context, Shared &block_shared)
      : ctx(context), shared(block_shared) {}

  static constexpr int kWarps = Context::kWarps;
  static constexpr int kBinsOfThread = kStreamedTokens / Context::kThreads;

  // Sum of the warps' values, from their lanes 0. One barrier; `turn` must alternate.
  SAMPLER_DEVICE uint64_t sum_of_warps(uint64_t value, int turn) const {
    if (ctx.lane() == 0) shared.partial[turn & 1][ctx.warp()] = value;
    ctx.sync();
    uint64_t sum = 0;
    SAMPLER_UNROLLED
    for (int i = 0; i < kWarps; ++i) sum += shared.partial[turn & 1][i];
    return sum;
  }
  // Sum of the values of the threads before this one; *all: of all threads. One barrier.
  SAMPLER_DEVICE uint64_t sum_before(uint64_t own, int turn, uint64_t *all) const {
    const uint64_t up_to = ctx.warp_inclusive_sum(own);
    if (ctx.lane() == 31) shared.partial[turn & 1][ctx.warp()] = up_to;
    ctx.sync();
    uint64_t before = up_to - own, sum = 0;
    SAMPLER_UNROLLED
    for (int i = 0; i < kWarps; ++i) {
      before += i < ctx.warp() ? shared.partial[turn & 1][i] : 0;
      sum += shared.partial[turn & 1][i];
    }
    *all = sum;
    return before;
  }
  // Sum of the values of a warp's lanes.
  SAMPLER_DEVICE uint64_t sum_of_lanes(uint64_t own) const {
    return (ctx.warp_sum(own >> 32) << 32) + ctx.warp_sum(uint32_t(own));
  }
  // Sum of the threads' values.
  SAMPLER_DEVICE uint64_t sum_of_threads(uint64_t own, int turn) const {
    return sum_of_warps(sum_of_lanes(own), turn);
  }
  // Sum of the threads' counts.
  SAMPLER_DEVICE uint64_t sum_of_counts(uint32_t count, int turn) const {
    return sum_of_warps(ctx.warp_sum(count), turn);
  }
  // Sum of the weights of the threads' parts of the list.
  SAMPLER_DEVICE uint64_t sum_of_weights(uint64_t weight, int turn) const {
    if constexpr (kBinsOfThread <= 16) {
      return sum_of_warps(ctx.warp_sum(weight), turn);  // below 2^49
    } else {
      return sum_of_threads(weight, turn);
    }
  }

  // Finds `target` in the lanes' numbers in order: the lane at which the running sum exceeds it, 32
  // if none; *target becomes the rest there. Called by a warp.
  SAMPLER_DEVICE int find(uint64_t own, uint64_t *target) const {
    const uint64_t up_to = ctx.warp_inclusive_sum(own);
    const uint32_t above = ctx.ballot(up_to > *target);
    const int lane = above != 0 ? Context::lowest_bit(above) : 32;
    *target -= above != 0 ? ctx.warp_broadcast(up_to - own, lane) : ctx.warp_broadcast(up_to, 31);
    return lane;
  }

  // The largest key in the block. One barrier.
  SAMPLER_DEVICE uint32_t max_of_block(uint32_t key) const {
    key = ctx.warp_max(key);
    if (ctx.lane() == 0) shared.partial[0][ctx.warp()] = key;
    ctx.sync();
    uint32_t max = 0;
    SAMPLER_UNROLLED
    for (int i = 0; i < kWarps; ++i) {
      const uint32_t other = uint32_t(shared.partial[0][i]);
      if (other > max) max = other;
    }
    return max;
  }

  // The key of the lowest value that min-p keeps; weights are monotone in the value. Each thread
  // tries one value per round.
  SAMPLER_DEVICE uint32_t lowest_weighed(const contract::RowScale &scale, uint32_t max_key,
                                         float min_p) const {
    const uint64_t least =
        contract::min_p_threshold(min_p, contract::weight(scale, contract::value_of_key(max_key)));
    return lowest_with(contract::key_of_rank(contract::lowest_cut(scale.kind)), max_key,
                       [&](float x) { return contract::weight(scale, x) >= least; });
  }
  // The lowest of the keys [key, max_key] for whose value `holds` is true, as for all above it.
  template <class Holds>
  SAMPLER_DEVICE uint32_t lowest_with(uint32_t key, uint32_t max_key, const Holds &holds) const {
    for (uint32_t range = max_key - key + 1; range > 1;) {
      // Keys [key, key + range) include the lowest.
      const uint32_t step = (range + uint32_t(Context::kThreads) - 1) / uint32_t(Context::kThreads);
      const uint64_t own = uint64_t(step) * uint64_t(ctx.thread() + 1) - 1;  // its step's last
      const bool is_below = own < range && !holds(contract::value_of_key(key + uint32_t(own)));
      const uint32_t below = ctx.block_count(is_below);
      key += below * step;
      range = range - below * step < step ? range - below * step : step;
    }
    return key;
  }

  // The largest of 2^20 evenly spaced keys that at least `wanted` of the block's reach; 0 if fewer
  // do. Finds two bits at a time, by three counts of 16 bits each.
  template <int kCount>
  SAMPLER_DEVICE uint32_t nth_largest(const uint32_t (&keys)[kCount], int wanted) const {
    uint32_t key = 0;
    SAMPLER_KEEP_ROLLED
    for (int shift = 30; shift >= 12; shift -= 2) {
      const uint32_t step = uint32_t(1) << shift;
      uint32_t reached_1 = 0, reached_2 = 0, reached_3 = 0;
      SAMPLER_UNROLLED
      for (int i = 0; i < kCount; ++i) {
        reached_1 += keys[i] >= key + step ? 1 : 0;
        reached_2 += keys[i] >= key + 2 * step ? 1 : 0;
        reached_3 += keys[i] >= key + 3 * step ? 1 : 0;
      }
      const uint64_t packed = uint64_t(reached_3) << 32 | reached_2 << 16 | reached_1;
      const uint64_t reached = sum_of_warps(ctx.warp_sum(packed), shift / 2);
      const uint32_t least = uint32_t(wanted);
      const uint32_t steps = uint32_t(reached >> 32) >= least         ? 3
                             : (uint32_t(reached) >> 16) >= least     ? 2
                             : (uint32_t(reached) & 0xFFFFu) >= least ? 1
                                                                      : 0;
      key += steps * step;
    }
    return key;
  }

  // Reserves places in a list for this thread's entries; returns the first.
  SAMPLER_DEVICE uint32_t reserve(uint32_t *num_taken, uint32_t own) const {
    const uint64_t up_to = ctx.warp_inclusive_sum(own);
    uint64_t begin = 0;
    if (ctx.lane() == 31 && up_to != 0) begin = ctx.atomic_add(num_taken, uint32_t(up_to));
    return uint32_t(ctx.warp_broadcast(begin, 31) + up_to) - own;
  }

  SAMPLER_DEVICE int count() const { return int(shared.num_listed); }

  // Sorts the list, whose values lie between these, into rank order. `by_octave`: they are
  // positive, and spread evenly by their logarithms.
  SAMPLER_DEVICE void sort(float first, float least, bool by_octave = false) const {
    if (count() <= Context::kThreads) return sort_few();
    if (!sort_by_bins(first, least, by_octave)) sort_many();
  }
  // The same in less code, which takes longer for many tokens.
  SAMPLER_DEVICE void sort() const {
    if (count() <= Context::kThreads) return sort_few();
    sort_many();
  }

 private:
  SAMPLER_DEVICE void sort_few() const {
    const Rank own = ctx.thread() < count() ? shared.row.list[ctx.thread()] : 0;
    int before = 0;
    for (int i = 0; i < count(); ++i) before += shared.row.list[i] > own ? 1 : 0;
    ctx.sync();
    if (ctx.thread() < count()) shared.row.list[before] = own;
    ctx.sync();
  }

  SAMPLER_DEVICE void sort_many() const {
    int size = Context::kThreads;  // bitonic, a power of two
    SAMPLER_KEEP_ROLLED
    while (size < count()) size *= 2;
    SAMPLER_KEEP_ROLLED
    for (int i = count() + ctx.thread(); i < size; i += Context::kThreads) shared.row.list[i] = 0;
    ctx.sync();
    SAMPLER_KEEP_ROLLED
    for (int run = 2; run <= size; run *= 2) {
      SAMPLER_KEEP_ROLLED
      for (int step = run / 2; step > 0; step /= 2) {
        SAMPLER_KEEP_ROLLED
        for (int i = ctx.thread(); i < size / 2; i += Context::kThreads) {
          const int low = 2 * i - (i & (step - 1)), high = low + step;
          const Rank a = shared.row.list[low], b = shared.row.list[high];
          if ((a < b) == ((low & run) == 0)) {
            shared.row.list[low] = b;
            shared.row.list[high] = a;
          }
        }
        ctx.sync();
      }
    }
  }

  // Distributes the list to bins by value that one or two threads can sort. False, with nothing
  // changed: a bin is too full.
  SAMPLER_DEVICE bool sort_by_bins(float first, float least, bool by_octave) const {
    constexpr int kMostInBin = 48;
    uint32_t *const begins = shared.row.bins.keys;  // first the bins' sizes
    const auto measure = [&](float x) { return by_octave ? float(contract::bits_of(x)) : x; };
    const float most = measure(first);
    const float bins_of_unit = float(kStreamedTokens - 1) / (most - measure(least));
    const auto bin_of = [&](Rank rank) {
      const float place = (most - measure(contract::value_of_rank(rank))) * bins_of_unit;
      return place < float(kStreamedTokens - 1) ? int(place) : kStreamedTokens - 1;
    };
    Rank own[kBinsOfThread];
    Halves<kBinsOfThread> places;
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < kStreamedTokens; i += Context::kThreads) begins[i] = 0;
    ctx.sync();
    SAMPLER_UNROLLED
    for (int i = 0; i < kBinsOfThread; ++i) {
      const int at = i * Context::kThreads + ctx.thread();
      own[i] = at < count() ? shared.row.list[at] : 0;
      places.set(i, at < count() ? ctx.atomic_add(&begins[bin_of(own[i])], uint32_t(1)) : 0);
    }
    ctx.sync();
    uint32_t largest_bin = 0, sum = 0;
    SAMPLER_KEEP_ROLLED
    for (int i = 0; i < kBinsOfThread; ++i) {
      uint32_t &entry = begins[ctx.thread() * kBinsOfThread + i];
      const uint32_t size = entry;
      if (size > largest_bin) largest_bin = size;
      entry = sum;
      sum += size;
    }
    largest_bin = max_of_block(largest_bin);
    if (largest_bin > kMostInBin) return false;
    uint64_t all;
    const uint32_t before = uint32_t(sum_before(sum, 1, &all));
    SAMPLER_KEEP_ROLLED
    for (int i = 0; i < kBinsOfThread; ++i) begins[ctx.thread() * kBinsOfThread + i] += before;
    ctx.sync();
    SAMPLER_UNROLLED
    for (int i = 0; i < kBinsOfThread; ++i) {
      if (own[i] != 0) shared.row.list[begins[bin_of(own[i])] + places.get(i)] = own[i];
    }
    ctx.sync();
    SAMPLER_UNROLLED
    for (int i = 0; i < kBinsOfThread; ++i) {
      if (own[i] == 0) continue;
      const int bin = bin_of(own[i]);
      const uint32_t end = bin + 1 < kStreamedTokens ? begins[bin + 1] : uint32_t(count());
      uint32_t place = begins[bin];
      SAMPLER_KEEP_ROLLED
      for (uint32_t j = begins[bin]; j < end; ++j) place += shared.row.list[j] > own[i] ? 1 : 0;
      places.set(i, place);
    }
    ctx.sync();
    SAMPLER_UNROLLED
    for (int i = 0; i < kBinsOfThread; ++i) {
      if (own[i] != 0) shared.row.list[places.get(i)] = own[i];
    }
    ctx.sync();
    return true;
  }

 public:
  // Computes the list's running weights.
  SAMPLER_DEVICE void add_up(const contract::RowScale &scale) const {
    add_up_by([&](int i) {
      return contract::weight(scale, contract::value_of_rank(shared.row.list[i]));
    });
  }
  template <class WeightAt>
  SAMPLER_DEVICE void add_up_by(const WeightAt &weight_at) const {
    const int each = (count() + Context::kThreads - 1) / Context::kThreads;
    const int first = ctx.thread() * each;
    uint64_t own = 0;
    SAMPLER_KEEP_ROLLED
    for (int i = first; i < first + each && i < count(); ++i) {
      own += weight_at(i);
      shared.row.sums[i] = own;
    }
    uint64_t all;
    const uint64_t before = sum_before(own, 0, &all);
    SAMPLER_KEEP_ROLLED
    for (int i = first; i < first + each && i < count(); ++i) shared.row.sums[i] += before;
    ctx.sync();
  }

  // Draws from the list's first `kept` tokens, whose running weights are known, in the order of
  // their ids: one thread calls found(id). `target` is below their weight. No barrier follows.
  template <class Found>
  SAMPLER_DEVICE void draw_by_id(int kept, uint64_t target, int64_t num_cols,
                                 const Found &found) const {
    if (kept <= Context::kThreads) {
      const bool is_own = ctx.thread() < kept;
      const uint32_t id = is_own ? contract::id_of_rank(shared.row.list[ctx.thread()]) : 0;
      uint64_t before = 0, last = 0, own = 0;
      SAMPLER_SOME_UNROLLED
      for (int i = 0; i < kept; ++i) {
        const uint64_t sum = shared.row.sums[i], weight = sum - last;
        last = sum;
        if (contract::id_of_rank(shared.row.list[i]) < id) before += weight;
        if (i == ctx.thread()) own = weight;
      }
      if (is_own && before <= target && target < before + own) found(id);
    } else {
      uint32_t ids[kBinsOfThread];
      uint64_t weights[kBinsOfThread];
      SAMPLER_UNROLLED
      for (int i = 0; i < kBinsOfThread; ++i) {
        const int at = i * Context::kThreads + ctx.thread();
        ids[i] = 0;
        weights[i] = 0;
        if (at >= kept) continue;
        ids[i] = contract::id_of_rank(shared.row.list[at]);
        weights[i] = shared.row.sums[at] - (at > 0 ? shared.row.sums[at - 1] : 0);
      }
      uint32_t id = 0;
      int turn = 0;
      SAMPLER_KEEP_ROLLED
      for (int bit = 19; bit >= 0; --bit) {
        const uint32_t candidate = id | uint32_t(1) << bit;
        if (candidate >= uint32_t(num_cols)) continue;
        uint64_t before = 0;
        SAMPLER_UNROLLED
        for (int i = 0; i < kBinsOfThread; ++i) before += ids[i] < candidate ? weights[i] : 0;
        turn ^= 1;  // not the bit's parity: some bits are skipped
        if (sum_of_weights(before, turn) <= target) id = candidate;
      }
      if (ctx.thread() == 0) found(id);
    }
  }

  // Prefixes of the list, by length. kEverything: longer than the list.
  class Prefixes {
   public:
    static constexpr int kEverything = 0x7FFFFFFF;

    // `total`: weight of the whole row, if known; `has_all`: the list has all that the first filter
    // keeps; `above`: weight of tokens before the list, where top-p is the only filter.
    SAMPLER_DEVICE Prefixes(const RankedList &list, const contract::RowScale &scale, float max,
                            int64_t num_cols, uint64_t total, bool has_all, uint64_t above = 0)
        : list_(list),
          scale_(scale),
          max_(max),
          num_cols_(num_cols),
          total_(total),
          above_(above),
          everything_(has_all ? list.count() : kEverything) {}

    SAMPLER_DEVICE int everything() const { return everything_; }
    SAMPLER_DEVICE int shorter(int a, int b) const { return a < b ? a : b; }

    SAMPLER_DEVICE int top_k(int k, sampler_tie_rule ties, int seen) const {
      if (k >= num_cols_) return seen;
      const int length = shorter(shorter(k, seen), list_.count());
      return ties == SAMPLER_TIES_KEEP ? shorter(with_ties(length), seen) : length;
    }

    SAMPLER_DEVICE int top_p(contract::Share share, sampler_tie_rule ties, int seen) const {
      const uint64_t total = seen == kEverything ? total_ : list_.shared.row.sums[seen - 1];
      const uint64_t least = contract::top_p_threshold(share, total);
      const uint64_t *const sums = list_.shared.row.sums;
      int length = list_.length_of([&](int i) { return i == 0 || above_ + sums[i - 1] < least; });
      // The list does not show where the prefix ends.
      if (seen == kEverything && above_ + sums[list_.count() - 1] < least) return kEverything;
      length = shorter(length, seen);
      return ties == SAMPLER_TIES_KEEP ? shorter(with_ties(length), seen) : length;
    }

    SAMPLER_DEVICE int min_p(float p, int seen) const {
      const uint64_t least = contract::min_p_threshold(p, contract::weight(scale_, max_));
      const int length = list_.length_of([&](int i) { return weight_at(i) >= least; });
      return length == list_.count() ? seen : shorter(length, seen);
    }

   private:
    SAMPLER_DEVICE uint64_t weight_at(int i) const {
      return contract::weight(scale_, contract::value_of_rank(list_.shared.row.list[i]));
    }

    SAMPLER_DEVICE int with_ties(int length) const {
      const uint32_t key = contract::key_of_rank(list_.shared.row.list[length - 1]);
      return list_.length_of(
          [&](int i) { return contract::key_of_rank(list_.shared.row.list[i]) >= key; });
    }

    const RankedList &list_;
    contract::RowScale scale_;
    float max_;
    int64_t num_cols_;
    uint64_t total_, above_;
    int everything_;
  };

  // Number of the list's tokens before the first for which `is_in` is false.
  template <class F>
  SAMPLER_DEVICE int length_of(const F &is_in) const {
    uint32_t own = 0;
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < count(); i += Context::kThreads) own += is_in(i) ? 1 : 0;
    const int length = int(sum_of_counts(own, 0));
    ctx.sync();
    return length;
  }

  const Context &ctx;
  Shared &shared;
};

}  // namespace sampler::kernels
