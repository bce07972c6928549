// Memory for what must not fail when there is none.
#pragma once

#include <stdlib.h>

#include <atomic>
#include <cstddef>

namespace sampler::abi {

// `count` items that are there from the start, for as many users at once; further ones take memory
// from malloc. A constant-initialised global: usable before any constructor has run.
template <class Item, std::size_t count>
class StaticPool {
 public:
  // At least `bytes`. Null: there is no memory.
  void *take(std::size_t bytes) {
    for (std::size_t i = 0; i < count && bytes <= sizeof(Item); ++i) {
      if (!is_taken_[i].exchange(true, std::memory_order_acquire)) return &items_[i];
    }
    return malloc(bytes);
  }

  void give_back(void *memory) {
    const std::size_t offset =
        std::size_t(static_cast<char *>(memory) - reinterpret_cast<char *>(items_));
    if (offset < sizeof items_) {
      is_taken_[offset / sizeof(Item)].store(false, std::memory_order_release);
    } else {
      free(memory);
    }
  }

 private:
  Item items_[count];
  std::atomic<bool> is_taken_[count];
};

}  // namespace sampler::abi
