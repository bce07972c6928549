// How many drafts the measured sequences of a session get, and what their rounds are: steps that
// begin together and are verified together.
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

  // As a plan begins: gives measured sequences the number of their drafts. Whether some of them
  // draft now.
  bool begin_plan(capi::Entry &entry, const sampler_session_plan_args &args);
  // Behind it: whether it has the spans that the round ends with.
  void end_plan(capi::Entry &entry, const sampler_session_plan_args &args);

  // Around what the spans of the target have become, each of which counts before its drafts are
  // forgotten; `before`: the length that the text had.
  void begin_spans(const sampler_session_advance_args &args);
  void count(const sampler_span &span, int64_t before, int64_t num_kept);
  void end_spans(capi::Entry &entry);

  // Of a host that measures. What a round of all texts will be of, and their positions at most.
  RoundTexts round_texts() const;
  void limit_drafts(int64_t num_positions);
  // What the last advance verified.
  const MeasuredRound &verified() const { return verified_; }

 private:
  // What measured sequences are doing. They draft and are verified together.
  struct Round {
    int64_t num_texts;
    bool is_clean;    // nothing else takes time
    bool is_drafted;  // the last plan has all their spans of the target
  };

  const bool counts_all_;
  SequenceTable &table_;
  const Drafting &drafting_;
  MeasuredGamma *measured_;  // null: no sequence is measured here
  Round round_ = {};
  bool ends_round_ = false;  // the spans of this advance do
  MeasuredRound verified_;
};

}  // namespace sampler::decoding
