// A row with edits: its groups' maxima and its lists are put right, and the row itself only where
// more is asked for.
#include <algorithm>

#include "contract/elements.h"
#include "cpu/simd/row.h"
#include "cpu/sort.h"

namespace sampler::cpu {

using contract::Rank;

namespace {

int64_t group_of(int64_t element) {
  return element / kGroupBlock * kVectorElements + element % kVectorElements;
}

}  // namespace

bool SimdRow::load_allowed(const RowView &view, const uint32_t *allowed) {
  if (!contract::has_valid_count(view, num_cols_)) return false;
  begin(view);
  loaded_with_ = allowed;
  const RowScan scan = passes_.scan_allowed(view, allowed, maxima_);
  return scan.valid && scan.max > contract::negative_infinity();
}

uint32_t SimdRow::take_edits(const EditedRow &edited) {
  if (!edited.is_edited()) return SAMPLER_ROW_OK;
  edited_ = &edited;
  is_only_listed_ = true;
  for (int32_t slot = 0; slot < edited.num_slots(); ++slot) {
    if (contract::is_invalid_logit(edited.changed_at(slot))) return SAMPLER_ROW_INVALID_VALUE;
  }
  const bool is_scanned = loaded_with_ == edited.allowed();
  if (!is_scanned) passes_.scan_allowed(row_, edited.allowed(), maxima_);
  refresh_maxima();

  float largest[kVectorElements];
  const int64_t count = num_maxima();
  passes_.fold_maxima(maxima_, count, count / kVectorElements, largest);
  const float max = *std::max_element(largest, largest + kVectorElements);
  if (max == contract::negative_infinity()) return SAMPLER_ROW_EMPTY;
  first_ = contract::rank_of(max, uint32_t(find_first_edited(max)));
  return SAMPLER_ROW_OK;
}

// A group is looked at once more where its largest element was lowered.
void SimdRow::refresh_maxima() {
  for (int32_t slot = 0; slot < edited_->num_slots(); ++slot) {
    const int64_t element = edited_->element_at(slot);
    const float given = edited_->given_at(slot);
    float &max = maxima_[group_of(element)];
    if (given < max || edited_->changed_at(slot) >= given) continue;
    const int64_t block = element / kGroupBlock * kGroupBlock;
    const int64_t end = std::min<int64_t>(block + kGroupBlock, row_.count);
    max = contract::negative_infinity();
    for (int64_t i = block + element % kVectorElements; i < end; i += kVectorElements) {
      max = std::max(max, edited_->seen(i));
    }
  }
  for (int32_t slot = 0; slot < edited_->num_slots(); ++slot) {
    if (edited_->changed_at(slot) <= edited_->given_at(slot)) continue;
    float &max = maxima_[group_of(edited_->element_at(slot))];
    max = std::max(max, edited_->changed_at(slot));
  }
}

// The first element that equals the largest. It is in the first block that has it.
int64_t SimdRow::find_first_edited(float max) const {
  const int64_t group = passes_.find_nth(contract::f32_view(maxima_, num_maxima()), max, 1);
  int64_t element = group / kVectorElements * kGroupBlock;
  while (maxima_[group_of(element)] != max || edited_->seen(element) != max) ++element;
  return element;
}

// Gives the edited tokens of the list their places in it, by their edited values.
void SimdRow::replace_edited() {
  int64_t count = 0;
  for (int64_t i = 0; i < list_.count; ++i) {
    const int32_t id = list_ids_[i];
    list_values_[count] = list_values_[i];
    list_ids_[count] = id;
    count += edited_->find(id) < 0 ? 1 : 0;
  }
  uint64_t *added = scratch_wide_;
  int64_t num_added = 0;
  for (int32_t slot = 0; slot < edited_->num_slots(); ++slot) {
    const auto id = uint32_t(edited_->element_at(slot));
    const float value = edited_->changed_at(slot);
    if (contract::rank_of(value, id) < list_.floor) continue;
    added[num_added++] = uint64_t(id) << 32 | contract::bits_of(value);
  }
  // Edits are few: see RowEdits::are_dense().
  added = sort_by_upper_half(added, num_added, reinterpret_cast<uint64_t *>(spare_));
  list_.count = count + num_added;
  for (int64_t i = list_.count; num_added > 0;) {
    const auto id = int32_t(added[num_added - 1] >> 32);
    --i;
    if (count > 0 && list_ids_[count - 1] > id) {
      --count;
      list_values_[i] = list_values_[count];
      list_ids_[i] = list_ids_[count];
    } else {
      --num_added;
      list_values_[i] = contract::float_of(uint32_t(added[num_added]));
      list_ids_[i] = id;
    }
  }
}

// Whether only the first tokens in rank order are looked at.
bool SimdRow::lists_first_tokens(const contract::RowParameters &parameters,
                                 const contract::FilterRules &rules) const {
  if (contract::is_greedy(parameters.temperature)) return true;
  return rules.order == SAMPLER_FILTERS_SEQUENTIAL && rules.top_k_ties == SAMPLER_TIES_EXACT &&
         contract::top_k_is_on(parameters.top_k) && parameters.top_k * kListShare <= row_.count;
}

void SimdRow::settle() {
  if (!edited_) return;
  float *const values = edited_->values();
  passes_.copy(row_, kInfinity, values, scratch_values_);
  if (const uint32_t *const allowed = edited_->allowed()) {
    const int64_t whole = row_.count / 32;
    for (int64_t i = 0; i < whole; ++i) {
      if (allowed[i] != UINT32_MAX) ban_by_word(allowed[i], values + 32 * i);
    }
    for (int64_t i = 32 * whole; i < row_.count; ++i) values[i] = edited_->unedited(i);
  }
  for (int32_t slot = 0; slot < edited_->num_slots(); ++slot) {
    values[edited_->element_at(slot)] = edited_->changed_at(slot);
  }
  row_.values = values;
  row_.dtype = SAMPLER_F32;
  edited_ = nullptr;
  is_only_listed_ = false;
}

}  // namespace sampler::cpu
