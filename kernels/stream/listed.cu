// The kernel that runs stages on the lists of streamed rows.
#include "launch/launch.h"
#include "machine/cuda_context.cuh"
#include "stream/listed.cuh"

namespace sampler::kernels {

namespace {

static_assert(sizeof(ListedShared) + 1024 <= 48 << 10, "more must be asked for");

// Three blocks a multiprocessor: with four some of the 64 registers a thread would be spilled.
__global__ void __launch_bounds__(kBlockThreads, 3)
    listed_kernel(const __grid_constant__ StagedSampleRequest request,
                  const __grid_constant__ Stream stream) {
  using Context = CudaContext<kBlockThreads, false>;
  extern __shared__ __align__(16) char dynamic_shared[];
  __shared__ typename Context::Scratch scratch;
  const Context ctx(scratch, dynamic_shared);
  run_listed(ctx, request, stream);
}

}  // namespace

const void *listed_kernel_address() {
  return reinterpret_cast<const void *>(&listed_kernel);
}

}  // namespace sampler::kernels
