// What a row's temperature and filters make of it: the kept tokens and their probabilities.
#pragma once

#include <cstdint>

#include "contract/filters.h"
#include "contract/rank.h"
#include "contract/weight.h"
#include "cpu/row.h"

namespace sampler::cpu {

struct Distribution {
  contract::RowScale scale;
  contract::Rank cut;  // kept tokens have at least this rank
  int64_t kept_count;
  uint64_t kept_weight;  // their weights' sum
  float normalizer;
  bool greedy;

  bool keeps(contract::Rank rank) const { return rank >= cut; }

  // Probability of the token of value x and this rank; the kept ones sum to 1 but for rounding.
  float probability(float x, contract::Rank rank) const;
};

// Status bits of the parameters themselves: NaNs, temperatures that probabilities cannot have.
uint32_t check_parameters(contract::InputKind kind, const contract::RowParameters &parameters);

// The row and the parameters are good. `scratch` has room for row.count.
Distribution make_distribution(const Row &row, const contract::RowParameters &parameters,
                               const contract::FilterRules &rules, uint64_t *scratch);

// The weight of the whole row at temperature 1.
uint64_t total_weight(const Row &row);

}  // namespace sampler::cpu
