// The CUDA backend: discovery, workspaces and launches, on the runtime linked into the library.
#include "cuda/backend.h"

#include <cuda_runtime_api.h>

#include <algorithm>

#include "cuda/host_parameters.h"
#include "launch.h"
#include "plan.h"

namespace sampler::cuda {

namespace {

Error error_of(const char *call, cudaError_t error) {
  if (error == cudaSuccess) return {};
  return {call, cudaGetErrorString(error), error == cudaErrorMemoryAllocation};
}

// Takes away the error that a call of ours leaves pending in the runtime, at the end of its life.
// Not where one of the caller's was pending before: what then stands there is the caller's to find.
class PendingError {
 public:
  PendingError() : was_pending_(cudaPeekAtLastError() != cudaSuccess) {}
  ~PendingError() {
    if (!was_pending_) cudaGetLastError();
  }
  PendingError(const PendingError &) = delete;
  PendingError &operator=(const PendingError &) = delete;

 private:
  bool was_pending_;
};

// Makes a device current for as long as the object lives. What fails meanwhile stays with us.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) : device_(device) {
    error_ = error_of("cudaGetDevice", cudaGetDevice(&previous_));
    if (!error_ && previous_ != device) error_ = error_of("cudaSetDevice", cudaSetDevice(device));
  }
  ~CurrentDevice() {
    if (!error_ && previous_ != device_) cudaSetDevice(previous_);
  }
  CurrentDevice(const CurrentDevice &) = delete;
  CurrentDevice &operator=(const CurrentDevice &) = delete;

  const Error &error() const { return error_; }

 private:
  PendingError pending_error_;
  int device_;
  int previous_ = -1;
  Error error_;
};

kernels::DeviceShape shape_of(const Device &device) {
  return {device.num_multiprocessors, device.shared_bytes_per_block,
          device.shared_bytes_per_multiprocessor, device.has_clusters};
}

template <class Request>
kernels::Plan plan_of(const Request &request, const Device &device) {
  return kernels::make_plan(shape_of(device), kernels::extent_of(request));
}

// What a call keeps in the workspace: bitmaps, then the numbers per row that the host gave it.
struct Layout {
  static constexpr size_t kAlignment = alignof(uint64_t);
  static_assert(kernels::kIdWords * sizeof(uint32_t) % kAlignment == 0);

  size_t bitmap_bytes = 0;
  size_t parameter_bytes = 0;

  // Bytes that it takes of a block of any alignment.
  size_t bytes() const {
    const size_t used = bitmap_bytes + parameter_bytes;
    return used ? used + kAlignment - 1 : 0;
  }

  static char *begin(void *workspace) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(workspace);
    return reinterpret_cast<char *>((address + kAlignment - 1) / kAlignment * kAlignment);
  }
};

size_t bitmap_bytes(int64_t num_teams) {
  return size_t(num_teams) * kernels::kIdWords * sizeof(uint32_t);
}

template <class Request>
Layout layout_of(const Request &request, const Device &device) {
  Layout layout;
  if (kernels::needs_bitmaps(kernels::extent_of(request))) {
    layout.bitmap_bytes = bitmap_bytes(plan_of(request, device).num_teams);
  }
  if (device.host_parameters) layout.parameter_bytes = host_array_bytes(request);
  return layout;
}

cudaError_t attribute(int device, cudaDeviceAttr name, int *out) {
  return cudaDeviceGetAttribute(out, name, device);
}

cudaError_t read_attributes(int id, Device *out) {
  int block_bytes = 0, multiprocessor_bytes = 0, major = 0;
  const struct {
    cudaDeviceAttr name;
    int *value;
  } wanted[] = {
      {cudaDevAttrMultiProcessorCount, &out->num_multiprocessors},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, &block_bytes},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, &multiprocessor_bytes},
      {cudaDevAttrComputeCapabilityMajor, &major},
  };
  for (const auto &item : wanted) {
    const cudaError_t error = attribute(id, item.name, item.value);
    if (error != cudaSuccess) return error;
  }
  out->id = id;
  out->shared_bytes_per_block = size_t(block_bytes);
  out->shared_bytes_per_multiprocessor = size_t(multiprocessor_bytes);
  out->has_clusters = major >= 9;
  return cudaSuccess;
}

}  // namespace

