// Edits of a row: updates its group maxima and lists, and copies the row only if more is read.
#include <algorithm>
#include <functional>

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
  first_ = contract::rank_of(scan.max, 0);  // only its value is known
  return scan.valid && scan.max > contract::negative_infinity();
}

uint32_t SimdRow::take_edits(const EditedRow &edited, bool asks_for_all) {
  if (!edited.is_edited()) return SAMPLER_ROW_OK;
  edited_ = &edited;
  is_only_listed_ = true;
  if (has_invalid_logit(edited)) return SAMPLER_ROW_INVALID_VALUE;
  // Updating one group maximum takes as long as scanning this many elements.
  constexpr int64_t kElementsPerMaximum = 128;
  if (asks_for_all && edited.num_slots() * kElementsPerMaximum > row_.count) return take_copy();
  const bool is_scanned = loaded_with_ == edited.allowed();
  if (!is_scanned) passes_.scan_allowed(row_, edited.allowed(), maxima_);
  refresh_maxima();

  float largest[kVectorElements];
  const int64_t count = num_maxima();
  passes_.fold_maxima(maxima_, count, count / kVectorElements, largest);
  const float max = *std::max_element(largest, largest + kVectorElements);
  if (max == contract::negative_infinity()) return SAMPLER_ROW_EMPTY;
  const auto seen = [&](int64_t element) { return edited.seen(element); };
  first_ = contract::rank_of(max, uint32_t(find_first_seen(max, seen)));
  return SAMPLER_ROW_OK;
}

uint32_t SimdRow::take_copy() {
  apply_edits();
  const float max = passes_.scan(row_, maxima_).max;
  if (max == contract::negative_infinity()) return SAMPLER_ROW_EMPTY;
  first_ = contract::rank_of(max, uint32_t(passes_.find_first(row_, maxima_, max)));
  return SAMPLER_ROW_OK;
}

bool SimdRow::has_invalid_logit(const EditedRow &edited) {
  for (int32_t slot = 0; slot < edited.num_slots(); ++slot) {
    if (contract::is_invalid_logit(edited.changed_at(slot))) return true;
  }
  return false;
}

// Rescans a group only if its largest element was lowered.
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

// The first element that equals `max`. It is in the first block with that maximum.
template <class Seen>
int64_t SimdRow::find_first_seen(float max, const Seen &seen) const {
  const int64_t group = passes_.find_nth(contract::f32_view(maxima_, num_maxima()), max, 1);
  int64_t element = group / kVectorElements * kGroupBlock;
  while (maxima_[group_of(element)] != max || seen(element) != max) ++element;
  return element;
}

