#include <cstring>

#include "memory.h"

namespace decoding_test {

void copy_to_logits(void *logits, const void *from, std::size_t bytes) {
  std::memcpy(logits, from, bytes);
}

void copy_from_logits(void *to, const void *logits, std::size_t bytes) {
  std::memcpy(to, logits, bytes);
}

}  // namespace decoding_test
