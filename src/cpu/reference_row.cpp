// Rows of the scalar reference.
#include "cpu/reference_row.h"

#include <algorithm>

#include "contract/draw.h"
#include "contract/elements.h"
#include "cpu/sort.h"
#include "cpu/workspace.h"

namespace sampler::cpu {

using contract::Rank;

namespace {

size_t lay_out(const contract::Rows &rows, void *memory, RowBuffers *out) {
  Arena arena(memory);
  *out = take_row_buffers(arena, rows);
  return arena.bytes();
}

}  // namespace

size_t ReferenceRow::memory_bytes(const contract::Rows &rows) {
  RowBuffers unused;
  return lay_out(rows, nullptr, &unused);
}

ReferenceRow::ReferenceRow(const Executor &, const contract::Rows &rows, void *memory) {
  lay_out(rows, memory, &buffers_);
}

uint32_t ReferenceRow::load(const RowView &view, contract::Use use) {
  view_ = view;
  row_ = load_row(view, buffers_, use);
  return row_.status;
}

const Distribution &ReferenceRow::distribute(const contract::RowParameters &parameters,
                                             const contract::FilterRules &rules) {
  distribution_ = make_distribution(row_, parameters, rules, buffers_);
  return distribution_;
}

const Distribution &ReferenceRow::keep_ranks(Rank first, Rank last, float temperature) {
  row_.first = first;
  distribution_ = make_distribution(row_, first, last, temperature);
  return distribution_;
}

const Distribution &ReferenceRow::reweigh(const contract::Reweighing &stage, float *memory,
                                          ReweighedUse) {
  RowView reweighed = view_;
  reweighed.kind = SAMPLER_LOGITS;
  reweighed.values = memory;
  reweighed.dtype = SAMPLER_F32;
  for (int64_t i = 0; i < view_.count; ++i) {
    const float x = view_.value(i);
    const bool is_kept = distribution_.keeps(contract::rank_of(x, uint32_t(view_.id(i))));
    memory[i] = is_kept ? stage.logit(x) : contract::negative_infinity();
  }
  load(reweighed);
  return distribute({1.0f, 0, 1.0f, 0.0f}, {});
}

int64_t ReferenceRow::kept_count() const {
  int64_t count = 0;
  for (int64_t i = 0; i < row_.count; ++i) count += distribution_.keeps(row_.rank(i)) ? 1 : 0;
  return count;
}

void ReferenceRow::copy_values(float *out) const {
  for (int64_t i = 0; i < view_.count; ++i) out[i] = view_.value(i);
}

void ReferenceRow::write_probabilities(void *out, sampler_dtype dtype) const {
  for (int64_t i = 0; i < view_.count; ++i) {
    const float x = view_.value(i);
    const Rank rank = contract::rank_of(x, uint32_t(view_.id(i)));
    contract::store_value(out, dtype, i, distribution_.probability(x, rank));
  }
}

void ReferenceRow::write_kept_values(void *out, sampler_dtype dtype) const {
  for (int64_t i = 0; i < view_.count; ++i) {
    const float x = view_.value(i);
    const Rank rank = contract::rank_of(x, uint32_t(view_.id(i)));
    const bool kept = distribution_.keeps(rank);
    contract::store_value(out, dtype, i, kept ? x : contract::negative_infinity());
  }
}

void ReferenceRow::prepare_draws(int64_t num_draws) {
  inverse_cdf_ = InverseCdf(row_, distribution_, buffers_.sort);
  if (!are_many_draws(num_draws, row_.count)) return;
  inverse_cdf_.make_guide(num_draws, reinterpret_cast<int32_t *>(buffers_.sort_scratch));
}

int64_t ReferenceRow::select(int64_t wanted, const Rank **ranks) {
  int64_t count = 0;
  const Rank lowest = contract::lowest_cut(row_.kind);
  for (int64_t i = 0; i < row_.count; ++i) {
    const Rank rank = row_.rank(i);
    if (rank >= lowest && rank <= row_.first) buffers_.sort[count++] = rank;
  }
  *ranks = sort_ranks(buffers_.sort, count, buffers_.sort_scratch);
  return std::min(count, wanted);
}

int64_t ReferenceRow::num_before(Rank rank) const {
  int64_t count = 0;
  for (int64_t i = 0; i < row_.count; ++i) {
    count += row_.rank(i) > rank && row_.rank(i) <= row_.first ? 1 : 0;
  }
  return count;
}

int64_t ReferenceRow::num_before(const RowView &view, Rank rank) const {
  int64_t count = 0;
  for (int64_t i = 0; i < view.count; ++i) {
    count += contract::rank_of(view.value(i), uint32_t(view.id(i))) > rank ? 1 : 0;
  }
  return count;
}

contract::EntropySums ReferenceRow::entropy_sums(const contract::RowScale &scale) const {
  contract::EntropySums sums;
  for (int64_t i = 0; i < row_.count; ++i) sums.add(contract::entropy_sums(scale, row_.values[i]));
  return sums;
}

contract::EntropySums ReferenceRow::kept_entropy_sums() const {
  contract::EntropySums sums;
  for (int64_t i = 0; i < row_.count; ++i) {
    if (!distribution_.keeps(row_.rank(i))) continue;
    sums.add(contract::entropy_sums(distribution_.scale, row_.values[i]));
  }
  return sums;
}

int64_t ReferenceRow::select_kept(int64_t wanted, const Rank **ranks) {
  int64_t count = select(wanted, ranks);
  while (count > 0 && !distribution_.keeps((*ranks)[count - 1])) --count;
  return count;
}

void ReferenceRow::set_kept_bits(uint32_t *words, int64_t num_words) const {
  for (int64_t i = 0; i < row_.count; ++i) {
    const uint32_t id = row_.id(i);
    if (id / 32 < num_words && distribution_.keeps(row_.rank(i))) {
      words[id / 32] |= uint32_t(1) << (id % 32);
    }
  }
}

int64_t ReferenceRow::list_kept(const int32_t **ids) {
  auto *const kept = reinterpret_cast<int32_t *>(buffers_.sort);
  int64_t count = 0;
  for (int64_t i = 0; i < row_.count; ++i) {
    if (distribution_.keeps(row_.rank(i))) kept[count++] = int32_t(row_.id(i));
  }
  *ids = kept;
  return count;
}

void ReferenceRow::write_listed_probabilities(float *out) const {
  for (int64_t i = 0; i < row_.count; ++i) {
    if (distribution_.keeps(row_.rank(i)))
      *out++ = distribution_.probability(row_.values[i], row_.rank(i));
  }
}

float ReferenceRow::probability(int64_t index) const {
  if (row_.kind == SAMPLER_PROBABILITIES) return row_.values[index];
  return distribution_.probability(row_.values[index], row_.rank(index));
}

float ReferenceRow::probability_of(int64_t id) const {
  const int64_t index = row_.find(id);
  return index < 0 ? 0.0f : probability(index);
}

void ReferenceRow::chain_probabilities(float *out) const {
  for (int64_t i = 0; i < row_.count; ++i) out[i] = probability(i);
}

void ReferenceRow::subtract(const ReferenceRow &draft, float *p) const {
  for (int64_t i = 0; i < row_.count; ++i) {
    p[i] = contract::residual_probability(p[i], draft.probability_of(row_.id(i)));
  }
}

void ReferenceRow::remove(int64_t id, float *p) const {
  const int64_t index = row_.find(id);
  if (index >= 0) p[index] = 0.0f;
}

bool ReferenceRow::become_residual(const ReferenceRow *draft, int64_t rejected, float *p) {
  chain_probabilities(p);
  if (draft) {
    subtract(*draft, p);
  } else {
    remove(rejected, p);
  }
  return become(p);
}

float ReferenceRow::kept_probability(int64_t id) const {
  const int64_t index = row_.find(id);
  if (index < 0) return 0.0f;
  return distribution_.probability(row_.values[index], row_.rank(index));
}

void ReferenceRow::kept_probabilities(float *out, float *) {
  for (int64_t i = 0; i < row_.count; ++i) {
    out[i] = distribution_.probability(row_.values[i], row_.rank(i));
  }
}

bool ReferenceRow::take(const float *probabilities) {
  row_.kind = SAMPLER_PROBABILITIES;
  row_.values = probabilities;
  view_ = contract::f32_view(probabilities, row_.count, row_.ids, row_.kind);
  row_.first = 0;
  for (int64_t i = 0; i < row_.count; ++i) row_.first = std::max(row_.first, row_.rank(i));
  return row_.first >= contract::lowest_cut(row_.kind);
}

bool ReferenceRow::become(const float *probabilities) {
  if (!take(probabilities)) return false;
  distribute({1.0f, 0, 1.0f, 0.0f}, {});
  return true;
}

}  // namespace sampler::cpu
