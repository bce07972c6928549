// The tokens of a row that remain after temperature and filters, and their probabilities.
#pragma once

#include <cstdint>

#include "contract/distribution.h"
#include "contract/filters.h"
#include "cpu/row.h"

namespace sampler::cpu {

// Distribution over a window of rank order, which may begin after the row's first token.
struct Distribution : contract::Distribution {
  contract::Rank first = ~contract::Rank(0);  // highest rank kept

  bool keeps(contract::Rank rank) const {
    return rank <= first && contract::Distribution::keeps(rank);
  }
  float probability(float x, contract::Rank rank) const {
    return rank <= first ? contract::Distribution::probability(x, rank) : 0.0f;
  }
};

// The row and the parameters are valid. Uses the buffers to sort.
Distribution make_distribution(const Row &row, const contract::RowParameters &parameters,
                               const contract::FilterRules &rules, const RowBuffers &buffers);

// Keeps the tokens of rank `first` to `last`.
Distribution make_distribution(const Row &row, contract::Rank first, contract::Rank last,
                               float temperature);

// The weight of the whole row at temperature 1.
uint64_t total_weight(const Row &row);

}  // namespace sampler::cpu
