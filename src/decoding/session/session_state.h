// The state of a session's texts, which stages look at: a slot a sequence.
#pragma once

#include <cstdint>

#include "capi/handle_impl.h"
#include "decoding/session/session_arrays.h"
#include "decoding/session/transfer.h"
#include "sampler/session.h"
#include "sampler/state.h"

namespace sampler::decoding {

class SessionState {
 public:
  // Of texts of so many tokens at most. There is no state yet: calls of it do nothing.
  SessionState(sampler_handle *handle, sampler_stream stream, int64_t longest_text,
               Transfer *transfer, SessionArrays *arrays);

  sampler_status create(capi::Entry &entry, int64_t num_slots);
  void destroy(capi::Entry &entry);

  // Null: there is none.
  sampler_state_t get() const { return state_; }

  // The text of a new sequence.
  sampler_status append(capi::Entry &entry, int32_t sequence, const sampler_session_add_args &args);
  sampler_status copy(capi::Entry &entry, int32_t source, int32_t destination);
  // Tokens that were drawn or verified. Fills in the rest of the arguments, and enqueues arrays
  // that were placed.
  sampler_status accept(capi::Entry &entry, sampler_accept_args *args);

 private:
  sampler_handle *handle_;
  sampler_stream stream_;
  int64_t longest_text_;
  Transfer &transfer_;
  sampler_state_t state_ = nullptr;
};

}  // namespace sampler::decoding
