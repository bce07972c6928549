#include "fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace simt {
namespace {

constexpr std::size_t kStackBytes = std::size_t{sanitizers::kAreOn ? 128 : 64} << 10;
constexpr std::size_t kStacksPerMapping = 64;

// Stacks whose tops all begin a page would meet in a few sets of the first-level cache.
constexpr std::size_t kColors = 16;
constexpr std::size_t kColorBytes = 256;

// The record of the fiber that was left last, for the one that goes on.
sanitizers::FiberRecord *g_left_record = nullptr;

// Maps many stacks at once and hands out one. An overflow runs into the page below a stack, which
// ends the process.
char *map_stack() {
  static const std::size_t guard_bytes = std::size_t(sysconf(_SC_PAGESIZE));
  static char *next = nullptr;
  static std::size_t num_left = 0;
  if (num_left == 0) {
    void *mapping =
        mmap(nullptr, kStacksPerMapping * (guard_bytes + kStackBytes), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    next = static_cast<char *>(mapping);
    num_left = kStacksPerMapping;
  }
  if (mprotect(next, guard_bytes, PROT_NONE) != 0) {
    throw std::system_error(errno, std::generic_category(), "mprotect");
  }
  char *stack = next + guard_bytes;
  next = stack + kStackBytes;
  --num_left;
  return stack;
}

// Allocates one stack, which Boost.Context asks for once and never gives back.
struct StackAllocator {
  char *bottom;
  std::size_t num_bytes;

  boost::context::stack_context allocate() const {
    boost::context::stack_context stack;
    stack.size = num_bytes;
    stack.sp = bottom + num_bytes;
    return stack;
  }

  void deallocate(boost::context::stack_context &) const {}
};

}  // namespace

Fiber::Fiber() {
  sanitizers::adopt_running_fiber(&record_);
}

Fiber::Fiber(int number, void (*body)(void *), void *argument) {
  const StackAllocator allocator{map_stack(),
                                 kStackBytes - std::size_t(number) % kColors * kColorBytes};
  record_.stack_bottom = allocator.bottom;
  record_.stack_bytes = allocator.num_bytes;
  sanitizers::create_fiber(&record_);
  sanitizers::FiberRecord creator;
  sanitizers::adopt_running_fiber(&creator);
  sanitizers::before_switch(&creator, record_);
  sanitizers::stop_watching();
  // Goes to the new stack and back.
  suspended_ = boost::context::fiber(
      std::allocator_arg, StackAllocator(allocator),
      [this, body, argument](boost::context::fiber &&) -> boost::context::fiber {
        sanitizers::after_switch(g_left_record, &record_);
        sanitizers::start_watching();
        body(argument);
        std::abort();
      });
  sanitizers::after_visit(&creator);
}

void Fiber::switch_to(Fiber &next) {
  g_left_record = &record_;
  sanitizers::before_switch(&record_, next.record_);
  std::move(next.suspended_).resume_with([this](boost::context::fiber &&self) {
    suspended_ = std::move(self);
    return boost::context::fiber();
  });
  sanitizers::after_switch(g_left_record, &record_);
}

}  // namespace simt
