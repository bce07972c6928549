// The library's own names, as an engine's parameters: members of sampler_params, and lists of
// sampler_pipeline.
#include "engine_own.h"

#include <algorithm>
#include <string>

namespace engine_parameters {
namespace {

using P = sampler_params;

constexpr const char *kTies[] = {"exact", "keep", nullptr};
constexpr const char *kSums[] = {"reaches", "exceeds", nullptr};
constexpr const char *kFilterOrders[] = {"sequential", "joint", "min_p_first", nullptr};
constexpr const char *kTemperatureOrders[] = {"first", "last", nullptr};
constexpr const char *kScopes[] = {"standard", "all", "output", nullptr};
constexpr const char *kForms[] = {"divide", "reciprocal", "counts_first", nullptr};
constexpr const char *kPLess[] = {"none", "plain", "norm", nullptr};
constexpr const char *kKinds[] = {"none",       "mirostat_v1", "mirostat_v2",
                                  "adaptive_p", "smoothing",   nullptr};
constexpr const char *kMethods[] = {"inverse_cdf", "gumbel", nullptr};

// The place of a name in a list that ends with NULL.
std::int32_t place_of(const Value &value, const Json &name, const char *const *names) {
  std::string all;
  for (std::int32_t i = 0; names[i]; ++i) {
    if (name == names[i]) return i;
    all += std::string(i == 0 ? "" : ", ") + names[i];
  }
  value.fail("one of " + all);
}

template <std::int32_t P::*Member, const char *const *Names>
void set_name(const Value &value, Request *request) {
  request->params.*Member = place_of(value, value.json, Names);
}

void set_draw_method(const Value &value, Request *request) {
  request->draw_method = place_of(value, value.json, kMethods);
}

sampler_stage stage_named(const Value &value, const Json &name) {
  std::string all;
  for (sampler_stage stage = 1; sampler_stage_name(stage); ++stage) {
    if (name == sampler_stage_name(stage)) return stage;
    all += std::string(stage == 1 ? "" : ", ") + sampler_stage_name(stage);
  }
  value.fail("one of " + all);
}

void set_stages(const Value &value, Request *request) {
  if (!value.json.is_array() || value.json.size() > SAMPLER_MAX_STAGES) {
    value.fail("a list of at most " + std::to_string(SAMPLER_MAX_STAGES) + " names");
  }
  sampler_stage *stage = request->params.stages;
  std::fill_n(stage, SAMPLER_MAX_STAGES, 0);
  for (const Json &name : value.json) *stage++ = stage_named(value, name);
}

void set_bitmask(const Value &value, Request *request) {
  if (!value.json.is_array()) value.fail("a list of words of 32 bits");
  for (const Json &word : value.json) {
    if (!word.is_number_integer() || word.get<double>() < -2147483648.0 ||
        word.get<double>() > 4294967295.0) {
      value.fail("a list of words of 32 bits");
    }
    request->token_bitmask.push_back(static_cast<std::uint32_t>(word.get<std::int64_t>()));
  }
}

void set_bitmask_rule(const Value &value, Request *request) {
  static constexpr const char *kRules[] = {"leaves", "forbids", nullptr};
  request->token_bitmask_rule = place_of(value, value.json, kRules);
}

// One for all new tokens, or a list by their number, negative: none.
void set_forced_token(const Value &value, Request *request) {
  request->forced = value.ids();
  request->is_always_forced = !value.json.is_array();
}

void set_reset_token(const Value &value, Request *request) {
  request->top_p_reset_token_id = value.integer();
}

}  // namespace

const std::map<std::string, Reader> &own_parameters() {
  static const std::map<std::string, Reader> all = {
      {"temperature", set_number<&P::temperature>},
      {"top_p", set_number<&P::top_p>},
      {"min_p", set_number<&P::min_p>},
      {"top_k", set_integer<&P::top_k>},
      {"top_k_ties", set_name<&P::top_k_ties, kTies>},
      {"top_p_ties", set_name<&P::top_p_ties, kTies>},
      {"filter_order", set_name<&P::filter_order, kFilterOrders>},
      {"temperature_order", set_name<&P::temperature_order, kTemperatureOrders>},
      {"guidance_scale", set_number<&P::guidance_scale>},
      {"repetition_penalty", set_number<&P::repetition_penalty>},
      {"frequency_penalty", set_number<&P::frequency_penalty>},
      {"presence_penalty", set_number<&P::presence_penalty>},
      {"penalty_window", set_integer<&P::penalty_window>},
      {"penalty_scope", set_name<&P::penalty_scope, kScopes>},
      {"penalty_form", set_name<&P::penalty_form, kForms>},
      {"exponential_decay_start", set_integer<&P::exponential_decay_start>},
      {"exponential_decay_factor", set_number<&P::exponential_decay_factor>},
      {"dry_multiplier", set_number<&P::dry_multiplier>},
      {"dry_base", set_number<&P::dry_base>},
      {"dry_allowed_length", set_integer<&P::dry_allowed_length>},
      {"dry_window", set_integer<&P::dry_window>},
      {"no_repeat_ngram_size", set_integer<&P::no_repeat_ngram_size>},
      {"min_new_tokens", set_integer<&P::min_new_tokens>},
      {"bad_word_scope", set_name<&P::bad_word_scope, kScopes>},
      {"dynamic_temperature_range", set_number<&P::dynamic_temperature_range>},
      {"dynamic_temperature_exponent", set_number<&P::dynamic_temperature_exponent>},
      {"typical_p", set_number<&P::typical_p>},
      {"top_n_sigma", set_number<&P::top_n_sigma>},
      {"epsilon_cutoff", set_number<&P::epsilon_cutoff>},
      {"eta_cutoff", set_number<&P::eta_cutoff>},
      {"top_h", set_number<&P::top_h>},
      {"p_less", set_name<&P::p_less, kPLess>},
      {"min_k", set_number<&P::min_k>},
      {"top_a", set_number<&P::top_a>},
      {"xtc_probability", set_number<&P::xtc_probability>},
      {"xtc_threshold", set_number<&P::xtc_threshold>},
      {"typical_p_ties", set_name<&P::typical_p_ties, kTies>},
      {"top_p_sum", set_name<&P::top_p_sum, kSums>},
      {"typical_p_sum", set_name<&P::typical_p_sum, kSums>},
      {"cutoff_ties", set_name<&P::cutoff_ties, kTies>},
      {"min_keep", set_integer<&P::min_keep>},
      {"stages", set_stages},
      {"adaptive_kind", set_name<&P::adaptive_kind, kKinds>},
      {"adaptive_target", set_number<&P::adaptive_target>},
      {"adaptive_rate", set_number<&P::adaptive_rate>},
      {"top_p_decay", set_number<&P::top_p_decay>},
      {"top_p_least", set_number<&P::top_p_least>},
      {"top_p_reset_token_id", set_reset_token},
      {"forced_token_id", set_forced_token},
      {"draw_method", set_draw_method},
      {"biased", add_biases},
      {"dense_bias", set_dense_bias},
      {"allowed", add_ids<&Request::allowed>},
      {"banned", add_ids<&Request::banned>},
      {"stop", add_ids<&Request::stop>},
      {"unpenalized", add_ids<&Request::unpenalized>},
      {"bad_words", set_words<&Request::bad_words>},
      {"dry_breakers", set_words<&Request::dry_breakers>},
      {"token_bitmask", set_bitmask},
      {"token_bitmask_rule", set_bitmask_rule},
      {"seed", set_seed},
      {"max_new_tokens", set_length}};
  return all;
}

}  // namespace engine_parameters
