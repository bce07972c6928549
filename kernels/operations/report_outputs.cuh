// Where the reports of an output row go. Called by all threads of its team.
#pragma once

#include <cstdint>

#include "contract/elements.h"
#include "contract/kept_lists.h"
#include "contract/reports.h"
#include "machine/device.cuh"
#include "stages/staged.h"

namespace sampler::kernels {

// Writes what is written of an output without a token besides `wanted`, its token and its status.
// Called by one thread.
SAMPLER_DEVICE inline void write_no_token(const contract::SampleRequest &request, int64_t output) {
  if (request.out_kept_counts) request.out_kept_counts[output] = 0;
  if (request.out_logprobs) request.out_logprobs[output] = contract::quiet_nan();
  if (request.out_values) request.out_values[output] = contract::quiet_nan();
  if (request.out_observations) request.out_observations[output] = contract::quiet_nan();
}

// The same of a bad row, with both. Called by one thread.
SAMPLER_DEVICE inline void write_bad_token(const StagedSampleRequest &request, int64_t output,
                                           uint32_t status) {
  if (request.out_token_ids.data) {
    contract::store_id(request.out_token_ids, output, request.bad_row_token);
  }
  write_no_token(request, output);
  if (request.out_row_status) request.out_row_status[output] = status;
}

template <class Context>
class ReportOutputs {
 public:
  SAMPLER_DEVICE ReportOutputs(Context &context, const StagedSampleRequest &request)
      : ctx_(context), request_(request), to_(request.wanted) {}

  // Calls f(i) for each i below `count`, always in the same thread.
  template <class F>
  SAMPLER_DEVICE void for_each(int64_t count, const F &f) const {
    const int num_threads = ctx_.team_size() * Context::kThreads;
    SAMPLER_KEEP_ROLLED
    for (int64_t i = ctx_.cluster_rank() * Context::kThreads + ctx_.thread(); i < count;
         i += num_threads) {
      f(i);
    }
  }
  SAMPLER_DEVICE bool is_first_thread() const {
    return ctx_.cluster_rank() == 0 && ctx_.thread() == 0;
  }

  // Writes the top token of a place. Called by one thread.
  SAMPLER_DEVICE void write_top(int64_t output, int64_t place, contract::Rank rank,
                                const contract::Reported &reported) const {
    const int64_t at = output * to_.num_top + place;
    const uint32_t id = contract::id_of_rank(rank);
    if (to_.out_top_token_ids.data) contract::store_id(to_.out_top_token_ids, at, id);
    if (to_.out_top_logprobs) {
      to_.out_top_logprobs[at] = reported.log_probability(contract::value_of_rank(rank), id);
    }
  }
  SAMPLER_DEVICE void write_no_top(int64_t output, int64_t begin) const {
    for_each(to_.num_top - begin, [&](int64_t i) { write_no_top_at(output, begin + i); });
  }
  // Called by one thread.
  SAMPLER_DEVICE void write_no_top_at(int64_t output, int64_t place) const {
    const int64_t at = output * to_.num_top + place;
    if (to_.out_top_token_ids.data) contract::store_id(to_.out_top_token_ids, at, -1);
    if (to_.out_top_logprobs) to_.out_top_logprobs[at] = contract::quiet_nan();
  }

  // find(id, &x): whether the row has the token; x is its value.
  template <class Find>
  SAMPLER_DEVICE void write_chosen(int64_t output, const contract::Reported &reported,
                                   const Find &find) const {
    for_each(to_.num_chosen, [&](int64_t i) {
      const int64_t place = output * to_.num_chosen + i;
      const int64_t id =
          contract::load_id(to_.chosen_token_ids, request_.out_token_ids.type, place);
      float x;
      to_.out_chosen_logprobs[place] =
          find(id, &x) ? reported.log_probability(x, uint32_t(id)) : contract::quiet_nan();
    });
  }

  SAMPLER_DEVICE uint32_t *bitmask(int64_t output) const {
    return to_.out_kept_bitmask + output * to_.kept_bitmask_stride;
  }
  SAMPLER_DEVICE void clear_bitmask(int64_t output) const {
    uint32_t *const words = bitmask(output);
    for_each(to_.kept_bitmask_stride, [&](int64_t i) { words[i] = 0; });
  }

  // The first place of a packed list of `count` tokens. Called by one thread.
  SAMPLER_DEVICE uint64_t take_places(int64_t output, int64_t count) const {
    const contract::KeptLists &lists = request_.kept_lists;
    const uint64_t first = ctx_.atomic_add(lists.num_taken, uint64_t(count));
    lists.places[output] = int64_t(first);
    lists.counts[output] = count;
    return first;
  }
  // Where `count` tokens of an output are listed; `first` is their place if lists are packed.
  SAMPLER_DEVICE contract::KeptList list_of(int64_t output, int64_t count, uint64_t first) const {
    if (!to_.are_lists_packed()) {
      return {to_.out_kept_token_ids, to_.out_kept_probabilities, output * to_.kept_capacity,
              count <= to_.kept_capacity};
    }
    return {request_.kept_lists.token_ids, request_.kept_lists.probabilities, int64_t(first),
            first + uint64_t(count) <= uint64_t(to_.kept_capacity)};
  }
  SAMPLER_DEVICE void write_no_kept(int64_t output, int64_t begin) const {
    const int64_t first = output * to_.kept_capacity + begin;
    for_each(to_.kept_capacity - begin, [&](int64_t i) {
      if (to_.out_kept_token_ids.data) contract::store_id(to_.out_kept_token_ids, first + i, -1);
      if (to_.out_kept_probabilities) to_.out_kept_probabilities[first + i] = 0.0f;
    });
  }

  SAMPLER_DEVICE uint8_t *removals(int64_t output) const {
    return to_.out_removed_by ? to_.out_removed_by + output * request_.input.num_cols : nullptr;
  }

  // Reports a bad row. The team must have passed a barrier since the last report of it.
  SAMPLER_DEVICE void write_bad(int64_t output) const {
    if (to_.wants_top()) write_no_top(output, 0);
    for_each(to_.num_chosen, [&](int64_t i) {
      to_.out_chosen_logprobs[output * to_.num_chosen + i] = contract::quiet_nan();
    });
    if (to_.out_kept_bitmask) clear_bitmask(output);
    if (!to_.are_lists_packed() && to_.wants_kept_list()) write_no_kept(output, 0);
    if (uint8_t *const removed_by = removals(output)) {
      for_each(request_.input.num_cols, [&](int64_t i) { removed_by[i] = contract::kNeverThere; });
    }
    if (!is_first_thread()) return;
    if (to_.are_lists_packed()) request_.kept_lists.counts[output] = 0;
    if (to_.out_ranks) to_.out_ranks[output] = 0;
    if (to_.out_entropies) to_.out_entropies[output] = contract::quiet_nan();
  }

  // The same, and all else that is written of the row, whose status this is.
  SAMPLER_DEVICE void write_bad(int64_t output, uint32_t status) const {
    write_bad(output);
    if (is_first_thread()) write_bad_token(request_, output, status);
  }

 private:
  Context &ctx_;
  const StagedSampleRequest &request_;
  const contract::Reports &to_;
};

}  // namespace sampler::kernels
