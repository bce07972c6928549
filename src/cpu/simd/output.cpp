// Output rows, and the residuals of chains.
#include <algorithm>
#include <cstring>

#include "contract/draw.h"
#include "contract/elements.h"
#include "cpu/simd/row.h"

namespace sampler::cpu {

namespace {

// Sets all of a row's elements, by copies of a few.
void fill(void *out, sampler_dtype dtype, int64_t count, float value) {
  constexpr int64_t kCopied = 512;
  const auto size = size_t(contract::size_of(dtype));
  const int64_t first = std::min(count, kCopied);
  for (int64_t i = 0; i < first; ++i) contract::store_value(out, dtype, i, value);
  for (int64_t i = first; i < count; i += kCopied) {
    const auto bytes = size_t(std::min(kCopied, count - i)) * size;
    std::memcpy(static_cast<char *>(out) + size_t(i) * size, out, bytes);
  }
}

}  // namespace

void SimdRow::copy_values(float *out) const {
  passes_.write_values(row_, 0, row_.count, -kInfinity, out, SAMPLER_F32);
}

// Writes f(value, rank) for listed tokens, `nothing` for others.
template <class F>
void SimdRow::write_listed(void *out, sampler_dtype dtype, float nothing, const F &f) const {
  fill(out, dtype, row_.count, nothing);
  for (int64_t i = 0; i < list_.count; ++i) {
    const auto id = uint32_t(list_ids_[i]);
    const float value = list_values_[i];
    contract::store_value(out, dtype, id, f(value, contract::rank_of(value, id)));
  }
}

// Whether the list is written, one by one, and nothing elsewhere.
bool SimdRow::writes_list() const {
  constexpr int64_t kShare = 64;  // a token takes as long as this many elements of the row
  const bool has_few = list_.covers(distribution_.cut) && list_.count * kShare <= row_.count;
  return is_only_listed_ || (has_few && !has_others_);
}

void SimdRow::write_probabilities(void *out, sampler_dtype dtype) const {
  const Scaling scaling = {distribution_.scale};
  if (distribution_.greedy) {
    passes_.write_probabilities(row_, scaling, 1.0f, 0, row_.count, kInfinity, out, dtype);
    contract::store_value(out, dtype, contract::id_of_rank(first_), 1.0f);
    return;
  }
  if (writes_list()) {
    return write_listed(out, dtype, 0.0f, [&](float value, contract::Rank rank) {
      return distribution_.probability(value, rank);
    });
  }
  if (relative_.is_written && out == relative_.out) {
    passes_.multiply(relative_.out, row_.count, distribution_.normalizer);
    return;
  }
  for_each_range(kept_of_row(distribution_.cut), 0, row_.count,
                 [&](int64_t begin, int64_t end, float at_least) {
                   passes_.write_probabilities(row_, scaling, distribution_.normalizer, begin, end,
                                               at_least, out, dtype);
                 });
}

void SimdRow::write_kept_values(void *out, sampler_dtype dtype) const {
  if (writes_list()) {
    return write_listed(out, dtype, -kInfinity, [&](float value, contract::Rank rank) {
      return distribution_.keeps(rank) ? value : -kInfinity;
    });
  }
  for_each_range(kept_of_row(distribution_.cut), 0, row_.count,
                 [&](int64_t begin, int64_t end, float at_least) {
                   passes_.write_values(row_, begin, end, at_least, out, dtype);
                 });
}

// ---- Chains

float SimdRow::probability_of(int64_t id) const {
  if (id < 0 || id >= row_.count) return 0.0f;
  const float x = row_.value(id);
  if (kind() == SAMPLER_PROBABILITIES) return x;
  return distribution_.probability(x, contract::rank_of(x, uint32_t(id)));
}

void SimdRow::chain_probabilities(float *out) const {
  if (kind() == SAMPLER_LOGITS) {
    write_probabilities(out, SAMPLER_F32);
  } else {
    copy_values(out);
  }
}

void SimdRow::subtract(const SimdRow &draft, float *p) const {
  const int64_t count = std::min(row_.count, draft.row_.count);
  if (draft.kind() == SAMPLER_PROBABILITIES) {
    passes_.subtract(draft.row_, {{}, true}, 1.0f, 0, count, -kInfinity, p, p, nullptr);
    return;
  }
  if (draft.distribution_.greedy) {
    const int64_t first = contract::id_of_rank(draft.first_);
    if (has(first)) p[first] = contract::residual_probability(p[first], 1.0f);
    return;
  }
  const Kept tokens = draft.kept_of_row(draft.distribution_.cut);
  for_each_range(tokens, 0, count, [&](int64_t begin, int64_t end, float at_least) {
    passes_.subtract(draft.row_, {draft.distribution_.scale}, draft.distribution_.normalizer, begin,
                     end, at_least, p, p, nullptr);
  });
}

void SimdRow::remove(int64_t id, float *p) const {
  if (has(id)) p[id] = 0.0f;
}

bool SimdRow::become_residual(const SimdRow *draft, int64_t rejected, float *p) {
  const bool are_given = draft && row_.dtype == SAMPLER_F32 && row_.count <= draft->row_.count &&
                         kind() == SAMPLER_PROBABILITIES && draft->kind() == SAMPLER_PROBABILITIES;
  if (are_given) {
    const auto *const given = static_cast<const float *>(row_.values);
    const float max = passes_.subtract(draft->row_, {{}, true}, 1.0f, 0, row_.count, -kInfinity,
                                       given, p, maxima_);
    begin(contract::f32_view(p, row_.count, nullptr, SAMPLER_PROBABILITIES));
    return become_scanned(max);
  }
  chain_probabilities(p);
  if (draft) {
    subtract(*draft, p);
  } else {
    remove(rejected, p);
  }
  return become(p);
}

float SimdRow::kept_probability(int64_t id) const {
  if (!has(id)) return 0.0f;
  const float x = value_of(id);
  return distribution_.probability(x, contract::rank_of(x, uint32_t(id)));
}

void SimdRow::kept_probabilities(float *out, float *scratch) {
  if (!edited_) return write_probabilities(out, SAMPLER_F32);
  const int32_t *ids = nullptr;
  const int64_t count = list_kept(&ids);
  std::fill_n(out, row_.count, 0.0f);
  write_listed_probabilities(scratch);
  for (int64_t i = 0; i < count; ++i) out[ids[i]] = scratch[i];
}

bool SimdRow::take(const float *probabilities) {
  const RowView view =
      contract::f32_view(probabilities, row_.count, nullptr, SAMPLER_PROBABILITIES);
  return load(view) == SAMPLER_ROW_OK;
}

bool SimdRow::become(const float *probabilities) {
  begin(contract::f32_view(probabilities, row_.count, nullptr, SAMPLER_PROBABILITIES));
  const RowScan scan = passes_.scan(row_, maxima_);
  return scan.valid && become_scanned(scan.max);
}

// maxima_ holds those of the probabilities in row_.
bool SimdRow::become_scanned(float max) {
  first_ = contract::rank_of(max, 0);
  if (contract::check_first(kind(), first_, contract::Use::kDraw) != SAMPLER_ROW_OK) return false;
  find_first();
  distribute({1.0f, 0, 1.0f, 0.0f}, {});
  return true;
}

}  // namespace sampler::cpu
