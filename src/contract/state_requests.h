// Checked arguments of the calls of state.h, the same for all backends.
#pragma once

#include <cstdint>

#include "contract/adaptive_values.h"
#include "contract/pipeline.h"
#include "contract/request.h"
#include "contract/state_slots.h"
#include "sampler/state.h"

namespace sampler::contract {

// Common members. Row i works on slot slots[i], which may be out of range.
struct RowsOfSlots {
  StateSlots state_slots;
  Slots slots;
  int64_t num_rows = 0;
  uint32_t *out_row_status = nullptr;
};

struct AppendRequest : RowsOfSlots {
  TokenLists tokens;
  bool are_prompts = false;
  int32_t *out_lengths = nullptr;
};

struct AcceptRequest : RowsOfSlots {
  const void *token_ids = nullptr;  // [num_rows, num_tokens]
  sampler_id_type token_id_type = SAMPLER_ID_I32;
  int64_t num_tokens = 0;
  const float *observations = nullptr;  // null: no observations
  AdaptiveParameters adaptive;
  uint64_t *offsets = nullptr;
  int32_t *out_lengths = nullptr;
};

struct TruncateRequest : RowsOfSlots {
  const int32_t *lengths = nullptr;
};

// Copies into `sequences` and `slots`.
struct CopyRequest : RowsOfSlots {
  StateSlots source;
  const int32_t *source_slots = nullptr;
};

struct ResetRequest : RowsOfSlots {
  const float *adaptive_values = nullptr;  // null: initial values
  bool is_new = false;                     // the slots have never been written
};

struct ReadRequest : RowsOfSlots {
  TokenIds out_token_ids;
  int64_t num_tokens = 0;
  int32_t *out_lengths = nullptr;
  int32_t *out_prompt_lengths = nullptr;
  float *out_adaptive_values = nullptr;
};

// Calls f(request) with an empty request of each call.
template <class F>
void for_each_state_request(const F &f) {
  f(AppendRequest()), f(AcceptRequest()), f(TruncateRequest()), f(CopyRequest()), f(ResetRequest()),
      f(ReadRequest());
}

}  // namespace sampler::contract
