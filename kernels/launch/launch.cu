// Kernels of the operations on rows, compiled by the CUDA compiler.
#include "launch/launch.h"

#include <type_traits>

#include "machine/cuda_context.cuh"
#include "machine/operation_kernel.cuh"

namespace sampler::kernels {

namespace {

// One block per multiprocessor, so a block has all registers.
template <bool kIsClustered>
__global__ void __launch_bounds__(kBlockThreads, 1)
    spread_kernel(const __grid_constant__ contract::SampleRequest request,
                  const __grid_constant__ Plan plan) {
  if constexpr (kIsClustered && !kHasClusters) return;
  using Context = CudaContext<kBlockThreads, kIsClustered>;
  extern __shared__ __align__(16) char dynamic_shared[];
  __shared__ typename Context::Scratch scratch;
  Context ctx(scratch, dynamic_shared);
  run_spread(ctx, request, plan);
}

}  // namespace

const void *operation_kernel_address(Operation operation, bool clustered) {
  const void *address = nullptr;
  for_each_operation([&](const auto &request) {
    using Request = std::decay_t<decltype(request)>;
    if (operation_of(request) != operation) return;
    if constexpr (std::is_same_v<Request, ExtendedVerifyRequest>) {
      address = verify_kernel_address(clustered);
    } else if constexpr (std::is_same_v<Request, ShardRequest>) {
      address = shard_kernel_address(clustered);
    } else {
      address = address_of_kernel<Request>(clustered);
    }
  });
  return address;
}

const void *spread_kernel_address(bool clustered) {
  return clustered ? reinterpret_cast<const void *>(&spread_kernel<true>)
                   : reinterpret_cast<const void *>(&spread_kernel<false>);
}

}  // namespace sampler::kernels
