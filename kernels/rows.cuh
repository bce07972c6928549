// A row of output for each row of input: softmax, top_k_renorm, top_p_renorm, top_k_mask. A row is
// read once where the team's shared memory holds it, and written once.
#pragma once

#include <cstdint>

#include "contract/elements.h"
#include "contract/request.h"
#include "distribution.cuh"
#include "row.cuh"
#include "sample.cuh"
#include "team.cuh"

namespace sampler::kernels {

using contract::RowOutput;
using contract::RowsRequest;

template <class Context>
class RowsTeam {
 public:
  SAMPLER_DEVICE RowsTeam(Team<Context> &team, const RowsRequest &request,
                          const Residence &residence, uint32_t *bitmap)
      : team_(team), request_(request), residence_(residence), bitmap_(bitmap) {}

  SAMPLER_DEVICE void run(int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) run_row(row);
  }

 private:
  using Row = TeamRow<Context, StoredRow>;

  SAMPLER_DEVICE void run_row(int64_t index) {
    const StoredRow stored = stored_row(request_.input, index, index * request_.input.stride);
    const RowParameters parameters = request_.parameters.row(index);
    uint32_t status = contract::check_parameters(stored.kind, parameters);
    if (!has_valid_count(stored, request_.input.num_cols)) {
      StoredRow nothing = stored;
      nothing.count = 0;
      if (status == row_status::kOk) status = row_status::kInvalidCandidate;
      write_bad(index, Row(team_.ctx, nothing, residence_), status);
      return;
    }
    Row row(team_.ctx, stored, residence_);
    if (status != row_status::kOk) {
      write_bad(index, row, status);
      return;
    }
    const RowSummary summary =
        load_row(team_, row, wanted_delegates(parameters, stored.count), bitmap_);
    if (summary.status != row_status::kOk) {
      write_bad(index, row, summary.status);
      return;
    }
    ListState list;
    const Distribution distribution =
        make_distribution(team_, row, summary, parameters, request_.parameters.rules, &list);
    write_row(index, row, [&](float x, uint32_t id) {
      const Rank rank = contract::rank_of(x, id);
      if (is_mask()) return distribution.keeps(rank) ? x : contract::negative_infinity();
      return distribution.probability(x, rank);
    });
    write_outcome(index, row_status::kOk, distribution.kept_count);
  }

  SAMPLER_DEVICE bool is_mask() const { return request_.output_kind == RowOutput::kMask; }
  SAMPLER_DEVICE float nothing() const { return is_mask() ? contract::negative_infinity() : 0.0f; }

  // Masks copy a bad row.
  SAMPLER_DEVICE void write_bad(int64_t index, const Row &row, uint32_t status) {
    write_row(index, row, [&](float x, uint32_t) { return is_mask() ? x : 0.0f; });
    write_outcome(index, status, 0);
  }

  // Writes element(x, id) for each element of the row, and nothing() behind them.
  template <class Element>
  SAMPLER_DEVICE void write_row(int64_t index, const Row &row, const Element &element) const {
    const int64_t first = index * request_.output_stride;
    const Dtype dtype = request_.output_dtype;
    row.for_each_vector([&](int position, const float(&x)[kVector]) {
      const int begin = position - row.source().lead;
      float y[kVector];
      for (int i = 0; i < kVector; ++i) {
        const bool in_row = begin + i >= 0 && begin + i < row.count();
        y[i] = in_row ? element(x[i], row.id(begin + i)) : 0.0f;
      }
      if (row.is_inside(position)) {
        store_vector(first + begin, y);
        return;
      }
      for (int i = 0; i < kVector; ++i) {
        if (begin + i >= 0 && begin + i < row.count()) {
          contract::store_value(request_.output, dtype, first + begin + i, y[i]);
        }
      }
    });
    if (!team_.is_leader()) return;
    for (int64_t i = row.count() + team_.ctx.thread(); i < request_.input.num_cols;
         i += Context::kThreads) {
      contract::store_value(request_.output, dtype, first + i, nothing());
    }
  }

  // In one piece where the output is aligned as the input is.
  SAMPLER_DEVICE void store_vector(int64_t element, const float (&y)[kVector]) const {
    const Dtype dtype = request_.output_dtype;
    if (dtype == Dtype::kF32) {
      float *output = static_cast<float *>(request_.output) + element;
      if (elements_to_alignment(output, dtype) == 0) {
        Vector32 raw;
        for (int i = 0; i < kVector; ++i) raw.element[i] = y[i];
        team_.ctx.store_vector(reinterpret_cast<Vector32 *>(output), raw);
        return;
      }
    } else {
      uint16_t *output = static_cast<uint16_t *>(request_.output) + element;
      if (elements_to_alignment(output, dtype) == 0) {
        Vector16 raw;
        for (int i = 0; i < kVector; ++i) {
          raw.element[i] =
              dtype == Dtype::kF16 ? contract::narrow_f16(y[i]) : contract::narrow_bf16(y[i]);
        }
        team_.ctx.store_vector(reinterpret_cast<Vector16 *>(output), raw);
        return;
      }
    }
    for (int i = 0; i < kVector; ++i)
      contract::store_value(request_.output, dtype, element + i, y[i]);
  }

  SAMPLER_DEVICE void write_outcome(int64_t index, uint32_t status, int64_t kept_count) const {
    if (!team_.is_first_thread()) return;
    if (request_.out_kept_counts) request_.out_kept_counts[index] = int32_t(kept_count);
    if (request_.out_row_status) request_.out_row_status[index] = status;
  }

  Team<Context> &team_;
  const RowsRequest &request_;
  Residence residence_;
  uint32_t *bitmap_;
};

}  // namespace sampler::kernels
