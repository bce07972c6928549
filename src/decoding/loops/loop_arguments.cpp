#include "decoding/loops/loop_arguments.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "capi/pipeline.h"
#include "capi/requests.h"
#include "capi/views.h"
#include "contract/elements.h"
#include "contract/parameter_table.h"
#include "contract/request.h"
#include "decoding/loops/beam_edits.h"
#include "decoding/loops/loops.h"

namespace sampler::decoding {

namespace {

constexpr int64_t kMaxSequences = int64_t(1) << 31;
constexpr int64_t kMaxNewTokens = int64_t(1) << 31;
constexpr int64_t kMaxGamma = 1024;
constexpr int64_t kMaxBeams = 1024;
constexpr float kMaxAlpha = 100;

template <class Function>
void require_callback(Check &check, const char *model, const char *name, Function function) {
  if (function) return;
  check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s of the %s is NULL; it is required", name, model);
}

// `end` INT64_MAX: no upper limit.
void model_range(Check &check, const char *model, const char *name, int64_t value, int64_t low,
                 int64_t end = INT64_MAX) {
  if (end == INT64_MAX && value == end) return;
  char text[64];
  std::snprintf(text, sizeof text, "%s of the %s", name, model);
  check.range(text, value, low, end);
}

void read_model(Check &check, const char *name, const sampler_model *user, sampler_model *out) {
  if (!check.read(name, user, out)) return;
  require_callback(check, name, "forward", out->forward);
  require_callback(check, name, "truncate", out->truncate);
  model_range(check, name, "vocabulary_size", out->vocabulary_size, 1, contract::kMaxVocabulary);
  model_range(check, name, "max_context", out->max_context, 1);
  model_range(check, name, "max_sequences", out->max_sequences, 1, kMaxSequences);
  model_range(check, name, "max_span_tokens", out->max_span_tokens, 0);
  check.enumeration("logits_dtype", out->logits_dtype, capi::kNumDtypes);
  check.enumeration("reads_parents", out->reads_parents, 2);
}

// Checks that the model has sequences for all texts, `beams` each.
void check_sequences(Check &check, const char *model, const sampler_model &limits,
                     const sampler_generation_args &args, int64_t beams) {
  if (!check.ok()) return;
  const int64_t needed = args.num_sequences * beams;
  if (args.first_sequence <= limits.max_sequences - needed) return;
  check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
             "max_sequences of the %s is %" PRId64 "; first_sequence %" PRId64 " and %" PRId64
             " sequences need more",
             model, limits.max_sequences, args.first_sequence, needed);
}

void check_tokens(Check &check, const char *name, const int32_t *token_ids, int64_t count,
                  int64_t vocabulary_size) {
  for (int64_t i = 0; i < count && check.ok(); ++i) {
    if (token_ids[i] >= 0 && token_ids[i] < vocabulary_size) continue;
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "%s[%" PRId64 "] is %d; it must be in [0, vocabulary_size), %" PRId64, name, i,
               int(token_ids[i]), vocabulary_size);
  }
}

void check_prompts(Check &check, const sampler_generation_args &args, const sampler_model &target) {
  check.required("prompt_offsets", args.prompt_offsets);
  check.required("prompt_token_ids", args.prompt_token_ids);
  check.array("prompt_offsets", args.prompt_offsets, sizeof(int64_t), args.num_sequences + 1,
              abi::Access::kRead);
  if (!check.ok()) return;
  if (args.prompt_offsets[0] != 0) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "prompt_offsets[0] is %" PRId64 "; it must be 0",
               args.prompt_offsets[0]);
  }
  for (int64_t i = 0; i < args.num_sequences && check.ok(); ++i) {
    const int64_t begin = args.prompt_offsets[i], end = args.prompt_offsets[i + 1];
    if (end > begin && end - begin <= target.max_context) continue;
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "prompt_offsets[%" PRId64 "] is %" PRId64 " and the one before it %" PRId64
               "; a prompt has at least 1 token and at most the target's max_context, %" PRId64,
               i + 1, end, begin, target.max_context);
  }
  if (!check.ok()) return;
  const int64_t num_tokens = args.prompt_offsets[args.num_sequences];
  check.array("prompt_token_ids", args.prompt_token_ids, sizeof(int32_t), num_tokens,
              abi::Access::kRead);
  if (!check.ok()) return;
  check_tokens(check, "prompt_token_ids", args.prompt_token_ids, num_tokens,
               target.vocabulary_size);
}

