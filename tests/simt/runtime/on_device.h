// Arrays in the memory of the first device.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime.h"

namespace simt_test {

template <class T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T> &values)
      : memory_(simt::runtime::allocate(0, values.size() * sizeof(T))), count_(values.size()) {
    simt::runtime::copy_to_device(memory_, values.data(), count_ * sizeof(T));
  }
  ~OnDevice() { simt::runtime::release(memory_); }
  OnDevice(const OnDevice &) = delete;
  OnDevice &operator=(const OnDevice &) = delete;

  T *data() const { return static_cast<T *>(memory_); }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    simt::runtime::copy_to_host(values.data(), memory_, count_ * sizeof(T));
    return values;
  }

 private:
  void *memory_;
  std::size_t count_;
};

}  // namespace simt_test
