#include "decoding/session/session_arguments.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "capi/operations.h"
#include "capi/reports.h"
#include "capi/requests.h"
#include "capi/views.h"
#include "contract/adaptive.h"
#include "contract/edits.h"
#include "contract/elements.h"
#include "contract/request.h"
#include "decoding/ngram/ngram_calls.h"

namespace sampler::decoding {

namespace {

using abi::Access;
using abi::Need;

constexpr int64_t kMostSequences = int64_t(1) << 20;
constexpr int64_t kMostDrafts = 1024;
constexpr int64_t kMostLookupTokens = int64_t(1) << 27;
constexpr int64_t kMostListed = int64_t(1) << 20;
constexpr int64_t kMostCounted = int64_t(1) << 62;

// Refuses members that the session provides, or that belong to a step.
void check_pipeline(Check &check, const sampler_pipeline &pipeline) {
  const struct {
    const char *name;
    bool is_set;
  } members[] = {
      {"history", pipeline.history.offsets || pipeline.history.num_lists != 0},
      {"prompt_lengths", pipeline.prompt_lengths != nullptr},
      {"max_history_tokens", pipeline.max_history_tokens != 0},
      {"adaptive_values", pipeline.adaptive_values != nullptr},
      {"state", pipeline.state != nullptr},
      {"token_bitmask_indices", pipeline.token_bitmask_indices != nullptr},
  };
  for (const auto &member : members) {
    if (!member.is_set) continue;
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "pipeline->%s is set; it must be 0, the session's texts are the history",
               member.name);
  }
  if (pipeline.guidance_logits) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "pipeline->guidance_logits is set; it must be NULL in a session");
  }
  if (pipeline.token_id_type != SAMPLER_ID_I32) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "pipeline->token_id_type is %d; it must be SAMPLER_ID_I32 in a session",
               int(pipeline.token_id_type));
  }
}

void check_rates(Check &check, const sampler_acceptance_params &acceptance, int64_t max_drafts) {
  const float *const rates = acceptance.synthetic_rates;
  check.array("acceptance->synthetic_rates", rates, sizeof(float), max_drafts, Access::kRead);
  check.shares("acceptance->synthetic_rates", rates, max_drafts);
  if (acceptance.rule == SAMPLER_ACCEPT_SYNTHETIC && !rates && max_drafts > 0) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "acceptance->rule is SAMPLER_ACCEPT_SYNTHETIC; it needs synthetic_rates");
  }
}

}  // namespace

void read_options(Check &check, const sampler_session_options *user_options, Session::Config *out) {
  sampler_session_options &options = out->options;
  if (!check.read("options", user_options, &options)) return;
  check.range("max_sequences", options.max_sequences, 1, kMostSequences + 1);
  check.range("max_context", options.max_context, 1, capi::kMaxRows);
  check.range("vocabulary_size", options.vocabulary_size, 1, contract::kMaxVocabulary);
  check.enumeration("logits_dtype", options.logits_dtype, 3);
  check.enumeration("keep_drafter_rows", options.keep_drafter_rows, 2);
  check.enumeration("has_draft_trees", options.has_draft_trees, 2);
  check.enumeration("has_adaptive_gamma", options.has_adaptive_gamma, 2);
  check.enumeration("has_blocks", options.has_blocks, 2);
  check.enumeration("confidence_kind", options.confidence_kind, 3);
  check.range("filler_top_k", options.filler_top_k, 0, contract::kMaxVocabulary);
  check.range("max_drafts", options.max_drafts, 0, kMostDrafts + 1);
  check.range("drafter_context", options.drafter_context, 0, capi::kMaxRows);
  check.range("lookup_tokens", options.lookup_tokens, 0, kMostLookupTokens + 1);
  check.range("max_end_tokens", options.max_end_tokens, 0, kMostListed + 1);
  check.range("max_stop_sequences", options.max_stop_sequences, 0, kMostListed + 1);
  check.range("max_stop_tokens", options.max_stop_tokens, 0, kMostListed + 1);
  if (check.ok()) {
    check.range("max_top_logprobs", options.max_top_logprobs, 0, options.vocabulary_size + 1);
  }
  if (check.ok() && options.has_blocks && options.vocabulary_size < 2) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "has_blocks is 1 and vocabulary_size 1; it must be above 1");
  }
  if (check.ok() && options.max_sequences * (options.max_drafts + 1) >= capi::kMaxRows) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "max_sequences is %" PRId64 " and max_drafts %" PRId64
               "; max_sequences * (max_drafts + 1) must be below 2^31",
               options.max_sequences, options.max_drafts);
  }
  out->acceptance =
      capi::read_acceptance_params(check, options.acceptance, SAMPLER_ACCEPT_SAMPLE_MATCH);
  capi::check_decoding_acceptance(check, out->acceptance);
  if (check.ok()) check_rates(check, out->acceptance, options.max_drafts);
  out->params = sampler_params_default();
  if (options.params) check.read("params", options.params, &out->params);
  if (contract::guidance_is_on(out->params.guidance_scale)) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "params->guidance_scale is %.9g; it must be 0 or 1 here, sequences have it",
               double(out->params.guidance_scale));
  }
  out->pipeline = abi::sized<sampler_pipeline>();
  options.filler_top_k = std::min(options.filler_top_k, options.vocabulary_size);
  out->drafter_dtype = options.logits_dtype;
  out->has_pipeline = options.pipeline != nullptr;
  if (options.pipeline && check.read("pipeline", options.pipeline, &out->pipeline)) {
    check_pipeline(check, out->pipeline);
  }
}