void check_end_tokens(Check &check, const sampler_generation_args &args, int64_t vocabulary_size) {
  check.range("num_end_tokens", args.num_end_tokens, 0, contract::kMaxVocabulary);
  if (!args.end_token_ids && args.num_end_tokens != 0) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "end_token_ids is NULL; num_end_tokens, %" PRId64 ", needs it", args.num_end_tokens);
  }
  check.array("end_token_ids", args.end_token_ids, sizeof(int32_t), args.num_end_tokens,
              abi::Access::kRead);
  if (!check.ok()) return;
  check_tokens(check, "end_token_ids", args.end_token_ids, args.num_end_tokens, vocabulary_size);
}

void must_be_null(Check &check, const char *name, const void *data, const char *where) {
  if (!data) return;
  check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %p; it must be NULL %s", name, data, where);
}

void read_pipeline(Check &check, GenerationArguments *out) {
  sampler_pipeline &pipeline = out->pipeline;
  if (!out->args.pipeline || !check.read("pipeline", out->args.pipeline, &pipeline)) return;
  constexpr const char *kWhere = "in a decoding loop, whose texts it has";
  must_be_null(check, "pipeline->history.offsets", pipeline.history.offsets, kWhere);
  must_be_null(check, "pipeline->prompt_lengths", pipeline.prompt_lengths, kWhere);
  must_be_null(check, "pipeline->adaptive_values", pipeline.adaptive_values, kWhere);
  must_be_null(check, "pipeline->state", pipeline.state, kWhere);
  must_be_null(check, "pipeline->guidance_logits", pipeline.guidance_logits, "in a decoding loop");
  const int64_t num_masks = pipeline.num_token_bitmasks;
  if (pipeline.token_bitmasks && !pipeline.token_bitmask_indices) {
    check.range("pipeline->num_token_bitmasks", num_masks, out->args.num_sequences, kMaxSequences);
  }
  out->args.pipeline = &pipeline;
}

// Checks lists by text that are expanded to lists by beam.
void check_beam_lists(Check &check, const char *name, const sampler_token_lists &lists,
                      int64_t num_texts, bool on_cuda) {
  if (!check.ok() || lists.num_lists <= 1) return;  // sampler_filter checks them
  char member[64];
  const auto name_of = [&](const char *what) {
    std::snprintf(member, sizeof member, "pipeline->%s.%s", name, what);
    return member;
  };
  if (lists.num_lists != num_texts) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "%s is %" PRId64 "; it must be 1 or the number of texts, %" PRId64,
               name_of("num_lists"), lists.num_lists, num_texts);
  }
  check.range(name_of("num_token_ids"), lists.num_token_ids, 0, INT64_MAX);
  check.required(name_of("offsets"), lists.offsets);
  check.array(name_of("offsets"), lists.offsets, sizeof(int64_t), lists.num_lists + 1,
              abi::Access::kRead);
  if (check.ok() && lists.num_token_ids > 0) check.required(name_of("token_ids"), lists.token_ids);
  check.array(name_of("token_ids"), lists.token_ids, sizeof(int32_t), lists.num_token_ids,
              abi::Access::kRead);
  if (!check.ok() || on_cuda) return;  // there BeamLists checks the offsets
  const int64_t invalid = find_invalid_list(lists, lists.offsets);
  if (invalid < 0) return;
  check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, kInvalidOffsets, name, invalid, lists.offsets[invalid],
             lists.offsets[invalid + 1], lists.num_token_ids);
}

