// Prepares the kernels of a device: loads them, sets their attributes, and reads their occupancy.
#pragma once

#include <cuda_runtime_api.h>

#include "launch/plan.h"

namespace sampler::cuda {

// A CUDA call and its result.
struct Outcome {
  const char *call;
  cudaError_t error;
};

// Attributes of a device.
struct Attributes {
  int num_multiprocessors = 0;
  int has_clusters = 0;
  kernels::SharedMemory shared_memory = {};
};

Outcome read_attributes(int device_id, Attributes *out);

// Works on the current device. Returns the first failed call, or the last call.
Outcome prepare_kernels(const Attributes &attributes, kernels::DeviceShape *out);

}  // namespace sampler::cuda
