// The loops' entry points: checks of arguments.
#include "sampler/decoding.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "capi/check.h"
#include "capi/handle_impl.h"
#include "capi/init.h"
#include "capi/structs.h"
#include "capi/views.h"
#include "contract/elements.h"
#include "contract/request.h"
#include "decoding/failure.h"
#include "decoding/loops.h"

namespace sampler::capi {

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

// Without `end` any value from `low` on.
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
  check.enumeration("logits_dtype", out->logits_dtype, kNumDtypes);
  check.zero("reserved", out->reserved);
}

// The sequences that the texts, `beams` each, take of a model.
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
              Access::kRead);
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
              Access::kRead);
  if (!check.ok()) return;
  check_tokens(check, "prompt_token_ids", args.prompt_token_ids, num_tokens,
               target.vocabulary_size);
}

void check_end_tokens(Check &check, const sampler_generation_args &args) {
  check.range("num_end_tokens", args.num_end_tokens, 0, contract::kMaxVocabulary);
  if (!args.end_token_ids && args.num_end_tokens != 0) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "end_token_ids is NULL; num_end_tokens, %" PRId64 ", needs it", args.num_end_tokens);
  }
  check.array("end_token_ids", args.end_token_ids, sizeof(int32_t), args.num_end_tokens,
              Access::kRead);
}

// A call's structs, as this library knows them.
struct Call {
  sampler_generation_args generation;
  sampler_params params;
  sampler_model target;
  sampler_generation_stats stats;
};

// What all loops have. `beams` caches and `results` outputs for each text.
void read_generation(Check &check, const char *name, const sampler_generation_args *user,
                     int64_t beams, int64_t results, Call *out) {
  sampler_generation_args &args = out->generation;
  if (!check.ok() || !check.read(name, user, &args)) return;
  read_model(check, "target", args.target, &out->target);
  check.range("num_sequences", args.num_sequences, 0, kMaxSequences);
  check.range("first_sequence", args.first_sequence, 0, kMaxSequences);
  check_sequences(check, "target", out->target, args, beams);
  check.range("max_new_tokens", args.max_new_tokens, 1, kMaxNewTokens);
  check.enumeration("use_cache", args.use_cache, 2);
  check.enumeration("debug", args.debug, 2);
  check.enumeration("processor", args.processor, 2);
  if (args.params && check.read("params", args.params, &out->params)) {
    read_parameters(check, &out->params, nullptr, contract::InputKind::kLogits, 1);
    args.params = &out->params;
  }
  check_end_tokens(check, args);
  if (out->generation.out_stats) {
    check.read("out_stats", static_cast<const sampler_generation_stats *>(args.out_stats),
               &out->stats);
  }
  if (!check.ok() || args.num_sequences == 0) return;
  check_prompts(check, args, out->target);
  check.required("out_token_ids", args.out_token_ids);
  const int64_t rows = args.num_sequences * results;
  check.array("seeds", args.seeds, sizeof(uint64_t), args.num_sequences, Access::kRead);
  check.array("out_token_ids", args.out_token_ids, sizeof(int32_t), rows, args.max_new_tokens,
              args.max_new_tokens, Access::kWrite);
  const auto output = [&](const char *output_name, auto *data) {
    check.array(output_name, data, sizeof *data, rows, Access::kWrite);
  };
  output("out_lengths", args.out_lengths);
  output("out_finish_reasons", args.out_finish_reasons);
  output("out_drafted_counts", args.out_drafted_counts);
  output("out_accepted_counts", args.out_accepted_counts);
  output("out_cache_lengths", args.out_cache_lengths);
  constexpr int64_t kStatsWords = sizeof(sampler_generation_stats) / sizeof(int64_t);
  check.array("out_stats", args.out_stats, sizeof(int64_t), kStatsWords, Access::kWrite);
  args.target = &out->target;
}

void read_drafter(Check &check, const sampler_speculative_args &args, const Call &call,
                  sampler_model *out) {
  read_model(check, "drafter", args.drafter, out);
  check_sequences(check, "drafter", *out, call.generation, 1);
  if (check.ok() && out->vocabulary_size != call.target.vocabulary_size) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "vocabulary_size of the drafter is %" PRId64 "; it must be the target's, %" PRId64,
               out->vocabulary_size, call.target.vocabulary_size);
  }
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

