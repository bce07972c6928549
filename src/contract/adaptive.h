// Adaptive stages, which a sequence's drawn tokens move: mirostat, adaptive-p, top-p decay. And the
// log-probability of a token that is forced.
//
// docs/contract.md, sections 14.2 and 14.3. An observation that is NaN moves nothing.
#pragma once

#include <cstdint>

#include "contract/filters.h"
#include "contract/float_bits.h"
#include "contract/host_device.h"
#include "contract/log2.h"
#include "contract/weight.h"

namespace sampler::contract {

// The new value; the old one where the new one is no finite number.
SAMPLER_HD inline float moved(float old_value, float new_value) {
  return is_finite(new_value) ? new_value : old_value;
}

// ---- mirostat ----

struct MirostatRules {
  float target;  // bits
  float rate;
};

SAMPLER_HD inline bool are_valid_mirostat_rules(float target, float rate) {
  return target >= 0.0f && is_finite(target) && is_finite(rate);
}

// The parameters with their defaults in the place of 0.
SAMPLER_HD inline MirostatRules mirostat_rules(float target, float rate) {
  constexpr float kDefaultTarget = 5.0f;
  constexpr float kDefaultRate = 0.1f;
  return {target == 0.0f ? kDefaultTarget : target,
          rate == 0.0f ? kDefaultRate : larger_of(rate, 0.0f)};
}

SAMPLER_HD inline float mirostat_start(const MirostatRules &rules) {
  return 2.0f * rules.target;
}

// The surprise in bits of a token among the kept ones; `log2_relative` as relative_log2() gives it.
SAMPLER_HD inline float surprise(float log2_relative, uint64_t kept_weight) {
  return log2_of_weight(kept_weight) - log2_relative;
}

SAMPLER_HD inline float mirostat_moved(float mu, float observation, const MirostatRules &rules) {
  return moved(mu, mu - rules.rate * (observation - rules.target));
}

// Version 2: the least weight that is kept, but for the first token's. `total` is the weight of the
// tokens that the stage sees.
SAMPLER_HD inline uint64_t mirostat_threshold(float mu, uint64_t total) {
  const float fraction = exp2_of_negative(-larger_of(mu, 0.0f));
  return fraction > 0.0f ? fraction_of_weight(fraction, total) : 0;
}

constexpr int kMirostatTokens = 100;

// log2((i + 2) / (i + 1)). The quotient itself would be rounded near 1.
SAMPLER_HD inline float log2_of_step(int32_t i) {
  if (i < 2) return log2_shifted(float(i + 2) / float(i + 1), 0);  // of 2 and 1.5
  const float z = 1.0f / float(i + 1);
  return z * log2_quotient(z);
}

// Version 1: the slope of the first tokens, added up by neighbours in rank order. The order of
// adding counts; at most kMirostatTokens - 1 steps, for one thread.
struct MirostatSlope {
  double products = 0;
  double squares = 0;

  // The fall of log2 from the token of rank i, 0 the first, to the next one.
  SAMPLER_HD void add(int32_t i, float fall) {
    const float length = log2_of_step(i);
    products += double(length) * double(fall);
    squares += double(length) * double(length);
  }

