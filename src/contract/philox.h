// Random words: the counter-based generator Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel
// random numbers: as easy as 1, 2, 3", 2011).
#pragma once

#include <cstdint>

#include "contract/float_bits.h"
#include "contract/host_device.h"

namespace sampler::contract {

struct Philox4 {
  uint32_t word[4];
};

constexpr int kPhiloxRounds = 10;
constexpr uint32_t kPhiloxFactor0 = 0xD2511F53u, kPhiloxFactor1 = 0xCD9E8D57u;
constexpr uint32_t kPhiloxKeyStep0 = 0x9E3779B9u, kPhiloxKeyStep1 = 0xBB67AE85u;
constexpr int kPurposeShift = 24;

SAMPLER_HD inline Philox4 philox4x32_10(Philox4 counter, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const Product64 product0 = multiply_64(kPhiloxFactor0, counter.word[0]);
    const Product64 product1 = multiply_64(kPhiloxFactor1, counter.word[2]);
    counter = {{product1.high ^ counter.word[1] ^ key0, product1.low,
                product0.high ^ counter.word[3] ^ key1, product0.low}};
    key0 += kPhiloxKeyStep0;
    key1 += kPhiloxKeyStep1;
  }
  return counter;
}

// Part of the counter: no two uses share random words. A watermark's counters have none.
enum class Purpose : uint32_t {
  kSample = 0,
  kAccept = 1,
  kResidual = 2,
  kBonus = 3,
  kDraft = 4,
  kGumbel = 5,
  kXtc = 6,
  kUnmask = 7,
};

// Source of an output row's random words.
struct RandomStream {
  uint64_t seed;
  uint64_t offset;
  uint32_t stream;
};

// The same for Gumbel draws, whose words may be those of 8.4.
struct GumbelStream : RandomStream {
  bool is_watermark = false;
};

// `index` in [0, 2^24).
SAMPLER_HD inline Philox4 random_block(const RandomStream &random, Purpose purpose,
                                       uint32_t index) {
  const Philox4 counter = {{uint32_t(random.offset), uint32_t(random.offset >> 32), random.stream,
                            uint32_t(purpose) << kPurposeShift | index}};
  return philox4x32_10(counter, uint32_t(random.seed), uint32_t(random.seed >> 32));
}

// The words of four ids from 4 * `quad` on, for a Gumbel draw.
SAMPLER_HD inline Philox4 gumbel_block(const RandomStream &random, uint32_t quad) {
  return random_block(random, Purpose::kGumbel, quad);
}
SAMPLER_HD inline Philox4 gumbel_block(const GumbelStream &random, uint32_t quad) {
  if (!random.is_watermark) return random_block(random, Purpose::kGumbel, quad);
  const Philox4 counter = {
      {quad, uint32_t(random.offset), uint32_t(random.offset >> 32), random.stream}};
  Philox4 block = philox4x32_10(counter, uint32_t(random.seed), uint32_t(random.seed >> 32));
  for (uint32_t &word : block.word) word = ~word;  // here a small one is a large noise
  return block;
}

SAMPLER_HD inline uint64_t random_word64(const RandomStream &random, Purpose purpose,
                                         uint32_t index) {
  const Philox4 block = random_block(random, purpose, index);
  return block.word[0] | uint64_t(block.word[1]) << 32;
}

SAMPLER_HD inline uint32_t random_word32(const RandomStream &random, Purpose purpose,
                                         uint32_t index) {
  return random_block(random, purpose, index).word[0];
}

}  // namespace sampler::contract
