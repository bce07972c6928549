// The target's rows of an advance: draws and verification from them, and the sequences' new tokens.
#pragma once

#include <cstdint>

#include "decoding/session/block_batch.h"
#include "decoding/session/chain_layout.h"
#include "decoding/session/draft_batch.h"
#include "decoding/session/drafting.h"
#include "decoding/session/sequence_table.h"
#include "decoding/session/session_requests.h"
#include "decoding/session/session_state.h"

namespace sampler::decoding {

class VerifyBatch {
 public:
  using Group = ChainGroup;

  VerifyBatch(const SessionConfig &config, const SessionHost *host, SequenceTable *table,
              Drafting *drafting, SessionRequests *requests, SessionState *state,
              Transfer *transfer, SessionArrays *arrays);

  // Run the library's own checks of parameters, or of the session's with the host's numbers.
  sampler_status check_params(abi::Entry &entry, const sampler_params &params);
  sampler_status check(abi::Entry &entry);

  // Finds what to draw and to verify.
  void find(const sampler_session_advance_args &args);
  // Runs the calls; their results are downloaded afterwards.
  sampler_status run(abi::Entry &entry, const sampler_session_advance_args &args);
  // Replaces draws from residuals by draws from the target's p, if the host skips the adjustment.
  sampler_status redraw(abi::Entry &entry, const sampler_session_advance_args &args, Draws *draws);
  // Appends the tokens to their texts, and writes them out. Counts are of drafts accepted before,
  // until the spans are finished.
  void take(abi::Entry &entry, const sampler_session_advance_args &args);
  // The length of a span's text before this advance.
  int64_t length_before(int64_t span) const { return lengths_before_[span]; }

  // Accepts the last step's tokens into the state; after a failure they remain to be accepted.
  sampler_status settle(abi::Entry &entry);

 private:
  int64_t max_drafts() const { return config_.max_drafts(); }
  sampler_rows rows_of(const sampler_session_advance_args &args) const;
  sampler_pipeline place_pipeline(const sampler_session_advance_args &args, const Group &group);
  sampler_sample_args draw_args(const Group &group, const sampler_pipeline &pipeline);
  template <class Call>
  void place_results(const sampler_session_advance_args &args, const Group &group,
                     sampler_report_args *reports, Call *call);
  sampler_status draw(abi::Entry &entry, const sampler_session_advance_args &args);
  sampler_status verify(abi::Entry &entry, const sampler_session_advance_args &args,
                        DraftGroup group);
  sampler_status select_likeliest(abi::Entry &entry, const sampler_session_advance_args &args);
  void clear_outputs(const sampler_session_advance_args &args) const;
  void find_kept_path(const Group &group, int64_t tree);
  void take_tokens(const sampler_session_advance_args &args, const Group &group, int64_t chain);
  void take_block(abi::Entry &entry, const sampler_session_advance_args &args, const Group &group,
                  int64_t chain);
  sampler_status accept(abi::Entry &entry, const Group &group);

  const SessionConfig &config_;
  const SessionHost *host_;
  SequenceTable &table_;
  Drafting &drafting_;
  SessionRequests &requests_;
  SessionState &state_;
  Transfer &transfer_;
  ChainLayout layout_;
  BlockBatch blocks_;
  int64_t *lengths_before_;  // by span
  // By chain, at most [chains, max_drafts + 1].
  int32_t *positions_;  // trees only
  int32_t *num_kept_, *token_ids_;
  sampler_row_status *row_status_;
  float *observations_, *logprobs_;
  int32_t *top_token_ids_;
  float *top_logprobs_;
  // Chains whose tokens the state does not have yet: those without drafts, and all others.
  Group unsettled_[2] = {};
  bool has_observations_ = false;
};

}  // namespace sampler::decoding
