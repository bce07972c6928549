#include "cpu/draw.h"

#include <algorithm>

#include "contract/draw.h"
#include "contract/log2.h"

namespace sampler::cpu {

InverseCdf::InverseCdf(const Row &row, const Distribution &distribution, uint64_t *sums)
    : sums_(sums), count_(row.count) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < row.count; ++i) {
    if (distribution.keeps(row.rank(i))) {
      sum += contract::weight(distribution.scale, row.values[i]);
    }
    sums[i] = sum;
  }
}

int64_t InverseCdf::draw(uint64_t word) const {
  const uint64_t target = contract::draw_target(word, sums_[count_ - 1]);
  return std::upper_bound(sums_, sums_ + count_, target) - sums_;
}

int64_t draw_gumbel(const Row &row, const Distribution &distribution,
                    const contract::RandomStream &random) {
  int64_t best = -1;
  float best_score = 0.0f;
  // Four ids share a block of random words.
  contract::Philox4 block = {};
  uint32_t block_index = UINT32_MAX;
  for (int64_t i = 0; i < row.count; ++i) {
    if (!distribution.keeps(row.rank(i))) continue;
    const uint32_t id = row.id(i);
    if (block_index != id >> 2) {
      block_index = id >> 2;
      block = contract::random_block(random, contract::Purpose::kGumbel, block_index);
    }
    const float score = contract::gumbel_score(row.kind, row.values[i], distribution.scale.scale,
                                               block.word[id & 3]);
    if (best < 0 || score > best_score) {
      best = i;
      best_score = score;
    }
  }
  return best;
}

}  // namespace sampler::cpu
