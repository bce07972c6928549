// The kernels before and after the sampling of chains, and before their reports.
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

__global__ void __launch_bounds__(kBlockThreads)
    find_reported_kernel(const __grid_constant__ ExtendedVerifyRequest request,
                         const __grid_constant__ Chains chains,
                         const __grid_constant__ Stream stream) {
  using Context = CudaContext<kBlockThreads, false>;
  __shared__ typename Context::Scratch scratch;
  const Context ctx(scratch, nullptr);
  run_find_reported(ctx, request, chains, stream);
}

}  // namespace

const void *place_kernel_address() {
  return reinterpret_cast<const void *>(&place_kernel);
}

const void *match_kernel_address() {
  return reinterpret_cast<const void *>(&match_kernel);
}

const void *find_reported_kernel_address() {
  return reinterpret_cast<const void *>(&find_reported_kernel);
}

}  // namespace sampler::kernels