namespace {

// Checked as 8-byte words, the alignment of sampler_span.
void check_span_array(Check &check, const char *name, const sampler_span *spans, int64_t count,
                      Access access) {
  constexpr int64_t kWords = sizeof(sampler_span) / sizeof(int64_t);
  static_assert(sizeof(sampler_span) % sizeof(int64_t) == 0);
  check.array(name, spans, sizeof(int64_t), count, kWords, kWords, access);
}

}  // namespace

void read_params(Check &check, Session *session, const sampler_params *user_params,
                 sampler_params *out) {
  *out = session->params();
  if (user_params && !check.read("params", user_params, out)) return;
  const sampler_params &common = session->params();
  const struct {
    const char *name;
    int32_t value, common;
  } members[] = {
      {"top_k_ties", out->top_k_ties, common.top_k_ties},
      {"top_p_ties", out->top_p_ties, common.top_p_ties},
      {"filter_order", out->filter_order, common.filter_order},
      {"temperature_order", out->temperature_order, common.temperature_order},
      {"penalty_scope", out->penalty_scope, common.penalty_scope},
      {"penalty_form", out->penalty_form, common.penalty_form},
      {"bad_word_scope", out->bad_word_scope, common.bad_word_scope},
      {"typical_p_ties", out->typical_p_ties, common.typical_p_ties},
      {"top_p_sum", out->top_p_sum, common.top_p_sum},
      {"typical_p_sum", out->typical_p_sum, common.typical_p_sum},
      {"cutoff_ties", out->cutoff_ties, common.cutoff_ties},
  };
  for (const auto &member : members) {
    if (member.value == member.common) continue;
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "params->%s is %d; it must be the session's, %d",
               member.name, int(member.value), int(member.common));
  }
  for (int i = 0; i < SAMPLER_MAX_STAGES; ++i) {
    if (out->stages[i] == common.stages[i]) continue;
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "params->stages[%d] is %d; it must be the session's, %d", i, int(out->stages[i]),
               int(common.stages[i]));
  }
  if (!check.ok()) return;
  const sampler_status status = session->check_params(check.entry(), *out);
  if (status != SAMPLER_OK) check.adopt(status);
}

