// A Transfer with memory of its own, for the loops, whose failures throw; and numbers by text.
#pragma once

#include <cstddef>
#include <cstdint>

#include "decoding/device_memory.h"
#include "decoding/transfer.h"
#include "sampler/sampling.h"

namespace sampler::decoding {

class LoopTransfer {
 public:
  // With room for so many bytes at once, as an Arena counts them.
  LoopTransfer(const ExecutionTarget &place, size_t most_in, size_t most_out)
      : place_(place),
        host_(place, place.handle->on_cuda ? most_in + most_out : 0),
        device_(place, place.handle->on_cuda ? most_in + most_out : 0) {
    Arena host(host_.data()), device(device_.data());
    transfer_ = Transfer(place.handle, place.stream, most_in, most_out, &host, &device);
  }

  void begin() { transfer_.begin(); }
  template <class T>
  const T *in(const T *values, int64_t count) {
    return transfer_.in(values, count);
  }
  template <class T>
  const T *parameter(const T *values, int64_t count) {
    return transfer_.parameter(values, count);
  }
  template <class T>
  T *out(T *values, int64_t count) {
    return transfer_.out(values, count);
  }
  // The arrays of numbers by text, which are the host's.
  sampler_row_params parameters(const sampler_row_params &by_text, int64_t num_texts);
  static size_t most_parameter_bytes(int64_t num_texts);

  void upload() { require(transfer_.upload(*place_.entry)); }
  void download() { require(transfer_.download(*place_.entry)); }

 private:
  ExecutionTarget place_;
  HostBlock host_;
  DeviceBytes device_;
  Transfer transfer_;
};

}  // namespace sampler::decoding
