// Reads rows for the scalar reference.
#include "cpu/row.h"

#include <algorithm>

#include "contract/elements.h"
#include "contract/float_bits.h"
#include "cpu/sort.h"

namespace sampler::cpu {

RowBuffers take_row_buffers(Arena &arena, const contract::Rows &rows) {
  RowBuffers buffers;
  buffers.num_cols = rows.num_cols;
  buffers.sort = arena.take<uint64_t>(rows.num_cols);
  buffers.sort_scratch = arena.take<uint64_t>(rows.num_cols);
  const bool in_place = rows.dtype == SAMPLER_F32 && !rows.ids;
  if (!in_place) buffers.values = arena.take<float>(rows.num_cols);
  if (rows.ids) buffers.ids = arena.take<int32_t>(rows.num_cols);
  return buffers;
}

int64_t Row::find(int64_t id) const {
  if (!ids) return id >= 0 && id < count ? id : -1;
  const int32_t *found = std::lower_bound(ids, ids + count, id);
  return found != ids + count && *found == id ? found - ids : -1;
}

namespace {

// Reads a candidate list in ascending id order. False if an id is out of range or occurs twice.
bool load_candidates(const RowView &view, const RowBuffers &buffers) {
  for (int64_t i = 0; i < view.count; ++i) {
    const int64_t id = view.id(i);
    if (id < 0 || id >= contract::kMaxVocabulary) return false;
    buffers.sort[i] = uint64_t(id) << 32 | contract::bits_of(view.value(i));
  }
  const uint64_t *sorted = sort_by_upper_half(buffers.sort, view.count, buffers.sort_scratch);
  for (int64_t i = 0; i < view.count; ++i) {
    buffers.ids[i] = int32_t(sorted[i] >> 32);
    buffers.values[i] = contract::float_of(uint32_t(sorted[i]));
    if (i > 0 && buffers.ids[i] == buffers.ids[i - 1]) return false;
  }
  return true;
}

}  // namespace

Row load_row(const RowView &view, const RowBuffers &buffers, contract::Use use) {
  Row row;
  row.kind = view.kind;
  row.count = view.count;
  if (!contract::has_valid_count(view, buffers.num_cols)) {
    row.status = SAMPLER_ROW_INVALID_CANDIDATE;
    return row;
  }
  if (view.ids) {
    if (!load_candidates(view, buffers)) {
      row.status = SAMPLER_ROW_INVALID_CANDIDATE;
      return row;
    }
    row.values = buffers.values;
    row.ids = buffers.ids;
  } else if (view.dtype == SAMPLER_F32) {
    row.values = static_cast<const float *>(view.values);
  } else {
    for (int64_t i = 0; i < view.count; ++i) buffers.values[i] = view.value(i);
    row.values = buffers.values;
  }

  for (int64_t i = 0; i < row.count; ++i) {
    if (!contract::is_ordered_value(row.kind, row.values[i])) {
      row.status = SAMPLER_ROW_INVALID_VALUE;
      return row;
    }
    row.first = std::max(row.first, row.rank(i));
  }
  row.status = contract::check_first(row.kind, row.first, use);
  return row;
}

}  // namespace sampler::cpu
