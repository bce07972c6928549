#include "capi/presets.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace sampler::capi {

// Rules and defaults; what is 0 here is as in sampler_params_default().
struct Preset {
  const char *name;  // of the engine, or with "@" and its version

  sampler_stage stages[SAMPLER_MAX_STAGES];

  sampler_tie_rule top_k_ties, top_p_ties, typical_p_ties, cutoff_ties;
  sampler_sum_rule top_p_sum, typical_p_sum;
  sampler_filter_order filter_order;
  sampler_penalty_scope penalty_scope;
  sampler_penalty_form penalty_form;
  sampler_penalty_scope bad_word_scope;

  // The engine's defaults where they differ from the library's.
  float temperature, top_p, min_p;
  int32_t top_k;
  int32_t penalty_window, dry_window;
};

namespace {

enum : sampler_stage {
  kBias = SAMPLER_STAGE_BIAS,
  kMask = SAMPLER_STAGE_MASK,
  kPenalties = SAMPLER_STAGE_PENALTIES,
  kDry = SAMPLER_STAGE_DRY,
  kNgram = SAMPLER_STAGE_NO_REPEAT_NGRAM,
  kTemperature = SAMPLER_STAGE_TEMPERATURE,
  kTypicalP = SAMPLER_STAGE_TYPICAL_P,
  kTopNSigma = SAMPLER_STAGE_TOP_N_SIGMA,
  kEpsilon = SAMPLER_STAGE_EPSILON,
  kEta = SAMPLER_STAGE_ETA,
  kTopH = SAMPLER_STAGE_TOP_H,
  kXtc = SAMPLER_STAGE_XTC,
  kTopK = SAMPLER_STAGE_TOP_K,
  kTopP = SAMPLER_STAGE_TOP_P,
  kMinP = SAMPLER_STAGE_MIN_P,
  kAdaptive = SAMPLER_STAGE_ADAPTIVE
};
constexpr sampler_tie_rule kExact = SAMPLER_TIES_EXACT, kKeep = SAMPLER_TIES_KEEP;
constexpr sampler_sum_rule kReaches = SAMPLER_SUM_REACHES, kExceeds = SAMPLER_SUM_EXCEEDS;
constexpr sampler_filter_order kSequential = SAMPLER_FILTERS_SEQUENTIAL,
                               kJoint = SAMPLER_FILTERS_JOINT;
constexpr sampler_penalty_scope kStandard = SAMPLER_PENALTY_SCOPE_STANDARD,
                                kAll = SAMPLER_PENALTY_SCOPE_ALL,
                                kOutput = SAMPLER_PENALTY_SCOPE_OUTPUT;
constexpr sampler_penalty_form kDivide = SAMPLER_PENALTY_DIVIDE,
                               kReciprocal = SAMPLER_PENALTY_RECIPROCAL,
                               kCountsFirst = SAMPLER_PENALTY_COUNTS_FIRST;

// An engine's newest version comes first.
// clang-format off
constexpr Preset kPresets[] = {
    // stages
    // ties of top-k, top-p, typical-p, epsilon and eta; sums of top-p, typical-p
    // order of filters; scope, form of penalties; scope of bad words
    // temperature, top-p, min-p, top-k; windows of penalties, DRY
    {"llama.cpp@0.5",
     {kBias, kMask, kPenalties, kDry, kTopNSigma, kTopK, kTypicalP, kTopP, kMinP, kXtc, kTemperature,
      kAdaptive},
     kExact, kExact, kExact, kExact, kReaches, kExceeds,
     kSequential, kAll, kDivide, kAll,
     0.8f, 0.95f, 0.05f, 40, 64, 64},
    {"vllm@0.33",
     {kMask, kBias, kPenalties, kTemperature, kMinP, kTopK, kTopP},
     kKeep, kExact, kExact, kExact, kReaches, kReaches,
     kSequential, kStandard, kReciprocal, kOutput,
     1.0f, 1.0f, 0.0f, 0, 0, 0},
    {"vllm_v2@0.33",
     {kMask, kBias, kPenalties, kTemperature, kMinP, kTopK, kTopP},
     kExact, kExact, kExact, kExact, kReaches, kReaches,
     kSequential, kStandard, kReciprocal, kOutput,
     1.0f, 1.0f, 0.0f, 0, 0, 0},
    {"sglang@0.5.23",
     {kPenalties, kMask, kBias, kTemperature, kTopK, kTopP, kMinP},
     kExact, kExact, kExact, kExact, kExceeds, kReaches,
     kJoint, kOutput, kCountsFirst, kAll,
     1.0f, 1.0f, 0.0f, 0, 0, 0},
    {"tensorrt_llm@1.3",
     {kMask, kNgram, kBias, kPenalties, kTemperature, kMinP, kTopK, kTopP},
     kExact, kExact, kExact, kExact, kReaches, kReaches,
     kSequential, kAll, kDivide, kAll,
     1.0f, 1.0f, 0.0f, 0, 0, 0},
    {"hugging_face@5.23",
     {kBias, kPenalties, kNgram, kMask, kTemperature, kTopH, kTopK, kTopP, kMinP, kTypicalP, kEpsilon,
      kEta},
     kKeep, kExact, kKeep, kKeep, kReaches, kReaches,
     kSequential, kAll, kDivide, kAll,
     1.0f, 1.0f, 0.0f, 50, 0, 0},
    {"flashinfer@0.7.2",
     {kTemperature, kTopK, kTopP, kMinP},
     kKeep, kKeep, kExact, kExact, kReaches, kReaches,
     kSequential, kStandard, kDivide, kAll,
     1.0f, 1.0f, 0.0f, 0, 0, 0},
    {"hf_vllm_aligned",
     {kTemperature, kTopK, kTopP},
     kKeep, kExact, kExact, kExact, kReaches, kReaches,
     kSequential, kStandard, kDivide, kAll,
     1.0f, 1.0f, 0.0f, 0, 0, 0},
    {"nano_vllm",
     {kTemperature},
     kExact, kExact, kExact, kExact, kReaches, kReaches,
     kSequential, kStandard, kDivide, kAll,
     1.0f, 1.0f, 0.0f, 0, 0, 0},
};
// clang-format on

// An engine's name says its newest version.
bool names(const char *name, const Preset &preset) {
  const size_t length = std::strlen(name);
  const char *const own = preset.name;
  return std::strncmp(name, own, length) == 0 && (own[length] == '\0' || own[length] == '@');
}

// "a, b, c".
struct Names {
  char text[200] = "";
  Names() {
    for (const Preset &preset : kPresets) {
      if (text[0]) std::strncat(text, ", ", sizeof text - std::strlen(text) - 1);
      std::strncat(text, preset.name, sizeof text - std::strlen(text) - 1);
    }
  }
};

}  // namespace

