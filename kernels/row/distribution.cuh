// Temperature and filters of a row, by a team. CPU twin: src/cpu/distribution.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "contract/distribution.h"
#include "contract/elements.h"
#include "contract/filters.h"
#include "contract/rank.h"
#include "contract/request.h"
#include "contract/weight.h"
#include "launch/plan.h"
#include "machine/team.cuh"
#include "row/row.cuh"
#include "row/selection.cuh"

namespace sampler::kernels {

using contract::FilterRules;
using contract::RowParameters;
using contract::RowScale;

struct Distribution : contract::Distribution {
  int64_t kept_count;
  // The kept weight of this warp's tiles, where the list does not cover the kept tokens. The
  // block's tile sums hold that of each tile.
  uint64_t warp_weight;
};

// Result of the first pass over a row.
struct RowSummary {
  uint32_t status;
  Rank first;      // first token in rank order; of candidates, with id 0
  Rank group_max;  // reached by at least the wanted number of groups; 0: not known
  Rank lowest;     // lower bound of all tokens
};

// Whether a candidate id is out of range or occurs twice. Few ids are sorted in the leader's list,
// more are marked in the bitmap.
template <class Context, class Row>
SAMPLER_DEVICE_CALL bool has_bad_ids(Team<Context> &team, const Row &row) {
  Context &ctx = team.ctx;
  const int thread = ctx.cluster_rank() * Context::kThreads + ctx.thread();
  const int num_threads = ctx.team_size() * Context::kThreads;
  bool out_of_range = false;
  for (int i = thread; i < row.count(); i += num_threads) {
    const int64_t id = id_of(ctx, row.source(), i);
    out_of_range = out_of_range || id < 0 || id >= contract::kMaxVocabulary;
  }
  if (team.sum(out_of_range ? 1 : 0) != 0) return true;

  bool duplicate = false;
  if (row.count() <= kListCapacity) {
    const int count = make_list<IdOrder>(team, row, 0, ~uint64_t(0));
    if (team.is_leader()) {
      const uint64_t *list = team.shared.list;
      for (int i = 1 + ctx.thread(); i < count; i += Context::kThreads) {
        duplicate = duplicate || IdOrder::id(list[i]) == IdOrder::id(list[i - 1]);
      }
    }
  } else {
    clear_bitmap(team);
    row.for_each([&](float, int index) { duplicate = mark(team, row.id(index)) || duplicate; });
  }
  return team.sum(duplicate ? 1 : 0) != 0;
}

// The first candidate with the value of `rank`.
template <class Context, class Row>
SAMPLER_DEVICE_CALL Rank first_of_value(Team<Context> &team, const Row &row, Rank rank) {
  Rank first = 0;
  row.template for_each_between<RankOrder, Starts::kFromRegisters>(
      contract::cut_with_ties(rank), rank | ~uint32_t(0), kNoLastIndex,
      [&](bool is_in, uint64_t key) {
        if (is_in && key > first) first = key;
        return true;
      });
  return team.max(first);
}

// The first token in rank order of a good row.
template <class Context, class Row>
SAMPLER_DEVICE Rank first_token(Team<Context> &team, const Row &row, const RowSummary &summary) {
  return row.source().ids ? first_of_value(team, row, summary.first) : summary.first;
}

// The largest of 2^20 evenly spaced keys that at least `wanted` threads' own keys reach, found bit
// by bit; 0 if fewer threads have a key.
template <class Context>
SAMPLER_DEVICE uint32_t nth_largest_key(Context &ctx, uint32_t own, int wanted) {
  constexpr int kBits = 20;
  uint32_t key = 0;
  for (int bit = 31; bit > 31 - kBits; --bit) {
    const uint32_t candidate = key | uint32_t(1) << bit;
    if (ctx.block_count(own >= candidate) >= uint32_t(wanted)) key = candidate;
  }
  return key;
}

// The `wanted`-th largest of the threads' keys, or a lower one that differs in the lowest bits
// only; 0 if fewer have a key.
template <class Context>
SAMPLER_DEVICE uint32_t key_that_reach(Context &ctx, uint32_t own, int wanted) {
  if (wanted == 1) return uint32_t(ctx.block_max(own));
  const uint32_t reached = nth_largest_key(ctx, own, wanted);
  return ~uint32_t(ctx.block_max(own >= reached ? ~own : 0));
}

// A block's result for its part of a row.
struct PartSummary {
  Rank first;
  uint32_t reached;             // key that at least the wanted number of tokens reach; 0: not known
  uint32_t lowest_upside_down;  // complement of the lowest value's key
  uint32_t num_bad_values;      // threads that read any
};

// Reads the block's part. Each thread contributes the largest of its elements: if n threads'
// largest reach a value, n tokens do. For candidates the position does not tell the id, so the
// first token is known by its value only.
template <class Context, class Row>
SAMPLER_DEVICE PartSummary load_part(Context &ctx, Row &row, int num_maxima) {
  const auto own = row.load();
  const bool has_bad_value =
      contract::is_nan(own.max) || (row.kind() == SAMPLER_PROBABILITIES && own.min < 0.0f);
  const uint32_t own_key = contract::value_key(own.max);

  PartSummary result;
  result.reached = 0;
  if (num_maxima > 0 && num_maxima <= Context::kThreads / 2) {
    result.reached = key_that_reach(ctx, own_key, num_maxima);
  }
  Rank first = contract::rank_of_key(own_key);
  if (!row.source().ids && own_key == uint32_t(ctx.block_max(own_key))) {
    first = contract::rank_of(own.max, uint32_t(row.index_of_value(own.max_tile, own.max)));
  }
  result.first = ctx.block_max(first);
  result.num_bad_values = ctx.block_count(has_bad_value);
  result.lowest_upside_down = uint32_t(ctx.block_max(uint32_t(~contract::value_key(own.min))));
  return result;
}

// Reads and checks the row. Finds its first token, and a rank that at least `num_maxima` tokens
// reach (0: not wanted).
template <class Context, class Row>
SAMPLER_DEVICE_CALL RowSummary load_row(Team<Context> &team, Row &row, int num_maxima,
                                        contract::Use use = contract::Use::kDraw) {
  const int num_blocks = team.ctx.team_size();
  const PartSummary part = load_part(team.ctx, row, (num_maxima + num_blocks - 1) / num_blocks);
  const uint64_t values[] = {part.first, uint64_t(~part.reached), part.num_bad_values,
                             part.lowest_upside_down};
  const Exchanged all = team.exchange(values);

  RowSummary result;
  result.first = all.max(0);
  result.group_max = contract::rank_of_key(~uint32_t(all.max(1)));
  result.lowest = contract::rank_of_key(~uint32_t(all.max(3)));
  const bool any_bad_value = all.sum(2) != 0;
  const bool is_listed = row.source().ids != nullptr;
  if (is_listed && has_bad_ids(team, row)) {
    result.status = SAMPLER_ROW_INVALID_CANDIDATE;
  } else if (any_bad_value) {
    result.status = SAMPLER_ROW_INVALID_VALUE;
  } else {
    result.status = contract::check_first(row.kind(), result.first, use);
  }
  if (is_listed) result.first |= ~uint32_t(0);
  return result;
}

// Up to this many kept tokens are listed, and drawn from the list. Where all kept tokens are
// listed: up to this many tokens of a bin are listed rather than divided again.
constexpr int kBinLimit = 256;

// Most tokens to list for top-k's k. Half as many more leave room for a histogram's bin at their
// end; more are not worth sorting. If k exceeds two thirds of the list: the limit of a bin.
SAMPLER_HD inline int list_limit(int k) {
  if (k > kListCapacity * 2 / 3) return kBinLimit;
  int limit = 128;
  while (limit < k + k / 2) limit *= 2;
  return limit;
}

// The value, as stored, of the token at `rank`, which the row must have: a rank does not tell -0
// from 0. Called by the whole team.
template <class Context, class Row>
SAMPLER_DEVICE_CALL float value_at(Team<Context> &team, const Row &row, Rank rank) {
  const float x = contract::value_of_rank(rank);
  if (x != 0.0f) return x;
  if (!row.source().ids) return row.source().value(int(contract::id_of_rank(rank)));
  uint64_t own = 0;
  row.for_each([&](float value, int index) {
    if (contract::rank_of(value, row.id(index)) == rank) own = contract::bits_of(value);
  });
  return contract::float_of(uint32_t(team.max(own)));
}

// Tag for top-p's measure.
struct Weight {};

// A cut in terms of values: ids matter only in the tile with the cut's id.
struct Cut {
  float lowest;      // value kept
  uint32_t last_id;  // highest id kept with that value
  float nothing;

