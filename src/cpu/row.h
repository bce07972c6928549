// One row of input, widened, checked and sorted by id.
#pragma once

#include <cstdint>

#include "contract/rank.h"
#include "contract/request.h"
#include "cpu/workspace.h"

namespace sampler::cpu {

// Where a row lies in the caller's memory.
struct RowView {
  const void *values;
  const void *ids;  // null: an element's id is its column
  int64_t count;    // elements; negative or above capacity when the caller's count is
  int64_t capacity;
  contract::Dtype dtype;
  contract::IdType id_type;
  contract::InputKind kind;

  bool has_valid_count() const { return count >= 0 && count <= capacity; }
  float value(int64_t i) const;
  int64_t id(int64_t i) const;
};

// Row `row` of `rows`, whose first element is element `first_element` of the arrays and whose
// number of candidates is entry `row` of the counts.
RowView row_view(const contract::Rows &rows, int64_t row, int64_t first_element);

inline RowView row_view(const contract::Rows &rows, int64_t row) {
  return row_view(rows, row, row * rows.stride);
}

// Memory for a row of up to num_cols elements.
struct RowBuffers {
  float *values = nullptr;
  int32_t *ids = nullptr;
  // To sort by, two arrays of num_cols.
  uint64_t *sort = nullptr;
  uint64_t *sort_scratch = nullptr;
};

RowBuffers take_row_buffers(Arena &arena, const contract::Rows &rows);

// A row as the arithmetic sees it, by ascending id.
struct Row {
  const float *values = nullptr;
  const int32_t *ids = nullptr;  // null: an element's id is its index
  int64_t count = 0;
  contract::InputKind kind = contract::InputKind::kLogits;
  contract::Rank first = 0;  // of the first token in rank order
  uint32_t status = contract::row_status::kOk;

  uint32_t id(int64_t i) const { return ids ? uint32_t(ids[i]) : uint32_t(i); }
  contract::Rank rank(int64_t i) const { return contract::rank_of(values[i], id(i)); }
  float max() const { return contract::value_of_rank(first); }

  // Index of the element with this id, or -1.
  int64_t find(int64_t id) const;
};

// Reads the whole row. When its status is not ok nothing else of it means anything.
Row load_row(const RowView &view, const RowBuffers &buffers);

}  // namespace sampler::cpu
