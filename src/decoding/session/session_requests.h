// The arguments of a session's library calls, without those of each batch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/handle_impl.h"
#include "decoding/session/sequence_table.h"
#include "decoding/session/session_state.h"
#include "decoding/session/transfer.h"
#include "sampler/sampler.h"

namespace sampler::decoding {

class SessionRequests {
 public:
  // All arguments must outlive this.
  SessionRequests(const SessionConfig &config, sampler_handle *handle, const SessionHost *host,
                  const SequenceTable *table, const SessionState *state, Transfer *transfer,
                  SessionArrays *arrays);

  // Workspace bytes of a step's largest call. On failure the status, with its text.
  sampler_status ask_workspace(abi::Entry &entry, size_t *out_bytes) const;
  void set_workspace(void *workspace, size_t bytes) {
    exec_.workspace = workspace;
    exec_.workspace_bytes = bytes;
  }

  // Begins a step: places the arrays that its calls share. `needs_ends`: whether stages need the
  // end tokens. `has_guidance`: whether there are rows for it.
  void place_arrays(bool needs_ends, bool has_guidance);
  // The numbers by sequence, as placed for calls: all, and those of a drafter's draws.
  const sampler_row_params &numbers() const { return placed_.numbers; }
  const sampler_row_params &plain_numbers() const { return placed_.plain_numbers; }

  sampler_rows rows_of(const void *logits, int64_t num_rows, int64_t stride) const;
  sampler_rows drafter_rows_of(const void *logits, int64_t num_rows, int64_t stride) const;

  // Seeds and offsets by sequence.
  sampler_sample_args sample_args(const sampler_params &params,
                                  const sampler_row_params &row_params) const;
  // Writes a row's probabilities, for its entropy.
  sampler_filter_args entropy_args(const void *row, const sampler_params &params,
                                   void *probabilities) const;
  sampler_pipeline make_pipeline() const;
  // With the masks and guidance of a call's rows.
  sampler_pipeline make_pipeline(const sampler_session_advance_args &args, const int32_t *masks,
                                 const int32_t *guidance_rows) const;
  // For any numbers of drafts, without rows and results; `layout` has what all calls share.
  sampler_verify_args verify_args(const sampler_params &params,
                                  const sampler_row_params &row_params,
                                  const sampler_pipeline &pipeline, int64_t num_chains,
                                  sampler_draft_layout *layout) const;
  // Adds the drafter's rows that the session keeps, and the parameters of their draws.
  void add_drafter_rows(const sampler_params &params, const sampler_row_params &row_params,
                        sampler_draft_layout *layout, sampler_verify_args *args) const;

  // Keeps a draft's row for its verification.
  sampler_status keep_row(abi::Entry &entry, int32_t sequence, int64_t draft, const void *row);

  // Selects the `count` likeliest tokens of each row.
  sampler_status select(abi::Entry &entry, const sampler_rows &rows, int64_t count,
                        int32_t *out_ids);
  template <class Args>
  sampler_status call(abi::Entry &entry, sampler_status (*function)(sampler_t, const Args *),
                      const Args &args) const {
    return entry.call_host([&] { return function(handle_, &args); });
  }

 private:
  // Arrays by slot, as placed for the calls of a step.
  struct Placed {
    const uint64_t *seeds, *offsets;
    const sampler_acceptance *acceptances;
    sampler_row_params numbers, plain_numbers;
    sampler_token_lists ends;  // with a minimum of new tokens only
  };

  int64_t num_sequences() const { return config_.num_sequences(); }
  int64_t max_drafts() const { return config_.max_drafts(); }

  const SessionConfig &config_;
  sampler_handle *handle_;
  const SessionHost *host_;
  const SequenceTable &table_;
  const SessionState &state_;
  Transfer &transfer_;
  sampler_exec exec_ = {};
  Placed placed_ = {};
  sampler_acceptance_params acceptance_;  // the config's, its arrays copied
  unsigned char *drafter_rows_;           // [sequences, max_drafts, columns], in the calls' memory
};

}  // namespace sampler::decoding
