// Good calls of a session: their arguments, and what they leave.
#pragma once

#include <array>
#include <string>

#include "../sized.h"
#include "expect.h"

namespace capi_test {

class SessionCalls {
 public:
  explicit SessionCalls(sampler_t sampler) : sampler_(sampler) {
    options.max_sequences = 2;
    options.max_context = 16;
    options.vocabulary_size = kVocabulary;
    options.max_drafts = 2;
    options.lookup_tokens = 16;
    params.temperature = 0.7f;
    params.top_p = 0.9f;
    params.repetition_penalty = 1.3f;
    add.token_ids = text_.data();
    add.num_tokens = std::int64_t(text_.size());
    add.params = &params;
    add.draft_source = SAMPLER_DRAFTS_PROMPT_LOOKUP;
    plan.out_spans = spans_.data();
    plan.out_num_spans = &num_spans_;
    advance.spans = spans_.data();
    advance.logits = logits_.data();
    advance.out_token_ids = token_ids_.data();
    advance.out_counts = counts_.data();
    advance.report_args.out_logprobs = logprobs_.data();
    Random random(6);
    for (float &value : logits_) value = float(random.between(1, 1 << 24)) * 0x1.9p-22f;
  }
  ~SessionCalls() { destroy(); }
  SessionCalls(const SessionCalls &) = delete;
  SessionCalls &operator=(const SessionCalls &) = delete;

  sampler_status create() { return sampler_session_create(sampler_, &options, &session); }
  void destroy() {
    sampler_session_destroy(session);
    session = nullptr;
  }
  // A new session with a sequence, which has been planned.
  void start() {
    destroy();
    create();
    sampler_session_add(session, &add, &sequence);
    sampler_session_plan(session, &plan);
    advance.num_spans = num_spans_;
    sequence = -1;
    token_ids_.fill(-7);
    counts_.fill(-7);
    logprobs_.fill(-7);
    out = sized<sampler_session_sequence>();
  }

  // What the first sequence has become, and what calls wrote.
  std::string contents() {
    sampler_session_get(session, 0, &out);
    std::string result = testing::PrintToString(token_ids_) + testing::PrintToString(counts_) +
                         testing::PrintToString(logprobs_) + std::to_string(sequence) + " " +
                         std::to_string(num_spans_) + " " + std::to_string(out.cache_length);
    for (std::int64_t i = 0; i < out.num_tokens; ++i) {
      result += " " + std::to_string(out.token_ids[i]);
    }
    return result;
  }

  SessionOptions options;
  sampler_session_t session = nullptr;
  sampler_params params = sampler_params_default();
  sampler_session_add_args add = sized<sampler_session_add_args>();
  sampler_session_fork_args fork = sized<sampler_session_fork_args>();
  sampler_session_plan_args plan = sized<sampler_session_plan_args>();
  AdvanceArgs advance = AdvanceArgs();
  sampler_session_sequence out = sized<sampler_session_sequence>();
  std::int32_t sequence = -1;

 private:
  static constexpr std::int64_t kVocabulary = 8;

  sampler_t sampler_;
  std::array<std::int32_t, 5> text_ = {3, 1, 4, 3, 1};
  std::array<sampler_span, 2> spans_ = {};
  std::int64_t num_spans_ = 0;
  std::array<float, 6 * std::size_t(kVocabulary)> logits_ = {};
  std::array<std::int32_t, 6> token_ids_ = {};
  std::array<std::int64_t, 2> counts_ = {};
  std::array<float, 6> logprobs_ = {};
};

}  // namespace capi_test