// Checks the members of a pipeline that beam search takes.
void check_beam_pipeline(Check &check, const sampler_pipeline &pipeline, int64_t num_texts,
                         bool on_cuda) {
  if (!check.ok()) return;
  if (pipeline.token_id_type != SAMPLER_ID_I32) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "pipeline->token_id_type is %d; it must be SAMPLER_ID_I32 for beam search",
               int(pipeline.token_id_type));
  }
  if (pipeline.num_dense_biases > 1) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "pipeline->num_dense_biases is %" PRId64 "; it must be at most 1 for beam search",
               pipeline.num_dense_biases);
  }
  must_be_null(check, "pipeline->bad_word_offsets", pipeline.bad_word_offsets, "for beam search");
  must_be_null(check, "pipeline->bias_contexts.offsets", pipeline.bias_contexts.offsets,
               "for beam search");
  check_beam_lists(check, "biased", pipeline.biased, num_texts, on_cuda);
  if (check.ok() && pipeline.biased.num_lists > 1 && pipeline.biased.num_token_ids > 0) {
    check.required("pipeline->biases", pipeline.biases);
    check.array("pipeline->biases", pipeline.biases, sizeof(float), pipeline.biased.num_token_ids,
                abi::Access::kRead);
  }
  check_beam_lists(check, "allowed", pipeline.allowed, num_texts, on_cuda);
  check_beam_lists(check, "banned", pipeline.banned, num_texts, on_cuda);
  check_beam_lists(check, "stop", pipeline.stop, num_texts, on_cuda);
  check_beam_lists(check, "unpenalized", pipeline.unpenalized, num_texts, on_cuda);
}

// Checks numbers by text of edits, which are expanded to numbers by beam.
void check_beam_numbers(Check &check, const sampler_row_params &params, int64_t num_texts) {
  for (int i = 0; i < contract::kNumFilterParameters; ++i) {
    const contract::ParameterInfo &parameter = contract::kParameters[i];
    must_be_null(check, parameter.row_path, parameter.array_in(params), "for beam search");
  }
  for (const contract::ParameterInfo &parameter : contract::kParameters) {
    if (!check.ok()) return;
    if (!contract::is_edit(parameter.stage)) continue;
    check.array(parameter.row_path, parameter.array_in(params), parameter.size, num_texts,
                abi::Access::kRead);
  }
}

// kEdits: beam search, which takes the edits only; kEditsOnDevice: whose lists are there.
enum class Stages { kEdits, kEditsOnDevice, kTaken };

// Reads and checks the sampling parameters.
void read_draws(Check &check, Stages stages, GenerationArguments *out) {
  sampler_generation_args &args = out->args;
  out->params = sampler_params_default();
  if (args.params && !check.read("params", args.params, &out->params)) return;
  if (args.params) args.params = &out->params;
  out->row_params = abi::sized<sampler_row_params>();
  if (args.row_params && !check.read("row_params", args.row_params, &out->row_params)) return;
  if (stages != Stages::kTaken) {
    const capi::UserParameters rest = {without_edits(out->params), without_edits(out->row_params)};
    capi::read_parameters(check, {rest.params, {}}, SAMPLER_LOGITS, 1);
    capi::refuse_other_stages(check, rest, "beam search");
    check_beam_numbers(check, out->row_params, args.num_sequences);
  }
  const capi::UserParameters parameters = {out->params, out->row_params};
  out->has_stages = args.row_params || args.pipeline || capi::has_other_numbers(parameters);
  if (!out->has_stages) capi::read_parameters(check, parameters, SAMPLER_LOGITS, 1);
  if (args.row_params) args.row_params = &out->row_params;
  read_pipeline(check, out);
  if (stages != Stages::kTaken && args.pipeline) {
    check_beam_pipeline(check, out->pipeline, args.num_sequences, stages == Stages::kEditsOnDevice);
  }
}

