#include "capi/requests.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "capi/pipeline.h"
#include "capi/reports.h"
#include "capi/views.h"

namespace sampler::capi {

using contract::ChainRequest;
using contract::ResidualRequest;
using contract::RowsRequest;
using contract::SampleRequest;
using contract::SelectRequest;

namespace {

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

}  // namespace

SampleRequest to_request(Check &check, const sampler_sample_args &args,
                         const RequestContext &context) {
  SampleRequest request;
  request.input = read_rows(check, "input", args.input);
  read_row_indices(check, args, &request);
  const int64_t num_rows = request.num_rows;
  request.slots = read_slots(check, args.slots, args.num_slots, num_rows);
  const int64_t num_slots = request.slots.count;
  const UserParameters parameters = read_user_parameters(check, args.params, args.row_params);
  request.parameters = read_parameters(check, parameters, request.input.kind, num_slots);
  request.pipeline =
      read_pipeline(check, parameters, args.pipeline, context.handle, request.input, num_slots,
                    num_rows, Draws::kYes, &request.parameters.rules, context.pipeline);
  request.random = read_random(check, args.random, num_slots);
  request.draw_method = check.enumeration("draw_method", args.draw_method, 2);
  request.logprob_kind = check.enumeration("logprob_kind", args.logprob_kind, 3);
  check.zero("reserved", args.reserved);
  request.bad_row_token = read_fallback_token(check, context.bad_row_token, request.input);
  request.out_token_ids = {args.out_token_ids, read_token_id_type(check, args.token_id_type)};
  check.array("out_token_ids", args.out_token_ids, contract::size_of_id(request.out_token_ids.type),
              num_rows, Access::kWrite, Need::kRequired);
  request.out_kept_counts =
      read_output_array(check, "out_kept_counts", args.out_kept_counts, num_rows);
  request.out_logprobs = read_output_array(check, "out_logprobs", args.out_logprobs, num_rows);
  request.out_values = read_output_array(check, "out_values", args.out_values, num_rows);
  request.out_observations =
      read_output_array(check, "out_observations", args.out_observations, num_rows);
  request.out_row_status =
      read_output_array(check, "out_row_status", args.out_row_status, num_rows);
  request.reports = read_reports(check, args, request, context.reports);
  const bool is_edited = request.pipeline && request.pipeline->has_edits();
  if (request.logprob_kind == SAMPLER_LOGPROB_EDITED && !is_edited) {
    request.logprob_kind = SAMPLER_LOGPROB_RAW;  // the same row
  }
  return request;
}

RowsRequest to_request(Check &check, const sampler_filter_args &args,
                       const RequestContext &context) {
  RowsRequest request;
  request.input = read_rows(check, "input", args.input);
  request.output_kind = check.enumeration("output_kind", args.output_kind, 2);
  if (request.output_kind == SAMPLER_OUTPUT_VALUES && request.input.kind == SAMPLER_PROBABILITIES) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "input.kind is SAMPLER_PROBABILITIES; it must be SAMPLER_LOGITS where values are "
               "written");
  }
  const int64_t num_rows = request.input.num_rows;
  request.slots = read_slots(check, args.slots, args.num_slots, num_rows);
  const int64_t num_slots = request.slots.count;
  const UserParameters parameters = read_user_parameters(check, args.params, args.row_params);
  request.parameters = read_parameters(check, parameters, request.input.kind, num_slots);
  request.pipeline =
      read_pipeline(check, parameters, args.pipeline, context.handle, request.input, num_slots,
                    num_rows, Draws::kNo, &request.parameters.rules, context.pipeline);
  read_output_rows(check, args, "input", request.input, &request);
  request.out_kept_counts =
      read_output_array(check, "out_kept_counts", args.out_kept_counts, num_rows);
  return request;
}

SelectRequest to_request(Check &check, const sampler_select_args &args, const RequestContext &) {
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

namespace {

constexpr int64_t kMaxDrafts = 65535;

// A view that is all 0 says that the drafter was deterministic.
bool has_rows(const sampler_rows &draft) {
  constexpr sampler_rows nothing = {};
  return std::memcmp(&draft, &nothing, sizeof draft) != 0;
}

// Rows of a draft, of which there must be `num_rows`: `meaning`.
contract::Rows read_draft_shape(Check &check, const sampler_rows &view, int64_t num_rows,
                                const char *meaning, const contract::Rows &target) {
  if (!has_rows(view)) {
    contract::Rows nothing;
    nothing.num_cols = target.num_cols;
    return nothing;
  }
  const contract::Rows rows = read_rows_shape(check, "draft", view);
  if (view.num_rows != num_rows) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "draft.num_rows is %" PRId64 "; it must be %s, %" PRId64, view.num_rows, meaning,
               num_rows);
  }
  if (view.num_cols != target.num_cols) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "draft.num_cols is %" PRId64 "; it must be target.num_cols, %" PRId64, view.num_cols,
               target.num_cols);
  }
  return rows;
}

// Requests tell by the address whether there is a draft. Where it may be null all the same, of no
// rows and where only a size is asked, it is not read.
void check_draft_memory(Check &check, const sampler_rows &view, int64_t num_groups,
                        int64_t group_stride, contract::Rows *rows) {
  if (!has_rows(view)) return;
  check_rows_memory(check, "draft", *rows, num_groups, group_stride, Need::kRequired);
  static constexpr float somewhere = 0;
  if (!rows->values) rows->values = &somewhere;
}

