// The decoding session: a plan gives its sequences spans, an advance gives them tokens. Callers
// must have checked all arguments.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/handle_impl.h"
#include "decoding/session/draft_batch.h"
#include "decoding/session/drafting.h"
#include "decoding/session/gamma_control.h"
#include "decoding/session/sequence_table.h"
#include "decoding/session/session_config.h"
#include "decoding/session/session_host.h"
#include "decoding/session/session_requests.h"
#include "decoding/session/session_state.h"
#include "decoding/session/transfer.h"
#include "decoding/session/verify_batch.h"
#include "sampler/session.h"

namespace sampler::decoding {

class Session {
 public:
  using Config = SessionConfig;

  // Takes its memory from the arrays, after the host has taken its own. `config` and `host` must
  // outlive this.
  Session(const Config &config, sampler_handle *handle, SessionHost *host, SessionArrays *arrays);
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  const sampler_session_options &options() const { return config_.options; }
  const sampler_params &params() const { return config_.params; }
  const Config &config() const { return config_; }

  const sampler_handle &handle() const { return *handle_; }

  // Workspace bytes of a step's largest call. On failure the status, with its text.
  sampler_status ask_workspace(abi::Entry &entry, size_t *out_bytes) const {
    return requests_.ask_workspace(entry, out_bytes);
  }

  // Creates the state. The session must have memory.
  sampler_status start(abi::Entry &entry, void *workspace, size_t workspace_bytes);
  void stop(abi::Entry &entry) { state_.destroy(entry); }

  const SessionSequence *find(int32_t sequence) const { return table_.find(sequence); }
  const int32_t *text(int32_t sequence) const { return table_.text(sequence); }
  // The longest text that fits the drafter's cache.
  int64_t drafter_context() const { return config_.drafter_context(); }
  // For SAMPLER_ACCEPT_SYNTHETIC.
  bool has_rates() const { return config_.acceptance.synthetic_rates || config_.max_drafts() == 0; }
  bool has_guidance(int32_t sequence) const { return host_->has_guidance(sequence); }
  bool is_full() const { return table_.is_full(); }

  // Runs the library's own checks of a sequence's parameters, and of the session's.
  sampler_status check_params(abi::Entry &entry, const sampler_params &params) {
    return verified_.check_params(entry, params);
  }
  sampler_status check(abi::Entry &entry) { return verified_.check(entry); }

  // All arguments must be checked, and a number must be free.
  sampler_status add(abi::Entry &entry, const sampler_session_add_args &args,
                     const sampler_params &params, int32_t *out_sequence);
  sampler_status fork(abi::Entry &entry, int32_t source, const uint64_t *seed,
                      const sampler_params *params, int32_t *out_sequence);
  void remove(int32_t sequence);
  void cancel(int32_t sequence) { table_[sequence].reason = SAMPLER_FINISH_CANCELLED; }

  void plan(abi::Entry &entry, const sampler_session_plan_args &args);

  // Whether the span equals the last planned one of its sequence.
  bool is_planned(const sampler_span &span, bool of_drafter) const;
  // False for a sequence that was marked since begin_marks().
  bool mark(int32_t sequence) { return table_.mark(sequence); }
  void begin_marks() { table_.begin_marks(); }

  sampler_status advance(abi::Entry &entry, const sampler_session_advance_args &args);

  // For hosts that measure rounds, and whose draft sources learn late.
  GammaControl &gamma() { return gamma_; }
  // Accepts the last step's tokens into the state.
  sampler_status settle(abi::Entry &entry) { return verified_.settle(entry); }
  // Teaches the draft source the text from `begin` on.
  void learn(abi::Entry &entry, int32_t sequence, int64_t begin) {
    drafting_.learn(entry, sequence, begin);
  }

 private:
  void plan_sequence(abi::Entry &entry, int32_t sequence, const sampler_session_plan_args &args,
                     bool is_waiting, int64_t *room, int64_t *drafter_room);
  sampler_span planned_span(int32_t sequence, const PlannedSpan &planned) const;
  bool make_span(int64_t begin, int64_t end, int64_t last_part, int64_t num_logits,
                 const SessionBlock &block, int64_t *room, PlannedSpan *out) const;
  void write_parents(const sampler_session_plan_args &args, int32_t sequence, int64_t span) const;
  sampler_status run_calls(abi::Entry &entry, const sampler_session_advance_args &args);
  void finish_span(abi::Entry &entry, const sampler_session_advance_args &args, int64_t span);

  const Config &config_;
  sampler_handle *handle_;
  SessionHost *host_;
  Transfer transfer_;
  SessionState state_;
  SequenceTable table_;
  Drafting drafting_;
  GammaControl gamma_;
  SessionRequests requests_;
  DraftBatch drafts_;
  VerifyBatch verified_;
  int64_t next_ = 0;  // the first sequence of the next plan
  uint32_t num_plans_ = 0;
};

}  // namespace sampler::decoding
