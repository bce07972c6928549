// Rank order: by value descending, then by id ascending, as one unsigned integer.
#pragma once

#include <cstdint>

#include "contract/float_bits.h"
#include "contract/host_device.h"
#include "contract/weight.h"

namespace sampler::contract {

// Unsigned integers that order as the values do; -0 equals +0. Not for NaN.
SAMPLER_HD inline uint32_t value_key(float x) {
  const uint32_t bits = bits_of(x + 0.0f);  // turns -0 into +0
  return (bits & kSignBit) ? ~bits : bits | kSignBit;
}

SAMPLER_HD inline float value_of_key(uint32_t key) {
  return float_of((key & kSignBit) ? key & ~kSignBit : ~key);
}

// The next larger value.
SAMPLER_HD inline float next_value(float x) {
  return value_of_key(value_key(x) + 1);
}

// A larger rank comes first. No two tokens of a row have the same.
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

// The ranks of one value: their key, and the lowest of them.
SAMPLER_HD inline uint32_t key_of_rank(Rank rank) {
  return uint32_t(rank >> 32);
}
SAMPLER_HD inline Rank rank_of_key(uint32_t key) {
  return Rank(key) << 32;
}

// A kept set is a prefix of rank order: the tokens whose rank is at least its cut.
//
// The lowest cut there is: all tokens that may be drawn at all, those above -inf or 0.
SAMPLER_HD inline Rank lowest_cut(sampler_input_kind kind) {
  const float nothing = kind == SAMPLER_LOGITS ? negative_infinity() : 0.0f;
  return uint64_t(value_key(nothing) + 1) << 32;
}

// The cut that keeps every token equal in value to the one at `rank`.
SAMPLER_HD inline Rank cut_with_ties(Rank rank) {
  return rank >> 32 << 32;
}

}  // namespace sampler::contract
