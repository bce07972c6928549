// Where the models of tests/decoding write their logits when the handle is on a device. What the
// tests expect is computed in host memory, which the device has adopted.
#include <cuda_runtime_api.h>

#include <stdexcept>

#include "memory.h"
#include "runtime.h"

namespace decoding_test {
namespace {

void copy(void *to, const void *from, std::size_t bytes) {
  if (cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, nullptr) != cudaSuccess) {
    throw std::runtime_error("a model could not copy its logits");
  }
}

}  // namespace

// On the first device.
void *make_logits(const void *from, std::size_t bytes) {
  void *const logits = simt::runtime::allocate(0, bytes + 1);  // not nothing
  if (bytes > 0) simt::runtime::copy_to_device(logits, from, bytes);
  return logits;
}

void release_logits(void *logits) {
  simt::runtime::release(logits);
}

void copy_to_logits(void *logits, const void *from, std::size_t bytes) {
  copy(logits, from, bytes);
}

void copy_from_logits(void *to, const void *logits, std::size_t bytes) {
  copy(to, logits, bytes);
}

}  // namespace decoding_test
