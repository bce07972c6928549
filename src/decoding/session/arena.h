// The memory of a session: a host block and, on a CUDA handle, a device block.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sampler::decoding {

// Divides a block into arrays. With null memory it only counts the bytes.
class Arena {
 public:
  explicit Arena(void *memory) : memory_(static_cast<char *>(memory)) {}

  // An array of count * per_item elements, aligned to 64 bytes; null if the memory is.
  template <class T>
  T *take(int64_t count, int64_t per_item = 1) {
    const size_t begin = bytes_;
    size_t size;
    if (__builtin_mul_overflow(size_t(count), size_t(per_item), &size) ||
        __builtin_mul_overflow(size, sizeof(T), &size) || size > size_t(PTRDIFF_MAX) - 64 - begin) {
      is_too_large_ = true;
      return nullptr;
    }
    bytes_ = begin + padded(size);
    return memory_ ? reinterpret_cast<T *>(memory_ + begin) : nullptr;
  }

  // Bytes that an array of `bytes` bytes takes.
  static size_t padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

  size_t bytes() const { return bytes_; }
  bool is_too_large() const { return is_too_large_; }

 private:
  char *memory_;
  size_t bytes_ = 0;
  bool is_too_large_ = false;
};

}  // namespace sampler::decoding
