// The entry points of sampling.h: arguments to requests.
#include "capi/call.h"
#include "capi/init.h"
#include "capi/operations.h"
#include "capi/views.h"

namespace sampler::capi {

namespace {

using contract::RowsRequest;
using contract::SampleRequest;
using contract::SelectRequest;

// How many output rows there are, and which input row each draws from.
void read_row_indices(Check &check, const sampler_sample_args &args, SampleRequest *request) {
  if (!args.row_indices) {
    check.zero("num_row_indices", args.num_row_indices);
    request->num_rows = request->input.num_rows;
    return;
  }
  check.range("num_row_indices", args.num_row_indices, 0, kMaxRows);
  check.array("row_indices", args.row_indices, sizeof(int32_t), args.num_row_indices,
              Access::kRead);
  request->row_indices = args.row_indices;
  request->num_rows = args.num_row_indices;
}

SampleRequest to_request(Check &check, const sampler_sample_args &args,
                         const sampler_handle &handle) {
  SampleRequest request;
  request.input = read_rows(check, "input", args.input);
  read_row_indices(check, args, &request);
  const int64_t num_rows = request.num_rows;
  request.slots = read_slots(check, args.slots, args.num_slots, num_rows);
  const int64_t num_slots = request.slots.count;
  request.parameters =
      read_parameters(check, args.params, args.row_params, request.input.kind, num_slots);
  request.random = read_random(check, args.random, num_slots);
  request.draw_method = check.enumeration("draw_method", args.draw_method, 2);
  request.logprob_kind = check.enumeration("logprob_kind", args.logprob_kind, 2);
  check.zero("reserved", args.reserved);
  request.bad_row_token = read_fallback_token(check, handle.fallback_token_id, request.input);
  request.out_token_ids = {args.out_token_ids, read_token_id_type(check, args.token_id_type)};
  check.array("out_token_ids", args.out_token_ids, contract::size_of_id(request.out_token_ids.type),
              num_rows, Access::kWrite, Need::kRequired);
  request.out_kept_counts =
      read_output_array(check, "out_kept_counts", args.out_kept_counts, num_rows);
  request.out_logprobs = read_output_array(check, "out_logprobs", args.out_logprobs, num_rows);
  request.out_values = read_output_array(check, "out_values", args.out_values, num_rows);
  request.out_row_status =
      read_output_array(check, "out_row_status", args.out_row_status, num_rows);
  return request;
}

RowsRequest to_request(Check &check, const sampler_filter_args &args, const sampler_handle &) {
  RowsRequest request;
  request.input = read_rows(check, "input", args.input);
  const int64_t num_rows = request.input.num_rows;
  request.slots = read_slots(check, args.slots, args.num_slots, num_rows);
  request.parameters =
      read_parameters(check, args.params, args.row_params, request.input.kind, request.slots.count);
  request.output_kind = check.enumeration("output_kind", args.output_kind, 2);
  if (request.output_kind == SAMPLER_OUTPUT_VALUES && request.input.kind == SAMPLER_PROBABILITIES) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "input.kind is SAMPLER_PROBABILITIES; it must be SAMPLER_LOGITS where values are "
               "written");
  }
  read_output_rows(check, args, "input", request.input, &request);
  request.out_kept_counts =
      read_output_array(check, "out_kept_counts", args.out_kept_counts, num_rows);
  return request;
}

SelectRequest to_request(Check &check, const sampler_select_args &args, const sampler_handle &) {
  SelectRequest request;
  request.input = read_rows(check, "input", args.input);
  const int64_t num_rows = request.input.num_rows;
  request.num_selected = args.num_selected;
  if (check.ok()) check.range("num_selected", args.num_selected, 1, request.input.num_cols + 1);
  request.selected_counts = args.selected_counts;
  check.parameters("selected_counts", args.selected_counts, sizeof(int32_t), num_rows);
  request.output_dtype = read_output_dtype(check, args.output_dtype, "input", request.input.dtype);
  request.out_values = args.out_values;
  request.out_token_ids = {args.out_token_ids, read_token_id_type(check, args.token_id_type)};
  const int64_t count = check.ok() ? num_rows * args.num_selected : 0;
  check.array("out_values", args.out_values, contract::size_of(request.output_dtype), count,
              Access::kWrite);
  check.array("out_token_ids", args.out_token_ids, contract::size_of_id(request.out_token_ids.type),
              count, Access::kWrite, args.out_values ? Need::kOptional : Need::kRequired);
  request.out_counts = read_output_array(check, "out_counts", args.out_counts, num_rows);
  request.out_row_status =
      read_output_array(check, "out_row_status", args.out_row_status, num_rows);
  return request;
}

}  // namespace

sampler_status sample(sampler_t sampler, const sampler_sample_args *args,
                      Wording wording) noexcept {
  return call<SampleRequest>(sampler, args, to_request, wording);
}

sampler_status filter(sampler_t sampler, const sampler_filter_args *args,
                      Wording wording) noexcept {
  return call<RowsRequest>(sampler, args, to_request, wording);
}

sampler_status select(sampler_t sampler, const sampler_select_args *args,
                      Wording wording) noexcept {
  return call<SelectRequest>(sampler, args, to_request, wording);
}

}  // namespace sampler::capi

extern "C" {

using namespace sampler::capi;

sampler_status sampler_params_init(sampler_params *params, size_t struct_size) {
  return enter_init("params", params, struct_size);
}

sampler_status sampler_sample(sampler_t sampler, const sampler_sample_args *args) {
  return sampler::capi::sample(sampler, args, Wording::kFull);
}

sampler_status sampler_filter(sampler_t sampler, const sampler_filter_args *args) {
  return sampler::capi::filter(sampler, args, Wording::kFull);
}

sampler_status sampler_select(sampler_t sampler, const sampler_select_args *args) {
  return sampler::capi::select(sampler, args, Wording::kFull);
}

sampler_status sampler_sample_workspace_size(sampler_t sampler, const sampler_sample_args *args,
                                             size_t *out_bytes) {
  return size_workspace<SampleRequest>(sampler, args, out_bytes, to_request);
}

sampler_status sampler_filter_workspace_size(sampler_t sampler, const sampler_filter_args *args,
                                             size_t *out_bytes) {
  return size_workspace<RowsRequest>(sampler, args, out_bytes, to_request);
}

sampler_status sampler_select_workspace_size(sampler_t sampler, const sampler_select_args *args,
                                             size_t *out_bytes) {
  return size_workspace<SelectRequest>(sampler, args, out_bytes, to_request);
}

}  // extern "C"
