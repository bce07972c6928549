// Unmasking on a device: a thread block per block of rows.
#pragma once

#include <cstdint>

#include "contract/unmask.h"
#include "machine/device.cuh"

namespace sampler::kernels {

constexpr int kUnmaskBins = 256;

struct UnmaskShared {
  TwoWords bins[kUnmaskBins];
  uint64_t before;
  int32_t bin;
};

// The threads of a block, for contract/unmask.h.
template <class Context>
class UnmaskWorkers {
 public:
  SAMPLER_DEVICE explicit UnmaskWorkers(Context &ctx)
      : index(ctx.thread()), ctx_(ctx), shared_(ctx.template shared<UnmaskShared>()) {}

  const int64_t index;
  static constexpr int64_t count = Context::kThreads;

  SAMPLER_DEVICE uint64_t sum(uint64_t value) { return ctx_.block_sum(value); }

  SAMPLER_DEVICE void clear() {
    ctx_.sync();
    for (int i = ctx_.thread(); i < kUnmaskBins; i += Context::kThreads) shared_.bins[i] = {};
    ctx_.sync();
  }

  SAMPLER_DEVICE void add(int bin, uint64_t measure) {
    ctx_.add_to_shared(&shared_.bins[bin], measure);
  }

  // Thread t has the bins from the last but t * kEach down.
  SAMPLER_DEVICE bool find(uint64_t budget, int *bin, uint64_t *before) {
    constexpr int kEach = (kUnmaskBins + Context::kThreads - 1) / Context::kThreads;
    const int first = kUnmaskBins - 1 - ctx_.thread() * kEach;
    if (ctx_.thread() == 0) shared_.bin = -1;
    ctx_.sync();
    uint64_t own = 0;
    for (int i = first; i > first - kEach && i >= 0; --i) own += shared_.bins[i].value();
    uint64_t total;
    uint64_t sum = ctx_.block_exclusive_sum(own, &total);
    for (int i = first; i > first - kEach && i >= 0 && sum <= budget; --i) {
      const uint64_t measure = shared_.bins[i].value();
      if (sum + measure > budget) {
        shared_.bin = i;
        shared_.before = sum;
      }
      sum += measure;
    }
    ctx_.sync();
    *bin = shared_.bin;
    *before = shared_.before;
    return *bin >= 0;
  }

 private:
  Context &ctx_;
  UnmaskShared &shared_;
};

template <class Context>
SAMPLER_DEVICE void run_unmask(Context &ctx, const contract::UnmaskRequest &request) {
  UnmaskWorkers<Context> workers(ctx);
  if (contract::are_blocks_good(request, workers)) {
    contract::unmask_block(request, ctx.team(), workers);
  } else if (ctx.thread() == 0) {
    contract::write_unmasked(request, ctx.team(), SAMPLER_ROW_INVALID_INDEX);
  }
}

}  // namespace sampler::kernels