  SAMPLER_HD float slope() const { return float(products / squares); }
};

// The fall of log2 from a token's value to that of the next one in rank order.
SAMPLER_HD inline float log2_fall(const RowScale &row, float x, float next) {
  return row.kind == SAMPLER_LOGITS
             ? (x - next) * row.scale
             : log2_shifted(x, row.exponent) - log2_shifted(next, row.exponent);
}

// log2(e / (1 - V^-e)) for e > -1 and L = log2(V) >= 1. Near e = 0 both are near 0: there it is a
// series, of which the next term is below 1e-8.
SAMPLER_HD inline float mirostat_log2_ratio(float e, float log2_size) {
  constexpr float kC1 = 0x1.d9304p-6f;     // ln(2) / 24
  constexpr float kC2 = -0x1.e50096p-14f;  // -ln(2)^3 / 2880
  constexpr float kC3 = 0x1.d9706ap-21f;   // ln(2)^5 / 181440
  const float y = e * log2_size;
  const float magnitude = y < 0.0f ? -y : y;
  if (magnitude >= 1.0f) {
    const float log2_e = log2_shifted(e < 0.0f ? -e : e, 0);
    return log2_e - log2_shifted(1.0f - exp2_of_negative(-magnitude), 0) - larger_of(-y, 0.0f);
  }
  const float z = y * y;
  const float p = fma32(fma32(kC3, z, kC2), z, kC1);
  return fma32(-z, p, 0.5f * y) - (log2_shifted(log2_size, 0) - kMinusLog2Ln2);
}

// How many of the `num_seen` >= 1 tokens that it sees version 1 keeps. `num_elements` is V.
SAMPLER_HD inline int32_t mirostat_k(float slope, float mu, int32_t num_elements,
                                     int32_t num_seen) {
  const float log2_ratio = mirostat_log2_ratio(slope - 1.0f, log2_shifted(float(num_elements), 0));
  const float log2_k = (log2_ratio + mu) / slope;
  if (!(log2_k > 0.0f)) return 1;  // a NaN too: of equal tokens, of an infinite slope
  if (log2_k >= 20.0f) return num_seen;
  const int32_t n = int32_t(log2_k) + 1;
  const int32_t k = int32_t(exp2_of_negative(log2_k - float(n)) * power_of_two(n));
  return k < num_seen ? k : num_seen;
}

// ---- adaptive-p ----

struct AdaptivePRules {
  float target;  // a probability
  float decay;
};

SAMPLER_HD inline bool are_valid_adaptive_p_rules(float target, float decay) {
  return is_finite(target) && is_finite(decay);
}

SAMPLER_HD inline bool adaptive_p_is_on(float target) {
  return target >= 0.0f;
}

// The parameters within their bounds and with the default in the place of 0.
SAMPLER_HD inline AdaptivePRules adaptive_p_rules(float target, float decay) {
  constexpr float kDefaultDecay = 0.9f;
  constexpr float kLargestDecay = 0.99f;
  const float at_most_1 = target < 1.0f ? target : 1.0f;
  if (decay == 0.0f) return {at_most_1, kDefaultDecay};
  const float at_least_0 = larger_of(decay, 0.0f);
  return {at_most_1, at_least_0 < kLargestDecay ? at_least_0 : kLargestDecay};
}

// What the probabilities of the drawn tokens have been: their sum, and how many they count for.
struct AdaptivePState {
  float sum;
  float weight;
};

SAMPLER_HD inline AdaptivePState adaptive_p_start(const AdaptivePRules &rules) {
  const float rest = 1.0f - rules.decay;
  return {rules.target / rest, 1.0f / rest};
}

SAMPLER_HD inline AdaptivePState adaptive_p_moved(const AdaptivePState &state, float observation,
                                                  const AdaptivePRules &rules) {
  const float sum = observation + rules.decay * state.sum;
  const float weight = 1.0f + rules.decay * state.weight;
  return is_finite(sum) && is_finite(weight) ? AdaptivePState{sum, weight} : state;
}

// Makes a row of logits of the tokens that are kept: those whose probability is near `wanted`
// become likelier. It is drawn from as any other row is, at temperature 1.
struct AdaptiveP {
  static constexpr float kWidth = 0.3f;
  static constexpr float kSteepness = -10.0f;

  RowScale seen;
  float total;   // the sum of the relative probabilities
  float wanted;  // in [0, 1]

  // Of a token among those that are kept. Of one that is kept alone exactly 1.
  SAMPLER_HD float probability(float x) const { return relative_probability(seen, x) / total; }

  // The new logit of a token of this probability.
  SAMPLER_HD float logit(float probability) const {
    const float above = probability - wanted;
    const float d = (above < 0.0f ? -above : above) / kWidth;
    return d * d / (1.0f + d) * kSteepness;
  }
};

SAMPLER_HD inline AdaptiveP adaptive_p(const AdaptivePState &state, const AdaptivePRules &rules,
                                       const RowScale &seen, uint64_t kept_weight) {
  const float aim =
      state.weight > 0.0f ? 2.0f * rules.target - state.sum / state.weight : rules.target;
  const float above_0 = larger_of(aim, 0.0f);
  const float wanted = above_0 < 1.0f ? above_0 : 1.0f;
  return {seen, float(kept_weight) * 0x1p-44f, wanted};
}

// ---- top-p decay ----

SAMPLER_HD inline bool top_p_decay_is_on(float factor) {
  return factor > 0.0f && factor < 1.0f;
}

SAMPLER_HD inline float top_p_start(float top_p) {
  const float above_0 = larger_of(top_p, 0.0f);
  return above_0 < 1.0f ? above_0 : 1.0f;
}

// After a token. `least`: what it does not fall below.
SAMPLER_HD inline float top_p_moved(float running, float top_p, float factor, float least,
                                    bool is_reset_token) {
  return is_reset_token ? top_p_start(top_p) : moved(running, larger_of(running * factor, least));
}

// ---- a forced token ----

// Natural logarithm of its share of `total_weight`. -inf where its logit is, or its probability is
// 0, or it is not kept.
SAMPLER_HD inline float forced_log_probability(const RowScale &row, float x, bool is_kept,
                                               uint64_t total_weight) {
  if (!is_kept || x == (row.kind == SAMPLER_LOGITS ? negative_infinity() : 0.0f)) {
    return negative_infinity();
  }
  return log_probability(row, x, total_weight);
}

}  // namespace sampler::contract
