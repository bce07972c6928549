// Arguments of sampling.h.
#include "capi/convert.h"
#include "capi/requests.h"

namespace sampler::capi {

namespace {

using contract::InputKind;

// The input row that each output row draws from.
template <class Args>
void read_rows(Check &check, const Args &args, SampleRequest *request) {
  check.range("num_input_rows", args.num_input_rows, 0, kMaxRows);
  if (!args.row_indices && args.num_input_rows != 0 && args.num_input_rows != args.num_rows) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "num_input_rows is %lld; without row_indices it must be 0 or num_rows, %lld",
               static_cast<long long>(args.num_input_rows), static_cast<long long>(args.num_rows));
  }
  const int64_t num_input_rows = args.num_input_rows ? args.num_input_rows : args.num_rows;
  request->input = read_input(check, args, num_input_rows);
  request->input.kind = read_kind(check, "input_kind", args.input_kind);
  request->num_rows = args.num_rows;
  request->row_indices = args.row_indices;
  check.array("row_indices", args.row_indices, sizeof(int32_t), args.num_rows, Access::kRead);
}

// One token per output row, a bad one's included.
template <class Args>
void read_token_outputs(Check &check, const Args &args, const sampler_handle &handle,
                        SampleRequest *request) {
  request->bad_row_token = handle.fallback_token_id;
  check_id(check, "the sampler's fallback_token_id", request->bad_row_token, request->input);
  request->out_token_ids = {args.out_token_ids, read_token_id_type(check, args)};
  check.array("out_token_ids", args.out_token_ids, contract::size_of(request->out_token_ids.type),
              args.num_rows, Access::kWrite, Need::kRequired);
}

// The members that every struct that draws has.
template <class Args>
SampleRequest drawing_request(Check &check, const Args &args, const sampler_handle &handle) {
  SampleRequest request;
  read_rows(check, args, &request);
  request.parameters.temperature =
      read_temperature(check, args, request.input.kind == InputKind::kProbabilities);
  request.random = read_randomness(check, args);
  request.draw_method = to_enum<contract::DrawMethod>(check, "draw_method", args.draw_method, 2);
  read_token_outputs(check, args, handle, &request);
  request.out_kept_counts = args.out_kept_counts;
  check_output(check, "out_kept_counts", args.out_kept_counts, args.num_rows);
  request.out_row_status = read_row_status(check, args);
  return request;
}

template <class Args>
RowsRequest renorm_request(Check &check, const Args &args) {
  RowsRequest request;
  request.input = read_input(check, args, args.num_rows);
  request.input.kind = read_kind(check, "input_kind", args.input_kind);
  request.parameters.temperature =
      read_temperature(check, args, request.input.kind == InputKind::kProbabilities);
  read_output(check, args, "input_dtype", args.input_dtype, &request);
  request.out_kept_counts = args.out_kept_counts;
  check_output(check, "out_kept_counts", args.out_kept_counts, args.num_rows);
  return request;
}

}  // namespace

SampleRequest to_request(Check &check, const sampler_sample_args &args,
                         const sampler_handle &handle) {
  SampleRequest request = drawing_request(check, args, handle);
  read_top_k_top_p(check, args, &request.parameters);
  request.parameters.min_p = read_min_p(check, args);
  request.logprob_kind =
      to_enum<contract::LogprobKind>(check, "logprob_kind", args.logprob_kind, 2);
  request.out_logprobs = args.out_logprobs;
  check_output(check, "out_logprobs", args.out_logprobs, args.num_rows);
  return request;
}

SampleRequest to_request(Check &check, const sampler_top_k_top_p_args &args,
                         const sampler_handle &handle) {
  SampleRequest request = drawing_request(check, args, handle);
  read_top_k_top_p(check, args, &request.parameters);
  return request;
}

SampleRequest to_request(Check &check, const sampler_top_k_args &args,
                         const sampler_handle &handle) {
  SampleRequest request = drawing_request(check, args, handle);
  request.parameters.top_k = read_top_k(check, args);
  request.parameters.rules.top_k_ties = read_ties(check, "top_k_ties", args.top_k_ties);
  return request;
}

