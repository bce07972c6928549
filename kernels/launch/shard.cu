// Kernels of rows sharded over ranks. A unit of their own: they take as long to compile as several
// others.
#include "operations/shard.cuh"

#include "launch/launch.h"
#include "machine/operation_kernel.cuh"

namespace sampler::kernels {

const void *shard_kernel_address(bool clustered) {
  return address_of_kernel<ShardRequest>(clustered);
}

}  // namespace sampler::kernels
