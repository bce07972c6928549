#include "malloc_hooks.h"

#include <cerrno>
#include <cstdlib>

namespace capi_test {

std::atomic<int> num_allocations{0}, num_releases{0};
std::atomic<bool (*)(void *caller)> may_allocate{nullptr};

namespace {

bool allows(void *caller) {
  ++num_allocations;
  bool (*const rule)(void *) = may_allocate;
  return !rule || rule(caller);
}

}  // namespace
}  // namespace capi_test

using capi_test::allows;

extern "C" {

void *__libc_malloc(std::size_t);
void *__libc_calloc(std::size_t, std::size_t);
void *__libc_realloc(void *, std::size_t);
void *__libc_memalign(std::size_t, std::size_t);
void __libc_free(void *);

void *malloc(std::size_t bytes) noexcept {
  return allows(__builtin_return_address(0)) ? __libc_malloc(bytes) : nullptr;
}
void *calloc(std::size_t count, std::size_t bytes) noexcept {
  return allows(__builtin_return_address(0)) ? __libc_calloc(count, bytes) : nullptr;
}
void *realloc(void *memory, std::size_t bytes) noexcept {
  return allows(__builtin_return_address(0)) ? __libc_realloc(memory, bytes) : nullptr;
}
void *memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return allows(__builtin_return_address(0)) ? __libc_memalign(alignment, bytes) : nullptr;
}
void *aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return allows(__builtin_return_address(0)) ? __libc_memalign(alignment, bytes) : nullptr;
}
int posix_memalign(void **memory, std::size_t alignment, std::size_t bytes) noexcept {
  if (!allows(__builtin_return_address(0))) return ENOMEM;
  *memory = __libc_memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}
void free(void *memory) noexcept {
  if (memory) ++capi_test::num_releases;
  __libc_free(memory);
}

}  // extern "C"
