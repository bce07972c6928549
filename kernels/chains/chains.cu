// The kernels before and after the sampling of chains.
#define SAMPLER_CALLS_ARE_INLINED
#define SAMPLER_HD_CALLS_ARE_INLINED

#include "chains/chains.cuh"
#include "launch/launch.h"
#include "machine/cuda_context.cuh"

namespace sampler::kernels {

namespace {

__global__ void __launch_bounds__(kBlockThreads)
    place_kernel(const __grid_constant__ ExtendedVerifyRequest request,
                 const __grid_constant__ Chains chains) {
  using Context = CudaContext<kBlockThreads, false>;
  __shared__ typename Context::Scratch scratch;
  const Context ctx(scratch, nullptr);
  run_place(ctx, request, chains);
}

__global__ void __launch_bounds__(kBlockThreads, 4)
    match_kernel(const __grid_constant__ ExtendedVerifyRequest request,
                 const __grid_constant__ Chains chains) {
  using Context = CudaContext<kBlockThreads, false>;
  __shared__ typename Context::Scratch scratch;
  const Context ctx(scratch, nullptr);
  run_match(ctx, request, chains);
}

}  // namespace

const void *place_kernel_address() {
  return reinterpret_cast<const void *>(&place_kernel);
}

const void *match_kernel_address() {
  return reinterpret_cast<const void *>(&match_kernel);
}

}  // namespace sampler::kernels
