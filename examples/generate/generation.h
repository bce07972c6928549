#ifndef GENERATE_GENERATION_H
#define GENERATE_GENERATION_H

#include <sampler/decoding.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "clock.h"
#include "engine_parameters.h"
#include "gpt2.h"
#include "ranks.h"

namespace generate {

enum class Mode { kAutoregressive, kSpeculative, kNgram, kBeam };

// As in sampler_params.
struct SamplingOptions {
  float temperature = 1.0f;  // 0: the likeliest token
  std::int32_t top_k = 0;
  float top_p = 1.0f;
  float min_p = 0.0f;
};

// As in sampler_ngram_storage_options and sampler_prompt_lookup_options.
struct NgramOptions {
  bool is_lookup = false;  // sampler_prompt_lookup, for one text, instead of sampler_ngram_storage
  std::int32_t order = 3;
  bool one_level = false;
  std::int64_t memory_limit = 0;
  std::int64_t min_match = 0;
  std::int64_t max_match = 0;
};

// As in sampler_beam_search_args.
struct BeamOptions {
  std::int64_t num_beams = 4;
  std::int64_t top_k = 3;
  float min_length = 5;
  float alpha = 1.2f;
  bool early_stop = false;
  bool has_pool = false;  // SAMPLER_BEAMS_POOL
};

// The library's own, where no engine is named.
sampler_params params_of(const SamplingOptions &options);

inline sampler_acceptance_params standard_acceptance() {
  sampler_acceptance_params params = {};
  params.struct_size = sizeof params;
  params.rule = SAMPLER_ACCEPT_STANDARD;
  return params;
}

struct GenerationOptions {
  Mode mode = Mode::kAutoregressive;
  int max_new_tokens = 100;
  // Continuations of each prompt. The i-th draws with seed + i, whatever the other prompts are;
  // with kBeam it is the i-th best.
  int num_samples = 1;
  std::uint64_t seed = 0;
  bool use_cache = true;
  // Processes that share the model's last product, of kAutoregressive; NULL: this one does it.
  Ranks *ranks = nullptr;
  bool has_logprobs = false;  // Continuation::logprobs, of kAutoregressive
  SamplingOptions sampling;   // not used with kBeam
  // In place of `sampling`: an engine's stages. Its tokens that end a text do so here, too. kBeam
  // takes edits alone; with drafts the draw is the inverse CDF's.
  std::optional<engine_parameters::Request> engine;
  // Rules and numbers. What points to memory is set by generate_text.
  sampler_speculative_args draft = sampler_speculative_args_default();
  sampler_acceptance_params acceptance = standard_acceptance();
  std::vector<float> synthetic_rates;  // one for each draft of a round
  NgramOptions ngram;
  BeamOptions beam;
  // For all times, and for SAMPLER_GAMMA_MEASURED.
  Clock clock = Clock::kWall;
  // Ends a text. None: only its length does, and `end_tokens`.
  std::optional<std::int32_t> end_token;
  std::vector<std::int32_t> end_tokens;  // more of them
};

struct Continuation {
  std::size_t prompt;                    // index
  std::vector<std::int32_t> new_tokens;  // with the end token
  // NONE until it has ended, and of a beam that was not found.
  sampler_finish_reason finish_reason = SAMPLER_FINISH_NONE;
  float score = 0;                   // with kBeam
  std::vector<float> logprobs = {};  // of new tokens, before stages and temperature
};

struct GenerationTimes {
  // Until every continuation has its first token. None with kBeam.
  std::optional<double> first_token_seconds;
  double total_seconds = 0;   // all times are without what the listeners took
  double target_seconds = 0;  // in the models' callbacks
  double drafter_seconds = 0;
};

struct Generation {
  std::vector<Continuation> continuations;  // by prompt, then by sample
  sampler_generation_stats stats = {};
  GenerationTimes times;
};

// Each may be empty.
struct Listeners {
  // Hears of new tokens: the number of the continuation, and the continuation with them.
  std::function<void(std::size_t, const Continuation &)> on_tokens;
  // Sees the logits that the next token of a continuation is drawn from, with kAutoregressive.
  std::function<void(std::size_t, const Continuation &, const float *logits, std::int64_t num_cols)>
      on_logits;
  // Hears of each round of drafts.
  std::function<void(const sampler_trace_round &)> on_round;
};

// Continues all prompts as one batch, by the loop of libsampler that options.mode names. Each
// prompt has at least one token. `drafter` is needed with kSpeculative, and otherwise not used.
// Throws Error, also when a prompt leaves no room for a new token in the model's context.
Generation generate_text(const Gpt2Model &model, const Gpt2Model *drafter,
                         const std::vector<std::vector<std::int32_t>> &prompts,
                         const GenerationOptions &options, const Listeners &listeners);

}  // namespace generate

#endif  // GENERATE_GENERATION_H