bool is_compiled() {
  return true;
}

int num_devices() {
  const PendingError pending_error;
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

Error open(int device_id, bool host_parameters, Device *out) {
  const CurrentDevice current(device_id);
  if (current.error()) return current.error();
  const cudaError_t error = read_attributes(device_id, out);
  if (error != cudaSuccess) return error_of("cudaDeviceGetAttribute", error);
  out->host_parameters = host_parameters;
  return error_of(
      "cudaFuncSetAttribute",
      kernels::allow_shared_memory(out->shared_bytes_per_block - kernels::kReservedSharedBytes));
}

Error allocate(const Device &device, size_t bytes, void **out) {
  const CurrentDevice current(device.id);
  if (current.error()) return current.error();
  return error_of("cudaMalloc", cudaMalloc(out, bytes));
}

void release(const Device &device, void *memory) {
  const CurrentDevice current(device.id);
  cudaFree(memory);
}

Error copy(const Device &device, void *to, const void *from, size_t bytes, CUstream_st *stream) {
  const CurrentDevice current(device.id);
  if (current.error()) return current.error();
  // From pageable memory it returns when that has been read.
  return error_of("cudaMemcpyAsync", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
}

Error synchronize(const Device &device, CUstream_st *stream) {
  const CurrentDevice current(device.id);
  if (current.error()) return current.error();
  return error_of("cudaStreamSynchronize", cudaStreamSynchronize(stream));
}

bool is_device_memory(const Device &device, const void *address) {
  const PendingError pending_error;
  cudaPointerAttributes attributes = {};
  if (cudaPointerGetAttributes(&attributes, address) != cudaSuccess) return false;
  switch (attributes.type) {
    case cudaMemoryTypeDevice:
      return attributes.device == device.id;
    case cudaMemoryTypeManaged:
      return true;
    default:
      return attributes.type == cudaMemoryTypeHost && attributes.devicePointer == address;
  }
}

bool is_host_memory(const void *address) {
  const PendingError pending_error;
  cudaPointerAttributes attributes = {};
  const cudaError_t error = cudaPointerGetAttributes(&attributes, address);
  return error != cudaSuccess || attributes.type != cudaMemoryTypeDevice;
}

size_t largest_workspace_bytes(int64_t max_rows, int64_t max_cols, const Device &device) {
  Layout layout;
  if (max_cols > kernels::kListCapacity) {
    layout.bitmap_bytes = bitmap_bytes(std::min<int64_t>(max_rows, device.num_multiprocessors));
  }
  if (device.host_parameters) {
    contract::SampleRequest request;
    request.num_rows = max_rows;
    // Whether they are null is all that counts.
    visit_host_arrays(&request, [&](auto **array, int64_t) { point_to(&layout, array); });
    request.random.seed.per_slot = request.random.offset.per_slot = true;
    layout.parameter_bytes = host_array_bytes(request);
  }
  return layout.bytes();
}

size_t workspace_bytes(const contract::AnyRequest &any, const Device &device) {
  return any.visit([&](const auto &request) { return layout_of(request, device).bytes(); });
}

Error run(const contract::AnyRequest &any, const Device &device, void *workspace,
          CUstream_st *stream) {
  const CurrentDevice current(device.id);
  if (current.error()) return current.error();
  // A copy of the request: its arrays may move to the workspace.
  const cudaError_t error = any.visit([&](auto request) {
    const Layout layout = layout_of(request, device);
    char *memory = Layout::begin(workspace);
    kernels::Plan plan = plan_of(request, device);
    if (layout.bitmap_bytes > 0) plan.bitmaps = reinterpret_cast<uint32_t *>(memory);
    if (layout.parameter_bytes > 0) {
      const cudaError_t uploaded =
          upload_host_arrays(&request, memory + layout.bitmap_bytes, stream);
      if (uploaded != cudaSuccess) return uploaded;
    }
    return kernels::launch(request, plan, stream);
  });
  return error_of("cudaLaunchKernelExC", error);
}

}  // namespace sampler::cuda
