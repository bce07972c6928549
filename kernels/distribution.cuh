// What a row's temperature and filters make of it, by a team: the twin of src/cpu/distribution.
#pragma once

#include <cstdint>
#include <type_traits>

#include "contract/distribution.h"
#include "contract/elements.h"
#include "contract/filters.h"
#include "contract/rank.h"
#include "contract/request.h"
#include "contract/weight.h"
#include "plan.h"
#include "row.cuh"
#include "selection.cuh"
#include "team.cuh"

namespace sampler::kernels {

using contract::FilterRules;
using contract::RowParameters;
using contract::RowScale;

struct Distribution : contract::Distribution {
  int64_t kept_count;
  // Where the list does not cover the kept tokens: what this warp's tiles weigh of them. The
  // block's tile sums hold what each does.
  uint64_t warp_weight;
};

// What the first pass over a row finds.
struct RowSummary {
  uint32_t status;
  Rank first;      // of the first token in rank order
  Rank group_max;  // that so many groups reach as were wanted; 0: not known
  Rank lowest;     // that all tokens reach
};

// Whether a candidate id is out of range or stands twice. Few ids are sorted in the leader's list;
// for more each team has a bitmap of kIdWords words in the workspace.
template <class Context, class Row>
SAMPLER_DEVICE_CALL bool has_bad_ids(Team<Context> &team, const Row &row, uint32_t *bitmap) {
  Context &ctx = team.ctx;
  const int thread = ctx.cluster_rank() * Context::kThreads + ctx.thread();
  const int num_threads = ctx.team_size() * Context::kThreads;
  bool out_of_range = false;
  for (int i = thread; i < row.count(); i += num_threads) {
    const int64_t id = row.source().id(i);
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
    for (int64_t i = thread; i < kIdWords; i += num_threads) bitmap[i] = 0;
    ctx.team_sync();
    row.for_each([&](float, int index) {
      const uint32_t id = row.id(index);
      const uint32_t bit = uint32_t(1) << (id % 32);
      const uint32_t before = ctx.atomic_or(&bitmap[id / 32], bit);
      duplicate = duplicate || (before & bit) != 0;
    });
  }
  return team.sum(duplicate ? 1 : 0) != 0;
}

// The first token in rank order, of those whose value has the rank's.
template <class Context, class Row>
SAMPLER_DEVICE_CALL Rank first_of_value(Team<Context> &team, const Row &row, Rank rank) {
  Rank first = 0;
  row.template for_each_between<RankOrder>(contract::cut_with_ties(rank), rank | ~uint32_t(0),
                                           kNoLastIndex, [&](bool is_in, uint64_t key) {
                                             if (is_in && key > first) first = key;
                                             return true;
                                           });
  return team.max(first);
}

// The largest of 2^20 evenly spaced keys that at least `wanted` threads' own keys reach, one bit
// after the other; 0 if fewer threads than that have a key.
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

// The least of the threads' keys that at least `wanted` of them reach, but for its lowest bits; 0
// if fewer have a key.
template <class Context>
SAMPLER_DEVICE uint32_t key_that_reach(Context &ctx, uint32_t own, int wanted) {
  if (wanted == 1) return uint32_t(ctx.block_max(own));
  const uint32_t reached = nth_largest_key(ctx, own, wanted);
  return ~uint32_t(ctx.block_max(own >= reached ? ~own : 0));
}

// What a block finds in its part of a row.
struct PartSummary {
  Rank first;
  uint32_t reached;  // key that at least so many of its tokens reach as were wanted; 0: not known
  uint32_t lowest_upside_down;  // key of the lowest value
  uint32_t num_bad_values;      // of threads that have any
};

// Reads the block's part. Each thread stands for the elements it read, with its largest: if n
// threads' largest reach a value, n tokens do. Where the row has ids the place says nothing of
// them, and the first token is known by its value alone.
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

// Reads the row: checks it, finds its first token, and a rank that at least `num_maxima` tokens
// reach (0: not wanted).
template <class Context, class Row>
SAMPLER_DEVICE_CALL RowSummary load_row(Team<Context> &team, Row &row, int num_maxima,
                                        uint32_t *bitmap,
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
  if (is_listed && has_bad_ids(team, row, bitmap)) {
    result.status = SAMPLER_ROW_INVALID_CANDIDATE;
  } else if (any_bad_value) {
    result.status = SAMPLER_ROW_INVALID_VALUE;
  } else {
    if (is_listed) result.first = first_of_value(team, row, result.first);
    result.status = contract::check_first(row.kind(), result.first, use);
  }
  return result;
}

// Tokens of a histogram's bin that are listed rather than divided among bins once more.
constexpr int kBinLimit = 256;

// How many tokens top-k may list for the k that it keeps: half as many more leave a histogram's bin
// room at their end, and no more than that are worth sorting. More than the list can hold: a bin's.
SAMPLER_HD inline int list_limit(int k) {
  if (k > kListCapacity * 2 / 3) return kBinLimit;
  int limit = 128;
  while (limit < k + k / 2) limit *= 2;
  return limit;
}

// The value of the token at `rank`, which the row has, as it stands there: a rank knows no -0. All
// of the team call it.
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

// The measure of top-p, for what only asks whether it is one.
struct Weight {};

// What a cut keeps of a tile, told by the values alone but for the tile with the cut's id.
struct Cut {
  float lowest;      // of the values that it keeps
  uint32_t last_id;  // of those equal to it
  float nothing;

