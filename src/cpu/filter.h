// One output row per input row: softmax, renormalisation, masks.
#pragma once

#include "contract/elements.h"
#include "cpu/row_tasks.h"
#include "cpu/stages.h"

namespace sampler::cpu {

template <class Row>
class Task<contract::FilterRequest, Row> {
 public:
  Task(const contract::FilterRequest &request, const Shared<contract::FilterRequest> &,
       TaskMemory &memory)
      : request_(request),
        row_(memory.make_row<Row>(request.input)),
        stages_(request.pipeline, request.input, false, memory) {}

  void run(int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) run_row(row);
  }

 private:
  void run_row(int64_t index) {
    const RowView view = contract::row_view(request_.input, index);
    contract::RowParameters parameters = {};
    uint32_t status = contract::read_parameters(request_, request_.slots[index], &parameters);
    int32_t kept_count = 0;
    if (status == SAMPLER_ROW_OK) {
      status = stages_.load(view, request_.slots[index], index, nullptr, &row_, false,
                            [](const Row &) {});
    }
    if (status == SAMPLER_ROW_OK) {
      const int64_t slot = request_.slots[index];
      parameters = stages_.adapt(parameters, slot);
      row_.apply_edits();
      if (!is_mask() && request_.output_dtype == SAMPLER_F32) {
        row_.will_write(static_cast<float *>(output_row(index)));
      }
      const auto &kept = stages_.distribute(parameters, request_.parameters.rules, slot, 0, &row_);
      if (!is_mask()) stages_.reweigh(kept, slot, &row_, ReweighedUse::kAny);
      if (request_.out_kept_counts) kept_count = int32_t(row_.kept_count());
      write_good_row(index, view.count);
    } else {
      write_bad_row(index, view);
    }
    if (request_.out_kept_counts) request_.out_kept_counts[index] = kept_count;
    if (request_.out_row_status) request_.out_row_status[index] = status;
  }

  bool is_mask() const { return request_.output_kind == SAMPLER_OUTPUT_VALUES; }

  void *output_row(int64_t index) const {
    const int64_t first = index * request_.output_stride;
    return static_cast<char *>(request_.output) +
           first * int64_t(contract::size_of(request_.output_dtype));
  }

  void write_good_row(int64_t index, int64_t count) const {
    if (is_mask()) {
      row_.write_kept_values(output_row(index), request_.output_dtype);
    } else {
      row_.write_probabilities(output_row(index), request_.output_dtype);
    }
    write_nothing(index, count);
  }

  // Masks copy a bad row, if its count is valid.
  void write_bad_row(int64_t index, const RowView &view) const {
    const bool is_copied = is_mask() && contract::has_valid_count(view, request_.input.num_cols);
    const int64_t count = is_copied ? view.count : 0;
    for (int64_t i = 0; i < count; ++i) {
      contract::store_value(output_row(index), request_.output_dtype, i, view.value(i));
    }
    write_nothing(index, count);
  }

  // Fills an output row from element `begin` on.
  void write_nothing(int64_t index, int64_t begin) const {
    const float nothing = is_mask() ? contract::negative_infinity() : 0.0f;
    for (int64_t i = begin; i < request_.input.num_cols; ++i) {
      contract::store_value(output_row(index), request_.output_dtype, i, nothing);
    }
  }

  const contract::FilterRequest &request_;
  Row row_;
  RowStages stages_;
};

}  // namespace sampler::cpu
