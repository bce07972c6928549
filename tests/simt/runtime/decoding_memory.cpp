// Where the models of tests/decoding write their logits when the handle is on a device. What the
// tests expect is computed in host memory, which the device has adopted.
#include <cuda_runtime_api.h>

#include <stdexcept>

#include "memory.h"

namespace decoding_test {
namespace {

void copy(void *to, const void *from, std::size_t bytes) {
  if (cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, nullptr) != cudaSuccess) {
    throw std::runtime_error("a model could not copy its logits");
  }
}

}  // namespace

void copy_to_logits(void *logits, const void *from, std::size_t bytes) {
  copy(logits, from, bytes);
}

void copy_from_logits(void *to, const void *logits, std::size_t bytes) {
  copy(to, logits, bytes);
}

}  // namespace decoding_test
