// The entry points of state.h that change or read slots: from their arguments to requests, each
// rule checked on the way.
#include <cinttypes>

#include "capi/call.h"
#include "capi/parameters.h"
#include "capi/state_impl.h"
#include "capi/views.h"
#include "state/rows.h"

namespace sampler::capi {

namespace {

using contract::size_of_id;

// The rows of a call, of `state`'s slots.
void read_rows_of_slots(Check &check, const sampler_handle *handle, const sampler_state *state,
                        const int32_t *slots, int64_t num_rows, sampler_row_status *out_row_status,
                        contract::RowsOfSlots *out) {
  check_state(check, "state", handle, state);
  if (!check.ok()) return;
  const int64_t num_slots = state->slots.num_slots;
  check.range("num_rows", num_rows, 0, kMaxRows);
  if (check.ok() && !slots && num_rows > num_slots) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "num_rows is %" PRId64
               "; without slots it must be at most the state's slots, %" PRId64,
               num_rows, num_slots);
  }
  if (!check.ok()) return;
  check.array("slots", slots, sizeof(int32_t), num_rows, Access::kRead);
  out->state_slots = state->slots;
  out->slots = {slots, num_slots};
  out->num_rows = num_rows;
  out->out_row_status = read_output_array(check, "out_row_status", out_row_status, num_rows);
}

template <class Args, class Request>
void read_rows_of_slots(Check &check, const sampler_handle *handle, const Args &args,
                        Request *request) {
  read_rows_of_slots(check, handle, args.state, args.slots, args.num_rows, args.out_row_status,
                     request);
}

contract::AppendRequest to_state_request(Check &check, const sampler_handle *handle,
                                         const sampler_state_append_args &args) {
  contract::AppendRequest request;
  read_rows_of_slots(check, handle, args, &request);
  const sampler_token_lists &lists = args.tokens;
  const sampler_id_type type = read_token_id_type(check, args.token_id_type);
  request.are_prompts =
      check.enumeration("token_kind", args.token_kind, 2) == SAMPLER_TOKENS_PROMPT;
  if (check.ok() && lists.num_lists != args.num_rows) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "tokens.num_lists is %" PRId64 "; it must be num_rows, %" PRId64, lists.num_lists,
               args.num_rows);
  }
  check.range("tokens.num_token_ids", lists.num_token_ids, 0, INT64_MAX);
  if (!check.ok() || args.num_rows == 0) return request;
  check.array("tokens.offsets", lists.offsets, sizeof(int64_t), lists.num_lists + 1, Access::kRead,
              Need::kRequired);
  check.array("tokens.token_ids", lists.token_ids, size_of_id(type), lists.num_token_ids,
              Access::kRead, Need::kRequired);
  request.tokens = {lists.offsets, lists.token_ids, type, lists.num_lists, lists.num_token_ids};
  request.out_lengths = read_output_array(check, "out_lengths", args.out_lengths, args.num_rows);
  return request;
}

contract::AcceptRequest to_state_request(Check &check, const sampler_handle *handle,
                                         const sampler_accept_args &args) {
  constexpr int64_t kMaxTokens = int64_t(1) << 20;
  contract::AcceptRequest request;
  read_rows_of_slots(check, handle, args, &request);
  if (check.ok() && args.num_tokens == 0) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "num_tokens is 0; it must be the number of ids that token_ids has for each row, 1 "
               "after sampler_sample");
  }
  check.range("num_tokens", args.num_tokens, 1, kMaxTokens + 1);
  request.token_id_type = read_token_id_type(check, args.token_id_type);
  check.zero("reserved", args.reserved);
  const UserParameters parameters = read_user_parameters(check, args.params, args.row_params);
  if (!check.ok()) return request;
  const int64_t num_slots = request.state_slots.num_slots, num_tokens = args.num_tokens;
  request.token_ids = args.token_ids;
  request.num_tokens = num_tokens;
  check.array("token_ids", args.token_ids, size_of_id(request.token_id_type), args.num_rows,
              num_tokens, num_tokens, Access::kRead, Need::kRequired);
  request.observations = args.observations;
  check.array("observations", args.observations, sizeof(float), args.num_rows, num_tokens,
              num_tokens, Access::kRead);
  request.adaptive =
      read_adaptive(check, parameters, read_top_p(check, parameters, num_slots), num_slots);
  request.offsets = read_output_array(check, "offsets", args.offsets, num_slots);
  request.out_lengths = read_output_array(check, "out_lengths", args.out_lengths, args.num_rows);
  return request;
}

contract::TruncateRequest to_state_request(Check &check, const sampler_handle *handle,
                                           const sampler_state_truncate_args &args) {
  contract::TruncateRequest request;
  read_rows_of_slots(check, handle, args, &request);
  request.lengths = args.lengths;
  check.array("lengths", args.lengths, sizeof(int32_t), args.num_rows, Access::kRead,
              Need::kRequired);
  return request;
}

