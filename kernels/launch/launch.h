// Launches of the kernels, for src/cuda.
#pragma once

#include <cuda_runtime_api.h>

#include "contract/state_requests.h"
#include "contract/unmask.h"
#include "launch/plan.h"
#include "launch/upload.cuh"
#include "operations/kept_lists.cuh"

namespace sampler::kernels {

struct Stream;
enum class StreamKind : int;
struct Held;
enum class HeldKind : int;
struct Chains;

// ---- Kernels by their addresses in the runtime -------------------------------------------------

// General kernels. Take a PlainRequest or a StagedRequest, and a Plan.
const void *plain_kernel_address();
const void *staged_kernel_address();
// That of an operation.
const void *general_kernel_address(Operation operation);

// Take an Upload of kUploadWords or kSmallUploadWords.
const void *upload_kernel_address();
const void *small_upload_kernel_address();

// Streamed rows; kind is not kNone. Takes a SampleRequest and a Stream.
const void *stream_kernel_address(sampler_dtype dtype, StreamKind kind);
// Takes a Stream.
const void *clear_kernel_address();
// Takes a StagedSampleRequest and a Stream of kEdited.
const void *edits_kernel_address();
// Takes a StagedSampleRequest and a Stream with lists.
const void *listed_kernel_address();

// Held rows; kind is not kNone. Takes the kind's request and a Held.
const void *held_kernel_address(sampler_dtype dtype, HeldKind kind);

// Before and after the sampling of chains. Take an ExtendedVerifyRequest and a Chains.
const void *place_kernel_address();
const void *match_kernel_address();
// Takes an ExtendedVerifyRequest, a Stream with lists, and a Chains.
const void *decide_kernel_address();
// Takes an ExtendedVerifyRequest, a Chains, and the Stream of the reports.
const void *find_reported_kernel_address();

// Takes a PackRequest.
const void *pack_kernel_address();

// Takes an UnmaskRequest.
const void *unmask_kernel_address();

// A call of state.h. Takes its request.
template <class Request>
const void *state_kernel_address();

// ---- Launches -----------------------------------------------------------------------------------

// A grid of num_teams teams; teams of one block use no clusters.
class LaunchConfig {
 public:
  LaunchConfig(int64_t num_teams, int team_size, size_t dynamic_bytes, cudaStream_t stream);
  // The launch may begin before its predecessor has ended, and then waits for it itself.
  void overlap();

  LaunchConfig(const LaunchConfig &) = delete;
  LaunchConfig &operator=(const LaunchConfig &) = delete;

  const cudaLaunchConfig_t *get() const { return &config_; }

 private:
  cudaLaunchConfig_t config_ = {};
  cudaLaunchAttribute attributes_[2] = {};
};

// Enqueues an operation, by its request: one launch, two for spread rows.
cudaError_t launch(Operation operation, const void *request, const Plan &plan, cudaStream_t stream);

template <class Request>
cudaError_t launch(const Request &request, const Plan &plan, cudaStream_t stream) {
  return launch(operation_of(request), &request, plan, stream);
}

// Enqueues the streaming of rows, and by `rest` of the rows that it leaves.
cudaError_t launch(const contract::SampleRequest &request, const Stream &stream, const Plan &rest,
                   cudaStream_t cuda_stream);
cudaError_t launch(const StagedSampleRequest &request, const Stream &stream, const Plan &rest,
                   cudaStream_t cuda_stream);
// The same, with held rows between: what the stream leaves.
cudaError_t launch(const StagedSampleRequest &request, const Stream &stream, const Held &held,
                   const Plan &rest, cudaStream_t cuda_stream);

// Enqueues the streaming of the reports of drawn rows, and by `rest` what it leaves of `all`.
cudaError_t launch_reports(const StagedSampleRequest &reports, const StagedSampleRequest &all,
                           const Stream &stream, const Plan &rest, cudaStream_t cuda_stream);

// Enqueues the work on held rows, and by `rest` that on rows which it leaves.
cudaError_t launch(const contract::SampleRequest &request, const Held &held, const Plan &rest,
                   cudaStream_t stream);
cudaError_t launch(const contract::FilterRequest &request, const Held &held, const Plan &rest,
                   cudaStream_t stream);
cudaError_t launch(const contract::VerifyRequest &request, const Held &held, const Plan &rest,
                   cudaStream_t stream);
cudaError_t launch(const ExtendedVerifyRequest &request, const Held &held, const Plan &rest,
                   cudaStream_t stream);
cudaError_t launch(const StagedSampleRequest &request, const Held &held, const Plan &rest,
                   cudaStream_t stream);
cudaError_t launch(const contract::SelectRequest &request, const Held &held, const Plan &rest,
                   cudaStream_t stream);

// Enqueues what finds the positions of chains before all else, and what compares what was sampled.
cudaError_t launch_place(const ExtendedVerifyRequest &request, const Chains &chains,
                         cudaStream_t stream);
cudaError_t launch_match(const ExtendedVerifyRequest &request, const Chains &chains,
                         cudaStream_t stream);

// Enqueues the streaming of the reports of verified tokens, and by `rest` what it leaves of them.
cudaError_t launch_reports(const ExtendedVerifyRequest &request, const Chains &chains,
                           const StagedSampleRequest &reports, const Stream &stream,
                           const Plan &rest, cudaStream_t cuda_stream);

// Enqueues chains that are decided from lists of their positions, and by `rest` of those left.
cudaError_t launch(const ExtendedVerifyRequest &request, const Chains &chains, const Stream &stream,
                   const Plan &rest, cudaStream_t cuda_stream);

// The same for chains whose edited positions are held.
cudaError_t launch(const ExtendedVerifyRequest &request, const Chains &chains, const Held &held,
                   const Plan &rest, cudaStream_t stream);

// Enqueues a call of state.h, on num_rows rows of its request.
cudaError_t launch_state(const void *kernel, const void *request, int64_t num_rows,
                         cudaStream_t stream);

template <class Request>
cudaError_t launch_state(const Request &request, cudaStream_t stream) {
  return launch_state(state_kernel_address<Request>(), &request, request.num_rows, stream);
}

// Enqueues unmasking, a thread block per block of rows; there are some.
cudaError_t launch(const contract::UnmaskRequest &request, cudaStream_t stream);

// Enqueues the packing of lists, by num_blocks blocks.
cudaError_t launch(const PackRequest &request, int64_t num_blocks, cudaStream_t stream);

// Enqueues the writing of an upload's words to device memory. Words after them are not read.
cudaError_t launch(const Upload<kUploadWords> &upload, cudaStream_t stream);

}  // namespace sampler::kernels
