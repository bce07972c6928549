// The residual of the target's row after a rejected draft, as a row of probabilities.
#pragma once

#include <algorithm>

#include "contract/elements.h"
#include "cpu/row_tasks.h"

namespace sampler::cpu {

template <class Row>
class Task<contract::ResidualRequest, Row> {
 public:
  Task(const contract::ResidualRequest &request, const Shared<contract::ResidualRequest> &,
       TaskMemory &memory)
      : request_(request),
        target_(memory.make_row<Row>(request.target)),
        draft_(memory.make_row_if<Row>(request.draft.values, request.draft)),
        residual_(memory.take<float>(request.target.num_cols)) {}

  void run(int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) run_row(row);
  }

 private:
  void run_row(int64_t index) {
    const bool has_draft = request_.draft.values;
    const int64_t removed =
        has_draft ? 0 : contract::load_id(request_.draft_token_ids, request_.token_id_type, index);
    const bool is_valid = removed >= 0 && removed < request_.target.num_cols;
    const uint32_t status = load_models(index);
    const int64_t size = int64_t(contract::size_of(request_.output_dtype));
    char *out = static_cast<char *>(request_.output) + index * request_.output_stride * size;
    if (status == SAMPLER_ROW_OK) {
      if (!is_valid ||
          !target_.become_residual(has_draft ? &draft_ : nullptr, removed, residual_)) {
        target_.load(contract::row_view(request_.target, index));
        target_.chain_probabilities(residual_);
        target_.become(residual_);
      }
      target_.write_probabilities(out, request_.output_dtype);
    } else {
      std::fill_n(out, request_.target.num_cols * size, char(0));
    }
    if (request_.out_row_status) {
      request_.out_row_status[index] =
          status | (is_valid ? SAMPLER_ROW_OK : SAMPLER_ROW_INVALID_DRAFT);
    }
  }

  // A row q may be 0 everywhere: p is then unchanged.
  uint32_t load_models(int64_t index) {
    const uint32_t status = target_.load(contract::row_view(request_.target, index));
    if (status != SAMPLER_ROW_OK || !request_.draft.values) return status;
    const uint32_t draft_status = draft_.load(contract::row_view(request_.draft, index));
    return draft_status == SAMPLER_ROW_EMPTY ? uint32_t(SAMPLER_ROW_OK) : draft_status;
  }

  const contract::ResidualRequest &request_;
  Row target_;
  Row draft_;
  float *residual_;  // probabilities of the target's tokens
};

}  // namespace sampler::cpu
