// Draws from a row.
#pragma once

#include <cstdint>

#include "contract/philox.h"
#include "cpu/distribution.h"
#include "cpu/row.h"

namespace sampler::cpu {

// Running sums of the kept weights, by ascending id, from which any number of tokens is drawn.
class InverseCdf {
 public:
  InverseCdf() = default;

  // `sums` has room for row.count and is kept.
  InverseCdf(const Row &row, const Distribution &distribution, uint64_t *sums);

  // Index in the row of the token that this word draws.
  int64_t draw(uint64_t word) const;

 private:
  const uint64_t *sums_ = nullptr;
  int64_t count_ = 0;
};

// Index of the kept token with the largest score, the lowest id among equals.
int64_t draw_gumbel(const Row &row, const Distribution &distribution,
                    const contract::RandomStream &random);

}  // namespace sampler::cpu
