// View of one row in memory: the caller's row, or a list of some of its tokens.
#pragma once

#include <cstdint>

#include "contract/elements.h"
#include "contract/host_device.h"
#include "contract/request.h"

namespace sampler::contract {

struct RowView {
  const void *values;
  const void *ids;  // null: an element's id is its index
  int32_t count;    // elements; unchecked for a candidate list, see has_valid_count()
  sampler_dtype dtype;
  sampler_id_type id_type;
  sampler_input_kind kind;

  SAMPLER_HD float value(int64_t index) const { return load_value(values, dtype, index); }
  SAMPLER_HD int64_t id(int64_t index) const { return ids ? load_id(ids, id_type, index) : index; }
};

// Row `row` of `rows`. Its values begin at element `first_element`; entry `row` of the counts is
// its number of candidates.
SAMPLER_HD inline RowView row_view(const Rows &rows, int64_t row, int64_t first_element) {
  const int64_t size = int64_t(size_of(rows.dtype)), id_size = int64_t(size_of_id(rows.id_type));
  RowView view;
  view.values = static_cast<const char *>(rows.values) + first_element * size;
  view.ids = rows.ids ? static_cast<const char *>(rows.ids) + first_element * id_size : nullptr;
  view.count = rows.counts ? rows.counts[row] : int32_t(rows.num_cols);
  view.dtype = rows.dtype;
  view.id_type = rows.id_type;
  view.kind = rows.kind;
  return view;
}

SAMPLER_HD inline RowView row_view(const Rows &rows, int64_t row) {
  return row_view(rows, row, row * rows.stride);
}

// View of the library's own f32 values, with ids if they are a list of tokens.
inline RowView f32_view(const float *values, int64_t count, const int32_t *ids = nullptr,
                        sampler_input_kind kind = SAMPLER_LOGITS) {
  return {values, ids, int32_t(count), SAMPLER_F32, SAMPLER_ID_I32, kind};
}

// Whether the caller's count is in range. Otherwise the row has no elements.
SAMPLER_HD inline bool has_valid_count(const RowView &row, int64_t num_cols) {
  return row.count >= 0 && row.count <= num_cols;
}

}  // namespace sampler::contract
