// Row passes that count what they are asked to do.
#pragma once

#include <cstdint>

#include "cpu/simd/passes.h"

namespace complexity_test {

// What the passes have cost since the last reset, in elements of a plain maximum: an element costs
// what it was measured to cost with AVX-512, over a row in the cache.
struct Work {
  double cost = 0;
  int64_t num_rounds = 0;  // of selections
  int64_t num_read = 0;    // elements that passes have looked at
  int64_t num_weighed = 0;

  void reset() { *this = {}; }
};

extern Work work;

// What one read of each element for its weight costs, and for its Gumbel score.
constexpr double kWeighCost = 6, kGumbelCost = 70;

// The passes of the machine's best instruction set, counted. The result stays valid until the next
// call.
const sampler::cpu::Passes *counting_passes();

}  // namespace complexity_test
