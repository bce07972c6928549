// Draws from a row.
#pragma once

#include <cstdint>

#include "contract/philox.h"
#include "cpu/distribution.h"
#include "cpu/row.h"

namespace sampler::cpu {

// The words that outputs of these streams draw with.
void sample_words(const contract::RandomStream *streams, int64_t count, uint64_t *words);

// Whether so many draws from so many elements are worth making what they share: one for each 512
// elements at least.
inline bool are_many_draws(int64_t num_draws, int64_t num_elements) {
  return num_draws > 1 && num_draws * 512 >= num_elements;
}

// Running sums of the kept weights, by ascending id, from which any number of tokens is drawn.
class InverseCdf {
 public:
  InverseCdf() = default;

  // `sums`, of `count` elements, is kept.
  InverseCdf(const uint64_t *sums, int64_t count);
  // `sums` has room for row.count.
  InverseCdf(const Row &row, const Distribution &distribution, uint64_t *sums);

  // For many draws: where the search for a word begins and ends, by the word's upper bits (Chen and
  // Asau, "On generating random variates from an empirical distribution", 1974). `guide` has room
  // for `count` and is kept.
  void make_guide(int64_t num_draws, int32_t *guide);

  // Indices of the elements that these words draw.
  void draw(const uint64_t *words, int64_t count, int64_t *indices) const;

 private:
  static constexpr int64_t kShortWindow = 8;

  const uint64_t *sums_ = nullptr;
  int64_t count_ = 0;
  const int32_t *guide_ = nullptr;
  int guide_bits_ = 0;
  int64_t window_ = 0;  // a search begins with so many elements, or with more by the guide
};

// Index of the kept token with the largest score, the lowest id among equals.
int64_t draw_gumbel(const Row &row, const Distribution &distribution,
                    const contract::RandomStream &random);

}  // namespace sampler::cpu
