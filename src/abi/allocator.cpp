#include "abi/allocator.h"

#include <stdlib.h>
#include <unwind.h>

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define SAMPLER_MSAN
#include <sanitizer/msan_interface.h>
#endif
#endif

namespace sampler::abi {

namespace {

constexpr size_t kAlignment = 64;

void *default_allocate(void *, size_t bytes, size_t alignment) {
  void *memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes) != 0) return nullptr;
#ifdef SAMPLER_MSAN
  __msan_poison(memory, bytes);  // whatever MemorySanitizer makes of the program's other blocks
#endif
  return memory;
}

void default_deallocate(void *, void *memory, size_t, size_t) {
  free(memory);
}

}  // namespace

void check_hooks(Check &check, const sampler_allocator &hooks) {
  if (!hooks.allocate != !hooks.deallocate) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "allocator.%s is NULL; both hooks or neither must be set",
               hooks.allocate ? "deallocate" : "allocate");
  }
}

Allocator make_allocator(const sampler_allocator &hooks) {
  return hooks.allocate ? hooks : Allocator{&default_allocate, &default_deallocate, nullptr};
}

void *call_allocate(Entry &entry, const Allocator &allocator, size_t bytes) noexcept {
  try {
    return entry.call_host([&] { return allocator.allocate(allocator.user, bytes, kAlignment); });
  } catch (...) {
    return nullptr;
  }
}

void call_deallocate(Entry &entry, const Allocator &allocator, void *memory,
                     size_t bytes) noexcept {
  try {
    entry.call_host([&] { allocator.deallocate(allocator.user, memory, bytes, kAlignment); });
  } catch (...) {
  }
}

bool allocate(Check &check, const Allocator &allocator, const char *what, size_t bytes,
              Block *out) {
  if (bytes == 0) return true;
  out->data = call_allocate(check.entry(), allocator, bytes);
  if (!out->data) {
    check.fail(SAMPLER_ERROR_OUT_OF_MEMORY, "the allocator returned NULL for the %s, %zu bytes",
               what, bytes);
    return false;
  }
  out->bytes = bytes;
  return true;
}

void release(Entry &entry, const Allocator &allocator, Block *block) {
  if (block->data) call_deallocate(entry, allocator, block->data, block->bytes);
  *block = {};
}

// libgcc is linked in, and its unwinder sets its tables up when it first unwinds. What a callback
// throws is unwound by the host's libgcc, which asks ours about our frames and finds it unprepared:
// the process would end there instead of reaching the catch.
void prepare_unwinder() {
  _Unwind_Backtrace([](_Unwind_Context *, void *) { return _URC_NORMAL_STOP; }, nullptr);
}

}  // namespace sampler::abi
