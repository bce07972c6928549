// Windows of a row that lies in rank order, token by token: the definition in code.
#pragma once

#include <cstdint>

#include "contract/adaptive.h"
#include "contract/deviation.h"
#include "contract/entropy.h"
#include "contract/filters.h"
#include "contract/float_bits.h"
#include "contract/host_device.h"
#include "contract/weight.h"
#include "contract/windows.h"

namespace sampler::contract {

// The tokens from place `begin` of rank order to before `end`; never empty.
struct Window {
  int64_t begin;
  int64_t end;

  SAMPLER_HD int64_t count() const { return end - begin; }
};

// `Tokens` has `float value(int64_t place) const`, of the token at that place of rank order; those
// of -inf or probability 0 have none. Every stage is on, and keeps a window of the one it sees, and
// at least `min_keep` tokens of it.
template <class Tokens>
class RankedWindows {
 public:
  // `temperature` is that in force. Not greedy.
  SAMPLER_HD RankedWindows(const Tokens &tokens, sampler_input_kind kind, float temperature,
                           int64_t min_keep)
      : tokens_(tokens),
        kind_(kind),
        temperature_(temperature),
        min_keep_(min_keep > 1 ? min_keep : 1) {}

  // By the window's own first token.
  SAMPLER_HD RowScale scale(Window seen) const {
    return row_scale(kind_, tokens_.value(seen.begin), temperature_);
  }

  SAMPLER_HD EntropySums sums(Window seen) const {
    const RowScale row = scale(seen);
    EntropySums sums;
    for (int64_t i = seen.begin; i < seen.end; ++i) sums.add(entropy_sums(row, tokens_.value(i)));
    return sums;
  }

  SAMPLER_HD Window top_k(int32_t k, sampler_tie_rule ties, Window seen) const {
    return at_least(with_ties(k < seen.count() ? k : seen.count(), ties, seen), seen);
  }

  SAMPLER_HD Window top_p(float p, sampler_tie_rule ties, Window seen) const {
    const RowScale row = scale(seen);
    const uint64_t threshold = top_p_threshold(p, sums(seen).weight);
    int64_t count = 0;
    uint64_t sum = 0;
    do {
      sum += weight(row, tokens_.value(seen.begin + count++));
    } while (sum < threshold);
    return at_least(with_ties(count, ties, seen), seen);
  }

  SAMPLER_HD Window min_p(float p, Window seen) const {
    const RowScale row = scale(seen);
    const uint64_t first = weight(row, tokens_.value(seen.begin));
    return at_least(count_of_weight(min_p_threshold(p, first), seen), seen);
  }

  SAMPLER_HD Window epsilon(float epsilon, Window seen) const {
    return at_least(count_of_weight(epsilon_threshold(epsilon, sums(seen).weight), seen), seen);
  }

  SAMPLER_HD Window eta(float epsilon, Window seen) const {
    return at_least(count_of_weight(eta_threshold(epsilon, sums(seen)), seen), seen);
  }

  SAMPLER_HD Window top_n_sigma(float n, Window seen) const {
    const RowScale row = scale(seen);
    const float first = sigma_value(row, tokens_.value(seen.begin));
    const float bound = top_n_sigma_bound(first, n, sigma(seen));
    return at_least(count_while(seen, [&](float x) { return sigma_value(row, x) >= bound; }), seen);
  }

  // The standard deviation that top_n_sigma() goes by.
  SAMPLER_HD float sigma(Window seen) const {
    const RowScale row = scale(seen);
    const float first = sigma_value(row, tokens_.value(seen.begin));
    const float last = sigma_value(row, tokens_.value(seen.end - 1));
    if (first == last) return 0.0f;
    const DeviationScale unit = deviation_scale(first, last);
    DeviationSums sums;
    for (int64_t i = seen.begin; i < seen.end; ++i) {
      sums.add(deviation(unit, sigma_value(row, tokens_.value(i))));
    }
    return standard_deviation(unit, sums, uint64_t(seen.count()));
  }

  SAMPLER_HD Window top_h(float share, Window seen) const {
    const RowScale row = scale(seen);
    const int64_t count = seen.count() < kTopHTokens ? seen.count() : kTopHTokens;
    const TopH rule(share, sums({seen.begin, seen.begin + count}));
    EntropySums prefix = entropy_sums(row, tokens_.value(seen.begin));
    int64_t kept = 1;
    for (; kept < count; ++kept) {
      prefix.add(entropy_sums(row, tokens_.value(seen.begin + kept)));
      if (!rule.keeps(prefix)) break;
    }
    return at_least(kept, seen);
  }

  SAMPLER_HD Window typical_p(float p, sampler_tie_rule ties, Window seen) const {
    const RowScale row = scale(seen);
    const EntropySums all = sums(seen);
    const float mean = mean_surprise(all);
    const uint64_t threshold = top_p_threshold(p, all.weight);
    const auto excess = [&](int64_t i) { return typical_excess(row, tokens_.value(i), mean); };

    // From the mean outwards, the nearer of the two next tokens at a time.
    const int64_t middle = seen.begin + count_while(seen, [&](float x) {
                             return typical_excess(row, x, mean) > 0.0f;
                           });
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
      sum += weight(row, tokens_.value(last));
    } while (sum < threshold);
    if (ties == SAMPLER_TIES_KEEP) {
      const float most = magnitude(excess(last));
      while (kept.begin > seen.begin && excess(kept.begin - 1) <= most) --kept.begin;
      while (kept.end < seen.end && -excess(kept.end) <= most) ++kept.end;
    }
    while (kept.count() < min_keep_ && kept.count() < seen.count()) next();
    return kept;
  }

  // For a word whose coin says so.
  SAMPLER_HD Window xtc(float threshold, Window seen) const {
    const int64_t above = count_of_weight(xtc_threshold(threshold, sums(seen).weight), seen);
    return {seen.begin + xtc_drops(above, seen.count(), min_keep_), seen.end};
  }

  // `num_elements` are those of the whole row.
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
    return at_least(count_of_weight(mirostat_threshold(mu, sums(seen).weight), seen), seen);
  }

 private:
  // The window's first `count` tokens, or those that min_keep asks for.
  SAMPLER_HD Window at_least(int64_t count, Window seen) const {
    const int64_t wanted = count > min_keep_ ? count : min_keep_;
    return {seen.begin, wanted < seen.count() ? seen.begin + wanted : seen.end};
  }

  // How many of the first tokens a condition holds for that no token meets after one that does not.
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

  SAMPLER_HD int64_t count_of_weight(uint64_t least, Window seen) const {
    const RowScale row = scale(seen);
    return count_while(seen, [&](float x) { return weight(row, x) >= least; });
  }

  SAMPLER_HD int64_t with_ties(int64_t count, sampler_tie_rule ties, Window seen) const {
    if (ties == SAMPLER_TIES_EXACT) return count;
    const float last = tokens_.value(seen.begin + count - 1);
    return count_while(seen, [&](float x) { return x >= last; });
  }

  SAMPLER_HD static float magnitude(float x) { return x > 0.0f ? x : -x; }

  const Tokens &tokens_;
  sampler_input_kind kind_;
  float temperature_;
  int64_t min_keep_;
};

}  // namespace sampler::contract
