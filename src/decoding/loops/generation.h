// State that all loops share: the texts, their end tokens and their outputs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "decoding/loops/memory.h"
#include "sampler/decoding.h"

namespace sampler::decoding {

struct GeneratedText {
  int64_t index;    // in the call
  int32_t *tokens;  // the prompt, new tokens and, during a round, drafts
  int64_t prompt_length;
  int64_t length;    // tokens handed out
  int64_t capacity;  // most tokens
  uint64_t seed;
  sampler_finish_reason reason = SAMPLER_FINISH_NONE;
  int64_t num_rounds = 0;
  int64_t num_drafted = 0;
  int64_t num_accepted = 0;

  int64_t num_new() const { return length - prompt_length; }
  bool is_finished() const { return reason != SAMPLER_FINISH_NONE; }
};

// Runs `loop`, then `write` for its outputs, even if it fails.
template <class Loop, class Write>
void run_and_write(const Loop &loop, const Write &write) {
  try {
    loop();
  } catch (...) {
    write();
    throw;
  }
  write();
}

// A round of a text, for the statistics and the trace.
struct Round {
  const int32_t *drafts = nullptr;
  int64_t num_drafted = 0;
  int64_t num_accepted = 0;
  int32_t next_token_id = -1;
  float entropy = __builtin_nanf("");
};

class Generation {
 public:
  // `args` and its arrays must be checked, and outlive this. max_drafts is per text and round.
  Generation(const ExecutionTarget &place, const sampler_generation_args &args, int64_t max_drafts);

  const sampler_generation_args &args() const { return args_; }
  const sampler_model &target() const { return target_; }
  abi::Entry *entry() const { return entry_; }
  Array<GeneratedText> &texts() { return texts_; }
  int64_t num_texts() const { return args_.num_sequences; }
  // Most tokens of all texts together.
  int64_t capacity() const { return capacity_; }
  sampler_generation_stats &stats() { return stats_; }

  // `token_id` must be in the vocabulary.
  bool is_end(int32_t token_id) const {
    return ends_[size_t(token_id) / 64] >> (token_id % 64) & 1;
  }

  // From now on the outputs are this call's.
  void mark_started() { has_started_ = true; }
  bool has_started() const { return has_started_; }

  // Hands out the next `count` tokens of a text, after those handed out before.
  void hand_out(GeneratedText *text, int64_t count, sampler_finish_reason reason);

  // Counts and traces a round of a text.
  void finish_round(GeneratedText *text, const Round &round);

  // Writes all outputs but cache lengths and statistics.
  void write_outputs();

 private:
  void mark_end(int32_t token_id);
  const char *make_line(const GeneratedText &text, const Round &round);
  [[gnu::format(printf, 2, 3)]] void append(const char *format, ...);
  void append_token(int32_t token_id);

  abi::Entry *entry_;
  const sampler_generation_args &args_;
  const sampler_model &target_;
  int64_t capacity_;
  Array<uint64_t> ends_;  // one bit per token
  Array<int32_t> tokens_;
  Array<GeneratedText> texts_;
  Array<char> line_;  // trace line of a round
  bool has_started_ = false;
  sampler_generation_stats stats_ = {};
};

}  // namespace sampler::decoding
