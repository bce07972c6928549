// The kernels of a device that is opened: loaded, allowed what they may have, and asked what fits.
#pragma once

#include <cuda_runtime_api.h>

#include "plan.h"

namespace sampler::cuda {

// A call and how it ended.
struct Outcome {
  const char *call;
  cudaError_t error;
};

// What a device says of itself.
struct Attributes {
  int num_multiprocessors = 0;
  int has_clusters = 0;
  kernels::SharedMemory shared_memory = {};
};

Outcome read_attributes(int device_id, Attributes *out);

// On the current device. The first call that failed, or the last one.
Outcome prepare_kernels(const Attributes &attributes, kernels::DeviceShape *out);

}  // namespace sampler::cuda
