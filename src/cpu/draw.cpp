// Draws of the scalar reference: inverse CDF and Gumbel.
#include "cpu/draw.h"

#include <algorithm>

#include "contract/draw.h"
#include "contract/log2.h"

namespace sampler::cpu {

void sample_words(const contract::RandomStream *streams, int64_t count, uint64_t *words) {
  for (int64_t i = 0; i < count; ++i) {
    words[i] = contract::random_word64(streams[i], contract::Purpose::kSample, 0);
  }
}

InverseCdf::InverseCdf(const uint64_t *sums, int64_t count)
    : sums_(sums), count_(count), window_(count) {}

InverseCdf::InverseCdf(const Row &row, const Distribution &distribution, uint64_t *sums)
    : InverseCdf(sums, row.count) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < row.count; ++i) {
    if (distribution.keeps(row.rank(i))) {
      sum += contract::weight(distribution.scale, row.values[i]);
    }
    sums[i] = sum;
  }
}

void InverseCdf::make_guide(int64_t num_draws, int32_t *guide) {
  if (count_ < 4) return;
  guide_bits_ = 1;
  while (int64_t(2) << guide_bits_ <= std::min(count_ - 1, num_draws)) ++guide_bits_;
  const uint64_t total = sums_[count_ - 1];
  const uint64_t num_entries = uint64_t(1) << guide_bits_;
  constexpr int32_t kStep = 4;
  int32_t index = 0;
  for (uint64_t entry = 0; entry < num_entries; ++entry) {
    const uint64_t target = contract::draw_target(entry << (64 - guide_bits_), total);
    while (index + kStep < count_ && sums_[index + kStep - 1] <= target) index += kStep;
    while (sums_[index] <= target) ++index;
    guide[entry] = index;
  }
  guide[num_entries] = int32_t(count_ - 1);
  guide_ = guide;
  window_ = std::min(count_, kShortWindow);
}

// Finds the first sum that exceeds the target; the last one does. Searches in a short window all
// take the same steps, without data-dependent branches.
void InverseCdf::draw(const uint64_t *words, int64_t count, int64_t *indices) const {
  const uint64_t *const sums = sums_;
  const int32_t *const guide = guide_;
  const uint64_t total = sums[count_ - 1];
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t target = contract::draw_target(words[i], total);
    int64_t begin = 0, window = window_;
    if (guide) {
      const int32_t *const entry = guide + (words[i] >> (64 - guide_bits_));
      const int64_t range = entry[1] - entry[0] + 1;
      begin = entry[0];
      if (range > window) {
        window = range;
      } else {
        begin = std::min(begin, count_ - window);
      }
    }
    while (window > 1) {
      const int64_t half = window / 2;
      begin += sums[begin + half - 1] <= target ? half : 0;
      window -= half;
    }
    indices[i] = begin;
  }
}

int64_t draw_gumbel(const Row &row, const Distribution &distribution,
                    const contract::GumbelStream &random) {
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
      block = contract::gumbel_block(random, block_index);
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
