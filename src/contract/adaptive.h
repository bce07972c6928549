// Adaptive stages, whose state each drawn token updates: mirostat, adaptive-p, top-p decay. Also
// smoothing, which has none, and the log-probability of a forced token.
//
// docs/contract.md, sections 14.2 and 14.3. A NaN observation changes nothing.
#pragma once

#include <cstdint>

#include "contract/edits.h"
#include "contract/filters.h"
#include "contract/float_bits.h"
#include "contract/host_device.h"
#include "contract/log2.h"
#include "contract/weight.h"
#include "sampler/pipeline.h"

namespace sampler::contract {

// The new value if it is finite, otherwise the old one.
SAMPLER_HD inline float moved(float old_value, float new_value) {
  return is_finite(new_value) ? new_value : old_value;
}

// ---- mirostat ----

struct MirostatRules {
  float target;  // bits
  float rate;
};

SAMPLER_HD inline bool is_mirostat(sampler_adaptive_kind kind) {
  return kind == SAMPLER_ADAPTIVE_MIROSTAT_V1 || kind == SAMPLER_ADAPTIVE_MIROSTAT_V2;
}

SAMPLER_HD inline bool are_valid_mirostat_rules(float target, float rate) {
  return target >= 0.0f && is_finite(target) && is_finite(rate);
}

// The parameters, with defaults for 0.
SAMPLER_HD inline MirostatRules mirostat_rules(float target, float rate) {
  constexpr float kDefaultTarget = 5.0f;
  constexpr float kDefaultRate = 0.1f;
  return {target == 0.0f ? kDefaultTarget : target,
          rate == 0.0f ? kDefaultRate : larger_of(rate, 0.0f)};
}

SAMPLER_HD inline float mirostat_start(const MirostatRules &rules) {
  return 2.0f * rules.target;
}

// Surprise, in bits, of a kept token. `log2_relative` is its relative_log2().
SAMPLER_HD inline float surprise(float log2_relative, uint64_t kept_weight) {
  return log2_of_weight(kept_weight) - log2_relative;
}

SAMPLER_HD inline float mirostat_moved(float mu, float observation, const MirostatRules &rules) {
  return moved(mu, mu - rules.rate * (observation - rules.target));
}

// Version 2: the lowest weight kept; the first token is kept regardless. `total` is the weight of
// the stage's input.
SAMPLER_HD inline uint64_t mirostat_threshold(float mu, uint64_t total) {
  const float fraction = exp2_of_negative(-larger_of(mu, 0.0f));
  return fraction > 0.0f ? fraction_of_weight(fraction, total) : 0;
}

constexpr int kMirostatTokens = 100;

// log2((i + 2) / (i + 1)), without rounding the quotient near 1.
SAMPLER_HD inline float log2_of_step(int32_t i) {
  if (i < 2) return log2_shifted(float(i + 2) / float(i + 1), 0);  // log2(2), log2(1.5)
  const float z = 1.0f / float(i + 1);
  return z * log2_quotient(z);
}

// Version 1: the slope over the first tokens, summed over neighbours in rank order. The sums are
// floating-point, so one thread adds them in that order: at most kMirostatTokens - 1 steps.
struct MirostatSlope {
  double products = 0;
  double squares = 0;

  // `fall`: the drop in log2 from the token at rank i (from 0) to the next.
  SAMPLER_HD void add(int32_t i, float fall) {
    const float length = log2_of_step(i);
    products += double(length) * double(fall);
    squares += double(length) * double(length);
  }

