// Selection: the token at which the running measure of a row's tokens, in some order, first reaches
// a target. Top-k measures 1 a token and top-p its weight, both in rank order; the draw measures
// the weight by ascending id.
//
// Tokens are u64 keys in which the order and what is needed of the token both stand, so that a
// larger key comes first and no two are equal. Few enough of them are listed in the leader's shared
// memory and sorted there; more are narrowed down by histograms of the next 8 bits first.
#pragma once

#include <cstdint>

#include "contract/rank.h"
#include "contract/weight.h"
#include "row.cuh"
#include "team.cuh"

namespace sampler::kernels {

// Value descending, then id ascending.
struct RankOrder {
  SAMPLER_HD static uint64_t key(float x, uint32_t id) { return contract::rank_of(x, id); }
  SAMPLER_HD static float value(uint64_t key) { return contract::value_of_rank(key); }
  SAMPLER_HD static uint32_t id(uint64_t key) { return contract::id_of_rank(key); }
};

// Id ascending.
struct IdOrder {
  SAMPLER_HD static uint64_t key(float x, uint32_t id) {
    return uint64_t(~id) << 32 | contract::bits_of(x);
  }
  SAMPLER_HD static float value(uint64_t key) { return contract::float_of(uint32_t(key)); }
  SAMPLER_HD static uint32_t id(uint64_t key) { return ~uint32_t(key >> 32); }
};

// The leader's list. Every thread of the team knows its state.
struct ListState {
  int count = -1;      // -1: there is no list
  uint64_t floor = 0;  // in rank order: the list has every token of the row from this rank up

  SAMPLER_HD bool covers(Rank cut) const { return count > 0 && floor <= cut; }
};

// Sorts list[0, count) of this block descending: a bitonic sort, in which a thread compares a pair.
// Up to kWarpStride a warp's pairs are of elements that no other warp touches. Barriers of the
// block.
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

// Sum of measure(key) over list[0, count). In every thread of the block.
template <class Context, class Measure>
SAMPLER_DEVICE_CALL uint64_t list_sum(Context &ctx, const uint64_t *list, int count,
                                      const Measure &measure) {
  uint64_t sum = 0;
  for (int i = ctx.thread(); i < count; i += Context::kThreads) sum += measure(list[i]);
  return ctx.block_sum(sum);
}

// Index of the first key at which the running sum of measure(key) reaches `target` (> 0); count if
// it never does. In every thread of the block. The caller passes a barrier before the next search.
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

// Lists the tokens whose key `is_wanted` and sorts them. The result is how many there are; above
// kListCapacity none is listed.
template <class Order, class Context, class Row, class IsWanted>
SAMPLER_DEVICE_CALL int make_list(Team<Context> &team, const Row &row, const IsWanted &is_wanted) {
  Context &ctx = team.ctx;
  uint64_t own = 0;
  row.for_each([&](float x, uint32_t id) { own += is_wanted(Order::key(x, id)); });
  uint64_t block_total;
  uint64_t place = ctx.block_exclusive_sum(own, &block_total);
  const uint64_t values[] = {block_total};
  // Behind this exchange the leader has no more use for an earlier list.
  const Exchanged totals = team.exchange(values);
  const uint64_t total = totals.sum(0);
  if (total > uint64_t(kListCapacity)) return int(total);

  place += totals.sum_before(0, ctx.rank());
  uint64_t *list = ctx.peer(&team.shared.list[0], 0);
  if (own > 0) {
    row.for_each([&](float x, uint32_t id) {
      const uint64_t key = Order::key(x, id);
      if (is_wanted(key)) list[place++] = key;
    });
  }
  ctx.team_sync();
  if (team.is_leader()) sort_list(ctx, team.shared.list, int(total));
  return int(total);
}

// A range of keys, both ends included, and how many tokens lie in it (at most).
struct KeyRange {
  uint64_t low;
  uint64_t high;
  int count;
};

// Narrows a range to the bin of a histogram in which the running measure, from the highest key
// down, reaches *target; takes what lies above it off *target. False if the whole range does not
// reach it.
template <class Order, class Context, class Row, class Measure>
SAMPLER_DEVICE_CALL bool narrow(Team<Context> &team, const Row &row, const Measure &measure,
                                KeyRange *range, uint64_t *target) {
  Context &ctx = team.ctx;
  TeamShared &shared = team.shared;
  int shift = 0;
  while (((range->high - range->low) >> shift) >= uint64_t(kBins)) ++shift;
  for (int i = ctx.thread(); i < kBins; i += Context::kThreads) {
    shared.bin_counts[i] = 0;
    shared.bin_measures[i] = 0;
  }
  ctx.sync();
  row.for_each([&](float x, uint32_t id) {
    const uint64_t key = Order::key(x, id);
    if (key < range->low || key > range->high) return;
    const int bin = int((key - range->low) >> shift);
    ctx.atomic_add(&shared.bin_counts[bin], 1u);
    ctx.atomic_add(&shared.bin_measures[bin], measure(key));
  });
  ctx.team_sync();

  // Every block adds the team's bins up for itself, each thread some neighbouring ones, from the
  // highest bin down.
  const Part own = Part{0, kBins}.of(ctx.thread(), Context::kThreads);
  const auto bin_sum = [&](int i) {
    uint64_t sum = 0;
    for (int rank = 0; rank < ctx.team_size(); ++rank) {
      sum += *ctx.peer(&shared.bin_measures[kBins - 1 - i], rank);
    }
    return sum;
  };
  uint64_t sum = 0;
  for (int i = own.begin; i < own.end; ++i) sum += bin_sum(i);
  uint64_t total;
  uint64_t above = ctx.block_exclusive_sum(sum, &total);
  if (above < *target && above + sum >= *target) {
    int i = own.begin;
    for (uint64_t bin = bin_sum(i); above + bin < *target; bin = bin_sum(++i)) above += bin;
    uint32_t count = 0;
    for (int rank = 0; rank < ctx.team_size(); ++rank) {
      count += *ctx.peer(&shared.bin_counts[kBins - 1 - i], rank);
    }
    shared.found[0] = uint64_t(kBins - 1 - i);
    shared.found[1] = above;
    shared.found[2] = count;
  }
  ctx.team_sync();  // the bins are cleared next time: all must have read them
  if (total < *target) return false;
  const uint64_t bin = shared.found[0];
  *target -= shared.found[1];
  range->count = int(shared.found[2]);
  const uint64_t low = range->low + (bin << shift);
  const uint64_t size_minus_1 = (uint64_t(1) << shift) - 1;
  range->low = low;
  if (range->high - low > size_minus_1) range->high = low + size_minus_1;
  return true;
}

// The key of the token at which the running measure over `range`, from the highest key down,
// reaches `target` (> 0); `missing` if the whole range does not. Destroys the list.
template <class Order, class Context, class Row, class Measure>
SAMPLER_DEVICE_CALL uint64_t find_key(Team<Context> &team, const Row &row, KeyRange range,
                                      uint64_t target, uint64_t missing, const Measure &measure) {
  while (range.count > kListCapacity) {
    if (!narrow<Order>(team, row, measure, &range, &target)) return missing;
  }
  const int count = make_list<Order>(
      team, row, [&](uint64_t key) { return range.low <= key && key <= range.high; });
  uint64_t key = missing;
  if (team.is_leader()) {
    const int index = find_in_list(team.ctx, team.shared, team.shared.list, count, target, measure);
    if (index < count) key = team.shared.list[index];
  }
  return team.broadcast(key, 0);
}

}  // namespace sampler::kernels