namespace {

void check_ends(Check &check, const Session &session, const sampler_session_add_args &args) {
  const sampler_session_options &options = session.options();
  check.range("num_end_tokens", args.num_end_tokens, 0, options.max_end_tokens + 1);
  check_tokens(check, "end_token_ids", "num_end_tokens", args.end_token_ids, 0, args.num_end_tokens,
               options.vocabulary_size);
}

void check_stops(Check &check, const Session &session, const sampler_token_lists &stops) {
  const sampler_session_options &options = session.options();
  check.range("stop_sequences.num_lists", stops.num_lists, 0, options.max_stop_sequences + 1);
  check.range("stop_sequences.num_token_ids", stops.num_token_ids, 0, INT64_MAX);
  if (!check.ok() || stops.num_lists == 0) return;
  check.required("stop_sequences.offsets", stops.offsets);
  check.array("stop_sequences.offsets", stops.offsets, sizeof(int64_t), stops.num_lists + 1,
              Access::kRead);
  if (!check.ok()) return;
  for (int64_t i = 0; i < stops.num_lists; ++i) {
    const int64_t begin = stops.offsets[i], end = stops.offsets[i + 1];
    if (begin >= 0 && begin < end && end <= stops.num_token_ids) continue;
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "stop_sequences.offsets[%" PRId64 "] is %" PRId64 " and the next one %" PRId64
               "; a stop sequence must have a token, and lie in [0, num_token_ids), %" PRId64,
               i, begin, end, stops.num_token_ids);
    return;
  }
  const int64_t num_tokens = stops.offsets[stops.num_lists] - stops.offsets[0];
  if (num_tokens > options.max_stop_tokens) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "stop_sequences has %" PRId64
               " tokens; there must be at most max_stop_tokens of the session, %" PRId64,
               num_tokens, options.max_stop_tokens);
  }
  check_tokens(check, "stop_sequences.token_ids", "stop_sequences.num_token_ids",
               static_cast<const int32_t *>(stops.token_ids), stops.offsets[0],
               stops.offsets[stops.num_lists], options.vocabulary_size);
}

// Checks what determines the number of drafts. num_drafts must be checked.
void check_gamma(Check &check, const sampler_session_options &options,
                 const sampler_session_add_args &args) {
  check.enumeration("adaptive_gamma", args.adaptive_gamma, 3);
  check.range("gamma_min", args.gamma_min, 0,
              (args.num_drafts ? args.num_drafts : options.max_drafts) + 1);
  if (!(args.ema_beta >= 0 && args.ema_beta < 1)) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "ema_beta is %.9g; it must be in [0, 1)",
               double(args.ema_beta));
  }
  if (!check.ok()) return;
  const bool is_by_entropy = args.adaptive_gamma == SAMPLER_GAMMA_BY_ENTROPY;
  if (args.adaptive_gamma != SAMPLER_GAMMA_FIXED) {
    const bool has_rows = args.draft_source == SAMPLER_DRAFTS_MODEL && args.draft_top_k == 0;
    const char *const rule =
        !options.has_adaptive_gamma  ? "the session must have has_adaptive_gamma"
        : is_by_entropy && !has_rows ? "BY_ENTROPY needs SAMPLER_DRAFTS_MODEL without draft_top_k"
        : args.draft_source == SAMPLER_DRAFTS_NONE ? "draft_source must not be SAMPLER_DRAFTS_NONE"
                                                   : nullptr;
    if (rule) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "adaptive_gamma is %d; %s",
                 int(args.adaptive_gamma), rule);
    }
  }
  if (!is_by_entropy && (args.gamma_min != 0 || args.ema_beta != 0)) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "gamma_min is %" PRId64
               " and ema_beta %.9g; they must be 0 where adaptive_gamma is not BY_ENTROPY",
               args.gamma_min, double(args.ema_beta));
  }
}

