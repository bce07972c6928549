// State of a sequence's adaptive stages, and its update by a token: the rules of adaptive.h for one
// slot.
//
// docs/contract.md, section 14.2.
#pragma once

#include <cstdint>

#include "contract/adaptive.h"
#include "contract/float_bits.h"
#include "contract/host_device.h"
#include "contract/request.h"
#include "sampler/pipeline.h"

namespace sampler::contract {

// The SAMPLER_NUM_ADAPTIVE_VALUES values of a slot, in their public order. NaN: the stage has not
// started.
struct AdaptiveValues {
  float mu = quiet_nan();
  AdaptivePState adaptive_p = {quiet_nan(), quiet_nan()};
  float top_p = quiet_nan();
};
static_assert(sizeof(AdaptiveValues) == SAMPLER_NUM_ADAPTIVE_VALUES * sizeof(float));

SAMPLER_HD inline bool is_infinite(float x) {
  return !is_nan(x) && !is_finite(x);
}

// Whether a caller may pass these values.
SAMPLER_HD inline bool are_valid_values(const AdaptiveValues &values) {
  return !is_infinite(values.mu) && !is_infinite(values.adaptive_p.sum) &&
         !is_infinite(values.adaptive_p.weight) && !is_infinite(values.top_p);
}

// One slot's parameters, as given.
struct AdaptiveRules {
  sampler_adaptive_kind kind;
  float target, rate;
  float top_p;
  float top_p_decay, top_p_least;
  int64_t top_p_reset_token;  // negative: none

  SAMPLER_HD bool is_mirostat() const { return contract::is_mirostat(kind); }
  SAMPLER_HD bool is_adaptive_p() const {
    return kind == SAMPLER_ADAPTIVE_P && adaptive_p_is_on(target);
  }
  SAMPLER_HD bool smooths() const {
    return kind == SAMPLER_ADAPTIVE_SMOOTHING && smoothing_is_on(target);
  }
  // Whether the kept tokens get new weights.
  SAMPLER_HD bool reweighs() const { return is_adaptive_p() || smooths(); }
  SAMPLER_HD bool decays() const { return top_p_decay_is_on(top_p_decay); }

  SAMPLER_HD bool are_valid() const {
    if (kind < SAMPLER_ADAPTIVE_NONE || kind > SAMPLER_ADAPTIVE_SMOOTHING) return false;
    if (is_mirostat() && !are_valid_mirostat_rules(target, rate)) return false;
    if (kind == SAMPLER_ADAPTIVE_SMOOTHING && !are_valid_smoothing_rules(target, rate)) {
      return false;
    }
    return are_valid_adaptive_p_rules(target, rate) && !is_nan(top_p) && !is_nan(top_p_decay) &&
           is_finite(top_p_least);
  }
};

// The value for the next draw, or the stage's initial value if it has not started.
SAMPLER_HD inline float begun_mu(const AdaptiveValues &values, const AdaptiveRules &rules) {
  if (!is_nan(values.mu)) return values.mu;
  return mirostat_start(mirostat_rules(rules.target, rules.rate));
}
SAMPLER_HD inline AdaptivePState begun_adaptive_p(const AdaptiveValues &values,
                                                  const AdaptiveRules &rules) {
  const AdaptivePState &state = values.adaptive_p;
  if (!is_nan(state.sum) && !is_nan(state.weight)) return state;
  return adaptive_p_start(adaptive_p_rules(rules.target, rules.rate));
}
SAMPLER_HD inline float begun_top_p(const AdaptiveValues &values, const AdaptiveRules &rules) {
  return is_nan(values.top_p) ? top_p_start(rules.top_p) : values.top_p;
}

// What a slot whose rules reweigh() gives the tokens that it has kept, of `kept_weight`.
SAMPLER_HD inline Reweighing reweighing(const AdaptiveValues &values, const AdaptiveRules &rules,
                                        const RowScale &seen, uint64_t kept_weight) {
  if (rules.smooths()) return {true, {}, smoothing(rules.target, rules.rate, seen)};
  return {false,
          adaptive_p(begun_adaptive_p(values, rules), adaptive_p_rules(rules.target, rules.rate),
                     seen, kept_weight),
          {}};
}

// The values after a drawn or forced token. `rules` are valid. With a NaN `observation` only the
// running top_p changes; mirostat and adaptive-p do not start.
SAMPLER_HD inline AdaptiveValues adaptive_values_moved(const AdaptiveValues &values, int64_t token,
                                                       float observation,
                                                       const AdaptiveRules &rules) {
  AdaptiveValues result = values;
  if (!is_nan(observation) && rules.is_mirostat()) {
    const MirostatRules mirostat = mirostat_rules(rules.target, rules.rate);
    // After an infinite start mu stays NaN: no stored value is infinite.
    result.mu = moved(values.mu, mirostat_moved(begun_mu(values, rules), observation, mirostat));
  }
  if (!is_nan(observation) && rules.is_adaptive_p()) {
    const AdaptivePRules adaptive_p = adaptive_p_rules(rules.target, rules.rate);
    result.adaptive_p = adaptive_p_moved(begun_adaptive_p(values, rules), observation, adaptive_p);
  }
  if (rules.decays()) {
    result.top_p =
        top_p_moved(begun_top_p(values, rules), rules.top_p, rules.top_p_decay, rules.top_p_least,
                    rules.top_p_reset_token >= 0 && token == rules.top_p_reset_token);
  }
  return result;
}

// Parameters of all slots.
struct AdaptiveParameters {
  PerSlot<sampler_adaptive_kind> kind{SAMPLER_ADAPTIVE_NONE};
  PerSlot<float> target{0}, rate{0};
  PerSlot<float> top_p{1};
  PerSlot<float> top_p_decay{0}, top_p_least{0};
  const int64_t *top_p_reset_tokens = nullptr;  // null: none

  SAMPLER_HD AdaptiveRules of(int64_t slot) const {
    return {kind[slot],
            target[slot],
            rate[slot],
            top_p[slot],
            top_p_decay[slot],
            top_p_least[slot],
            top_p_reset_tokens ? top_p_reset_tokens[slot] : -1};
  }

  // Whether any slot may have an adaptive window; a running top_p.
  SAMPLER_HD bool may_have_window() const {
    return kind.array || kind.value != SAMPLER_ADAPTIVE_NONE;
  }
  SAMPLER_HD bool may_decay() const {
    return top_p_decay.array || top_p_decay_is_on(top_p_decay.value);
  }
};

}  // namespace sampler::contract
