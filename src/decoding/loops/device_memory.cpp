#include "decoding/loops/device_memory.h"

#include <cstring>

#include "abi/cuda_errors.h"
#include "cuda/backend.h"

namespace sampler::decoding {

namespace {

void require(const ExecutionTarget &place, const cuda::Error &error) {
  decoding::require(abi::cuda_status(*place.entry, error));
}

}  // namespace

DeviceBytes::DeviceBytes(const ExecutionTarget &place, size_t bytes)
    : place_(place),
      host_(place, place.handle->on_cuda ? 0 : bytes),
      data_(static_cast<unsigned char *>(host_.data())),
      size_(bytes) {
  if (!place.handle->on_cuda || bytes == 0) return;
  void *data;
  require(place_, cuda::allocate(place_.handle->device, bytes, &data));
  data_ = static_cast<unsigned char *>(data);
}

DeviceBytes::~DeviceBytes() {
  if (place_.handle->on_cuda && data_) cuda::release(place_.handle->device, data_);
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

void DeviceBytes::download(void *to, size_t bytes) {
  decoding::download(place_, to, data_, bytes);
}

void download(const ExecutionTarget &place, void *to, const void *from, size_t bytes) {
  if (bytes > 0) {
    require(place, cuda::copy(place.handle->device, to, from, bytes, place.stream));
  }
  require(place, cuda::synchronize(place.handle->device, place.stream));
}

}  // namespace sampler::decoding
