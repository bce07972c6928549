// Memory of a handle's device, as the loops see it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "decoding/loops/memory.h"

namespace sampler::decoding {

// Copies memory of a CUDA handle's device to host memory after all work on the stream has finished.
void download(const ExecutionTarget &place, void *to, const void *from, size_t bytes);

// Bytes on the handle's device; host memory for a CPU handle. Failures throw.
class DeviceBytes {
 public:
  DeviceBytes(const ExecutionTarget &place, size_t bytes);
  ~DeviceBytes();
  DeviceBytes(const DeviceBytes &) = delete;
  DeviceBytes &operator=(const DeviceBytes &) = delete;

  unsigned char *data() const { return data_; }
  size_t size() const { return size_; }

  // In stream order. `source` may be reused on return.
  void upload(const void *source, size_t bytes);
  void move(size_t to, size_t from, size_t bytes);  // regions that do not overlap

  // Copies the first `bytes` bytes to host memory after all work on the stream has finished.
  void download(void *to, size_t bytes);

 private:
  void copy(void *to, const void *from, size_t bytes);

  ExecutionTarget place_;
  HostBlock host_;  // of a CPU handle
  unsigned char *data_;
  size_t size_;
};

// An array that an operation writes and the loop reads.
template <class T>
class Output {
 public:
  Output(const ExecutionTarget &place, int64_t capacity)
      : on_cuda_(place.handle->on_cuda),
        bytes_(place, bytes_of(capacity, sizeof(T))),
        host_(place, on_cuda_ ? bytes_.size() : 0) {}
  T *data() const { return reinterpret_cast<T *>(bytes_.data()); }
  // The first `count` elements, valid until the next call.
  const T *on_host(size_t count) {
    if (!on_cuda_) return data();
    bytes_.download(host_.data(), count * sizeof(T));
    return static_cast<const T *>(host_.data());
  }

 private:
  bool on_cuda_;
  DeviceBytes bytes_;
  HostBlock host_;  // of a CUDA handle
};

// An array of the caller's on the handle's device, as the host reads it: a copy, once all work on
// the stream has finished, or on a CPU handle the array itself.
template <class T>
class HostView {
 public:
  HostView(const ExecutionTarget &place, const void *data, int64_t count)
      : copy_(place, place.handle->on_cuda ? bytes_of(count, sizeof(T)) : 0),
        data_(place.handle->on_cuda ? copy_.data() : data) {
    if (place.handle->on_cuda && count > 0)
      download(place, copy_.data(), data, bytes_of(count, sizeof(T)));
  }

  const T *data() const { return static_cast<const T *>(data_); }

 private:
  HostBlock copy_;
  const void *data_;
};

// An array that the loop fills and an operation reads.
template <class T>
class Input {
 public:
  // `is_parameter`: a handle with host_parameters takes the array in host memory.
  Input(const ExecutionTarget &place, int64_t capacity, bool is_parameter = false)
      : stays_on_host_(is_parameter && place.handle->on_cuda &&
                       place.handle->device.host_parameters),
        bytes_(place, stays_on_host_ ? 0 : bytes_of(capacity, sizeof(T))),
        values_(place, capacity) {}

  Array<T> &values() { return values_; }

  // The array for a call; valid until values() changes.
  const T *upload() {
    if (stays_on_host_) return values_.data();
    bytes_.upload(values_.data(), values_.size() * sizeof(T));
    return reinterpret_cast<const T *>(bytes_.data());
  }

 private:
  bool stays_on_host_;
  DeviceBytes bytes_;
  Array<T> values_;
};

}  // namespace sampler::decoding
