// A random launch of device code with stages on fibers, beside the reference.
#pragma once

#include <cstdint>

#include "simt.h"

namespace simt_test {

// Whether sampling and filtering of a random problem give the reference's bits.
bool equal_with_stages(std::uint64_t seed, const simt::Options &options);

// The same of tokens that are forced among candidates, whose index is looked into before any pass.
bool equal_from_forced_candidates(std::uint64_t seed, const simt::Options &options);

}  // namespace simt_test