  template <class Row>
  SAMPLER_DEVICE static Cut of(const Row &row, Rank rank) {
    return {contract::value_of_rank(rank), contract::id_of_rank(rank), row.nothing()};
  }

  // Replaces tokens outside the cut by `nothing`.
  template <class Row>
  SAMPLER_DEVICE void apply(const Row &row, int tile, int first, float (&x)[kRun]) const {
    const int64_t begin = row.begin_of(tile);
    const bool has_cut = begin <= int64_t(last_id) && int64_t(last_id) < begin + kTile - 1;
    if (row.source().ids || has_cut) {
      uint32_t ties = 0;
      for (int i = 0; i < kRun; ++i) ties |= uint32_t(x[i] == lowest) << i;
      uint32_t dropped = 0;
      for (uint32_t left = ties; left != 0; left &= left - 1) {
        const int i = Row::lowest_bit(left);
        const int index = row.index_of(tile, first + i);
        if (!row.is_in_row(index) || row.id(index) > last_id) dropped |= uint32_t(1) << i;
      }
      for (int i = 0; i < kRun; ++i) x[i] = (dropped >> i & 1) != 0 ? nothing : x[i];
    }
    const bool keeps_ties = row.source().ids || begin <= int64_t(last_id);
    const float low = keeps_ties ? lowest : contract::next_value(lowest);
    for (int i = 0; i < kRun; ++i) x[i] = x[i] >= low ? x[i] : nothing;
  }
};

// Replaces a run's values by relative probabilities. `relative` is contract's function of one
// value; the kind is tested once per run.
template <class Relative>
SAMPLER_DEVICE void make_relative_of_logits(const RowScale &scale, float (&x)[kRun],
                                            const Relative &relative) {
  const RowScale of_logits = {SAMPLER_LOGITS, scale.max, scale.scale, 0};
  for (int i = 0; i < kRun; ++i) x[i] = relative(of_logits, x[i]);
}
template <class Relative>
SAMPLER_DEVICE void make_relative(const RowScale &scale, float (&x)[kRun],
                                  const Relative &relative) {
  if (scale.kind == SAMPLER_LOGITS) return make_relative_of_logits(scale, x, relative);
  const RowScale of_probabilities = {SAMPLER_PROBABILITIES, scale.max, 0.0f, scale.exponent};
  for (int i = 0; i < kRun; ++i) x[i] = relative(of_probabilities, x[i]);
}

// Sums wanted of the kept tokens.
struct Wanted {
  bool count;
  bool weight;
};

// Kept tokens of a warp's part of a row.
struct WarpSums {
  uint64_t weight = 0;  // the same in all lanes
  uint32_t count = 0;   // of this lane
};

// Sums the weights of a warp's tiles in order. Unless `tile_sums` is null, each tile's weight is
// stored there by the lane that find_in_warp expects.
template <class Context>
class TileWeights {
 public:
  template <class Row>
  SAMPLER_DEVICE TileWeights(Context &ctx, const Row &row, uint64_t *tile_sums)
      : first_tile_(row.tiles().begin),
        own_sums_(tile_sums ? tile_sums + row.first_of_block() : nullptr) {
    if (!own_sums_) return;
    const int num_tiles = row.tiles().end - first_tile_;
    for (int i = ctx.lane(); i < num_tiles; i += 32) own_sums_[i] = 0;
  }

