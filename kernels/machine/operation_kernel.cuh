// The kernel template of an operation, for the units that instantiate it.
#pragma once

#include <type_traits>

#include "machine/cuda_context.cuh"
#include "machine/kernel.cuh"

namespace sampler::kernels {

namespace {

// Without clusters their kernels are empty: nobody launches them.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr bool kHasClusters = false;
#else
constexpr bool kHasClusters = true;
#endif

// The compiler needs a few more registers there.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr bool kTakesMoreRegisters = true;
#else
constexpr bool kTakesMoreRegisters = false;
#endif

// Blocks that share a multiprocessor's registers: one where two would spill. A chain holds two
// rows, stages a row and its summary.
template <class Request>
constexpr int kLeastBlocks =
    std::is_same<Request, contract::VerifyRequest>::value ||
            std::is_same<Request, ShardRequest>::value || kHasStages<Request> || kTakesMoreRegisters
        ? 1
        : kBlocksPerMultiprocessor;

template <bool kIsClustered, class Request>
__global__ void __launch_bounds__(kBlockThreads, kLeastBlocks<Request>)
    operation_kernel(const __grid_constant__ Request request, const __grid_constant__ Plan plan) {
  if constexpr (kIsClustered && !kHasClusters) return;
  using Context = CudaContext<kBlockThreads, kIsClustered>;
  extern __shared__ __align__(16) char dynamic_shared[];
  __shared__ typename Context::Scratch scratch;
  Context ctx(scratch, dynamic_shared);
  run_operation(ctx, request, plan);
}

template <class Request>
const void *address_of_kernel(bool clustered) {
  return clustered ? reinterpret_cast<const void *>(&operation_kernel<true, Request>)
                   : reinterpret_cast<const void *>(&operation_kernel<false, Request>);
}

}  // namespace

}  // namespace sampler::kernels