const Preset *find_preset(Check &check, const char *name) {
  check.required("name", name);
  if (!check.ok()) return nullptr;
  const Preset *const found = std::find_if(std::begin(kPresets), std::end(kPresets),
                                           [&](const Preset &one) { return names(name, one); });
  if (found != std::end(kPresets)) return found;
  check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
             "name is \"%.32s\"; it must be one of %s, the version may be left out", name,
             Names().text);
  return nullptr;
}

sampler_params params_of(const Preset &preset) {
  sampler_params params = sampler_params_default();
  std::copy(std::begin(preset.stages), std::end(preset.stages), params.stages);
  params.top_k_ties = preset.top_k_ties;
  params.top_p_ties = preset.top_p_ties;
  params.typical_p_ties = preset.typical_p_ties;
  params.cutoff_ties = preset.cutoff_ties;
  params.top_p_sum = preset.top_p_sum;
  params.typical_p_sum = preset.typical_p_sum;
  params.filter_order = preset.filter_order;
  params.penalty_scope = preset.penalty_scope;
  params.penalty_form = preset.penalty_form;
  params.bad_word_scope = preset.bad_word_scope;
  params.temperature = preset.temperature;
  params.top_p = preset.top_p;
  params.min_p = preset.min_p;
  params.top_k = preset.top_k;
  params.penalty_window = preset.penalty_window;
  params.dry_window = preset.dry_window;
  return params;
}

const char *preset_name(int32_t index) {
  return index >= 0 && index < int32_t(std::size(kPresets)) ? kPresets[index].name : nullptr;
}

}  // namespace sampler::capi
