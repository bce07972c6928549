// The general kernels of rows as given.
#include "launch/launch.h"
#include "machine/general_kernel.cuh"

namespace sampler::kernels {

namespace {

__global__ void __launch_bounds__(kBlockThreads, kPlainBlocks)
    plain_kernel(const __grid_constant__ PlainRequest request, const __grid_constant__ Plan plan) {
  run_general(request, plan);
}

}  // namespace

const void *plain_kernel_address() {
  return reinterpret_cast<const void *>(&plain_kernel);
}

}  // namespace sampler::kernels
