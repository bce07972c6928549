// Packs lists of kept tokens (contract/kept_lists.h): a separate launch after that of the rows
// moves them from the workspace to their places.
#pragma once

#include <cstdint>

#include "contract/kept_lists.h"
#include "machine/device.cuh"

namespace sampler::kernels {

struct PackRequest {
  contract::KeptLists lists;
  int64_t num_outputs;
  int64_t capacity;  // of the following arrays
  contract::TokenIds out_token_ids;
  float *out_probabilities;
  int64_t *out_offsets;
};

// Each block has a run of outputs, and counts itself what precedes them.
template <class Context>
SAMPLER_DEVICE void run_pack(Context &ctx, const PackRequest &request) {
  const contract::KeptLists &lists = request.lists;
  const int64_t num_outputs = request.num_outputs;
  const int64_t begin = num_outputs * ctx.team() / ctx.num_teams(),
                end = num_outputs * (ctx.team() + 1) / ctx.num_teams();
  uint64_t own_before = 0, own_rest = 0;
  for (int64_t i = ctx.thread(); i < num_outputs; i += Context::kThreads) {
    (i < begin ? own_before : own_rest) += uint64_t(lists.counts[i]);
  }
  int64_t next = int64_t(ctx.block_sum(own_before));
  const bool have_room = next + int64_t(ctx.block_sum(own_rest)) <= request.capacity;
  if (ctx.team() == 0 && ctx.thread() == 0) request.out_offsets[0] = 0;
  for (int64_t output = begin; output < end; ++output) {
    const int64_t count = lists.counts[output], place = lists.places[output];
    for (int64_t i = ctx.thread(); have_room && i < count; i += Context::kThreads) {
      if (lists.token_ids.data) {
        contract::store_id(
            request.out_token_ids, next + i,
            contract::load_id(lists.token_ids.data, lists.token_ids.type, place + i));
      }
      if (lists.probabilities) {
        request.out_probabilities[next + i] = lists.probabilities[place + i];
      }
    }
    next += count;
    if (ctx.thread() == 0) request.out_offsets[output + 1] = next;
  }
}

}  // namespace sampler::kernels
