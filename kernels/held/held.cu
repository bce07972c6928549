// Kernels of held rows, one per type and kind.
#include "launch/launch.h"

#include "held/held.cuh"
#include "machine/cuda_context.cuh"

namespace sampler::kernels {

namespace {

// Blocks per multiprocessor, which leave 64 registers a thread; or 80, or 128.
template <HeldKind kKind>
constexpr int kHeldBlocks = is_sample(kKind) || verifies_rows(kKind) ? 2
                            : is_weighed(kKind)                      ? 3
                                                                     : 4;

template <sampler_dtype kDtype, HeldKind kKind>
__global__ void __launch_bounds__(kBlockThreads, kHeldBlocks<kKind>)
    held_kernel(const __grid_constant__ HeldRequest<kKind> request,
                const __grid_constant__ Held held) {
  using Context = CudaContext<kBlockThreads, kHasClusters>;
  extern __shared__ __align__(16) char dynamic_shared[];
  __shared__ typename Context::Scratch scratch;
  const Context ctx(scratch, dynamic_shared);
  run_held<kDtype, kKind>(ctx, request, held);
}

}  // namespace

const void *held_kernel_address(sampler_dtype dtype, HeldKind kind) {
  const void *address = nullptr;
  for_each_held_kernel([&](auto of_dtype, auto of_kind) {
    constexpr sampler_dtype kDtype = decltype(of_dtype)::value;
    constexpr HeldKind kKind = decltype(of_kind)::value;
    if (kKind == kind && (kDtype == dtype || takes_all_types(kind))) {
      address = reinterpret_cast<const void *>(&held_kernel<kDtype, kKind>);
    }
  });
  return address;
}

}  // namespace sampler::kernels
