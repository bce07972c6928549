// Numbers that travel with a launch: a kernel's arguments, which it writes to memory.
//
// A launch takes its arguments along without a wait, whatever memory they come from, and needs no
// staging memory of ours. A graph that captures it replays them.
#pragma once

#include <cstdint>

#include "device.cuh"

namespace sampler::kernels {

template <int kWords>
struct Upload {
  uint32_t *to;
  int32_t num_words;
  uint32_t words[kWords];
};

// Kernels take 32,764 bytes of arguments, of which few are filled by most calls.
constexpr int kUploadWords = 7936;
constexpr int kSmallUploadWords = 1000;

template <class Context, int kWords>
SAMPLER_DEVICE void run_upload(Context &ctx, const Upload<kWords> &upload) {
  const int first = int(ctx.team()) * Context::kThreads + ctx.thread();
  const int step = int(ctx.num_teams()) * Context::kThreads;
  for (int i = first; i < upload.num_words; i += step) upload.to[i] = upload.words[i];
}

}  // namespace sampler::kernels
