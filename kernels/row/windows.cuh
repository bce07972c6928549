// The windows (truncations) of a row's stages, by a team: queries are answered by passes over the
// row. CPU twin: src/cpu/simd/row_windows.
//
// All threads of the team walk through the stages together and get the same answers. A place is a
// position in rank order. The places of the windows' last ends are cached with their cuts; tokens
// at other places are selected.
#pragma once

#include <cstdint>
#include <type_traits>

#include "contract/collision.h"
#include "contract/deviation.h"
#include "contract/entropy.h"
#include "contract/filters.h"
#include "contract/rank.h"
#include "contract/weight.h"
#include "contract/window_walk.h"
#include "contract/windows.h"
#include "machine/team.cuh"
#include "row/distribution.cuh"
#include "row/entropy.cuh"
#include "row/ranks.cuh"
#include "row/row.cuh"
#include "row/selection.cuh"
#include "stages/staged.h"

namespace sampler::kernels {

template <class Context>
class TeamWindows {
 public:
  using Row = TeamRow<Context, StoredRow>;
  using Window = contract::Window;

  // Tokens whose rank is in [cut, first].
  struct Ranks {
    Rank cut;
    Rank first;

    SAMPLER_HD bool has(Rank rank) const { return cut <= rank && rank <= first; }
  };

  // For a loaded, good row, or its first `wanted` tokens if group_max is a rank that that many
  // reach. `head` has room for kHead ranks.
  SAMPLER_DEVICE TeamWindows(Team<Context> &team, const Row &row, const RowSummary &summary,
                             int wanted, Rank *head)
      : team_(team),
        row_(row),
        summary_(summary),
        row_first_(first_token(team, row, summary)),
        head_(head) {
    summary_.first = row_first_;
    const Rank lowest = contract::lowest_cut(row.kind());
    if (wanted < row.count() && summary.group_max > lowest) {
      count_ = wanted;
      remember(wanted, select_first(summary.group_max, wanted));
    } else {
      count_ = end_of(lowest);
    }
  }

  // Number of tokens.
  SAMPLER_DEVICE int64_t count() const { return count_; }

  SAMPLER_DEVICE Ranks ranks(Window seen) {
    const Rank cut = look_at(seen);
    return {cut, summary_.first};
  }

  // ---- Queries of contract::RankedWindows and WindowWalk

  SAMPLER_DEVICE_CALL float value(int64_t place) {
    if (place == base_) return contract::value_of_rank(summary_.first);
    if (place == begin_.place) return contract::value_of_rank(begin_.first);
    for (const End &known : ends_) {
      if (known.place == place + 1) return known.least;
    }
    if (place - base_ >= kHead || place < base_) return contract::value_of_rank(rank(place));
    if (head_begin_ != base_) list_head();
    return contract::value_of_rank(head_[place - base_]);
  }

  SAMPLER_DEVICE_CALL uint64_t weight(const RowScale &row_scale, Window seen) {
    return weight_from(row_scale, look_at(seen));
  }

  SAMPLER_DEVICE_CALL contract::EntropySums sums(const RowScale &row_scale, Window seen) {
    const Rank cut = look_at(seen);
    if (!begins_later()) return entropy_sums_of_row(team_, row_, row_scale, cut);
    const RowScale scale = row_scale;
    contract::EntropySums own;
    for_each_run(cut, [&](const float(&x)[kRun], float) { add_entropy(scale, x, &own); });
    return sum_of_team(team_, own);
  }

  SAMPLER_DEVICE_CALL contract::CollisionSums collisions(const RowScale &row_scale, Window seen) {
    const Rank cut = look_at(seen);
    const RowScale scale = row_scale;
    contract::CollisionSums own;
    // Padding and other tokens are -inf or 0, and weigh nothing.
    for_each_run(cut, [&](const float(&x)[kRun], float) {
      for (int i = 0; i < kRun; ++i) own.add(contract::relative_probability(scale, x[i]));
    });
    const uint64_t values[] = {team_.ctx.block_sum(own.weight), team_.ctx.block_sum(own.high),
                               team_.ctx.block_sum(uint64_t(own.cross)),
                               team_.ctx.block_sum(own.low)};
    const Exchanged all = team_.exchange(values);
    return {all.sum(0), all.sum(1), int64_t(all.sum(2)), all.sum(3)};
  }

