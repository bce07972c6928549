// The suites of tests/simt/runtime that compare a device with the CPU, on a real one.
//
// Their arrays lie wherever C++ puts them. So all that is allocated comes from memory that the
// device reaches, tests run on a stack in it, and the program's own data is registered.
#include <gtest/gtest.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>

#include "cuda.h"

namespace {

// A heap of blocks of powers of two, which go back to their size's list.
class Heap {
 public:
  // From then on memory comes from here.
  void begin(char *memory, std::size_t bytes) {
    next_ = begin_ = memory;
    end_ = memory + bytes;
  }

  void *take(std::size_t bytes) {
    if (!begin_) return std::malloc(bytes ? bytes : 1);
    int size = kLeast;
    while ((std::size_t(1) << size) < bytes) ++size;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (void *const block = free_[size]) {
      std::memcpy(&free_[size], block, sizeof block);
      return block;
    }
    const std::size_t taken = kHeader + (std::size_t(1) << size);
    if (taken > std::size_t(end_ - next_)) return nullptr;
    char *const block = next_ + kHeader;
    std::memcpy(next_, &size, sizeof size);
    next_ += taken;
    return block;
  }

  void give(void *block) {
    const char *const address = static_cast<char *>(block);
    if (!begin_ || address < begin_ || address >= end_) return std::free(block);
    int size;
    std::memcpy(&size, address - kHeader, sizeof size);
    const std::lock_guard<std::mutex> lock(mutex_);
    std::memcpy(block, &free_[size], sizeof block);
    free_[size] = block;
  }

 private:
  static constexpr int kLeast = 8;  // log2 of bytes: so that all is aligned to 256
  static constexpr std::size_t kHeader = 256;

  std::mutex mutex_;
  char *begin_ = nullptr, *next_ = nullptr, *end_ = nullptr;
  void *free_[64] = {};
};

Heap heap;

constexpr std::size_t kHeapBytes = std::size_t(6) << 30, kStackBytes = std::size_t(64) << 20;

void register_range(std::uintptr_t begin, std::uintptr_t end, bool writes) {
  if (!gpu_suites::reach(reinterpret_cast<void *>(begin), end - begin, writes)) {
    std::printf("the device does not reach the program's %s data\n", writes ? "own" : "constant");
  }
}

// Registers the data of the program itself, which comes first and has no name. The loader makes the
// beginning of what can be written read-only (RELRO).
int register_data(dl_phdr_info *info, std::size_t, void *) {
  constexpr std::uintptr_t kPage = 4096;
  const auto down = [](std::uintptr_t address) { return address / kPage * kPage; };
  std::uintptr_t end_of_relro = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto &part = info->dlpi_phdr[i];
    if (part.p_type == PT_GNU_RELRO) {
      end_of_relro = down(info->dlpi_addr + part.p_vaddr + part.p_memsz);
    }
  }
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto &part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) != 0) continue;
    std::uintptr_t begin = down(info->dlpi_addr + part.p_vaddr);
    const std::uintptr_t end = down(info->dlpi_addr + part.p_vaddr + part.p_memsz + kPage - 1);
    const bool writes = (part.p_flags & PF_W) != 0;
    if (writes && begin < end_of_relro && end_of_relro < end) {
      register_range(begin, end_of_relro, false);
      begin = end_of_relro;
    }
    register_range(begin, end, writes);
  }
  return 1;  // no other object
}

int result;

void *run_all(void *) {
  result = RUN_ALL_TESTS();
  return nullptr;
}

}  // namespace

void *operator new(std::size_t bytes) {
  void *const block = heap.take(bytes);
  if (!block) throw std::bad_alloc();
  return block;
}
void *operator new[](std::size_t bytes) {
  return operator new(bytes);
}
void *operator new(std::size_t bytes, const std::nothrow_t &) noexcept {
  return heap.take(bytes);
}
void *operator new[](std::size_t bytes, const std::nothrow_t &) noexcept {
  return heap.take(bytes);
}
void operator delete(void *block) noexcept {
  heap.give(block);
}
void operator delete[](void *block) noexcept {
  heap.give(block);
}
void operator delete(void *block, std::size_t) noexcept {
  heap.give(block);
}
void operator delete[](void *block, std::size_t) noexcept {
  heap.give(block);
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  std::string &filter = testing::GTEST_FLAG(filter);
  if (filter == "*") filter = "-Rates.*:*/no_clusters";  // they record; of other devices
  const int capability = gpu_suites::capability();
  if (capability == 0) {
    std::printf("skipped: no device\n");
    return 77;
  }
  std::printf("compute capability %d.%d\n", capability / 10, capability % 10);
  if (capability < 90) {
    std::printf("skipped: the suites expect clusters of thread blocks\n");
    return 77;
  }
  if (gpu_suites::reaches_all_memory()) return RUN_ALL_TESTS();
  char *const memory = static_cast<char *>(gpu_suites::allocate_reached(kHeapBytes + kStackBytes));
  if (!memory) {
    std::printf("skipped: no memory of the host that the device reaches\n");
    return 77;
  }
  dl_iterate_phdr(&register_data, nullptr);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, memory, kStackBytes);
  heap.begin(memory + kStackBytes, kHeapBytes);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, &run_all, nullptr) != 0) return 3;
  pthread_join(thread, nullptr);
  std::fflush(stdout);
  _exit(result);  // the heap's blocks end with the process
}
