#include "capi/stage_numbers.h"

#include "contract/adaptive.h"
#include "contract/windows.h"

namespace sampler::capi {

Numbers::Numbers(const UserParameters &user) {
  const sampler_params &params = user.params;
  const sampler_row_params &arrays = user.arrays;
  const float repetition = params.repetition_penalty;
  sampler_stage stage = SAMPLER_STAGE_PENALTIES;
  add("repetition_penalty", repetition, arrays.repetition_penalty, stage,
      repetition != 0.0f && repetition != 1.0f);
  add("frequency_penalty", params.frequency_penalty, arrays.frequency_penalty, stage,
      params.frequency_penalty != 0.0f);
  add("presence_penalty", params.presence_penalty, arrays.presence_penalty, stage,
      params.presence_penalty != 0.0f);
  add("penalty_window", params.penalty_window, arrays.penalty_window, stage);
  stage = SAMPLER_STAGE_DRY;
  add("dry_multiplier", params.dry_multiplier, arrays.dry_multiplier, stage,
      params.dry_multiplier > 0.0f);
  add("dry_base", params.dry_base, arrays.dry_base, stage);
  add("dry_allowed_length", params.dry_allowed_length, arrays.dry_allowed_length, stage);
  add("dry_window", params.dry_window, arrays.dry_window, stage);
  add("no_repeat_ngram_size", params.no_repeat_ngram_size, arrays.no_repeat_ngram_size,
      SAMPLER_STAGE_NO_REPEAT_NGRAM, params.no_repeat_ngram_size > 0);
  add("min_new_tokens", params.min_new_tokens, arrays.min_new_tokens, SAMPLER_STAGE_MASK,
      params.min_new_tokens > 0);
  add("dynamic_temperature_range", params.dynamic_temperature_range,
      arrays.dynamic_temperature_range, SAMPLER_STAGE_TEMPERATURE,
      params.dynamic_temperature_range > 0.0f);
  add("dynamic_temperature_exponent", params.dynamic_temperature_exponent,
      arrays.dynamic_temperature_exponent, SAMPLER_STAGE_TEMPERATURE);
  add("typical_p", params.typical_p, arrays.typical_p, SAMPLER_STAGE_TYPICAL_P,
      contract::fraction_is_on(params.typical_p));
  add("top_n_sigma", params.top_n_sigma, arrays.top_n_sigma, SAMPLER_STAGE_TOP_N_SIGMA,
      contract::top_n_sigma_is_on(params.top_n_sigma));
  add("epsilon_cutoff", params.epsilon_cutoff, arrays.epsilon_cutoff, SAMPLER_STAGE_EPSILON,
      contract::fraction_is_on(params.epsilon_cutoff));
  add("eta_cutoff", params.eta_cutoff, arrays.eta_cutoff, SAMPLER_STAGE_ETA,
      contract::fraction_is_on(params.eta_cutoff));
  add("top_h", params.top_h, arrays.top_h, SAMPLER_STAGE_TOP_H,
      contract::fraction_is_on(params.top_h));
  add("xtc_probability", params.xtc_probability, arrays.xtc_probability, SAMPLER_STAGE_XTC,
      params.xtc_probability > 0.0f);
  add("xtc_threshold", params.xtc_threshold, arrays.xtc_threshold, SAMPLER_STAGE_XTC);
  const bool is_off = params.adaptive_kind == SAMPLER_ADAPTIVE_P && !arrays.adaptive_target &&
                      !contract::adaptive_p_is_on(params.adaptive_target);
  stage = SAMPLER_STAGE_ADAPTIVE;
  add("adaptive_kind", params.adaptive_kind, arrays.adaptive_kind, stage,
      params.adaptive_kind != SAMPLER_ADAPTIVE_NONE && !is_off);
  add("adaptive_target", params.adaptive_target, arrays.adaptive_target, stage);
  add("adaptive_rate", params.adaptive_rate, arrays.adaptive_rate, stage);
  stage = SAMPLER_STAGE_TOP_P;
  add("top_p_decay", params.top_p_decay, arrays.top_p_decay, stage,
      contract::top_p_decay_is_on(params.top_p_decay));
  add("top_p_least", params.top_p_least, arrays.top_p_least, stage);
  add("top_p_reset_token_id", int64_t(-1), arrays.top_p_reset_token_id, stage);
  add("min_keep", params.min_keep, arrays.min_keep, 0, params.min_keep > 1);
}

}  // namespace sampler::capi