  SAMPLER_DEVICE_CALL contract::DeviationSums deviations(const RowScale &row_scale,
                                                         const contract::DeviationScale &unit,
                                                         Window seen) {
    const Rank cut = look_at(seen);
    const RowScale scale = row_scale;
    const contract::DeviationScale by = unit;
    contract::DeviationSums own;
    for_each_run(cut, [&](const float(&x)[kRun], float nothing) {
      for (int i = 0; i < kRun; ++i) {
        const uint32_t deviation = contract::deviation(by, contract::sigma_value(scale, x[i]));
        own.add(x[i] > nothing ? deviation : 0);
      }
    });
    const uint64_t values[] = {team_.ctx.block_sum(own.sum), team_.ctx.block_sum(own.squares)};
    const Exchanged all = team_.exchange(values);
    return {all.sum(0), all.sum(1)};
  }

  template <class Holds>
  SAMPLER_DEVICE_CALL int64_t count_while(Window seen, const Holds &holds) {
    const Rank cut = look_at(seen);
    const uint32_t low = contract::key_of_rank(cut), high = contract::key_of_rank(summary_.first);
    const uint32_t key = first_key(low, high, holds);
    if (key > high) return 0;
    return key == low ? seen.count() : end_of(contract::rank_of_key(key)) - seen.begin;
  }

  SAMPLER_DEVICE_CALL int64_t top_p(const RowScale &row_scale, contract::Share share, Window seen) {
    const Rank cut = look_at(seen);
    const RowScale scale = row_scale;
    const uint64_t target = contract::top_p_threshold(share, weight_from(scale, cut));
    const Rank last = select(cut, summary_.first, target, WeightOfRank{scale});
    return end_at(last) - seen.begin;
  }

  SAMPLER_DEVICE_CALL Window nearest(const contract::Typical &rule, Window seen) {
    const Rank cut = look_at(seen);
    const Window kept =
        nearest_by(rule, cut, seen, rule.threshold, WeightOfRank{rule.row}, rule.ties);
    const int64_t least = rule.min_keep < seen.count() ? rule.min_keep : seen.count();
    if (kept.count() >= least) return kept;
    return nearest_by(rule, cut, seen, uint64_t(least), CountTokens(), SAMPLER_TIES_EXACT);
  }

 private:
  // The tokens before `place` are those that `cut` keeps; `least` is the value of the last one.
  struct End {
    int64_t place = -1;
    Rank cut = 0;
    float least = 0.0f;
    bool is_last = false;  // the cut is the rank of the last one
  };
  struct Begin {
    int64_t place = -1;
    Rank first = 0;
  };

  struct WeightOfRank {
    RowScale scale;

    SAMPLER_HD uint64_t operator()(Rank rank) const {
      return contract::weight(scale, contract::value_of_rank(rank));
    }
  };

  // ---- Passes

  // Calls f(x, nothing) for each run of the tokens from `from` up, in the whole warp; `nothing`
  // replaces other elements and tokens before the first one seen.
  template <class F>
  SAMPLER_DEVICE void for_each_run(Rank from, const F &f) const {
    const Cut cut = Cut::of(row_, from);
    const Rank first = summary_.first;
    const float most = contract::value_of_rank(first);
    const bool begins_later = this->begins_later();
    row_.template for_each_run<Starts::kFromRegisters>(
        cut.lowest, [&](const Row &row, int tile, int begin, float(&x)[kRun]) {
          cut.apply(row, tile, begin, x);
          if (begins_later) {
            for (int i = 0; i < kRun; ++i) {
              const bool is_near = x[i] >= most && row.is_in_row(row.index_of(tile, begin + i));
              const uint32_t id = is_near ? row.id(row.index_of(tile, begin + i)) : 0;
              if (is_near && contract::rank_of(x[i], id) > first) x[i] = cut.nothing;
            }
          }
          f(x, cut.nothing);
        });
  }

