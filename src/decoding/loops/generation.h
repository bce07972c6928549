// What all loops share: the texts, where they end, and what becomes of their tokens.
#pragma once

#include <cstddef>
#include <cstdint>

#include "decoding/loops/memory.h"
#include "sampler/decoding.h"

namespace sampler::decoding {

struct Text {
  int64_t index;    // in the call
  int32_t *tokens;  // the prompt, new tokens and, during a round, drafts
  int64_t prompt_length;
  int64_t length;    // of what was handed out
  int64_t capacity;  // tokens, at most
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

// A round of a text, for its counts and its trace.
struct Round {
  const int32_t *drafts = nullptr;
  int64_t num_drafted = 0;
  int64_t num_accepted = 0;
  int32_t next_token_id = -1;
  float entropy = __builtin_nanf("");
};

class Generation {
 public:
  // `args` and what it points to have been checked and outlive this. A round of a text has at most
  // max_drafts drafts.
  Generation(const ExecutionTarget &place, const sampler_generation_args &args, int64_t max_drafts);

  const sampler_generation_args &args() const { return args_; }
  const sampler_model &target() const { return target_; }
  capi::Entry *entry() const { return entry_; }
  Array<Text> &texts() { return texts_; }
  int64_t num_texts() const { return args_.num_sequences; }
  // Tokens that the texts can have, all together.
  int64_t capacity() const { return capacity_; }
  sampler_generation_stats &stats() { return stats_; }

  // `token_id` is in the vocabulary.
  bool is_end(int32_t token_id) const {
    return ends_[size_t(token_id) / 64] >> (token_id % 64) & 1;
  }

  // From now on the outputs hold what this call writes.
  void mark_started() { has_started_ = true; }
  bool has_started() const { return has_started_; }

  // Hands out the next tokens of a text, which stand after those that were handed out before.
  void hand_out(Text *text, int64_t count, sampler_finish_reason reason);

  // Counts a round of a text and tells of it.
  void finish_round(Text *text, const Round &round);

  // All but the lengths of caches, and the statistics.
  void write_outputs();

 private:
  void mark_end(int32_t token_id);
  const char *make_line(const Text &text, const Round &round);
  [[gnu::format(printf, 2, 3)]] void append(const char *format, ...);
  void append_token(int32_t token_id);

  capi::Entry *entry_;
  const sampler_generation_args &args_;
  const sampler_model &target_;
  int64_t capacity_;
  Array<uint64_t> ends_;  // a bit a token
  Array<int32_t> tokens_;
  Array<Text> texts_;
  Array<char> line_;  // of a round
  bool has_started_ = false;
  sampler_generation_stats stats_ = {};
};

}  // namespace sampler::decoding