void check_drafts(Check &check, const Session &session, const sampler_session_add_args &args,
                  sampler_ngram *ngram) {
  const sampler_session_options &options = session.options();
  check.enumeration("draft_source", args.draft_source, 4);
  check.range("num_drafts", args.num_drafts, 0, options.max_drafts + 1);
  check.range("min_match", args.min_match, 0, kMostLookupTokens + 1);
  check.enumeration("draft_unknown", args.draft_unknown, 2);
  check.enumeration("ngram_has_text", args.ngram_has_text, 2);
  check.range("ngram_least_count", args.ngram_least_count, 0, INT64_MAX);
  check_share(check, "ngram_least_share", args.ngram_least_share);
  check_share(check, "least_draft_probability", args.least_draft_probability);
  if (!check.ok()) return;
  check.range("draft_top_k", args.draft_top_k, 0,
              (args.num_drafts ? args.num_drafts : options.max_drafts) + 1);
  check_gamma(check, options, args);
  if (!check.ok()) return;
  if (args.draft_top_k > 0) {
    const bool is_whole =
        args.acceptance == SAMPLER_ACCEPT_BLOCK || args.acceptance == SAMPLER_ACCEPT_DEFERRED;
    const char *const rule =
        !options.has_draft_trees                    ? "the session must have has_draft_trees"
        : args.draft_source != SAMPLER_DRAFTS_MODEL ? "draft_source must be SAMPLER_DRAFTS_MODEL"
        : is_whole                                  ? "BLOCK and DEFERRED are for chains"
        : args.least_draft_probability != 0         ? "least_draft_probability must be 0"
                                                    : nullptr;
    if (rule) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "draft_top_k is %" PRId64 "; %s", args.draft_top_k,
                 rule);
    }
  }
  if (args.least_draft_probability != 0 && args.draft_source != SAMPLER_DRAFTS_MODEL) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "least_draft_probability is %.9g and draft_source %d; it must be "
               "SAMPLER_DRAFTS_MODEL",
               double(args.least_draft_probability), int(args.draft_source));
  }
  if (args.draft_source != SAMPLER_DRAFTS_NONE && options.max_drafts == 0) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "draft_source is %d; it must be SAMPLER_DRAFTS_NONE where max_drafts of the "
               "session is 0",
               int(args.draft_source));
  }
  if (asks_for_rows(args) && !options.keep_drafter_rows) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "acceptance is %d and draft_source SAMPLER_DRAFTS_MODEL; the session must have "
               "keep_drafter_rows",
               int(args.acceptance));
  }
  if (args.acceptance == SAMPLER_ACCEPT_SYNTHETIC && !session.has_rates()) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "acceptance is SAMPLER_ACCEPT_SYNTHETIC; the session must have "
               "acceptance->synthetic_rates");
  }
  if (args.draft_source == SAMPLER_DRAFTS_PROMPT_LOOKUP && options.lookup_tokens == 0) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "draft_source is SAMPLER_DRAFTS_PROMPT_LOOKUP; the session must have lookup_tokens");
  }
  const bool has_limits = args.ngram_least_count != 0 || args.ngram_least_share != 0;
  if (args.draft_source != SAMPLER_DRAFTS_NGRAM) {
    if (args.ngram) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "ngram is set and draft_source %d; it must be SAMPLER_DRAFTS_NGRAM",
                 int(args.draft_source));
    }
    if (args.ngram_has_text) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "ngram_has_text is 1 and draft_source %d; it must be SAMPLER_DRAFTS_NGRAM",
                 int(args.draft_source));
    }
    if (has_limits) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "ngram_least_count is %" PRId64
                 " and ngram_least_share %.9g; they must be 0 where draft_source is not "
                 "SAMPLER_DRAFTS_NGRAM",
                 args.ngram_least_count, double(args.ngram_least_share));
    }
    return;
  }
  if (!check.read("ngram", args.ngram, ngram)) return;
  const struct {
    const char *name;
    bool is_set;
  } functions[] = {{"ngram->next_token", ngram->next_token != nullptr},
                   {"ngram->update", ngram->update != nullptr},
                   {"ngram->initialize", ngram->initialize != nullptr}};
  for (const auto &function : functions) {
    if (function.is_set) continue;
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is NULL; it is required", function.name);
  }
  if (has_limits && (!ngram->propose || args.draft_unknown)) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "%s; ngram_least_count and ngram_least_share need it",
               ngram->propose ? "draft_unknown is 1, and must be 0" : "ngram->propose is NULL");
  }
}

// Checks the rules of a text that grows by blocks.
void check_unmask(Check &check, const Session &session, const sampler_session_add_args &args,
                  sampler_unmask_params *unmask) {
  if (!args.unmask || !check.ok()) return;
  const sampler_session_options &options = session.options();
  *unmask = capi::read_unmask_params(check, "unmask", args.unmask);
  if (!options.has_blocks) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "unmask is set; the session must have has_blocks");
  }
  if (args.draft_source != SAMPLER_DRAFTS_NONE) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "draft_source is %d; it must be SAMPLER_DRAFTS_NONE with unmask",
               int(args.draft_source));
  }
  check.range("unmask->block_length", unmask->block_length, 1, options.max_drafts + 2);
  check.range("unmask->mask_token_id", unmask->mask_token_id, 0, options.vocabulary_size);
  if (unmask->confidence == SAMPLER_CONFIDENCE_GIVEN) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "unmask->confidence is SAMPLER_CONFIDENCE_GIVEN; a session computes confidences");
  }
  if (unmask->num_committed <= 0 && unmask->num_steps_left <= 0 && unmask->entropy_bound == 0) {
    unmask->num_committed = 1;
  }
}

}  // namespace

