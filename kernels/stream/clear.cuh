// What the launch before a stream does.
#pragma once

#include <cstdint>

#include "machine/device.cuh"
#include "row/row.cuh"
#include "stream/stream.h"

namespace sampler::kernels {

// Clears what a launch must find 0.
template <class Context>
SAMPLER_DEVICE void run_clear(const Context &ctx, const Stream &stream) {
  ctx.let_next_launch_begin();
  if (stream.next && ctx.team() == 0 && ctx.thread() == 0) {
    ctx.publish(&stream.next->num_left, uint32_t(0));
  }
  const int64_t num_vectors = int64_t(stream.cleared_bytes() / sizeof(Vector));
  auto *const vectors = reinterpret_cast<Vector *>(stream.memory);
  for (int64_t i = ctx.team() * Context::kThreads + ctx.thread(); i < num_vectors;
       i += ctx.num_teams() * Context::kThreads) {
    ctx.store_vector(&vectors[i], Vector{});
  }
}

}  // namespace sampler::kernels
