// The entry points of unmask.h.
#include "sampler/unmask.h"

#include <cinttypes>

#include "capi/call.h"
#include "capi/operations.h"
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
  const int num_read = num_scores(request->confidence);
  if (num_read == 0) {
    if (args.scores) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "scores is set; it must be NULL with confidence %d", int(request->confidence));
    }
    return check.zero("score_stride", args.score_stride);
  }
  request->scores = args.scores;
  request->score_stride =
      check.stride("score_stride", args.score_stride, "the scores of a row", num_read);
  check.array("scores", args.scores, sizeof(float), args.num_rows, num_read, request->score_stride,
              Access::kRead, Need::kRequired);
}

void read_tokens(Check &check, const sampler_unmask_args &args, int64_t mask_token_id,
                 UnmaskRequest *request) {
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
  request->mask_token_id = mask_token_id;
  // An empty array may be NULL.
  if (!args.token_ids && args.num_rows > 0) {
    return check.zero("params->mask_token_id", mask_token_id);
  }
  const bool is_wide = request->token_id_type == SAMPLER_ID_I64;
  check.range("params->mask_token_id", mask_token_id, 0, is_wide ? INT64_MAX : int64_t(1) << 31);
  check.array("token_ids", args.token_ids, size, args.num_rows, Access::kWrite);
}

// Checks the rules' numbers. Members are named after their struct, `name`.
class Rules {
 public:
  Rules(Check &check, const char *name, sampler_unmask_params *params)
      : check_(check), name_(name), params_(*params) {}

  void check() {
    check_.enumeration(path("->confidence").text, params_.confidence, 6);
    check_.enumeration(path("->blocks_after_prompt").text, params_.blocks_after_prompt, 2);
    if (!check_.ok()) return;
    const sampler_confidence kind = params_.confidence;
    const bool is_of_scores = num_scores(kind) > 0;
    check_bound("->order_temperature", &params_.order_temperature,
                is_of_scores || contract::is_greedy(params_.order_temperature));
    if (params_.order_temperature > contract::kLargestTemperature) {
      fail("->order_temperature", params_.order_temperature, "it must be at most 2^64");
    }
    check_threshold("->threshold", &params_.threshold, kind != SAMPLER_CONFIDENCE_POSITION);
    check_bound("->entropy_bound", &params_.entropy_bound, kind == SAMPLER_CONFIDENCE_ENTROPY);
    check_threshold("->edit_threshold", &params_.edit_threshold, is_of_scores);
  }

 private:
  Name::Text path(const char *member) const {
    Name::Text result;
    std::snprintf(result.text, sizeof result.text, "%s%s", name_, member);
    return result;
  }
  void fail(const char *member, float value, const char *rule) {
    check_.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s%s is %g; %s", name_, member, double(value),
                rule);
  }
  // A number that is on above 0, and must be off with some confidences. Off it is 0.
  void check_bound(const char *member, float *value, bool may_be_on) {
    check_.not_nan(path(member).text, *value);
    if (*value > 0 && !may_be_on) {
      check_.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s%s is %g; it must be off with confidence %d",
                  name_, member, double(*value), int(params_.confidence));
    }
    if (!(*value > 0)) *value = 0;
  }
  // A score may be negative, a threshold not.
  void check_threshold(const char *member, float *value, bool may_be_on) {
    if (*value < 0 && params_.confidence == SAMPLER_CONFIDENCE_GIVEN) {
      fail(member, *value, "with confidence 3 it must be above 0, or 0 for off");
    }
    check_bound(member, value, may_be_on);
  }

  Check &check_;
  const char *const name_;
  sampler_unmask_params &params_;
};

void read_rules(Check &check, const sampler_unmask_args &args, const sampler_unmask_params &params,
                UnmaskRequest *request) {
  check.zero("params->block_length", params.block_length);
  check.zero("params->blocks_after_prompt", params.blocks_after_prompt);
  request->order_temperature = params.order_temperature;
  request->threshold = params.threshold;
  request->entropy_bound = params.entropy_bound;
  request->edit_threshold = params.edit_threshold;
  if (params.edit_threshold > 0 && !args.token_ids && args.num_rows > 0) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "params->edit_threshold is %g; without token_ids it must be off",
               double(params.edit_threshold));
  }
  request->num_committed = read_per_slot(check, "block_num_committed", params.num_committed,
                                         args.block_num_committed, args.num_blocks);
  request->num_steps_left = read_per_slot(check, "block_num_steps_left", params.num_steps_left,
                                          args.block_num_steps_left, args.num_blocks);
}

}  // namespace

sampler_unmask_params read_unmask_params(Check &check, const char *name,
                                         const sampler_unmask_params *user) {
  auto result = sized<sampler_unmask_params>();
  if (user) check.read(name, user, &result);
  if (check.ok()) Rules(check, name, &result).check();
  return result;
}

UnmaskRequest to_request(Check &check, const sampler_unmask_args &args, const RequestContext &) {
  UnmaskRequest request;
  check.zero("reserved", args.reserved);
  read_blocks(check, args, &request);
  const sampler_unmask_params params = read_unmask_params(check, "params", args.params);
  if (!check.ok()) return request;
  request.confidence = params.confidence;
  read_scores(check, args, &request);
  read_tokens(check, args, params.mask_token_id, &request);
  if (!check.ok()) return request;
  request.slots = read_slots(check, args.slots, args.num_slots, args.num_rows);
  request.random = read_random(check, args.random, request.slots.count);
  read_rules(check, args, params, &request);
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

void unmask_on_host(Entry &entry, const sampler_unmask_args &args) {
  Check check(entry);
  const UnmaskRequest request = to_request(check, args, {});
  if (check.ok()) cpu::unmask(request);
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
