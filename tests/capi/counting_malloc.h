// Calls of malloc and its like by the whole program, which allocation_test.cpp counts.
#pragma once

#include <atomic>

namespace capi_test {

extern std::atomic<int> num_allocations;

}  // namespace capi_test
