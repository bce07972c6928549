// Per-row work of the calls of state.h. A row whose status is not 0 changes nothing. With several
// workers, only worker 0 knows the status.
#pragma once

#include <cstdint>

#include "contract/adaptive_values.h"
#include "contract/elements.h"
#include "contract/host_device.h"
#include "contract/state_requests.h"
#include "contract/state_slots.h"

namespace sampler::contract {

SAMPLER_HD inline bool is_token(int64_t id) {
  return id >= 0 && id <= INT32_MAX;
}

// Whether a slot can take all the tokens.
SAMPLER_HD inline uint32_t check_tokens(const TokenList &list, const StateSlot &sequence) {
  if (!sequence.has_room(list.count)) return SAMPLER_ROW_STATE_FULL;
  for (int64_t i = 0; i < list.count; ++i) {
    if (!is_token(list[i])) return SAMPLER_ROW_INVALID_LIST;
  }
  return SAMPLER_ROW_OK;
}

// ---- append

template <class Workers>
SAMPLER_HD uint32_t run_row(const AppendRequest &request, int64_t row, const StateSlot &sequence,
                            const Workers &workers) {
  if (workers.index != 0) return SAMPLER_ROW_OK;
  TokenList list;
  if (!request.tokens.find(row, &list)) return SAMPLER_ROW_INVALID_LIST;
  if (request.are_prompts && sequence.has_output() && list.count > 0) {
    return SAMPLER_ROW_INVALID_LIST;
  }
  const uint32_t status = check_tokens(list, sequence);
  if (status != SAMPLER_ROW_OK) return status;
  for (int64_t i = 0; i < list.count; ++i) {
    sequence.append(int32_t(list[i]), request.are_prompts);
  }
  return SAMPLER_ROW_OK;
}

// ---- accept

// The row's tokens up to the first negative id.
SAMPLER_HD inline TokenList accepted(const AcceptRequest &request, int64_t row) {
  TokenList list = {request.token_ids, request.token_id_type, row * request.num_tokens,
                    request.num_tokens};
  for (int64_t i = 0; i < list.count; ++i) {
    if (list[i] < 0) list.count = i;
  }
  return list;
}

template <class Workers>
SAMPLER_HD uint32_t run_row(const AcceptRequest &request, int64_t row, const StateSlot &sequence,
                            const Workers &workers) {
  if (workers.index != 0) return SAMPLER_ROW_OK;
  const TokenList list = accepted(request, row);
  if (list.count == 0) return SAMPLER_ROW_OK;
  const int64_t slot = request.slots[row];
  const AdaptiveRules rules = request.adaptive.of(slot);
  if (!rules.are_valid()) return SAMPLER_ROW_INVALID_PARAMETER;
  const uint32_t status = check_tokens(list, sequence);
  if (status != SAMPLER_ROW_OK) return status;
  for (int64_t i = 0; i < list.count; ++i) {
    const float observation =
        request.observations ? request.observations[list.begin + i] : quiet_nan();
    sequence.append(int32_t(list[i]), false);
    sequence.set_values(adaptive_values_moved(sequence.values(), list[i], observation, rules));
  }
  if (request.offsets) request.offsets[slot] += uint64_t(list.count);
  return SAMPLER_ROW_OK;
}

// ---- truncate, copy, reset

template <class Workers>
SAMPLER_HD uint32_t run_row(const TruncateRequest &request, int64_t row, const StateSlot &sequence,
                            const Workers &workers) {
  if (workers.index != 0) return SAMPLER_ROW_OK;
  const int32_t length = request.lengths[row];
  sequence.truncate(length > 0 ? length : 0);
  return SAMPLER_ROW_OK;
}

template <class Workers>
SAMPLER_HD uint32_t run_row(const CopyRequest &request, int64_t row, const StateSlot &sequence,
                            const Workers &workers) {
  const int64_t slot = request.source_slots[row];
  if (!request.source.has(slot)) return SAMPLER_ROW_INVALID_SLOT;
  const StateSlot source = request.source[slot];
  if (source.tokens() == sequence.tokens()) return SAMPLER_ROW_OK;  // the same slot
  if (source.length() > sequence.layout().max_tokens) return SAMPLER_ROW_STATE_FULL;
  sequence.copy(source, workers);
  return SAMPLER_ROW_OK;
}

// Every NaN is stored with the same bits.
SAMPLER_HD inline float one_nan(float x) {
  return is_nan(x) ? quiet_nan() : x;
}

template <class Workers>
SAMPLER_HD uint32_t run_row(const ResetRequest &request, int64_t row, const StateSlot &sequence,
                            const Workers &workers) {
  AdaptiveValues values;
  if (request.adaptive_values) {
    const float *const given = request.adaptive_values + row * SAMPLER_NUM_ADAPTIVE_VALUES;
    values = {one_nan(given[0]), {one_nan(given[1]), one_nan(given[2])}, one_nan(given[3])};
    if (!are_valid_values(values)) return SAMPLER_ROW_INVALID_PARAMETER;
  }
  sequence.reset(values, workers);
  return SAMPLER_ROW_OK;
}

// ---- read

SAMPLER_HD inline void write_values(const ReadRequest &request, int64_t row,
                                    const AdaptiveValues &values) {
  float *const out = request.out_adaptive_values + row * SAMPLER_NUM_ADAPTIVE_VALUES;
  out[0] = values.mu;
  out[1] = values.adaptive_p.sum;
  out[2] = values.adaptive_p.weight;
  out[3] = values.top_p;
}

template <class Workers>
SAMPLER_HD uint32_t run_row(const ReadRequest &request, int64_t row, const StateSlot &sequence,
                            const Workers &workers) {
  if (request.out_token_ids.data) {
    const int64_t begin = row * request.num_tokens;
    for (int64_t i = workers.index; i < request.num_tokens; i += workers.count) {
      const int64_t id = i < sequence.length() ? sequence.tokens()[i] : -1;
      store_id(request.out_token_ids, begin + i, id);
    }
  }
  if (workers.index != 0) return SAMPLER_ROW_OK;
  if (request.out_prompt_lengths) request.out_prompt_lengths[row] = sequence.prompt_length();
  if (request.out_adaptive_values) write_values(request, row, sequence.values());
  return SAMPLER_ROW_OK;
}

// ---- Rows

// Outputs of a row without a valid slot, besides its status and length.
template <class Request>
SAMPLER_HD void write_bad_row(const Request &, int64_t) {}
SAMPLER_HD inline void write_bad_row(const ReadRequest &request, int64_t row) {
  for (int64_t i = 0; request.out_token_ids.data && i < request.num_tokens; ++i) {
    store_id(request.out_token_ids, row * request.num_tokens + i, -1);
  }
  if (request.out_prompt_lengths) request.out_prompt_lengths[row] = -1;
  if (request.out_adaptive_values) write_values(request, row, AdaptiveValues());
}

template <class Request>
SAMPLER_HD int32_t *lengths_of(const Request &) {
  return nullptr;
}
SAMPLER_HD inline int32_t *lengths_of(const AppendRequest &request) {
  return request.out_lengths;
}
SAMPLER_HD inline int32_t *lengths_of(const AcceptRequest &request) {
  return request.out_lengths;
}
SAMPLER_HD inline int32_t *lengths_of(const ReadRequest &request) {
  return request.out_lengths;
}

template <class Request>
SAMPLER_HD void write_outcome(const Request &request, int64_t row, uint32_t status,
                              int32_t length) {
  if (int32_t *const lengths = lengths_of(request)) lengths[row] = length;
  if (request.out_row_status) request.out_row_status[row] = status;
}

// Runs one row.
template <class Request, class Workers = OneWorker>
SAMPLER_HD void run_state_row(const Request &request, int64_t row, const Workers &workers = {}) {
  const int64_t slot = request.slots[row];
  uint32_t status = SAMPLER_ROW_INVALID_SLOT;
  int32_t length = -1;
  if (request.state_slots.has(slot)) {
    const StateSlot sequence = request.state_slots[slot];
    status = run_row(request, row, sequence, workers);
    if (workers.index == 0) length = sequence.length();
  } else if (workers.index == 0) {
    write_bad_row(request, row);
  }
  if (workers.index == 0) write_outcome(request, row, status, length);
}

}  // namespace sampler::contract
