// A call of a loop with memory for all that it takes and gives, and what must hold of its outputs
// whatever the model.
#ifndef SAMPLER_TESTS_DECODING_GENERATION_H_
#define SAMPLER_TESTS_DECODING_GENERATION_H_

#include <sampler/sampler.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../sized.h"
#include "model.h"

namespace decoding_test {

struct DestroySampler {
  void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
};
using Sampler = std::unique_ptr<struct sampler_handle, DestroySampler>;

// A handle without a workspace.
Sampler make_sampler(std::int32_t num_threads = 1);
// One with a fallback token.
Sampler make_sampler_with_fallback(std::int64_t token_id);

// A trace round, copied.
struct Round {
  std::int64_t text;
  std::int64_t round;
  Tokens drafts;
  std::int64_t num_accepted;
  std::int32_t next_token_id;
  float entropy;
  std::string line;
};

struct Text {
  Tokens tokens;
  sampler_finish_reason reason = SAMPLER_FINISH_NONE;
  std::int64_t num_drafted = 0;
  std::int64_t num_accepted = 0;
  std::int64_t cache_length = 0;

  bool operator==(const Text &other) const {
    return tokens == other.tokens && reason == other.reason && num_drafted == other.num_drafted &&
           num_accepted == other.num_accepted;
  }
};
std::ostream &operator<<(std::ostream &out, const Text &text);

// What a loop is called with; `out_` what those with drafts report besides.
struct LoopArgs : sampler_generation_args {
  std::int64_t *out_drafted_counts = nullptr;
  std::int64_t *out_accepted_counts = nullptr;

  LoopArgs() : sampler_generation_args(sampler_generation_args_default()) {}
};
using Loop = std::function<sampler_status(sampler_t, const LoopArgs *)>;

Loop autoregressive();
// The arguments are copied; `generation`, `drafter` and `ngram` are filled in. The model is the
// caller's.
Loop speculative(Model *drafter, const SpeculativeArgs &args = SpeculativeArgs());
Loop speculative(const sampler_ngram &ngram, const SpeculativeArgs &args = SpeculativeArgs());

// What `process` of a loop is given.
struct ProcessCall {
  void *logits;
  std::int64_t num_rows, num_cols, row_stride;
  const std::int32_t *sequences;
  const std::int64_t *lengths;
};

class Generation {
 public:
  Generation(Model *target, std::vector<Tokens> prompts);
  Generation(const Generation &) = delete;
  Generation &operator=(const Generation &) = delete;

  // What a test sets. Pointers to parameters, prompts and outputs, and all callbacks except
  // token_text, are set here.
  LoopArgs args;
  sampler_params params = sampler_params_default();
  std::function<sampler_status(const ProcessCall &)> process;  // empty: none
  std::vector<std::uint64_t> seeds;                            // empty: args.seed
  std::vector<std::int32_t> ends;                              // empty: none
  bool default_ends = false;                                   // the library's own
  std::map<std::int64_t, std::int64_t> cancel_at;  // by text: the tokens that are enough for it

  // Runs the loop and, when it succeeds, checks what always holds.
  sampler_status run(sampler_t sampler, const Loop &loop);
  // The same, which must succeed.
  const std::vector<Text> &texts_of(sampler_t sampler, const Loop &loop);

  const std::vector<Tokens> &prompts() const { return prompts_; }
  // The last run's.
  const std::vector<Text> &texts() const { return texts_; }
  const std::vector<Tokens> &streamed() const { return streamed_; }
  const std::vector<Round> &rounds() const { return rounds_; }
  const sampler_generation_stats &stats() const { return stats_; }
  bool outputs_are_untouched() const;

  Tokens whole_text(std::size_t i) const;

 private:
  void reset();
  void read_outputs();
  void check_text(std::size_t i) const;
  void check_rounds(std::size_t i, const std::vector<const Round *> &rounds) const;
  void check_stats() const;
  bool is_end(std::int32_t token) const;

  static sampler_status on_process(void *user, sampler_stream stream, void *logits,
                                   std::int64_t num_rows, std::int64_t num_cols,
                                   std::int64_t row_stride, const std::int32_t *sequences,
                                   const std::int64_t *lengths);
  static std::int32_t on_tokens(void *user, std::int64_t text, const std::int32_t *token_ids,
                                std::int64_t num_tokens, sampler_finish_reason reason);
  static void on_round(void *user, const sampler_trace_round *round);

  Model *target_;
  sampler_model model_;
  std::vector<Tokens> prompts_;
  Tokens prompt_ids_;
  std::vector<std::int64_t> prompt_offsets_;

  Tokens token_ids_;
  std::vector<std::int64_t> lengths_, drafted_, accepted_, cache_lengths_;
  std::vector<sampler_finish_reason> reasons_;
  sampler_generation_stats stats_ = sized<sampler_generation_stats>();

  std::vector<Text> texts_;
  std::vector<Tokens> streamed_;
  std::vector<sampler_finish_reason> streamed_reasons_;
  std::vector<Round> rounds_;
};

// What the loops are to give: token by token, each forward with the whole text, each token drawn by
// a call of its own. Rows and prompts of `generation`; counts of drafts are 0.
std::vector<Text> expected_texts(sampler_t sampler, const Model &model,
                                 const Generation &generation);

// Tokens and reasons, without counts.
std::vector<Text> without_counts(std::vector<Text> texts);

// num_prompts of them, of lengths in [1, max_length].
std::vector<Tokens> random_prompts(Random *random, std::int64_t num_prompts,
                                   std::int64_t max_length, std::int64_t vocabulary_size);

}  // namespace decoding_test

#endif  // SAMPLER_TESTS_DECODING_GENERATION_H_
