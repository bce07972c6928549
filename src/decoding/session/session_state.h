// The state of a session's texts, which stages read: one slot per sequence.
#pragma once

#include <cstdint>

#include "abi/handle_impl.h"
#include "decoding/session/session_arrays.h"
#include "decoding/session/transfer.h"
#include "sampler/session.h"
#include "sampler/state.h"

namespace sampler::decoding {

class SessionState {
 public:
  // For texts of at most longest_text tokens. Until the state is created, calls do nothing.
  SessionState(sampler_handle *handle, sampler_stream stream, int64_t longest_text,
               Transfer *transfer, SessionArrays *arrays);

  sampler_status create(abi::Entry &entry, int64_t num_slots);
  void destroy(abi::Entry &entry);

  // Null: there is none.
  sampler_state_t get() const { return state_; }

  // Appends the text of a new sequence.
  sampler_status append(abi::Entry &entry, int32_t sequence, const sampler_session_add_args &args);
  sampler_status copy(abi::Entry &entry, int32_t source, int32_t destination);
  // Accepts tokens that were drawn or verified. Completes `args`, and enqueues the upload of placed
  // arrays.
  sampler_status accept(abi::Entry &entry, sampler_accept_args *args);

 private:
  sampler_handle *handle_;
  sampler_stream stream_;
  int64_t longest_text_;
  Transfer &transfer_;
  sampler_state_t state_ = nullptr;
};

}  // namespace sampler::decoding
