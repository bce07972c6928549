// The general kernels of stages, verification, sharded and spread rows. A block has all registers
// of a multiprocessor: a chain holds two rows, stages a row and its summary.
#include "operations/shard.cuh"
#include "operations/verify_extended.cuh"

#include "launch/launch.h"
#include "machine/general_kernel.cuh"

namespace sampler::kernels {

namespace {

__global__ void __launch_bounds__(kBlockThreads, 1)
    staged_kernel(const __grid_constant__ StagedRequest request,
                  const __grid_constant__ Plan plan) {
  run_general(request, plan);
}

}  // namespace

const void *staged_kernel_address() {
  return reinterpret_cast<const void *>(&staged_kernel);
}

}  // namespace sampler::kernels
