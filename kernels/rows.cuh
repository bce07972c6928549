// A row of output for each row of input: softmax, top_k_renorm, top_p_renorm, top_k_mask. A row is
// read once where the team's shared memory holds it, and written once.
#pragma once

#include <cstdint>

#include "contract/request.h"
#include "distribution.cuh"
#include "output.cuh"
#include "row.cuh"
#include "sample.cuh"
#include "team.cuh"

namespace sampler::kernels {

using contract::RowsRequest;

template <class Context>
class RowsTeam {
 public:
  SAMPLER_DEVICE RowsTeam(Team<Context> &team, const RowsRequest &request,
                          const RowCache &row_cache, uint32_t *bitmap)
      : team_(team), request_(request), row_cache_(row_cache), bitmap_(bitmap) {}

  SAMPLER_DEVICE void run(int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) run_row(row);
  }

 private:
  using Row = TeamRow<Context, StoredRow>;

  SAMPLER_DEVICE_CALL void run_row(int64_t index) {
    const StoredRow stored = stored_row(contract::row_view(request_.input, index));
    RowParameters parameters = {};
    uint32_t status = contract::read_parameters(request_, request_.slots[index], &parameters);
    if (!contract::has_valid_count(stored, request_.input.num_cols)) {
      StoredRow nothing = stored;
      nothing.count = 0;
      if (status == SAMPLER_ROW_OK) status = SAMPLER_ROW_INVALID_CANDIDATE;
      write_bad(index, Row(team_.ctx, nothing, row_cache_), status);
      return;
    }
    Row row(team_.ctx, stored, row_cache_);
    if (status != SAMPLER_ROW_OK) {
      write_bad(index, row, status);
      return;
    }
    const RowSummary summary =
        load_row(team_, row, wanted_group_maxima(parameters, stored.count), bitmap_);
    if (summary.status != SAMPLER_ROW_OK) {
      write_bad(index, row, summary.status);
      return;
    }
    ListState list;
    const Distribution distribution =
        make_distribution(team_, row, summary, parameters, request_.parameters.rules, &list);
    write_row(team_, output(), index, row, nothing(), [&](float x, uint32_t id) {
      const Rank rank = contract::rank_of(x, id);
      if (is_mask()) return distribution.keeps(rank) ? x : contract::negative_infinity();
      return distribution.probability(x, rank);
    });
    write_outcome(index, SAMPLER_ROW_OK, distribution.kept_count);
  }

  SAMPLER_DEVICE bool is_mask() const { return request_.output_kind == SAMPLER_OUTPUT_VALUES; }
  SAMPLER_DEVICE OutputRows output() const {
    return output_rows(request_, request_.input.num_cols);
  }
  SAMPLER_DEVICE float nothing() const { return is_mask() ? contract::negative_infinity() : 0.0f; }

  // Masks copy a bad row.
  SAMPLER_DEVICE void write_bad(int64_t index, const Row &row, uint32_t status) {
    write_row(team_, output(), index, row, nothing(),
              [&](float x, uint32_t) { return is_mask() ? x : 0.0f; });
    write_outcome(index, status, 0);
  }

  SAMPLER_DEVICE void write_outcome(int64_t index, uint32_t status, int64_t kept_count) const {
    if (!team_.is_first_thread()) return;
    if (request_.out_kept_counts) request_.out_kept_counts[index] = int32_t(kept_count);
    if (request_.out_row_status) request_.out_row_status[index] = status;
  }

  Team<Context> &team_;
  const RowsRequest &request_;
  RowCache row_cache_;
  uint32_t *bitmap_;
};

}  // namespace sampler::kernels