  // Adds a run's relative probabilities. Called by the whole warp.
  SAMPLER_DEVICE void add(Context &ctx, int tile, int first, const float (&relative)[kRun]) {
    for (int i = 0; i < kRun; ++i) of_tile_.add(relative[i]);
    if (first + kRun < kGroup) return;
    const uint64_t weight = ctx.warp_sum(of_tile_.of(kGroup));
    of_tile_ = {};
    sum_ += weight;
    const int place = tile - first_tile_;
    if (own_sums_ && place % 32 == ctx.lane()) own_sums_[place] = weight;
  }

  SAMPLER_DEVICE uint64_t sum() const { return sum_; }

 private:
  int first_tile_;
  uint64_t *own_sums_;
  contract::WeightSum of_tile_;  // sum of this lane
  uint64_t sum_ = 0;
};

// Sums what a cut keeps of this warp's tiles. Unless `tile_sums` is null, stores each tile's weight
// there.
template <class Context, class Row>
SAMPLER_DEVICE_CALL WarpSums weigh(Context &ctx, const Row &row, const RowScale &row_scale,
                                   Rank rank, uint64_t *tile_sums, Wanted wanted) {
  const RowScale scale = row_scale;
  const Cut cut = Cut::of(row, rank);
  const bool cuts = rank > contract::lowest_cut(row.kind());  // else removed tokens have no weight
  TileWeights<Context> weights(ctx, row, tile_sums);
  uint32_t count = 0;
  const auto add = [&](const Row &row_, int tile, int first, float(&x)[kRun]) {
    if (cuts) cut.apply(row_, tile, first, x);
    if (wanted.count) {
      for (int i = 0; i < kRun; ++i) count += x[i] > cut.nothing;
    }
    if (!wanted.weight) return;
    make_relative(scale, x, [](const RowScale &s, float value) {
      return contract::relative_for_weight(s, value);
    });
    weights.add(ctx, tile, first, x);
  };
  row.template for_each_run<Starts::kFromRegisters>(cut.lowest, add);
  return {weights.sum(), count};
}

// The weight that a cut keeps of the row.
template <class Context, class Row>
SAMPLER_DEVICE uint64_t weight_of_row(Team<Context> &team, const Row &row, const RowScale &scale,
                                      Rank cut) {
  const uint64_t weight = weigh(team.ctx, row, scale, cut, nullptr, {false, true}).weight;
  return team.sum(team.ctx.lane() == 0 ? weight : 0);
}

// A run with several tokens in one bin, kept out of the registers of the pass.
struct CrowdedRun {
  int bin[kRun];
  float relative[kRun];
};

template <class Context>
SAMPLER_DEVICE_CALL HeldBin add_crowded(Context &ctx, TeamShared &shared, CrowdedRun run,
                                        bool looks, HeldBin held) {
  uint32_t left = 0;  // tokens of the run left to add; those of the held bin need no other lane
  SAMPLER_KEEP_ROLLED
  for (int i = 0; i < kRun; ++i) {
    const bool is_held = run.bin[i] == held.bin;
    held.count += is_held;
    held.measure += is_held ? contract::biased_weight_of(run.relative[i]) : 0;
    left |= uint32_t(!is_held) << i;
  }
  const uint32_t num_rounds = ctx.warp_max(uint32_t(Context::count_bits(left)));
  SAMPLER_KEEP_ROLLED
  for (uint32_t round = 0; round < num_rounds; ++round) {
    const int i = left != 0 ? Context::lowest_bit(left) : 0;
    const float relative = run.relative[i];
    held = add_to_bins_or_hold<Weight>(ctx, shared, left != 0, run.bin[i], relative,
                                       contract::biased_weight_of(relative), looks && round == 0,
                                       held);
    left &= left - 1;
  }
  return held;
}

// Adds the weights of the block's tokens with values from `low` up to its bins, each with the bias
// of weights. Returns the weight of this thread's other tokens among those `seen`.
template <class Context, class Row>
SAMPLER_DEVICE_CALL uint64_t fill_bins(Team<Context> &team, const Row &row,
                                       const RowScale &row_scale, Rank seen, float low,
                                       const WeightBins &weight_bins) {
  Context &ctx = team.ctx;
  TeamShared &shared = team.shared;
  const RowScale scale = row_scale;
  const WeightBins bins = weight_bins;
  const Cut cut = Cut::of(row, seen);
  const bool cuts = seen > contract::lowest_cut(row.kind());
  const int first_tile = row.tiles().begin;
  clear_bins(ctx, shared);
  uint64_t light = 0;
  HeldBin held;
  const auto has_bins = [low](const Row &row_, int tile) {
    return uint32_t(row_.may_reach(tile, low));  // as a bool it would be widened for each run
  };
  const auto add = [&](const Row &row_, int tile, int first, float(&x)[kRun], uint32_t is_binned) {
    if (cuts) cut.apply(row_, tile, first, x);
    const auto relative = [](const RowScale &s, float value) {
      return contract::relative_for_weight(s, value);
    };
    if (is_binned == 0) {
      make_relative(scale, x, relative);
      contract::WeightSum own;
      for (int i = 0; i < kRun; ++i) own.add(x[i]);
      light += own.of(kRun);
      return;
    }
    uint32_t places[kRun];
    if (bins.divides_values()) {
      bins.find_by_value(ctx, x, places);
      make_relative_of_logits(scale, x, relative);
    } else {
      bins.find_by_key(ctx, x, places);
      make_relative(scale, x, relative);
    }
    const auto add_as_crowded = [&] {
      const bool looks = first == 0 && (tile - first_tile) % (int(kRoundsToALook) / kGroup) == 0;
      CrowdedRun run;
      for (int i = 0; i < kRun; ++i) {
        run.bin[i] = WeightBins::bin_at(places[i]);
        run.relative[i] = x[i];
      }
      held = add_crowded(ctx, shared, run, looks, held);
    };
    if (held.bin != kNoBin) {  // a few lanes are enough to notice
      const bool is_held = WeightBins::bin_at(places[0]) == held.bin;
      if (Context::count_bits(ctx.ballot(is_held)) > kMaxTurns) return add_as_crowded();
    }
    bool is_crowded = false;
    for (int i = 0; i < kRun; ++i) {
      is_crowded |= Context::count_bits(ctx.warp_match(places[i])) > kMaxTurns;
    }
    if (ctx.ballot(is_crowded) != 0) return add_as_crowded();
    for (int i = 0; i < kRun; ++i) {
      Bin &bin = shared.bins[WeightBins::bin_at(places[i])];
      ctx.add_to_shared(&bin.count, 1);
      ctx.add_to_shared(&bin.measure, contract::biased_weight_of(x[i]));
    }
  };
  row.for_each_run_of_known(cut.lowest, has_bins, add);
  add_held<Weight>(ctx, shared, held);
  return light;
}

// Narrows a range of ranks to the bin in which the running weight, from the highest rank down,
// reaches top-p's share of the total weight: that of the binned tokens and of the `light` ones,
// which each thread passes for its own. Returns the weight to reach.
template <class Context>
SAMPLER_DEVICE uint64_t narrow_to_share(Team<Context> &team, const WeightBins &bins, uint64_t light,
                                        contract::Share share, KeyRange *range) {
  const BinnedKeys keys = {~uint64_t(0), ~uint64_t(0), light};
  const FoundBin found =
      find_bin(team, false, {true, share, 0}, keys, contract::kWeightBias, range);
  found.narrow(team.ctx, bins, range);
  return found.target;
}

// An interval of values, given by its middle and radius.
struct Reach {
  float middle;
  float radius;

