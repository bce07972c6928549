// Rank order: descending value, then ascending id, as one unsigned integer.
#pragma once

#include <cstdint>

#include "contract/float_bits.h"
#include "contract/host_device.h"
#include "contract/weight.h"

namespace sampler::contract {

// Unsigned integer in the order of the values; -0 equals +0. Not for NaN.
SAMPLER_HD inline uint32_t value_key(float x) {
  const uint32_t bits = bits_of(x + 0.0f);  // -0 becomes +0
  return (bits & kSignBit) ? ~bits : bits | kSignBit;
}

SAMPLER_HD inline float value_of_key(uint32_t key) {
  return float_of((key & kSignBit) ? key & ~kSignBit : ~key);
}

// The next larger value.
SAMPLER_HD inline float next_value(float x) {
  return value_of_key(value_key(x) + 1);
}

// The next smaller value: of 0 the largest negative one.
SAMPLER_HD inline float previous_value(float x) {
  const uint32_t key = value_key(x);
  const float value = value_of_key(key - 1);  // -0 where x is 0
  return value_key(value) == key ? value_of_key(key - 2) : value;
}

// A larger rank comes first. Ranks are unique within a row.
using Rank = uint64_t;

SAMPLER_HD inline Rank rank_of(float x, uint32_t id) {
  return uint64_t(value_key(x)) << 32 | uint32_t(~id);
}

SAMPLER_HD inline float value_of_rank(Rank rank) {
  return value_of_key(uint32_t(rank >> 32));
}
SAMPLER_HD inline uint32_t id_of_rank(Rank rank) {
  return ~uint32_t(rank);
}

// The key that all ranks of one value share, and the lowest of these ranks.
SAMPLER_HD inline uint32_t key_of_rank(Rank rank) {
  return uint32_t(rank >> 32);
}
SAMPLER_HD inline Rank rank_of_key(uint32_t key) {
  return Rank(key) << 32;
}

// A kept set is a prefix of rank order: the tokens whose rank is at least its cut.
//
// The lowest cut: keeps all tokens above -inf, or above probability 0.
SAMPLER_HD inline Rank lowest_cut(sampler_input_kind kind) {
  const float nothing = kind == SAMPLER_LOGITS ? negative_infinity() : 0.0f;
  return uint64_t(value_key(nothing) + 1) << 32;
}

// The cut that keeps every token equal in value to the one at `rank`.
SAMPLER_HD inline Rank cut_with_ties(Rank rank) {
  return rank >> 32 << 32;
}

}  // namespace sampler::contract
