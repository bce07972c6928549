// Uploads: numbers that travel as a kernel's arguments, and which it writes to memory.
//
// A launch copies its arguments without a wait, from any memory, and needs no staging memory. A
// graph that captures it replays them.
#pragma once

#include <cstdint>

#include "machine/device.cuh"

namespace sampler::kernels {

template <int kWords>
struct Upload {
  uint32_t *to;
  int32_t num_words;
  uint32_t words[kWords];
};

// Kernels take up to 32,764 bytes of arguments; most calls need few of them.
constexpr int kUploadWords = 7936;
constexpr int kSmallUploadWords = 1000;

template <class Context, int kWords>
SAMPLER_DEVICE void run_upload(Context &ctx, const Upload<kWords> &upload) {
  const int first = int(ctx.team()) * Context::kThreads + ctx.thread();
  const int step = int(ctx.num_teams()) * Context::kThreads;
  for (int i = first; i < upload.num_words; i += step) upload.to[i] = upload.words[i];
}

}  // namespace sampler::kernels
