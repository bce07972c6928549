// The tokens that remain after temperature and filters, and their probabilities.
#pragma once

#include <cstdint>

#include "contract/host_device.h"
#include "contract/rank.h"
#include "contract/weight.h"

namespace sampler::contract {

struct Distribution {
  RowScale scale;
  Rank cut;              // lowest rank kept
  uint64_t kept_weight;  // sum of their weights
  float normalizer;
  bool greedy;

  SAMPLER_HD bool keeps(Rank rank) const { return rank >= cut; }

  // Probability of the token with value x and this rank. The kept tokens' sum to 1 up to rounding.
  SAMPLER_HD float probability(float x, Rank rank) const {
    if (!keeps(rank)) return 0.0f;
    if (greedy) return 1.0f;
    return relative_probability(scale, x) * normalizer;
  }
};

}  // namespace sampler::contract
