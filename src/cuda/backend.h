// Interface of the CUDA backend, without CUDA headers. A build without CUDA has a stub. The
// caller's contexts, current device and pending error are preserved.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/any_request.h"
#include "contract/state_requests.h"
#include "contract/unmask.h"
#include "machine/device_shape.h"
#include "shards/call.h"

struct CUctx_st;
struct CUstream_st;

namespace sampler::cuda {

// An opened device. Trivial type, stored in the handle.
struct Device {
  int id = -1;
  bool host_parameters = false;  // per-slot parameters are host arrays
  kernels::DeviceShape shape;

  // The device's primary context, which the CUDA runtime uses, retained while the device is open;
  // null otherwise. The driver functions make it current during a call.
  CUctx_st *context = nullptr;
  void *push_context = nullptr;
  void *pop_context = nullptr;
  void *release_context = nullptr;
};

// A failed CUDA call and its error string. `call` null: no error.
struct Error {
  const char *call = nullptr;
  const char *reason = nullptr;
  bool is_out_of_memory = false;

  explicit operator bool() const { return call != nullptr; }
};

// Whether this build has CUDA.
bool is_compiled();

// Number of devices; 0 without a driver.
int num_devices();

// Reads the device's attributes and prepares its kernels. Must be followed by close(), even on
// failure.
Error open(int device_id, bool host_parameters, Device *out);
void close(Device *device);

// Whether the device's kernels can access an address; whether the host can.
bool is_device_memory(const Device &device, const void *address);
bool is_host_memory(const Device &device, const void *address);

Error allocate(const Device &device, size_t bytes, void **out);
void release(const Device &device, void *memory);

// Copies between host and device, or within the device, in stream order. Host memory that it reads
// may be reused on return; host memory that it writes is valid after the stream is synchronized.
Error copy(const Device &device, void *to, const void *from, size_t bytes, CUstream_st *stream);
Error synchronize(const Device &device, CUstream_st *stream);

// Upper bound for any call on up to max_rows rows of up to max_cols columns.
size_t largest_workspace_bytes(int64_t max_rows, int64_t max_cols, const Device &device);

// Workspace bytes of one call.
size_t workspace_bytes(const contract::AnyRequest &request, const Device &device);
size_t workspace_bytes(const contract::UnmaskRequest &request, const Device &device);

// Enqueues the operation.
Error run(const contract::AnyRequest &request, const Device &device, void *workspace,
          CUstream_st *stream);
Error run(const contract::UnmaskRequest &request, const Device &device, void *workspace,
          CUstream_st *stream);

// The same for a round of rows split among ranks, which reads `received` and writes `send`.
size_t shard_workspace_bytes(const shards::ShardCall &call, const Device &device);
Error run_shard_round(const shards::ShardCall &call, int round, const Device &device,
                      void *workspace, const void *received, void *send, CUstream_st *stream);

// The same for the calls of state.h. `numbers` has room for the per-slot parameters from the host:
// state_number_bytes().
size_t state_number_bytes(const Device &device, int64_t num_slots);
template <class Request>
Error run_state(const Request &request, const Device &device, void *numbers, CUstream_st *stream);

// Waits for all work of the device.
Error synchronize(const Device &device);

}  // namespace sampler::cuda
