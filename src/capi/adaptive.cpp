#include "capi/adaptive.h"

namespace sampler::capi {

namespace {

constexpr int32_t kNumKinds = SAMPLER_ADAPTIVE_P + 1;

void check_finite(Check &check, const char *name, float value) {
  check.not_nan(name, value);
  if (contract::is_finite(value)) return;
  check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %.9g; it must be finite", name, double(value));
}

// Numbers that no array stands for.
void check_numbers(Check &check, const UserParameters &user) {
  const sampler_params &params = user.params;
  const sampler_row_params &arrays = user.arrays;
  if (!arrays.adaptive_kind)
    check.enumeration("params->adaptive_kind", params.adaptive_kind, kNumKinds);
  if (!arrays.adaptive_target) {
    check_finite(check, "params->adaptive_target", params.adaptive_target);
    const bool is_mirostat = params.adaptive_kind == SAMPLER_ADAPTIVE_MIROSTAT_V1 ||
                             params.adaptive_kind == SAMPLER_ADAPTIVE_MIROSTAT_V2;
    if (is_mirostat && !arrays.adaptive_kind && params.adaptive_target < 0.0f) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "params->adaptive_target is %.9g; mirostat's must not be negative",
                 double(params.adaptive_target));
    }
  }
  if (!arrays.adaptive_rate) check_finite(check, "params->adaptive_rate", params.adaptive_rate);
  if (!arrays.top_p_decay) check.not_nan("params->top_p_decay", params.top_p_decay);
  if (!arrays.top_p_least) check_finite(check, "params->top_p_least", params.top_p_least);
}

}  // namespace

contract::AdaptiveParameters read_adaptive(Check &check, const UserParameters &user,
                                           const contract::PerSlot<float> &top_p,
                                           int64_t num_slots) {
  const sampler_params &params = user.params;
  const sampler_row_params &arrays = user.arrays;
  contract::AdaptiveParameters result;
  if (!check.ok()) return result;
  check_numbers(check, user);
  const auto read = [&](const char *name, auto value, const auto *array) {
    return read_per_slot(check, name, value, array, num_slots);
  };
  result.kind = read("row_params->adaptive_kind", params.adaptive_kind, arrays.adaptive_kind);
  result.target =
      read("row_params->adaptive_target", params.adaptive_target, arrays.adaptive_target);
  result.rate = read("row_params->adaptive_rate", params.adaptive_rate, arrays.adaptive_rate);
  result.top_p = top_p;
  result.top_p_decay = read("row_params->top_p_decay", params.top_p_decay, arrays.top_p_decay);
  result.top_p_least = read("row_params->top_p_least", params.top_p_least, arrays.top_p_least);
  check.parameters("row_params->top_p_reset_token_id", arrays.top_p_reset_token_id, sizeof(int64_t),
                   num_slots);
  result.top_p_reset_tokens = arrays.top_p_reset_token_id;
  return result;
}

}  // namespace sampler::capi
