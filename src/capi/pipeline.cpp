#include "capi/pipeline.h"

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "abi/handle_impl.h"
#include "capi/parameters.h"
#include "capi/stage_order.h"
#include "capi/state_impl.h"

namespace sampler::capi {

using namespace abi;

namespace {

using contract::ParameterInfo;

// Refuses a parameter that is on, or given by slot: `rule` says why.
void refuse(Check &check, const ParameterInfo &parameter, const UserParameters &user,
            const char *rule) {
  if (parameter.array_in(user.arrays)) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is set; %s", parameter.row_path, rule);
  } else if (parameter.turns_on() && parameter.scalar_is_on(user.params, user.arrays)) {
    const double value = parameter.is_float ? double(parameter.scalar_in<float>(user.params))
                                            : double(parameter.scalar_in<int32_t>(user.params));
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %.9g; %s", parameter.path(), value, rule);
  }
}

void read_numbers(Check &check, const UserParameters &user, int64_t num_slots,
                  contract::Pipeline *out) {
  const sampler_params &params = user.params;
  contract::for_each_stage_parameter(out, [&](int index, sampler_stage, auto *number) {
    read_parameter(check, contract::kParameters[index], user, num_slots, number);
  });
  contract::WindowRules &rules = out->window_rules;
  rules.typical_p_ties = check.enumeration("params->typical_p_ties", params.typical_p_ties, 2);
  rules.cutoff_ties = check.enumeration("params->cutoff_ties", params.cutoff_ties, 2);
  rules.typical_p_sum = check.enumeration("params->typical_p_sum", params.typical_p_sum, 2);
  out->adaptive.top_p = {params.top_p, user.arrays.top_p};  // which has been checked
  complete_adaptive(check, user, num_slots, &out->adaptive);
  check.parameters("row_params->forced_token_id", user.arrays.forced_token_id, sizeof(int64_t),
                   num_slots);
  out->forced_token_ids = user.arrays.forced_token_id;
  out->penalty_scope = check.enumeration("params->penalty_scope", params.penalty_scope, 3);
  out->penalty_form =
      contract::PenaltyForm(check.enumeration("params->penalty_form", params.penalty_form, 3));
  out->bad_words_end_output = check.enumeration("params->bad_word_scope", params.bad_word_scope,
                                                3) == SAMPLER_PENALTY_SCOPE_OUTPUT;
}

// Whether all bytes of a struct in [begin, end) are 0.
template <class Struct>
bool is_zero(const Struct &value, size_t begin, size_t end = sizeof(Struct)) {
  static constexpr char kZeros[sizeof(Struct)] = {};
  return std::memcmp(reinterpret_cast<const char *>(&value) + begin, kZeros, end - begin) == 0;
}

constexpr int64_t kAnyNumber = -1;

// `num_slots`: of lists by slot; kAnyNumber: of others. `out` has none so far.
void read_lists(Check &check, const char *name, const sampler_token_lists &lists,
                sampler_id_type type, int64_t num_slots, contract::TokenLists *out) {
  if (!lists.offsets) {
    check.zero(Name(name, "num_lists"), lists.num_lists);
    check.zero(Name(name, "num_token_ids"), lists.num_token_ids);
    return;
  }
  check.range(Name(name, "num_lists"), lists.num_lists, 0, kMaxRows);
  if (num_slots != kAnyNumber && lists.num_lists != 1 && lists.num_lists != num_slots) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "%s.num_lists is %" PRId64 "; it must be 1 or the number of slots, %" PRId64, name,
               lists.num_lists, num_slots);
  }
  check.range(Name(name, "num_token_ids"), lists.num_token_ids, 0, INT64_MAX);
  if (!check.ok()) return;
  check.array(Name(name, "offsets"), lists.offsets, sizeof(int64_t), lists.num_lists + 1,
              Access::kRead);
  check.array(Name(name, "token_ids"), lists.token_ids, contract::size_of_id(type),
              lists.num_token_ids, Access::kRead, Need::kRequired);
  *out = {lists.offsets, lists.token_ids, type, lists.num_lists, lists.num_token_ids};
}

void needs_lists(Check &check, bool has_them, const char *name, const char *lists) {
  if (has_them) return;
  check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is set; it needs pipeline->%s", name, lists);
}

