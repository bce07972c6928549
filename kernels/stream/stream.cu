// Kernels of streamed rows, one per type and kind: small, so that many warps fit.
#include "launch/launch.h"

#include "machine/cuda_context.cuh"
#include "stream/stream.cuh"

namespace sampler::kernels {

namespace {

// Blocks per multiprocessor: four, which leave 64 registers a thread. The largest kernels would
// spill some of them, that of all kinds before compute capability 9.0.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr StreamKind kFirstOfThree = StreamKind::kAny;
#else
constexpr StreamKind kFirstOfThree = StreamKind::kEdited;
#endif
template <StreamKind kKind>
constexpr int kStreamBlocks = kKind >= kFirstOfThree ? 3 : 4;

template <sampler_dtype kDtype, StreamKind kKind>
__global__ void __launch_bounds__(kBlockThreads, kStreamBlocks<kKind>)
    stream_kernel(const __grid_constant__ contract::SampleRequest request,
                  const __grid_constant__ Stream stream) {
  using Context = CudaContext<kBlockThreads, false>;
  extern __shared__ __align__(16) char dynamic_shared[];
  __shared__ typename Context::Scratch scratch;
  const Context ctx(scratch, dynamic_shared);
  run_stream<kDtype, kKind>(ctx, request, stream);
}

__global__ void __launch_bounds__(kBlockThreads)
    clear_kernel(const __grid_constant__ Stream stream) {
  using Context = CudaContext<kBlockThreads, false>;
  __shared__ typename Context::Scratch scratch;
  const Context ctx(scratch, nullptr);
  run_clear(ctx, stream);
}

}  // namespace

const void *stream_kernel_address(sampler_dtype dtype, StreamKind kind) {
  const void *address = nullptr;
  for_each_stream_kernel([&](auto of_dtype, auto of_kind) {
    constexpr sampler_dtype kDtype = decltype(of_dtype)::value;
    constexpr StreamKind kKind = decltype(of_kind)::value;
    if (kDtype == dtype && kKind == kind) {
      address = reinterpret_cast<const void *>(&stream_kernel<kDtype, kKind>);
    }
  });
  return address;
}

const void *clear_kernel_address() {
  return reinterpret_cast<const void *>(&clear_kernel);
}

}  // namespace sampler::kernels
