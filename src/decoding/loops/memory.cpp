#include "decoding/loops/memory.h"

namespace sampler::decoding {

int64_t product(std::initializer_list<int64_t> counts) {
  int64_t result = 1;
  for (const int64_t count : counts) {
    if (__builtin_mul_overflow(result, count, &result)) return INT64_MAX;
  }
  return result;
}

size_t bytes_of(int64_t count, size_t size) {
  size_t bytes;
  return __builtin_mul_overflow(size_t(count), size, &bytes) ? SIZE_MAX : bytes;
}

HostBlock::HostBlock(const ExecutionTarget &place, size_t bytes) : place_(place) {
  if (bytes == 0) return;
  if (bytes > SIZE_MAX / 2) {
    throw Failure{abi::fail(*place.entry, SAMPLER_ERROR_OUT_OF_MEMORY,
                            "the texts and their logits do not fit the address space")};
  }
  block_ = {abi::call_allocate(*place.entry, place.handle->allocator, bytes), bytes};
  if (block_.data) return;
  throw Failure{abi::fail(*place.entry, SAMPLER_ERROR_OUT_OF_MEMORY,
                          "the allocator returned NULL for %zu bytes of the loop's", bytes)};
}

void HostBlock::fail_as_full() const {
  throw Failure{abi::fail(*place_.entry, SAMPLER_ERROR_INTERNAL,
                          "the loop needs more than the %zu bytes that it reserved", block_.bytes)};
}

}  // namespace sampler::decoding
