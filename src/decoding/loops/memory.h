// Memory of a loop: allocated by the handle's hooks before the first callback, freed at the end.
// Nothing grows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "abi/handle_impl.h"
#include "decoding/loops/failure.h"

namespace sampler::decoding {

// Where a loop's operations run.
struct ExecutionTarget {
  abi::Entry *entry;
  sampler_handle *handle;
  sampler_stream stream;
};

// The product of nonnegative counts; INT64_MAX on overflow.
int64_t product(std::initializer_list<int64_t> counts);

// count * size; SIZE_MAX on overflow.
size_t bytes_of(int64_t count, size_t size);

// A block of the handle's allocator, aligned to 64 bytes; none for 0 bytes. Throws a Failure when
// out of memory.
class HostBlock {
 public:
  HostBlock(const ExecutionTarget &place, size_t bytes);
  ~HostBlock() { abi::release(*place_.entry, place_.handle->allocator, &block_); }
  HostBlock(const HostBlock &) = delete;
  HostBlock &operator=(const HostBlock &) = delete;

  void *data() const { return block_.data; }
  [[noreturn]] void fail_as_full() const;

 private:
  ExecutionTarget place_;
  abi::Block block_;
};

// A vector of fixed capacity, initially empty.
template <class T>
class Array {
 public:
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

  Array(const ExecutionTarget &place, int64_t capacity)
      : block_(place, bytes_of(capacity, sizeof(T))), capacity_(size_t(capacity)) {}

  T *data() const { return static_cast<T *>(block_.data()); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T &operator[](size_t i) const { return data()[i]; }
  T &back() const { return data()[size_ - 1]; }
  T *begin() const { return data(); }
  T *end() const { return data() + size_; }

  void clear() { size_ = 0; }
  // Keeps the first `size` elements, at most all.
  void truncate(size_t size) { size_ = size; }
  void push_back(const T &value) { fill(1, value); }
  // Adds `count` copies of a value.
  void fill(size_t count, const T &value) { std::fill_n(add(count), count, value); }
  void append(const T *values, size_t count) { std::copy_n(values, count, add(count)); }

 private:
  T *add(size_t count) {
    if (count > capacity_ - size_) block_.fail_as_full();
    size_ += count;
    return data() + size_ - count;
  }

  HostBlock block_;
  size_t capacity_;
  size_t size_ = 0;
};

}  // namespace sampler::decoding
