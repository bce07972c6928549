// The kernel that edits rows before they are streamed.
#define SAMPLER_CALLS_ARE_INLINED

#include "launch/launch.h"
#include "machine/cuda_context.cuh"
#include "stream/edits.cuh"

namespace sampler::kernels {

namespace {

__global__ void __launch_bounds__(kBlockThreads, 2)
    edits_kernel(const __grid_constant__ StagedSampleRequest request,
                 const __grid_constant__ Stream stream) {
  using Context = CudaContext<kBlockThreads, false>;
  extern __shared__ __align__(16) char dynamic_shared[];
  __shared__ typename Context::Scratch scratch;
  const Context ctx(scratch, dynamic_shared);
  run_edits(ctx, request, stream);
}

}  // namespace

const void *edits_kernel_address() {
  return reinterpret_cast<const void *>(&edits_kernel);
}

}  // namespace sampler::kernels