SampleRequest to_request(Check &check, const sampler_top_p_args &args,
                         const sampler_handle &handle) {
  SampleRequest request = drawing_request(check, args, handle);
  request.parameters.top_p = read_top_p(check, args);
  request.parameters.rules.top_p_ties = read_ties(check, "top_p_ties", args.top_p_ties);
  request.parameters.rules.temperature_order = read_temperature_order(check, args);
  check.zero("reserved", args.reserved);
  return request;
}

SampleRequest to_request(Check &check, const sampler_min_p_args &args,
                         const sampler_handle &handle) {
  SampleRequest request = drawing_request(check, args, handle);
  request.parameters.min_p = read_min_p(check, args);
  request.parameters.rules.temperature_order = read_temperature_order(check, args);
  return request;
}

SampleRequest to_request(Check &check, const sampler_argmax_args &args,
                         const sampler_handle &handle) {
  SampleRequest request;
  request.input = read_input(check, args, args.num_rows);
  request.input.kind = read_kind(check, "input_kind", args.input_kind);
  request.num_rows = args.num_rows;
  request.parameters.temperature = {0.0f};
  read_token_outputs(check, args, handle, &request);
  request.out_values = args.out_values;
  check_output(check, "out_values", args.out_values, args.num_rows);
  request.out_row_status = read_row_status(check, args);
  return request;
}

RowsRequest to_request(Check &check, const sampler_softmax_args &args, const sampler_handle &) {
  RowsRequest request;
  request.input = read_input(check, args, args.num_rows);
  request.parameters.temperature = read_temperature(check, args, false);
  read_output(check, args, "input_dtype", args.input_dtype, &request);
  return request;
}

RowsRequest to_request(Check &check, const sampler_top_k_renorm_args &args,
                       const sampler_handle &) {
  RowsRequest request = renorm_request(check, args);
  request.parameters.top_k = read_top_k(check, args);
  request.parameters.rules.top_k_ties = read_ties(check, "top_k_ties", args.top_k_ties);
  check.zero("reserved", args.reserved);
  return request;
}

RowsRequest to_request(Check &check, const sampler_top_p_renorm_args &args,
                       const sampler_handle &) {
  RowsRequest request = renorm_request(check, args);
  request.parameters.top_p = read_top_p(check, args);
  request.parameters.rules.top_p_ties = read_ties(check, "top_p_ties", args.top_p_ties);
  request.parameters.rules.temperature_order = read_temperature_order(check, args);
  return request;
}

RowsRequest to_request(Check &check, const sampler_top_k_mask_args &args, const sampler_handle &) {
  RowsRequest request;
  request.output_kind = contract::RowOutput::kMask;
  request.input = read_input(check, args, args.num_rows);
  request.parameters.top_k = read_top_k(check, args);
  request.parameters.rules.top_k_ties = read_ties(check, "top_k_ties", args.top_k_ties);
  read_output(check, args, "input_dtype", args.input_dtype, &request);
  request.out_kept_counts = args.out_kept_counts;
  check_output(check, "out_kept_counts", args.out_kept_counts, args.num_rows);
  check.zero("reserved", args.reserved);
  return request;
}

SelectRequest to_request(Check &check, const sampler_top_k_select_args &args,
                         const sampler_handle &) {
  SelectRequest request;
  request.input = read_input(check, args, args.num_rows);
  request.input.kind = read_kind(check, "input_kind", args.input_kind);
  request.num_selected = args.num_selected;
  if (check.ok()) check.range("num_selected", args.num_selected, 1, args.num_cols + 1);
  request.top_ks = args.top_ks;
  check.parameters("top_ks", args.top_ks, sizeof(int32_t), args.num_rows);

  request.output_dtype =
      read_output_dtype(check, args.output_dtype, "input_dtype", args.input_dtype);
  request.out_values = args.out_values;
  request.out_token_ids = {args.out_token_ids, read_token_id_type(check, args)};
  const int64_t count = check.ok() ? args.num_rows * args.num_selected : 0;
  check.array("out_values", args.out_values, contract::size_of(request.output_dtype), count,
              Access::kWrite);
  check.array("out_token_ids", args.out_token_ids, contract::size_of(request.out_token_ids.type),
              count, Access::kWrite, args.out_values ? Need::kOptional : Need::kRequired);
  request.out_counts = args.out_counts;
  check_output(check, "out_counts", args.out_counts, args.num_rows);
  request.out_row_status = read_row_status(check, args);
  check.zero("reserved", args.reserved);
  return request;
}

}  // namespace sampler::capi
