// A session with models whose caches hold what they were fed, as a server has them.
#ifndef SAMPLER_TESTS_SESSION_DRIVER_H_
#define SAMPLER_TESTS_SESSION_DRIVER_H_

#include <sampler/sampler.h>

#include <climits>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "../sized.h"
#include "alone.h"

namespace session_test {

// A handle, and a session of it.
class Driver {
 public:
  // `pipeline` and `params` of the options stay the caller's; masks are those of the pipeline.
  Driver(const SessionOptions &options, NextLogits target, NextLogits drafter = nullptr,
         const sampler_options &handle = sampler_options_default(), Extras extras = {});
  ~Driver();
  Driver(const Driver &) = delete;
  Driver &operator=(const Driver &) = delete;

  sampler_session_t session() const { return session_; }
  sampler_t sampler() const { return sampler_; }

  // Adds a sequence; `text` is in place of its prompt where it goes on.
  std::int32_t add(const Wish &wish, sampler_session_add_args args, const Tokens &text = {});
  std::int32_t fork(std::int32_t source, const std::uint64_t *seed = nullptr,
                    const sampler_params *params = nullptr);
  void remove(std::int32_t sequence);
  // Takes a sequence out and lets it go on, with caches as `args` has them.
  std::int32_t put_back(std::int32_t sequence, const Wish &wish, sampler_session_add_args args);
  sampler_session_sequence get(std::int32_t sequence) const;
  Tokens text(std::int32_t sequence) const;
  bool runs(std::int32_t sequence) const;

  // What each draft of the span of the target that was planned last follows: plan's out_parents.
  const Tokens &parents(std::int32_t sequence) const { return parents_.at(sequence); }

  // Log-probabilities of the tokens of a sequence that came in steps of this session.
  std::map<std::int32_t, std::vector<float>> logprobs;
  // And the first tokens at each of their places.
  std::map<std::int32_t, Tokens> top_token_ids;
  std::map<std::int32_t, std::vector<float>> top_logprobs;

  struct Step {
    std::vector<sampler_span> spans, drafter_spans;
  };
  // Plans these, or all; the models have not run.
  Step plan(const Tokens &sequences = {}, std::int64_t max_tokens = 0);
  // Runs the spans and advances: all at once or, with `random`, in parts and in any order.
  void run(Step step, Random *random = nullptr);
  // Until none of these, or none at all, runs.
  void finish(const Tokens &sequences = {});

  // An advance may fail so, once, and adding a sequence, or each of them as often; what it was to
  // do is planned or tried again. The error's text.
  void expect_failure(sampler_status status) { expected_failures_ = {status}; }
  void expect_failures(const std::set<sampler_status> &statuses) {
    expected_failures_ = statuses;
    max_failures_ = INT_MAX;
  }
  int num_failed = 0;
  std::string failure;

  // The numbers of rows that the target wrote, and of steps with spans of it.
  std::int64_t num_rows = 0, num_steps = 0;

 private:
  struct Caches {
    Tokens target, drafter;
  };

  void run_part(const std::vector<sampler_span> &spans,
                const std::vector<sampler_span> &drafter_spans);
  // What a step's rows have besides: by row, but guidance, whose rows are in the opposite order.
  struct Besides {
    Tokens masks, forced, guidance_rows;
    std::vector<Logits> guidance;
  };

  std::vector<float> forward(const std::vector<sampler_span> &spans, const NextLogits &model,
                             Tokens Caches::*cache, std::int64_t stride, Besides *besides);

  sampler_t sampler_ = nullptr;
  sampler_session_t session_ = nullptr;
  SessionOptions options_;
  bool may_fail(sampler_status status) const {
    return expected_failures_.count(status) > 0 && num_failed < max_failures_;
  }

  std::set<sampler_status> expected_failures_;
  int max_failures_ = 1;
  NextLogits target_, drafter_;
  Extras extras_;
  std::map<std::int32_t, Caches> caches_;
  std::map<std::int32_t, Tokens> parents_;
};

sampler_options handle_options(std::int32_t num_threads, std::int64_t fallback_token_id = -1);

// Options for max_sequences sequences.
SessionOptions small_options(std::int64_t max_sequences, std::int64_t max_drafts = 0);

constexpr std::int64_t kVocabulary = 24;
constexpr std::int64_t kContext = 48;

}  // namespace session_test

#endif  // SAMPLER_TESTS_SESSION_DRIVER_H_
