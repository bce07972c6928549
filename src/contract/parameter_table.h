// The parameters that a call may have by slot, as one table: what reads, checks, copies or digests
// them goes through it. A new parameter needs a row here, members of sampler_params,
// sampler_row_params and Pipeline, and its stage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "contract/adaptive_values.h"
#include "contract/filters.h"
#include "contract/host_device.h"
#include "contract/pipeline.h"
#include "contract/windows.h"
#include "sampler/sampling.h"

namespace sampler::contract {

// What a parameter without an array may be.
enum class ParameterValues { kAny, kNotNan, kFinite, kNotNegative, kAdaptiveKind, kPLessKind };

// A parameter of sampler_params, and its array in sampler_row_params.
struct ParameterInfo {
  using IsOn = bool(const sampler_params &, const sampler_row_params &);
  static constexpr size_t kNoScalar = ~size_t(0);

  const char *row_path;  // "row_params->top_p"
  size_t scalar, array;  // offsets of the members
  size_t size;           // bytes of a value
  bool is_float;
  sampler_stage stage;  // 0: all
  ParameterValues values;
  IsOn *scalar_is_on;  // whether scalars turn the stage on; null: it only tunes it

  const char *path() const { return row_path + sizeof "row_" - 1; }  // "params->top_p"
  bool turns_on() const { return scalar_is_on != nullptr; }

  // A scalar of 4 bytes.
  template <class T>
  T scalar_in(const sampler_params &params) const {
    T value;
    static_assert(sizeof value == 4);
    std::memcpy(&value, reinterpret_cast<const char *>(&params) + scalar, sizeof value);
    return value;
  }
  void set_scalar(sampler_params *params, uint32_t bits) const {
    std::memcpy(reinterpret_cast<char *>(params) + scalar, &bits, sizeof bits);
  }