  SAMPLER_HD static Reach of(float low, float high) {
    const float middle = 0.5f * low + 0.5f * high;
    const float above = high - middle, below = middle - low;
    const float radius = above > below ? above : below;
    const float infinity = contract::float_of(0x7F800000u);
    if (!(radius < infinity)) return {0.0f, infinity};
    return {middle, radius};
  }
};

// Weighs the tokens above a range of ranks, as weigh() does, and in the same pass lists those in it
// in the leader's empty near list. `counts_ties`, for a range of one value: counts them per tile
// instead. At least one token of the range must have weight. For rows without ids.
template <class Context, class Row>
SAMPLER_DEVICE_CALL void weigh_above(Team<Context> &team, const Row &row, const RowScale &row_scale,
                                     const KeyRange &range, bool counts_ties) {
  Context &ctx = team.ctx;
  const RowScale scale = row_scale;
  const float low = contract::value_of_rank(range.low), high = contract::value_of_rank(range.high);
  if (counts_ties) {
    for (int i = ctx.lane(); i < row.tiles().end - row.tiles().begin; i += 32) {
      team.shared.cut.tile_ties[row.first_of_block() + i] = 0;
    }
  }
  const Reach reach = Reach::of(low, high);
  TileWeights<Context> weights(ctx, row, &team.shared.cut.tile_sums[0]);
  uint32_t ties_of_tile = 0;
  row.for_each_run(low, [&](const Row &row_, int tile, int first, float(&x)[kRun]) {
    float nearest = std::fabs(x[0] - reach.middle);
    for (int i = 1; i < kRun; ++i) {
      nearest = Context::smaller(nearest, std::fabs(x[i] - reach.middle));
    }
    if (ctx.ballot(!(nearest > reach.radius)) != 0) {
      uint32_t near = 0;
      for (int i = 0; i < kRun; ++i) near |= uint32_t(x[i] >= low && !(x[i] > high)) << i;
      ties_of_tile += uint32_t(Context::count_bits(near));
      if (counts_ties) near = 0;
      while (ctx.ballot(near != 0) != 0) {
        const int i = near != 0 ? Context::lowest_bit(near) : 0;
        const uint32_t id = uint32_t(row_.index_of(tile, first + i));
        const Rank rank = contract::rank_of(row_.element(tile, first + i), id);
        append(ctx, ctx.peer(&team.shared.cut.near_list[0], 0),
               ctx.peer(&team.shared.list_count, 0), uint32_t(kNearCapacity),
               near != 0 && rank >= range.low, rank);
        near &= near - 1;
      }
    }
    if (counts_ties && first + kRun == kGroup) {
      const uint32_t of_tile = uint32_t(ctx.warp_sum(ties_of_tile));
      const int place = tile - row_.tiles().begin;
      uint32_t *tile_ties = &team.shared.cut.tile_ties[row_.first_of_block()];
      if (place % 32 == ctx.lane()) tile_ties[place] = of_tile;
      ties_of_tile = 0;
    }
    make_relative(scale, x, [high](const RowScale &s, float value) {
      return contract::relative_for_weight_above(s, value, high);
    });
    weights.add(ctx, tile, first, x);
  });
}

// Sum of a number stored per tile over this warp's tiles, in every lane.
template <class Context, class Row, class Number>
SAMPLER_DEVICE uint64_t sum_of_tiles(Context &ctx, const Row &row, const Number *of_tiles) {
  uint64_t own = 0;
  for (int i = ctx.lane(); i < row.tiles().end - row.tiles().begin; i += 32) {
    own += of_tiles[row.first_of_block() + i];
  }
  return ctx.warp_broadcast(ctx.warp_inclusive_sum(own), 31);
}

// A cut whose kept weights the tile sums hold.
struct Weighed {
  Rank cut = 0;  // 0: none
  WarpSums sums;
};

// The row that contract::filtered_prefix queries. A prefix is represented by its cut.
template <class Context, class Row>
class TeamFilters {
 public:
  SAMPLER_DEVICE TeamFilters(Team<Context> &team, const Row &row, const RowSummary &summary,
                             const RowScale &scale, ListState *list, Wanted wanted)
      : team_(team), row_(row), summary_(summary), scale_(scale), list_(*list), wanted_(wanted) {}

