#include "stages.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "explanation.h"

namespace explain {

namespace {

// A number of a stage.
struct Real {
  sampler_stage stage;
  const char *name;
  float sampler_params::*member;
};
struct Whole {
  sampler_stage stage;
  const char *name;
  int32_t sampler_params::*member;
};

constexpr Real kReals[] = {
    {SAMPLER_STAGE_BIAS, "guidance_scale", &sampler_params::guidance_scale},
    {SAMPLER_STAGE_PENALTIES, "repetition_penalty", &sampler_params::repetition_penalty},
    {SAMPLER_STAGE_PENALTIES, "frequency_penalty", &sampler_params::frequency_penalty},
    {SAMPLER_STAGE_PENALTIES, "presence_penalty", &sampler_params::presence_penalty},
    {SAMPLER_STAGE_PENALTIES, "exponential_decay_factor",
     &sampler_params::exponential_decay_factor},
    {SAMPLER_STAGE_DRY, "dry_multiplier", &sampler_params::dry_multiplier},
    {SAMPLER_STAGE_DRY, "dry_base", &sampler_params::dry_base},
    {SAMPLER_STAGE_TEMPERATURE, "temperature", &sampler_params::temperature},
    {SAMPLER_STAGE_TEMPERATURE, "dynamic_temperature_range",
     &sampler_params::dynamic_temperature_range},
    {SAMPLER_STAGE_TEMPERATURE, "dynamic_temperature_exponent",
     &sampler_params::dynamic_temperature_exponent},
    {SAMPLER_STAGE_TYPICAL_P, "typical_p", &sampler_params::typical_p},
    {SAMPLER_STAGE_TOP_N_SIGMA, "top_n_sigma", &sampler_params::top_n_sigma},
    {SAMPLER_STAGE_EPSILON, "epsilon_cutoff", &sampler_params::epsilon_cutoff},
    {SAMPLER_STAGE_ETA, "eta_cutoff", &sampler_params::eta_cutoff},
    {SAMPLER_STAGE_TOP_H, "top_h", &sampler_params::top_h},
    {SAMPLER_STAGE_MIN_K, "min_k", &sampler_params::min_k},
    {SAMPLER_STAGE_TOP_A, "top_a", &sampler_params::top_a},
    {SAMPLER_STAGE_XTC, "xtc_probability", &sampler_params::xtc_probability},
    {SAMPLER_STAGE_XTC, "xtc_threshold", &sampler_params::xtc_threshold},
    {SAMPLER_STAGE_TOP_P, "top_p", &sampler_params::top_p},
    {SAMPLER_STAGE_TOP_P, "top_p_decay", &sampler_params::top_p_decay},
    {SAMPLER_STAGE_TOP_P, "top_p_least", &sampler_params::top_p_least},
    {SAMPLER_STAGE_MIN_P, "min_p", &sampler_params::min_p},
    {SAMPLER_STAGE_ADAPTIVE, "adaptive_target", &sampler_params::adaptive_target},
    {SAMPLER_STAGE_ADAPTIVE, "adaptive_rate", &sampler_params::adaptive_rate},
};
constexpr Whole kWholes[] = {
    {SAMPLER_STAGE_MASK, "min_new_tokens", &sampler_params::min_new_tokens},
    {SAMPLER_STAGE_PENALTIES, "penalty_window", &sampler_params::penalty_window},
    {SAMPLER_STAGE_PENALTIES, "exponential_decay_start", &sampler_params::exponential_decay_start},
    {SAMPLER_STAGE_DRY, "dry_allowed_length", &sampler_params::dry_allowed_length},
    {SAMPLER_STAGE_DRY, "dry_window", &sampler_params::dry_window},
    {SAMPLER_STAGE_NO_REPEAT_NGRAM, "no_repeat_ngram_size", &sampler_params::no_repeat_ngram_size},
    {SAMPLER_STAGE_TOP_K, "top_k", &sampler_params::top_k},
};

// An enumeration of a stage, with the names of its constants from 0 on.
struct Choice {
  sampler_stage stage;
  const char *name;
  int32_t sampler_params::*member;
  const char *constants[5];
};
constexpr Choice kChoices[] = {
    {SAMPLER_STAGE_MASK,
     "bad_word_scope",
     &sampler_params::bad_word_scope,
     {"standard", "all", "output"}},
    {SAMPLER_STAGE_PENALTIES,
     "penalty_scope",
     &sampler_params::penalty_scope,
     {"standard", "all", "output"}},
    {SAMPLER_STAGE_PENALTIES,
     "penalty_form",
     &sampler_params::penalty_form,
     {"divide", "reciprocal", "counts_first"}},
    {SAMPLER_STAGE_TYPICAL_P, "typical_p_ties", &sampler_params::typical_p_ties, {"exact", "keep"}},
    {SAMPLER_STAGE_TYPICAL_P,
     "typical_p_sum",
     &sampler_params::typical_p_sum,
     {"reaches", "exceeds"}},
    {SAMPLER_STAGE_EPSILON, "cutoff_ties", &sampler_params::cutoff_ties, {"exact", "keep"}},
    {SAMPLER_STAGE_ETA, "cutoff_ties", &sampler_params::cutoff_ties, {"exact", "keep"}},
    {SAMPLER_STAGE_P_LESS, "p_less", &sampler_params::p_less, {"none", "plain", "norm"}},
    {SAMPLER_STAGE_TOP_K, "top_k_ties", &sampler_params::top_k_ties, {"exact", "keep"}},
    {SAMPLER_STAGE_TOP_P, "top_p_ties", &sampler_params::top_p_ties, {"exact", "keep"}},
    {SAMPLER_STAGE_TOP_P, "top_p_sum", &sampler_params::top_p_sum, {"reaches", "exceeds"}},
    {SAMPLER_STAGE_ADAPTIVE,
     "adaptive_kind",
     &sampler_params::adaptive_kind,
     {"none", "mirostat_v1", "mirostat_v2", "adaptive_p", "smoothing"}},
};

bool is_window(sampler_stage stage) {
  return !is_edit(stage) && stage != SAMPLER_STAGE_TEMPERATURE;
}

void drop_biases(sampler_pipeline *lists) {
  lists->guidance_logits = nullptr;
  lists->num_guidance_rows = 0;
  lists->guidance_row_indices = nullptr;
  lists->biased = lists->bias_contexts = {};
  lists->biases = lists->dense_bias = nullptr;
  lists->num_dense_biases = lists->dense_bias_stride = 0;
}

// Without lists of BIAS and MASK.
sampler_pipeline bare(sampler_pipeline lists) {
  drop_biases(&lists);
  lists.allowed = lists.banned = lists.stop = lists.bad_words = {};
  lists.bad_word_offsets = nullptr;
  lists.token_bitmasks = nullptr;
  lists.token_bitmask_indices = nullptr;
  lists.num_token_bitmasks = lists.token_bitmask_stride = 0;
  return lists;
}

bool is_between_0_and_1(float value) {
  return value > 0.0f && value < 1.0f;
}

}  // namespace

bool is_edit(sampler_stage stage) {
  return stage <= SAMPLER_STAGE_NO_REPEAT_NGRAM;
}

std::vector<sampler_stage> order_of(const sampler_params &params) {
  std::vector<sampler_stage> order(params.stages,
                                   std::find(params.stages, std::end(params.stages), 0));
  if (!order.empty()) return order;
  for (sampler_stage stage = 1; stage <= SAMPLER_STAGE_ADAPTIVE; ++stage) order.push_back(stage);
  const auto move = [&](sampler_stage stage, sampler_stage before) {
    order.erase(std::find(order.begin(), order.end(), stage));
    order.insert(std::find(order.begin(), order.end(), before), stage);
  };
  if (params.filter_order == SAMPLER_FILTERS_MIN_P_FIRST) {
    move(SAMPLER_STAGE_MIN_P, SAMPLER_STAGE_TOP_K);
  }
  if (params.temperature_order == SAMPLER_TEMPERATURE_LAST) {
    move(SAMPLER_STAGE_TEMPERATURE, SAMPLER_STAGE_ADAPTIVE);
  }
  return order;
}

bool guides(const sampler_params &params, const sampler_pipeline &lists) {
  return lists.guidance_logits && params.guidance_scale != 0.0f && params.guidance_scale != 1.0f;
}

bool is_on(sampler_stage stage, const sampler_params &params, const sampler_pipeline &lists) {
  switch (stage) {
    case SAMPLER_STAGE_BIAS:
      return guides(params, lists) || lists.biased.offsets || lists.dense_bias;
    case SAMPLER_STAGE_MASK:
      return lists.allowed.offsets || lists.banned.offsets || lists.bad_words.offsets ||
             lists.token_bitmasks || params.min_new_tokens > 0;
    case SAMPLER_STAGE_PENALTIES:
      return (params.repetition_penalty != 0.0f && params.repetition_penalty != 1.0f) ||
             (params.exponential_decay_factor != 0.0f && params.exponential_decay_factor != 1.0f) ||
             params.frequency_penalty != 0.0f || params.presence_penalty != 0.0f;
    case SAMPLER_STAGE_DRY:
      return params.dry_multiplier > 0.0f && (params.dry_base == 0.0f || params.dry_base >= 1.0f);
    case SAMPLER_STAGE_NO_REPEAT_NGRAM:
      return params.no_repeat_ngram_size > 0;
    case SAMPLER_STAGE_TEMPERATURE:
      return params.temperature != 1.0f || params.dynamic_temperature_range > 0.0f;
    case SAMPLER_STAGE_TYPICAL_P:
      return is_between_0_and_1(params.typical_p);
    case SAMPLER_STAGE_TOP_N_SIGMA:
      return params.top_n_sigma > 0.0f;
    case SAMPLER_STAGE_EPSILON:
      return is_between_0_and_1(params.epsilon_cutoff);
    case SAMPLER_STAGE_ETA:
      return is_between_0_and_1(params.eta_cutoff);
    case SAMPLER_STAGE_TOP_H:
      return is_between_0_and_1(params.top_h);
    case SAMPLER_STAGE_P_LESS:
      return params.p_less != SAMPLER_P_LESS_NONE;
    case SAMPLER_STAGE_MIN_K:
      return params.min_k > 0.0f;
    case SAMPLER_STAGE_TOP_A:
      return params.top_a > 0.0f;
    case SAMPLER_STAGE_XTC:
      return params.xtc_probability > 0.0f && params.xtc_threshold <= 0.5f;
    case SAMPLER_STAGE_TOP_K:
      return params.top_k > 0;
    case SAMPLER_STAGE_TOP_P:
      return params.top_p < 1.0f || is_between_0_and_1(params.top_p_decay);
    case SAMPLER_STAGE_MIN_P:
      return params.min_p > 0.0f;
    case SAMPLER_STAGE_ADAPTIVE:
      return params.adaptive_kind != SAMPLER_ADAPTIVE_NONE &&
             (params.adaptive_kind != SAMPLER_ADAPTIVE_P || params.adaptive_target >= 0.0f) &&
             (params.adaptive_kind != SAMPLER_ADAPTIVE_SMOOTHING || params.adaptive_target > 0.0f);
    default:
      return false;
  }
}

void turn_off_edit(sampler_stage stage, sampler_params *params, sampler_pipeline *lists) {
  if (stage == SAMPLER_STAGE_BIAS) {
    params->guidance_scale = 0.0f;
    drop_biases(lists);
  } else if (stage == SAMPLER_STAGE_MASK) {
    lists->allowed = lists->banned = lists->bad_words = {};
    lists->bad_word_offsets = nullptr;
    lists->token_bitmasks = nullptr;
    lists->token_bitmask_indices = nullptr;
    lists->num_token_bitmasks = lists->token_bitmask_stride = 0;
    params->min_new_tokens = 0;  // the exponential decay may need `stop`
  } else if (stage == SAMPLER_STAGE_PENALTIES) {
    params->repetition_penalty = params->frequency_penalty = params->presence_penalty = 0.0f;
    params->exponential_decay_factor = 0.0f;
  } else if (stage == SAMPLER_STAGE_DRY) {
    params->dry_multiplier = 0.0f;
    lists->dry_breakers = {};
  } else if (stage == SAMPLER_STAGE_NO_REPEAT_NGRAM) {
    params->no_repeat_ngram_size = 0;
  }
}

void turn_off_all_but_edits(sampler_params *params) {
  const sampler_params all = *params;
  const std::vector<sampler_stage> order = order_of(all);
  *params = sampler_params_default();
  std::copy_if(order.begin(), order.end(), params->stages, is_edit);
  params->guidance_scale = all.guidance_scale;
  params->repetition_penalty = all.repetition_penalty;
  params->frequency_penalty = all.frequency_penalty;
  params->presence_penalty = all.presence_penalty;
  params->penalty_window = all.penalty_window;
  params->penalty_scope = all.penalty_scope;
  params->penalty_form = all.penalty_form;
  params->exponential_decay_start = all.exponential_decay_start;
  params->exponential_decay_factor = all.exponential_decay_factor;
  params->dry_multiplier = all.dry_multiplier;
  params->dry_base = all.dry_base;
  params->dry_allowed_length = all.dry_allowed_length;
  params->dry_window = all.dry_window;
  params->no_repeat_ngram_size = all.no_repeat_ngram_size;
  params->min_new_tokens = all.min_new_tokens;
  params->bad_word_scope = all.bad_word_scope;
}

void turn_off_other_edits(sampler_stage stage, sampler_params *params, sampler_pipeline *lists) {
  for (const sampler_stage other : order_of(*params)) {
    if (other != stage) turn_off_edit(other, params, lists);
  }
}

std::vector<Part> parts_of(sampler_stage stage, const sampler_pipeline &lists) {
  std::vector<Part> parts;
  const auto add = [&](bool has, const char *name, auto &&copy) {
    if (!has) return;
    parts.push_back({name, bare(lists)});
    copy(&parts.back().lists);
  };
  if (stage == SAMPLER_STAGE_BIAS) {
    add(lists.guidance_logits, "guidance_logits", [&](sampler_pipeline *to) {
      to->guidance_logits = lists.guidance_logits;
      to->num_guidance_rows = lists.num_guidance_rows;
      to->guidance_row_indices = lists.guidance_row_indices;
    });
    add(lists.biased.offsets, "biased", [&](sampler_pipeline *to) {
      to->biased = lists.biased;
      to->biases = lists.biases;
      to->bias_contexts = lists.bias_contexts;
    });
    add(lists.dense_bias, "dense_bias", [&](sampler_pipeline *to) {
      to->dense_bias = lists.dense_bias;
      to->num_dense_biases = lists.num_dense_biases;
      to->dense_bias_stride = lists.dense_bias_stride;
    });
  } else if (stage == SAMPLER_STAGE_MASK) {
    add(lists.allowed.offsets, "allowed",
        [&](sampler_pipeline *to) { to->allowed = lists.allowed; });
    add(lists.banned.offsets, "banned", [&](sampler_pipeline *to) { to->banned = lists.banned; });
    add(lists.stop.offsets, "stop", [&](sampler_pipeline *to) { to->stop = lists.stop; });
    add(lists.bad_words.offsets, "bad_words", [&](sampler_pipeline *to) {
      to->bad_words = lists.bad_words;
      to->bad_word_offsets = lists.bad_word_offsets;
    });
    add(lists.token_bitmasks, "token_bitmasks", [&](sampler_pipeline *to) {
      to->token_bitmasks = lists.token_bitmasks;
      to->num_token_bitmasks = lists.num_token_bitmasks;
      to->token_bitmask_stride = lists.token_bitmask_stride;
      to->token_bitmask_indices = lists.token_bitmask_indices;
    });
  }
  return parts;
}

std::string numbers_of(sampler_stage stage, const sampler_params &params,
                       const sampler_pipeline &lists) {
  const sampler_params off = sampler_params_default();
  std::string text;
  const auto add = [&](const char *name, const std::string &value) {
    text += (text.empty() ? "" : ", ") + std::string(name) + " " + value;
  };
  for (const Real &number : kReals) {
    const float value = params.*number.member;
    if (number.stage != stage || value == off.*number.member) continue;
    char digits[64];
    std::snprintf(digits, sizeof digits, "%g", double(value));
    add(number.name, digits);
  }
  for (const Whole &number : kWholes) {
    const int32_t value = params.*number.member;
    if (number.stage == stage && value != off.*number.member) {
      add(number.name, std::to_string(value));
    }
  }
  for (const Choice &choice : kChoices) {
    const int32_t value = params.*choice.member;
    // A preset sets it, whether there are bad words or not.
    const bool is_of_bad_words = choice.member == &sampler_params::bad_word_scope;
    if (is_of_bad_words && !lists.bad_words.offsets) continue;
    if (choice.stage == stage && value != off.*choice.member) {
      add(choice.name, choice.constants[value]);
    }
  }
  if (is_window(stage) && params.min_keep > 1) add("min_keep", std::to_string(params.min_keep));
  return text;
}

}  // namespace explain