  template <class Row>
  SAMPLER_DEVICE static Cut of(const Row &row, Rank rank) {
    return {contract::value_of_rank(rank), contract::id_of_rank(rank), row.nothing()};
  }

  // Puts `nothing` in place of what is not kept. The result is how many elements are.
  template <class Row>
  SAMPLER_DEVICE int apply(const Row &row, int tile, int first, float (&x)[kRun]) const {
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
    int count = 0;
    for (int i = 0; i < kRun; ++i) {
      const bool is_kept = x[i] >= low;
      x[i] = is_kept ? x[i] : nothing;
      count += is_kept;
    }
    return count;
  }
};

// Makes a run's values relative probabilities by `relative`, which is contract's function of one:
// the kind is asked for once.
template <class Relative>
SAMPLER_DEVICE void make_relative(const RowScale &scale, float (&x)[kRun],
                                  const Relative &relative) {
  if (scale.kind == SAMPLER_LOGITS) {
    const RowScale of_logits = {SAMPLER_LOGITS, scale.max, scale.scale, 0};
    for (int i = 0; i < kRun; ++i) x[i] = relative(of_logits, x[i]);
  } else {
    const RowScale of_probabilities = {SAMPLER_PROBABILITIES, scale.max, 0.0f, scale.exponent};
    for (int i = 0; i < kRun; ++i) x[i] = relative(of_probabilities, x[i]);
  }
}

// What a warp finds kept of its part of a row.
struct WarpSums {
  uint64_t weight;  // the same in all lanes
  uint32_t count;   // of this lane's elements
};

// Adds up the kept weights of this warp's tiles, and leaves each tile's in `tile_sums` unless that
// is null. A tile's sum is touched by one lane, which find_in_warp knows.
template <class Context, class Row>
SAMPLER_DEVICE_CALL WarpSums weigh(Context &ctx, const Row &row, const RowScale &row_scale,
                                   Rank rank, uint64_t *tile_sums) {
  const RowScale scale = row_scale;
  const Cut cut = Cut::of(row, rank);
  const int first_tile = row.tiles().begin, num_tiles = row.tiles().end - first_tile;
  uint64_t *own_sums = tile_sums ? tile_sums + row.first_of_block() : nullptr;
  if (own_sums) {
    for (int i = ctx.lane(); i < num_tiles; i += 32) own_sums[i] = 0;
  }
  WarpSums sums = {0, 0};
  uint64_t of_tile = 0;  // this lane's
  row.for_each_run(cut.lowest, [&](const Row &row_, int tile, int first, float(&x)[kRun]) {
    sums.count += uint32_t(cut.apply(row_, tile, first, x));
    make_relative(scale, x, [](const RowScale &s, float value) {
      return contract::relative_for_weight(s, value);
    });
    contract::WeightSum own;
    for (int i = 0; i < kRun; ++i) own.add(x[i]);
    of_tile += own.of(kRun);
    if (first + kRun < kGroup) return;
    const uint64_t weight = ctx.warp_sum(of_tile);
    of_tile = 0;
    sums.weight += weight;
    const int place = tile - first_tile;
    if (own_sums && place % 32 == ctx.lane()) own_sums[place] = weight;
  });
  return sums;
}

// The weight of what a cut keeps of the row.
template <class Context, class Row>
SAMPLER_DEVICE uint64_t weight_of_row(Team<Context> &team, const Row &row, const RowScale &scale,
                                      Rank cut) {
  const uint64_t weight = weigh(team.ctx, row, scale, cut, nullptr).weight;
  return team.sum(team.ctx.lane() == 0 ? weight : 0);
}

// Puts the block's tokens of values from `low` up into its bins, by what they weigh. The result is
// what this thread's of all that is `seen` weigh.
template <class Context, class Row>
SAMPLER_DEVICE uint64_t fill_bins(Team<Context> &team, const Row &row, const RowScale &row_scale,
                                  Rank seen, float low, const WeightBins &bins) {
  Context &ctx = team.ctx;
  TeamShared &shared = team.shared;
  const RowScale scale = row_scale;
  const Cut cut = Cut::of(row, seen);
  const int first_tile = row.tiles().begin;
  clear_bins(ctx, shared);
  uint64_t total = 0;
  HeldBin held;
  row.for_each_run(cut.lowest, [&](const Row &row_, int tile, int first, float(&x)[kRun]) {
    cut.apply(row_, tile, first, x);
    const bool looks = first == 0 && (tile - first_tile) % (int(kRoundsToALook) / kGroup) == 0;
    contract::WeightSum own;
    for (int i = 0; i < kRun; ++i) {  // one after the other: there are no registers for all
      const bool is_heavy = x[i] >= low;
      const float relative = contract::relative_for_weight(scale, x[i]);
      own.add(relative);
      if (ctx.ballot(is_heavy) == 0) continue;
      add_to_bins_or_hold<Weight>(ctx, shared, is_heavy, is_heavy ? bins.bin_of(x[i]) : kNoBin,
                                  contract::weight_of(relative), looks && i == 0, &held);
    }
    total += own.of(kRun);
  });
  add_held<Weight>(ctx, shared, held);
  return total;
}

// Narrows a range of ranks to the bin in which the running weight, from the highest rank down,
// reaches top-p's share of the weight of all that is `seen`: one pass finds both. The result is
// what it reaches.
template <class Context, class Row>
SAMPLER_DEVICE_CALL uint64_t narrow_by_weight(Team<Context> &team, const Row &row,
                                              const RowScale &row_scale, Rank seen, float share,
                                              KeyRange *range) {
  const WeightBins bins =
      WeightBins::of(*range, RankOrder::unused_bits(row), row.kind() == SAMPLER_LOGITS);
  const uint64_t total =
      fill_bins(team, row, row_scale, seen, contract::value_of_rank(range->low), bins);
  const BinnedKeys keys = {~uint64_t(0), ~uint64_t(0), total};
  const FoundBin found = find_bin(team, false, {true, share, 0}, keys, range);
  found.narrow(team.ctx, bins, range);
  return found.target;
}

// The row that contract::filtered_prefix asks. A prefix is its cut.
template <class Context, class Row>
class TeamFilters {
 public:
  SAMPLER_DEVICE TeamFilters(Team<Context> &team, const Row &row, const RowSummary &summary,
                             const RowScale &scale, ListState *list)
      : team_(team), row_(row), summary_(summary), scale_(scale), list_(*list) {}

