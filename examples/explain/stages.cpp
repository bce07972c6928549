#include "stages.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "explanation.h"

namespace explain {

namespace {

// A number of a stage, and the value that is off.
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
    {SAMPLER_STAGE_PENALTIES, "repetition_penalty", &sampler_params::repetition_penalty},
    {SAMPLER_STAGE_PENALTIES, "frequency_penalty", &sampler_params::frequency_penalty},
    {SAMPLER_STAGE_PENALTIES, "presence_penalty", &sampler_params::presence_penalty},
    {SAMPLER_STAGE_DRY, "dry_multiplier", &sampler_params::dry_multiplier},
    {SAMPLER_STAGE_DRY, "dry_base", &sampler_params::dry_base},
    {SAMPLER_STAGE_TEMPERATURE, "temperature", &sampler_params::temperature},
    {SAMPLER_STAGE_TEMPERATURE, "range", &sampler_params::dynamic_temperature_range},
    {SAMPLER_STAGE_TEMPERATURE, "exponent", &sampler_params::dynamic_temperature_exponent},
    {SAMPLER_STAGE_TYPICAL_P, "typical_p", &sampler_params::typical_p},
    {SAMPLER_STAGE_TOP_N_SIGMA, "top_n_sigma", &sampler_params::top_n_sigma},
    {SAMPLER_STAGE_EPSILON, "epsilon_cutoff", &sampler_params::epsilon_cutoff},
    {SAMPLER_STAGE_ETA, "eta_cutoff", &sampler_params::eta_cutoff},
    {SAMPLER_STAGE_TOP_H, "top_h", &sampler_params::top_h},
    {SAMPLER_STAGE_XTC, "xtc_probability", &sampler_params::xtc_probability},
    {SAMPLER_STAGE_XTC, "xtc_threshold", &sampler_params::xtc_threshold},
    {SAMPLER_STAGE_TOP_P, "top_p", &sampler_params::top_p},
    {SAMPLER_STAGE_TOP_P, "top_p_decay", &sampler_params::top_p_decay},
    {SAMPLER_STAGE_MIN_P, "min_p", &sampler_params::min_p},
    {SAMPLER_STAGE_ADAPTIVE, "adaptive_target", &sampler_params::adaptive_target},
    {SAMPLER_STAGE_ADAPTIVE, "adaptive_rate", &sampler_params::adaptive_rate},
};
constexpr Whole kWholes[] = {
    {SAMPLER_STAGE_MASK, "min_new_tokens", &sampler_params::min_new_tokens},
    {SAMPLER_STAGE_PENALTIES, "penalty_window", &sampler_params::penalty_window},
    {SAMPLER_STAGE_DRY, "dry_allowed_length", &sampler_params::dry_allowed_length},
    {SAMPLER_STAGE_DRY, "dry_window", &sampler_params::dry_window},
    {SAMPLER_STAGE_NO_REPEAT_NGRAM, "no_repeat_ngram_size", &sampler_params::no_repeat_ngram_size},
    {SAMPLER_STAGE_TOP_K, "top_k", &sampler_params::top_k},
    {SAMPLER_STAGE_ADAPTIVE, "adaptive_kind", &sampler_params::adaptive_kind},
};

std::string lists_of(sampler_stage stage, const sampler_pipeline &lists) {
  std::string text;
  const auto add = [&](bool has, const char *name) {
    if (has) text += std::string(text.empty() ? "" : ", ") + name;
  };
  if (stage == SAMPLER_STAGE_BIAS) {
    add(lists.biased.offsets, "biased");
    add(lists.dense_bias, "dense_bias");
  } else if (stage == SAMPLER_STAGE_MASK) {
    add(lists.allowed.offsets, "allowed");
    add(lists.banned.offsets, "banned");
    add(lists.stop.offsets, "stop");
    add(lists.bad_words.offsets, "bad_words");
    add(lists.token_bitmasks, "token_bitmasks");
  }
  return text;
}

}  // namespace

const char *stage_name(int stage) {
  constexpr const char *kNames[] = {"",
                                    "BIAS",
                                    "MASK",
                                    "PENALTIES",
                                    "DRY",
                                    "NO_REPEAT_NGRAM",
                                    "TEMPERATURE",
                                    "TYPICAL_P",
                                    "TOP_N_SIGMA",
                                    "EPSILON",
                                    "ETA",
                                    "TOP_H",
                                    "XTC",
                                    "TOP_K",
                                    "TOP_P",
                                    "MIN_P",
                                    "ADAPTIVE"};
  return stage > 0 && stage < int(std::size(kNames)) ? kNames[stage] : "?";
}

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

std::string numbers_of(sampler_stage stage, const sampler_params &params,
                       const sampler_pipeline *pipeline) {
  const sampler_params off = sampler_params_default();
  std::string text = pipeline ? lists_of(stage, *pipeline) : "";
  const auto add = [&](const char *name, double value) {
    char number[64];
    std::snprintf(number, sizeof number, "%s%s %g", text.empty() ? "" : ", ", name, value);
    text += number;
  };
  for (const Real &number : kReals) {
    const float value = params.*number.member;
    if (number.stage == stage && value != off.*number.member) add(number.name, double(value));
  }
  for (const Whole &number : kWholes) {
    const int32_t value = params.*number.member;
    if (number.stage == stage && value != off.*number.member) add(number.name, value);
  }
  return text;
}

}  // namespace explain
