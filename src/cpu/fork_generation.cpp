#include "cpu/fork_generation.h"

#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <new>

namespace sampler::cpu {

namespace {

using Generation = std::atomic<uint32_t>;

// This process's generation, in a page of its own: 0 in a new child until the child asks.
std::atomic<Generation *> current{nullptr};

// The last generation that this process or an ancestor took.
Generation last{0};

void forget() {
  Generation *const generation = current.load(std::memory_order_acquire);
  if (generation) generation->store(0, std::memory_order_relaxed);
}

}  // namespace

// Two things make the word 0 in a child. The kernel wipes the page in every child that has a copy
// of it; Linux before 4.14 and some sandboxes refuse to, which is why the refusal is ignored.
// fork() calls forget(), which clone() and the system calls do not.
bool prepare_fork_generation() {
  if (current.load(std::memory_order_acquire)) return true;
  // From two threads at once, one page too many is made and given back, and forget() is called
  // twice.
  void *const page =
      mmap(nullptr, sizeof(Generation), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  madvise(page, sizeof(Generation), MADV_WIPEONFORK);
  Generation *expected = nullptr;
  if (pthread_atfork(nullptr, nullptr, &forget) == 0 &&
      current.compare_exchange_strong(expected, new (page) Generation(0))) {
    return true;
  }
  munmap(page, sizeof(Generation));
  return expected != nullptr;
}

uint32_t fork_generation() {
  Generation &generation = *current.load(std::memory_order_acquire);
  uint32_t value = generation.load(std::memory_order_relaxed);
  if (value != 0) return value;
  const uint32_t next = last.fetch_add(1) + 1;
  return generation.compare_exchange_strong(value, next) ? next : value;
}

}  // namespace sampler::cpu
