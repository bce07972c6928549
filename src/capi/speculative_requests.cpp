// Arguments of speculative.h.
#include "capi/convert.h"
#include "capi/requests.h"

namespace sampler::capi {

namespace {

using contract::InputKind;

constexpr int64_t kMaxDrafts = 65535;

// One of the two models' rows: [num_rows, num_positions, num_cols].
struct PositionsArgs {
  const char *name, *ids_name, *counts_name, *row_stride_name, *position_stride_name;
  const void *values, *ids;
  const int32_t *counts;
  int64_t num_positions, row_stride, position_stride;
  Need need;
};

contract::Rows read_positions(Check &check, const sampler_chain_speculative_args &args,
                              const PositionsArgs &positions, sampler_dtype dtype,
                              int64_t *row_stride) {
  contract::Rows rows;
  rows.num_cols = args.num_cols;
  rows.dtype = contract::Dtype(dtype);
  rows.id_type = contract::IdType(args.candidate_id_type);
  rows.values = positions.values;
  rows.ids = positions.ids;
  rows.counts = positions.counts;
  rows.num_rows = args.num_rows * positions.num_positions;
  rows.stride = check.stride(positions.position_stride_name, positions.position_stride, "num_cols",
                             args.num_cols);
  int64_t extent = 0;
  if (positions.num_positions > 0 &&
      (__builtin_mul_overflow(positions.num_positions - 1, rows.stride, &extent) ||
       __builtin_add_overflow(extent, args.num_cols, &extent))) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %lld; a row must fit the address space",
               positions.position_stride_name, static_cast<long long>(rows.stride));
  }
  const bool contiguous = positions.row_stride == 0;
  *row_stride = check.stride(positions.row_stride_name, positions.row_stride,
                             "what a row's positions take", extent);
  if (contiguous && check.ok() &&
      __builtin_mul_overflow(positions.num_positions, rows.stride, row_stride)) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %lld; a row must fit the address space",
               positions.position_stride_name, static_cast<long long>(rows.stride));
  }
  if (rows.counts && !rows.ids) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is NULL; %s needs it", positions.ids_name,
               positions.counts_name);
  }
  if (!check.ok()) return rows;
  check.array(positions.name, rows.values, contract::size_of(rows.dtype), args.num_rows, extent,
              *row_stride, Access::kRead, positions.need);
  check.array(positions.ids_name, rows.ids, contract::size_of(rows.id_type), args.num_rows, extent,
              *row_stride, Access::kRead);
  check.array(positions.counts_name, rows.counts, sizeof(int32_t), rows.num_rows, Access::kRead);
  return rows;
}

void read_models(Check &check, const sampler_chain_speculative_args &args, ChainRequest *request) {
  check_shape(check, args.num_rows, args.num_cols);
  check.range("num_drafts", args.num_drafts, 0, kMaxDrafts + 1);
  check.enumeration("target_dtype", args.target_dtype, kNumDtypes);
  check.enumeration("draft_dtype", args.draft_dtype, kNumDtypes);
  check.enumeration("candidate_id_type", args.candidate_id_type, kNumIdTypes);
  if (!check.ok()) return;
  request->num_rows = args.num_rows;
  request->num_drafts = args.num_drafts;
  request->target =
      read_positions(check, args,
                     {"target", "target_candidate_ids", "target_candidate_counts",
                      "target_row_stride", "target_position_stride", args.target,
                      args.target_candidate_ids, args.target_candidate_counts, args.num_drafts + 1,
                      args.target_row_stride, args.target_position_stride, Need::kRequired},
                     args.target_dtype, &request->target_row_stride);
  request->draft = read_positions(
      check, args,
      {"draft", "draft_candidate_ids", "draft_candidate_counts", "draft_row_stride",
       "draft_position_stride", args.draft, args.draft_candidate_ids, args.draft_candidate_counts,
       args.num_drafts, args.draft_row_stride, args.draft_position_stride, Need::kOptional},
      args.draft_dtype, &request->draft_row_stride);
  if (!args.draft && (args.draft_candidate_ids || args.draft_candidate_counts)) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "draft is NULL; draft_candidate_ids needs it");
  }
  request->target.kind = read_kind(check, "target_kind", args.target_kind);
  request->draft.kind = read_kind(check, "draft_kind", args.draft_kind);
}

// Given probabilities are not filtered: asking for it would silently do nothing. Of arrays each row
// has a status of its own.
void check_filters_have_logits(Check &check, const sampler_chain_speculative_args &args) {
  contract::Parameters values;
  if (!args.top_ks) values.top_k = {args.top_k};
  if (!args.top_ps) values.top_p = {args.top_p};
  if (!args.min_ps) values.min_p = {args.min_p};
  if (contract::any_filter_is_on(values.row(0))) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "a filter is set and neither target nor draft is logits; filters must be off for "
               "SAMPLER_PROBABILITIES");
  }
}

