// In place of libstdc++'s own, where it is linked in: the memory of exceptions and each thread's
// list of those it has caught, as the Itanium C++ ABI names them. libstdc++'s allocates 72 KiB when
// the library is loaded, takes each exception from malloc, and keeps the list in thread_local
// memory; see thread_state.h.
#include <cxxabi.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "abi/static_pool.h"
#include "abi/thread_state.h"

namespace {

// Room for the C++ runtime in front of an exception. It writes 128 bytes of it.
constexpr std::size_t kHeaderBytes = 256;

// The library's own exceptions have 16 bytes at most.
struct alignas(std::max_align_t) Block {
  char bytes[kHeaderBytes + 64];
};

// A thread in the library has one or two.
sampler::abi::StaticPool<Block, 64> blocks;

}  // namespace

namespace __cxxabiv1 {

extern "C" {

__cxa_eh_globals *__cxa_get_globals() noexcept {
  sampler::abi::ThreadState *const state = sampler::abi::make_thread_state();
  if (!state) std::terminate();
  return reinterpret_cast<__cxa_eh_globals *>(&state->exceptions);
}

__cxa_eh_globals *__cxa_get_globals_fast() noexcept {
  return __cxa_get_globals();
}

void *__cxa_allocate_exception(std::size_t bytes) noexcept {
  void *const block =
      bytes <= SIZE_MAX - kHeaderBytes ? blocks.take(kHeaderBytes + bytes) : nullptr;
  if (!block) std::terminate();
  std::memset(block, 0, kHeaderBytes);
  return static_cast<char *>(block) + kHeaderBytes;
}

void __cxa_free_exception(void *exception) noexcept {
  blocks.give_back(static_cast<char *>(exception) - kHeaderBytes);
}

}  // extern "C"

// What std::terminate() calls. libstdc++'s own prints the exception, for which it brings a
// demangler of 35 KB.
std::terminate_handler __terminate_handler = std::abort;

}  // namespace __cxxabiv1
