#include "launch/launch.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "chains/chains.h"
#include "held/held.h"
#include "launch/general.h"
#include "operations/unmask.cuh"
#include "stream/stream.h"

namespace sampler::kernels {

namespace {

// Kernel arguments are read only.
void *argument(const void *value) {
  return const_cast<void *>(value);
}

// Enqueues a kernel with these arguments.
template <class... Arguments>
cudaError_t enqueue(const void *kernel, const LaunchConfig &config, const Arguments *...values) {
  void *arguments[] = {argument(values)...};
  return cudaLaunchKernelExC(config.get(), kernel, arguments);
}

template <int kWords>
cudaError_t launch_upload(const void *kernel, const Upload<kWords> &upload, cudaStream_t stream) {
  const LaunchConfig config((upload.num_words + kBlockThreads - 1) / kBlockThreads, 1, 0, stream);
  return enqueue(kernel, config, &upload);
}

cudaError_t launch_one(Operation operation, const void *request, const Plan &plan,
                       cudaStream_t stream) {
  LaunchConfig config(plan.num_teams, plan.team_size, plan.shared_bytes(), stream);
  if (plan.num_left && plan.may_overlap) config.overlap();
  if (plan.spread.num_slices > 0) operation = Operation::kSpread;
  const void *const kernel = general_kernel_address(operation);
  if (kernels_of(operation) == KernelSet::kPlain) {
    const PlainRequest one(operation, request);
    return enqueue(kernel, config, &one, &plan);
  }
  const StagedRequest one(operation, request);
  return enqueue(kernel, config, &one, &plan);
}

cudaError_t launch_clear(const Stream &stream, cudaStream_t cuda_stream) {
  constexpr int64_t kBytesOfBlock = kBlockThreads * 16;
  const int64_t blocks = (int64_t(stream.cleared_bytes()) + kBytesOfBlock - 1) / kBytesOfBlock;
  const LaunchConfig config(std::min<int64_t>(blocks, 32), 1, 0, cuda_stream);
  return enqueue(clear_kernel_address(), config, &stream);
}

// The launch before others of rows: clears what they count, and edits.
template <class Request>
cudaError_t launch_first(const Request &, const Stream &stream, cudaStream_t cuda_stream) {
  return launch_clear(stream, cuda_stream);
}
cudaError_t launch_first(const StagedSampleRequest &request, const Stream &stream,
                         cudaStream_t cuda_stream) {
  if (!stream.edits.is_on()) return launch_clear(stream, cuda_stream);
  const LaunchConfig config(request.num_rows, 1, EditsLists::bytes(stream.edits), cuda_stream);
  return enqueue(edits_kernel_address(), config, &request, &stream);
}

// Runs the stages of listed rows. Requests without stages have none.
cudaError_t launch_listed(const contract::SampleRequest &, const LaunchConfig &, const Stream &) {
  return cudaSuccess;
}
cudaError_t launch_listed(const StagedSampleRequest &request, const LaunchConfig &config,
                          const Stream &stream) {
  return enqueue(listed_kernel_address(), config, &request, &stream);
}

// Enqueues the streaming of rows after a first launch.
cudaError_t launch_stream(const contract::SampleRequest &rows, const Stream &stream,
                          bool may_overlap, cudaStream_t cuda_stream) {
  LaunchConfig config(stream.num_blocks, 1, sizeof(StreamShared), cuda_stream);
  if (may_overlap) config.overlap();
  return enqueue(stream_kernel_address(rows.input.dtype, stream.kind), config, &rows, &stream);
}

// The same, and the stages of listed rows.
template <class Request>
cudaError_t launch_stream_and_lists(const Request &request, const Stream &stream, bool may_overlap,
                                    cudaStream_t cuda_stream) {
  const cudaError_t error = launch_stream(request, stream, may_overlap, cuda_stream);
  if (error != cudaSuccess || !stream.lists.is_on()) return error;
  LaunchConfig config(request.num_rows, 1, sizeof(ListedShared), cuda_stream);
  if (may_overlap) config.overlap();
  return launch_listed(request, config, stream);
}

// The rows that `before`, a stream or held, leaves to the general kernel.
template <class Request, class Before>
cudaError_t launch_rest(const Request &request, const Before &before, const Plan &rest,
                        cudaStream_t stream) {
  Plan plan = rest;
  plan.left = before.left();
  plan.num_left = &before.head()->num_left;
  return launch_one(operation_of(request), &request, plan, stream);
}

template <class Request>
cudaError_t launch_stream_and_rest(const Request &request, const Stream &stream, const Plan &rest,
                                   cudaStream_t cuda_stream) {
  const cudaError_t error = launch_stream_and_lists(request, stream, rest.may_overlap, cuda_stream);
  if (error != cudaSuccess || !stream.leaves_rows()) return error;
  return launch_rest(request, stream, rest, cuda_stream);
}

// The type of the rows that are read.
template <class Request>
sampler_dtype dtype_of(const Request &request) {
  if constexpr (std::is_base_of_v<contract::VerifyRequest, Request>) {
    return request.target.dtype;
  } else {
    return request.input.dtype;
  }
}

template <class Request>
cudaError_t launch_held(const Request &request, const Held &held, bool may_overlap,
                        cudaStream_t stream) {
  LaunchConfig config(held.num_teams, held.team_size, held.shared_bytes(), stream);
  if (may_overlap) config.overlap();
  return enqueue(held_kernel_address(dtype_of(request), held.kind), config, &request, &held);
}

// The launch before held rows: clears what they count, and edits `edited`.
template <class Request>
cudaError_t launch_before(const Request &edited, const Held &held, cudaStream_t stream) {
  Stream head;  // without slots
  head.memory = held.memory;
  head.edits = held.edits;
  return launch_first(edited, head, stream);
}

template <class Request>
cudaError_t launch_held_and_rest(const Request &request, const Held &held, const Plan &rest,
                                 cudaStream_t stream) {
  if (!held.leaves_rows()) return launch_held(request, held, false, stream);
  cudaError_t error = launch_before(request, held, stream);
  if (error == cudaSuccess) error = launch_held(request, held, rest.may_overlap, stream);
  return error == cudaSuccess ? launch_rest(request, held, rest, stream) : error;
}

// Blocks of a launch whose threads share the outputs of chains.
int64_t blocks_of_outputs(const Chains &chains) {
  constexpr int64_t kMostBlocks = 64;
  return std::min((chains.num_outputs() + kBlockThreads - 1) / kBlockThreads, kMostBlocks);
}

}  // namespace

const void *general_kernel_address(Operation operation) {
  return kernels_of(operation) == KernelSet::kPlain ? plain_kernel_address()
                                                    : staged_kernel_address();
}

LaunchConfig::LaunchConfig(int64_t num_teams, int team_size, size_t dynamic_bytes,
                           cudaStream_t stream) {
  config_.gridDim = dim3(unsigned(num_teams * team_size));
  config_.blockDim = dim3(kBlockThreads);
  config_.dynamicSmemBytes = dynamic_bytes;
  config_.stream = stream;
  config_.attrs = attributes_;
  if (team_size > 1) {
    cudaLaunchAttribute &cluster = attributes_[config_.numAttrs++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = unsigned(team_size);
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  }
}

void LaunchConfig::overlap() {
  cudaLaunchAttribute &attribute = attributes_[config_.numAttrs++];
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
}

cudaError_t launch(const Upload<kUploadWords> &upload, cudaStream_t stream) {
  if (upload.num_words > kSmallUploadWords)
    return launch_upload(upload_kernel_address(), upload, stream);
  Upload<kSmallUploadWords> small;
  small.to = upload.to;
  small.num_words = upload.num_words;
  std::memcpy(small.words, upload.words, size_t(upload.num_words) * sizeof(uint32_t));
  return launch_upload(small_upload_kernel_address(), small, stream);
}

cudaError_t launch(const PackRequest &request, int64_t num_blocks, cudaStream_t stream) {
  const LaunchConfig config(num_blocks, 1, 0, stream);
  return enqueue(pack_kernel_address(), config, &request);
}

cudaError_t launch(const contract::UnmaskRequest &request, cudaStream_t stream) {
  const LaunchConfig config(request.num_blocks, 1, sizeof(UnmaskShared), stream);
  return enqueue(unmask_kernel_address(), config, &request);
}

cudaError_t launch(const contract::SampleRequest &request, const Stream &stream, const Plan &rest,
                   cudaStream_t cuda_stream) {
  const cudaError_t error = launch_first(request, stream, cuda_stream);
  if (error != cudaSuccess) return error;
  return launch_stream_and_rest(request, stream, rest, cuda_stream);
}
cudaError_t launch(const StagedSampleRequest &request, const Stream &stream, const Plan &rest,
                   cudaStream_t cuda_stream) {
  const cudaError_t error = launch_first(request, stream, cuda_stream);
  if (error != cudaSuccess) return error;
  return launch_stream_and_rest(request, stream, rest, cuda_stream);
}

cudaError_t launch_reports(const StagedSampleRequest &reports, const StagedSampleRequest &all,
                           const Stream &stream, const Plan &rest, cudaStream_t cuda_stream) {
  cudaError_t error = launch_clear(stream, cuda_stream);
  if (error == cudaSuccess) error = launch_stream(reports, stream, rest.may_overlap, cuda_stream);
  return error == cudaSuccess ? launch_rest(all, stream, rest, cuda_stream) : error;
}

cudaError_t launch(const StagedSampleRequest &request, const Stream &stream, const Held &held,
                   const Plan &rest, cudaStream_t cuda_stream) {
  Stream first = stream;
  first.next = held.head();
  Held second = held;
  second.rows_left = stream.left();
  second.num_rows_left = &stream.head()->num_left;
  cudaError_t error = launch_first(request, first, cuda_stream);
  if (error == cudaSuccess) {
    error = launch_stream_and_lists(request, stream, rest.may_overlap, cuda_stream);
  }
  if (error == cudaSuccess) error = launch_held(request, second, rest.may_overlap, cuda_stream);
  return error == cudaSuccess ? launch_rest(request, held, rest, cuda_stream) : error;
}

cudaError_t launch(const contract::SampleRequest &request, const Held &held, const Plan &rest,
                   cudaStream_t stream) {
  return launch_held_and_rest(request, held, rest, stream);
}
cudaError_t launch(const contract::FilterRequest &request, const Held &held, const Plan &rest,
                   cudaStream_t stream) {
  return launch_held_and_rest(request, held, rest, stream);
}
cudaError_t launch(const StagedSampleRequest &request, const Held &held, const Plan &rest,
                   cudaStream_t stream) {
  return launch_held_and_rest(request, held, rest, stream);
}

cudaError_t launch(const contract::SelectRequest &request, const Held &held, const Plan &rest,
                   cudaStream_t stream) {
  return launch_held_and_rest(request, held, rest, stream);
}
cudaError_t launch(const contract::VerifyRequest &request, const Held &held, const Plan &rest,
                   cudaStream_t stream) {
  return launch_held_and_rest(request, held, rest, stream);
}
cudaError_t launch(const ExtendedVerifyRequest &request, const Held &held, const Plan &rest,
                   cudaStream_t stream) {
  return launch_held_and_rest(request, held, rest, stream);
}

cudaError_t launch_place(const ExtendedVerifyRequest &request, const Chains &chains,
                         cudaStream_t stream) {
  const LaunchConfig config(blocks_of_outputs(chains), 1, 0, stream);
  return enqueue(place_kernel_address(), config, &request, &chains);
}
cudaError_t launch_match(const ExtendedVerifyRequest &request, const Chains &chains,
                         cudaStream_t stream) {
  const LaunchConfig config(chains.num_sequences, 1, 0, stream);
  return enqueue(match_kernel_address(), config, &request, &chains);
}

cudaError_t launch_reports(const ExtendedVerifyRequest &request, const Chains &chains,
                           const StagedSampleRequest &reports, const Stream &stream,
                           const Plan &rest, cudaStream_t cuda_stream) {
  const LaunchConfig config(blocks_of_outputs(chains), 1, 0, cuda_stream);
  const cudaError_t error =
      enqueue(find_reported_kernel_address(), config, &request, &chains, &stream);
  return error == cudaSuccess ? launch_stream_and_rest(reports, stream, rest, cuda_stream) : error;
}

cudaError_t launch(const ExtendedVerifyRequest &request, const Chains &chains, const Stream &stream,
                   const Plan &rest, cudaStream_t cuda_stream) {
  const StagedSampleRequest positions = positions_of(request, chains);
  cudaError_t error = launch_first(positions, stream, cuda_stream);
  if (error == cudaSuccess) {
    error = launch_stream(positions, stream, rest.may_overlap, cuda_stream);
  }
  const auto launch_lists = [&](const void *kernel, int64_t num_blocks, const auto *...arguments) {
    LaunchConfig config(num_blocks, 1, sizeof(ListedShared), cuda_stream);
    if (rest.may_overlap) config.overlap();
    return enqueue(kernel, config, arguments...);
  };
  if (error == cudaSuccess) {
    error = launch_lists(listed_kernel_address(), positions.num_rows, &positions, &stream);
  }
  if (error == cudaSuccess) {
    error = launch_lists(decide_kernel_address(), chains.num_sequences, &request, &stream, &chains);
  }
  if (error != cudaSuccess) return error;
  Plan plan = rest;
  plan.left = chains.left();
  plan.num_left = chains.num_left();
  return launch_one(operation_of(request), &request, plan, cuda_stream);
}

cudaError_t launch(const ExtendedVerifyRequest &request, const Chains &chains, const Held &held,
                   const Plan &rest, cudaStream_t stream) {
  cudaError_t error = launch_before(positions_of(request, chains), held, stream);
  if (error == cudaSuccess) error = launch_held(request, held, rest.may_overlap, stream);
  return error == cudaSuccess ? launch_rest(request, held, rest, stream) : error;
}

cudaError_t launch_state(const void *kernel, const void *request, int64_t num_rows,
                         cudaStream_t stream) {
  constexpr int64_t kRows = kBlockThreads / 32;  // rows per block
  const LaunchConfig config((num_rows + kRows - 1) / kRows, 1, 0, stream);
  return enqueue(kernel, config, request);
}

cudaError_t launch(Operation operation, const void *request, const Plan &plan,
                   cudaStream_t stream) {
  if (plan.spread.num_slices > 0) {
    const cudaError_t error = launch_one(operation, request, loading_plan(plan), stream);
    if (error != cudaSuccess) return error;
  }
  return launch_one(operation, request, plan, stream);
}

}  // namespace sampler::kernels
