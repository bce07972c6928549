// Reads a device's attributes and prepares its kernels.
#include "cuda/prepare.h"

#include <algorithm>

#include "held/held.h"
#include "launch/launch.h"
#include "stream/stream.h"

namespace sampler::cuda {

namespace {

using kernels::KernelSet;
using kernels::KernelShape;
using kernels::Share;

// Reading the attributes loads the kernel. Otherwise it would be loaded at its first use, which
// fails while a stream is captured.
Outcome load(const void *kernel, cudaFuncAttributes *attributes) {
  return {"cudaFuncGetAttributes", cudaFuncGetAttributes(attributes, kernel)};
}

Outcome set(const void *kernel, cudaFuncAttribute attribute, int value) {
  return {"cudaFuncSetAttribute", cudaFuncSetAttribute(kernel, attribute, value)};
}

Outcome count_blocks(const void *kernel, const Attributes &attributes, Share *share) {
  int blocks = 0;
  const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, kernel, kernels::kBlockThreads, size_t(share->dynamic_bytes));
  share->teams_at_once[0] = blocks * attributes.num_multiprocessors;
  return {"cudaOccupancyMaxActiveBlocksPerMultiprocessor", error};
}

// An unsupported cluster size counts as 0 clusters.
Outcome count_clusters(const void *kernel, int index, Share *share) {
  const kernels::LaunchConfig config(1, 1 << index, size_t(share->dynamic_bytes), nullptr);
  int clusters = 0;
  cudaError_t error = cudaOccupancyMaxActiveClusters(&clusters, kernel, config.get());
  if (error == cudaErrorInvalidClusterSize) {
    clusters = 0;
    error = cudaSuccess;
  }
  share->teams_at_once[index] = clusters;
  return {"cudaOccupancyMaxActiveClusters", error};
}

// Prepares a kernel whose teams have up to 16 blocks.
Outcome prepare(const void *kernel, const Attributes &attributes, KernelShape *shape) {
  cudaFuncAttributes of_kernel = {};
  Outcome outcome = load(kernel, &of_kernel);
  if (outcome.error != cudaSuccess) return outcome;
  kernels::divide_shared_memory(attributes.shared_memory, int(of_kernel.sharedSizeBytes), shape);

  outcome = set(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shape->most_dynamic_bytes());
  for (Share &share : shape->shares) {
    if (outcome.error == cudaSuccess) outcome = count_blocks(kernel, attributes, &share);
  }
  if (outcome.error != cudaSuccess || !attributes.has_clusters) return outcome;
  outcome = set(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  for (Share &share : shape->shares) {
    for (int index = 1; index < kernels::kNumTeamSizes; ++index) {
      if (outcome.error == cudaSuccess) outcome = count_clusters(kernel, index, &share);
    }
  }
  return outcome;
}

}  // namespace

Outcome read_attributes(int device_id, Attributes *out) {
  kernels::SharedMemory &memory = out->shared_memory;
  const struct {
    cudaDeviceAttr name;
    int *value;
  } wanted[] = {
      {cudaDevAttrMultiProcessorCount, &out->num_multiprocessors},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, &memory.per_block},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, &memory.per_multiprocessor},
      {cudaDevAttrReservedSharedMemoryPerBlock, &memory.reserved_per_block},
      {cudaDevAttrClusterLaunch, &out->has_clusters},
  };
  Outcome outcome = {"cudaDeviceGetAttribute", cudaSuccess};
  for (const auto &item : wanted) {
    if (outcome.error == cudaSuccess) {
      outcome.error = cudaDeviceGetAttribute(item.value, item.name, device_id);
    }
  }
  return outcome;
}

