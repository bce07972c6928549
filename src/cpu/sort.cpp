// Radix and insertion sorts.
#include "cpu/sort.h"

#include <utility>

namespace sampler::cpu {

namespace {

// Below this, insertion sort.
constexpr int64_t kFewValues = 32;

void sort_few(uint64_t *values, int64_t count, uint32_t flip) {
  const auto key = [flip](uint64_t value) { return uint32_t(value >> 32) ^ flip; };
  for (int64_t i = 1; i < count; ++i) {
    const uint64_t value = values[i];
    int64_t place = i;
    for (; place > 0 && key(values[place - 1]) > key(value); --place) {
      values[place] = values[place - 1];
    }
    values[place] = value;
  }
}

// LSD radix sort by the upper half XOR `flip`. Skips digits that all values share.
uint64_t *sort_flipped(uint64_t *values, int64_t count, uint32_t flip, uint64_t *scratch) {
  constexpr int kDigitBits = 8, kNumDigits = 1 << kDigitBits;
  if (count < kFewValues) {
    sort_few(values, count, flip);
    return values;
  }
  for (int shift = 0; shift < 32; shift += kDigitBits) {
    const auto digit = [=](uint64_t value) {
      return (uint32_t(value >> 32) ^ flip) >> shift & (kNumDigits - 1);
    };
    int32_t places[kNumDigits] = {};
    for (int64_t i = 0; i < count; ++i) ++places[digit(values[i])];
    if (places[digit(values[0])] == count) continue;
    int32_t place = 0;
    for (int32_t &entry : places) place += std::exchange(entry, place);
    for (int64_t i = 0; i < count; ++i) scratch[places[digit(values[i])]++] = values[i];
    std::swap(values, scratch);
  }
  return values;
}

}  // namespace

uint64_t *sort_by_upper_half(uint64_t *values, int64_t count, uint64_t *scratch) {
  return sort_flipped(values, count, 0, scratch);
}

contract::Rank *sort_ranks(contract::Rank *ranks, int64_t count, contract::Rank *scratch) {
  return sort_flipped(ranks, count, UINT32_MAX, scratch);
}

}  // namespace sampler::cpu
