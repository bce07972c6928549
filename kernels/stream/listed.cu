// The kernel that runs stages on the lists of streamed rows.
#include "launch/launch.h"
#include "machine/cuda_context.cuh"
#include "stream/listed.cuh"

namespace sampler::kernels {

namespace {

static_assert(sizeof(ListedShared) + 1024 <= 48 << 10, "more must be asked for");

// Blocks a multiprocessor. With one more some of the registers would be spilled; for 10.0 and later
// the compiler needs a few more.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr int kListedBlocks = 2;
#else
constexpr int kListedBlocks = 3;
#endif

__global__ void __launch_bounds__(kBlockThreads, kListedBlocks)
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
