#include "cpu/distribution.h"

#include <algorithm>
#include <functional>

namespace sampler::cpu {

using contract::FilterRules;
using contract::InputKind;
using contract::Rank;
using contract::RowParameters;
using contract::RowScale;
using contract::TemperatureOrder;
using contract::TieRule;

namespace {

// A row in rank order. A prefix is its length.
struct RankedRow {
  const Rank *ranks;
  int64_t count;
  RowScale scale;

  uint64_t weight(int64_t i) const {
    return contract::weight(scale, contract::value_of_rank(ranks[i]));
  }

  // Extends a prefix to all tokens that equal its last one in value.
  int64_t with_ties(int64_t length, int64_t seen, TieRule ties) const {
    if (ties == TieRule::kExact) return length;
    const Rank cut = contract::cut_with_ties(ranks[length - 1]);
    while (length < seen && ranks[length] >= cut) ++length;
    return length;
  }

  int64_t everything() const { return count; }
  int64_t shorter(int64_t a, int64_t b) const { return std::min(a, b); }

  int64_t top_k(int32_t k, TieRule ties, int64_t seen) const {
    return with_ties(std::min<int64_t>(k, seen), seen, ties);
  }

  int64_t top_p(float p, TieRule ties, int64_t seen) const {
    uint64_t total = 0;
    for (int64_t i = 0; i < seen; ++i) total += weight(i);
    const uint64_t threshold = contract::top_p_threshold(p, total);
    int64_t length = 1;
    for (uint64_t sum = weight(0); sum < threshold; ++length) sum += weight(length);
    return with_ties(length, seen, ties);
  }

  int64_t min_p(float p, int64_t seen) const {
    const uint64_t threshold = contract::min_p_threshold(p, weight(0));
    int64_t length = 1;
    while (length < seen && weight(length) >= threshold) ++length;
    return length;
  }
};

Rank cut_of_filters(const Row &row, const RowParameters &parameters, const FilterRules &rules,
                    uint64_t *scratch) {
  const Rank lowest = contract::lowest_cut(row.kind);
  int64_t count = 0;
  for (int64_t i = 0; i < row.count; ++i) {
    const Rank rank = row.rank(i);
    if (rank >= lowest) scratch[count++] = rank;
  }
  std::sort(scratch, scratch + count, std::greater<Rank>());

  const bool at_1 = rules.temperature_order == TemperatureOrder::kLast;
  const RowScale scale =
      contract::row_scale(row.kind, row.max(), at_1 ? 1.0f : parameters.temperature);
  const RankedRow ranked = {scratch, count, scale};
  return scratch[contract::filtered_prefix(ranked, parameters, rules) - 1];
}

}  // namespace

Distribution make_distribution(const Row &row, const RowParameters &parameters,
                               const FilterRules &rules, uint64_t *scratch) {
  Distribution result;
  result.greedy = contract::is_greedy(parameters.temperature);
  result.scale =
      contract::row_scale(row.kind, row.max(), result.greedy ? 1.0f : parameters.temperature);
  if (result.greedy) {
    result.cut = row.first;
  } else if (contract::any_filter_is_on(parameters)) {
    result.cut = cut_of_filters(row, parameters, rules, scratch);
  } else {
    result.cut = contract::lowest_cut(row.kind);
  }
  result.kept_weight = 0;
  for (int64_t i = 0; i < row.count; ++i) {
    if (result.keeps(row.rank(i))) {
      result.kept_weight += contract::weight(result.scale, row.values[i]);
    }
  }
  result.normalizer = contract::normalizer(result.kept_weight);
  return result;
}

uint64_t total_weight(const Row &row) {
  const RowScale scale = contract::row_scale(row.kind, row.max(), 1.0f);
  uint64_t total = 0;
  for (int64_t i = 0; i < row.count; ++i) total += contract::weight(scale, row.values[i]);
  return total;
}

}  // namespace sampler::cpu
