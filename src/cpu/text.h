// A sequence's history for the edits: a list of tokens, or a state's slot.
#pragma once

#include <cstdint>

#include "contract/pipeline.h"

namespace sampler::cpu {

// Token counts of a prefix of a text.
struct TextCounts {
  const contract::TokenCount *tokens = nullptr;
  int64_t num_tokens = 0;
  int64_t length = 0;  // of the prefix, in tokens
};

// A history: [i] is the i-th newest token, from 0.
class Text {
 public:
  Text() = default;
  Text(const contract::TokenList &history, int64_t prompt_length)
      : history_(history), prompt_length_(prompt_length) {}
  Text(const contract::StateSlot &sequence)
      : history_{sequence.tokens(), SAMPLER_ID_I32, 0, sequence.length()},
        prompt_length_(sequence.prompt_length()),
        counts_{sequence.counts(), sequence.num_distinct(), sequence.counted_length()} {}

  // `counts` covers a prefix of `history`.
  Text(const contract::TokenList &history, int64_t prompt_length, const TextCounts &counts)
      : history_(history), prompt_length_(prompt_length), counts_(counts) {}

  int64_t operator[](int64_t i) const { return history_[history_.count - 1 - i]; }

  const contract::TokenList &tokens() const { return history_; }
  int64_t length() const { return history_.count; }
  int64_t prompt_length() const { return prompt_length_; }
  int64_t output_length() const { return history_.count - prompt_length_; }

  // Calls f(text) with the newest `length` tokens in the ids' own type, which is faster to read.
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

  // Upper bound of distinct tokens.
  int64_t num_distinct() const { return counts_.num_tokens + length() - counts_.length; }

  // Counts that are known in advance.
  const TextCounts &counts() const { return counts_; }

 private:
  contract::TokenList history_;
  int64_t prompt_length_ = 0;
  TextCounts counts_;
};

}  // namespace sampler::cpu
