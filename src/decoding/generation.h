// What all loops share: the texts, where they end, and what becomes of their tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "capi/handle_impl.h"
#include "sampler/decoding.h"

namespace sampler::decoding {

struct Text {
  int64_t index;                // in the call
  std::vector<int32_t> tokens;  // the prompt, new tokens and, during a round, drafts behind them
  int64_t prompt_length;
  int64_t length;  // without drafts
  uint64_t seed;
  sampler_finish_reason reason = SAMPLER_FINISH_NONE;
  int64_t num_rounds = 0;
  int64_t num_drafted = 0;
  int64_t num_accepted = 0;

  int64_t num_new() const { return length - prompt_length; }
  bool is_finished() const { return reason != SAMPLER_FINISH_NONE; }
};

// Runs `loop`, then `write` for its outputs, also when it fails.
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
  // `args` and what it points to have been checked and outlive this.
  Generation(capi::Entry *entry, const sampler_generation_args &args);

  const sampler_generation_args &args() const { return args_; }
  const sampler_model &target() const { return target_; }
  capi::Entry *entry() const { return entry_; }
  std::vector<Text> &texts() { return texts_; }
  sampler_generation_stats &stats() { return stats_; }

  bool is_end(int32_t token_id) const;

  // What the outputs hold from now on is this call's.
  void mark_started() { has_started_ = true; }
  bool has_started() const { return has_started_; }

  // Texts that go on, in order. Those whose prompts fill the context end first.
  std::vector<Text *> start();
  void remove_finished(std::vector<Text *> *active) const;

  // How many tokens a text may still get, at least 1 if it goes on.
  int64_t room(const Text &text) const;

  // Appends tokens to a text, in place of its drafts, up to the first that ends it, and hands them
  // out. A negative one, of a bad row, ends it too. Returns how many became text.
  int64_t emit(Text *text, const int32_t *token_ids, int64_t count);

  // Counts a round of a text and tells of it.
  void finish_round(Text *text, const Round &round);

  // All but the lengths of caches, and the statistics.
  void write_outputs();

 private:
  void hand_out(Text *text, int64_t count) const;
  std::string line(const Text &text, const Round &round) const;
  void append_token(std::string *line, int32_t token_id) const;

  capi::Entry *entry_;
  const sampler_generation_args &args_;
  const sampler_model &target_;
  std::vector<int32_t> end_tokens_;
  std::vector<Text> texts_;
  bool has_started_ = false;
  sampler_generation_stats stats_ = SAMPLER_GENERATION_STATS_INIT;
};

}  // namespace sampler::decoding