void read_ngram(Check &check, const sampler_speculative_args &args, sampler_ngram *out) {
  if (!check.read("ngram", args.ngram, out)) return;
  require_callback(check, "ngram", "next_token", out->next_token);
  require_callback(check, "ngram", "update", out->update);
  require_callback(check, "ngram", "initialize", out->initialize);
}

// What only a drafter has.
void check_without_drafter(Check &check, const sampler_speculative_args &args) {
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
}

void must_be_null(Check &check, const char *name, const void *data) {
  if (!data) return;
  check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %p; it must be NULL for beam search", name,
             data);
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
  must_be_null(check, "on_tokens", reinterpret_cast<const void *>(args.on_tokens));
  must_be_null(check, "trace", reinterpret_cast<const void *>(args.trace));
  must_be_null(check, "out_drafted_counts", args.out_drafted_counts);
  must_be_null(check, "out_accepted_counts", args.out_accepted_counts);
  must_be_null(check, "out_cache_lengths", args.out_cache_lengths);
}

void check_beams(Check &check, const sampler_beam_search_args &args) {
  check.range("num_beams", args.num_beams, 1, kMaxBeams + 1);
  check.range("top_k", args.top_k, 1, contract::kMaxVocabulary);
  if (check.ok()) check.range("num_results", args.num_results, 1, args.num_beams + 1);
  check.enumeration("early_stop", args.early_stop, 2);
  check.zero("reserved", args.reserved);
  if (!(args.min_length >= 0 && args.min_length <= float(kMaxNewTokens))) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "min_length is %.9g; it must be in [0, 2^31]",
               double(args.min_length));
  }
  if (!(args.alpha >= 0 && args.alpha <= kMaxAlpha)) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "alpha is %.9g; it must be in [0, 100]",
               double(args.alpha));
  }
}

void check_beam_outputs(Check &check, const sampler_beam_search_args &args, const Call &call) {
  if (!check.ok()) return;
  if (call.generation.use_cache && !call.target.fork) {
    check.fail(SAMPLER_ERROR_UNSUPPORTED,
               "fork of the target is NULL; beam search needs it when use_cache is 1");
  }
  check.array("out_scores", args.out_scores, sizeof(float),
              call.generation.num_sequences * args.num_results, Access::kWrite);
}

// Copies the statistics out at the end, if the loop began.
class StatsWriter {
 public:
  explicit StatsWriter(decoding::Generation *generation) : generation_(generation) {}
  ~StatsWriter() {
    sampler_generation_stats *const out = generation_->args().out_stats;
    if (!out || !generation_->has_started()) return;
    sampler_generation_stats stats = generation_->stats();
    stats.struct_size = out->struct_size;
    std::memcpy(out, &stats, std::min(stats.struct_size, sizeof stats));
  }
  StatsWriter(const StatsWriter &) = delete;
  StatsWriter &operator=(const StatsWriter &) = delete;

 private:
  decoding::Generation *generation_;
};

// Runs a loop whose arguments have been checked.
template <class Loop>
void run(Check &check, sampler_handle *handle, const sampler_generation_args &args,
         int64_t max_drafts, const Loop &loop) {
  check.overlaps();
  if (!check.ok() || args.num_sequences == 0) return;
  const decoding::Place place = {&check.entry(), handle, args.stream};
  decoding::Generation generation(place, args, max_drafts);
  const StatsWriter writer(&generation);
  loop(place, &generation);
}

// The way of every loop: `body(check)` checks and runs.
template <class Body>
sampler_status call(sampler_t handle, const Body &body) noexcept {
  return enter(handle, [&](Entry &entry) {
    Check check(entry);
    try {
      body(check);
    } catch (const decoding::Failure &failure) {
      return failure.status;
    }
    return check.status();
  });
}

void check_prune_count(Check &check, int64_t num_drafted, int64_t num_emitted) {
  check.range("num_drafted", num_drafted, 0, INT64_MAX);
  check.range("num_emitted", num_emitted, 0, INT64_MAX);
  if (num_emitted > num_drafted) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "num_emitted is %" PRId64 "; it must be at most num_drafted, %" PRId64, num_emitted,
               num_drafted);
  }
}

