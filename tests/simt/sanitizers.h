// What the sanitizers must know of fibers, and of memory that is not to be touched. Without a
// sanitizer every function here is empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define SIMT_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SIMT_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define SIMT_TSAN 1
#endif

#if defined(SIMT_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(SIMT_TSAN)
#include <sanitizer/tsan_interface.h>
extern "C" {
void __tsan_ignore_thread_begin();
void __tsan_ignore_thread_end();
}
#define SIMT_UNWATCHED_FUNCTION __attribute__((no_sanitize("thread"), noinline))
#else
#define SIMT_UNWATCHED_FUNCTION
#endif

namespace simt::sanitizers {

#if defined(SIMT_ASAN) || defined(SIMT_TSAN)
constexpr bool kAreOn = true;
#else
constexpr bool kAreOn = false;
#endif

// A fiber as the sanitizers know it: its stack, AddressSanitizer's second stack (where it looks for
// use after return) and ThreadSanitizer's handle.
struct FiberRecord {
  const void *stack_bottom = nullptr;
  std::size_t stack_bytes = 0;
  void *fake_stack = nullptr;
  void *handle = nullptr;
};

inline void create_fiber([[maybe_unused]] FiberRecord *fiber) {
#if defined(SIMT_TSAN)
  fiber->handle = __tsan_create_fiber(0);
#endif
}

inline void adopt_running_fiber([[maybe_unused]] FiberRecord *fiber) {
#if defined(SIMT_TSAN)
  fiber->handle = __tsan_get_current_fiber();
#endif
}

inline void before_switch([[maybe_unused]] FiberRecord *from,
                          [[maybe_unused]] const FiberRecord &to) {
#if defined(SIMT_ASAN)
  __sanitizer_start_switch_fiber(&from->fake_stack, to.stack_bottom, to.stack_bytes);
#endif
#if defined(SIMT_TSAN)
  // A switch orders nothing: only barriers do, or races would go unseen.
  __tsan_switch_to_fiber(to.handle, __tsan_switch_to_fiber_no_sync);
#endif
}

// `from` learns the bounds of its stack, which for the stack of a thread are not known before.
inline void after_switch([[maybe_unused]] FiberRecord *from, [[maybe_unused]] FiberRecord *to) {
#if defined(SIMT_ASAN)
  __sanitizer_finish_switch_fiber(to->fake_stack, &from->stack_bottom, &from->stack_bytes);
#endif
}

// After before_switch(from, to) and a visit to the stack of `to` that did not call after_switch.
inline void after_visit([[maybe_unused]] FiberRecord *from) {
#if defined(SIMT_ASAN)
  // The first call takes the stack for that of `to`, and says what it was.
  __sanitizer_finish_switch_fiber(from->fake_stack, &from->stack_bottom, &from->stack_bytes);
  __sanitizer_start_switch_fiber(&from->fake_stack, from->stack_bottom, from->stack_bytes);
  __sanitizer_finish_switch_fiber(from->fake_stack, nullptr, nullptr);
#endif
#if defined(SIMT_TSAN)
  __tsan_switch_to_fiber(from->handle, __tsan_switch_to_fiber_no_sync);
#endif
}

// What happened before release(token) on one fiber happens before what follows acquire(token) on
// another.
inline void release([[maybe_unused]] void *token) {
#if defined(SIMT_TSAN)
  __tsan_release(token);
#endif
}

inline void acquire([[maybe_unused]] void *token) {
#if defined(SIMT_TSAN)
  __tsan_acquire(token);
#endif
}

// ThreadSanitizer does not look at what the running fiber does in between.
inline void stop_watching() {
#if defined(SIMT_TSAN)
  __tsan_ignore_thread_begin();
#endif
}

inline void start_watching() {
#if defined(SIMT_TSAN)
  __tsan_ignore_thread_end();
#endif
}

// For the scheduler, whose state is shared by all fibers.
class Unwatched {
 public:
  Unwatched() { stop_watching(); }
  ~Unwatched() { start_watching(); }
  Unwatched(const Unwatched &) = delete;
  Unwatched &operator=(const Unwatched &) = delete;
};

// A copy of words of memory that threads share. To ThreadSanitizer each is an atomic load, or
// store, that orders nothing: it races with plain accesses alone.
template <class Word>
void load_shared_words(void *to, const void *from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes / sizeof(Word); ++i) {
    const Word word = __atomic_load_n(static_cast<const Word *>(from) + i, __ATOMIC_RELAXED);
    std::memcpy(static_cast<char *>(to) + i * sizeof word, &word, sizeof word);
  }
}
template <class Word>
void store_shared_words(void *to, const void *from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes / sizeof(Word); ++i) {
    Word word;
    std::memcpy(&word, static_cast<const char *>(from) + i * sizeof word, sizeof word);
    __atomic_store_n(static_cast<Word *>(to) + i, word, __ATOMIC_RELAXED);
  }
}

inline void load_shared(void *to, const void *from, std::size_t bytes) {
#if defined(SIMT_TSAN)
  if (bytes % sizeof(std::uint32_t) == 0) return load_shared_words<std::uint32_t>(to, from, bytes);
  if (bytes % sizeof(std::uint16_t) == 0) return load_shared_words<std::uint16_t>(to, from, bytes);
  load_shared_words<std::uint8_t>(to, from, bytes);
#else
  std::memcpy(to, from, bytes);
#endif
}

inline void store_shared(void *to, const void *from, std::size_t bytes) {
#if defined(SIMT_TSAN)
  if (bytes % sizeof(std::uint32_t) == 0) return store_shared_words<std::uint32_t>(to, from, bytes);
  if (bytes % sizeof(std::uint16_t) == 0) return store_shared_words<std::uint16_t>(to, from, bytes);
  store_shared_words<std::uint8_t>(to, from, bytes);
#else
  std::memcpy(to, from, bytes);
#endif
}

inline void forbid_access([[maybe_unused]] const void *memory, [[maybe_unused]] std::size_t bytes) {
#if defined(SIMT_ASAN)
  __asan_poison_memory_region(memory, bytes);
#endif
}

inline void allow_access([[maybe_unused]] const void *memory, [[maybe_unused]] std::size_t bytes) {
#if defined(SIMT_ASAN)
  __asan_unpoison_memory_region(memory, bytes);
#endif
}

}  // namespace simt::sanitizers
