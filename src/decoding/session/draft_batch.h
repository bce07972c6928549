// The drafter's rows of an advance: what is drawn and selected from them, and the drafts that come
// of it.
#pragma once

#include <cstdint>

#include "decoding/session/drafting.h"
#include "decoding/session/sequence_table.h"
#include "decoding/session/session_requests.h"

namespace sampler::decoding {

// Draws of a token each: from which rows, for which sequences, and what came.
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

  // What is drawn and selected.
  void find(const sampler_session_advance_args &args);
  // The calls of it, whose results are downloaded after them.
  sampler_status run(capi::Entry &entry, const sampler_session_advance_args &args);
  sampler_status keep_rows(capi::Entry &entry, const sampler_session_advance_args &args);
  // By the entropy of the first row of a step: how many drafts the step gets.
  sampler_status adapt(capi::Entry &entry, const sampler_session_advance_args &args);
  // Each row gives its sequence a draft, or of a tree the drafts of a position.
  void take(const sampler_session_advance_args &args);

  // Of none that is still wanted here, for another call.
  Draws &spare_draws() {
    draws_.count = 0;
    return draws_;
  }

 private:
  int64_t num_cols() const { return config_.num_cols(); }
  sampler_rows rows_of(const sampler_session_advance_args &args) const;
  const unsigned char *given_row(const sampler_session_advance_args &args, int64_t row) const;
  sampler_status draw(capi::Entry &entry, const sampler_session_advance_args &args);
  sampler_status select(capi::Entry &entry, const sampler_session_advance_args &args);
  sampler_status adapt(capi::Entry &entry, int32_t sequence, const void *row);
  void take_drawn(int32_t sequence, int64_t draw);
  void take_selected(int32_t sequence, int64_t row);

  const SessionConfig &config_;
  const SessionHost *host_;
  SequenceTable &table_;
  Drafting &drafting_;
  SessionRequests &requests_;
  Transfer &transfer_;
  int64_t num_rows_ = 0, num_selected_ = 0;
  bool has_doubt_ = false;
  Draws draws_;
  int32_t *selected_ids_;  // of trees, [rows, selected of each]
  float *probabilities_;   // [columns]
};

}  // namespace sampler::decoding
