#include "capi/requests.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "capi/pipeline.h"
#include "capi/reports.h"
#include "capi/views.h"

namespace sampler::capi {

using contract::FilterRequest;
using contract::ResidualRequest;
using contract::SampleRequest;
using contract::SelectRequest;
using contract::VerifyRequest;

namespace {

// The input of a call. That of a shard has the columns of the whole row, the memory of its own
// ones.
contract::Rows read_input(Check &check, const char *name, const sampler_rows &view,
                          const RequestContext &context) {
  if (context.whole_cols == 0) return read_rows(check, name, view);
  sampler_rows own = view;
  own.num_cols = std::max<int64_t>(view.num_cols, 1);  // none are fine, and so is no stride
  own.row_stride = view.num_cols == 0 ? 0 : view.row_stride;
  contract::Rows rows = read_rows_shape(check, name, own);
  if (view.num_cols > 0) {
    check_rows_memory(check, name, rows, rows.num_rows, rows.stride, Need::kRequired);
  }
  if (rows.ids || rows.counts) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s.%s is set; it must be NULL in a shard", name,
               rows.ids ? "candidate_ids" : "candidate_counts");
  }
  rows.num_cols = context.whole_cols;
  return rows;
}

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

// The slots of the output rows, their parameters, and their pipeline.
template <class Args, class Request>
void read_stages(Check &check, const Args &args, const RequestContext &context, int64_t num_rows,
                 Draws draws, Request *request) {
  request->slots = read_slots(check, args.slots, args.num_slots, num_rows);
  const int64_t num_slots = request->slots.count;
  const UserParameters parameters = read_user_parameters(check, args.params, args.row_params);
  request->parameters = read_parameters(check, parameters, request->input.kind, num_slots);
  request->pipeline = read_pipeline(check, parameters, args.pipeline, context.handle, "input",
                                    request->input, args.input.num_cols, num_slots, num_rows, draws,
                                    &request->parameters.rules, context.pipeline);
}

SampleRequest read_sample(Check &check, const sampler_sample_args &args,
                          const RequestContext &context, Need need_of_tokens) {
  SampleRequest request;
  request.input = read_input(check, "input", args.input, context);
  read_row_indices(check, args, &request);
  const int64_t num_rows = request.num_rows;
  read_stages(check, args, context, num_rows, Draws::kYes, &request);
  request.random = read_random(check, args.random, request.slots.count);
  const sampler_draw_method method = check.enumeration("draw_method", args.draw_method, 3);
  request.random.are_watermarks = method == SAMPLER_DRAW_WATERMARK;
  request.draw_method =
      method == SAMPLER_DRAW_INVERSE_CDF ? SAMPLER_DRAW_INVERSE_CDF : SAMPLER_DRAW_GUMBEL;
  request.bad_row_token = read_fallback_token(check, context.bad_row_token, request.input);
  request.out_token_ids = {args.out_token_ids, read_token_id_type(check, args.token_id_type)};
  check.array("out_token_ids", args.out_token_ids, contract::size_of_id(request.out_token_ids.type),
              num_rows, Access::kWrite, need_of_tokens);
  request.out_row_status =
      read_output_array(check, "out_row_status", args.out_row_status, num_rows);
  read_reports(check, read_report_args(check, args.reports), context.reports, &request);
  return request;
}

}  // namespace

SampleRequest to_request(Check &check, const sampler_sample_args &args,
                         const RequestContext &context) {
  SampleRequest request = read_sample(check, args, context, Need::kRequired);
  request.may_lack_lists = context.is_of_session;
  return request;
}

SampleRequest to_request(Check &check, const sampler_score_args &args,
                         const RequestContext &context) {
  auto sample = sized<sampler_sample_args>();
  sample.exec = args.exec;
  sample.input = args.input;
  sample.row_indices = args.row_indices;
  sample.num_row_indices = args.num_row_indices;
  sample.slots = args.slots;
  sample.num_slots = args.num_slots;
  sample.params = args.params;
  sample.row_params = args.row_params;
  sample.pipeline = args.pipeline;
  sample.random = args.random;
  sample.token_id_type = args.token_id_type;
  sample.out_row_status = args.out_row_status;
  sample.reports = args.reports;
  SampleRequest request = read_sample(check, sample, context, Need::kOptional);
  check.zero("reserved", args.reserved);
  const UserParameters parameters = read_user_parameters(check, args.params, args.row_params);
  read_scored(check, args, parameters, context.pipeline, &request);
  return request;
}

