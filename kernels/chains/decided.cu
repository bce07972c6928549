// The kernel that decides chains from lists.
#include "chains/decided.cuh"
#include "launch/launch.h"
#include "machine/cuda_context.cuh"

namespace sampler::kernels {

namespace {

__global__ void __launch_bounds__(kBlockThreads, 2)
    decide_kernel(const __grid_constant__ ExtendedVerifyRequest request,
                  const __grid_constant__ Stream stream, const __grid_constant__ Chains chains) {
  using Context = CudaContext<kBlockThreads, false>;
  extern __shared__ __align__(16) char dynamic_shared[];
  __shared__ typename Context::Scratch scratch;
  const Context ctx(scratch, dynamic_shared);
  run_decide(ctx, request, stream, chains);
}

}  // namespace

const void *decide_kernel_address() {
  return reinterpret_cast<const void *>(&decide_kernel);
}

}  // namespace sampler::kernels
