// Memory that the operations of a handle work on, as the loops see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "capi/handle_impl.h"

namespace sampler::decoding {

// Where a loop's operations run.
struct Place {
  capi::Entry *entry;
  sampler_handle *handle;
  sampler_stream stream;
};

// Bytes on the handle's device: of a CPU handle plain memory. What fails throws.
class DeviceBytes {
 public:
  explicit DeviceBytes(const Place &place) : place_(place) {}
  DeviceBytes(const Place &place, size_t bytes) : place_(place) { reserve(bytes); }
  ~DeviceBytes() { release(); }
  DeviceBytes(const DeviceBytes &) = delete;
  DeviceBytes &operator=(const DeviceBytes &) = delete;

  unsigned char *data() const { return data_; }
  size_t size() const { return size_; }

  // At least so many; what they held is lost where that was fewer.
  void reserve(size_t bytes);

  // In the order of the stream. `source` may be reused at once.
  void upload(const void *source, size_t bytes);
  void move(size_t to, size_t from, size_t bytes);  // regions that do not overlap

  // The first `bytes` bytes from `from` on, once all work on the stream has finished.
  const unsigned char *on_host(size_t from, size_t bytes);

 private:
  void copy(void *to, const void *from, size_t bytes);
  void release();

  Place place_;
  unsigned char *data_ = nullptr;
  size_t size_ = 0;
  std::vector<unsigned char> host_;  // of a CUDA handle
};

// An array that an operation writes and the loop reads.
template <class T>
class Output {
 public:
  Output(const Place &place, size_t capacity) : bytes_(place, capacity * sizeof(T)) {}
  T *data() const { return reinterpret_cast<T *>(bytes_.data()); }
  const T *on_host(size_t count) {
    return reinterpret_cast<const T *>(bytes_.on_host(0, count * sizeof(T)));
  }

 private:
  DeviceBytes bytes_;
};

// An array that the loop fills and an operation reads.
template <class T>
class Input {
 public:
  // A parameter is one that a handle with host_parameters takes on the host.
  Input(const Place &place, size_t capacity, bool is_parameter = false)
      : stays_on_host_(is_parameter && place.handle->on_cuda &&
                       place.handle->device.host_parameters),
        bytes_(place, stays_on_host_ ? 0 : capacity * sizeof(T)) {
    values_.reserve(capacity);
  }

  std::vector<T> &values() { return values_; }

  // The array for a call; valid until values() changes.
  const T *upload() {
    if (stays_on_host_) return values_.data();
    bytes_.upload(values_.data(), values_.size() * sizeof(T));
    return reinterpret_cast<const T *>(bytes_.data());
  }

 private:
  bool stays_on_host_;
  DeviceBytes bytes_;
  std::vector<T> values_;
};

// count * size, or the failure of an allocation that no machine can make.
size_t bytes_of(std::initializer_list<int64_t> counts, size_t size);

}  // namespace sampler::decoding