// The distance between two sequences' first rows.
int64_t read_sequence_stride(Check &check, const char *view, int64_t stride,
                             const contract::Rows &rows, int64_t num_positions) {
  int64_t extent = 0, contiguous = 0;
  if (num_positions > 0 &&
      (__builtin_mul_overflow(num_positions, rows.stride, &contiguous) ||
       __builtin_add_overflow(contiguous - rows.stride, rows.num_cols, &extent))) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "%s.row_stride is %" PRId64 "; a sequence must fit the address space", view,
               rows.stride);
  }
  char name[32];
  std::snprintf(name, sizeof name, "%s_sequence_stride", view);
  check.stride(name, stride, "what a sequence's rows take", extent);
  return stride ? stride : contiguous;
}

void read_models(Check &check, const sampler_verify_args &args, ChainRequest *request) {
  request->target = read_rows_shape(check, "target", args.target);
  check.range("num_drafts", args.num_drafts, 0, kMaxDrafts + 1);
  if (!check.ok()) return;
  const int64_t num_positions = args.num_drafts + 1;
  if (args.target.num_rows % num_positions != 0) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "target.num_rows is %" PRId64 "; it must be a multiple of num_drafts + 1, %" PRId64,
               args.target.num_rows, num_positions);
    return;
  }
  request->num_drafts = args.num_drafts;
  request->num_rows = args.target.num_rows / num_positions;
  request->target_row_stride = read_sequence_stride(check, "target", args.target_sequence_stride,
                                                    request->target, num_positions);
  check_rows_memory(check, "target", request->target, request->num_rows, request->target_row_stride,
                    Need::kRequired);

  request->draft = read_draft_shape(check, args.draft, request->num_rows * args.num_drafts,
                                    "num_sequences * num_drafts", request->target);
  if (has_rows(args.draft)) {
    request->draft_row_stride = read_sequence_stride(check, "draft", args.draft_sequence_stride,
                                                     request->draft, args.num_drafts);
  } else {
    check.zero("draft_sequence_stride", args.draft_sequence_stride);
  }
  check_draft_memory(check, args.draft, request->num_rows, request->draft_row_stride,
                     &request->draft);
}

// Given probabilities are not filtered: asking for it would silently do nothing. Of arrays each
// sequence has a status of its own.
void check_filters_have_logits(Check &check, const contract::Parameters &parameters) {
  contract::Parameters scalars = parameters;
  if (scalars.top_k.array) scalars.top_k = {0};
  if (scalars.top_p.array) scalars.top_p = {1.0f};
  if (scalars.min_p.array) scalars.min_p = {0.0f};
  scalars.temperature = {1.0f};
  if (contract::any_filter_is_on(scalars.of(0))) {
    check.fail(
        SAMPLER_ERROR_INVALID_ARGUMENT,
        "params has a filter and neither target nor draft is logits; filters must be off for "
        "SAMPLER_PROBABILITIES");
  }
}

void read_tokens_and_counts(Check &check, const sampler_verify_args &args, ChainRequest *request) {
  request->out_token_ids = {args.out_token_ids, read_token_id_type(check, args.token_id_type)};
  if (!check.ok()) return;
  const size_t id_size = contract::size_of_id(request->out_token_ids.type);
  const int64_t num_rows = request->num_rows;
  request->draft_token_ids = args.draft_token_ids;
  check.array("draft_token_ids", args.draft_token_ids, id_size, num_rows * args.num_drafts,
              Access::kRead, Need::kRequired);
  request->draft_counts = args.draft_counts;
  check.array("draft_counts", args.draft_counts, sizeof(int32_t), num_rows, Access::kRead);
  check.array("out_token_ids", args.out_token_ids, id_size, num_rows * (args.num_drafts + 1),
              Access::kWrite, Need::kRequired);
  request->out_accepted_counts =
      read_output_array(check, "out_accepted_counts", args.out_accepted_counts, num_rows);
  request->out_emitted_counts =
      read_output_array(check, "out_emitted_counts", args.out_emitted_counts, num_rows);
  check.enumeration("accumulate_counts", args.accumulate_counts, 2);
  request->accumulate_counts = args.accumulate_counts != 0;
  request->out_row_status =
      read_output_array(check, "out_row_status", args.out_row_status, num_rows);
}

}  // namespace

ChainRequest to_request(Check &check, const sampler_verify_args &args,
                        const RequestContext &context) {
  ChainRequest request;
  read_models(check, args, &request);
  if (!check.ok()) return request;
  request.slots = read_slots(check, args.slots, args.num_slots, request.num_rows);
  const int64_t num_slots = request.slots.count;
  const UserParameters parameters = read_user_parameters(check, args.params, args.row_params);
  refuse_other_stages(check, parameters, "sampler_verify");
  request.parameters = read_parameters(check, parameters, request.target.kind, num_slots);
  if (!request.has_filters()) check_filters_have_logits(check, request.parameters);
  request.random = read_random(check, args.random, num_slots);
  request.bad_row_token = read_fallback_token(check, context.bad_row_token, request.target);
  read_tokens_and_counts(check, args, &request);
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
                           const RequestContext &) {
  ResidualRequest request;
  request.target = read_rows(check, "target", args.target);
  request.num_rows = request.target.num_rows;
  request.draft =
      read_draft_shape(check, args.draft, request.num_rows, "target.num_rows", request.target);
  check_draft_memory(check, args.draft, request.num_rows, request.draft.stride, &request.draft);
  check_probabilities(check, "target", request.target);
  if (has_rows(args.draft)) check_probabilities(check, "draft", request.draft);
  request.draft.kind = SAMPLER_PROBABILITIES;
  read_draft_tokens(check, args, &request);
  read_output_rows(check, args, "target", request.target, &request);
  return request;
}

}  // namespace sampler::capi
