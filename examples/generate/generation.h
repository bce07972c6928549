#ifndef GENERATE_GENERATION_H
#define GENERATE_GENERATION_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "gpt2.h"
#include "token_sampler.h"

namespace generate {

struct GenerationOptions {
  int max_new_tokens = 100;
  // Continuations of each prompt. The i-th draws with seed + i, whatever the other prompts are.
  int num_samples = 1;
  std::uint64_t seed = 0;
  SamplingOptions sampling;
  // Ends a text. None: only its length does.
  std::optional<std::int32_t> end_token;
};

enum class StopReason { kNone, kLength, kEndToken, kContext };

struct Continuation {
  std::size_t prompt;                    // index
  std::vector<std::int32_t> new_tokens;  // with the end token
  StopReason stop_reason = StopReason::kNone;
};

struct GenerationTimes {
  double first_token_seconds = 0;  // until every continuation has its first token
  double total_seconds = 0;
  double sampling_seconds = 0;
};

// Hears of each token as it is drawn: the number of the continuation, and the continuation, whose
// last token is new.
using TokenListener = std::function<void(std::size_t, const Continuation &)>;

// Continues all prompts as one batch: prefills them whole, draws the first tokens from their last
// logits, then takes one decode step a token. Continuations are ordered by prompt, then by sample.
// Each prompt has at least one token. Throws Error when one leaves no room for a new token in the
// model's context.
std::vector<Continuation> generate_text(const Gpt2Model &model,
                                        const std::vector<std::vector<std::int32_t>> &prompts,
                                        const GenerationOptions &options,
                                        const TokenListener &on_token, GenerationTimes *out_times);

}  // namespace generate

#endif  // GENERATE_GENERATION_H