// Refuses stages that need to know what each token follows, or that drawn tokens move.
void check_params_of_blocks(Check &check, const sampler_params &params) {
  const struct {
    const char *name;
    bool is_on;
    double value;
  } members[] = {
      {"exponential_decay_factor",
       contract::exponential_decay_is_on(params.exponential_decay_factor),
       double(params.exponential_decay_factor)},
      {"dry_multiplier", params.dry_multiplier > 0, double(params.dry_multiplier)},
      {"no_repeat_ngram_size", params.no_repeat_ngram_size > 0,
       double(params.no_repeat_ngram_size)},
      {"min_new_tokens", params.min_new_tokens > 0, double(params.min_new_tokens)},
      {"adaptive_kind",
       params.adaptive_kind != SAMPLER_ADAPTIVE_NONE &&
           params.adaptive_kind != SAMPLER_ADAPTIVE_SMOOTHING,
       double(params.adaptive_kind)},
      {"top_p_decay", params.top_p_decay != 0, double(params.top_p_decay)},
  };
  for (const auto &member : members) {
    if (!member.is_on) continue;
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "params->%s is %.9g; it must be off in a text that grows by blocks", member.name,
               member.value);
  }
}

namespace {

// Checks the values of a removed sequence that is resumed.
void check_resumed(Check &check, const sampler_session_add_args &args,
                   sampler_session_sequence *resumed) {
  if (!args.resumed || !check.read("resumed", args.resumed, resumed)) return;
  for (int i = 0; i < SAMPLER_NUM_ADAPTIVE_VALUES; ++i) {
    float &value = resumed->adaptive_values[i];
    if (contract::is_nan(value)) value = contract::quiet_nan();
    if (!contract::is_infinite(value)) continue;
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "resumed->adaptive_values[%d] is %.9g; it must be finite, or NaN", i, double(value));
  }
  const double entropy = resumed->drafter_entropy;
  if (!std::isnan(entropy) && !(entropy >= 0 && std::isfinite(entropy))) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "resumed->drafter_entropy is %.9g; it must be finite and at least 0, or NaN",
               entropy);
  }
  check.range("resumed->num_steps", resumed->num_steps, 0, kMostCounted);
  check.range("resumed->num_drafted", resumed->num_drafted, 0, kMostCounted);
  check.range("resumed->num_accepted", resumed->num_accepted, 0, kMostCounted);
}

}  // namespace

void read_arguments(Check &check, Session *session, const sampler_session_add_args *user_args,
                    AddArguments *out) {
  sampler_session_add_args &args = out->args;
  if (!check.read("args", user_args, &args)) return;
  const sampler_session_options &options = session->options();
  check.range("num_tokens", args.num_tokens, 1, options.max_context + 1);
  check_tokens(check, "token_ids", "num_tokens", args.token_ids, 0, args.num_tokens,
               options.vocabulary_size);
  if (!check.ok()) return;
  check.range("prompt_length", args.prompt_length, 0, args.num_tokens + 1);
  check.range("cache_length", args.cache_length, 0, args.num_tokens);
  check.range("drafter_cache_length", args.drafter_cache_length, 0, args.num_tokens + 1);
  if (check.ok() && args.drafter_cache_length > session->drafter_context()) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "drafter_cache_length is %" PRId64
               "; the drafter's cache can hold drafter_context of the session, %" PRId64,
               args.drafter_cache_length, session->drafter_context());
  }
  check.range("max_new_tokens", args.max_new_tokens, 0, capi::kMaxRows);
  check_ends(check, *session, args);
  check_stops(check, *session, args.stop_sequences);
  check.enumeration("acceptance", args.acceptance, SAMPLER_ACCEPT_SYNTHETIC + 1);
  if (args.acceptance == SAMPLER_ACCEPT_DEFAULT) {
    args.acceptance = session->config().acceptance.rule;
  }
  check_drafts(check, *session, args, &out->ngram);
  args.ngram = args.ngram ? &out->ngram : nullptr;
  check_unmask(check, *session, args, &out->unmask);
  args.unmask = args.unmask ? &out->unmask : nullptr;
  check_resumed(check, args, &out->resumed);
  args.resumed = args.resumed ? &out->resumed : nullptr;
  if (!check.ok()) return;
  if (session->is_full()) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "the session has %" PRId64 " sequences; it has room for max_sequences, %" PRId64,
               options.max_sequences, options.max_sequences);
  }
  read_params(check, session, args.params, &out->params);
  if (check.ok() && args.unmask) check_params_of_blocks(check, out->params);
}

