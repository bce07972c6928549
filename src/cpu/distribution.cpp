// Temperature and filters of the scalar reference.
#include "cpu/distribution.h"

#include <algorithm>

#include "cpu/sort.h"

namespace sampler::cpu {

using contract::FilterRules;
using contract::Rank;
using contract::RowParameters;
using contract::RowScale;

namespace {

// A row in rank order. A prefix is its length.
class RankedRow {
 public:
  // `sums` has room for `count`.
  RankedRow(const Rank *ranks, int64_t count, const RowScale &scale, uint64_t *sums)
      : ranks_(ranks), count_(count), scale_(scale), sums_(sums) {}

  int64_t everything() const { return count_; }
  int64_t shorter(int64_t a, int64_t b) const { return std::min(a, b); }

  int64_t top_k(int32_t k, sampler_tie_rule ties, int64_t seen) const {
    return with_ties(std::min<int64_t>(k, seen), seen, ties);
  }

  int64_t top_p(contract::Share share, sampler_tie_rule ties, int64_t seen) const {
    uint64_t sum = 0;
    for (int64_t i = 0; i < seen; ++i) sums_[i] = sum += weight(i);
    const uint64_t threshold = contract::top_p_threshold(share, sum);
    const int64_t last = std::lower_bound(sums_, sums_ + seen, threshold) - sums_;
    return with_ties(last + 1, seen, ties);
  }

  // Weights fall in rank order.
  int64_t min_p(float p, int64_t seen) const {
    const uint64_t threshold = contract::min_p_threshold(p, weight(0));
    return first_where(1, seen, [&](int64_t i) { return weight(i) < threshold; });
  }

 private:
  uint64_t weight(int64_t i) const {
    return contract::weight(scale_, contract::value_of_rank(ranks_[i]));
  }

  // Extends a prefix to all tokens that equal its last one in value.
  int64_t with_ties(int64_t length, int64_t seen, sampler_tie_rule ties) const {
    if (ties == SAMPLER_TIES_EXACT) return length;
    const Rank cut = contract::cut_with_ties(ranks_[length - 1]);
    return first_where(length, seen, [&](int64_t i) { return ranks_[i] < cut; });
  }

  // The first index in [begin, end) from which on `holds` is true, or `end`.
  template <class Holds>
  static int64_t first_where(int64_t begin, int64_t end, const Holds &holds) {
    while (begin < end) {
      const int64_t middle = begin + (end - begin) / 2;
      if (holds(middle)) {
        end = middle;
      } else {
        begin = middle + 1;
      }
    }
    return begin;
  }

  const Rank *ranks_;
  int64_t count_;
  RowScale scale_;
  uint64_t *sums_;  // running sums of the weights
};

Rank cut_of_filters(const Row &row, const RowParameters &parameters, const FilterRules &rules,
                    const RowBuffers &buffers) {
  const Rank lowest = contract::lowest_cut(row.kind);
  int64_t count = 0;
  for (int64_t i = 0; i < row.count; ++i) {
    const Rank rank = row.rank(i);
    if (rank >= lowest) buffers.sort[count++] = rank;
  }
  const Rank *ranks = sort_ranks(buffers.sort, count, buffers.sort_scratch);
  uint64_t *const sums = ranks == buffers.sort ? buffers.sort_scratch : buffers.sort;

  const bool at_1 = rules.temperature_order == SAMPLER_TEMPERATURE_LAST;
  const RowScale scale =
      contract::row_scale(row.kind, row.max(), at_1 ? 1.0f : parameters.temperature);
  const RankedRow ranked(ranks, count, scale, sums);
  return ranks[contract::filtered_prefix(ranked, parameters, rules) - 1];
}

void weigh_kept(const Row &row, Distribution *distribution) {
  Distribution &result = *distribution;
  result.kept_weight = 0;
  for (int64_t i = 0; i < row.count; ++i) {
    if (result.keeps(row.rank(i))) {
      result.kept_weight += contract::weight(result.scale, row.values[i]);
    }
  }
  result.normalizer = contract::normalizer(result.kept_weight);
}

}  // namespace

Distribution make_distribution(const Row &row, const RowParameters &parameters,
                               const FilterRules &rules, const RowBuffers &buffers) {
  Distribution result;
  result.greedy = contract::is_greedy(parameters.temperature);
  result.scale =
      contract::row_scale(row.kind, row.max(), result.greedy ? 1.0f : parameters.temperature);
  if (result.greedy) {
    result.cut = row.first;
  } else if (contract::any_filter_is_on(parameters)) {
    result.cut = cut_of_filters(row, parameters, rules, buffers);
  } else {
    result.cut = contract::lowest_cut(row.kind);
  }
  weigh_kept(row, &result);
  return result;
}

Distribution make_distribution(const Row &row, Rank first, Rank last, float temperature) {
  Distribution result;
  const float max = contract::value_of_rank(first);
  result.greedy = contract::is_greedy(temperature);
  result.scale = contract::row_scale(row.kind, max, result.greedy ? 1.0f : temperature);
  result.first = first;
  result.cut = last;
  weigh_kept(row, &result);
  return result;
}

uint64_t total_weight(const Row &row) {
  const RowScale scale = contract::row_scale(row.kind, row.max(), 1.0f);
  uint64_t total = 0;
  for (int64_t i = 0; i < row.count; ++i) total += contract::weight(scale, row.values[i]);
  return total;
}

}  // namespace sampler::cpu