namespace {

Outcome prepare_streams(const Attributes &attributes, kernels::DeviceShape *out) {
  cudaFuncAttributes unused = {};
  Outcome outcome = load(kernels::clear_kernel_address(), &unused);
  for (const void *kernel :
       {kernels::place_kernel_address(), kernels::match_kernel_address(),
        kernels::decide_kernel_address(), kernels::find_reported_kernel_address()}) {
    if (outcome.error == cudaSuccess) outcome = load(kernel, &unused);
  }
  if (outcome.error == cudaSuccess) outcome = load(kernels::listed_kernel_address(), &unused);
  const void *const edits = kernels::edits_kernel_address();
  cudaFuncAttributes of_edits = {};
  if (outcome.error == cudaSuccess) outcome = load(edits, &of_edits);
  out->edits_bytes = attributes.shared_memory.per_block - int(of_edits.sharedSizeBytes);
  if (outcome.error == cudaSuccess) {
    outcome = set(edits, cudaFuncAttributeMaxDynamicSharedMemorySize, out->edits_bytes);
  }
  kernels::for_each_stream_kernel([&](auto dtype, auto kind) {
    if (outcome.error != cudaSuccess) return;
    const void *const kernel = kernels::stream_kernel_address(dtype, kind);
    outcome = load(kernel, &unused);
    if (outcome.error != cudaSuccess) return;
    Share share;
    share.dynamic_bytes = int(sizeof(kernels::StreamShared));
    outcome = count_blocks(kernel, attributes, &share);
    const int at_once = share.teams_at_once[0];
    int &blocks = out->stream_blocks[int(kind.value)];  // the least of its types
    blocks = blocks == 0 ? at_once : std::min(blocks, at_once);
  });
  return outcome;
}

Outcome prepare_held(const Attributes &attributes, kernels::DeviceShape *out) {
  const void *const sample =
      kernels::held_kernel_address(SAMPLER_F32, kernels::HeldKind::kEditedReport);
  Outcome outcome = prepare(sample, attributes, &out->of(KernelSet::kHeldSample));
  out->held_bytes = attributes.shared_memory.per_block;
  out->held_team = kernels::kMostHeldTeam;
  kernels::for_each_held_kernel([&](auto dtype, auto kind) {
    if (outcome.error != cudaSuccess) return;
    const void *const kernel = kernels::held_kernel_address(dtype, kind);
    cudaFuncAttributes of_kernel = {};
    outcome = load(kernel, &of_kernel);
    if (outcome.error != cudaSuccess) return;
    Share share;
    share.dynamic_bytes = attributes.shared_memory.per_block - int(of_kernel.sharedSizeBytes);
    outcome = set(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, share.dynamic_bytes);
    if (outcome.error == cudaSuccess) outcome = count_blocks(kernel, attributes, &share);
    for (int size = 2; size <= kernels::kMostHeldTeam && attributes.has_clusters; size *= 2) {
      if (outcome.error != cudaSuccess) return;
      outcome = count_clusters(kernel, kernels::index_of_team_size(size), &share);
    }
    out->held_bytes = std::min(out->held_bytes, share.dynamic_bytes);
    // Not teams that, confined to parts of the device, leave more than a quarter of it unused.
    const auto blocks_of = [&](int size) { return share.teams_of(size) * size; };
    while (out->held_team > 0 &&
           blocks_of(out->held_team) * 4 < attributes.num_multiprocessors * 3) {
      out->held_team /= 2;
    }
  });
  return outcome;
}

}  // namespace

Outcome prepare_kernels(const Attributes &attributes, kernels::DeviceShape *out) {
  out->num_multiprocessors = attributes.num_multiprocessors;
  out->overlaps_launches = attributes.has_clusters;  // both need compute capability 9.0
  cudaFuncAttributes unused = {};
  Outcome outcome = load(kernels::upload_kernel_address(), &unused);
  if (outcome.error == cudaSuccess) outcome = load(kernels::small_upload_kernel_address(), &unused);
  if (outcome.error == cudaSuccess) outcome = load(kernels::pack_kernel_address(), &unused);
  if (outcome.error == cudaSuccess) outcome = load(kernels::unmask_kernel_address(), &unused);
  contract::for_each_state_request([&](const auto &request) {
    using Request = std::decay_t<decltype(request)>;
    if (outcome.error == cudaSuccess) {
      outcome = load(kernels::state_kernel_address<Request>(), &unused);
    }
  });
  if (outcome.error == cudaSuccess) outcome = prepare_streams(attributes, out);
  if (outcome.error == cudaSuccess) outcome = prepare_held(attributes, out);
  if (outcome.error == cudaSuccess) {
    outcome = prepare(kernels::plain_kernel_address(), attributes, &out->of(KernelSet::kPlain));
  }
  if (outcome.error == cudaSuccess) {
    outcome = prepare(kernels::staged_kernel_address(), attributes, &out->of(KernelSet::kStaged));
  }
  return outcome;
}

}  // namespace sampler::cuda
