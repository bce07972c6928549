#include "decoding/device_memory.h"

#include <cstring>
#include <new>

#include "cuda/backend.h"
#include "decoding/failure.h"

namespace sampler::decoding {

namespace {

constexpr std::align_val_t kAlignment{64};

void require(const Place &place, const cuda::Error &error) {
  if (!error) return;
  throw Failure{capi::fail(
      *place.entry, error.is_out_of_memory ? SAMPLER_ERROR_OUT_OF_MEMORY : SAMPLER_ERROR_CUDA,
      "%s: %s", error.call, error.reason)};
}

}  // namespace

void DeviceBytes::reserve(size_t bytes) {
  if (bytes <= size_) return;
  release();
  if (place_.handle->on_cuda) {
    void *data;
    require(place_, cuda::allocate(place_.handle->device, bytes, &data));
    data_ = static_cast<unsigned char *>(data);
  } else {
    data_ = static_cast<unsigned char *>(operator new(bytes, kAlignment));
  }
  size_ = bytes;
}

void DeviceBytes::release() {
  if (!data_) return;
  if (place_.handle->on_cuda) {
    cuda::release(place_.handle->device, data_);
  } else {
    operator delete(data_, kAlignment);
  }
  data_ = nullptr;
  size_ = 0;
}

void DeviceBytes::copy(void *to, const void *from, size_t bytes) {
  if (bytes == 0) return;
  if (place_.handle->on_cuda) {
    require(place_, cuda::copy(place_.handle->device, to, from, bytes, place_.stream));
  } else {
    std::memcpy(to, from, bytes);
  }
}

void DeviceBytes::upload(const void *source, size_t bytes) {
  copy(data_, source, bytes);
}

void DeviceBytes::move(size_t to, size_t from, size_t bytes) {
  copy(data_ + to, data_ + from, bytes);
}

const unsigned char *DeviceBytes::on_host(size_t from, size_t bytes) {
  if (!place_.handle->on_cuda) return data_ + from;
  host_.resize(bytes);
  copy(host_.data(), data_ + from, bytes);
  require(place_, cuda::synchronize(place_.handle->device, place_.stream));
  return host_.data();
}

size_t bytes_of(std::initializer_list<int64_t> counts, size_t size) {
  for (const int64_t count : counts) {
    if (__builtin_mul_overflow(size, size_t(count), &size)) throw std::bad_alloc();
  }
  if (size > SIZE_MAX / 2) throw std::bad_alloc();
  return size;
}

}  // namespace sampler::decoding
