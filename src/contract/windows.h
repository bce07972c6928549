// Parameters of the windows, and their thresholds from a window's sums. A window is a run of rank
// order; contract/ranked_windows.h cuts it.
#pragma once

#include <cstdint>

#include "contract/entropy.h"
#include "contract/filters.h"
#include "contract/float_bits.h"
#include "contract/host_device.h"
#include "contract/log2.h"
#include "contract/weight.h"

namespace sampler::contract {

// For epsilon, eta, top-h and typical-p.
SAMPLER_HD inline bool fraction_is_on(float fraction) {
  return fraction > 0.0f && fraction < 1.0f;
}
SAMPLER_HD inline bool top_n_sigma_is_on(float top_n_sigma) {
  return top_n_sigma > 0.0f;
}
SAMPLER_HD inline bool min_k_is_on(float tau) {
  return tau > 0.0f;
}
SAMPLER_HD inline bool top_a_is_on(float top_a) {
  return top_a > 0.0f;
}
SAMPLER_HD inline bool xtc_is_on(float probability, float threshold) {
  return probability > 0.0f && threshold <= 0.5f;
}
SAMPLER_HD inline bool dynamic_temperature_is_on(float temperature, float range) {
  return range > 0.0f && !is_greedy(temperature);
}

// ---- epsilon and eta ----

// The lowest weight that epsilon keeps.
SAMPLER_HD inline uint64_t epsilon_threshold(float epsilon, uint64_t total) {
  return fraction_of_weight(epsilon, total);
}

// The lowest weight that eta keeps. `sums` cover the window.
SAMPLER_HD inline uint64_t eta_threshold(float epsilon, const EntropySums &sums) {
  const float share = square_root(epsilon) * exp2_of_negative(-entropy(sums));
  return fraction_of_weight(share < epsilon ? share : epsilon, sums.weight);
}

// ---- top-a ----

// The lowest weight that top-a keeps of a window that begins with `first` and weighs `total`.
SAMPLER_HD inline uint64_t top_a_threshold(float top_a, uint64_t first, uint64_t total) {
  const float probability = float(first) / float(total);
  const float share = top_a * probability;
  return fraction_of_weight(share < 1.0f ? share : 1.0f, first);
}

// ---- top-h ----

constexpr int kTopHTokens = 100;

// Top-h on at most the first kTopHTokens tokens of a window, which `sums` cover.
class TopH {
 public:
  SAMPLER_HD TopH(float top_h, const EntropySums &sums)
      : log2_(double(log2_of_weight(sums.weight))), limit_(double(top_h) * of(sums)) {}

  // Whether a prefix of 2 tokens or more is kept. The first prefix that is not ends the walk. With
  // an entropy of 0 only the first token is kept.
  SAMPLER_HD bool keeps(const EntropySums &prefix) const {
    return limit_ > 0.0 && of(prefix) <= limit_;
  }

 private:
  // The prefix's part of the entropy, times the total weight.
  SAMPLER_HD double of(const EntropySums &sums) const {
    return double(sums.surprise) + log2_ * double(sums.weight);
  }

  double log2_;
  double limit_;
};

// ---- typical-p ----

// Above 0 for tokens likelier than the mean; never rises along rank order. `mean` is the window's
// mean_surprise().
SAMPLER_HD inline float typical_excess(const RowScale &row, float x, float mean) {
  return relative_log2(row, x) + mean;
}

// Whether typical-p takes a token of excess `likelier` > 0 before one of excess `other` <= 0.
SAMPLER_HD inline bool likelier_is_nearer(float likelier, float other) {
  return likelier <= -other;
}

// Typical-p of a window.
struct Typical {
  RowScale row;
  float mean;
  uint64_t total;      // the window's weight
  uint64_t threshold;  // minimum weight to keep; >= 1
  sampler_tie_rule ties;
  int64_t min_keep;

  SAMPLER_HD float excess(float x) const { return typical_excess(row, x, mean); }
  // Tokens are taken in ascending order of it.
  SAMPLER_HD float distance(float x) const {
    const float g = excess(x);
    return g > 0.0f ? g : -g;
  }
};

// ---- min-k ----

constexpr int kMinKTokens = 128;

// The steepest fall from a token's value to the next one's, each divided by its place, from 1 on.
// Add places in ascending order.
class SteepestFall {
 public:
  SAMPLER_HD void add(int64_t place, float fall) {
    const float steepness = fall / float(place);
    if (steepness > steepness_) {
      steepness_ = steepness;
      place_ = place;
    }
  }

  // 0 if there is no fall.
  SAMPLER_HD int64_t place() const { return place_; }

 private:
  float steepness_ = 0.0f;
  int64_t place_ = 0;
};

// Number of tokens that min-k keeps of a flat window of `count`. `range`: of its values.
SAMPLER_HD inline int64_t min_k_of_range(float tau, float range, int64_t count) {
  const float tokens = tau / range;
  return tokens < float(count) ? int64_t(tokens) : count;
}

// ---- XTC ----

// Whether XTC drops tokens. `word` is the slot's word of Purpose::kXtc. Only if XTC is on.
SAMPLER_HD inline bool xtc_coin(uint32_t word, float probability) {
  return word < fraction_of_weight(probability < 1.0f ? probability : 1.0f, uint64_t(1) << 32);
}

// XTC drops all but the last of the tokens that weigh at least this.
SAMPLER_HD inline uint64_t xtc_threshold(float threshold, uint64_t total) {
  return threshold > 0.0f ? fraction_of_weight(threshold, total) : 0;
}

// Number of first tokens that XTC drops. `num_above` reach the threshold.
SAMPLER_HD inline int64_t xtc_drops(int64_t num_above, int64_t count, int64_t min_keep) {
  const int64_t drops = num_above - 1;
  return drops > 0 && count - drops >= min_keep ? drops : 0;
}

// ---- temperature ----

// Temperature for a window of `count` tokens, whose `sums` are at temperature 1. Logits only, if it
// is on.
SAMPLER_HD inline float dynamic_temperature(float temperature, float range, float exponent,
                                            const EntropySums &sums, int64_t count) {
  const float middle = temperature < kLargestTemperature ? temperature : kLargestTemperature;
  const float reach = range < kLargestTemperature ? range : kLargestTemperature;
  const float low = larger_of(middle - reach, 0.0f);
  const float high = middle + reach;

  float share = 1.0f;  // of the maximum entropy, log2(count)
  if (count > 1) {
    share = entropy(sums) / log2_shifted(float(count), 0);
    share = share < 1.0f ? share : 1.0f;
  }
  float power = share;
  if (share > 0.0f && share < 1.0f) {
    power = exp2_plus_1(fma32(larger_of(exponent, 0.0f), log2_shifted(share, 0), -1.0f));
  }
  return low + (high - low) * power;
}

}  // namespace sampler::contract
