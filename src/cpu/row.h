// One row of input, widened, checked and sorted by id.
#pragma once

#include <cstdint>

#include "contract/rank.h"
#include "contract/request.h"
#include "contract/row_view.h"
#include "cpu/workspace.h"

namespace sampler::cpu {

// What a row with new logits is used for: anything; draws, and values of tokens; the same with
// draws by weights.
enum class ReweighedUse { kAny, kDraws, kDrawsByWeights };

using contract::RowView;

// Memory for a row of up to num_cols elements.
struct RowBuffers {
  float *values = nullptr;
  int32_t *ids = nullptr;
  // For sorting: two arrays of num_cols.
  uint64_t *sort = nullptr;
  uint64_t *sort_scratch = nullptr;
  int64_t num_cols = 0;
};

RowBuffers take_row_buffers(Arena &arena, const contract::Rows &rows);

// A row in ascending id order.
struct Row {
  const float *values = nullptr;
  const int32_t *ids = nullptr;  // null: an element's id is its index
  int64_t count = 0;
  sampler_input_kind kind = SAMPLER_LOGITS;
  contract::Rank first = 0;  // the highest rank
  uint32_t status = SAMPLER_ROW_OK;

  uint32_t id(int64_t i) const { return ids ? uint32_t(ids[i]) : uint32_t(i); }
  contract::Rank rank(int64_t i) const { return contract::rank_of(values[i], id(i)); }
  float max() const { return contract::value_of_rank(first); }

  // Index of the element with this id, or -1.
  int64_t find(int64_t id) const;
};

// Reads the whole row. If its status is not OK, the other members are undefined.
Row load_row(const RowView &view, const RowBuffers &buffers, contract::Use use);

}  // namespace sampler::cpu