// Reads and checks what all loops have. `beams` caches and `results` outputs per text.
void read_generation(Check &check, const char *name, const sampler_generation_args *user,
                     int64_t beams, int64_t results, Stages stages, GenerationArguments *out) {
  sampler_generation_args &args = out->args;
  if (!check.ok() || !check.read(name, user, &args)) return;
  read_model(check, "target", args.target, &out->target);
  check.range("num_sequences", args.num_sequences, 0, kMaxSequences);
  check.range("first_sequence", args.first_sequence, 0, kMaxSequences);
  check_sequences(check, "target", out->target, args, beams);
  check.range("max_new_tokens", args.max_new_tokens, 1, kMaxNewTokens);
  check.enumeration("use_cache", args.use_cache, 2);
  check.enumeration("debug", args.debug, 2);
  check.enumeration("processor", args.processor, 2);
  read_draws(check, stages, out);
  check_end_tokens(check, args, out->target.vocabulary_size);
  if (args.out_stats) {
    sampler_generation_stats ignored;
    check.read<sampler_generation_stats>("out_stats", args.out_stats, &ignored);
  }
  if (!check.ok() || args.num_sequences == 0) return;
  check_prompts(check, args, out->target);
  check.required("out_token_ids", args.out_token_ids);
  const int64_t rows = args.num_sequences * results;
  check.array("seeds", args.seeds, sizeof(uint64_t), args.num_sequences, abi::Access::kRead);
  check.array("out_token_ids", args.out_token_ids, sizeof(int32_t), rows, args.max_new_tokens,
              args.max_new_tokens, abi::Access::kWrite);
  const auto output = [&](const char *output_name, auto *data) {
    check.array(output_name, data, sizeof *data, rows, abi::Access::kWrite);
  };
  output("out_lengths", args.out_lengths);
  output("out_finish_reasons", args.out_finish_reasons);
  output("out_cache_lengths", args.out_cache_lengths);
  constexpr int64_t kStatsWords = sizeof(sampler_generation_stats) / sizeof(int64_t);
  check.array("out_stats", args.out_stats, sizeof(int64_t), kStatsWords, abi::Access::kWrite);
  args.target = &out->target;
}

void read_drafter(Check &check, SpeculativeArguments *out) {
  read_model(check, "drafter", out->args.drafter, &out->drafter);
  check_sequences(check, "drafter", out->drafter, out->generation.args, 1);
  const int64_t vocabulary_size = out->generation.target.vocabulary_size;
  if (check.ok() && out->drafter.vocabulary_size != vocabulary_size) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "vocabulary_size of the drafter is %" PRId64 "; it must be the target's, %" PRId64,
               out->drafter.vocabulary_size, vocabulary_size);
  }
  if (out->args.ngram_least_count != 0 || out->args.ngram_least_share != 0) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "ngram_least_count is %" PRId64
               " and ngram_least_share %.9g; they must be 0 for a drafter",
               out->args.ngram_least_count, double(out->args.ngram_least_share));
  }
  out->args.drafter = &out->drafter;
}

void check_gamma(Check &check, const sampler_speculative_args &args) {
  check.range("gamma", args.gamma, 1, kMaxGamma + 1);
  check.enumeration("adaptive_gamma", args.adaptive_gamma, 3);
  check.range("gamma_max", args.gamma_max, 0, kMaxGamma + 1);
  const int64_t largest = args.gamma_max ? args.gamma_max : args.gamma;
  if (check.ok()) check.range("gamma_min", args.gamma_min, 0, largest + 1);
  if (!(args.ema_beta >= 0 && args.ema_beta < 1)) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "ema_beta is %.9g; it must be in [0, 1)",
               double(args.ema_beta));
  }
}

void read_ngram(Check &check, SpeculativeArguments *out) {
  sampler_speculative_args &args = out->args;
  sampler_ngram &ngram = out->ngram;
  if (!check.read("ngram", args.ngram, &ngram)) return;
  require_callback(check, "ngram", "next_token", ngram.next_token);
  require_callback(check, "ngram", "update", ngram.update);
  require_callback(check, "ngram", "initialize", ngram.initialize);
  if (args.adaptive_gamma == SAMPLER_GAMMA_BY_ENTROPY) {
    check.fail(
        SAMPLER_ERROR_INVALID_ARGUMENT,
        "adaptive_gamma is %d; it must be SAMPLER_GAMMA_FIXED, 0, or SAMPLER_GAMMA_MEASURED, "
        "2, for n-grams",
        int(args.adaptive_gamma));
  }
  if (args.skip_sample_adjustment) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "skip_sample_adjustment is %d; it must be 0 for n-grams",
               int(args.skip_sample_adjustment));
  }
  if (args.least_draft_probability != 0) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "least_draft_probability is %.9g; it must be 0 for n-grams",
               double(args.least_draft_probability));
  }
  if ((args.ngram_least_count != 0 || args.ngram_least_share != 0) && !ngram.propose) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "propose of the ngram is NULL; ngram_least_count and ngram_least_share need it");
  }
  args.ngram = &ngram;
  args.filler_top_k = std::min(args.filler_top_k, out->generation.target.vocabulary_size);
}

