// What a row's temperature and filters make of it: the kept tokens and their probabilities.
#pragma once

#include <cstdint>

#include "contract/host_device.h"
#include "contract/rank.h"
#include "contract/weight.h"

namespace sampler::contract {

struct Distribution {
  RowScale scale;
  Rank cut;              // kept tokens have at least this rank
  uint64_t kept_weight;  // their weights' sum
  float normalizer;
  bool greedy;

  SAMPLER_HD bool keeps(Rank rank) const { return rank >= cut; }

  // Probability of the token of value x and this rank; the kept ones sum to 1 up to rounding.
  SAMPLER_HD float probability(float x, Rank rank) const {
    if (!keeps(rank)) return 0.0f;
    if (greedy) return 1.0f;
    return relative_probability(scale, x) * normalizer;
  }
};

}  // namespace sampler::contract
