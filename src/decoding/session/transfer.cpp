#include "decoding/session/transfer.h"

#include "abi/cuda_errors.h"

namespace sampler::decoding {

Transfer::Transfer(const sampler_handle *handle, sampler_stream stream, size_t most_in,
                   size_t most_out, Arena *host, Arena *device)
    : handle_(handle),
      stream_(stream),
      are_parameters_on_host_(!handle->on_cuda || handle->device.host_parameters) {
  if (!on_device()) return;
  host_in_ = host->take<char>(int64_t(most_in));
  host_out_ = host->take<char>(int64_t(most_out));
  device_in_ = device->take<char>(int64_t(most_in));
  device_out_ = device->take<char>(int64_t(most_out));
}

void Transfer::begin() {
  in_bytes_ = uploaded_bytes_ = out_bytes_ = 0;
  num_results_ = 0;
}

const void *Transfer::add(const void *values, size_t bytes) {
  if (!on_device()) return values;
  const size_t begin = in_bytes_;
  in_bytes_ += Arena::padded(bytes);
  std::memcpy(host_in_ + begin, values, bytes);
  return device_in_ + begin;
}

void *Transfer::add_result(void *values, size_t bytes) {
  if (!on_device()) return values;
  const size_t begin = out_bytes_;
  out_bytes_ += Arena::padded(bytes);
  results_[num_results_++] = {values, host_out_ + begin, bytes};
  return device_out_ + begin;
}

sampler_status Transfer::copy(abi::Entry &entry, void *to, const void *from, size_t bytes) const {
  if (on_device()) {
    return abi::cuda_status(entry, cuda::copy(handle_->device, to, from, bytes, stream_));
  }
  std::memcpy(to, from, bytes);
  return SAMPLER_OK;
}

sampler_status Transfer::upload(abi::Entry &entry) {
  const size_t begin = uploaded_bytes_, bytes = in_bytes_ - begin;
  if (bytes == 0) return SAMPLER_OK;
  uploaded_bytes_ = in_bytes_;
  return copy(entry, device_in_ + begin, host_in_ + begin, bytes);
}

sampler_status Transfer::download(abi::Entry &entry) {
  if (out_bytes_ == 0) return SAMPLER_OK;
  const sampler_status status = copy(entry, host_out_, device_out_, out_bytes_);
  if (status != SAMPLER_OK) return status;
  const cuda::Error error = cuda::synchronize(handle_->device, stream_);
  if (error) return abi::cuda_status(entry, error);
  for (int i = 0; i < num_results_; ++i) {
    std::memcpy(results_[i].values, results_[i].copy, results_[i].bytes);
  }
  return SAMPLER_OK;
}

}  // namespace sampler::decoding
