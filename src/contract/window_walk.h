// Reads of a window: sums, and the places where a stage cuts it.
#pragma once

#include <cstdint>

#include "contract/collision.h"
#include "contract/deviation.h"
#include "contract/entropy.h"
#include "contract/filters.h"
#include "contract/host_device.h"
#include "contract/weight.h"
#include "contract/windows.h"

namespace sampler::contract {

// The tokens at places [begin, end) of rank order; never empty.
struct Window {
  int64_t begin;
  int64_t end;

  SAMPLER_HD int64_t count() const { return end - begin; }
};

// Reference implementation, token by token, for a row in rank order. Other rows specialise it for
// their `Tokens`.
//
// `Tokens` has `float value(int64_t place) const`: the value at that place of rank order, without
// tokens of -inf or probability 0. `row` is the scale of the window's first token.
template <class Tokens>
class WindowWalk {
 public:
  SAMPLER_HD explicit WindowWalk(const Tokens &tokens) : tokens_(tokens) {}

  SAMPLER_HD uint64_t weight(const RowScale &row, Window seen) const {
    uint64_t sum = 0;
    for (int64_t i = seen.begin; i < seen.end; ++i) {
      sum += contract::weight(row, tokens_.value(i));
    }
    return sum;
  }

  SAMPLER_HD EntropySums sums(const RowScale &row, Window seen) const {
    EntropySums sums;
    for (int64_t i = seen.begin; i < seen.end; ++i) sums.add(entropy_sums(row, tokens_.value(i)));
    return sums;
  }

  SAMPLER_HD CollisionSums collisions(const RowScale &row, Window seen) const {
    CollisionSums sums;
    for (int64_t i = seen.begin; i < seen.end; ++i) {
      sums.add(relative_probability(row, tokens_.value(i)));
    }
    return sums;
  }

  // `unit` is the scale of the window's first and last value, which differ.
  SAMPLER_HD DeviationSums deviations(const RowScale &row, const DeviationScale &unit,
                                      Window seen) const {
    DeviationSums sums;
    for (int64_t i = seen.begin; i < seen.end; ++i) {
      sums.add(deviation(unit, sigma_value(row, tokens_.value(i))));
    }
    return sums;
  }

  // Number of first tokens for whose value `holds` is true. It must be false for all tokens after
  // the first for which it is false.
  template <class Holds>
  SAMPLER_HD int64_t count_while(Window seen, const Holds &holds) const {
    int64_t low = seen.begin, high = seen.end;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (holds(tokens_.value(middle))) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low - seen.begin;
  }

  // Number of tokens that top-p keeps, without ties.
  SAMPLER_HD int64_t top_p(const RowScale &row, Share share, Window seen) const {
    const uint64_t threshold = top_p_threshold(share, weight(row, seen));
    int64_t count = 0;
    uint64_t sum = 0;
    do {
      sum += contract::weight(row, tokens_.value(seen.begin + count++));
    } while (sum < threshold);
    return count;
  }

  // The window that typical-p keeps. It grows from the mean outwards, each time by the nearer of
  // the two next tokens.
  SAMPLER_HD Window nearest(const Typical &rule, Window seen) const {
    const auto excess = [&](int64_t i) { return rule.excess(tokens_.value(i)); };
    const int64_t middle =
        seen.begin + count_while(seen, [&](float x) { return rule.excess(x) > 0.0f; });
    Window kept = {middle, middle};
    const auto takes_likelier = [&] {
      return kept.begin > seen.begin &&
             (kept.end == seen.end || likelier_is_nearer(excess(kept.begin - 1), excess(kept.end)));
    };
    const auto next = [&] { return takes_likelier() ? --kept.begin : kept.end++; };

    uint64_t sum = 0;
    int64_t last = middle;
    do {
      last = next();
      sum += contract::weight(rule.row, tokens_.value(last));
    } while (sum < rule.threshold);
    if (rule.ties == SAMPLER_TIES_KEEP) {
      const float most = rule.distance(tokens_.value(last));
      while (kept.begin > seen.begin && excess(kept.begin - 1) <= most) --kept.begin;
      while (kept.end < seen.end && -excess(kept.end) <= most) ++kept.end;
    }
    while (kept.count() < rule.min_keep && kept.count() < seen.count()) next();
    return kept;
  }

 private:
  const Tokens &tokens_;
};

}  // namespace sampler::contract
