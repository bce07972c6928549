// Rows on row passes: memory, loading, kept tokens, the list.
#include "cpu/simd/row.h"

#include <algorithm>

#include "contract/elements.h"
#include "cpu/simd/select.h"
#include "cpu/workspace.h"

namespace sampler::cpu {

using contract::Rank;

// ---- Memory

namespace {

struct Arrays {
  float *maxima, *list_values, *scratch_values, *spare;
  int32_t *list_ids, *scratch_ids;
  uint64_t *block_weights;
};

size_t lay_out(int64_t num_cols, void *memory, Arrays *out) {
  Arena arena(memory);
  const int64_t listed = num_cols + kListPadding;
  out->maxima = arena.take<float>((num_cols + kGroupBlock - 1) / kGroupBlock * kVectorElements);
  out->list_values = arena.take<float>(listed);
  out->list_ids = arena.take<int32_t>(listed);
  out->scratch_values = arena.take<float>(listed);
  out->scratch_ids = arena.take<int32_t>(listed);
  out->spare = arena.take<float>(listed);
  out->block_weights = arena.take<uint64_t>((num_cols + kWeightBlock - 1) / kWeightBlock);
  return arena.bytes();
}

}  // namespace

size_t SimdRow::memory_bytes(int64_t num_cols) {
  Arrays unused;
  return lay_out(num_cols, nullptr, &unused);
}

SimdRow::SimdRow(const Executor &executor, const contract::Rows &rows, void *memory)
    : passes_(*executor.passes), num_cols_(rows.num_cols), places_(executor.places_key) {
  Arrays arrays;
  lay_out(rows.num_cols, memory, &arrays);
  maxima_ = arrays.maxima;
  list_values_ = arrays.list_values;
  list_ids_ = arrays.list_ids;
  scratch_values_ = arrays.scratch_values;
  scratch_ids_ = arrays.scratch_ids;
  spare_ = arrays.spare;
  block_weights_ = arrays.block_weights;
  // The arrays of each pair are adjacent.
  list_wide_ = reinterpret_cast<uint64_t *>(list_values_);
  scratch_wide_ = reinterpret_cast<uint64_t *>(scratch_values_);
}

// ---- Loading

// Resets all state of the previous row.
void SimdRow::begin(const RowView &view) {
  row_ = view;
  list_ = {};
  is_only_listed_ = is_reweighed_ = has_earlier_ = has_others_ = weighs_edits_ = false;
  loaded_with_ = nullptr;
  edited_ = nullptr;
  later_ = {};
  relative_ = {};
  num_draws_ = 1;
  has_sums_ = false;
  first_ = 0;
  least_ = -kInfinity;
}

uint32_t SimdRow::load(const RowView &view, contract::Use use, bool counts) {
  const uint32_t status = load_value(view, use, counts);
  if (status == SAMPLER_ROW_OK) find_first();
  return status;
}

uint32_t SimdRow::load_value(const RowView &view, contract::Use use, bool counts) {
  if (!contract::has_valid_count(view, num_cols_)) return SAMPLER_ROW_INVALID_CANDIDATE;
  begin(view);
  if (view.count == 0) return SAMPLER_ROW_EMPTY;
  // `view`, not row_: reading the copy back would stall.
  const RowScan scan = (counts ? passes_.scan_range : passes_.scan)(view, maxima_);
  if (!scan.valid) return SAMPLER_ROW_INVALID_VALUE;
  least_ = scan.least;
  first_ = contract::rank_of(scan.max, 0);
  return contract::check_first(view.kind, first_, use);
}

void SimdRow::find_first() {
  first_ = contract::rank_of(max(), uint32_t(passes_.find_first(row_, maxima_, max())));
}

int64_t SimdRow::num_maxima() const {
  return (row_.count + kGroupBlock - 1) / kGroupBlock * kVectorElements;
}

// Number of groups with a token of at least the cut's value.
int64_t SimdRow::groups_from(Rank cut) const {
  const RowView maxima = contract::f32_view(maxima_, num_maxima());
  return passes_.count(maxima, 0, maxima.count, contract::value_of_rank(cut));
}

// Whether the tokens of the cut are few enough to list. The number of their groups usually decides.
bool SimdRow::is_sparse(Rank cut) const {
  const float value = contract::value_of_rank(cut);
  const int64_t groups = groups_from(cut);
  const int64_t all_groups = row_.count / kGroupElements;
  if (weighs_edits_) {
    const bool are_looked_up = edited_->num_slots() > 0;
    return groups * (are_looked_up ? kEditedListShare : kListShare) <= all_groups;
  }
  if (groups * kListShare <= all_groups) return true;
  if (groups > all_groups - all_groups / kListShare) return false;
  return passes_.count(row_, 0, row_.count, value) * kListShare <= row_.count;
}

// ---- Kept tokens

uint64_t SimdRow::weigh(const Kept &kept, int64_t begin, int64_t end, const Scaling &scaling,
                        uint64_t *block_weights) const {
  uint64_t result = 0;
  for_each_range(kept, begin, end, [&](int64_t from, int64_t to, float at_least) {
    if (kept.at_most == kInfinity) {
      result += passes_.weigh(kept.source, scaling, from, to, at_least, block_weights);
      return;
    }
    const int64_t first = std::clamp(kept.first, from, to);
    result += passes_.weigh_between(kept.source, scaling, from, first, at_least, kept.before_first,
                                    block_weights);
    result += passes_.weigh_between(kept.source, scaling, first, to, at_least, kept.at_most,
                                    block_weights);
  });
  return result;
}
uint64_t SimdRow::weigh(const Kept &kept, const Scaling &scaling, uint64_t *block_weights) const {
  return weigh(kept, 0, kept.source.count, scaling, block_weights);
}

SimdRow::Kept SimdRow::kept() const {
  const Rank cut = distribution_.cut;
  const bool is_listed = list_.covers(cut);
  Kept result = is_listed ? kept_of_list(cut) : kept_of_row(cut);
  if (has_earlier_) {
    const int64_t id = contract::id_of_rank(first_);
    result.first =
        is_listed ? std::lower_bound(list_ids_, list_ids_ + list_.count, id) - list_ids_ : id;
    result.before_first = contract::previous_value(max());
    result.at_most = max();
  }
  return result;
}

int64_t SimdRow::kept_count() const {
  if (distribution_.greedy) return 1;
  if (list_.covers(distribution_.cut)) return list_.count;
  int64_t result = 0;
  const Kept kept = kept_of_row(distribution_.cut);
  for_each_range(kept, 0, row_.count, [&](int64_t begin, int64_t end, float at_least) {
    result += passes_.count(row_, begin, end, at_least);
  });
  return result;
}

// ---- The list

void SimdRow::list_range(const ListRange &range) {
  ListRange given = range;
  given.allowed = loaded_with_;
  if (edited_) {
    given.allowed = edited_->allowed();
    if (range.enough != kUnlimited) given.enough += edited_->num_slots();
  }
  const Listed listed = passes_.list(row_, maxima_, 0, row_.count, given, list_values_, list_ids_);
  list_.count = listed.count;
  list_.floor = listed.end_of_ties < row_.count
                    ? contract::rank_of(range.at_least, uint32_t(listed.end_of_ties - 1))
                    : contract::rank_of_key(contract::value_key(range.at_least));
  if (edited_) replace_edited();
}

void SimdRow::list_all(Rank cut) {
  list_range({contract::value_of_rank(cut), kUnlimited});
  list_.floor = std::min(list_.floor, cut);  // the cut's key may be that of -0, which no token has
  shrink_list(cut);
  if (is_only_listed_) drop_before_first();
}

// Removes the tokens before first_ from the list.
void SimdRow::drop_before_first() {
  int64_t count = 0;
  for (int64_t i = 0; i < list_.count; ++i) {
    const float value = list_values_[i];
    const int32_t id = list_ids_[i];
    list_values_[count] = value;
    list_ids_[count] = id;
    count += contract::rank_of(value, uint32_t(id)) <= first_ ? 1 : 0;
  }
  list_.count = count;
}

// Makes `first` the row's first token. If all tokens that may be kept are listed, only the list
// drops the earlier ones. Otherwise the row is copied without them to `memory`, which has room for
// num_cols f32.
void SimdRow::begin_later(Rank first, float *memory) {
  first_ = first;
  if (list_.count >= 0) {
    is_only_listed_ = true;
    drop_before_first();
    return;
  }
  const float value = max();
  const int64_t index = contract::id_of_rank(first);
  const auto copy = [&](int64_t begin, int64_t end, float at_most) {
    passes_.copy(part_of(row_, begin, end - begin), at_most, memory + begin,
                 maxima_ + begin / kGroupElements);
  };
  // Tokens with the same value and lower ids are dropped, too.
  const int64_t block = index / kGroupBlock * kGroupBlock;
  const int64_t block_end = std::min<int64_t>(block + kGroupBlock, row_.count);
  float kept[kGroupBlock];
  for (int64_t i = index; i < block_end; ++i) kept[i - block] = row_.value(i);
  copy(0, block_end, contract::previous_value(value));
  if (block_end < row_.count) copy(block_end, row_.count, value);
  for (int64_t i = index; i < block_end; ++i) {
    if (kept[i - block] != value) continue;
    memory[i] = kept[i - block];
    maxima_[block / kGroupElements + i % kVectorElements] = value;
  }
  row_.values = memory;
  row_.dtype = SAMPLER_F32;
}

// Distributes the tokens from `first` to the cut, for draws by weights only: other tokens stay in
// the row and the list, and are skipped.
void SimdRow::draw_from(Rank first, Rank cut, float temperature) {
  has_earlier_ = first != first_;
  has_others_ = true;
  first_ = first;
  weigh_kept(cut, temperature);
  distribution_.first = first;
}

SimdRow::Kept SimdRow::kept_of_list(Rank cut) const {
  if (list_.floor >= cut) return kept_of_list();
  const float value = contract::value_of_rank(cut);
  const auto *after_ties =
      std::upper_bound(list_ids_, list_ids_ + list_.count, int64_t(contract::id_of_rank(cut)));
  return {list_source(), after_ties - list_ids_, value, contract::next_value(value)};
}

// Reduces the list, which covers the cut, to the tokens of the cut.
void SimdRow::shrink_list(Rank cut) {
  if (list_.floor >= cut) return;
  const Kept kept = kept_of_list(cut);
  int64_t num_kept = 0;
  for_each_range(kept, 0, list_.count, [&](int64_t begin, int64_t end, float at_least) {
    num_kept += passes_.count(kept.source, begin, end, at_least);
  });
  list_.floor = cut;
  if (num_kept == list_.count) return;
  // Not in place: the first range's writes beyond its end would overwrite the second.
  int64_t count = 0;
  for_each_range(kept, 0, list_.count, [&](int64_t begin, int64_t end, float at_least) {
    const ListRange range = {at_least, kUnlimited};
    float *const values = scratch_values_ + count;
    count +=
        passes_.list(kept.source, nullptr, begin, end, range, values, scratch_ids_ + count).count;
  });
  std::copy_n(scratch_values_, count, list_values_);
  std::copy_n(scratch_ids_, count, list_ids_);
  list_.count = count;
}

// A value >= `lowest` that at least k tokens reach, or `lowest` if the maxima show no such value.
// The k-th largest group maximum is one. If there are many groups per token, maxima of coarser
// groups are tried first. Their bound is used if at most 2 k groups reach it, otherwise the groups
// decide, however the tokens are spread.
float SimdRow::group_bound(int64_t k, float lowest) {
  constexpr int64_t kGroupsPerToken = 8;
  const RowView maxima = contract::f32_view(maxima_, num_maxima());
  const int64_t factor = maxima.count / (kGroupsPerToken * k);
  if (factor <= 1) return bound_of_maxima(maxima, k, lowest);
  const int64_t num_folded = passes_.fold_maxima(maxima_, maxima.count, factor, scratch_values_);
  const float bound = bound_of_maxima(contract::f32_view(scratch_values_, num_folded), k, lowest);
  if (passes_.count(maxima, 0, maxima.count, bound) <= 2 * k) return bound;
  const RowView reaching =
      contract::f32_view(scratch_values_, passes_.pack(maxima, bound, kInfinity, scratch_values_));
  return cpu::select(passes_, &places_, reaching, nullptr, uint64_t(k), scratch_values_).value;
}

// A value that at least k of the maxima reach, and not many more except for ties; `lowest` if fewer
// than k reach that.
float SimdRow::bound_of_maxima(const RowView &maxima, int64_t k, float lowest) const {
  const auto num_reaching = [&](float bound) {
    return passes_.count(maxima, 0, maxima.count, bound);
  };
  if (num_reaching(lowest) < k) return lowest;
  uint32_t low = contract::value_key(lowest), high = contract::key_of_rank(first_) + 1;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    const int64_t reaching = num_reaching(contract::value_of_key(middle));
    if (reaching < k) {
      high = middle;
      continue;
    }
    low = middle;
    if (reaching <= k + k / 8) break;
  }
  return contract::value_of_key(low);
}

// Lists at least the first k tokens of `seen`. Ties of the k-th that come after it may be missing.
void SimdRow::list_top(int64_t k, Rank seen) {
  const float bound = group_bound(k, contract::value_of_rank(seen));
  list_range({bound, k});
  shrink_list(seen);
}

}  // namespace sampler::cpu