// Checks the acceptance rule and its numbers.
void check_acceptance(Check &check, const SpeculativeArguments &arguments) {
  const sampler_speculative_args &args = arguments.args;
  const sampler_acceptance_params &acceptance = arguments.acceptance;
  check.array("acceptance->synthetic_rates", acceptance.synthetic_rates, sizeof(float),
              most_drafts(args), abi::Access::kRead);
  check.shares("acceptance->synthetic_rates", acceptance.synthetic_rates, most_drafts(args));
  if (acceptance.rule == SAMPLER_ACCEPT_SYNTHETIC && !acceptance.synthetic_rates) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "acceptance->rule is SAMPLER_ACCEPT_SYNTHETIC; it needs synthetic_rates");
  }
  const bool is_standard = acceptance.rule == SAMPLER_ACCEPT_STANDARD;
  const bool is_staged = !is_standard || arguments.generation.has_stages;
  if (is_staged && args.skip_sample_adjustment) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "skip_sample_adjustment is 1; it must be 0 %s",
               is_standard ? "with stages, row_params or a pipeline"
                           : "where acceptance->rule is not SAMPLER_ACCEPT_STANDARD");
  }
  const sampler_pipeline *const pipeline = arguments.generation.args.pipeline;
  if (pipeline && pipeline->token_bitmasks) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "pipeline->token_bitmasks is %p; it must be NULL in sampler_speculative, where each "
               "draft needs a mask of its own: a session takes one for each row",
               static_cast<const void *>(pipeline->token_bitmasks));
  }
}

// Checks draft trees, and that the target supports them.
void check_trees(Check &check, const SpeculativeArguments &arguments) {
  const sampler_speculative_args &args = arguments.args;
  const int64_t top_k = args.draft_top_k, gamma = most_drafts(args);
  if (top_k == 0) return;
  const sampler_acceptance accepted_by = arguments.acceptance.rule;
  const bool is_whole =
      accepted_by == SAMPLER_ACCEPT_BLOCK || accepted_by == SAMPLER_ACCEPT_DEFERRED;
  const char *const rule = !args.drafter ? "it must be 0 for n-grams"
                           : args.adaptive_gamma == SAMPLER_GAMMA_BY_ENTROPY
                               ? "adaptive_gamma must not be SAMPLER_GAMMA_BY_ENTROPY, 1"
                           : top_k < 0 || top_k > gamma        ? "it must be in [0, gamma]"
                           : is_whole                          ? "BLOCK and DEFERRED are for chains"
                           : args.least_draft_probability != 0 ? "least_draft_probability must be 0"
                           : args.skip_sample_adjustment != 0  ? "skip_sample_adjustment must be 0"
                                                               : nullptr;
  if (rule) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "draft_top_k is %" PRId64 "; %s", top_k, rule);
  }
  if (!check.ok() || top_k == 1) return;
  const sampler_model &target = arguments.generation.target;
  if (!target.reads_parents) {
    check.fail(SAMPLER_ERROR_UNSUPPORTED,
               "reads_parents of the target is 0; draft_top_k above 1, %" PRId64 ", needs it",
               top_k);
  }
  if (target.max_span_tokens != 0 && target.max_span_tokens <= gamma) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "max_span_tokens of the target is %" PRId64
               "; it must be 0 or at least gamma + 1, %" PRId64 ", with draft_top_k above 1",
               target.max_span_tokens, gamma + 1);
  }
}

void check_beam_generation(Check &check, const sampler_generation_args &args) {
  if (args.processor != SAMPLER_PROCESSOR_GREEDY) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "processor is %d; it must be SAMPLER_PROCESSOR_GREEDY, 0, for beam search",
               int(args.processor));
  }
  if (args.debug) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "debug is %d; it must be 0 for beam search",
               int(args.debug));
  }
  const auto null = [&](const char *name, const void *data) {
    must_be_null(check, name, data, "for beam search");
  };
  null("on_tokens", reinterpret_cast<const void *>(args.on_tokens));
  null("trace", reinterpret_cast<const void *>(args.trace));
  null("out_cache_lengths", args.out_cache_lengths);
}

