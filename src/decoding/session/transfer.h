// Transfers of a call's small arrays between the host and the handle's device. On a CUDA handle a
// call's inputs take one copy, and all results another; on a CPU handle calls use the arrays
// directly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "abi/handle_impl.h"
#include "decoding/session/arena.h"

namespace sampler::decoding {

class Transfer {
 public:
  Transfer() = default;
  // Room for most_in and most_out bytes at once, as an Arena counts them, in memory of `host` and
  // `device`.
  Transfer(const sampler_handle *handle, sampler_stream stream, size_t most_in, size_t most_out,
           Arena *host, Arena *device);

  // Forgets all arrays, and reuses their memory.
  void begin();

  // The address for calls, valid after upload(). `values` may change then.
  template <class T>
  const T *in(const T *values, int64_t count) {
    return values ? static_cast<const T *>(add(values, size_t(count) * sizeof(T))) : nullptr;
  }
  // For numbers by slot, which a handle may take in host memory.
  template <class T>
  const T *parameter(const T *values, int64_t count) {
    return are_parameters_on_host_ ? values : in(values, count);
  }
  // The address for a call's results, which download() copies to `values`.
  template <class T>
  T *out(T *values, int64_t count) {
    return static_cast<T *>(add_result(values, size_t(count) * sizeof(T)));
  }

  // Enqueues what was added since the last upload.
  sampler_status upload(abi::Entry &entry);
  // Waits for the stream.
  sampler_status download(abi::Entry &entry);

  // Copies rows between places in the calls' memory.
  sampler_status copy(abi::Entry &entry, void *to, const void *from, size_t bytes) const;

 private:
  // Three calls of verification, one of a drafter's draws and those of blocks have the most.
  static constexpr int kMaxResults = 41;

  struct Result {
    void *values;
    const void *copy;
    size_t bytes;
  };

  bool on_device() const { return handle_->on_cuda; }
  const void *add(const void *values, size_t bytes);
  void *add_result(void *values, size_t bytes);

  const sampler_handle *handle_ = nullptr;
  sampler_stream stream_ = nullptr;
  bool are_parameters_on_host_ = true;
  char *host_in_ = nullptr, *device_in_ = nullptr;
  char *host_out_ = nullptr, *device_out_ = nullptr;
  size_t in_bytes_ = 0, uploaded_bytes_ = 0, out_bytes_ = 0;
  Result results_[kMaxResults];
  int num_results_ = 0;
};

}  // namespace sampler::decoding