contract::CopyRequest to_state_request(Check &check, const sampler_handle *handle,
                                       const sampler_state_copy_args &args) {
  contract::CopyRequest request;
  check_state(check, "source", handle, args.source);
  check_state(check, "destination", handle, args.destination);
  check.range("num_rows", args.num_rows, 0, kMaxRows);
  if (!check.ok()) return request;
  request.source = args.source->slots;
  request.state_slots = args.destination->slots;
  request.source_slots = args.source_slots;
  request.slots = {args.destination_slots, request.state_slots.num_slots};
  request.num_rows = args.num_rows;
  check.array("source_slots", args.source_slots, sizeof(int32_t), args.num_rows, Access::kRead,
              Need::kRequired);
  check.array("destination_slots", args.destination_slots, sizeof(int32_t), args.num_rows,
              Access::kRead, Need::kRequired);
  request.out_row_status =
      read_output_array(check, "out_row_status", args.out_row_status, args.num_rows);
  return request;
}

contract::ResetRequest to_state_request(Check &check, const sampler_handle *handle,
                                        const sampler_state_reset_args &args) {
  contract::ResetRequest request;
  read_rows_of_slots(check, handle, args, &request);
  if (!check.ok()) return request;
  request.adaptive_values = args.adaptive_values;
  check.array("adaptive_values", args.adaptive_values, sizeof(float), args.num_rows,
              SAMPLER_NUM_ADAPTIVE_VALUES, SAMPLER_NUM_ADAPTIVE_VALUES, Access::kRead);
  if (args.slots || args.num_rows != 0) return request;
  request.num_rows = request.state_slots.num_slots;  // which have no row in any array
  request.adaptive_values = nullptr;
  request.out_row_status = nullptr;
  return request;
}

contract::ReadRequest to_state_request(Check &check, const sampler_handle *handle,
                                       const sampler_state_read_args &args) {
  contract::ReadRequest request;
  read_rows_of_slots(check, handle, args, &request);
  check.range("num_tokens", args.num_tokens, 0, kMaxRows);
  request.out_token_ids = {args.out_token_ids, read_token_id_type(check, args.token_id_type)};
  check.zero("reserved", args.reserved);
  if (!check.ok()) return request;
  request.num_tokens = args.num_tokens;
  check.array("out_token_ids", args.out_token_ids, size_of_id(args.token_id_type), args.num_rows,
              args.num_tokens, args.num_tokens, Access::kWrite);
  request.out_lengths = read_output_array(check, "out_lengths", args.out_lengths, args.num_rows);
  request.out_prompt_lengths =
      read_output_array(check, "out_prompt_lengths", args.out_prompt_lengths, args.num_rows);
  request.out_adaptive_values = args.out_adaptive_values;
  check.array("out_adaptive_values", args.out_adaptive_values, sizeof(float), args.num_rows,
              SAMPLER_NUM_ADAPTIVE_VALUES, SAMPLER_NUM_ADAPTIVE_VALUES, Access::kWrite);
  return request;
}

// The state that the call changes or reads.
template <class Args>
const sampler_state *state_of(const Args &args) {
  return args.state;
}
const sampler_state *state_of(const sampler_state_copy_args &args) {
  return args.destination;
}

template <class Request>
void run_rows(Check &check, const sampler_handle &handle, const Request &request,
              const sampler_state &state, sampler_stream stream) {
  if (!handle.on_cuda) return state::run(request);
  if (request.num_rows == 0) return;
  const cuda::Error error = cuda::run_state(request, handle.device, state.numbers, stream);
  if (error) check.fail(SAMPLER_ERROR_CUDA, "%s: %s", error.call, error.reason);
}

template <class Args>
[[gnu::always_inline]] inline sampler_status call_on_slots(sampler_t handle,
                                                           const Args *user_args) noexcept {
  return enter(handle, [&](Entry &entry) {
    const Busy busy(&handle->owner);
    Check check(entry);
    check_is_free(check, busy);
    Args args;
    if (check.read("args", user_args, &args)) {
      const auto request = to_state_request(check, handle, args);
      check.workspace(args.exec.workspace, args.exec.workspace_bytes);
      check.overlaps();
      if (handle->check_pointers) check_places(check, *handle);
      if (check.ok()) run_rows(check, *handle, request, *state_of(args), args.exec.stream);
    }
    return check.status();
  });
}

}  // namespace

}  // namespace sampler::capi

using sampler::capi::call_on_slots;

extern "C" {

// Cold: small, not fast.
[[gnu::cold]] sampler_status sampler_state_append(sampler_t sampler,
                                                  const sampler_state_append_args *args) {
  return call_on_slots(sampler, args);
}

sampler_status sampler_accept(sampler_t sampler, const sampler_accept_args *args) {
  return call_on_slots(sampler, args);
}

sampler_status sampler_state_truncate(sampler_t sampler, const sampler_state_truncate_args *args) {
  return call_on_slots(sampler, args);
}

[[gnu::cold]] sampler_status sampler_state_copy(sampler_t sampler,
                                                const sampler_state_copy_args *args) {
  return call_on_slots(sampler, args);
}

[[gnu::cold]] sampler_status sampler_state_reset(sampler_t sampler,
                                                 const sampler_state_reset_args *args) {
  return call_on_slots(sampler, args);
}

[[gnu::cold]] sampler_status sampler_state_read(sampler_t sampler,
                                                const sampler_state_read_args *args) {
  return call_on_slots(sampler, args);
}

}  // extern "C"