void check_beams(Check &check, const sampler_beam_search_args &args) {
  check.range("num_beams", args.num_beams, 1, kMaxBeams + 1);
  check.range("top_k", args.top_k, 1, contract::kMaxVocabulary);
  if (check.ok()) check.range("num_results", args.num_results, 1, args.num_beams + 1);
  check.enumeration("early_stop", args.early_stop, 2);
  check.enumeration("rule", args.rule, 2);
  if (!(args.min_length >= 0 && args.min_length <= float(kMaxNewTokens))) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "min_length is %.9g; it must be in [0, 2^31]",
               double(args.min_length));
  }
  if (!(args.alpha >= 0 && args.alpha <= kMaxAlpha)) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "alpha is %.9g; it must be in [0, 100]",
               double(args.alpha));
  }
}

}  // namespace

void read_arguments(Check &check, const sampler_generation_args *user, GenerationArguments *out) {
  read_generation(check, "args", user, 1, 1, Stages::kTaken, out);
}

void read_arguments(Check &check, const sampler_speculative_args *user, SpeculativeArguments *out) {
  sampler_speculative_args &args = out->args;
  if (!check.read("args", user, &args)) return;
  read_generation(check, "generation", args.generation, 1, 1, Stages::kTaken, &out->generation);
  if (!args.drafter == !args.ngram) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "drafter and ngram are both %s; one of them must be set, and the other NULL",
               args.drafter ? "set" : "NULL");
  }
  check_gamma(check, args);
  check.range("filler_top_k", args.filler_top_k, 0, contract::kMaxVocabulary);
  check.enumeration("stop_if_unknown", args.stop_if_unknown, 2);
  check.enumeration("first_target", args.first_target, 2);
  check.enumeration("skip_sample_adjustment", args.skip_sample_adjustment, 2);
  check.zero("reserved", args.reserved);
  check.range("ngram_least_count", args.ngram_least_count, 0, INT64_MAX);
  check_share(check, "ngram_least_share", args.ngram_least_share);
  check_share(check, "least_draft_probability", args.least_draft_probability);
  out->acceptance = capi::read_acceptance_params(check, args.acceptance, SAMPLER_ACCEPT_STANDARD);
  capi::check_decoding_acceptance(check, out->acceptance);
  args.acceptance = &out->acceptance;
  if (!check.ok()) return;
  const int64_t num_texts = out->generation.args.num_sequences;
  check.array("out_drafted_counts", args.out_drafted_counts, sizeof(int64_t), num_texts,
              abi::Access::kWrite);
  check.array("out_accepted_counts", args.out_accepted_counts, sizeof(int64_t), num_texts,
              abi::Access::kWrite);
  check_acceptance(check, *out);
  if (check.ok()) check_trees(check, *out);
  if (!check.ok()) return;
  if (args.drafter) {
    read_drafter(check, out);
  } else {
    read_ngram(check, out);
  }
}

void read_arguments(Check &check, const sampler_beam_search_args *user, bool on_cuda,
                    BeamSearchArguments *out) {
  sampler_beam_search_args &args = out->args;
  if (!check.read("args", user, &args)) return;
  check_beams(check, args);
  const sampler_generation_args &generation = out->generation.args;
  read_generation(check, "generation", args.generation, args.num_beams, args.num_results,
                  on_cuda ? Stages::kEditsOnDevice : Stages::kEdits, &out->generation);
  if (!check.ok()) return;
  check_beam_generation(check, generation);
  if (check.ok() && generation.use_cache && !out->generation.target.fork) {
    check.fail(SAMPLER_ERROR_UNSUPPORTED,
               "fork of the target is NULL; beam search needs it when use_cache is 1");
  }
  check.array("out_scores", args.out_scores, sizeof(float),
              generation.num_sequences * args.num_results, abi::Access::kWrite);
}

}  // namespace sampler::decoding