  // Sums wanted of the tokens that the filters keep.
  SAMPLER_DEVICE Wanted wanted() const { return wanted_; }

  SAMPLER_DEVICE Rank everything() const { return contract::lowest_cut(row_.kind()); }
  SAMPLER_DEVICE Rank shorter(Rank a, Rank b) const { return a > b ? a : b; }

  // The weight that the filters have weighed along the way, if it has this scale.
  SAMPLER_DEVICE Weighed weighed(const RowScale &scale) const {
    return scale.scale == scale_.scale ? weighed_ : Weighed();
  }

  SAMPLER_DEVICE_CALL Rank top_k(int k, sampler_tie_rule ties, Rank seen) {
    const Rank low = summary_.group_max > seen ? summary_.group_max : seen;
    const Search search = {low, summary_.first, uint64_t(k), list_limit(k),
                           ties == SAMPLER_TIES_KEEP};
    const Rank last = find(search, CountTokens());
    if (list_.count < 0 && ties == SAMPLER_TIES_EXACT && k <= search.limit) {
      list_.count = make_list<RankOrder>(team_, row_, last, summary_.first);
      list_.floor = last;
    }
    return with_ties(last, ties, seen);
  }

  SAMPLER_DEVICE_CALL Rank top_p(contract::Share share, sampler_tie_rule ties, Rank seen) {
    const bool keeps_ties = ties == SAMPLER_TIES_KEEP;
    if (list_.covers(seen)) {
      const RowScale scale = scale_;
      const auto weight = [scale](uint64_t key) {
        return contract::weight(scale, RankOrder::value(key));
      };
      const uint64_t target = Target{true, share, 0}.of(listed_weight(seen, weight));
      return with_ties(find({seen, summary_.first, target, kBinLimit, keeps_ties}, weight), ties,
                       seen);
    }
    begin_top_p(share, seen);
    const WeightBins bins = bins_of_range();
    const uint64_t light =
        fill_bins(team_, row_, scale_, seen, contract::value_of_rank(range_.low), bins);
    target_ = narrow_to_share(team_, bins, light, share, &range_);
    return end_top_p(keeps_ties, ties, seen);
  }

  SAMPLER_DEVICE_CALL Rank min_p(float p, Rank seen) {
    return lowest_rank(seen, contract::min_p_threshold(p, contract::weight(scale_, scale_max())));
  }

