// Windows of a row in rank order: the window that each stage keeps.
#pragma once

#include <cstdint>

#include "contract/adaptive.h"
#include "contract/collision.h"
#include "contract/deviation.h"
#include "contract/entropy.h"
#include "contract/filters.h"
#include "contract/float_bits.h"
#include "contract/host_device.h"
#include "contract/weight.h"
#include "contract/window_walk.h"
#include "contract/windows.h"

namespace sampler::contract {

// `Tokens` has `float value(int64_t place) const`: the value at that place of rank order, without
// tokens of -inf or probability 0. WindowWalk<Tokens> reads whole windows. Each stage is called
// only if it is on, and keeps at least `min_keep` tokens of its input window.
template <class Tokens>
class RankedWindows {
 public:
  // `temperature` is the current one, not greedy.
  SAMPLER_HD RankedWindows(const Tokens &tokens, sampler_input_kind kind, float temperature,
                           int64_t min_keep)
      : tokens_(tokens),
        walk_(tokens),
        kind_(kind),
        temperature_(temperature),
        min_keep_(min_keep > 1 ? min_keep : 1) {}

  // Scale of the window's own first token.
  SAMPLER_HD RowScale scale(Window seen) const {
    return row_scale(kind_, tokens_.value(seen.begin), temperature_);
  }

  SAMPLER_HD EntropySums sums(Window seen) const { return walk_.sums(scale(seen), seen); }

  SAMPLER_HD Window top_k(int32_t k, sampler_tie_rule ties, Window seen) const {
    return at_least(with_ties(k < seen.count() ? k : seen.count(), ties, seen), seen);
  }

  SAMPLER_HD Window top_p(Share share, sampler_tie_rule ties, Window seen) const {
    const int64_t count = walk_.top_p(scale(seen), share, seen);
    return at_least(with_ties(count, ties, seen), seen);
  }

  SAMPLER_HD Window min_p(float p, Window seen) const {
    const RowScale row = scale(seen);
    const uint64_t first = contract::weight(row, tokens_.value(seen.begin));
    return at_least(count_of_weight(min_p_threshold(p, first), seen), seen);
  }

  SAMPLER_HD Window epsilon(float epsilon, sampler_tie_rule ties, Window seen) const {
    return cutoff(epsilon_threshold(epsilon, weight(seen)), ties, seen);
  }

  SAMPLER_HD Window eta(float epsilon, sampler_tie_rule ties, Window seen) const {
    return cutoff(eta_threshold(epsilon, sums(seen)), ties, seen);
  }

  SAMPLER_HD Window top_n_sigma(float n, Window seen) const {
    const RowScale row = scale(seen);
    const float first = sigma_value(row, tokens_.value(seen.begin));
    const float bound = top_n_sigma_bound(first, n, sigma(seen));
    return at_least(walk_.count_while(seen, [=](float x) { return sigma_value(row, x) >= bound; }),
                    seen);
  }

  // The standard deviation that top_n_sigma() uses.
  SAMPLER_HD float sigma(Window seen) const {
    const RowScale row = scale(seen);
    const float first = sigma_value(row, tokens_.value(seen.begin));
    const float last = sigma_value(row, tokens_.value(seen.end - 1));
    if (first == last) return 0.0f;
    const DeviationScale unit = deviation_scale(first, last);
    return standard_deviation(unit, walk_.deviations(row, unit, seen), uint64_t(seen.count()));
  }

  SAMPLER_HD Window top_h(float share, Window seen) const {
    const RowScale row = scale(seen);
    const int64_t count = seen.count() < kTopHTokens ? seen.count() : kTopHTokens;
    if (count <= min_keep_) return at_least(count, seen);  // tokens beyond those looked at, too
    const TopH rule(share, sums({seen.begin, seen.begin + count}));
    EntropySums prefix = entropy_sums(row, tokens_.value(seen.begin));
    int64_t kept = 1;
    for (; kept < count; ++kept) {
      prefix.add(entropy_sums(row, tokens_.value(seen.begin + kept)));
      if (!rule.keeps(prefix)) break;
    }
    return at_least(kept, seen);
  }

  SAMPLER_HD Window p_less(bool is_norm, Window seen) const {
    const CollisionSums sums = walk_.collisions(scale(seen), seen);
    const uint64_t least = p_less_threshold(sums);
    const int64_t count = seen.count();
    return at_least(
        count_of_weight(is_norm ? p_less_norm_threshold(least, sums.weight, count) : least, seen),
        seen);
  }