void read_parameters(Check &check, const sampler_chain_speculative_args &args,
                     ChainRequest *request) {
  if (!request->has_filters()) check_filters_have_logits(check, args);
  request->parameters.temperature =
      read_temperature(check, args, request->target.kind == InputKind::kProbabilities);
  read_top_k_top_p(check, args, &request->parameters);
  request->parameters.min_p = read_min_p(check, args);
}

void read_tokens_and_counts(Check &check, const sampler_chain_speculative_args &args,
                            ChainRequest *request) {
  request->out_token_ids = {args.out_token_ids, read_token_id_type(check, args)};
  const size_t id_size = contract::size_of(request->out_token_ids.type);
  if (!check.ok()) return;
  request->draft_token_ids = args.draft_token_ids;
  check.array("draft_token_ids", args.draft_token_ids, id_size, args.num_rows * args.num_drafts,
              Access::kRead, Need::kRequired);
  request->draft_lengths = args.draft_lengths;
  check.array("draft_lengths", args.draft_lengths, sizeof(int32_t), args.num_rows, Access::kRead);
  check.array("out_token_ids", args.out_token_ids, id_size, args.num_rows * (args.num_drafts + 1),
              Access::kWrite, Need::kRequired);
  request->out_accepted_counts = args.out_accepted_counts;
  request->out_emitted_counts = args.out_emitted_counts;
  check_output(check, "out_accepted_counts", args.out_accepted_counts, args.num_rows);
  check_output(check, "out_emitted_counts", args.out_emitted_counts, args.num_rows);
  check.enumeration("accumulate_counts", args.accumulate_counts, 2);
  request->accumulate_counts = args.accumulate_counts != 0;
  request->out_row_status = read_row_status(check, args);
  check.zero("reserved", args.reserved);
}

// One of the two models' rows of a residual: [num_rows, num_cols] probabilities.
contract::Rows read_probabilities(Check &check, const sampler_residual_args &args, const char *name,
                                  const void *values, const char *stride_name, int64_t stride,
                                  sampler_dtype dtype, Need need) {
  contract::Rows rows;
  rows.values = values;
  rows.num_rows = args.num_rows;
  rows.num_cols = args.num_cols;
  rows.dtype = contract::Dtype(dtype);
  rows.kind = InputKind::kProbabilities;
  rows.stride = check.stride(stride_name, stride, "num_cols", args.num_cols);
  if (!check.ok()) return rows;
  check.array(name, values, contract::size_of(rows.dtype), args.num_rows, args.num_cols,
              rows.stride, Access::kRead, need);
  return rows;
}

// Of a deterministic drafter only.
void read_draft_tokens(Check &check, const sampler_residual_args &args, ResidualRequest *request) {
  request->token_id_type = read_token_id_type(check, args);
  if (!check.ok()) return;
  if (args.draft && args.draft_token_ids) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "draft and draft_token_ids are set; one of them must be NULL");
  }
  request->draft_token_ids = args.draft_token_ids;
  check.array("draft_token_ids", args.draft_token_ids, contract::size_of(request->token_id_type),
              args.num_rows, Access::kRead, args.draft ? Need::kOptional : Need::kRequired);
}

}  // namespace

ChainRequest to_request(Check &check, const sampler_chain_speculative_args &args,
                        const sampler_handle &handle) {
  ChainRequest request;
  read_models(check, args, &request);
  read_parameters(check, args, &request);
  request.random = read_randomness(check, args);
  request.bad_row_token = handle.fallback_token_id;
  check_id(check, "the sampler's fallback_token_id", request.bad_row_token, request.target);
  read_tokens_and_counts(check, args, &request);
  return request;
}

ResidualRequest to_request(Check &check, const sampler_residual_args &args,
                           const sampler_handle &) {
  ResidualRequest request;
  check_shape(check, args.num_rows, args.num_cols);
  check.enumeration("target_dtype", args.target_dtype, kNumDtypes);
  check.enumeration("draft_dtype", args.draft_dtype, kNumDtypes);
  request.num_rows = args.num_rows;
  request.target = read_probabilities(check, args, "target", args.target, "target_row_stride",
                                      args.target_row_stride, args.target_dtype, Need::kRequired);
  request.draft = read_probabilities(check, args, "draft", args.draft, "draft_row_stride",
                                     args.draft_row_stride, args.draft_dtype, Need::kOptional);
  read_draft_tokens(check, args, &request);
  read_output(check, args, "target_dtype", args.target_dtype, &request);
  return request;
}

}  // namespace sampler::capi
