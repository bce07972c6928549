#include "capi/parameters.h"

namespace sampler::capi {

using contract::ParameterInfo;
using contract::ParameterValues;

namespace {

void check_float(Check &check, const ParameterInfo &parameter, float value) {
  check.not_nan(parameter.path(), value);
  if (parameter.values == ParameterValues::kNotNan) return;
  const bool may_be_negative = parameter.values == ParameterValues::kFinite;
  if (contract::is_finite(value) && (value >= 0.0f || may_be_negative)) return;
  check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %.9g; it must be finite%s", parameter.path(),
             double(value), may_be_negative ? "" : " and not negative");
}

}  // namespace

void check_scalar(Check &check, const ParameterInfo &parameter, const UserParameters &user) {
  if (parameter.array_in(user.arrays)) return;
  if (parameter.is_float) {
    check_float(check, parameter, parameter.scalar_in<float>(user.params));
  } else if (parameter.values == ParameterValues::kAdaptiveKind) {
    check.enumeration(parameter.path(), user.params.adaptive_kind, SAMPLER_ADAPTIVE_SMOOTHING + 1);
  } else if (parameter.values == ParameterValues::kPLessKind) {
    check.enumeration(parameter.path(), user.params.p_less, SAMPLER_P_LESS_NORM + 1);
  }
}

void complete_adaptive(Check &check, const UserParameters &user, int64_t num_slots,
                       contract::AdaptiveParameters *out) {
  const sampler_adaptive_kind kind =
      out->kind.array ? sampler_adaptive_kind(SAMPLER_ADAPTIVE_NONE) : out->kind.value;
  const bool is_mirostat = contract::is_mirostat(kind);
  const bool is_smoothing = kind == SAMPLER_ADAPTIVE_SMOOTHING;
  if ((is_mirostat || is_smoothing) && !out->target.array && out->target.value < 0.0f) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "params->adaptive_target is %.9g; %s must not be negative",
               double(out->target.value), is_mirostat ? "mirostat's" : "smoothing's");
  }
  if (is_smoothing && !out->rate.array &&
      !contract::are_valid_smoothing_rules(0.0f, out->rate.value)) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "params->adaptive_rate is %.9g; smoothing's must be 0, or from 1 to 3",
               double(out->rate.value));
  }
  out->top_p_reset_tokens = user.arrays.top_p_reset_token_id;
  check.parameters("row_params->top_p_reset_token_id", out->top_p_reset_tokens, sizeof(int64_t),
                   num_slots);
}

contract::AdaptiveParameters read_adaptive(Check &check, const UserParameters &user,
                                           const contract::PerSlot<float> &top_p,
                                           int64_t num_slots) {
  contract::AdaptiveParameters result;
  if (!check.ok()) return result;
  contract::for_each_adaptive_parameter(&result, [&](int index, sampler_stage, auto *number) {
    read_parameter(check, contract::kParameters[index], user, num_slots, number);
  });
  result.top_p = top_p;
  complete_adaptive(check, user, num_slots, &result);
  return result;
}

}  // namespace sampler::capi