  SAMPLER_DEVICE bool begins_later() const { return summary_.first != row_first_; }

  SAMPLER_DEVICE_CALL uint64_t weight_from(const RowScale &row_scale, Rank cut) const {
    if (!begins_later()) return weight_of_row(team_, row_, row_scale, cut);
    const RowScale scale = row_scale;
    uint64_t own = 0;
    for_each_run(cut, [&](float(&x)[kRun], float) {
      make_relative(scale, x, [](const RowScale &s, float value) {
        return contract::relative_for_weight(s, value);
      });
      contract::WeightSum sum;
      for (int i = 0; i < kRun; ++i) sum.add(x[i]);
      own += sum.of(kRun);
    });
    return team_.sum(own);
  }

  // Number of tokens from a rank up; that may be the last one's.
  SAMPLER_DEVICE_CALL int64_t count_from(Rank from, float *least) const {
    uint64_t own = 0;
    float lowest = contract::float_of(contract::kInfinityBits);
    for_each_run(from, [&](const float(&x)[kRun], float nothing) {
      for (int i = 0; i < kRun; ++i) {
        own += x[i] > nothing;
        lowest = Context::smaller(lowest, x[i] > nothing ? x[i] : lowest);
      }
    });
    const uint64_t values[] = {team_.ctx.block_sum(own),
                               team_.ctx.block_max(uint32_t(~contract::value_key(lowest)))};
    const Exchanged all = team_.exchange(values);
    *least = contract::value_of_key(~uint32_t(all.max(1)));
    return int64_t(all.sum(0));
  }

  // Measure of the tokens from a rank up whose values' keys are at most `last`.
  template <class Measure>
  SAMPLER_DEVICE_CALL uint64_t measure_between(Rank from, uint32_t last,
                                               const Measure &measure_of) const {
    const Measure measure = measure_of;
    const float most = contract::value_of_key(last);
    uint64_t own = 0;
    for_each_run(from, [&](const float(&x)[kRun], float nothing) {
      for (int i = 0; i < kRun; ++i) {
        const uint64_t measured = measure(contract::rank_of(x[i], 0));
        own += x[i] > nothing && x[i] <= most ? measured : 0;
      }
    });
    return team_.sum(own);
  }

  // ---- Selection
  //
  // Nobody reads the number of listed tokens, so no barrier is needed between searches.

  // The token at which the running measure from `high` down reaches the target; that of the tokens
  // from `low` up must.
  template <class Measure>
  SAMPLER_DEVICE_CALL Rank select(Rank low, Rank high, uint64_t target, const Measure &measure) {
    const Search search = {low, high < summary_.first ? high : summary_.first,
                           target > 0 ? target : 1, kBinLimit};
    return select_key<RankOrder>(team_, row_, search, measure).key;
  }

  SAMPLER_DEVICE_CALL Rank select_first(Rank reached, int wanted) {
    const Search search = {reached, summary_.first, uint64_t(wanted), list_limit(wanted)};
    return select_top(team_, row_, search).key;
  }

