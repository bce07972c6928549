// The first tokens of each row in rank order, in runs of as many as the leader's list holds.
#pragma once

#include <cstdint>

#include "contract/elements.h"
#include "contract/request.h"
#include "distribution.cuh"
#include "row.cuh"
#include "sample.cuh"
#include "selection.cuh"
#include "team.cuh"

namespace sampler::kernels {

using contract::SelectRequest;

template <class Context>
class SelectTeam {
 public:
  SAMPLER_DEVICE SelectTeam(Team<Context> &team, const SelectRequest &request,
                            const Residence &residence, uint32_t *bitmap)
      : team_(team), request_(request), residence_(residence), bitmap_(bitmap) {}

  SAMPLER_DEVICE void run(int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) run_row(row);
  }

 private:
  using Row = TeamRow<Context, StoredRow>;

  SAMPLER_DEVICE int wanted_count(int64_t index) const {
    const int num_selected = int(request_.num_selected);
    const int k = request_.top_ks ? request_.top_ks[index] : 0;
    return k <= 0 || k >= num_selected ? num_selected : k;
  }

  SAMPLER_DEVICE void run_row(int64_t index) {
    const StoredRow stored = stored_row(request_.input, index, index * request_.input.stride);
    uint32_t status = row_status::kInvalidCandidate;
    int written = 0;
    if (has_valid_count(stored, request_.input.num_cols)) {
      const int wanted = wanted_count(index);
      Row row(team_.ctx, stored, residence_);
      const int delegates = wanted < stored.count && wanted <= kListCapacity ? wanted : 0;
      const RowSummary summary = load_row(team_, row, delegates, bitmap_);
      status = summary.status;
      if (status == row_status::kOk) written = write_tokens(index, row, summary, wanted);
    }
    write_rest(index, written);
    if (!team_.is_first_thread()) return;
    if (request_.out_counts) request_.out_counts[index] = written;
    if (request_.out_row_status) request_.out_row_status[index] = status;
  }

  // The result is how many tokens there were to write, at most `wanted`.
  SAMPLER_DEVICE int write_tokens(int64_t index, const Row &row, const RowSummary &summary,
                                  int wanted) {
    const Rank lowest = contract::lowest_cut(row.kind());
    const auto one = [](uint64_t) { return uint64_t(1); };
    int written = 0;
    Rank high = summary.first;
    while (written < wanted) {
      const int rest = wanted - written;
      const int run = rest < kListCapacity ? rest : kListCapacity;
      Rank low = lowest;
      if (written == 0 && summary.delegate > lowest) {
        low = summary.delegate;
      } else if (row.count() > kListCapacity) {
        low = find_key<RankOrder>(team_, row, {lowest, high, row.count()}, uint64_t(run), lowest,
                                  one);
      }
      int count =
          make_list<RankOrder>(team_, row, [&](Rank rank) { return low <= rank && rank <= high; });
      if (count > kListCapacity) {  // the delegates promised too little
        low = find_key<RankOrder>(team_, row, {lowest, high, row.count()}, uint64_t(run), lowest,
                                  one);
        count = make_list<RankOrder>(team_, row,
                                     [&](Rank rank) { return low <= rank && rank <= high; });
      }
      const int listed = count < rest ? count : rest;
      if (listed == 0) break;
      write_list(index, row.source(), written, listed);
      written += listed;
      if (listed < run) break;
      high = team_.broadcast(team_.shared.list[listed - 1], 0) - 1;
    }
    return written;
  }

  SAMPLER_DEVICE void write_list(int64_t index, const StoredRow &stored, int first,
                                 int count) const {
    if (!team_.is_leader()) return;
    const int64_t begin = index * request_.num_selected + first;
    for (int i = team_.ctx.thread(); i < count; i += Context::kThreads) {
      const Rank rank = team_.shared.list[i];
      if (request_.out_values) {
        contract::store_value(request_.out_values, request_.output_dtype, begin + i,
                              stored.value_at(rank));
      }
      if (request_.out_token_ids.data) {
        contract::store_id(request_.out_token_ids, begin + i, contract::id_of_rank(rank));
      }
    }
  }

  SAMPLER_DEVICE void write_rest(int64_t index, int written) const {
    if (!team_.is_leader()) return;
    const float nothing =
        request_.input.kind == InputKind::kLogits ? contract::negative_infinity() : 0.0f;
    const int64_t begin = index * request_.num_selected;
    for (int64_t i = written + team_.ctx.thread(); i < request_.num_selected;
         i += Context::kThreads) {
      if (request_.out_values) {
        contract::store_value(request_.out_values, request_.output_dtype, begin + i, nothing);
      }
      if (request_.out_token_ids.data) contract::store_id(request_.out_token_ids, begin + i, -1);
    }
  }

  Team<Context> &team_;
  const SelectRequest &request_;
  Residence residence_;
  uint32_t *bitmap_;
};

}  // namespace sampler::kernels
