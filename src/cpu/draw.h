// Draws tokens from a row.
#pragma once

#include <cstdint>

#include "contract/philox.h"
#include "cpu/distribution.h"
#include "cpu/row.h"

namespace sampler::cpu {

// The random words for one draw per stream.
void sample_words(const contract::RandomStream *streams, int64_t count, uint64_t *words);

// Whether the draws are worth the shared running sums: at least one draw per 512 elements.
inline bool are_many_draws(int64_t num_draws, int64_t num_elements) {
  return num_draws > 1 && num_draws * 512 >= num_elements;
}

// Inverse CDF: running sums of the kept weights, by ascending id, shared by any number of draws.
class InverseCdf {
 public:
  InverseCdf() = default;

  // Refers to `sums`, which has `count` elements.
  InverseCdf(const uint64_t *sums, int64_t count);
  // `sums` has room for row.count.
  InverseCdf(const Row &row, const Distribution &distribution, uint64_t *sums);

  // Guide table for many draws: bounds of the search by the word's upper bits (Chen and Asau, "On
  // generating random variates from an empirical distribution", 1974). `guide` has room for `count`
  // and must outlive the draws.
  void make_guide(int64_t num_draws, int32_t *guide);

  // Draws one element per word; writes their indices.
  void draw(const uint64_t *words, int64_t count, int64_t *indices) const;

 private:
  static constexpr int64_t kShortWindow = 8;

  const uint64_t *sums_ = nullptr;
  int64_t count_ = 0;
  const int32_t *guide_ = nullptr;
  int guide_bits_ = 0;
  int64_t window_ = 0;  // elements at the start of a search; the guide may ask for more
};

// Index of the kept token with the largest Gumbel score; the lowest id among equals.
int64_t draw_gumbel(const Row &row, const Distribution &distribution,
                    const contract::GumbelStream &random);

}  // namespace sampler::cpu
