// Launching the kernels: what src/cuda calls.
#pragma once

#include <cuda_runtime_api.h>

#include "contract/any_request.h"
#include "plan.h"
#include "upload.cuh"

namespace sampler::kernels {

// Enqueues the operation.
cudaError_t launch(const contract::AnyRequest &request, const Plan &plan, cudaStream_t stream);

// Enqueues the writing of words to device memory. What follows them is not looked at.
cudaError_t launch(const Upload<kUploadWords> &upload, cudaStream_t stream);

// Lets the operations' kernels use so much dynamic shared memory on the current device.
cudaError_t allow_shared_memory(size_t bytes);

}  // namespace sampler::kernels
