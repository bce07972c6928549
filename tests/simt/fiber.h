// A stack that can be left in the middle of a function and returned to.
#pragma once

#include <boost/context/fiber.hpp>

#include "sanitizers.h"

namespace simt {

// Fibers live as long as the process: their stacks are not given back.
class Fiber {
 public:
  // The stack of the thread that calls.
  Fiber();

  // A stack of its own, on which body(argument) starts at the first switch. It must not return.
  // `number` counts the fibers of the process; it spreads their stacks over the cache.
  Fiber(int number, void (*body)(void *), void *argument);

  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;

  // Leaves *this, which must be the one that runs, for `next`; returns when somebody switches back.
  void switch_to(Fiber &next);

 private:
  boost::context::fiber suspended_;
  sanitizers::FiberRecord record_;
};

}  // namespace simt
