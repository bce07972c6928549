// malloc and its like, replaced in a program that this is linked into: they count, and refuse where
// a test says so. Sanitizers replace them too, so such programs are not built with them.
#pragma once

#include <atomic>

namespace capi_test {

// Calls that ask for memory, and those that give some back.
extern std::atomic<int> num_allocations, num_releases;

// Asked at each call that asks for memory, by whoever called: whether it is to get some. Null: all
// do.
extern std::atomic<bool (*)(void *caller)> may_allocate;

}  // namespace capi_test