// A state is all that is known of the slots.
void read_state(Check &check, const sampler_pipeline &user, const sampler_handle *handle,
                int64_t num_slots, contract::Pipeline *out) {
  check_state(check, "pipeline->state", handle, user.state);
  const auto is_null = [&](const char *name, const void *data) {
    if (!data) return;
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is set; it must be NULL with pipeline->state",
               name);
  };
  is_null("pipeline->history.offsets", user.history.offsets);
  is_null("pipeline->prompt_lengths", user.prompt_lengths);
  is_null("pipeline->adaptive_values", user.adaptive_values);
  if (!check.ok()) return;
  out->state_slots = user.state->slots;
  if (num_slots <= out->state_slots.num_slots) return;
  check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
             "pipeline->state has %" PRId64 " slots; the call has %" PRId64
             ", and it must have as many or more",
             out->state_slots.num_slots, num_slots);
}

void read_history(Check &check, const sampler_pipeline &user, int64_t num_slots,
                  contract::Pipeline *out) {
  read_lists(check, "pipeline->history", user.history, user.token_id_type, num_slots,
             &out->history);
  if (!out->history && user.prompt_lengths)
    needs_lists(check, false, "pipeline->prompt_lengths", "history");
  check.range("pipeline->max_history_tokens", user.max_history_tokens, 0, kMaxRows);
  out->prompt_lengths = user.prompt_lengths;
  check.array("pipeline->prompt_lengths", user.prompt_lengths, sizeof(int32_t), num_slots,
              Access::kRead);
  const int64_t all = out->state_slots ? out->state_slots.layout.max_tokens
                                       : std::min(user.history.num_token_ids, kMaxRows - 1);
  out->max_history = user.max_history_tokens == 0 ? all : user.max_history_tokens;
}

void read_adaptive_values(Check &check, const sampler_pipeline &user, int64_t num_slots,
                          contract::Pipeline *out) {
  out->adaptive_values = user.adaptive_values;
  check.array("pipeline->adaptive_values", user.adaptive_values, sizeof(float),
              num_slots * SAMPLER_NUM_ADAPTIVE_VALUES, Access::kRead);
}

// The rows are laid out like those of the call.
void read_guidance(Check &check, const sampler_pipeline &user, const contract::Rows &input,
                   int64_t own_cols, int64_t num_rows, contract::Pipeline *out) {
  if (!user.guidance_logits) {
    check.zero("pipeline->num_guidance_rows", user.num_guidance_rows);
    if (user.guidance_row_indices)
      needs_lists(check, false, "pipeline->guidance_row_indices", "guidance_logits");
    return;
  }
  check.range("pipeline->num_guidance_rows", user.num_guidance_rows,
              user.guidance_row_indices ? 1 : num_rows, kMaxRows);
  out->guidance.logits = user.guidance_logits;
  out->guidance.dtype = input.dtype;
  out->guidance.num_rows = user.num_guidance_rows;
  out->guidance.row_indices = user.guidance_row_indices;
  out->guidance.stride = input.stride;
  check.array("pipeline->guidance_logits", user.guidance_logits, contract::size_of(input.dtype),
              user.num_guidance_rows, own_cols, input.stride, Access::kRead);
  check.array("pipeline->guidance_row_indices", user.guidance_row_indices, sizeof(int32_t),
              num_rows, Access::kRead);
}

