// Launching the kernels: what src/cuda calls.
#pragma once

#include <cuda_runtime_api.h>

#include "plan.h"
#include "upload.cuh"

namespace sampler::kernels {

// Enqueues the operation. Request: any of contract/request.h.
template <class Request>
cudaError_t launch(const Request &request, const Plan &plan, cudaStream_t stream);

// Enqueues the writing of words to device memory. What is behind them is not looked at.
cudaError_t launch(const Upload<kUploadWords> &upload, cudaStream_t stream);

// Lets the operation's kernels use so much dynamic shared memory on the current device.
template <class Request>
cudaError_t allow_shared_memory(size_t bytes);

}  // namespace sampler::kernels
