// The first tokens of each row in rank order, in runs that fit the leader's list.
#pragma once

#include <cstdint>

#include "contract/elements.h"
#include "contract/request.h"
#include "machine/team.cuh"
#include "operations/sample.cuh"
#include "row/distribution.cuh"
#include "row/row.cuh"
#include "row/selection.cuh"

namespace sampler::kernels {

using contract::SelectRequest;

template <class Context>
class SelectTeam {
 public:
  SAMPLER_DEVICE SelectTeam(Team<Context> &team, const SelectRequest &request,
                            const RowCache &row_cache)
      : team_(team), request_(request), row_cache_(row_cache) {}

  SAMPLER_DEVICE void run(int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) run_row(row);
    for (; place_ < num_places_; place_ += uint32_t(team_.ctx.num_teams())) run_row(list_[place_]);
  }

  // run() also processes rows of a list: teams take turns, this one starts at its own index.
  SAMPLER_DEVICE void take_list(const uint32_t *list, uint32_t num_rows) {
    list_ = list;
    place_ = uint32_t(team_.ctx.team());
    num_places_ = num_rows;
  }

 private:
  using Row = TeamRow<Context, StoredRow>;

  // With this many of a run that might fill the list it is full enough; saves a histogram.
  static constexpr int kEnough = kListCapacity * 2 / 3;

  SAMPLER_DEVICE int wanted_count(int64_t index) const {
    const int num_selected = int(request_.num_selected);
    const int k = request_.selected_counts ? request_.selected_counts[index] : 0;
    return k <= 0 || k >= num_selected ? num_selected : k;
  }

  SAMPLER_DEVICE void run_row(int64_t index) {
    const StoredRow stored = stored_row(contract::row_view(request_.input, index));
    uint32_t status = SAMPLER_ROW_INVALID_CANDIDATE;
    int written = 0;
    if (contract::has_valid_count(stored, request_.input.num_cols)) {
      const int wanted = wanted_count(index);
      Row row(team_.ctx, stored, row_cache_);
      const int num_maxima = wanted < stored.count && wanted <= kEnough ? wanted : 0;
      const RowSummary summary = load_row(team_, row, num_maxima, contract::Use::kOrder);
      status = summary.status;
      if (status == SAMPLER_ROW_OK) written = write_tokens(index, row, summary, wanted);
    }
    write_rest(index, written);
    if (!team_.is_first_thread()) return;
    if (request_.out_counts) request_.out_counts[index] = written;
    if (request_.out_row_status) request_.out_row_status[index] = status;
  }

  // Returns the number of tokens to write, at most `wanted`.
  SAMPLER_DEVICE int write_tokens(int64_t index, const Row &row, const RowSummary &summary,
                                  int wanted) {
    const Rank lowest = contract::lowest_cut(row.kind());
    int written = 0;
    Rank low = summary.group_max > lowest ? summary.group_max : lowest;
    Rank high = summary.first;
    while (written < wanted) {
      const int rest = wanted - written;
      const int run = rest < kListCapacity ? rest : kListCapacity;
      Search search = {low, high, uint64_t(run), kListCapacity};
      if (run < kEnough) {
        search.limit = list_limit(run);
      } else {
        search.enough = kEnough;
      }
      const Selected selected = low == summary.group_max
                                    ? select_top(team_, row, search)
                                    : select_key<RankOrder>(team_, row, search, CountTokens());
      int count = selected.listed;
      if (count < 0) {
        const Rank last = selected.key;
        count = make_list<RankOrder>(team_, row, last, high);
      }
      const int listed = count < rest ? count : rest;
      const Rank last = team_.broadcast(team_.shared.list[listed > 0 ? listed - 1 : 0], 0);
      if (listed == 0) break;
      write_list(index, row.source(), written, listed);
      if (row.source().ids && request_.out_values && has_zero(last, high)) {
        write_zeros(index, row, written, listed);
      }
      written += listed;
      if (listed < run && listed < kEnough) break;
      high = last - 1;
      low = lowest;
    }
    return written;
  }

  // For candidates zeros are left out: a rank does not tell their sign.
  SAMPLER_DEVICE void write_list(int64_t index, const StoredRow &stored, int first,
                                 int count) const {
    if (!team_.is_leader()) return;
    const int64_t begin = index * request_.num_selected + first;
    for (int i = team_.ctx.thread(); i < count; i += Context::kThreads) {
      const Rank rank = team_.shared.list[i];
      const uint32_t id = contract::id_of_rank(rank);
      float x = contract::value_of_rank(rank);
      if (x == 0.0f && !stored.ids) x = stored.value(int(id));
      if (request_.out_values && !(x == 0.0f && stored.ids)) {
        contract::store_value(request_.out_values, request_.output_dtype, begin + i, x);
      }
      if (request_.out_token_ids.data) contract::store_id(request_.out_token_ids, begin + i, id);
    }
    team_.ctx.sync();  // the next histogram overwrites the list
  }

  SAMPLER_DEVICE static bool has_zero(Rank low, Rank high) {
    return contract::value_of_rank(low) <= 0.0f && contract::value_of_rank(high) >= 0.0f;
  }

  // Writes the listed zeros with their sign in the row: each finds its place in the list.
  SAMPLER_DEVICE void write_zeros(int64_t index, const Row &row, int first, int count) {
    const Rank *list = team_.ctx.peer(&team_.shared.list[0], 0);
    const int64_t begin = index * request_.num_selected + first;
    row.for_each([&](float x, int element) {
      if (x != 0.0f) return;
      const Rank rank = contract::rank_of(x, row.id(element));
      int low = 0, high = count - 1;
      while (low < high) {
        const int middle = (low + high) / 2;
        if (list[middle] > rank) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      if (list[low] != rank) return;
      contract::store_value(request_.out_values, request_.output_dtype, begin + low, x);
    });
    team_.sum(0);  // the list stays until all have read it
  }

  SAMPLER_DEVICE void write_rest(int64_t index, int written) const {
    if (!team_.is_leader()) return;
    const float nothing =
        request_.input.kind == SAMPLER_LOGITS ? contract::negative_infinity() : 0.0f;
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
  RowCache row_cache_;
  const uint32_t *list_ = nullptr;
  uint32_t place_ = 0;
  uint32_t num_places_ = 0;
};

}  // namespace sampler::kernels
