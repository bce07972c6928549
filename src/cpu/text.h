// The text of a sequence, as edits read it: a list of tokens, or what a state holds.
#pragma once

#include <cstdint>

#include "contract/pipeline.h"

namespace sampler::cpu {

// How often tokens occur in the beginning of a text.
struct TextCounts {
  const contract::TokenCount *tokens = nullptr;
  int64_t num_tokens = 0;
  int64_t length = 0;  // of that beginning
};

// What a sequence has said: [i] is the token i before the newest.
class Text {
 public:
  Text() = default;
  Text(const contract::TokenList &history, int64_t prompt_length)
      : history_(history), prompt_length_(prompt_length) {}
  Text(const contract::Sequence &sequence)
      : history_{sequence.tokens(), SAMPLER_ID_I32, 0, sequence.length()},
        prompt_length_(sequence.prompt_length()),
        counts_{sequence.counts(), sequence.num_distinct(), sequence.counted_length()} {}

  // The beginning that is in `counts`, of `history`.
  Text(const contract::TokenList &history, int64_t prompt_length, const TextCounts &counts)
      : history_(history), prompt_length_(prompt_length), counts_(counts) {}

  int64_t operator[](int64_t i) const { return history_[history_.count - 1 - i]; }

  const contract::TokenList &tokens() const { return history_; }
  int64_t length() const { return history_.count; }
  int64_t prompt_length() const { return prompt_length_; }
  int64_t output_length() const { return history_.count - prompt_length_; }

  // f(text) for a text of the ids' own type, which are read faster: the newest `length` tokens.
  template <class F>
  void with_ids(int64_t length, const F &f) const {
    const int64_t end = history_.begin + history_.count;
    if (history_.type == SAMPLER_ID_I32) {
      const auto *const ids = static_cast<const int32_t *>(history_.ids);
      f(contract::NewestFirst<int32_t>{ids + end, int32_t(length)});
    } else {
      const auto *const ids = static_cast<const int64_t *>(history_.ids);
      f(contract::NewestFirst<int64_t>{ids + end, int32_t(length)});
    }
  }

  // At most so many tokens are not the same.
  int64_t num_distinct() const { return counts_.num_tokens + length() - counts_.length; }

  // What is known without a look at the tokens.
  const TextCounts &counts() const { return counts_; }

 private:
  contract::TokenList history_;
  int64_t prompt_length_ = 0;
  TextCounts counts_;
};

}  // namespace sampler::cpu
