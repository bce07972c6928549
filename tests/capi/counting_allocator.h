// Memory hooks for tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>

namespace capi_test {

// Memory hooks that keep account. Blocks are aligned as asked and no better, and full of garbage.
class CountingAllocator {
 public:
  // Call number `failing_call`, from 0, gets NULL; -1: none.
  explicit CountingAllocator(int failing_call = -1) : failing_call_(failing_call) {}
  ~CountingAllocator() { EXPECT_TRUE(blocks_.empty()) << "leaked"; }

  template <class Options>
  void install(Options *options) {
    options->allocator.user = this;
    options->allocator.allocate = [](void *user, std::size_t bytes, std::size_t alignment) {
      return static_cast<CountingAllocator *>(user)->allocate(bytes, alignment);
    };
    options->allocator.deallocate = [](void *user, void *memory, std::size_t bytes,
                                       std::size_t alignment) {
      static_cast<CountingAllocator *>(user)->deallocate(memory, bytes, alignment);
    };
  }

  int num_calls() const { return num_calls_; }
  std::size_t num_blocks() const { return blocks_.size(); }
  std::size_t last_bytes() const { return last_bytes_; }
  std::size_t bytes_held() const { return bytes_held_; }
  std::size_t peak_bytes() const { return peak_bytes_; }

 private:
  struct Block {
    void *whole;
    std::size_t bytes, alignment;
  };

  void *allocate(std::size_t bytes, std::size_t alignment) {
    EXPECT_GT(bytes, 0u);
    EXPECT_TRUE(alignment > 0 && (alignment & (alignment - 1)) == 0) << alignment;
    last_bytes_ = bytes;
    if (num_calls_++ == failing_call_) return nullptr;
    unsigned char *const whole = static_cast<unsigned char *>(std::malloc(bytes + 3 * alignment));
    const std::uintptr_t twice = 2 * alignment;
    const std::uintptr_t start =
        (reinterpret_cast<std::uintptr_t>(whole) + twice - 1) / twice * twice + alignment;
    unsigned char *const memory = whole + (start - reinterpret_cast<std::uintptr_t>(whole));
    std::memset(whole, 0xCD, bytes + 3 * alignment);
    blocks_[memory] = {whole, bytes, alignment};
    bytes_held_ += bytes;
    peak_bytes_ = std::max(peak_bytes_, bytes_held_);
    return memory;
  }

  void deallocate(void *memory, std::size_t bytes, std::size_t alignment) {
    const auto block = blocks_.find(memory);
    ASSERT_NE(block, blocks_.end()) << "never allocated, or released twice";
    EXPECT_EQ(bytes, block->second.bytes);
    EXPECT_EQ(alignment, block->second.alignment);
    std::free(block->second.whole);
    bytes_held_ -= bytes;
    blocks_.erase(block);
  }

  int failing_call_;
  int num_calls_ = 0;
  std::size_t last_bytes_ = 0, bytes_held_ = 0, peak_bytes_ = 0;
  std::map<void *, Block> blocks_;
};

}  // namespace capi_test