// Removes the edited tokens from the list, and adds those whose edited rank reaches its floor.
void SimdRow::replace_edited() {
  if (edited_->num_slots() * kListShare < list_.count && lower_edited()) return;
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

// ---- The front

int64_t SimdRow::num_first(const contract::RowParameters &parameters,
                           const contract::FilterRules &rules) const {
  if (!lists_first_tokens(parameters, rules)) return 0;
  return contract::is_greedy(parameters.temperature) ? 1 : parameters.top_k;
}

Front SimdRow::front() const {
  // Each token costs a lookup and may take a slot: see RowEdits::may_edit_front().
  constexpr int64_t kMostTokens = 512, kColumnsPerToken = 64;
  const bool are_few = list_.count <= std::min(kMostTokens, row_.count / kColumnsPerToken);
  return are_few ? Front{&passes_, list_ids_, list_.count} : Front();
}

Front SimdRow::list_front(int64_t wanted) {
  if (wanted > 1) {
    // A few more replace tokens that are lowered.
    list_top(wanted + wanted / 16 + 2, contract::lowest_cut(kind()));
    first_ = first_of_list();
    return front();
  }
  if (!loaded_with_) {
    find_first();
  } else {
    const auto seen = [&](int64_t i) {
      const bool is_allowed = (loaded_with_[i / 32] >> (i % 32) & 1u) != 0;
      return contract::ban(row_.value(i), !is_allowed);
    };
    first_ = contract::rank_of(max(), uint32_t(find_first_seen(max(), seen)));
  }
  list_first();
  return front();
}

bool SimdRow::take_front_edits(const EditedRow &edited, int64_t wanted, uint32_t *status) {
  *status = SAMPLER_ROW_OK;
  if (!edited.is_edited()) return true;
  edited_ = &edited;
  is_only_listed_ = true;
  if (has_invalid_logit(edited)) {
    *status = SAMPLER_ROW_INVALID_VALUE;
    return true;
  }
  if (edited.num_slots() > 0) replace_edited();
  const bool has_all = list_.covers(contract::lowest_cut(kind()));
  if (list_.count < (has_all ? 1 : wanted)) return false;
  first_ = first_of_list();
  return true;
}

Rank SimdRow::first_of_list() const {
  Rank first = 0;
  for (int64_t i = 0; i < list_.count; ++i) {
    first = std::max(first, contract::rank_of(list_values_[i], uint32_t(list_ids_[i])));
  }
  return first;
}

// After the edits `wanted` tokens have logits >= `bound`. Unedited tokens among the first `wanted`
// had such logits before.
Front SimdRow::widen_front(const EditedRow &edited, int64_t wanted) {
  constexpr int64_t kMostGroups = 512;
  int64_t num_left = 0;
  for (int32_t slot = 0; slot < edited.num_slots(); ++slot) {
    const float value = edited.changed_at(slot);
    scratch_values_[num_left] = value;
    num_left += contract::rank_of(value, uint32_t(edited.element_at(slot))) < list_.floor ? 1 : 0;
  }
  const int64_t missing = wanted - list_.count;
  drop_front();
  if (missing > num_left) return {};
  float *const last = scratch_values_ + missing - 1;
  std::nth_element(scratch_values_, last, scratch_values_ + num_left, std::greater<>());
  const Rank bound = contract::rank_of_key(contract::value_key(*last));
  if (*last == contract::negative_infinity() || groups_from(bound) > kMostGroups) return {};
  list_range({*last, kUnlimited});
  return front();
}

void SimdRow::drop_front() {
  list_ = {};
  is_only_listed_ = false;
  edited_ = nullptr;
}

// The same if no edited token enters the list; otherwise returns false without a change.
bool SimdRow::lower_edited() {
  const auto is_listed = [&](int32_t slot) {
    return contract::rank_of(edited_->changed_at(slot), uint32_t(edited_->element_at(slot))) >=
           list_.floor;
  };
  const auto place_of = [&](int32_t slot) {
    const auto id = int32_t(edited_->element_at(slot));
    const auto *const place = std::lower_bound(list_ids_, list_ids_ + list_.count, id);
    return place - list_ids_ < list_.count && *place == id ? place - list_ids_ : -1;
  };
  for (int32_t slot = 0; slot < edited_->num_slots(); ++slot) {
    if (is_listed(slot) && place_of(slot) < 0) return false;
  }
  for (int32_t slot = 0; slot < edited_->num_slots(); ++slot) {
    const int64_t place = place_of(slot);
    if (place < 0) continue;
    if (is_listed(slot)) {
      list_values_[place] = edited_->changed_at(slot);
    } else {
      std::copy(list_values_ + place + 1, list_values_ + list_.count, list_values_ + place);
      std::copy(list_ids_ + place + 1, list_ids_ + list_.count, list_ids_ + place);
      --list_.count;
    }
  }
  return true;
}

// Whether only the first tokens in rank order are needed.
bool SimdRow::lists_first_tokens(const contract::RowParameters &parameters,
                                 const contract::FilterRules &rules) const {
  if (contract::is_greedy(parameters.temperature)) return true;
  return rules.order == SAMPLER_FILTERS_SEQUENTIAL && rules.top_k_ties == SAMPLER_TIES_EXACT &&
         contract::top_k_is_on(parameters.top_k) && parameters.top_k * kListShare <= row_.count;
}

// Lists the tokens that the edits leave, if they are few.
bool SimdRow::list_edited() {
  const Rank everything = contract::lowest_cut(kind());
  if (!edited_ || groups_from(everything) * kListShare > row_.count / kGroupElements) return false;
  list_all(everything);
  return true;
}

void SimdRow::apply_edits() {
  if (!edited_) return;
  least_ = -kInfinity;
  float *const values = edited_->values();
  if (edited_->allowed()) {
    passes_.copy_allowed(row_, edited_->allowed(), values);
  } else {
    passes_.copy(row_, kInfinity, values, scratch_values_);
  }
  for (int32_t slot = 0; slot < edited_->num_slots(); ++slot) {
    values[edited_->element_at(slot)] = edited_->changed_at(slot);
  }
  row_.values = values;
  row_.dtype = SAMPLER_F32;
  loaded_with_ = nullptr;
  edited_ = nullptr;
  is_only_listed_ = false;
}

}  // namespace sampler::cpu
