// The CUDA backend as the C ABI sees it: no CUDA header, and in a build without CUDA a backend that
// is not there. The caller's contexts, current device and pending error stay as they were.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/any_request.h"
#include "contract/shard_call.h"
#include "contract/state_requests.h"
#include "device_shape.h"

struct CUctx_st;
struct CUstream_st;

namespace sampler::cuda {

// What is known about an opened device. Trivial, lives in the handle.
struct Device {
  int id = -1;
  bool host_parameters = false;  // a call's numbers per row are host arrays
  kernels::DeviceShape shape;

  // The device's primary context, which CUDA's runtime works in, kept for as long as the device is
  // open; null when it is not. And the driver's functions, by which it is current during a call.
  CUctx_st *context = nullptr;
  void *push_context = nullptr;
  void *pop_context = nullptr;
  void *release_context = nullptr;
};

// What went wrong: the call and CUDA's word for it. No `call`: nothing.
struct Error {
  const char *call = nullptr;
  const char *reason = nullptr;
  bool is_out_of_memory = false;

  explicit operator bool() const { return call != nullptr; }
};

// Whether this build has CUDA.
bool is_compiled();

// Devices that can be opened; 0 without a driver.
int num_devices();

// Looks at the device and prepares its kernels. What has been opened is closed, whether or not all
// of it succeeded.
Error open(int device_id, bool host_parameters, Device *out);
void close(Device *device);

// Whether an address is memory that the device's kernels can reach, or that the host can.
bool is_device_memory(const Device &device, const void *address);
bool is_host_memory(const Device &device, const void *address);

Error allocate(const Device &device, size_t bytes, void **out);
void release(const Device &device, void *memory);

// Copies between device and host, either way, or within the device, in the order of the stream.
// Host memory that it reads may be reused when it returns; host memory that it writes is filled
// once the stream is synchronized.
Error copy(const Device &device, void *to, const void *from, size_t bytes, CUstream_st *stream);
Error synchronize(const Device &device, CUstream_st *stream);

// What any call on up to max_rows rows of up to max_cols columns needs at most.
size_t largest_workspace_bytes(int64_t max_rows, int64_t max_cols, const Device &device);

// What one call needs.
size_t workspace_bytes(const contract::AnyRequest &request, const Device &device);

// Enqueues the operation.
Error run(const contract::AnyRequest &request, const Device &device, void *workspace,
          CUstream_st *stream);

// The same of a round of rows that lie on many ranks, which reads `received` and writes `send`.
size_t shard_workspace_bytes(const contract::ShardCall &call, const Device &device);
Error run_shard_round(const contract::ShardCall &call, int round, const Device &device,
                      void *workspace, const void *received, void *send, CUstream_st *stream);

// The same of calls of state.h, all of which the device runs in its slots. `numbers` has room for
// those by slot that the host has: state_number_bytes() for each slot.
size_t state_number_bytes(const Device &device, int64_t num_slots);
template <class Request>
Error run_state(const Request &request, const Device &device, void *numbers, CUstream_st *stream);

// Waits for all that the device has been told to do.
Error synchronize(const Device &device);

}  // namespace sampler::cuda