  template <class T = void>
  const T *array_in(const sampler_row_params &arrays) const {
    const T *address;
    std::memcpy(&address, reinterpret_cast<const char *>(&arrays) + array, sizeof address);
    return address;
  }
  void set_array(sampler_row_params *arrays, const void *address) const {
    std::memcpy(reinterpret_cast<char *>(arrays) + array, &address, sizeof address);
  }
};

inline bool adaptive_stage_is_on(const sampler_params &params, const sampler_row_params &arrays) {
  if (params.adaptive_kind == SAMPLER_ADAPTIVE_NONE) return false;
  if (arrays.adaptive_target) return true;
  if (params.adaptive_kind == SAMPLER_ADAPTIVE_P) return adaptive_p_is_on(params.adaptive_target);
  return params.adaptive_kind != SAMPLER_ADAPTIVE_SMOOTHING ||
         smoothing_is_on(params.adaptive_target);
}

// Rows: the name in the public structs, the member of the contract's, the type, the stage, what a
// scalar may be, and which scalars `p` turn the stage on.
#define ON(condition) \
  [](const sampler_params &p, [[maybe_unused]] const sampler_row_params &rows) { return condition; }
#define TUNES nullptr

// Members of Parameters.
#define SAMPLER_FILTER_PARAMETERS(P)                                             \
  P(temperature, temperature, float, SAMPLER_STAGE_TEMPERATURE, kNotNan,         \
    ON(p.temperature != 1.0f))                                                   \
  P(top_p, top_p, float, SAMPLER_STAGE_TOP_P, kNotNan, ON(top_p_is_on(p.top_p))) \
  P(min_p, min_p, float, SAMPLER_STAGE_MIN_P, kNotNan, ON(min_p_is_on(p.min_p))) \
  P(top_k, top_k, int32_t, SAMPLER_STAGE_TOP_K, kAny, ON(top_k_is_on(p.top_k)))

// Members of Pipeline.
#define SAMPLER_STAGE_PARAMETERS(P)                                                              \
  P(guidance_scale, guidance.scale, float, SAMPLER_STAGE_BIAS, kFinite,                          \
    ON(guidance_is_on(p.guidance_scale)))                                                        \
  P(repetition_penalty, repetition_penalty, float, SAMPLER_STAGE_PENALTIES, kNotNegative,        \
    ON(p.repetition_penalty != 0.0f && p.repetition_penalty != 1.0f))                            \
  P(frequency_penalty, frequency_penalty, float, SAMPLER_STAGE_PENALTIES, kFinite,               \
    ON(p.frequency_penalty != 0.0f))                                                             \
  P(presence_penalty, presence_penalty, float, SAMPLER_STAGE_PENALTIES, kFinite,                 \
    ON(p.presence_penalty != 0.0f))                                                              \
  P(penalty_window, penalty_window, int32_t, SAMPLER_STAGE_PENALTIES, kAny, TUNES)               \
  P(exponential_decay_start, decay_start, int32_t, SAMPLER_STAGE_PENALTIES, kAny, TUNES)         \
  P(exponential_decay_factor, decay_factor, float, SAMPLER_STAGE_PENALTIES, kNotNegative,        \
    ON(exponential_decay_is_on(p.exponential_decay_factor)))                                     \
  P(dry_multiplier, dry_multiplier, float, SAMPLER_STAGE_DRY, kNotNan,                           \
    ON(p.dry_multiplier > 0.0f))                                                                 \
  P(dry_base, dry_base, float, SAMPLER_STAGE_DRY, kNotNan, TUNES)                                \
  P(dry_allowed_length, dry_allowed_length, int32_t, SAMPLER_STAGE_DRY, kAny, TUNES)             \
  P(dry_window, dry_window, int32_t, SAMPLER_STAGE_DRY, kAny, TUNES)                             \
  P(no_repeat_ngram_size, no_repeat_ngram_size, int32_t, SAMPLER_STAGE_NO_REPEAT_NGRAM, kAny,    \
    ON(p.no_repeat_ngram_size > 0))                                                              \
  P(min_new_tokens, min_new_tokens, int32_t, SAMPLER_STAGE_MASK, kAny, ON(p.min_new_tokens > 0)) \
  P(dynamic_temperature_range, dynamic_range, float, SAMPLER_STAGE_TEMPERATURE, kNotNan,         \
    ON(p.dynamic_temperature_range > 0.0f))                                                      \
  P(dynamic_temperature_exponent, dynamic_exponent, float, SAMPLER_STAGE_TEMPERATURE, kNotNan,   \
    TUNES)                                                                                       \
  P(typical_p, typical_p, float, SAMPLER_STAGE_TYPICAL_P, kNotNan,                               \
    ON(fraction_is_on(p.typical_p)))                                                             \
  P(top_n_sigma, top_n_sigma, float, SAMPLER_STAGE_TOP_N_SIGMA, kNotNan,                         \
    ON(top_n_sigma_is_on(p.top_n_sigma)))                                                        \
  P(epsilon_cutoff, epsilon, float, SAMPLER_STAGE_EPSILON, kNotNan,                              \
    ON(fraction_is_on(p.epsilon_cutoff)))                                                        \
  P(eta_cutoff, eta, float, SAMPLER_STAGE_ETA, kNotNan, ON(fraction_is_on(p.eta_cutoff)))        \
  P(top_h, top_h, float, SAMPLER_STAGE_TOP_H, kNotNan, ON(fraction_is_on(p.top_h)))              \
  P(p_less, p_less, int32_t, SAMPLER_STAGE_P_LESS, kPLessKind,                                   \
    ON(p.p_less != SAMPLER_P_LESS_NONE))                                                         \
  P(min_k, min_k, float, SAMPLER_STAGE_MIN_K, kNotNan, ON(min_k_is_on(p.min_k)))                 \
  P(top_a, top_a, float, SAMPLER_STAGE_TOP_A, kNotNan, ON(top_a_is_on(p.top_a)))                 \
  P(xtc_probability, xtc_probability, float, SAMPLER_STAGE_XTC, kNotNan,                         \
    ON(p.xtc_probability > 0.0f))                                                                \
  P(xtc_threshold, xtc_threshold, float, SAMPLER_STAGE_XTC, kNotNan, TUNES)                      \
  P(min_keep, min_keep, int32_t, 0, kAny, ON(p.min_keep > 1))

// Members of AdaptiveParameters.
#define SAMPLER_ADAPTIVE_PARAMETERS(P)                                      \
  P(adaptive_kind, kind, int32_t, SAMPLER_STAGE_ADAPTIVE, kAdaptiveKind,    \
    ON(adaptive_stage_is_on(p, rows)))                                      \
  P(adaptive_target, target, float, SAMPLER_STAGE_ADAPTIVE, kFinite, TUNES) \
  P(adaptive_rate, rate, float, SAMPLER_STAGE_ADAPTIVE, kFinite, TUNES)     \
  P(top_p_decay, top_p_decay, float, SAMPLER_STAGE_TOP_P, kNotNan,          \
    ON(top_p_decay_is_on(p.top_p_decay)))                                   \
  P(top_p_least, top_p_least, float, SAMPLER_STAGE_TOP_P, kFinite, TUNES)

// All: those with a scalar, then the tokens, of which the forced one belongs to no stage.
// clang-format off
inline constexpr ParameterInfo kParameters[] = {
#define SAMPLER_PARAMETER(name, member, type, stage, values, is_on)                           \
  {"row_params->" #name, offsetof(sampler_params, name), offsetof(sampler_row_params, name),  \
   sizeof(type), std::is_floating_point<type>(), stage, ParameterValues::values, is_on},
    SAMPLER_FILTER_PARAMETERS(SAMPLER_PARAMETER)
    SAMPLER_STAGE_PARAMETERS(SAMPLER_PARAMETER)
    SAMPLER_ADAPTIVE_PARAMETERS(SAMPLER_PARAMETER)
#undef SAMPLER_PARAMETER
#define SAMPLER_TOKENS(name, stage)                                                           \
  {"row_params->" #name, ParameterInfo::kNoScalar, offsetof(sampler_row_params, name),        \
   sizeof(int64_t), false, stage, ParameterValues::kAny, nullptr},
    SAMPLER_TOKENS(top_p_reset_token_id, SAMPLER_STAGE_TOP_P)
    SAMPLER_TOKENS(forced_token_id, 0)
#undef SAMPLER_TOKENS
};
// clang-format on

#define SAMPLER_COUNT(name, member, type, stage, values, is_on) +1
constexpr int kNumFilterParameters = 0 SAMPLER_FILTER_PARAMETERS(SAMPLER_COUNT);
constexpr int kNumStageParameters = 0 SAMPLER_STAGE_PARAMETERS(SAMPLER_COUNT);
#undef SAMPLER_COUNT
constexpr int kNumParameters = sizeof kParameters / sizeof *kParameters;
constexpr int kNumScalars = kNumParameters - 2;
static_assert(sizeof(sampler_row_params) ==
                  offsetof(sampler_row_params, temperature) + kNumParameters * sizeof(void *),
              "the table has every member of sampler_row_params");

// f(index, stage, &number) for the PerSlot of each parameter of a struct; `index` in kParameters.
#define SAMPLER_VISIT(name, member, type, stage, values, is_on) f(index++, stage, &of->member);
template <class Parameters, class F>
SAMPLER_HD void for_each_filter_parameter(Parameters *of, const F &f) {
  int index = 0;
  SAMPLER_FILTER_PARAMETERS(SAMPLER_VISIT)
}
template <class AdaptiveParameters, class F>
SAMPLER_HD void for_each_adaptive_parameter(AdaptiveParameters *of, const F &f) {
  int index = kNumFilterParameters + kNumStageParameters;
  SAMPLER_ADAPTIVE_PARAMETERS(SAMPLER_VISIT)
}
template <class Pipeline, class F>
SAMPLER_HD void for_each_stage_parameter(Pipeline *of, const F &f) {
  int index = kNumFilterParameters;
  SAMPLER_STAGE_PARAMETERS(SAMPLER_VISIT)
  for_each_adaptive_parameter(&of->adaptive, f);
}
#undef SAMPLER_VISIT
#undef SAMPLER_FILTER_PARAMETERS
#undef SAMPLER_STAGE_PARAMETERS
#undef SAMPLER_ADAPTIVE_PARAMETERS
#undef ON
#undef TUNES

}  // namespace sampler::contract
