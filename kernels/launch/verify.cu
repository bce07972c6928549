// Kernels of verification beyond dense chains. A unit of their own: they take as long to compile as
// several others.
#include "operations/verify_extended.cuh"

#include "launch/launch.h"
#include "machine/operation_kernel.cuh"

namespace sampler::kernels {

const void *verify_kernel_address(bool clustered) {
  return address_of_kernel<ExtendedVerifyRequest>(clustered);
}

}  // namespace sampler::kernels
