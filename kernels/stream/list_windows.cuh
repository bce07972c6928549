// Windows of a row whose first tokens a block's shared memory lists.
#pragma once

#include <cstdint>

#include "contract/collision.h"
#include "contract/deviation.h"
#include "contract/entropy.h"
#include "contract/filters.h"
#include "contract/weight.h"
#include "contract/window_walk.h"
#include "contract/windows.h"
#include "machine/device.cuh"
#include "stream/ranked_list.cuh"

namespace sampler::kernels {

// Number of first places in [low, high) for which `holds` is true, as for none after them.
template <class Holds>
SAMPLER_DEVICE int64_t count_of_places(int64_t low, int64_t high, const Holds &holds) {
  const int64_t begin = low;
  SAMPLER_KEEP_ROLLED
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (holds(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - begin;
}

// Sums over windows within the list, and their cuts. All functions are called by the whole block,
// with the same arguments in all threads.
template <class Context, class Shared>
class ListWindows {
 public:
  using Window = contract::Window;
  using List = RankedList<Context, Shared>;

  SAMPLER_DEVICE explicit ListWindows(const List &list) : list_(list) {}

  SAMPLER_DEVICE float value(int64_t place) const {
    return contract::value_of_rank(list_.shared.row.list[place]);
  }

  SAMPLER_DEVICE uint64_t weight(const contract::RowScale &row, Window seen) const {
    uint64_t sums[1];
    sum(seen, sums, WeightOf{row});
    return sums[0];
  }
  SAMPLER_DEVICE contract::EntropySums entropies(const contract::RowScale &row, Window seen) const {
    uint64_t sums[2];
    sum(seen, sums, EntropyOf{row});
    return {sums[0], sums[1]};
  }
  SAMPLER_DEVICE contract::CollisionSums collisions(const contract::RowScale &row,
                                                    Window seen) const {
    uint64_t sums[4];
    sum(seen, sums, CollisionOf{row});
    return {sums[0], sums[1], int64_t(sums[2]), sums[3]};
  }
  SAMPLER_DEVICE contract::DeviationSums deviations(const contract::RowScale &row,
                                                    const contract::DeviationScale &unit,
                                                    Window seen) const {
    uint64_t sums[2];
    sum(seen, sums, DeviationOf{row, unit});
    return {sums[0], sums[1]};
  }

  // What each sum adds of a token's value.
  struct WeightOf {
    contract::RowScale row;
    SAMPLER_DEVICE void operator()(float x, uint64_t (&own)[1]) const {
      own[0] += contract::weight(row, x);
    }
  };
  struct EntropyOf {
    contract::RowScale row;
    SAMPLER_DEVICE void operator()(float x, uint64_t (&own)[2]) const {
      const contract::EntropySums one = contract::entropy_sums(row, x);
      own[0] += one.weight;
      own[1] += one.surprise;
    }
  };
  struct CollisionOf {
    contract::RowScale row;
    SAMPLER_DEVICE void operator()(float x, uint64_t (&own)[4]) const {
      contract::CollisionSums one;
      one.add(contract::relative_probability(row, x));
      own[0] += one.weight;
      own[1] += one.high;
      own[2] += uint64_t(one.cross);
      own[3] += one.low;
    }
  };
  struct DeviationOf {
    contract::RowScale row;
    contract::DeviationScale unit;
    SAMPLER_DEVICE void operator()(float x, uint64_t (&own)[2]) const {
      contract::DeviationSums one;
      one.add(contract::deviation(unit, contract::sigma_value(row, x)));
      own[0] += one.sum;
      own[1] += one.squares;
    }
  };

  // Sums over a window of what add(x, own) adds to `own`.
  template <int kCount, class Add>
  SAMPLER_DEVICE void sum(Window seen, uint64_t (&sums)[kCount], const Add &add) const {
    uint64_t own[kCount] = {};
    SAMPLER_KEEP_ROLLED
    for (int64_t i = seen.begin + list_.ctx.thread(); i < seen.end; i += Context::kThreads) {
      add(value(i), own);
    }
    SAMPLER_UNROLLED
    for (int i = 0; i < kCount; ++i) sums[i] = list_.sum_of_threads(own[i], i);
    list_.ctx.sync();
  }

  // Number of first tokens for whose value `holds` is true, as for none after them.
  template <class Holds>
  SAMPLER_DEVICE int64_t count_while(Window seen, const Holds &holds) const {
    return count_of_places(seen.begin, seen.end,
                           [&](int64_t place) { return holds(value(place)); });
  }

  SAMPLER_DEVICE void add_up(const contract::RowScale &row) const { list_.add_up(row); }
  // A window's weight, once the list is added up.
  SAMPLER_DEVICE uint64_t summed_weight(Window seen) const {
    if (seen.begin >= seen.end) return 0;
    const uint64_t *const sums = list_.shared.row.sums;
    return sums[seen.end - 1] - (seen.begin > 0 ? sums[seen.begin - 1] : 0);
  }
  // Number of the window's tokens whose weight reaches `least`; more than it has: it does not. The
  // list is added up.
  SAMPLER_DEVICE int64_t count_reaching(uint64_t least, Window seen) const {
    return 1 + count_of_places(seen.begin, seen.end, [&](int64_t place) {
             return summed_weight({seen.begin, place + 1}) < least;
           });
  }

  // The window that typical-p keeps. No thread reads sums of the list any more.
  SAMPLER_DEVICE Window nearest(const contract::Typical &rule, Window seen) const {
    list_.add_up(rule.row);
    const auto place_of = [&](const auto &holds) { return seen.begin + count_while(seen, holds); };
    // The tokens no farther from the mean than `most`.
    const auto begin_of = [&](float most) {
      return place_of([&](float x) { return rule.excess(x) > most; });
    };
    const auto end_of = [&](float most) {
      return place_of([&](float x) { return -rule.excess(x) <= most; });
    };
    // The least distance at which these reach the threshold.
    uint32_t nearest = ~uint32_t(0);
    SAMPLER_KEEP_ROLLED
    for (int64_t i = seen.begin + list_.ctx.thread(); i < seen.end; i += Context::kThreads) {
      const float most = rule.distance(value(i)) + 0.0f;
      const uint32_t bits = contract::bits_of(most);
      if (bits < nearest && summed_weight({begin_of(most), end_of(most)}) >= rule.threshold) {
        nearest = bits;
      }
    }
    nearest = ~list_.max_of_block(~nearest);
    list_.ctx.sync();
    const float most = contract::float_of(nearest);
    Window kept = {begin_of(most), end_of(most)};
    if (rule.ties != SAMPLER_TIES_KEEP) {
      // The likelier tokens at this distance come first, the last of them in rank order foremost.
      const int64_t likelier = place_of([&](float x) {
        const float excess = rule.excess(x);
        return excess > 0.0f && excess >= most;
      });
      const int64_t nearer = place_of([&](float x) {
        const float excess = rule.excess(x);
        return excess > 0.0f || -excess < most;
      });
      const int64_t num_begins = count_of_places(kept.begin, likelier, [&](int64_t place) {
        return summed_weight({place, nearer}) >= rule.threshold;
      });
      if (num_begins > 0) {
        kept = {kept.begin + num_begins - 1, nearer};
      } else {
        kept.end = nearer + 1 + count_of_places(nearer, kept.end - 1, [&](int64_t place) {
                     return summed_weight({kept.begin, place + 1}) < rule.threshold;
                   });
      }
    }
    SAMPLER_KEEP_ROLLED
    while (kept.count() < rule.min_keep && kept.count() < seen.count()) {
      const bool takes_likelier =
          kept.begin > seen.begin &&
          (kept.end == seen.end || contract::likelier_is_nearer(rule.excess(value(kept.begin - 1)),
                                                                rule.excess(value(kept.end))));
      kept.begin -= takes_likelier ? 1 : 0;
      kept.end += takes_likelier ? 0 : 1;
    }
    return kept;
  }

 private:
  const List &list_;
};

}  // namespace sampler::kernels
