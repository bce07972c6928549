// Parameters and thresholds of top-k, top-p and min-p.
#pragma once

#include <cstdint>

#include "contract/float_bits.h"
#include "contract/host_device.h"
#include "sampler/types.h"

namespace sampler::contract {

struct FilterRules {
  sampler_tie_rule top_k_ties = SAMPLER_TIES_EXACT;
  sampler_tie_rule top_p_ties = SAMPLER_TIES_EXACT;
  sampler_filter_order order = SAMPLER_FILTERS_SEQUENTIAL;
  sampler_temperature_order temperature_order = SAMPLER_TEMPERATURE_FIRST;
  sampler_sum_rule top_p_sum = SAMPLER_SUM_REACHES;
};

// One row's parameters.
struct RowParameters {
  float temperature;
  int32_t top_k;
  float top_p;
  float min_p;
};

SAMPLER_HD inline bool top_k_is_on(int32_t top_k) {
  return top_k > 0;
}
SAMPLER_HD inline bool top_p_is_on(float top_p) {
  return top_p < 1.0f;
}
SAMPLER_HD inline bool min_p_is_on(float min_p) {
  return min_p > 0.0f;
}

SAMPLER_HD inline bool any_filter_is_on(const RowParameters &row) {
  return top_k_is_on(row.top_k) || top_p_is_on(row.top_p) || min_p_is_on(row.min_p);
}

// The share of a filter's input weight that its kept tokens must reach or exceed.
struct Share {
  float fraction;
  sampler_sum_rule sum = SAMPLER_SUM_REACHES;
};

// The smallest integer that reaches or exceeds fraction * total, exactly, for fraction in (0, 1].
SAMPLER_HD inline uint64_t fraction_of_weight(float fraction, uint64_t total,
                                              sampler_sum_rule sum = SAMPLER_SUM_REACHES) {
  // fraction = significand * 2^-shift. The implicit 1 is wrong for subnormals, but their shift
  // exceeds 88, where only the rounding up remains.
  const uint32_t bits = bits_of(fraction);
  const uint64_t significand = (bits & 0x7FFFFFu) | 0x800000u;
  const int shift = 150 - int(bits >> 23);
  const Product128 product = multiply_128(significand, total);  // below 2^88
  const bool exceeds = sum == SAMPLER_SUM_EXCEEDS;
  if (shift >= 88) return total || exceeds ? 1 : 0;
  uint64_t quotient;
  bool remainder;
  if (shift < 64) {
    quotient = product.low >> shift | product.high << (64 - shift);
    remainder = (product.low & ((uint64_t(1) << shift) - 1)) != 0;
  } else {
    const int rest = shift - 64;
    quotient = product.high >> rest;
    remainder = product.low != 0 || (product.high & ((uint64_t(1) << rest) - 1)) != 0;
  }
  return quotient + (remainder || exceeds ? 1 : 0);
}

// The weight, out of `total`, that top-p's prefix must reach. The first token is always kept.
SAMPLER_HD inline uint64_t top_p_threshold(Share share, uint64_t total) {
  return share.fraction > 0.0f ? fraction_of_weight(share.fraction, total, share.sum) : 0;
}

// The lowest weight that min-p keeps.
SAMPLER_HD inline uint64_t min_p_threshold(float min_p, uint64_t max_weight) {
  return fraction_of_weight(min_p < 1.0f ? min_p : 1.0f, max_weight);
}

enum class Filter { kTopK, kTopP, kMinP };

// The filter at position `step` in [0, 3).
SAMPLER_HD inline Filter filter_at(sampler_filter_order order, int step) {
  if (order == SAMPLER_FILTERS_MIN_P_FIRST) {
    return step == 0 ? Filter::kMinP : step == 1 ? Filter::kTopK : Filter::kTopP;
  }
  return step == 0 ? Filter::kTopK : step == 1 ? Filter::kTopP : Filter::kMinP;
}

// The prefix of rank order that the filters together keep.
//
// `row.top_k(k, ties, seen)`, `top_p(share, ties, seen)` and `min_p(p, seen)` return the prefix
// that one filter keeps of the prefix `seen`; `everything()` the whole row; `shorter(a, b)` the
// shorter of two prefixes. The row chooses how a prefix is represented: a length or a cut.
template <class Row>
SAMPLER_HD inline auto filtered_prefix(Row &row, const RowParameters &parameters,
                                       const FilterRules &rules) {
  const auto top_k = [&](auto seen) {
    return top_k_is_on(parameters.top_k) ? row.top_k(parameters.top_k, rules.top_k_ties, seen)
                                         : seen;
  };
  const auto top_p = [&](auto seen) {
    return top_p_is_on(parameters.top_p)
               ? row.top_p(Share{parameters.top_p, rules.top_p_sum}, rules.top_p_ties, seen)
               : seen;
  };
  const auto min_p = [&](auto seen) {
    return min_p_is_on(parameters.min_p) ? row.min_p(parameters.min_p, seen) : seen;
  };
  const auto all = row.everything();
  switch (rules.order) {
    case SAMPLER_FILTERS_JOINT: {  // one after the other: compilers order arguments as they like
      const auto by_top_k = top_k(all);
      const auto by_top_p = top_p(all);
      const auto by_min_p = min_p(all);
      return row.shorter(by_top_k, row.shorter(by_top_p, by_min_p));
    }
    case SAMPLER_FILTERS_MIN_P_FIRST:
      return top_p(top_k(min_p(all)));
    default:
      return min_p(top_p(top_k(all)));
  }
}

// The same with one copy of each filter's code: smaller code, for kernels.
template <class Row>
SAMPLER_HD inline auto filtered_prefix_by_steps(Row &row, const RowParameters &parameters,
                                                const FilterRules &rules) {
  const bool is_joint = rules.order == SAMPLER_FILTERS_JOINT;
  const auto all = row.everything();
  auto kept = all;
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
  for (int step = 0; step < 3; ++step) {
    const auto seen = is_joint ? all : kept;
    auto next = seen;
    switch (filter_at(rules.order, step)) {
      case Filter::kTopK:
        if (top_k_is_on(parameters.top_k)) {
          next = row.top_k(parameters.top_k, rules.top_k_ties, seen);
        }
        break;
      case Filter::kTopP:
        if (top_p_is_on(parameters.top_p)) {
          next = row.top_p(Share{parameters.top_p, rules.top_p_sum}, rules.top_p_ties, seen);
        }
        break;
      default:
        if (min_p_is_on(parameters.min_p)) next = row.min_p(parameters.min_p, seen);
    }
    kept = row.shorter(kept, next);
  }
  return kept;
}

}  // namespace sampler::contract