const SessionSequence *check_sequence(Check &check, const Session &session, const char *name,
                                      int64_t sequence) {
  if (!check.ok()) return nullptr;
  check.range(name, sequence, 0, session.options().max_sequences);
  const SessionSequence *const found = check.ok() ? session.find(int32_t(sequence)) : nullptr;
  if (!found) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "%s is %" PRId64 "; the session has no such sequence", name, sequence);
  }
  return found;
}

void read_arguments(Check &check, Session *session, const sampler_session_plan_args *user_args,
                    sampler_session_plan_args *out) {
  sampler_session_plan_args &args = *out;
  if (!check.read("args", user_args, &args)) return;
  const sampler_session_options &options = session->options();
  check.range("num_sequences", args.num_sequences, 0, options.max_sequences + 1);
  if (check.ok() && args.num_sequences > 0) check.required("sequences", args.sequences);
  check.range("max_tokens", args.max_tokens, 0, INT64_MAX);
  if (check.ok() && args.max_tokens > 0) {
    check.range("max_tokens", args.max_tokens, options.max_drafts + 1, INT64_MAX);
  }
  check.required("out_spans", args.out_spans);
  check.required("out_num_spans", args.out_num_spans);
  if (check.ok() && !args.out_drafter_spans != !args.out_num_drafter_spans) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is NULL; both outputs or neither must be set",
               args.out_drafter_spans ? "out_num_drafter_spans" : "out_drafter_spans");
  }
  if (!check.ok()) return;
  const bool names_all = !args.sequences;
  const int64_t count = names_all ? options.max_sequences : args.num_sequences;
  check.array("sequences", args.sequences, sizeof(int32_t), args.num_sequences, Access::kRead);
  check_span_array(check, "out_spans", args.out_spans, count, Access::kWrite);
  check.array("out_num_spans", args.out_num_spans, sizeof(int64_t), 1, Access::kWrite);
  check_span_array(check, "out_drafter_spans", args.out_drafter_spans, count, Access::kWrite);
  check.array("out_num_drafter_spans", args.out_num_drafter_spans, sizeof(int64_t), 1,
              Access::kWrite);
  check.array("out_parents", args.out_parents, sizeof(int32_t), count * options.max_drafts,
              Access::kWrite);
  check.overlaps();
  session->begin_marks();
  for (int64_t i = 0; check.ok() && i < count; ++i) {
    const int64_t sequence = names_all ? i : args.sequences[i];
    const SessionSequence *found = nullptr;
    if (names_all) {
      found = session->find(int32_t(sequence));
    } else {
      char name[40];
      if (sequence < 0 || sequence >= options.max_sequences || !session->find(int32_t(sequence))) {
        std::snprintf(name, sizeof name, "sequences[%" PRId64 "]", i);
        check_sequence(check, *session, name, sequence);
        return;
      }
      found = session->find(int32_t(sequence));
      if (!session->mark(int32_t(sequence))) {
        check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                   "sequences[%" PRId64 "] is %" PRId64 "; no sequence may be named twice", i,
                   sequence);
        return;
      }
    }
    if (found && found->runs() && found->source == SAMPLER_DRAFTS_MODEL &&
        !args.out_drafter_spans) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "out_drafter_spans is NULL; sequence %" PRId64 " has SAMPLER_DRAFTS_MODEL",
                 sequence);
    }
    if (found && found->runs() && found->top_k > 1 && !args.out_parents) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "out_parents is NULL; sequence %" PRId64 " has draft_top_k", sequence);
    }
  }
}

namespace {

// Returns the spans' number of rows. Each span must be as planned, and each sequence have one span
// only.
int64_t check_spans(Check &check, Session *session, const char *name, const char *count_name,
                    const sampler_span *spans, int64_t num_spans, bool of_drafter) {
  check.range(count_name, num_spans, 0, session->options().max_sequences + 1);
  if (!check.ok() || num_spans == 0) return 0;
  check.required(name, spans);
  check_span_array(check, name, spans, num_spans, Access::kReadOnHost);
  if (!check.ok()) return 0;
  int64_t num_rows = 0;
  for (int64_t i = 0; i < num_spans; ++i) {
    const sampler_span &span = spans[i];
    if (!session->is_planned(span, of_drafter)) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "%s[%" PRId64 "] of sequence %d is not a span that it was planned last", name, i,
                 int(span.sequence));
      return 0;
    }
    if (!session->mark(span.sequence)) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "%s[%" PRId64 "].sequence is %d; no sequence may have two spans", name, i,
                 int(span.sequence));
      return 0;
    }
    num_rows += span.num_logits;
  }
  return num_rows;
}

