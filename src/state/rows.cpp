// What the calls of state.h make of each row. A row whose status is not 0 changes nothing.
#include <algorithm>
#include <cstring>

#include "contract/elements.h"
#include "state/requests.h"

namespace sampler::state {

using contract::AdaptiveRules;
using contract::AdaptiveValues;
using contract::Sequence;

namespace {

bool is_token(int64_t id) {
  return id >= 0 && id <= INT32_MAX;
}

// Whether a slot can take the tokens, all of them.
uint32_t check_tokens(const contract::TokenList &list, const Sequence &sequence) {
  if (!sequence.has_room(list.count)) return SAMPLER_ROW_STATE_FULL;
  for (int64_t i = 0; i < list.count; ++i) {
    if (!is_token(list[i])) return SAMPLER_ROW_INVALID_LIST;
  }
  return SAMPLER_ROW_OK;
}

// ---- append

uint32_t run_row(const AppendRequest &request, int64_t row, const Sequence &sequence) {
  contract::TokenList list;
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
contract::TokenList accepted(const AcceptRequest &request, int64_t row) {
  contract::TokenList list = {request.token_ids, request.token_id_type, row * request.num_tokens,
                              request.num_tokens};
  for (int64_t i = 0; i < list.count; ++i) {
    if (list[i] < 0) list.count = i;
  }
  return list;
}

uint32_t run_row(const AcceptRequest &request, int64_t row, const Sequence &sequence) {
  const contract::TokenList list = accepted(request, row);
  if (list.count == 0) return SAMPLER_ROW_OK;
  const int64_t slot = request.slots[row];
  const AdaptiveRules rules = request.adaptive.of(slot);
  if (!rules.are_valid()) return SAMPLER_ROW_INVALID_PARAMETER;
  const uint32_t status = check_tokens(list, sequence);
  if (status != SAMPLER_ROW_OK) return status;
  for (int64_t i = 0; i < list.count; ++i) {
    const float observation =
        request.observations ? request.observations[list.begin + i] : contract::quiet_nan();
    sequence.append(int32_t(list[i]), false);
    sequence.set_values(
        contract::adaptive_values_moved(sequence.values(), list[i], observation, rules));
  }
  if (request.offsets) request.offsets[slot] += uint64_t(list.count);
  return SAMPLER_ROW_OK;
}

// ---- truncate, copy, reset

uint32_t run_row(const TruncateRequest &request, int64_t row, const Sequence &sequence) {
  sequence.truncate(std::max(request.lengths[row], 0));
  return SAMPLER_ROW_OK;
}

uint32_t run_row(const CopyRequest &request, int64_t row, const Sequence &sequence) {
  const int64_t slot = request.source_slots[row];
  if (!request.source.has(slot)) return SAMPLER_ROW_INVALID_SLOT;
  const Sequence source = request.source[slot];
  if (source.tokens() == sequence.tokens()) return SAMPLER_ROW_OK;  // the same slot
  if (source.length() > sequence.layout().max_tokens) return SAMPLER_ROW_STATE_FULL;
  sequence.copy(source);
  return SAMPLER_ROW_OK;
}

// There is one NaN, whatever the caller's bits are.
float one_nan(float x) {
  return contract::is_nan(x) ? contract::quiet_nan() : x;
}

uint32_t run_row(const ResetRequest &request, int64_t row, const Sequence &sequence) {
  AdaptiveValues values;
  if (request.adaptive_values) {
    const float *const given = request.adaptive_values + row * SAMPLER_NUM_ADAPTIVE_VALUES;
    values = {one_nan(given[0]), {one_nan(given[1]), one_nan(given[2])}, one_nan(given[3])};
    if (!contract::are_valid_values(values)) return SAMPLER_ROW_INVALID_PARAMETER;
  }
  sequence.reset(values);
  return SAMPLER_ROW_OK;
}

// ---- read

uint32_t run_row(const ReadRequest &request, int64_t row, const Sequence &sequence) {
  if (request.out_token_ids.data) {
    const int64_t begin = row * request.num_tokens;
    for (int64_t i = 0; i < request.num_tokens; ++i) {
      const int64_t id = i < sequence.length() ? sequence.tokens()[i] : -1;
      contract::store_id(request.out_token_ids, begin + i, id);
    }
  }
  if (request.out_prompt_lengths) request.out_prompt_lengths[row] = sequence.prompt_length();
  if (request.out_adaptive_values) {
    std::memcpy(request.out_adaptive_values + row * SAMPLER_NUM_ADAPTIVE_VALUES, &sequence.values(),
                sizeof(AdaptiveValues));
  }
  return SAMPLER_ROW_OK;
}

// ---- Rows

// What a row without a slot has for outputs beside its status and length.
template <class Request>
void write_bad_row(const Request &, int64_t) {}
void write_bad_row(const ReadRequest &request, int64_t row) {
  for (int64_t i = 0; request.out_token_ids.data && i < request.num_tokens; ++i) {
    contract::store_id(request.out_token_ids, row * request.num_tokens + i, -1);
  }
  if (request.out_prompt_lengths) request.out_prompt_lengths[row] = -1;
  if (request.out_adaptive_values) {
    std::fill_n(request.out_adaptive_values + row * SAMPLER_NUM_ADAPTIVE_VALUES,
                SAMPLER_NUM_ADAPTIVE_VALUES, contract::quiet_nan());
  }
}

template <class Request>
int32_t *lengths_of(const Request &) {
  return nullptr;
}
int32_t *lengths_of(const AppendRequest &request) {
  return request.out_lengths;
}
int32_t *lengths_of(const AcceptRequest &request) {
  return request.out_lengths;
}
int32_t *lengths_of(const ReadRequest &request) {
  return request.out_lengths;
}

template <class Request>
void run_rows(const Request &request) {
  int32_t *const lengths = lengths_of(request);
  for (int64_t row = 0; row < request.num_rows; ++row) {
    const int64_t slot = request.slots[row];
    uint32_t status = SAMPLER_ROW_INVALID_SLOT;
    int32_t length = -1;
    if (request.sequences.has(slot)) {
      const Sequence sequence = request.sequences[slot];
      status = run_row(request, row, sequence);
      length = sequence.length();
    } else {
      write_bad_row(request, row);
    }
    if (lengths) lengths[row] = length;
    if (request.out_row_status) request.out_row_status[row] = status;
  }
}

}  // namespace

void run(const AppendRequest &request) {
  run_rows(request);
}
void run(const AcceptRequest &request) {
  run_rows(request);
}
void run(const TruncateRequest &request) {
  run_rows(request);
}
void run(const CopyRequest &request) {
  run_rows(request);
}
void run(const ResetRequest &request) {
  run_rows(request);
}
void run(const ReadRequest &request) {
  run_rows(request);
}

}  // namespace sampler::state
