// The drafter's rows of an advance: draws and selections from them, and the resulting drafts.
#pragma once

#include <cstdint>

#include "decoding/session/drafting.h"
#include "decoding/session/sequence_table.h"
#include "decoding/session/session_requests.h"

namespace sampler::decoding {

// Draws of one token each: their rows, sequences and results.
struct Draws {
  int64_t count;
  int32_t *row_indices, *slots, *ids;
  sampler_row_status *status;
  float *logprobs;

  void add(int64_t row, int32_t sequence) {
    row_indices[count] = int32_t(row);
    slots[count++] = sequence;
  }
};

class DraftBatch {
 public:
  DraftBatch(const SessionConfig &config, const SessionHost *host, SequenceTable *table,
             Drafting *drafting, SessionRequests *requests, Transfer *transfer,
             SessionArrays *arrays);

  // Finds the rows to draw from and to select from.
  void find(const sampler_session_advance_args &args);
  // Runs the calls; their results are downloaded afterwards.
  sampler_status run(abi::Entry &entry, const sampler_session_advance_args &args);
  sampler_status keep_rows(abi::Entry &entry, const sampler_session_advance_args &args);
  // Sets the step's number of drafts by the entropy of its first row.
  sampler_status adapt(abi::Entry &entry, const sampler_session_advance_args &args);
  // Gives each row's sequence a draft or, in a tree, the drafts of a position.
  void take(const sampler_session_advance_args &args);

  // The arrays for another call's draws. This batch's own draws must have been taken.
  Draws &spare_draws() {
    draws_.count = 0;
    return draws_;
  }

 private:
  int64_t num_cols() const { return config_.num_cols(); }
  sampler_rows rows_of(const sampler_session_advance_args &args) const;
  const unsigned char *given_row(const sampler_session_advance_args &args, int64_t row) const;
  sampler_status draw(abi::Entry &entry, const sampler_session_advance_args &args);
  sampler_status select(abi::Entry &entry, const sampler_session_advance_args &args);
  sampler_status adapt(abi::Entry &entry, int32_t sequence, const void *row);
  void take_drawn(int32_t sequence, int64_t draw);
  void take_selected(int32_t sequence, int64_t row);

  const SessionConfig &config_;
  const SessionHost *host_;
  SequenceTable &table_;
  Drafting &drafting_;
  SessionRequests &requests_;
  Transfer &transfer_;
  int64_t num_rows_ = 0, num_selected_ = 0;
  bool needs_logprobs_ = false;
  Draws draws_;
  int32_t *selected_ids_;  // trees only, [rows, selected per row]
  float *probabilities_;   // [columns]
};

}  // namespace sampler::decoding
