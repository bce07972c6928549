// Launching the kernels: what src/cuda calls.
#pragma once

#include <cuda_runtime_api.h>

#include "contract/state_requests.h"
#include "kept_lists.cuh"
#include "plan.h"
#include "upload.cuh"

namespace sampler::kernels {

struct Stream;
enum class StreamKind : int;

// ---- The kernels, by the address that the runtime knows them by ---------------------------------

// Takes the operation's request and a Plan.
const void *operation_kernel_address(Operation operation, bool clustered);

// That of verification, which stands in a unit of its own.
const void *verify_kernel_address(bool clustered);

// That of rows that lie on many ranks: so does it.
const void *shard_kernel_address(bool clustered);

// Of spread rows. Takes a SampleRequest and a Plan.
const void *spread_kernel_address(bool clustered);

// Take an Upload of kUploadWords or kSmallUploadWords.
const void *upload_kernel_address();
const void *small_upload_kernel_address();

// Of streamed rows; kind is not kNone. Takes a SampleRequest and a Stream.
const void *stream_kernel_address(sampler_dtype dtype, StreamKind kind);
// Takes a Stream.
const void *clear_kernel_address();

// Takes a PackRequest.
const void *pack_kernel_address();

// Of a call of state.h. Takes its request.
template <class Request>
const void *state_kernel_address();

// ---- Launches -----------------------------------------------------------------------------------

// A grid of so many teams. Clusters of one block are none.
class LaunchConfig {
 public:
  LaunchConfig(int64_t num_teams, int team_size, size_t dynamic_bytes, cudaStream_t stream);
  // The launch may begin before that before it has ended, and waits for it itself.
  void overlap();

  LaunchConfig(const LaunchConfig &) = delete;
  LaunchConfig &operator=(const LaunchConfig &) = delete;

  const cudaLaunchConfig_t *get() const { return &config_; }

 private:
  cudaLaunchConfig_t config_ = {};
  cudaLaunchAttribute attributes_[2] = {};
};

// Enqueues an operation, by its request: one launch, or of rows that are spread two.
cudaError_t launch(Operation operation, const void *request, const Plan &plan, cudaStream_t stream);

template <class Request>
cudaError_t launch(const Request &request, const Plan &plan, cudaStream_t stream) {
  return launch(operation_of(request), &request, plan, stream);
}

// Enqueues the streaming of rows, and of those that it leaves, by `rest`.
cudaError_t launch(const contract::SampleRequest &request, const Stream &stream, const Plan &rest,
                   cudaStream_t cuda_stream);

// Enqueues a call of state.h, on so many rows of its request.
cudaError_t launch_state(const void *kernel, const void *request, int64_t num_rows,
                         cudaStream_t stream);

template <class Request>
cudaError_t launch_state(const Request &request, cudaStream_t stream) {
  return launch_state(state_kernel_address<Request>(), &request, request.num_rows, stream);
}

// Enqueues the packing of lists, by so many blocks.
cudaError_t launch(const PackRequest &request, int64_t num_blocks, cudaStream_t stream);

// Enqueues the writing of words to device memory. What follows them is not looked at.
cudaError_t launch(const Upload<kUploadWords> &upload, cudaStream_t stream);

}  // namespace sampler::kernels
