// Sorting in linear time, whatever the values and their order are.
#pragma once

#include <cstdint>

#include "contract/rank.h"

namespace sampler::cpu {

// Sorts by ascending upper 32 bits, stably. `scratch` has room for `count`. The result is
// whichever of the two arrays holds the sorted values.
uint64_t *sort_by_upper_half(uint64_t *values, int64_t count, uint64_t *scratch);

// Sorts ranks in rank order. Those of equal values must stand by ascending id.
contract::Rank *sort_ranks(contract::Rank *ranks, int64_t count, contract::Rank *scratch);

}  // namespace sampler::cpu