FilterRequest to_request(Check &check, const sampler_filter_args &args,
                         const RequestContext &context) {
  FilterRequest request;
  request.input = read_input(check, "input", args.input, context);
  request.output_kind = check.enumeration("output_kind", args.output_kind, 2);
  if (request.output_kind == SAMPLER_OUTPUT_VALUES && request.input.kind == SAMPLER_PROBABILITIES) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "input.kind is SAMPLER_PROBABILITIES; it must be SAMPLER_LOGITS where values are "
               "written");
  }
  const int64_t num_rows = request.input.num_rows;
  read_stages(check, args, context, num_rows, Draws::kNo, &request);
  contract::Rows written = request.input;
  if (context.whole_cols > 0) written.num_cols = args.input.num_cols;
  read_output_rows(check, args, "input", written, &request);
  request.out_kept_counts =
      read_output_array(check, "out_kept_counts", args.out_kept_counts, num_rows);
  return request;
}

SelectRequest to_request(Check &check, const sampler_select_args &args,
                         const RequestContext &context) {
  SelectRequest request;
  request.input = read_input(check, "input", args.input, context);
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

namespace {

// Rows of a residual: probabilities, not candidate lists.
void check_probabilities(Check &check, const char *name, const contract::Rows &rows) {
  if (rows.kind != SAMPLER_PROBABILITIES) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s.kind is %d; it must be SAMPLER_PROBABILITIES",
               name, int(rows.kind));
  }
  if (rows.ids || rows.counts) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s.%s is set; it must be NULL in a residual", name,
               rows.ids ? "candidate_ids" : "candidate_counts");
  }
}

// For a deterministic drafter only.
void read_draft_tokens(Check &check, const sampler_residual_args &args, ResidualRequest *request) {
  request->token_id_type = read_token_id_type(check, args.token_id_type);
  if (!check.ok()) return;
  const bool is_deterministic = !has_rows(args.draft);
  if (!is_deterministic && args.draft_token_ids) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "draft and draft_token_ids are set; one of them must be 0");
  }
  request->draft_token_ids = args.draft_token_ids;
  check.array("draft_token_ids", args.draft_token_ids, contract::size_of_id(request->token_id_type),
              request->num_rows, Access::kRead,
              is_deterministic ? Need::kRequired : Need::kOptional);
}

}  // namespace

ResidualRequest to_request(Check &check, const sampler_residual_args &args,
                           const RequestContext &context) {
  ResidualRequest request;
  request.target = read_input(check, "target", args.target, context);
  request.num_rows = request.target.num_rows;
  const bool is_shard = context.whole_cols > 0;
  contract::Rows own = request.target;
  if (is_shard) own.num_cols = args.target.num_cols;
  sampler_rows draft = args.draft;
  const bool has_no_cols = is_shard && own.num_cols == 0 && draft.num_cols == 0;
  if (has_no_cols && has_rows(draft)) {
    own.num_cols = draft.num_cols = 1;
    draft.row_stride = 0;
  }
  request.draft = read_draft_shape(check, draft, request.num_rows, "target.num_rows", own);
  if (has_no_cols) {
    static constexpr float somewhere = 0;
    request.draft.values = has_rows(args.draft) ? &somewhere : nullptr;
  } else {
    check_draft_memory(check, draft, request.num_rows, request.draft.stride, &request.draft);
  }
  if (is_shard) own.num_cols = args.target.num_cols;
  check_probabilities(check, "target", request.target);
  if (has_rows(args.draft)) check_probabilities(check, "draft", request.draft);
  request.draft.kind = SAMPLER_PROBABILITIES;
  read_draft_tokens(check, args, &request);
  read_output_rows(check, args, "target", own, &request);
  request.draft.num_cols = request.target.num_cols;
  return request;
}

}  // namespace sampler::capi
