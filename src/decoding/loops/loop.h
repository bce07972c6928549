// The loop around a model: rounds of a session until all its texts have ended.
#pragma once

#include <cstdint>
#include <optional>

#include "decoding/loops/cached_model.h"
#include "decoding/loops/generation.h"
#include "decoding/loops/loop_host.h"
#include "decoding/loops/own_session.h"
#include "decoding/session/measured_gamma.h"

namespace sampler::decoding {

class Loop {
 public:
  // `speculative` null: no drafts. `has_stages`: tokens are sampled with stages or with parameters
  // by text.
  Loop(const ExecutionTarget &place, const sampler_speculative_args *speculative, bool has_stages,
       Generation *generation);

  // Runs all rounds. Writes the generated tokens even after a failure.
  void run();

 private:
  // A text's length and drafts before the round is verified.
  struct Drafted {
    int64_t begin;  // the text's length
    int64_t first, count;
    float entropy;
  };

  void add_texts();
  void start();
  void plan();
  void round();
  void draft();
  void forward();
  void verify();
  void finish(size_t span);
  void write_outputs();

  int64_t num_texts() const { return generation_->num_texts(); }
  int64_t max_drafts() const;
  const int32_t *parents_of(int64_t span) const {
    return has_trees_ ? parents_.data() + span * max_drafts() : nullptr;
  }

  abi::Entry *entry_;
  Generation *generation_;
  const sampler_speculative_args *speculative_;
  const bool has_trees_;  // a position may have several drafts
  LoopHost host_;
  CachedModel target_;
  std::optional<CachedModel> drafter_;
  DeviceBytes logits_, drafter_logits_;  // [texts, max_drafts + 1, columns], [texts, columns]
  OwnSession session_;
  std::optional<MeasuredGamma> measured_;
  Array<Feed> feeds_;
  Array<sampler_span> spans_, drafter_spans_;  // of the last plan
  Array<Drafted> drafted_;                     // by span
  Array<int32_t> drafts_;
  Array<int32_t> parents_;                   // of drafts, [spans, max_drafts]; empty without trees
  Array<int32_t> masks_;                     // by row
  Array<int32_t> token_ids_;                 // [spans, max_drafts + 1]
  Array<int64_t> counts_, accepted_counts_;  // by span
  Array<sampler_finish_reason> reasons_;
  int64_t num_spans_ = 0, num_drafter_spans_ = 0;
  int64_t num_running_ = 0;
};

}  // namespace sampler::decoding