void read_biases(Check &check, const sampler_pipeline &user, const contract::Rows &input,
                 int64_t num_slots, contract::Pipeline *out) {
  read_lists(check, "pipeline->biased", user.biased, user.token_id_type, num_slots, &out->biased);
  if (!out->biased && user.biases) needs_lists(check, false, "pipeline->biases", "biased");
  if (out->biased) {
    check.array("pipeline->biases", user.biases, sizeof(float), user.biased.num_token_ids,
                Access::kRead, Need::kRequired);
  }
  out->biases = user.biases;
  read_lists(check, "pipeline->bias_contexts", user.bias_contexts, user.token_id_type, kAnyNumber,
             &out->bias_contexts);
  if (out->bias_contexts && user.bias_contexts.num_lists != user.biased.num_token_ids) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "pipeline->bias_contexts.num_lists is %" PRId64
               "; it must be pipeline->biased.num_token_ids, %" PRId64,
               user.bias_contexts.num_lists, user.biased.num_token_ids);
  }
  if (!user.dense_bias) {
    check.zero("pipeline->num_dense_biases", user.num_dense_biases);
    check.zero("pipeline->dense_bias_stride", user.dense_bias_stride);
    return;
  }
  if (user.num_dense_biases != 1 && user.num_dense_biases != num_slots) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "pipeline->num_dense_biases is %" PRId64
               "; it must be 1 or the number of slots, %" PRId64,
               user.num_dense_biases, num_slots);
  }
  check.range("pipeline->dense_bias_stride", user.dense_bias_stride, input.ids ? 1 : 0, kMaxRows);
  out->dense_bias = user.dense_bias;
  out->dense_bias_by_slot = user.num_dense_biases != 1;
  out->dense_bias_stride = user.dense_bias_stride ? user.dense_bias_stride : input.num_cols;
  check.array("pipeline->dense_bias", user.dense_bias, sizeof(float), user.num_dense_biases,
              out->dense_bias_stride, out->dense_bias_stride, Access::kRead);
}

void read_bans(Check &check, const sampler_pipeline &user, int64_t num_slots,
               contract::Pipeline *out) {
  const sampler_id_type type = user.token_id_type;
  read_lists(check, "pipeline->allowed", user.allowed, type, num_slots, &out->allowed);
  read_lists(check, "pipeline->banned", user.banned, type, num_slots, &out->banned);
  read_lists(check, "pipeline->stop", user.stop, type, num_slots, &out->stop);
  read_lists(check, "pipeline->unpenalized", user.unpenalized, type, num_slots, &out->unpenalized);
  read_lists(check, "pipeline->bad_words", user.bad_words, type, kAnyNumber, &out->bad_words);
  if (!out->bad_words && user.bad_word_offsets)
    needs_lists(check, false, "pipeline->bad_word_offsets", "bad_words");
  out->bad_word_offsets = user.bad_word_offsets;
  check.array("pipeline->bad_word_offsets", user.bad_word_offsets, sizeof(int64_t), num_slots + 1,
              Access::kRead);
  read_lists(check, "pipeline->dry_breakers", user.dry_breakers, type, kAnyNumber,
             &out->dry_breakers);
}

void read_bitmasks(Check &check, const sampler_pipeline &user, const contract::Rows &input,
                   int64_t num_rows, contract::Pipeline *out) {
  out->bitmask_rule = check.enumeration("pipeline->token_bitmask_rule", user.token_bitmask_rule,
                                        2) == SAMPLER_MASK_FORBIDS
                          ? contract::BitmaskRule::kForbids
                          : contract::BitmaskRule::kLeaves;
  if (!user.token_bitmasks) {
    check.zero("pipeline->num_token_bitmasks", user.num_token_bitmasks);
    check.zero("pipeline->token_bitmask_stride", user.token_bitmask_stride);
    if (user.token_bitmask_indices)
      needs_lists(check, false, "pipeline->token_bitmask_indices", "token_bitmasks");
    return;
  }
  check.range("pipeline->num_token_bitmasks", user.num_token_bitmasks,
              user.token_bitmask_indices ? 1 : num_rows, kMaxRows);
  check.range("pipeline->token_bitmask_stride", user.token_bitmask_stride, input.ids ? 1 : 0,
              kMaxRows);
  out->bitmasks = user.token_bitmasks;
  out->num_bitmasks = user.num_token_bitmasks;
  out->bitmask_stride =
      user.token_bitmask_stride ? user.token_bitmask_stride : (input.num_cols + 31) / 32;
  out->bitmask_indices = user.token_bitmask_indices;
  check.array("pipeline->token_bitmasks", user.token_bitmasks, sizeof(uint32_t),
              user.num_token_bitmasks, out->bitmask_stride, out->bitmask_stride, Access::kRead);
  check.array("pipeline->token_bitmask_indices", user.token_bitmask_indices, sizeof(int32_t),
              num_rows, Access::kRead);
}

// Whether a parameter that turns its stage on needs the sequence's tokens there.
bool needs_history(sampler_stage stage) {
  return stage == SAMPLER_STAGE_PENALTIES || stage == SAMPLER_STAGE_DRY ||
         stage == SAMPLER_STAGE_NO_REPEAT_NGRAM || stage == SAMPLER_STAGE_MASK;
}

