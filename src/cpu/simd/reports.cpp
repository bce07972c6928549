// Reports of a row.
#include <algorithm>

#include "cpu/simd/row.h"

namespace sampler::cpu {

using contract::EntropySums;
using contract::Rank;

// Counts tokens with larger values, and with equal values and lower ids.
int64_t SimdRow::num_before(Rank rank) const {
  if (rank == first_) return 0;
  const float value = contract::value_of_rank(rank);
  const float next = contract::next_value(value);
  const int64_t id = contract::id_of_rank(rank);
  if (list_.covers(rank)) {
    const RowView source = list_source();
    const int64_t split = std::lower_bound(list_ids_, list_ids_ + list_.count, id) - list_ids_;
    return passes_.count(source, 0, split, value) + passes_.count(source, split, list_.count, next);
  }
  return passes_.count_groups(row_, maxima_, 0, id, value) +
         passes_.count_groups(row_, maxima_, id, row_.count, next);
}

int64_t SimdRow::num_before(const RowView &view, Rank rank) const {
  const float value = contract::value_of_rank(rank);
  const int64_t id = contract::id_of_rank(rank);
  return passes_.count(view, 0, id, value) +
         passes_.count(view, id, view.count, contract::next_value(value));
}

EntropySums SimdRow::entropy_sums(const contract::RowScale &scale) const {
  return passes_.sum_entropy(row_, scale, 0, row_.count, -kInfinity);
}

EntropySums SimdRow::kept_entropy_sums() const {
  EntropySums sums;
  const Kept tokens = kept();
  for_each_range(tokens, 0, tokens.source.count, [&](int64_t begin, int64_t end, float at_least) {
    sums.add(passes_.sum_entropy(tokens.source, distribution_.scale, begin, end, at_least));
  });
  return sums;
}

void SimdRow::list_first() {
  list_values_[0] = max();
  list_ids_[0] = int32_t(contract::id_of_rank(first_));
  list_ = {1, first_};
}

// -inf if the token is not listed.
float SimdRow::listed_value(int64_t id) const {
  const auto *const place = std::lower_bound(list_ids_, list_ids_ + list_.count, id);
  const bool is_listed = place < list_ids_ + list_.count && *place == id;
  return is_listed ? list_values_[place - list_ids_] : -kInfinity;
}

int64_t SimdRow::select_kept(int64_t wanted, const Rank **ranks) {
  if (distribution_.greedy) list_first();
  if (list_.covers(distribution_.cut)) wanted = std::min(wanted, list_.count);
  int64_t count = select(wanted, ranks);
  while (count > 0 && !distribution_.keeps((*ranks)[count - 1])) --count;
  return count;
}

void SimdRow::set_kept_bits(uint32_t *words, int64_t num_words) const {
  const auto set = [&](int64_t id) {
    if (id / 32 < num_words) words[id / 32] |= uint32_t(1) << (id % 32);
  };
  if (distribution_.greedy) return set(contract::id_of_rank(first_));
  if (list_.covers(distribution_.cut)) {
    std::for_each_n(list_ids_, list_.count, set);
    return;
  }
  const Kept kept = kept_of_row(distribution_.cut);
  for_each_range(kept, 0, std::min<int64_t>(row_.count, 32 * num_words),
                 [&](int64_t begin, int64_t end, float at_least) {
                   passes_.set_bits(row_, begin, end, at_least, words);
                 });
}

int64_t SimdRow::list_kept(const int32_t **ids) {
  if (distribution_.greedy) {
    list_first();
  } else if (!list_.covers(distribution_.cut)) {
    list_all(distribution_.cut);
  }
  *ids = list_ids_;
  return list_.count;
}

void SimdRow::write_listed_probabilities(float *out) const {
  if (distribution_.greedy) {
    *out = 1.0f;
  } else {
    passes_.write_probabilities(list_source(), {distribution_.scale}, distribution_.normalizer, 0,
                                list_.count, -kInfinity, out, SAMPLER_F32);
  }
}

}  // namespace sampler::cpu
