// The body of the general kernels on real hardware.
#pragma once

#include "launch/general.h"
#include "machine/cuda_context.cuh"
#include "machine/kernel.cuh"

namespace sampler::kernels {

namespace {

// The compiler needs a few registers more for 10.0 and later, where two blocks would spill.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr int kPlainBlocks = 1;
#else
constexpr int kPlainBlocks = kBlocksPerMultiprocessor;
#endif

template <class Request>
__device__ void run_general(const Request &request, const Plan &plan) {
  using Context = CudaContext<kBlockThreads, kHasClusters>;
  extern __shared__ __align__(16) char dynamic_shared[];
  __shared__ typename Context::Scratch scratch;
  Context ctx(scratch, dynamic_shared);
  request.visit([&](const auto &one) { run_operation(ctx, one, plan); });
}

}  // namespace

}  // namespace sampler::kernels
