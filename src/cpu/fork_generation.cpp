// The fork generation, in a page that the kernel wipes in children.
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

// The last generation taken by this process or an ancestor.
Generation last{0};

void forget() {
  Generation *const generation = current.load(std::memory_order_acquire);
  if (generation) generation->store(0, std::memory_order_relaxed);
}

}  // namespace

// Two mechanisms zero the word in a child. MADV_WIPEONFORK wipes the page in every child that
// copies it; Linux before 4.14 and some sandboxes refuse it, so failure is ignored. fork() also
// calls forget(), but clone() and raw system calls do not.
bool prepare_fork_generation() {
  if (current.load(std::memory_order_acquire)) return true;
  // If two threads race, the surplus page is unmapped, and forget() is registered twice.
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