void check_logits(Check &check, const Session &session, const char *name, const char *stride_name,
                  const void *logits, int64_t stride, int64_t num_rows) {
  const sampler_session_options &options = session.options();
  const int64_t distance =
      check.stride(stride_name, stride, "vocabulary_size", options.vocabulary_size);
  if (!check.ok() || num_rows == 0) return;
  check.array(name, logits, contract::size_of(sampler_dtype(options.logits_dtype)), num_rows,
              options.vocabulary_size, distance, Access::kRead, Need::kRequired);
}

// Rows for guidance are needed where a sequence with rows has it on.
void check_guidance(Check &check, const Session &session, const sampler_session_advance_args &args,
                    int64_t num_rows) {
  check.range("num_guidance_rows", args.num_guidance_rows, 0, capi::kMaxRows);
  if (!check.ok()) return;
  if (!args.guidance_logits) {
    check.zero("num_guidance_rows", args.num_guidance_rows);
    if (args.guidance_row_indices) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "guidance_row_indices is set; guidance_logits is NULL");
    }
    for (int64_t i = 0; i < args.num_spans && check.ok(); ++i) {
      if (args.spans[i].num_logits == 0 || !session.has_guidance(args.spans[i].sequence)) continue;
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "guidance_logits is NULL; sequence %d has guidance_scale",
                 int(args.spans[i].sequence));
    }
    return;
  }
  check.range("num_guidance_rows", args.num_guidance_rows, args.guidance_row_indices ? 1 : num_rows,
              capi::kMaxRows);
  check_logits(check, session, "guidance_logits", "logits_row_stride", args.guidance_logits,
               args.logits_row_stride, args.num_guidance_rows);
  check.array("guidance_row_indices", args.guidance_row_indices, sizeof(int32_t), num_rows,
              Access::kReadOnHost);
}

// Rows of blocks cannot be forced.
void check_forced(Check &check, const Session &session, const sampler_session_advance_args &args) {
  int64_t row = 0;
  for (int64_t i = 0; i < args.num_spans; ++i) {
    const bool has_block = session.find(args.spans[i].sequence)->block.is_used();
    for (int64_t j = 0; j < args.spans[i].num_logits; ++j, ++row) {
      const int32_t token = args.forced_token_ids[row];
      const int64_t bound = has_block ? 0 : session.options().vocabulary_size;
      if (token < bound) continue;
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 has_block ? "forced_token_ids has %" PRId32 " for row %" PRId64
                             "; rows of a block must have a negative one"
                           : "forced_token_ids has %" PRId32 " for row %" PRId64
                             "; ids must be below vocabulary_size, %" PRId64,
                 token, row, bound);
      return;
    }
  }
}

// Checks where pointers point on a CUDA handle: logits to device memory, all else to the host's.
void check_advance_places(Check &check, const sampler_handle &handle) {
  if (!handle.check_pointers) return;
  char device[64];
  std::snprintf(device, sizeof device, "memory of CUDA device %d", handle.device.id);
  check.places(
      [&](const void *address, Access access) {
        return access == Access::kRead ? cuda::is_device_memory(handle.device, address)
                                       : cuda::is_host_memory(handle.device, address);
      },
      [&](Access access) { return access == Access::kRead ? device : "host memory"; });
}