  SAMPLER_DEVICE Rank everything() const { return contract::lowest_cut(row_.kind()); }
  SAMPLER_DEVICE Rank shorter(Rank a, Rank b) const { return a > b ? a : b; }

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

  SAMPLER_DEVICE_CALL Rank top_p(float p, sampler_tie_rule ties, Rank seen) {
    const RowScale scale = scale_;
    const auto weight = [scale](uint64_t key) {
      return contract::weight(scale, RankOrder::value(key));
    };
    Search search = {seen, summary_.first, 1, kBinLimit, ties == SAMPLER_TIES_KEEP};
    if (list_.covers(seen)) {
      search.target = Target{true, p, 0}.of(listed_weight(seen, weight));
      return with_ties(find(search, weight), ties, seen);
    }
    search.low = lowest_of_top_p(p, seen);
    KeyRange range = {search.low, search.high, 0, row_.count(), 0};
    search.target = narrow_by_weight(team_, row_, scale, seen, p, &range);
    const Selected selected = select_key_in<RankOrder>(team_, row_, search, range, true, weight);
    list_ = {selected.listed, selected.floor};
    return with_ties(selected.key, ties, seen);
  }

  SAMPLER_DEVICE_CALL Rank min_p(float p, Rank seen) {
    return lowest_rank(seen, contract::min_p_threshold(p, contract::weight(scale_, scale_max())));
  }

  // From where on top-p may cut. The first token is seen. All tokens lighter than this together
  // weigh no more than the filter may cut off.
  SAMPLER_DEVICE Rank lowest_of_top_p(float p, Rank seen) {
    const uint64_t least = contract::weight(scale_, scale_max());
    const uint64_t light = (least - contract::top_p_threshold(p, least)) / uint64_t(row_.count());
    const Rank low = lowest_rank(seen, light);
    return low < summary_.lowest ? summary_.lowest : low;
  }

