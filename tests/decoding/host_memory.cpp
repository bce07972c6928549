#include <cstring>
#include <new>

#include "memory.h"

namespace decoding_test {

void *make_logits(const void *from, std::size_t bytes) {
  void *const logits = ::operator new(bytes);
  if (bytes > 0) std::memcpy(logits, from, bytes);
  return logits;
}

void release_logits(void *logits) {
  ::operator delete(logits);
}

void copy_to_logits(void *logits, const void *from, std::size_t bytes) {
  std::memcpy(logits, from, bytes);
}

void copy_from_logits(void *to, const void *logits, std::size_t bytes) {
  std::memcpy(to, logits, bytes);
}

}  // namespace decoding_test