// Refuses what would be dropped for want of a list, or of a draw.
void check_needs(Check &check, const UserParameters &user, const contract::Pipeline &out,
                 sampler_input_kind kind, Draws draws) {
  for (const ParameterInfo &parameter : other_parameters()) {
    if (parameter.turns_on() && needs_history(parameter.stage) && !out.has_text())
      refuse(check, parameter, user, "it needs pipeline->history or pipeline->state");
    if (parameter.turns_on() && parameter.stage == SAMPLER_STAGE_XTC && draws == Draws::kNo)
      refuse(check, parameter, user, "sampler_filter draws no coin");
    if (parameter.stage == SAMPLER_STAGE_TEMPERATURE && kind == SAMPLER_PROBABILITIES &&
        !parameter.array_in(user.arrays))
      refuse(check, parameter, user, "it needs SAMPLER_LOGITS");
  }
  needs_lists(check, !out.bad_words || out.has_text(), "pipeline->bad_words",
              "history or pipeline->state");
  needs_lists(check, !out.bias_contexts || out.has_text(), "pipeline->bias_contexts",
              "history or pipeline->state");
  if (out.guidance.may_guide()) {
    needs_lists(check, out.guidance.logits, "guidance_scale", "guidance_logits");
  }
  if (out.stop) return;
  const bool has_minimum = out.min_new_tokens.array || out.min_new_tokens.value > 0;
  if (has_minimum) needs_lists(check, false, "min_new_tokens", "stop");
  if (out.may_decay()) needs_lists(check, false, "exponential_decay_factor", "stop");
}

// Whether numbers by slot that turn no stage on may be invalid, which makes a row bad all the same.
bool may_be_invalid(const UserParameters &user) {
  const OtherParameters all = other_parameters();
  return std::any_of(all.begin(), all.end(), [&](const ParameterInfo &parameter) {
    return parameter.is_float && !parameter.turns_on() && parameter.array_in(user.arrays);
  });
}

}  // namespace

// Most calls have none, and should not take the time to look at each. top_p_sum is a rule of top-p.
bool has_other_numbers(const UserParameters &parameters) {
  constexpr size_t kFirst = offsetof(sampler_params, guidance_scale);
  constexpr size_t kSum = offsetof(sampler_params, top_p_sum);
  constexpr size_t kAfterSum = offsetof(sampler_params, typical_p_sum);
  return !is_zero(parameters.params, kFirst, kSum) || !is_zero(parameters.params, kAfterSum) ||
         !is_zero(parameters.arrays, offsetof(sampler_row_params, guidance_scale));
}

const contract::Pipeline *read_pipeline(Check &check, const UserParameters &parameters,
                                        const sampler_pipeline *user, const sampler_handle *handle,
                                        const char *rows_name, const contract::Rows &input,
                                        int64_t own_cols, int64_t num_slots, int64_t num_rows,
                                        Draws draws, contract::FilterRules *rules,
                                        std::optional<contract::Pipeline> *storage) {
  if (!user && !has_other_numbers(parameters)) return nullptr;
  sampler_pipeline pipeline = {};
  if (user) check.read("pipeline", user, &pipeline);
  if (!check.ok()) return nullptr;
  contract::Pipeline &out = storage->emplace();
  read_numbers(check, parameters, num_slots, &out);
  if (out.forced_token_ids && draws == Draws::kNo) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "row_params->forced_token_id is set; sampler_filter draws no token");
  }
  check.enumeration("pipeline->token_id_type", pipeline.token_id_type, kNumIdTypes);
  if (!check.ok()) return nullptr;
  if (pipeline.state) read_state(check, pipeline, handle, num_slots, &out);
  read_history(check, pipeline, num_slots, &out);
  read_adaptive_values(check, pipeline, num_slots, &out);
  read_guidance(check, pipeline, input, own_cols, num_rows, &out);
  read_biases(check, pipeline, input, num_slots, &out);
  read_bans(check, pipeline, num_slots, &out);
  read_bitmasks(check, pipeline, input, num_rows, &out);
  check_needs(check, parameters, out, input.kind, draws);
  if (!check.ok()) return nullptr;
  read_order(check, parameters, rules, &out);
  if (out.has_edits() && input.kind == SAMPLER_PROBABILITIES) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "pipeline has SAMPLER_STAGE_%s and %s.kind is SAMPLER_PROBABILITIES; edits need "
               "SAMPLER_LOGITS",
               sampler_stage_name(out.edits.stages[0]), rows_name);
  }
  return out.is_on() || may_be_invalid(parameters) ? &out : nullptr;
}

