// Random words, for one stream or id per lane.
#pragma once

#include "contract/philox.h"
#include "cpu/simd/passes/elements.h"

namespace sampler::cpu::SAMPLER_ISA {
namespace {

// A block of four words in each lane.
struct Words {
  Ints word[4];
};

// contract::philox4x32_10.
SAMPLER_INLINE Words philox(Words counter, Ints key0, Ints key1) {
  const Ints factor0 = splat(int32_t(contract::kPhiloxFactor0));
  const Ints factor1 = splat(int32_t(contract::kPhiloxFactor1));
  for (int round = 0; round < contract::kPhiloxRounds; ++round) {
    Ints high0, low0, high1, low1;
    multiply(counter.word[0], factor0, &high0, &low0);
    multiply(counter.word[2], factor1, &high1, &low1);
    counter = {{bit_xor(bit_xor(high1, counter.word[1]), key0), low1,
                bit_xor(bit_xor(high0, counter.word[3]), key1), low0}};
    key0 = add(key0, splat(int32_t(contract::kPhiloxKeyStep0)));
    key1 = add(key1, splat(int32_t(contract::kPhiloxKeyStep1)));
  }
  return counter;
}

void sample_words(const contract::RandomStream *streams, int64_t count, uint64_t *out) {
  static_assert(uint32_t(contract::Purpose::kSample) == 0, "the counter's last word is 0");
  // Large enough that vector loads do not stall on recent scalar stores.
  constexpr int64_t kAtOnce = 4 * kWidth;
  for (int64_t begin = 0; begin < count; begin += kAtOnce) {
    const int64_t end = smaller(count - begin, kAtOnce);
    int32_t low[kAtOnce], high[kAtOnce], stream[kAtOnce], key_low[kAtOnce], key_high[kAtOnce];
    for (int64_t i = 0; i < end; ++i) {
      const contract::RandomStream &random = streams[begin + i];
      low[i] = int32_t(uint32_t(random.offset));
      high[i] = int32_t(uint32_t(random.offset >> 32));
      stream[i] = int32_t(random.stream);
      key_low[i] = int32_t(uint32_t(random.seed));
      key_high[i] = int32_t(uint32_t(random.seed >> 32));
    }
    for (int64_t i = end; i % kWidth != 0; ++i) {
      low[i] = high[i] = stream[i] = key_low[i] = key_high[i] = 0;
    }
    for (int64_t i = 0; i < end; i += kWidth) {
      const Words counter = {{load(low + i), load(high + i), load(stream + i), splat(int32_t(0))}};
      const Words block = philox(counter, load(key_low + i), load(key_high + i));
      store(low + i, block.word[0]);
      store(high + i, block.word[1]);
    }
    for (int64_t i = 0; i < end; ++i) {
      out[begin + i] = uint32_t(low[i]) | uint64_t(uint32_t(high[i])) << 32;
    }
  }
}

}  // namespace
}  // namespace sampler::cpu::SAMPLER_ISA
