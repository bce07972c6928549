// The draw from a random word, and the acceptance test of drafts.
#pragma once

#include <cstdint>

#include "contract/float_bits.h"
#include "contract/host_device.h"

namespace sampler::contract {

// floor(word * total / 2^64), in [0, total). The drawn token is the first, by ascending id, whose
// running sum of kept weights exceeds it.
SAMPLER_HD inline uint64_t draw_target(uint64_t word, uint64_t total) {
  return multiply_128(word, total).high;
}

// Accepts a draft with probability `draft` in the draft model and `target` in the target model.
// Exact: the product of a 29-bit and a 24-bit number fits f64.
SAMPLER_HD inline bool accepts_draft(uint32_t word, float target, float draft) {
  const double uniform = double(word >> 3) * 0x1p-29;
  return uniform * double(draft) < double(target);
}

// Unnormalised probability after a rejection.
SAMPLER_HD inline float residual_probability(float target, float draft) {
  return larger_of(target - draft, 0.0f);
}

}  // namespace sampler::contract