 protected:
  SAMPLER_DEVICE float scale_max() const { return contract::value_of_rank(summary_.first); }

  SAMPLER_DEVICE Rank with_ties(Rank last, sampler_tie_rule ties, Rank seen) const {
    if (ties == SAMPLER_TIES_EXACT) return last;
    return shorter(contract::cut_with_ties(last), seen);
  }

  SAMPLER_DEVICE bool has_one_value() const {
    return range_.low >= contract::cut_with_ties(range_.high);
  }

  // The lower end of top-p's search. `seen` must have the first token. All lighter tokens together
  // weigh no more than the filter may cut off.
  SAMPLER_DEVICE_CALL void begin_top_p(contract::Share share, Rank seen) {
    const uint64_t least = contract::weight(scale_, scale_max());
    const uint64_t light =
        (least - contract::top_p_threshold(share, least)) / uint64_t(row_.count());
    range_ = {lowest_rank(seen, light), summary_.first, 0, row_.count(), 0};
    if (range_.low < summary_.lowest) range_.low = summary_.lowest;
    lowest_ = range_.low;
  }

  SAMPLER_DEVICE WeightBins bins_of_range() const {
    return WeightBins::of(range_, RankOrder::unused_bits(row_), row_.kind() == SAMPLER_LOGITS);
  }

  // Searches for top-p's cut from the bin that holds it on.
  SAMPLER_DEVICE Rank end_top_p(bool keeps_ties, sampler_tie_rule ties, Rank seen) {
    narrow_range();
    list_.count = -1;
    // A list of all kept tokens is enough for the draw, which otherwise needs the tiles' weights.
    if (row_.source().ids || range_.count_above + range_.count <= kBinLimit) {
      return with_ties(list_top_p(keeps_ties), ties, seen);
    }
    if (has_one_value() && keeps_ties) return with_ties(range_.high, ties, seen);
    if (has_one_value() && range_.count > kBinLimit) {  // sorting is not needed
      cut_in_ties();
    } else {
      cut_in_list(keeps_ties);
    }
    return shorter(weighed_.cut, seen);
  }

  // Narrows the range around top-p's cut to few tokens or one value; with ids, as far as select_key
  // goes.
  SAMPLER_DEVICE_CALL void narrow_range() {
    const RowScale scale = scale_;
    const auto weight = [scale](uint64_t key) {
      return contract::weight(scale, RankOrder::value(key));
    };
    const int unused_bits = RankOrder::unused_bits(row_);
    leave_out_unused(&range_, unused_bits);
    while (range_.count > kNearCapacity && !has_one_value() && !row_.source().ids) {
      const uint32_t centre = centre_of(team_, row_, range_);
      narrow<RankOrder>(team_, row_, weight, CentredBins::of(range_, centre, unused_bits), &range_);
      leave_out_unused(&range_, unused_bits);
    }
  }

  // The last token of top-p, found in a list if few are kept.
  SAMPLER_DEVICE_CALL Rank list_top_p(bool keeps_ties) {
    const RowScale scale = scale_;
    const auto weight = [scale](uint64_t key) {
      return contract::weight(scale, RankOrder::value(key));
    };
    const Search search = {lowest_, summary_.first, target_, kBinLimit, keeps_ties};
    const Selected selected = select_key_in<RankOrder>(team_, row_, search, range_, true, weight);
    list_ = {selected.listed, selected.floor};
    return selected.key;
  }

  // Weighs what top-p keeps if the cut lies in the range, which fits the near list: at the token
  // where the running weight in the range, from the highest rank down, reaches the range's target.
  // `keeps_ties`: with all tokens of its value.
  SAMPLER_DEVICE_CALL void cut_in_list(bool keeps_ties) {
    open_list(team_);
    weigh_above(team_, row_, scale_, range_, false);
    Context &ctx = team_.ctx;
    TeamShared &shared = team_.shared;
    ctx.team_sync();
    const int count = int(*ctx.peer(&shared.list_count, 0));
    const RowScale scale = scale_;
    const auto weight = [scale](Rank rank) {
      return contract::weight(scale, RankOrder::value(rank));
    };
    Rank cut = 0;
    if (team_.is_leader()) {
      Rank *list = &shared.cut.near_list[0];
      sort_list(ctx, list, count);
      cut = list[find_in_list(ctx, shared, list, count, range_.target, weight)];
    }
    cut = team_.broadcast(cut, 0);
    if (keeps_ties) cut = contract::cut_with_ties(cut);
    weighed_.cut = cut;
    weighed_.sums.count = team_.is_first_thread() ? uint32_t(range_.count_above) : 0;
    const Rank *list = ctx.peer(&shared.cut.near_list[0], 0);
    const Part block = row_.tiles_of_block();
    for (int first = 32 * ctx.warp(); first < count; first += Context::kThreads) {
      const int i = first + ctx.lane();
      const Rank rank = i < count ? list[i] : 0;
      const int tile = row_.tile_of(int(contract::id_of_rank(rank)));
      const bool is_own = rank >= cut && block.begin <= tile && tile < block.end;
      const uint32_t lanes = ctx.warp_match(is_own ? uint32_t(tile) : ~uint32_t(0));
      const auto alike = [] { return uint32_t(0); };
      add_in_few_turns(ctx, is_own, lanes, is_own ? weight(rank) : 0, alike, [&](uint64_t sum) {
        ctx.atomic_add(&shared.cut.tile_sums[tile - block.begin], sum);
      });
      weighed_.sums.count += is_own;
    }
    ctx.team_sync();  // after it the leader no longer reads the list
    weighed_.sums.weight = sum_of_tiles(ctx, row_, &shared.cut.tile_sums[0]);
  }