// Log-probabilities of the new tokens and of the first ones are all that a step reports.
void check_reports(Check &check, const sampler_report_args &reports, int64_t max_top,
                   bool has_spans) {
  check.enumeration("reports->logprob_kind", reports.logprob_kind, 3);
  check.zero("reports->reserved", reports.reserved);
  check.range("reports->num_top_logprobs", reports.num_top_logprobs, 0, max_top + 1);
  const bool has_top = reports.out_top_token_ids || reports.out_top_logprobs;
  const bool has_number = reports.num_top_logprobs > 0;
  if (check.ok() && has_top != has_number && (has_top || has_spans)) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "reports->num_top_logprobs is %" PRId64
               "; it must be 0 where out_top_token_ids and out_top_logprobs are NULL, and only "
               "there",
               reports.num_top_logprobs);
  }
  capi::refuse_reports(check, "a session",
                       {{"out_values", reports.out_values != nullptr},
                        {"out_kept_counts", reports.out_kept_counts != nullptr},
                        {"out_observations", reports.out_observations != nullptr},
                        {"num_chosen", reports.num_chosen != 0},
                        {"out_ranks", reports.out_ranks != nullptr},
                        {"out_entropies", reports.out_entropies != nullptr},
                        {"out_kept_bitmask", reports.out_kept_bitmask != nullptr},
                        {"kept_bitmask_stride", reports.kept_bitmask_stride != 0},
                        {"kept_capacity", reports.kept_capacity != 0},
                        {"out_kept_offsets", reports.out_kept_offsets != nullptr},
                        {"out_removed_by", reports.out_removed_by != nullptr}});
}

}  // namespace

void read_arguments(Check &check, Session *session, const sampler_session_advance_args *user_args,
                    sampler_report_args *out_reports, sampler_session_advance_args *out) {
  sampler_session_advance_args &args = *out;
  if (!check.read("args", user_args, &args)) return;
  const sampler_session_options &options = session->options();
  session->begin_marks();
  const int64_t num_rows =
      check_spans(check, session, "spans", "num_spans", args.spans, args.num_spans, false);
  const int64_t num_drafter_rows = check_spans(check, session, "drafter_spans", "num_drafter_spans",
                                               args.drafter_spans, args.num_drafter_spans, true);
  check_logits(check, *session, "logits", "logits_row_stride", args.logits, args.logits_row_stride,
               num_rows);
  check_logits(check, *session, "drafter_logits", "drafter_row_stride", args.drafter_logits,
               args.drafter_row_stride, num_drafter_rows);
  check_guidance(check, *session, args, num_rows);
  const bool has_masks = session->config().pipeline.token_bitmasks != nullptr;
  if (check.ok() && !has_masks && args.token_bitmask_indices) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "token_bitmask_indices is set; the session's pipeline has no token_bitmasks");
  }
  if (check.ok() && has_masks && num_rows > 0) {
    check.array("token_bitmask_indices", args.token_bitmask_indices, sizeof(int32_t), num_rows,
                Access::kReadOnHost, Need::kRequired);
  }
  check.array("forced_token_ids", args.forced_token_ids, sizeof(int32_t), num_rows,
              Access::kReadOnHost);
  *out_reports = capi::read_report_args(check, args.reports);
  args.reports = out_reports;
  const sampler_report_args &reports = *out_reports;
  check_reports(check, reports, options.max_top_logprobs, args.num_spans > 0);
  if (!check.ok()) return;
  const int64_t count = args.num_spans, num_places = count * (options.max_drafts + 1);
  const Need need = count > 0 ? Need::kRequired : Need::kOptional;
  check.array("out_token_ids", args.out_token_ids, sizeof(int32_t), num_places, Access::kWrite,
              need);
  check.array("out_counts", args.out_counts, sizeof(int64_t), count, Access::kWrite, need);
  check.array("out_finish_reasons", args.out_finish_reasons, sizeof(int32_t), count,
              Access::kWrite);
  check.array("out_cache_lengths", args.out_cache_lengths, sizeof(int64_t), count, Access::kWrite);
  check.array("out_drafter_cache_lengths", args.out_drafter_cache_lengths, sizeof(int64_t), count,
              Access::kWrite);
  check.array("out_accepted_counts", args.out_accepted_counts, sizeof(int64_t), count,
              Access::kWrite);
  check.array("out_row_status", args.out_row_status, sizeof(sampler_row_status), count,
              Access::kWrite);
  check.array("reports->out_logprobs", reports.out_logprobs, sizeof(float), num_places,
              Access::kWrite);
  check.array("reports->out_top_token_ids", reports.out_top_token_ids, sizeof(int32_t),
              num_places * reports.num_top_logprobs, Access::kWrite);
  check.array("reports->out_top_logprobs", reports.out_top_logprobs, sizeof(float),
              num_places * reports.num_top_logprobs, Access::kWrite);
  check.overlaps();
  check_advance_places(check, session->handle());
  if (args.forced_token_ids && check.ok()) check_forced(check, *session, args);
}

}  // namespace sampler::decoding
