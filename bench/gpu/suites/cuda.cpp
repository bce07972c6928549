// The real runtime, and the calls that are wrapped (--wrap): launches, which are noted; and those
// of the library that enqueue work, which the suites expect to have run when they return.
#include "cuda.h"

#include <cuda_runtime.h>
#include <sampler/sampler.h>

#include <cfenv>
#include <cstdio>
#include <cstdlib>

namespace gpu_suites {

namespace {

// The floating-point environment that the driver expects: suites call with others, with exceptions
// that are not masked, too.
class PlainArithmetic {
 public:
  PlainArithmetic() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~PlainArithmetic() { std::fesetenv(&before_); }

 private:
  std::fenv_t before_;
};

void check(cudaError_t error, const char *what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(3);
}

int attribute(cudaDeviceAttr name) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, name, 0), "cudaDeviceGetAttribute");
  return value;
}

}  // namespace

void *allocate(std::size_t bytes) {
  void *memory = nullptr;
  check(cudaMalloc(&memory, bytes ? bytes : 1), "cudaMalloc");
  return memory;
}
void release(void *memory) {
  check(cudaFree(memory), "cudaFree");
}
void copy(void *to, const void *from, std::size_t bytes) {
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy");
}
int capability() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return 0;
  return 10 * attribute(cudaDevAttrComputeCapabilityMajor) +
         attribute(cudaDevAttrComputeCapabilityMinor);
}

void *allocate_reached(std::size_t bytes) {
  void *memory = nullptr;
  const unsigned flags = cudaHostAllocMapped | cudaHostAllocPortable;
  return cudaHostAlloc(&memory, bytes, flags) == cudaSuccess ? memory : nullptr;
}
bool reaches_all_memory() {
  return attribute(cudaDevAttrPageableMemoryAccess) != 0;
}
bool reach(void *begin, std::size_t bytes, bool writes) {
  const unsigned read_only = writes ? 0u : unsigned(cudaHostRegisterReadOnly);
  const cudaError_t error = cudaHostRegister(begin, bytes, cudaHostRegisterMapped | read_only);
  if (error != cudaSuccess) cudaGetLastError();
  return error == cudaSuccess;
}

}  // namespace gpu_suites

extern "C" {

cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t *, const void *, void **);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel,
                                       void **arguments) {
  int cluster_size = 1;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute &attribute = config->attrs[i];
    if (attribute.id == cudaLaunchAttributeClusterDimension) {
      cluster_size = int(attribute.val.clusterDim.x);
    }
  }
  gpu_suites::note_launch(kernel, config->gridDim.x, cluster_size, config->dynamicSmemBytes);
  return __real_cudaLaunchKernelExC(config, kernel, arguments);
}

#define WAIT_AFTER(function, args_type)                                                 \
  sampler_status __real_##function(sampler_t, const args_type *);                       \
  sampler_status __wrap_##function(sampler_t sampler, const args_type *args) {          \
    const gpu_suites::PlainArithmetic plain;                                            \
    const sampler_status status = __real_##function(sampler, args);                     \
    if (cudaDeviceSynchronize() != cudaSuccess) {                                       \
      std::fprintf(stderr, #function ": %s\n", cudaGetErrorString(cudaGetLastError())); \
      std::exit(3);                                                                     \
    }                                                                                   \
    return status;                                                                      \
  }
WAIT_AFTER(sampler_sample, sampler_sample_args)
WAIT_AFTER(sampler_filter, sampler_filter_args)
WAIT_AFTER(sampler_select, sampler_select_args)
WAIT_AFTER(sampler_verify, sampler_verify_args)
WAIT_AFTER(sampler_residual, sampler_residual_args)
WAIT_AFTER(sampler_score, sampler_score_args)
WAIT_AFTER(sampler_state_append, sampler_state_append_args)
WAIT_AFTER(sampler_state_reset, sampler_state_reset_args)
WAIT_AFTER(sampler_state_truncate, sampler_state_truncate_args)
WAIT_AFTER(sampler_state_copy, sampler_state_copy_args)
WAIT_AFTER(sampler_state_read, sampler_state_read_args)
WAIT_AFTER(sampler_accept, sampler_accept_args)
}