  // For a range of one value: the weight of each of its tokens, and how many of them are kept.
  SAMPLER_DEVICE uint64_t weight_of_tie() const {
    return contract::weight(scale_, contract::value_of_rank(range_.high));
  }
  SAMPLER_DEVICE uint64_t num_kept_ties() const {
    const uint64_t each = weight_of_tie();
    return (range_.target + each - 1) / each;
  }
  // The id of the token at `place` among them; they have been counted.
  SAMPLER_DEVICE_CALL uint32_t find_tie(uint64_t place) const {
    const float value = contract::value_of_rank(range_.high);
    const uint64_t num_ties = sum_of_tiles(team_.ctx, row_, &team_.shared.cut.tile_ties[0]);
    return find_in_row(team_, row_, num_ties, place, nullptr, value,
                       [value](float x, uint32_t) { return uint64_t(x == value); });
  }

  // The same for a range of one value, whose tokens are ordered by id.
  SAMPLER_DEVICE_CALL void cut_in_ties() {
    weigh_above(team_, row_, scale_, range_, true);
    const uint32_t id = find_tie(num_kept_ties() - 1);
    weighed_.cut = contract::rank_of(contract::value_of_rank(range_.high), id);
    Context &ctx = team_.ctx;
    TeamShared &shared = team_.shared;
    const uint64_t each = weight_of_tie();
    // Tiles before that of the last kept token keep all of theirs, that one the rest.
    const Part block = row_.tiles_of_block();
    const int last_tile = row_.tile_of(int(id));
    uint64_t in_earlier = 0;
    for (int i = ctx.thread(); block.begin + i < block.end; i += Context::kThreads) {
      if (block.begin + i >= last_tile) break;
      in_earlier += shared.cut.tile_ties[i];
      shared.cut.tile_sums[i] += shared.cut.tile_ties[i] * each;
    }
    in_earlier = team_.sum(in_earlier);
    if (ctx.thread() == 0) {
      if (block.begin <= last_tile && last_tile < block.end) {
        shared.cut.tile_sums[last_tile - block.begin] += (num_kept_ties() - in_earlier) * each;
      }
    }
    ctx.sync();
    weighed_.sums.count =
        team_.is_first_thread() ? uint32_t(range_.count_above + num_kept_ties()) : 0;
    weighed_.sums.weight = sum_of_tiles(ctx, row_, &shared.cut.tile_sums[0]);
  }

  // The lowest rank among the seen tokens of weight `weight` or more, which the first token has.
  SAMPLER_DEVICE_CALL Rank lowest_rank(Rank seen, uint64_t weight) {
    const RowScale scale = scale_;
    const uint32_t key =
        lowest_value_key(team_.ctx, uint32_t(seen >> 32), uint32_t(summary_.first >> 32),
                         [scale, weight](uint32_t value_key) {
                           const float x = contract::value_of_key(value_key);
                           return contract::weight(scale, x) >= weight;
                         });
    const Rank rank = uint64_t(key) << 32;
    return rank > seen ? rank : seen;
  }

  template <class Weight>
  SAMPLER_DEVICE_CALL uint64_t listed_weight(Rank seen, const Weight &weight) {
    const auto seen_weight = [&](uint64_t key) { return key >= seen ? weight(key) : 0; };
    const uint64_t sum =
        team_.is_leader() ? list_sum(team_.ctx, team_.shared.list, list_.count, seen_weight) : 0;
    return team_.broadcast(sum, 0);
  }

  // As select_key, in the list if that is enough. On return the list holds the tokens searched, or
  // is void.
  template <class Measure>
  SAMPLER_DEVICE Rank find(const Search &search, const Measure &measure) {
    if (list_.count > 0) {
      const Rank low = search.low;
      Rank cut = low;
      bool found = false;
      if (team_.is_leader()) {
        const auto seen_measure = [&](uint64_t key) { return key >= low ? measure(key) : 0; };
        const int index = find_in_list(team_.ctx, team_.shared, team_.shared.list, list_.count,
                                       search.target, seen_measure);
        found = index < list_.count;
        if (found) cut = team_.shared.list[index];
      }
      const uint64_t values[] = {cut, uint64_t(found)};
      const Exchanged result = team_.exchange(values);
      // A list that does not reach down to `low` may end before the target.
      if (result.of(1, 0) != 0 || list_.covers(low)) return result.of(0, 0);
    }
    const Selected selected = select(search, measure);
    list_ = {selected.listed, selected.floor};
    return selected.key;
  }

  template <class Measure>
  SAMPLER_DEVICE Selected select(const Search &search, const Measure &measure) {
    weighed_.cut = 0;
    if constexpr (std::is_same_v<Measure, CountTokens>) {
      if (search.low == summary_.group_max) return select_top(team_, row_, search);
    }
    return select_key<RankOrder>(team_, row_, search, measure);
  }