sampler_status prune_count(Entry &entry, int64_t num_drafted, int64_t num_emitted,
                           int64_t *out_target, int64_t *out_drafter, int64_t *out_missing) {
  Check check(entry);
  check_prune_count(check, num_drafted, num_emitted);
  check.required("out_target", out_target);
  check.required("out_drafter", out_drafter);
  check.required("out_missing", out_missing);
  if (!check.ok()) return check.status();
  const bool lacks_last = num_drafted > 0 && num_emitted == num_drafted;
  *out_target = num_drafted - num_emitted;
  *out_drafter = lacks_last || num_drafted == 0 ? 0 : num_drafted - 1 - num_emitted;
  *out_missing = lacks_last;
  return SAMPLER_OK;
}

}  // namespace

}  // namespace sampler::capi

using namespace sampler::capi;
using sampler::decoding::Generation;
using sampler::decoding::Place;

extern "C" {

sampler_status sampler_generation_args_init(sampler_generation_args *args, size_t struct_size) {
  return enter_init("args", args, struct_size);
}

sampler_status sampler_speculative_args_init(sampler_speculative_args *args, size_t struct_size) {
  return enter_init("args", args, struct_size);
}

sampler_status sampler_beam_search_args_init(sampler_beam_search_args *args, size_t struct_size) {
  return enter_init("args", args, struct_size);
}

sampler_status sampler_autoregressive(sampler_t sampler, const sampler_generation_args *args) {
  return call(sampler, [&](Check &check) {
    Call own;
    read_generation(check, "args", args, 1, 1, &own);
    run(check, sampler, own.generation, 0, sampler::decoding::autoregressive);
  });
}

sampler_status sampler_speculative(sampler_t sampler, const sampler_speculative_args *args) {
  return call(sampler, [&](Check &check) {
    sampler_speculative_args own;
    sampler_model drafter;
    sampler_ngram ngram;
    Call shared;
    if (!check.read("args", args, &own)) return;
    read_generation(check, "generation", own.generation, 1, 1, &shared);
    if (!own.drafter == !own.ngram) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "drafter and ngram are both %s; one of them must be set, and the other NULL",
                 own.drafter ? "set" : "NULL");
    }
    check_gamma(check, own);
    check.range("filler_top_k", own.filler_top_k, 0, sampler::contract::kMaxVocabulary);
    check.enumeration("stop_if_unknown", own.stop_if_unknown, 2);
    check.enumeration("first_target", own.first_target, 2);
    check.enumeration("skip_sample_adjustment", own.skip_sample_adjustment, 2);
    check.zero("reserved", own.reserved);
    if (!check.ok()) return;
    if (own.drafter) {
      read_drafter(check, own, shared, &drafter);
      own.drafter = &drafter;
    } else {
      read_ngram(check, own, &ngram);
      check_without_drafter(check, own);
      own.ngram = &ngram;
      own.filler_top_k = std::min(own.filler_top_k, shared.target.vocabulary_size);
    }
    run(check, sampler, shared.generation, sampler::decoding::most_drafts(own),
        [&](const Place &place, Generation *generation) {
          if (own.drafter) {
            sampler::decoding::speculative_with_model(place, own, generation);
          } else {
            sampler::decoding::speculative_with_ngrams(place, own, generation);
          }
        });
  });
}

sampler_status sampler_beam_search(sampler_t sampler, const sampler_beam_search_args *args) {
  return call(sampler, [&](Check &check) {
    sampler_beam_search_args own;
    Call shared;
    if (!check.read("args", args, &own)) return;
    check_beams(check, own);
    read_generation(check, "generation", own.generation, own.num_beams, own.num_results, &shared);
    if (check.ok()) check_beam_generation(check, shared.generation);
    check_beam_outputs(check, own, shared);
    run(check, sampler, shared.generation, 0, [&](const Place &place, Generation *generation) {
      sampler::decoding::beam_search(place, own, generation);
    });
  });
}

sampler_status sampler_prune_count(int64_t num_drafted, int64_t num_emitted, int64_t *out_target,
                                   int64_t *out_drafter, int64_t *out_missing) {
  return enter(Log{}, [&](Entry &entry) {
    return prune_count(entry, num_drafted, num_emitted, out_target, out_drafter, out_missing);
  });
}

}  // extern "C"
