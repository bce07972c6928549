// The first tokens of held rows.
#pragma once

#include <cstdint>

#include "contract/request.h"
#include "held/cut.cuh"

namespace sampler::kernels {

template <class Context>
class SelectBlock : CutBlock<Context, HeldFilter, contract::SelectRequest> {
 public:
  using Cut = CutBlock<Context, HeldFilter, contract::SelectRequest>;
  using Cut::Cut;

  SAMPLER_DEVICE void run() {
    const Row row = Row::of(contract::row_view(request.input, this->index()));
    if (ctx.thread() == 0) {
      shared.num_listed = 0;
      const int num_selected = int(request.num_selected);
      const int k = request.selected_counts ? request.selected_counts[this->index()] : 0;
      state().parameters.top_k = k <= 0 || k >= num_selected ? num_selected : k;
    }
    this->load_as_f32(row);
    const uint32_t key = this->max_of_team(this->largest_by_bins(row));
    const contract::Rank first = contract::rank_of_key(key) | ~uint32_t(0);
    const uint32_t status =
        key == ~uint32_t(0) ? uint32_t(SAMPLER_ROW_INVALID_VALUE)
                            : contract::check_first(SAMPLER_LOGITS, first, contract::Use::kOrder);
    if (status != SAMPLER_ROW_OK) return write(row, 0, status);
    uint64_t begin[] = {0};
    if (this->is_leader()) begin[0] = this->bound_of_list(StreamNeed::kList);
    ctx.sync();
    const float lowest = contract::value_of_key(uint32_t(this->exchange(begin)[0][0]));
    this->list_if(row, [&](float x) { return x >= lowest; });
    ctx.team_sync();
    if (!this->is_leader()) return;
    if (this->count() > kStreamedTokens) return this->leave(this->index());
    this->sort(contract::value_of_key(key), lowest);
    const int wanted = state().parameters.top_k;
    write(row, wanted < this->count() ? wanted : this->count(), status);
  }

 private:
  using Cut::ctx;
  using Cut::request;
  using Cut::shared;
  using Cut::state;
  using Row = typename Cut::Row;

  // Writes `count` tokens of the list, and nothing after them.
  SAMPLER_DEVICE void write(const Row &row, int count, uint32_t status) const {
    if (!this->is_leader()) return;
    const int64_t begin = this->index() * request.num_selected;
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < int(request.num_selected); i += Context::kThreads) {
      float x = contract::negative_infinity();
      int64_t id = -1;
      if (i < count) {
        id = contract::id_of_rank(shared.row.list[i]);
        x = contract::value_of_rank(shared.row.list[i]);
        if (x == 0.0f) x = row.value(int(id));  // ranks do not have its sign
      }
      if (request.out_values) {
        contract::store_value(request.out_values, request.output_dtype, begin + i, x);
      }
      if (request.out_token_ids.data) contract::store_id(request.out_token_ids, begin + i, id);
    }
    if (ctx.thread() != 0) return;
    if (request.out_counts) request.out_counts[this->index()] = count;
    if (request.out_row_status) request.out_row_status[this->index()] = status;
  }
};

}  // namespace sampler::kernels