namespace {

// The lists that replace what decides otherwise which tokens are kept.
void read_kept(Check &check, const sampler_token_lists &user, const UserParameters &parameters,
               contract::Pipeline *pipeline, contract::SampleRequest *request) {
  read_lists(check, "kept", user, pipeline->scored_id_type, kAnyNumber, &pipeline->kept);
  if (!check.ok() || !pipeline->kept) return;
  if (user.num_lists != request->num_rows) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "kept.num_lists is %" PRId64 "; it must be the number of output rows, %" PRId64,
               user.num_lists, request->num_rows);
  }
  if (request->input.kind == SAMPLER_PROBABILITIES) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "kept.offsets is set and input.kind is SAMPLER_PROBABILITIES; it must be "
               "SAMPLER_LOGITS");
  }
  const bool has_reports = request->reports || request->out_logprobs;
  if (has_reports && request->logprob_kind != SAMPLER_LOGPROB_PROCESSED) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "reports->logprob_kind is %d; with kept it must be SAMPLER_LOGPROB_PROCESSED, %d",
               int(request->logprob_kind), int(SAMPLER_LOGPROB_PROCESSED));
  }
  for (const ParameterInfo &parameter : other_parameters()) {
    const bool is_temperature = parameter.stage == SAMPLER_STAGE_TEMPERATURE;
    const bool is_adaptive = parameter.stage == SAMPLER_STAGE_ADAPTIVE;
    const bool is_mirostat = is_adaptive && !parameters.arrays.adaptive_kind &&
                             contract::is_mirostat(parameters.params.adaptive_kind);
    if (parameter.turns_on() && (is_temperature || is_adaptive) && !is_mirostat)
      refuse(check, parameter, parameters, "it must be off with kept");
  }
  contract::StageOrder &edits = pipeline->edits;
  const auto *const end = edits.end();
  if (std::find(edits.begin(), end, SAMPLER_STAGE_MASK) == end) edits.add(SAMPLER_STAGE_MASK);
  pipeline->has_windows = false;
  pipeline->adaptive = {};
  request->parameters.top_k = {0};
  request->parameters.top_p = {1.0f};
  request->parameters.min_p = {0.0f};
}

}  // namespace

void read_scored(Check &check, const sampler_score_args &args, const UserParameters &parameters,
                 std::optional<contract::Pipeline> *storage, contract::SampleRequest *request) {
  if (!check.ok()) return;
  if (parameters.arrays.forced_token_id) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "row_params->forced_token_id is set; it must be NULL: token_ids has the tokens");
  }
  if (!*storage) storage->emplace();
  contract::Pipeline &pipeline = **storage;
  request->pipeline = &pipeline;
  pipeline.scored_token_ids = args.token_ids;
  pipeline.scored_id_type = request->out_token_ids.type;
  check.array("token_ids", args.token_ids, contract::size_of_id(pipeline.scored_id_type),
              request->num_rows, Access::kRead, Need::kRequired);
  read_kept(check, args.kept, parameters, &pipeline, request);
}

void refuse_other_stages(Check &check, const UserParameters &parameters, const char *function) {
  if (!has_other_numbers(parameters)) return;
  contract::Pipeline unused;
  read_numbers(check, parameters, 0, &unused);
  char rule[80];
  std::snprintf(rule, sizeof rule, "it must be off: %s does not have that stage", function);
  for (const ParameterInfo &parameter : other_parameters()) {
    refuse(check, parameter, parameters, rule);
  }
  if (parameters.arrays.forced_token_id) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "row_params->forced_token_id is set; %s does not force tokens", function);
  }
  if (lists_stages(parameters.params)) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "params->stages lists an order; %s has that of filter_order and temperature_order",
               function);
  }
}

}  // namespace sampler::capi
