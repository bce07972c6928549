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

uint32_t SimdRow::take_edits(const EditedRow &edited, EditedUse use) {
  if (!edited.is_edited()) return SAMPLER_ROW_OK;
  edited_ = &edited;
  is_only_listed_ = true;
  const float largest_changed = this->largest_changed(edited);
  if (largest_changed == kInfinity) return SAMPLER_ROW_INVALID_VALUE;
  weighs_edits_ = use == EditedUse::kDraws && kind() == SAMPLER_LOGITS;
  const bool is_scanned = loaded_with_ == edited.allowed();
  float from = -kInfinity;
  if (weighs_edits_) {
    const float seen_at_first =
        edited.num_slots() > 0 ? edited.seen(contract::id_of_rank(first_)) : max();
    if (is_scanned && seen_at_first == max() && largest_changed < max()) return SAMPLER_ROW_OK;
    // Draws need only the largest maximum, which is at least this; all others are upper bounds.
    from = std::max(largest_changed, seen_at_first);
  }
  const RowView given = contract::f32_view(edited.given_values(), edited.num_slots());
  // Updating one group maximum takes as long as scanning this many elements.
  constexpr int64_t kElementsPerMaximum = 256;
  const int64_t num_updated = passes_.count(given, 0, given.count, from);
  if (use != EditedUse::kFirst && num_updated * kElementsPerMaximum > row_.count) {
    return take_copy();
  }
  float max = this->max();
  if (!is_scanned) max = passes_.scan_allowed(row_, edited.allowed(), maxima_).max;
  if (edited.num_slots() > 0) {
    refresh_maxima(from);
    float largest[kVectorElements];
    const int64_t count = num_maxima();
    passes_.fold_maxima(maxima_, count, count / kVectorElements, largest);
    max = *std::max_element(largest, largest + kVectorElements);
  }
  if (max == contract::negative_infinity()) return SAMPLER_ROW_EMPTY;
  const auto seen = [&](int64_t element) { return edited.seen(element); };
  first_ = contract::rank_of(max, uint32_t(find_first_seen(max, seen)));
  has_earlier_ = weighs_edits_ && passes_.count(given, 0, given.count, max) > 0;
  return SAMPLER_ROW_OK;
}

uint32_t SimdRow::take_copy() {
  apply_edits();
  const float max = passes_.scan(row_, maxima_).max;
  if (max == contract::negative_infinity()) return SAMPLER_ROW_EMPTY;
  first_ = contract::rank_of(max, uint32_t(passes_.find_first(row_, maxima_, max)));
  return SAMPLER_ROW_OK;
}

// +inf if an edited logit is invalid.
float SimdRow::largest_changed(const EditedRow &edited) const {
  const RowScan scan = passes_.scan(contract::f32_view(edited.changed_values(), edited.num_slots()),
                                    scratch_values_);
  return scan.valid ? scan.max : kInfinity;
}

// Rescans a group only if its largest element, of at least `from`, was lowered.
void SimdRow::refresh_maxima(float from) {
  for (int32_t slot = 0; slot < edited_->num_slots(); ++slot) {
    const float given = edited_->given_at(slot);
    if (given < from) continue;
    const int64_t element = edited_->element_at(slot);
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
  if (edited_->num_slots() == 0) return;
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
  if (largest_changed(edited) == kInfinity) {
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

// ---- Draws

// The tokens of one block, from element `begin` on, as given but for those that a bitmask bans.
SimdRow::Kept SimdRow::block_of(const Kept &kept, int64_t begin) const {
  Kept block = kept;
  const int64_t count = std::min<int64_t>(kWeightBlock, kept.source.count - begin);
  const RowView part = part_of(kept.source, begin, count);
  if (edited_->allowed()) {
    passes_.copy_allowed(part, edited_->allowed() + begin / 32, scratch_values_);
  } else {
    passes_.write_values(part, 0, count, -kInfinity, scratch_values_, SAMPLER_F32);
  }
  block.source = contract::f32_view(scratch_values_, count);
  block.split -= begin;
  block.first -= begin;
  return block;
}

// Weighs the given tokens of whole blocks from `begin` on.
uint64_t SimdRow::weigh_given(const Kept &tokens, int64_t begin, int64_t end, bool has_earlier) {
  const uint32_t *const allowed = edited_->allowed();
  const Scaling scaling = {distribution_.scale};
  Kept kept = tokens;
  if (!has_earlier) kept.at_most = kInfinity;
  end = std::min<int64_t>(end, row_.count);
  if (!allowed) return weigh(kept, begin, end, scaling, block_weights_);
  if (!has_earlier && kept.at_least <= -contract::kLargestFloat) {
    return passes_.weigh_allowed(row_, distribution_.scale, allowed, begin, end, block_weights_);
  }
  uint64_t result = 0;
  for (; begin < end; begin += kWeightBlock) {
    result += weigh(block_of(kept, begin), scaling, block_weights_ + begin / kWeightBlock);
  }
  return result;
}

// Weighs the tokens as given, then replaces the edited tokens' weights.
uint64_t SimdRow::weigh_edited(const Kept &tokens) {
  const int64_t num_blocks = (row_.count + kWeightBlock - 1) / kWeightBlock;
  const int64_t count = edited_->num_slots();
  const float *given = edited_->given_values();
  // Blocks with tokens before first_, which are edited; those are weighed by slower passes.
  int32_t *const has_earlier = scratch_ids_;
  std::fill_n(has_earlier, num_blocks, 0);
  if (has_earlier_) {
    for (int32_t slot = 0; slot < count; ++slot) {
      const auto id = uint32_t(edited_->element_at(slot));
      const bool is_earlier = contract::rank_of(given[slot], id) > first_;
      spare_[slot] = is_earlier ? -kInfinity : given[slot];
      has_earlier[id / kWeightBlock] |= is_earlier ? 1 : 0;
    }
    given = spare_;
  }
  uint64_t result = 0;
  for (int64_t block = 0; block < num_blocks;) {
    const int64_t first = block;
    const bool is_slow = has_earlier[first] != 0;
    do {
      ++block;
    } while (!is_slow && block < num_blocks && has_earlier[block] == 0);
    result += weigh_given(tokens, first * kWeightBlock, block * kWeightBlock, is_slow);
  }
  // Several sums per block: additions to one would wait for each other.
  constexpr uint32_t kSums = 4;
  const int64_t num_sums = num_blocks * kSums;
  uint64_t *const sums = list_wide_;
  std::fill_n(sums, num_sums, 0);
  int32_t *const high = scratch_ids_, *const low = reinterpret_cast<int32_t *>(scratch_values_);
  passes_.weigh_changes(given, edited_->changed_values(), count, distribution_.scale,
                        tokens.at_least, high, low);
  const int32_t *const elements = edited_->elements();
  for (uint32_t slot = 0; slot < uint32_t(count); ++slot) {
    const int64_t units = int64_t(high[slot]) * (int64_t(1) << contract::kLowLimbBits);
    const uint32_t sum = uint32_t(elements[slot]) / uint32_t(kWeightBlock) * kSums + slot % kSums;
    sums[sum] += uint64_t(units + low[slot]);
  }
  for (int64_t i = 0; i < num_sums; ++i) {
    block_weights_[i / kSums] += sums[i];
    result += sums[i];
  }
  return result;
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
  is_only_listed_ = has_earlier_ = weighs_edits_ = false;
}

}  // namespace sampler::cpu