  SAMPLER_HD Window min_k(float tau, Window seen) const {
    const RowScale row = scale(seen);
    const float highest = tokens_.value(seen.begin);
    // Nothing falls between the tokens of the highest value.
    const int64_t num_highest = walk_.count_while(seen, [=](float x) { return x >= highest; });
    if (num_highest == seen.count()) return seen;

    SteepestFall steepest;
    int64_t place = num_highest;
    float value = sigma_value(row, highest);
    do {
      const float next = sigma_value(row, tokens_.value(seen.begin + place));
      steepest.add(place, distance_below(value, next));
      value = next;
    } while (++place < kMinKTokens && place < seen.count());

    const float range =
        distance_below(sigma_value(row, highest), sigma_value(row, tokens_.value(seen.end - 1)));
    const int64_t of_flat = min_k_of_range(tau, range, seen.count());
    const int64_t kept = steepest.place() > of_flat ? steepest.place() : of_flat;
    // Falls may be too small to be told from none.
    return at_least(with_ties(kept > 0 ? kept : 1, SAMPLER_TIES_KEEP, seen), seen);
  }

  SAMPLER_HD Window top_a(float top_a, Window seen) const {
    const uint64_t first = contract::weight(scale(seen), tokens_.value(seen.begin));
    return at_least(count_of_weight(top_a_threshold(top_a, first, weight(seen)), seen), seen);
  }

  SAMPLER_HD Window typical_p(Share share, sampler_tie_rule ties, Window seen) const {
    const RowScale row = scale(seen);
    const EntropySums all = sums(seen);
    const uint64_t threshold = top_p_threshold(share, all.weight);
    return walk_.nearest({row, mean_surprise(all), all.weight, threshold, ties, min_keep_}, seen);
  }

  // Only if xtc_coin() is true.
  SAMPLER_HD Window xtc(float threshold, Window seen) const {
    const int64_t above = count_of_weight(xtc_threshold(threshold, weight(seen)), seen);
    return {seen.begin + xtc_drops(above, seen.count(), min_keep_), seen.end};
  }

  // `num_elements` counts the whole row.
  SAMPLER_HD Window mirostat_v1(float mu, int64_t num_elements, Window seen) const {
    const RowScale row = scale(seen);
    const int64_t count = seen.count() < kMirostatTokens ? seen.count() : kMirostatTokens;
    MirostatSlope slope;
    for (int64_t i = 0; i + 1 < count; ++i) {
      const float x = tokens_.value(seen.begin + i), next = tokens_.value(seen.begin + i + 1);
      slope.add(int32_t(i), log2_fall(row, x, next));
    }
    const int32_t k = mirostat_k(slope.slope(), mu, int32_t(num_elements), int32_t(seen.count()));
    return at_least(k, seen);
  }

  SAMPLER_HD Window mirostat_v2(float mu, Window seen) const {
    return at_least(count_of_weight(mirostat_threshold(mu, weight(seen)), seen), seen);
  }

 private:
  // The window's first max(count, min_keep) tokens.
  SAMPLER_HD Window at_least(int64_t count, Window seen) const {
    const int64_t wanted = count > min_keep_ ? count : min_keep_;
    return {seen.begin, wanted < seen.count() ? seen.begin + wanted : seen.end};
  }

  // Tokens of equal value weigh the same, so only min_keep can split ties.
  SAMPLER_HD Window cutoff(uint64_t least, sampler_tie_rule ties, Window seen) const {
    const Window kept = at_least(count_of_weight(least, seen), seen);
    return {kept.begin, kept.begin + with_ties(kept.count(), ties, seen)};
  }

  SAMPLER_HD uint64_t weight(Window seen) const { return walk_.weight(scale(seen), seen); }

  SAMPLER_HD int64_t count_of_weight(uint64_t least, Window seen) const {
    const RowScale row = scale(seen);
    return walk_.count_while(seen, [=](float x) { return contract::weight(row, x) >= least; });
  }

  SAMPLER_HD int64_t with_ties(int64_t count, sampler_tie_rule ties, Window seen) const {
    if (ties == SAMPLER_TIES_EXACT) return count;
    const float last = tokens_.value(seen.begin + count - 1);
    return walk_.count_while(seen, [=](float x) { return x >= last; });
  }

  const Tokens &tokens_;
  WindowWalk<Tokens> walk_;
  sampler_input_kind kind_;
  float temperature_;
  int64_t min_keep_;
};

}  // namespace sampler::contract
