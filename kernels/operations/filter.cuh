// One row of output per row of input: softmax, top_k_renorm, top_p_renorm, top_k_mask. A row is
// read once if the team's shared memory holds it, and written once.
#pragma once

#include <cstdint>

#include "contract/request.h"
#include "machine/team.cuh"
#include "operations/sample.cuh"
#include "row/distribution.cuh"
#include "row/output.cuh"
#include "row/row.cuh"

namespace sampler::kernels {

using contract::FilterRequest;

template <class Context>
class FilterTeam {
 public:
  SAMPLER_DEVICE FilterTeam(Team<Context> &team, const FilterRequest &request,
                            const RowCache &row_cache)
      : team_(team), request_(request), row_cache_(row_cache) {}

  SAMPLER_DEVICE void run(int64_t begin, int64_t end) {
    end_ = end;
    for (index_ = begin; index_ < end_ || take_listed(); ++index_) run_row();
  }

  // run() also processes rows of a list: teams take turns, this one starts at its own index.
  SAMPLER_DEVICE void take_list(const uint32_t *list, uint32_t num_rows) {
    list_ = list;
    place_ = uint32_t(team_.ctx.team());
    num_places_ = num_rows;
  }

 protected:
  using Row = TeamRow<Context, StoredRow>;

  // Moves to the next row of the list, if there is one.
  SAMPLER_DEVICE bool take_listed() {
    if (place_ >= num_places_) return false;
    index_ = list_[place_];
    place_ += uint32_t(team_.ctx.num_teams());
    return true;
  }

  SAMPLER_DEVICE_CALL void run_row() {
    const StoredRow stored = stored_row(contract::row_view(request_.input, index_));
    uint32_t status = contract::read_parameters(request_, request_.slots[index_], &parameters_);
    if (!contract::has_valid_count(stored, request_.input.num_cols)) {
      StoredRow no_elements = stored;
      no_elements.count = 0;
      if (status == SAMPLER_ROW_OK) status = SAMPLER_ROW_INVALID_CANDIDATE;
      write_bad(no_elements, status);
      return;
    }
    if (status != SAMPLER_ROW_OK) {
      write_bad(stored, status);
      return;
    }
    Row row(team_.ctx, stored, row_cache_);
    const RowSummary summary = load_row(team_, row, wanted_group_maxima(parameters_, stored.count));
    if (summary.status != SAMPLER_ROW_OK) {
      write_bad(stored, summary.status);
      return;
    }
    ListState list;
    const Distribution distribution =
        make_distribution(team_, row, summary, parameters_, request_.parameters.rules, &list,
                          {request_.out_kept_counts != nullptr, true});
    if (is_mask()) {
      write_mask(row, distribution);
    } else {
      write_probabilities(team_, output(), index_, row, distribution);
    }
    write_outcome(SAMPLER_ROW_OK, distribution.kept_count);
  }

  SAMPLER_DEVICE bool is_mask() const { return request_.output_kind == SAMPLER_OUTPUT_VALUES; }
  SAMPLER_DEVICE OutputRows output() const {
    return output_rows(request_, request_.input.num_cols);
  }
  SAMPLER_DEVICE float nothing() const { return is_mask() ? contract::negative_infinity() : 0.0f; }

  SAMPLER_DEVICE_CALL void write_mask(const Row &row, const Distribution &distribution) {
    const Cut cut = {contract::value_of_rank(distribution.cut),
                     contract::id_of_rank(distribution.cut), contract::negative_infinity()};
    write_row(team_, output(), index_, row, nothing(),
              [&](const Row &row_, int tile, int first, float(&x)[kRun]) {
                cut.apply(row_, tile, first, x);
              });
  }

  // Masks copy a bad row bit for bit.
  SAMPLER_DEVICE_CALL void write_bad(const StoredRow &row, uint32_t status) {
    const OutputRows to = output();
    const int num_threads = team_.ctx.team_size() * Context::kThreads;
    for (int i = team_.ctx.cluster_rank() * Context::kThreads + team_.ctx.thread(); i < row.count;
         i += num_threads) {
      to.store(index_ * to.stride + i, is_mask() ? row.value(i) : 0.0f);
    }
    write_nothing(team_, to, index_, row.count, nothing());
    write_outcome(status, 0);
  }

  SAMPLER_DEVICE void write_outcome(uint32_t status, int64_t kept_count) const {
    if (!team_.is_first_thread()) return;
    if (request_.out_kept_counts) request_.out_kept_counts[index_] = int32_t(kept_count);
    if (request_.out_row_status) request_.out_row_status[index_] = status;
  }

  Team<Context> &team_;
  const FilterRequest &request_;
  RowCache row_cache_;
  // Kept in memory: the passes need the registers.
  int64_t index_;
  int64_t end_;
  const uint32_t *list_ = nullptr;
  uint32_t place_ = 0;
  uint32_t num_places_ = 0;
  RowParameters parameters_ = {};
};

}  // namespace sampler::kernels
