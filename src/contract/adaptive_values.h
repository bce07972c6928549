// What adaptive stages remember of a sequence, and how a token moves it: the rules of adaptive.h
// put together for one slot.
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

// The SAMPLER_NUM_ADAPTIVE_VALUES of a slot, in their public order. A NaN: the stage has not begun.
struct AdaptiveValues {
  float mu = quiet_nan();
  AdaptivePState adaptive_p = {quiet_nan(), quiet_nan()};
  float top_p = quiet_nan();
};
static_assert(sizeof(AdaptiveValues) == SAMPLER_NUM_ADAPTIVE_VALUES * sizeof(float));

SAMPLER_HD inline bool is_infinite(float x) {
  return !is_nan(x) && !is_finite(x);
}

// Values that a caller may give.
SAMPLER_HD inline bool are_valid_values(const AdaptiveValues &values) {
  return !is_infinite(values.mu) && !is_infinite(values.adaptive_p.sum) &&
         !is_infinite(values.adaptive_p.weight) && !is_infinite(values.top_p);
}

// One slot's numbers, as they are given.
struct AdaptiveRules {
  sampler_adaptive_kind kind;
  float target, rate;
  float top_p;
  float top_p_decay, top_p_least;
  int64_t top_p_reset_token;  // negative: none

  SAMPLER_HD bool is_mirostat() const {
    return kind == SAMPLER_ADAPTIVE_MIROSTAT_V1 || kind == SAMPLER_ADAPTIVE_MIROSTAT_V2;
  }
  SAMPLER_HD bool is_adaptive_p() const {
    return kind == SAMPLER_ADAPTIVE_P && adaptive_p_is_on(target);
  }
  SAMPLER_HD bool decays() const { return top_p_decay_is_on(top_p_decay); }

  SAMPLER_HD bool are_valid() const {
    if (kind < SAMPLER_ADAPTIVE_NONE || kind > SAMPLER_ADAPTIVE_P) return false;
    if (is_mirostat() && !are_valid_mirostat_rules(target, rate)) return false;
    return are_valid_adaptive_p_rules(target, rate) && !is_nan(top_p) && !is_nan(top_p_decay) &&
           is_finite(top_p_least);
  }
};

// What the stages go by in the next draw: the value, or the start of the stage.
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

// After a token that was drawn, or forced. `rules` are valid. `observation` NaN: only the running
// top_p moves, and a stage that has not begun does not begin by it.
SAMPLER_HD inline AdaptiveValues adaptive_values_moved(const AdaptiveValues &values, int64_t token,
                                                       float observation,
                                                       const AdaptiveRules &rules) {
  AdaptiveValues result = values;
  if (!is_nan(observation) && rules.is_mirostat()) {
    const MirostatRules mirostat = mirostat_rules(rules.target, rules.rate);
    // A start that is infinite stays one: no value is.
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

// The numbers of all slots.
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

  // Whether some slot may have an adaptive window, or a running top_p.
  SAMPLER_HD bool may_have_window() const {
    return kind.array || kind.value != SAMPLER_ADAPTIVE_NONE;
  }
  SAMPLER_HD bool may_decay() const {
    return top_p_decay.array || top_p_decay_is_on(top_p_decay.value);
  }
};

}  // namespace sampler::contract