  SAMPLER_HD float slope() const { return float(products / squares); }
};

// The drop in log2 from a token's value to the next one in rank order.
SAMPLER_HD inline float log2_fall(const RowScale &row, float x, float next) {
  return row.kind == SAMPLER_LOGITS
             ? (x - next) * row.scale
             : log2_shifted(x, row.exponent) - log2_shifted(next, row.exponent);
}

// log2(e / (1 - V^-e)) for e > -1 and log2(V) >= 1. Near e = 0 numerator and denominator vanish: a
// series is used, whose next term is below 1e-8.
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

// Version 1: the number of tokens kept of `num_seen` >= 1. `num_elements` is V.
SAMPLER_HD inline int32_t mirostat_k(float slope, float mu, int32_t num_elements,
                                     int32_t num_seen) {
  const float log2_ratio = mirostat_log2_ratio(slope - 1.0f, log2_shifted(float(num_elements), 0));
  const float log2_k = (log2_ratio + mu) / slope;
  if (!(log2_k > 0.0f)) return 1;  // also NaN: equal tokens, or an infinite slope
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

// The parameters clamped to their ranges, with the default for 0.
SAMPLER_HD inline AdaptivePRules adaptive_p_rules(float target, float decay) {
  constexpr float kDefaultDecay = 0.9f;
  constexpr float kLargestDecay = 0.99f;
  const float at_most_1 = target < 1.0f ? target : 1.0f;
  if (decay == 0.0f) return {at_most_1, kDefaultDecay};
  const float at_least_0 = larger_of(decay, 0.0f);
  return {at_most_1, at_least_0 < kLargestDecay ? at_least_0 : kLargestDecay};
}

// Exponential moving average of the drawn tokens' probabilities: decayed sum and decayed count.
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

// Gives the kept tokens new logits that favour probabilities near `wanted`. The new row is drawn
// from at temperature 1.
//
// They are those of probabilities rounded to multiples of 2^-21, the ulp of kGrid, so that the many
// small ones of a row have few logits.
struct AdaptiveP {
  static constexpr float kGrid = 4.0f;
  static constexpr float kPerWidth = 0x1.aaaaaap+1f;  // 1 / 0.3
  static constexpr float kSteepness = -10.0f;

  RowScale seen;
  float total;    // sum of the relative probabilities
  float inverse;  // of the total
  float wanted;   // in [0, 1]

  // A kept token's probability; exactly 1 if it is the only one.
  SAMPLER_HD float probability(float x) const { return relative_probability(seen, x) / total; }

  // The probability that gives its new logit; also exactly 1 if it is the only one.
  SAMPLER_HD float rounded(float relative) const { return fma32(relative, inverse, kGrid) - kGrid; }
  SAMPLER_HD float rounded_probability(float x) const {
    return rounded(relative_probability(seen, x));
  }

  // New logit of a token of this rounded probability. Falls where that is further from the wanted
  // one.
  SAMPLER_HD float logit_of(float rounded) const {
    const float above = rounded - wanted;
    const float d = (above < 0.0f ? -above : above) * kPerWidth;
    return d * d / (1.0f + d) * kSteepness;
  }

  // New logit of a kept token.
  SAMPLER_HD float logit(float x) const { return logit_of(rounded_probability(x)); }
};

SAMPLER_HD inline AdaptiveP adaptive_p(const AdaptivePState &state, const AdaptivePRules &rules,
                                       const RowScale &seen, uint64_t kept_weight) {
  const float aim =
      state.weight > 0.0f ? 2.0f * rules.target - state.sum / state.weight : rules.target;
  const float above_0 = larger_of(aim, 0.0f);
  const float wanted = above_0 < 1.0f ? above_0 : 1.0f;
  const float total = float(kept_weight) * 0x1p-44f;
  return {seen, total, 1.0f / total, wanted};
}

// ---- smoothing ----

SAMPLER_HD inline bool are_valid_smoothing_rules(float factor, float curve) {
  return factor >= 0.0f && is_finite(factor) && (curve == 0.0f || (curve >= 1.0f && curve <= 3.0f));
}

SAMPLER_HD inline bool smoothing_is_on(float factor) {
  return factor > 0.0f;
}

// Gives the kept tokens new logits, a square and a cube of their distance from the first one. The
// new row is drawn from at temperature 1.
struct Smoothing {
  static constexpr float kLn2Squared = 0x1.ebfbep-2f;
  static constexpr float kLn2Cubed = 0x1.55046ap-2f;
  static constexpr float kFarthest = 0x1p60f;  // its square is finite

  RowScale seen;
  float first;  // relative_log2() of the first token
  float square, cube;

  // New logit of a kept token.
  SAMPLER_HD float logit(float x) const {
    const float below = first - relative_log2(seen, x);
    const float bits = below < kFarthest ? below : kFarthest;
    return larger_of(-(bits * bits) * fma32(cube, bits, square), -kLargestFloat);
  }
};

// The rules are valid. `factor` > 0.
SAMPLER_HD inline Smoothing smoothing(float factor, float curve, const RowScale &seen) {
  const float half = 0.5f * factor;
  const float bend = curve == 0.0f ? 1.0f : curve;
  return {seen, relative_log2(seen, seen.max), half * (3.0f - bend) * Smoothing::kLn2Squared,
          half * (bend - 1.0f) * Smoothing::kLn2Cubed};
}

// Adaptive-p or smoothing.
struct Reweighing {
  bool smooths;
  AdaptiveP adaptive_p;
  Smoothing smoothing;

  // New logit of a kept token.
  SAMPLER_HD float logit(float x) const {
    return smooths ? smoothing.logit(x) : adaptive_p.logit(x);
  }
};

// ---- top-p decay ----

SAMPLER_HD inline bool top_p_decay_is_on(float factor) {
  return factor > 0.0f && factor < 1.0f;
}

SAMPLER_HD inline float top_p_start(float top_p) {
  const float above_0 = larger_of(top_p, 0.0f);
  return above_0 < 1.0f ? above_0 : 1.0f;
}

// The running top_p after a token, at least `least`.
SAMPLER_HD inline float top_p_moved(float running, float top_p, float factor, float least,
                                    bool is_reset_token) {
  return is_reset_token ? top_p_start(top_p) : moved(running, larger_of(running * factor, least));
}

// ---- a forced token ----

// Natural logarithm of the token's share of `total_weight`; -inf if its logit is -inf, its
// probability is 0, or it is not kept.
SAMPLER_HD inline float forced_log_probability(const RowScale &row, float x, bool is_kept,
                                               uint64_t total_weight) {
  if (!is_kept || x == (row.kind == SAMPLER_LOGITS ? negative_infinity() : 0.0f)) {
    return negative_infinity();
  }
  return log_probability(row, x, total_weight);
}

}  // namespace sampler::contract
