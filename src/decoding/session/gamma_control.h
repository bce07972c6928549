// The number of drafts of a session's measured sequences, and their rounds: steps that begin
// together and are verified together.
#pragma once

#include <cstdint>

#include "decoding/session/drafting.h"
#include "decoding/session/measured_gamma.h"
#include "decoding/session/sequence_table.h"

namespace sampler::decoding {

class GammaControl {
 public:
  GammaControl(const SessionConfig &config, const SessionHost *host, SequenceTable *table,
               const Drafting *drafting, SessionArrays *arrays);

  // At the start of a plan: sets the number of drafts of measured sequences. Returns whether some
  // of them draft now.
  bool begin_plan(abi::Entry &entry, const sampler_session_plan_args &args);
  // At its end: finds whether the plan has the spans that end the round.
  void end_plan(abi::Entry &entry, const sampler_session_plan_args &args);

  // Around the updates of the target's spans; each span is counted before its drafts are forgotten.
  // `before`: the text's length at the start.
  void begin_spans(const sampler_session_advance_args &args);
  void count(const sampler_span &span, int64_t before, int64_t num_kept);
  void end_spans(abi::Entry &entry);

  // For hosts that measure: the size of a round of all texts, and the limit of its positions.
  RoundTexts round_texts() const;
  void limit_drafts(int64_t num_positions);
  // The round that the last advance verified.
  const MeasuredRound &verified() const { return verified_; }

 private:
  // State of the measured sequences, which draft and are verified together.
  struct PlannedRound {
    int64_t num_texts;
    bool is_clean;    // nothing else is timed with it
    bool is_drafted;  // the last plan has all their spans of the target
  };

  const bool counts_all_;
  SequenceTable &table_;
  const Drafting &drafting_;
  MeasuredGamma *measured_;  // null: nothing is measured here
  PlannedRound round_ = {};
  bool ends_round_ = false;  // the spans of this advance end the round
  MeasuredRound verified_;
};

}  // namespace sampler::decoding