  Team<Context> &team_;
  const Row &row_;
  const RowSummary &summary_;
  RowScale scale_;
  ListState &list_;
  // Kept in memory: the passes need the registers.
  Wanted wanted_;
  KeyRange range_;   // of the search for top-p's cut
  Rank lowest_;      // where the search started
  uint64_t target_;  // weight to reach
  Weighed weighed_;
};

// How many group maxima must reach group_max: the number of tokens that the first filter keeps.
SAMPLER_HD inline int wanted_group_maxima(const RowParameters &parameters, int count) {
  const bool greedy = contract::is_greedy(parameters.temperature);
  return !greedy && parameters.top_k > 0 && parameters.top_k < count ? parameters.top_k : 0;
}

// Completes the distribution with the `wanted` sums of what a cut keeps, unless `weighed` has them.
// On return the list covers the kept tokens or is void.
template <class Context, class Row>
SAMPLER_DEVICE_CALL void add_kept(Team<Context> &team, const Row &row, Distribution *distribution,
                                  ListState *list, Wanted wanted,
                                  const Weighed &weighed = Weighed()) {
  const Distribution known = *distribution;
  uint64_t count = 0, weight = 0;
  distribution->warp_weight = 0;
  if (!list->covers(known.cut)) list->count = -1;
  if (!wanted.count && !wanted.weight) return;
  if (list->count >= 0) {
    if (team.is_leader()) {
      const auto kept = [&](uint64_t key) { return uint64_t(known.keeps(key)); };
      const auto kept_weight = [&](uint64_t key) {
        return known.keeps(key) ? contract::weight(known.scale, RankOrder::value(key)) : 0;
      };
      count = list_sum(team.ctx, team.shared.list, list->count, kept);
      weight = list_sum(team.ctx, team.shared.list, list->count, kept_weight);
    }
  } else {
    WarpSums sums = weighed.sums;
    if (weighed.cut != known.cut) {
      sums = weigh(team.ctx, row, known.scale, known.cut, team.shared.cut.tile_sums, wanted);
    }
    count = team.ctx.block_sum(sums.count);
    weight = team.ctx.block_sum(team.ctx.lane() == 0 ? sums.weight : 0);
    distribution->warp_weight = sums.weight;
  }
  const uint64_t values[] = {count, weight};
  const Exchanged all = team.exchange(values);
  distribution->kept_count = int64_t(all.sum(0));
  distribution->kept_weight = all.sum(1);
  distribution->normalizer = contract::normalizer(distribution->kept_weight);
}

// The distribution of all tokens of a good row.
template <class Context, class Row>
SAMPLER_DEVICE Distribution unfiltered_distribution(Team<Context> &team, const Row &row,
                                                    const RowSummary &summary, float temperature,
                                                    Wanted wanted = {false, true}) {
  const float max = contract::value_of_rank(summary.first);
  ListState no_list;
  Distribution result;
  result.greedy = false;
  result.scale = contract::row_scale(row.kind(), max, temperature);
  result.cut = contract::lowest_cut(row.kind());
  add_kept(team, row, &result, &no_list, wanted);
  return result;
}

// The row and the parameters must be good. On return the list covers the kept tokens or is void.
template <class Context, class Row>
SAMPLER_DEVICE Distribution make_distribution(Team<Context> &team, const Row &row,
                                              const RowSummary &summary,
                                              const RowParameters &parameters,
                                              const FilterRules &rules, ListState *list,
                                              Wanted wanted = {false, true}) {
  if (contract::is_greedy(parameters.temperature)) {
    const float max = contract::value_of_rank(summary.first);
    Distribution result;
    result.greedy = true;
    result.scale = contract::row_scale(row.kind(), max, 1.0f);
    result.cut = first_token(team, row, summary);
    result.kept_count = 1;
    result.kept_weight = contract::weight(result.scale, max);
    result.normalizer = contract::normalizer(result.kept_weight);
    result.warp_weight = 0;
    return result;
  }
  if (!contract::any_filter_is_on(parameters)) {
    return unfiltered_distribution(team, row, summary, parameters.temperature, wanted);
  }
  const float max = contract::value_of_rank(summary.first);
  const bool at_1 = rules.temperature_order == SAMPLER_TEMPERATURE_LAST;
  const float filtered_at = at_1 ? 1.0f : parameters.temperature;
  const RowScale scale = contract::row_scale(row.kind(), max, filtered_at);
  TeamFilters<Context, Row> filters(team, row, summary, scale, list, wanted);
  Distribution result;
  result.cut = contract::filtered_prefix(filters, parameters, rules);
  result.greedy = false;
  result.scale = contract::row_scale(row.kind(), max, parameters.temperature);
  add_kept(team, row, &result, list, filters.wanted(), filters.weighed(result.scale));
  return result;
}

// The weight of the whole row at temperature 1.
template <class Context, class Row>
SAMPLER_DEVICE_CALL uint64_t total_weight(Team<Context> &team, const Row &row,
                                          const RowSummary &summary) {
  const RowScale scale =
      contract::row_scale(row.kind(), contract::value_of_rank(summary.first), 1.0f);
  return weight_of_row(team, row, scale, contract::lowest_cut(row.kind()));
}

}  // namespace sampler::kernels