  // The lowest key in [low, high] for whose value `holds` is true, as it must be for all larger
  // ones; high + 1 if none.
  template <class Holds>
  SAMPLER_DEVICE uint32_t first_key(uint32_t low, uint32_t high, const Holds &holds) const {
    if (low > high || !holds(contract::value_of_key(high))) return high + 1;
    while (low < high) {
      const uint32_t middle = low + (high - low) / 2;
      if (holds(contract::value_of_key(middle))) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  // ---- Places

  SAMPLER_DEVICE void remember(const End &end) {
    for (const End &known : ends_) {
      if (known.place == end.place) return;
    }
    for (int i = kRemembered - 1; i > 0; --i) ends_[i] = ends_[i - 1];
    ends_[0] = end;
  }
  SAMPLER_DEVICE void remember(int64_t place, Rank last) {
    remember(End{place, last, contract::value_of_rank(last), true});
  }

  // The place after all tokens from a rank up.
  SAMPLER_DEVICE int64_t end_of(Rank from) {
    End end;
    end.cut = from;
    end.place = base_ + count_from(from, &end.least);
    remember(end);
    return end.place;
  }
  // The place after the token of this rank.
  SAMPLER_DEVICE int64_t end_at(Rank last) {
    float least;
    const int64_t place = base_ + count_from(last, &least);
    remember(place, last);
    return place;
  }

  SAMPLER_DEVICE_CALL Rank rank(int64_t place) {
    if (place == 0) return row_first_;
    if (place == begin_.place) return begin_.first;
    for (const End &known : ends_) {
      if (known.place == place + 1 && known.is_last) return known.cut;
    }
    if (place < base_) restart();
    const Rank last = select(contract::lowest_cut(row_.kind()), summary_.first,
                             uint64_t(place + 1 - base_), CountTokens());
    remember(place + 1, last);
    return last;
  }

  SAMPLER_DEVICE Rank cut_at(int64_t end) {
    for (const End &known : ends_) {
      if (known.place == end) return known.cut;
    }
    return rank(end - 1);
  }

  // Sets the row's first token to a window's; returns its cut. Before passes over the window.
  SAMPLER_DEVICE Rank look_at(Window seen) {
    if (seen.begin != base_) {
      summary_.first = rank(seen.begin);
      base_ = seen.begin;
    }
    return cut_at(seen.end);
  }

  SAMPLER_DEVICE void restart() {
    summary_.first = row_first_;
    base_ = 0;
  }

  SAMPLER_DEVICE void list_head() {
    const Rank lowest = contract::lowest_cut(row_.kind());
    list_in_rank_order(team_, row_, summary_, lowest, 0, kHead,
                       [head = head_](int place, Rank rank) { head[place] = rank; });
    team_.ctx.team_sync();
    head_begin_ = base_;
  }

  // ---- Typical-p

  // A distance from the mean, as monotone bits, and the rest of a target there.
  struct Level {
    uint32_t bits;
    uint64_t target;
  };

  SAMPLER_HD static uint32_t level_of(const contract::Typical &rule, float x) {
    return contract::bits_of(rule.distance(x) + 0.0f);
  }

  // The level of the token at which the running measure, by distance, reaches the target. A
  // histogram resolves eleven bits.
  template <class Measure>
  SAMPLER_DEVICE_CALL Level find_level(const contract::Typical &typical, Rank cut, uint64_t target,
                                       const Measure &measure_of) {
    constexpr bool kCounts = std::is_same_v<Measure, CountTokens>;
    const contract::Typical rule = typical;
    const Measure measure = measure_of;
    Context &ctx = team_.ctx;
    TeamShared &shared = team_.shared;
    KeyRange range = {0, 0, target, 0, 0};
    uint32_t low = 0;
    for (int shift = 31 - kBinBits;; shift = shift > kBinBits ? shift - kBinBits : 0) {
      clear_bins(ctx, shared);
      for_each_run(cut, [&](const float(&x)[kRun], float nothing) {
        for (int i = 0; i < kRun; ++i) {
          const uint32_t level = x[i] > nothing ? level_of(rule, x[i]) : 0;
          const bool is_in =
              x[i] > nothing && level >= low && (level - low) >> shift < uint32_t(kBins);
          const int bin = is_in ? kBins - 1 - int((level - low) >> shift) : kNoBin;
          const uint64_t own = is_in && !kCounts ? measure(contract::rank_of(x[i], 0)) : 0;
          add_to_bins<Measure>(ctx, shared, is_in, bin, x[i], own, false);
        }
      });
      const FoundBin found =
          find_bin(team_, kCounts, {false, {}, range.target}, BinnedKeys(), 0, &range);
      low += uint32_t(kBins - 1 - found.bin) << shift;
      if (shift == 0) return {low, range.target};
    }
  }

  // The window of the tokens nearest to the mean that together reach the target.
  template <class Measure>
  SAMPLER_DEVICE_CALL Window nearest_by(const contract::Typical &typical, Rank cut, Window seen,
                                        uint64_t target, const Measure &measure,
                                        sampler_tie_rule ties) {
    const contract::Typical rule = typical;
    const Level level = find_level(rule, cut, target, measure);
    const float most = contract::float_of(level.bits);
    const uint32_t low = contract::key_of_rank(cut), high = contract::key_of_rank(summary_.first);
    const auto key_of = [&](const auto &holds) { return first_key(low, high, holds); };
    const auto from = [cut](uint32_t key) {
      const Rank rank = contract::rank_of_key(key);
      return rank > cut ? rank : cut;
    };
    const uint32_t beyond = key_of([&](float x) { return rule.excess(x) > most; });
    const uint32_t as_near = key_of([&](float x) { return -rule.excess(x) <= most; });
    if (ties == SAMPLER_TIES_KEEP) {
      const int64_t begin = seen.begin + count_before(beyond);
      return {begin, end_of(from(as_near))};
    }
    // The likelier tokens at this distance come first, the last of them in rank order foremost.
    const uint32_t nearer =
        key_of([&](float x) { return rule.excess(x) > 0.0f || -rule.excess(x) < most; });
    const uint32_t likelier =
        key_of([&](float x) { return rule.excess(x) > 0.0f && rule.excess(x) >= most; });
    const uint64_t measured =
        likelier < beyond ? measure_between(from(likelier), beyond - 1, measure) : 0;
    if (measured >= level.target) {
      const Rank first = select(from(likelier), contract::rank_of_key(beyond) - 1,
                                measured - level.target + 1, measure);
      float least;
      begin_ = {seen.begin + count_from(first, &least) - 1, first};
      return {begin_.place, end_of(from(nearer))};
    }
    const Rank last =
        select(from(as_near), contract::rank_of_key(nearer) - 1, level.target - measured, measure);
    const int64_t begin = seen.begin + count_before(beyond);
    return {begin, end_at(last)};
  }

  // Number of tokens with values above those of a key.
  SAMPLER_DEVICE int64_t count_before(uint32_t key) const {
    if (key > contract::key_of_rank(summary_.first)) return 0;
    float least;
    return count_from(contract::rank_of_key(key), &least);
  }

  static constexpr int kRemembered = 3;

  Team<Context> &team_;
  const Row &row_;
  RowSummary summary_;  // of the window seen
  Rank row_first_;
  Rank *head_;               // the first tokens in rank order
  int64_t head_begin_ = -1;  // place of the head's first token
  int64_t count_ = 0;
  int64_t base_ = 0;  // place of the first token seen
  End ends_[kRemembered];
  Begin begin_;
};

// The tokens of a row as contract::RankedWindows queries them.
template <class Context>
struct TeamTokens {
  TeamWindows<Context> *windows;

  SAMPLER_DEVICE float value(int64_t place) const { return windows->value(place); }
};

}  // namespace sampler::kernels

namespace sampler::contract {

template <class Context>
class WindowWalk<kernels::TeamTokens<Context>> {
 public:
  SAMPLER_DEVICE explicit WindowWalk(const kernels::TeamTokens<Context> &tokens)
      : windows_(*tokens.windows) {}

  SAMPLER_DEVICE uint64_t weight(const RowScale &row, Window seen) const {
    return windows_.weight(row, seen);
  }
  SAMPLER_DEVICE EntropySums sums(const RowScale &row, Window seen) const {
    return windows_.sums(row, seen);
  }
  SAMPLER_DEVICE CollisionSums collisions(const RowScale &row, Window seen) const {
    return windows_.collisions(row, seen);
  }
  SAMPLER_DEVICE DeviationSums deviations(const RowScale &row, const DeviationScale &unit,
                                          Window seen) const {
    return windows_.deviations(row, unit, seen);
  }
  template <class Holds>
  SAMPLER_DEVICE int64_t count_while(Window seen, const Holds &holds) const {
    return windows_.count_while(seen, holds);
  }
  SAMPLER_DEVICE int64_t top_p(const RowScale &row, Share share, Window seen) const {
    return windows_.top_p(row, share, seen);
  }
  SAMPLER_DEVICE Window nearest(const Typical &rule, Window seen) const {
    return windows_.nearest(rule, seen);
  }

 private:
  kernels::TeamWindows<Context> &windows_;
};

}  // namespace sampler::contract
