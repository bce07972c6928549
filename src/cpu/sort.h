// Linear-time sorting, for any values.
#pragma once

#include <cstdint>

#include "contract/rank.h"

namespace sampler::cpu {

// Stable sort by ascending upper 32 bits. `scratch` has room for `count`. Returns whichever array
// holds the sorted values.
uint64_t *sort_by_upper_half(uint64_t *values, int64_t count, uint64_t *scratch);

// Sorts ranks in rank order. Ranks of equal values must already be in ascending id order.
contract::Rank *sort_ranks(contract::Rank *ranks, int64_t count, contract::Rank *scratch);

}  // namespace sampler::cpu
