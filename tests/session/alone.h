// What a text is to become: each token drawn by a call of its own, from the whole text.
#ifndef SAMPLER_TESTS_SESSION_ALONE_H_
#define SAMPLER_TESTS_SESSION_ALONE_H_

#include <sampler/sampler.h>

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "model.h"

namespace session_test {

using decoding_test::Logits;
using decoding_test::NextLogits;
using decoding_test::Random;
using decoding_test::Tokens;

// From the new token `begin` on.
struct Draws {
  std::int64_t begin;
  std::uint64_t seed;
  sampler_params params;
};

struct Wish {
  Tokens prompt;
  std::vector<Draws> draws;  // the first begins at 0
  std::int64_t max_new_tokens = 0;
  Tokens ends;
  std::vector<Tokens> stops;
};

// What all texts of a test have besides: masks and guidance by the text that a row follows, and the
// first tokens of each row with their log-probabilities.
struct Extras {
  std::vector<std::uint32_t> masks;                         // a word each
  std::function<std::int32_t(const Tokens &text)> mask_of;  // none: there are no masks
  // The token that follows a text whatever the model and the rules say; negative: none.
  std::function<std::int32_t(const Tokens &text)> forced_after;
  // Rows for guidance; none: there is no guidance, empty: not after this text.
  NextLogits guidance;
  bool has_logprobs = true;  // else they are 0
  std::int64_t num_top = 0;
  sampler_logprob_kind logprob_kind = SAMPLER_LOGPROB_RAW;

  void set_masks(sampler_pipeline *pipeline) const;
};

// The bits of adaptive values: a NaN equals itself.
using AdaptiveBits = std::array<std::uint32_t, SAMPLER_NUM_ADAPTIVE_VALUES>;
AdaptiveBits bits_of(const float *adaptive_values);

struct Alone {
  Tokens text;  // prompt included
  std::vector<float> logprobs;
  Tokens top_token_ids;  // [new tokens, num_top]
  std::vector<float> top_logprobs;
  sampler_finish_reason reason = SAMPLER_FINISH_NONE;
  std::int64_t stop_sequence = -1;
  AdaptiveBits adaptive_values = {};
};

// As long as it gets, up to max_context tokens.
Alone alone(sampler_t sampler, const NextLogits &model, const Wish &wish, std::int64_t max_context,
            const Extras &extras = {});

// Whether tokens end in others.
bool ends_in(const Tokens &tokens, std::size_t first, const Tokens &end);

}  // namespace session_test

#endif  // SAMPLER_TESTS_SESSION_ALONE_H_
