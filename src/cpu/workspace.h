// Lays out typed arrays in one block of memory; without a block it only counts their bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sampler::cpu {

class Arena {
 public:
  // `block` null: only counts. Otherwise it has at least bytes() bytes, at any alignment.
  explicit Arena(void *block)
      : base_(block ? reinterpret_cast<char *>(round_up(reinterpret_cast<uintptr_t>(block)))
                    : nullptr) {}

  template <class T>
  T *take(int64_t count) {
    T *array = base_ ? reinterpret_cast<T *>(base_ + used_) : nullptr;
    used_ += round_up(size_t(count) * sizeof(T));
    return array;
  }

  // Bytes taken; bytes that a block of any alignment needs for them.
  size_t size() const { return used_; }
  static size_t bytes(size_t size) { return size ? size + kAlignment - 1 : 0; }
  size_t bytes() const { return bytes(used_); }

 private:
  static constexpr size_t kAlignment = 64;
  static size_t round_up(size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  char *base_;
  size_t used_ = 0;
};

}  // namespace sampler::cpu