 protected:
  SAMPLER_DEVICE float scale_max() const { return contract::value_of_rank(summary_.first); }

  SAMPLER_DEVICE Rank with_ties(Rank last, sampler_tie_rule ties, Rank seen) const {
    if (ties == SAMPLER_TIES_EXACT) return last;
    return shorter(contract::cut_with_ties(last), seen);
  }

  // The rank from which on the seen tokens weigh at least `weight`, which the first one does.
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

  // As select_key, in the list where that is enough. On return the list is one of the tokens
  // searched, or void.
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
      // A list that reaches no lower than `low` may end before the target.
      if (result.of(1, 0) != 0 || list_.covers(low)) return result.of(0, 0);
    }
    const Selected selected = select(search, measure);
    list_ = {selected.listed, selected.floor};
    return selected.key;
  }

  template <class Measure>
  SAMPLER_DEVICE Selected select(const Search &search, const Measure &measure) {
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
};

// How many group maxima are to reach group_max: as many as the first filter keeps tokens.
SAMPLER_HD inline int wanted_group_maxima(const RowParameters &parameters, int count) {
  const bool greedy = contract::is_greedy(parameters.temperature);
  return !greedy && parameters.top_k > 0 && parameters.top_k < count ? parameters.top_k : 0;
}

// Adds up what a cut keeps, and completes the distribution. On return the list covers the kept
// tokens or is void.
template <class Context, class Row>
SAMPLER_DEVICE_CALL void add_kept(Team<Context> &team, const Row &row, Distribution *distribution,
                                  ListState *list) {
  const Distribution known = *distribution;
  uint64_t count = 0, weight = 0;
  distribution->warp_weight = 0;
  if (list->covers(known.cut)) {
    if (team.is_leader()) {
      const auto kept = [&](uint64_t key) { return uint64_t(known.keeps(key)); };
      const auto kept_weight = [&](uint64_t key) {
        return known.keeps(key) ? contract::weight(known.scale, RankOrder::value(key)) : 0;
      };
      count = list_sum(team.ctx, team.shared.list, list->count, kept);
      weight = list_sum(team.ctx, team.shared.list, list->count, kept_weight);
    }
  } else {
    list->count = -1;
    const WarpSums sums = weigh(team.ctx, row, known.scale, known.cut, team.shared.tile_sums);
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

// The distribution of all tokens. The row is good.
template <class Context, class Row>
SAMPLER_DEVICE Distribution unfiltered_distribution(Team<Context> &team, const Row &row,
                                                    const RowSummary &summary, float temperature) {
  ListState no_list;
  Distribution result;
  result.greedy = false;
  result.scale =
      contract::row_scale(row.kind(), contract::value_of_rank(summary.first), temperature);
  result.cut = contract::lowest_cut(row.kind());
  add_kept(team, row, &result, &no_list);
  return result;
}

// The row and the parameters are good. On return the list covers the kept tokens or is void.
template <class Context, class Row>
SAMPLER_DEVICE Distribution make_distribution(Team<Context> &team, const Row &row,
                                              const RowSummary &summary,
                                              const RowParameters &parameters,
                                              const FilterRules &rules, ListState *list) {
  if (contract::is_greedy(parameters.temperature)) {
    const float max = contract::value_of_rank(summary.first);
    Distribution result;
    result.greedy = true;
    result.scale = contract::row_scale(row.kind(), max, 1.0f);
    result.cut = summary.first;
    result.kept_count = 1;
    result.kept_weight = contract::weight(result.scale, max);
    result.normalizer = contract::normalizer(result.kept_weight);
    result.warp_weight = 0;
    return result;
  }
  if (!contract::any_filter_is_on(parameters)) {
    return unfiltered_distribution(team, row, summary, parameters.temperature);
  }
  const float max = contract::value_of_rank(summary.first);
  const bool at_1 = rules.temperature_order == SAMPLER_TEMPERATURE_LAST;
  const float filtered_at = at_1 ? 1.0f : parameters.temperature;
  const RowScale scale = contract::row_scale(row.kind(), max, filtered_at);
  TeamFilters<Context, Row> filters(team, row, summary, scale, list);
  Distribution result;
  result.cut = contract::filtered_prefix(filters, parameters, rules);
  result.greedy = false;
  result.scale = contract::row_scale(row.kind(), max, parameters.temperature);
  add_kept(team, row, &result, list);
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
