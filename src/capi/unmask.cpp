// The entry points of unmask.h.
#include "sampler/unmask.h"

#include <cinttypes>

#include "capi/call.h"
#include "capi/views.h"

namespace sampler::capi {

using contract::UnmaskRequest;

namespace {

void read_blocks(Check &check, const sampler_unmask_args &args, UnmaskRequest *request) {
  check.range("num_rows", args.num_rows, 0, kMaxRows);
  check.range("num_blocks", args.num_blocks, 0, contract::kMaxBlocks + 1);
  if (!check.ok()) return;
  request->num_rows = args.num_rows;
  request->num_blocks = args.num_blocks;
  if (args.block_offsets) {
    check.array("block_offsets", args.block_offsets, sizeof(int64_t), args.num_blocks + 1,
                Access::kRead);
    request->block_offsets = args.block_offsets;
  } else if (args.num_blocks == 0 ? args.num_rows > 0 : args.num_rows % args.num_blocks != 0) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "num_rows is %" PRId64
               "; without block_offsets it must be a multiple of num_blocks, %" PRId64,
               args.num_rows, args.num_blocks);
  } else if (args.num_blocks > 0) {
    request->block_rows = args.num_rows / args.num_blocks;
  }
}

// How many scores of a row are read.
int num_scores(sampler_confidence confidence) {
  switch (confidence) {
    case SAMPLER_CONFIDENCE_MARGIN:
      return 2;
    case SAMPLER_CONFIDENCE_RANDOM:
    case SAMPLER_CONFIDENCE_POSITION:
      return 0;
    default:
      return 1;
  }
}

void read_scores(Check &check, const sampler_unmask_args &args, UnmaskRequest *request) {
  request->confidence = check.enumeration("confidence", args.confidence, 6);
  if (!check.ok()) return;
  const int num_read = num_scores(request->confidence);
  if (num_read == 0) {
    if (args.scores) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "scores is set; it must be NULL with confidence %d", int(args.confidence));
    }
    return check.zero("score_stride", args.score_stride);
  }
  request->scores = args.scores;
  request->score_stride =
      check.stride("score_stride", args.score_stride, "the scores of a row", num_read);
  check.array("scores", args.scores, sizeof(float), args.num_rows, num_read, request->score_stride,
              Access::kRead, Need::kRequired);
}

void read_tokens(Check &check, const sampler_unmask_args &args, UnmaskRequest *request) {
  request->token_id_type = read_token_id_type(check, args.token_id_type);
  if (!check.ok()) return;
  const size_t size = contract::size_of_id(request->token_id_type);
  request->candidate_token_ids = args.candidate_token_ids;
  check.array("candidate_token_ids", args.candidate_token_ids, size, args.num_rows, Access::kRead,
              Need::kRequired);
  request->candidate_status = args.candidate_status;
  check.array("candidate_status", args.candidate_status, sizeof(uint32_t), args.num_rows,
              Access::kRead);
  request->token_ids = args.token_ids;
  request->mask_token_id = args.mask_token_id;
  // An empty array may be NULL.
  if (!args.token_ids && args.num_rows > 0) return check.zero("mask_token_id", args.mask_token_id);
  const bool is_wide = request->token_id_type == SAMPLER_ID_I64;
  check.range("mask_token_id", args.mask_token_id, 0, is_wide ? INT64_MAX : int64_t(1) << 31);
  check.array("token_ids", args.token_ids, size, args.num_rows, Access::kWrite);
}

// A number that is on above 0, and must be off with some confidences. The result is it, or 0.
float read_bound(Check &check, const char *name, float value, sampler_confidence confidence,
                 bool may_be_on) {
  check.not_nan(name, value);
  if (value > 0 && !may_be_on) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %g; it must be off with confidence %d", name,
               double(value), int(confidence));
  }
  return value > 0 ? value : 0;
}

// A score may be negative, a threshold not.
float read_threshold(Check &check, const char *name, float value, sampler_confidence confidence,
                     bool may_be_on) {
  if (value < 0 && confidence == SAMPLER_CONFIDENCE_GIVEN) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "%s is %g; with confidence 3 it must be above 0, or 0 for off", name, double(value));
  }
  return read_bound(check, name, value, confidence, may_be_on);
}

void read_rules(Check &check, const sampler_unmask_args &args, UnmaskRequest *request) {
  const sampler_confidence kind = request->confidence;
  const bool is_of_scores = num_scores(kind) > 0;
  request->order_temperature =
      read_bound(check, "order_temperature", args.order_temperature, kind,
                 is_of_scores || contract::is_greedy(args.order_temperature));
  if (args.order_temperature > contract::kLargestTemperature) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "order_temperature is %g; it must be at most 2^64",
               double(args.order_temperature));
  }
  request->threshold =
      read_threshold(check, "threshold", args.threshold, kind, kind != SAMPLER_CONFIDENCE_POSITION);
  request->entropy_bound = read_bound(check, "entropy_bound", args.entropy_bound, kind,
                                      kind == SAMPLER_CONFIDENCE_ENTROPY);
  request->edit_threshold =
      read_threshold(check, "edit_threshold", args.edit_threshold, kind, is_of_scores);
  if (request->edit_threshold > 0 && !args.token_ids && args.num_rows > 0) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "edit_threshold is %g; without token_ids it must be off",
               double(args.edit_threshold));
  }
  request->num_committed = read_per_slot(check, "block_num_committed", args.num_committed,
                                         args.block_num_committed, args.num_blocks);
  request->num_steps_left = read_per_slot(check, "block_num_steps_left", args.num_steps_left,
                                          args.block_num_steps_left, args.num_blocks);
}

}  // namespace

UnmaskRequest to_request(Check &check, const sampler_unmask_args &args, const RequestContext &) {
  UnmaskRequest request;
  read_blocks(check, args, &request);
  read_scores(check, args, &request);
  read_tokens(check, args, &request);
  if (!check.ok()) return request;
  request.slots = read_slots(check, args.slots, args.num_slots, args.num_rows);
  request.random = read_random(check, args.random, request.slots.count);
  read_rules(check, args, &request);
  if (!check.ok()) return request;
  request.out_changes = read_output_array(check, "out_changes", args.out_changes, args.num_rows);
  request.out_confidences =
      read_output_array(check, "out_confidences", args.out_confidences, args.num_rows);
  request.out_committed_counts =
      read_output_array(check, "out_committed_counts", args.out_committed_counts, args.num_blocks);
  request.out_edited_counts =
      read_output_array(check, "out_edited_counts", args.out_edited_counts, args.num_blocks);
  request.out_masked_counts =
      read_output_array(check, "out_masked_counts", args.out_masked_counts, args.num_blocks);
  request.out_block_status =
      read_output_array(check, "out_block_status", args.out_block_status, args.num_blocks);
  return request;
}

}  // namespace sampler::capi

extern "C" {

using namespace sampler::capi;

sampler_status sampler_unmask(sampler_t sampler, const sampler_unmask_args *args) {
  return call(sampler, args);
}

sampler_status sampler_unmask_workspace_size(sampler_t sampler, const sampler_unmask_args *args,
                                             size_t *out_bytes) {
  return size_workspace(sampler, args, out_bytes);
}

}  // extern "C"
