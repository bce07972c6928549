// The arguments of sampler_verify.
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "abi/handle_impl.h"
#include "capi/pipeline.h"
#include "capi/reports.h"
#include "capi/requests.h"
#include "capi/views.h"

namespace sampler::capi {

using namespace abi;

using contract::Verification;
using contract::VerifyRequest;

namespace {

// A call's arguments, and what they point to.
struct VerifyArguments {
  const sampler_verify_args &call;
  sampler_draft_layout layout = {};
  sampler_acceptance_params acceptance = {};
};

VerifyArguments read_structs(Check &check, const sampler_verify_args &args) {
  VerifyArguments result{args};
  if (args.layout) check.read("layout", args.layout, &result.layout);
  result.acceptance = read_acceptance_params(check, args.acceptance, SAMPLER_ACCEPT_STANDARD);
  return result;
}

constexpr int64_t kMaxDrafts = 65535;
constexpr int32_t kNumAcceptances = SAMPLER_ACCEPT_SYNTHETIC + 1;
constexpr int32_t kNumPackings = SAMPLER_PACKING_POSITIONS + 1;

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
  char name[64];
  std::snprintf(name, sizeof name, "layout->%s_sequence_stride", view);
  check.stride(name, stride, "what a sequence's rows take", extent);
  return stride ? stride : contiguous;
}

// `member` is set and `rule` says why it must not be.
void refuse_if(Check &check, bool is_set, const char *member, const char *rule) {
  if (is_set) check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is set; %s", member, rule);
}

// ---- Where things lie

// Rows of which a rank of many may have no columns: they stand for rows of one.
sampler_rows with_columns(const sampler_rows &view, bool has_no_cols) {
  sampler_rows rows = view;
  if (!has_no_cols) return rows;
  rows.num_cols = 1;
  rows.row_stride = 0;
  return rows;
}
void leave_no_columns(contract::Rows *rows) {
  rows->num_cols = rows->stride = 0;
}

// A shard's rows have the columns of the whole ones, and memory of the rank's own.
void set_whole_cols(Check &check, const char *name, int64_t whole_cols, contract::Rows *rows) {
  if (rows->ids || rows->counts) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s.%s is set; it must be NULL in a shard", name,
               rows->ids ? "candidate_ids" : "candidate_counts");
  }
  rows->num_cols = whole_cols;
}

// What the arrays of a call have, by sequence and by draft.
struct Shape {
  bool has_no_cols = false;  // of a shard
  bool is_packed = false;
  bool has_any_rows = false;  // the target's, as indices or packing say
  int64_t num_sequences = 0, num_drafts = 0, num_positions = 0;

  int64_t num_outputs() const { return num_sequences * num_positions; }
};

Shape read_shape(Check &check, const VerifyArguments &args, VerifyRequest *request, bool is_shard) {
  Shape shape;
  shape.has_no_cols = is_shard && args.call.target.num_cols == 0;
  request->target =
      read_rows_shape(check, "target", with_columns(args.call.target, shape.has_no_cols));
  check.range("num_drafts", args.call.num_drafts, 0, kMaxDrafts + 1);
  shape.is_packed = check.enumeration("layout->packing", args.layout.packing, kNumPackings) != 0;
  shape.has_any_rows =
      shape.is_packed || args.layout.target_row_indices || args.layout.bonus_row_indices;
  if (!check.ok()) return shape;
  shape.num_drafts = args.call.num_drafts;
  shape.num_positions = args.call.num_drafts + 1;
  check.range("layout->num_sequences", args.layout.num_sequences, 0, kMaxRows);
  shape.num_sequences = args.layout.num_sequences;
  if (!shape.has_any_rows) {
    if (args.call.target.num_rows % shape.num_positions != 0) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "target.num_rows is %" PRId64
                 "; it must be a multiple of num_drafts + 1, %" PRId64,
                 args.call.target.num_rows, shape.num_positions);
      return shape;
    }
    shape.num_sequences = args.call.target.num_rows / shape.num_positions;
    if (args.layout.num_sequences != 0 && args.layout.num_sequences != shape.num_sequences) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "layout->num_sequences is %" PRId64
                 "; it must be 0, or target.num_rows / (num_drafts + 1), "
                 "%" PRId64,
                 args.layout.num_sequences, shape.num_sequences);
    }
  }
  request->num_drafts = shape.num_drafts;
  request->num_rows = shape.num_sequences;
  return shape;
}

void read_target(Check &check, const VerifyArguments &args, const Shape &shape,
                 VerifyRequest *request) {
  if (shape.has_no_cols) leave_no_columns(&request->target);
  if (shape.has_any_rows) {
    check.zero("layout->target_sequence_stride", args.layout.target_sequence_stride);
    check_rows_memory(check, "target", request->target, request->target.num_rows,
                      request->target.stride, Need::kRequired);
    return;
  }
  request->target_row_stride = read_sequence_stride(
      check, "target", args.layout.target_sequence_stride, request->target, shape.num_positions);
  check_rows_memory(check, "target", request->target, shape.num_sequences,
                    request->target_row_stride, Need::kRequired);
}

void read_draft(Check &check, const VerifyArguments &args, const Shape &shape,
                VerifyRequest *request) {
  const bool has_draft = has_rows(args.call.draft);
  const bool has_any_rows =
      shape.is_packed || args.layout.draft_row_indices || args.layout.draft_rows_by_slot != 0;
  const int64_t num_rows =
      has_any_rows ? args.call.draft.num_rows : shape.num_sequences * shape.num_drafts;
  if (has_draft && shape.has_any_rows && !has_any_rows && shape.num_sequences == 0 &&
      args.call.draft.num_rows > 0) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "layout->num_sequences is 0 and draft.num_rows %" PRId64
               "; draft.num_rows must be layout->num_sequences * num_drafts",
               args.call.draft.num_rows);
  }
  const bool has_no_cols = has_draft && shape.has_no_cols && args.call.draft.num_cols == 0;
  contract::Rows target = request->target;
  if (has_no_cols) target.num_cols = 1;
  request->draft = read_draft_shape(check, with_columns(args.call.draft, has_no_cols), num_rows,
                                    "num_sequences * num_drafts", target);
  if (has_no_cols) leave_no_columns(&request->draft);
  if (has_draft && !has_any_rows) {
    request->draft_row_stride = read_sequence_stride(
        check, "draft", args.layout.draft_sequence_stride, request->draft, shape.num_drafts);
    check_draft_memory(check, args.call.draft, shape.num_sequences, request->draft_row_stride,
                       &request->draft);
    return;
  }
  check.zero("layout->draft_sequence_stride", args.layout.draft_sequence_stride);
  check_draft_memory(check, args.call.draft, request->draft.num_rows, request->draft.stride,
                     &request->draft);
}

void read_packing(Check &check, const VerifyArguments &args, const Shape &shape,
                  Verification *rules) {
  rules->packing = args.layout.packing;
  rules->draft_token_stride = args.call.num_drafts;
  const bool by_position = args.layout.packing == SAMPLER_PACKING_POSITIONS;
  if (!shape.is_packed) {
    refuse_if(check, args.layout.packing_offsets, "layout->packing_offsets",
              "layout->packing must say what it is");
    check.zero("layout->num_packed_drafts", args.layout.num_packed_drafts);
    check.zero("layout->num_packed_positions", args.layout.num_packed_positions);
    rules->draft_token_stride =
        check.stride("layout->draft_token_stride", args.layout.draft_token_stride, "num_drafts",
                     args.call.num_drafts);
    return;
  }
  refuse_if(check, args.call.draft_counts, "draft_counts", "it must be NULL in a packed batch");
  check.zero("layout->draft_token_stride", args.layout.draft_token_stride);
  check.array("layout->packing_offsets", args.layout.packing_offsets, sizeof(int32_t),
              shape.num_sequences + (args.layout.packing == SAMPLER_PACKING_DRAFT_ENDS ? 0 : 1),
              Access::kRead, Need::kRequired);
  if (by_position) {
    check.zero("layout->num_packed_drafts", args.layout.num_packed_drafts);
  } else {
    check.range("layout->num_packed_drafts", args.layout.num_packed_drafts, 0, kMaxRows);
  }
  check.range("layout->num_packed_positions", args.layout.num_packed_positions, 0, kMaxRows);
  // If numbers are out of their ranges the check has failed, and any sum will do.
  const int64_t implied =
      int64_t(uint64_t(args.layout.num_packed_drafts) + uint64_t(shape.num_sequences));
  const bool needs_positions =
      !by_position && args.layout.target_row_indices && !args.layout.bonus_row_indices;
  if (needs_positions && args.layout.num_packed_positions != implied) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "layout->num_packed_positions is %" PRId64
               "; it must be layout->num_packed_drafts + layout->num_sequences, %" PRId64,
               args.layout.num_packed_positions, implied);
  }
  rules->packing_offsets = args.layout.packing_offsets;
  rules->num_packed_drafts = args.layout.num_packed_drafts;
  rules->num_packed_positions = args.layout.num_packed_positions;
}

// Entries of what is laid out like draft_token_ids, where these are contiguous.
int64_t num_draft_entries(const VerifyArguments &args, const Shape &shape) {
  if (!shape.is_packed) return shape.num_sequences * shape.num_drafts;
  return args.layout.packing == SAMPLER_PACKING_POSITIONS ? args.layout.num_packed_positions
                                                          : args.layout.num_packed_drafts;
}

void read_indices(Check &check, const VerifyArguments &args, const Shape &shape,
                  Verification *rules) {
  const auto read = [&](const char *name, const int32_t *data, int64_t count) {
    check.array(name, data, sizeof(int32_t), count, Access::kRead);
    return data;
  };
  const int64_t num_drafts = num_draft_entries(args, shape);
  const int64_t num_positions =
      shape.is_packed ? args.layout.num_packed_positions : shape.num_outputs();
  const bool has_drafts = num_drafts > 0 || (!shape.is_packed && shape.num_drafts > 0);
  const bool lacks_target = has_drafts && !args.layout.target_row_indices;
  refuse_if(check, args.layout.bonus_row_indices && lacks_target, "layout->bonus_row_indices",
            "it needs layout->target_row_indices");
  rules->target_rows = read("layout->target_row_indices", args.layout.target_row_indices,
                            args.layout.bonus_row_indices ? num_drafts : num_positions);
  rules->bonus_rows =
      read("layout->bonus_row_indices", args.layout.bonus_row_indices, shape.num_sequences);
  rules->draft_rows = read("layout->draft_row_indices", args.layout.draft_row_indices, num_drafts);
  rules->draft_rows_by_slot =
      check.enumeration("layout->draft_rows_by_slot", args.layout.draft_rows_by_slot, 2) != 0;
  const bool has_draft = has_rows(args.call.draft);
  refuse_if(check, args.layout.draft_row_indices && !has_draft, "layout->draft_row_indices",
            "it needs draft");
  refuse_if(check, rules->draft_rows_by_slot && !has_draft, "layout->draft_rows_by_slot",
            "it needs draft");
  refuse_if(check, rules->draft_rows_by_slot && args.layout.draft_row_indices,
            "layout->draft_rows_by_slot", "layout->draft_row_indices must be NULL then");
}

void read_trees(Check &check, const VerifyArguments &args, const Shape &shape,
                Verification *rules) {
  const bool has_links = args.layout.first_children || args.layout.next_siblings;
  rules->sibling_rule =
      check.enumeration("acceptance->sibling_rule", args.acceptance.sibling_rule, 2);
  if (!args.layout.parents && !has_links) {
    if (shape.num_drafts == 0) return;  // whose tree may be NULL
    check.zero("layout->tree_rows", args.layout.tree_rows);
    check.zero("acceptance->sibling_rule", args.acceptance.sibling_rule);
    return;
  }
  refuse_if(check, args.layout.parents && has_links, "layout->parents",
            "layout->first_children and layout->next_siblings must be NULL then");
  refuse_if(check, shape.is_packed,
            args.layout.parents ? "layout->parents" : "layout->first_children",
            "layout->packing must be SAMPLER_PACKING_DENSE");
  if (has_links) {
    check.required("layout->first_children", args.layout.first_children);
    check.required("layout->next_siblings", args.layout.next_siblings);
  }
  const int64_t num_trees = args.layout.tree_rows ? args.layout.tree_rows : shape.num_sequences;
  if (num_trees != 1 && num_trees != shape.num_sequences) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "layout->tree_rows is %" PRId64
               "; it must be 0, 1 or the number of sequences, %" PRId64,
               args.layout.tree_rows, shape.num_sequences);
  }
  if (!check.ok()) return;
  rules->has_one_tree = num_trees == 1;
  check.array("layout->parents", args.layout.parents, sizeof(int32_t), num_trees * shape.num_drafts,
              Access::kRead);
  check.array("layout->first_children", args.layout.first_children, sizeof(int32_t),
              num_trees * shape.num_positions, Access::kRead);
  check.array("layout->next_siblings", args.layout.next_siblings, sizeof(int32_t),
              num_trees * shape.num_positions, Access::kRead);
  rules->parents = args.layout.parents;
  rules->first_children = args.layout.first_children;
  rules->next_siblings = args.layout.next_siblings;
}

// ---- Rules

void read_acceptance(Check &check, const VerifyArguments &args, const Shape &shape,
                     int64_t num_slots, Verification *rules) {
  const sampler_acceptance_params &given = args.acceptance;
  contract::AcceptanceNumbers &numbers = rules->numbers;
  const int64_t most_after = args.call.num_drafts - 1;
  const int32_t window = int32_t(most_after < 1 ? 1 : most_after > 6 ? 6 : most_after);
  const auto number = [](auto value, auto in_place_of_0) {
    return value == 0 ? in_place_of_0 : value;
  };
  numbers.typical_threshold = number(given.typical_threshold, 0.09f);
  numbers.typical_scale = number(given.typical_scale, 0.3f);
  numbers.relaxed_top_k = number(given.relaxed_top_k, 1);
  numbers.relaxed_delta = given.relaxed_delta;
  numbers.threshold_single = number(given.threshold_single, 1.0f);
  numbers.threshold_total = number(given.threshold_total, 1.0f);
  numbers.deferred_window = number(given.deferred_window, window);
  numbers.deferred_top_k = number(given.deferred_top_k, 3);
  numbers.deferred_entropy = number(given.deferred_entropy, 0.3f);
  numbers.synthetic_rates = given.synthetic_rates;
  rules->has_rates = given.synthetic_rates || shape.num_drafts == 0;
  check.array("acceptance->synthetic_rates", given.synthetic_rates, sizeof(float), shape.num_drafts,
              Access::kReadOnHost);
  const sampler_acceptance rule = given.rule;
  rules->acceptance = {rule, args.call.acceptances};
  check.parameters("acceptances", args.call.acceptances, sizeof(int32_t), num_slots);
  rules->positions.draw_method = check.enumeration("acceptance->draw_method", given.draw_method, 2);
  if (args.call.acceptances || !check.ok()) return;
  if (!contract::can_accept_by(rule, *rules)) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "acceptance->rule is %d; %s", int(rule),
               rule == SAMPLER_ACCEPT_SYNTHETIC
                   ? "SAMPLER_ACCEPT_SYNTHETIC needs acceptance->synthetic_rates"
                   : "SAMPLER_ACCEPT_BLOCK and SAMPLER_ACCEPT_DEFERRED are for chains");
  }
  if (given.draw_method != SAMPLER_DRAW_INVERSE_CDF && rule != SAMPLER_ACCEPT_SAMPLE_MATCH) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "acceptance->draw_method is %d; it must be SAMPLER_DRAW_INVERSE_CDF but for "
               "SAMPLER_ACCEPT_SAMPLE_MATCH",
               int(given.draw_method));
  }
}

// ---- Distributions

// Given probabilities are not filtered: asking for it would silently do nothing. Filters in
// arrays are left to the sequences' statuses.
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

// The parameters of the draft's rows; the target's, where the call has no others.
contract::Parameters read_draft_parameters(Check &check, const VerifyArguments &args,
                                           const VerifyRequest &request, const Verification &rules,
                                           int64_t num_slots) {
  const bool is_logits = request.draft.values && request.draft.kind == SAMPLER_LOGITS;
  if (!args.call.draft_params && !args.call.draft_row_params) {
    if (is_logits && rules.positions.pipeline && rules.positions.pipeline->is_on()) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "draft_params is NULL; it must be set where the target has stages beside "
                 "temperature, top-k, top-p and min-p and draft is SAMPLER_LOGITS");
    }
    return request.parameters;
  }
  const char *const given = args.call.draft_params ? "draft_params" : "draft_row_params";
  refuse_if(check, !is_logits, given, "it needs a draft of SAMPLER_LOGITS");
  UserParameters user;
  if (args.call.draft_params) check.read("draft_params", args.call.draft_params, &user.params);
  if (args.call.draft_row_params)
    check.read("draft_row_params", args.call.draft_row_params, &user.arrays);
  if (!check.ok()) return {};
  refuse_if(check, has_other_numbers(user), given,
            "it must have no stage beside temperature, top-k, top-p and min-p");
  return capi::read_draft_parameters(check, user, num_slots);
}

// ---- Outputs

// The positions as rows that are sampled and reported.
void read_positions(Check &check, const VerifyArguments &args, const Shape &shape,
                    const RequestContext &context, const VerifyRequest &request,
                    Verification *rules) {
  contract::SampleRequest &positions = rules->positions;
  positions.input = request.target;
  positions.num_rows = shape.num_outputs();
  positions.slots = request.slots;
  positions.parameters = request.parameters;
  positions.random = request.random;
  positions.out_token_ids = request.out_token_ids;
  const sampler_report_args reports = read_report_args(check, args.call.reports);
  refuse_reports(check, "sampler_verify",
                 {{"out_values", reports.out_values != nullptr},
                  {"num_chosen", reports.num_chosen != 0},
                  {"out_kept_offsets", reports.out_kept_offsets != nullptr},
                  {"out_removed_by", reports.out_removed_by != nullptr}});
  read_reports(check, reports, context.reports, &positions);
  const int64_t count = shape.num_outputs();
  check.array("forced_token_ids", args.call.forced_token_ids,
              contract::size_of_id(request.out_token_ids.type), count, Access::kRead);
  rules->forced_token_ids = args.call.forced_token_ids;
  rules->out_positions = read_output_array(check, "out_positions", args.call.out_positions, count);
  refuse_if(check, args.call.out_kv_indices && !args.call.kv_indices, "out_kv_indices",
            "it needs kv_indices");
  check.array("kv_indices", args.call.kv_indices, sizeof(int64_t), count, Access::kRead);
  rules->kv_indices = args.call.kv_indices;
  rules->out_kv_indices =
      read_output_array(check, "out_kv_indices", args.call.out_kv_indices, count);
}

void read_tokens_and_counts(Check &check, const VerifyArguments &args, const Shape &shape,
                            const Verification &rules, VerifyRequest *request) {
  request->out_token_ids = {args.call.out_token_ids,
                            read_token_id_type(check, args.call.token_id_type)};
  if (!check.ok()) return;
  const size_t id_size = contract::size_of_id(request->out_token_ids.type);
  const int64_t num_rows = request->num_rows;
  request->draft_token_ids = args.call.draft_token_ids;
  if (shape.is_packed || rules.draft_token_stride == args.call.num_drafts) {
    check.array("draft_token_ids", args.call.draft_token_ids, id_size,
                num_draft_entries(args, shape), Access::kRead, Need::kRequired);
  } else {
    check.array("draft_token_ids", args.call.draft_token_ids, id_size, num_rows,
                args.call.num_drafts, rules.draft_token_stride, Access::kRead, Need::kRequired);
  }
  request->draft_counts = args.call.draft_counts;
  check.array("draft_counts", args.call.draft_counts, sizeof(int32_t), num_rows, Access::kRead);
  check.array("out_token_ids", args.call.out_token_ids, id_size,
              num_rows * (args.call.num_drafts + 1), Access::kWrite, Need::kRequired);
  request->out_accepted_counts =
      read_output_array(check, "out_accepted_counts", args.call.out_accepted_counts, num_rows);
  request->out_emitted_counts =
      read_output_array(check, "out_emitted_counts", args.call.out_emitted_counts, num_rows);
  check.enumeration("accumulate_counts", args.call.accumulate_counts, 2);
  request->accumulate_counts = args.call.accumulate_counts != 0;
  request->out_row_status =
      read_output_array(check, "out_row_status", args.call.out_row_status, num_rows);
}

// The stages of the target's rows; null: no others than a plain chain has.
const contract::Pipeline *read_stages(Check &check, const VerifyArguments &args,
                                      const UserParameters &parameters, const Shape &shape,
                                      const RequestContext &context, VerifyRequest *request) {
  refuse_if(check, parameters.arrays.forced_token_id, "row_params->forced_token_id",
            "sampler_verify does not force tokens");
  const contract::Pipeline *const pipeline =
      read_pipeline(check, parameters, args.call.pipeline, context.handle, "target",
                    request->target, request->target.num_cols, request->slots.count,
                    shape.num_outputs(), Draws::kYes, &request->parameters.rules, context.pipeline);
  if (pipeline) (*context.pipeline)->max_assumed = shape.num_drafts;
  return pipeline;
}

// Whether it is another call than that of dense chains by the standard rule, which is faster and
// gives the same.
bool is_extended(const VerifyArguments &args, const Verification &rules) {
  const bool has_rules =
      rules.acceptance.array || rules.acceptance.value != SAMPLER_ACCEPT_STANDARD;
  const bool has_layout = rules.packing != SAMPLER_PACKING_DENSE || rules.target_rows ||
                          rules.bonus_rows || rules.draft_rows || rules.draft_rows_by_slot ||
                          rules.draft_token_stride != args.call.num_drafts || rules.has_trees();
  const bool has_rows =
      rules.positions.pipeline || args.call.draft_params || args.call.draft_row_params;
  const bool has_outputs =
      rules.positions.reports_anything() || rules.out_positions || rules.out_kv_indices;
  return has_rules || has_layout || has_rows || has_outputs || rules.forced_token_ids ||
         rules.keeps_verified;
}

}  // namespace

const char *name_of_more(const VerifyRequest &request) {
  const Verification &rules = *request.verification;
  const contract::SampleRequest &positions = rules.positions;
  if (rules.acceptance.array) return "acceptances";
  if (rules.acceptance.value != SAMPLER_ACCEPT_STANDARD) return "acceptance->rule";
  if (rules.packing != SAMPLER_PACKING_DENSE) return "layout->packing";
  if (rules.target_rows) return "layout->target_row_indices";
  if (rules.bonus_rows) return "layout->bonus_row_indices";
  if (rules.draft_rows) return "layout->draft_row_indices";
  if (rules.draft_rows_by_slot) return "layout->draft_rows_by_slot";
  if (rules.draft_token_stride != request.num_drafts) return "layout->draft_token_stride";
  if (rules.has_trees()) return rules.parents ? "layout->parents" : "layout->first_children";
  if (positions.pipeline) return "pipeline, or a stage of params,";
  if (rules.forced_token_ids) return "forced_token_ids";
  if (rules.out_positions) return "out_positions";
  if (rules.out_kv_indices) return "out_kv_indices";
  if (positions.out_logprobs) return "reports->out_logprobs";
  if (positions.out_kept_counts) return "reports->out_kept_counts";
  if (positions.out_observations) return "reports->out_observations";
  if (!positions.reports) return "draft_params";
  const contract::Reports &reports = *positions.reports;
  if (reports.out_ranks) return "reports->out_ranks";
  if (reports.out_entropies) return "reports->out_entropies";
  if (reports.num_top > 0) return "reports->num_top_logprobs";
  return reports.out_kept_bitmask ? "reports->out_kept_bitmask" : "reports->kept_capacity";
}

sampler_acceptance_params read_acceptance_params(Check &check,
                                                 const sampler_acceptance_params *user,
                                                 sampler_acceptance in_place_of_default) {
  auto result = sized<sampler_acceptance_params>();
  if (user) check.read("acceptance", user, &result);
  check.enumeration("acceptance->rule", result.rule, kNumAcceptances);
  if (result.rule == SAMPLER_ACCEPT_DEFAULT) result.rule = in_place_of_default;
  const struct {
    const char *name;
    float value;
  } shares[] = {{"acceptance->typical_threshold", result.typical_threshold},
                {"acceptance->typical_scale", result.typical_scale},
                {"acceptance->relaxed_delta", result.relaxed_delta},
                {"acceptance->threshold_single", result.threshold_single},
                {"acceptance->threshold_total", result.threshold_total},
                {"acceptance->deferred_entropy", result.deferred_entropy}};
  for (const auto &share : shares) {
    check.not_nan(share.name, share.value);
    if (!(share.value < 0)) continue;
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %.9g; it must not be negative", share.name,
               double(share.value));
  }
  constexpr int64_t kEnd = int64_t(INT32_MAX) + 1;
  check.range("acceptance->relaxed_top_k", result.relaxed_top_k, 0, kEnd);
  check.range("acceptance->deferred_window", result.deferred_window, 0, kEnd);
  check.range("acceptance->deferred_top_k", result.deferred_top_k, 0, kEnd);
  return result;
}

void check_decoding_acceptance(Check &check, const sampler_acceptance_params &acceptance) {
  check.zero("acceptance->sibling_rule", acceptance.sibling_rule);
  check.zero("acceptance->draw_method", acceptance.draw_method);
}

VerifyRequest to_request(Check &check, const sampler_verify_args &user_args,
                         const RequestContext &context) {
  VerifyRequest request;
  const VerifyArguments args = read_structs(check, user_args);
  if (!check.ok()) return request;
  const Shape shape = read_shape(check, args, &request, context.whole_cols > 0);
  if (!check.ok()) return request;
  Verification rules;
  read_target(check, args, shape, &request);
  read_draft(check, args, shape, &request);
  if (context.whole_cols > 0) {
    set_whole_cols(check, "target", context.whole_cols, &request.target);
    set_whole_cols(check, "draft", context.whole_cols, &request.draft);
  }
  read_packing(check, args, shape, &rules);
  if (!check.ok()) return request;
  read_indices(check, args, shape, &rules);
  read_trees(check, args, shape, &rules);
  request.slots = read_slots(check, args.call.slots, args.call.num_slots, request.num_rows);
  const int64_t num_slots = request.slots.count;
  read_acceptance(check, args, shape, num_slots, &rules);
  const UserParameters parameters =
      read_user_parameters(check, args.call.params, args.call.row_params);
  request.parameters = read_parameters(check, parameters, request.target.kind, num_slots);
  if (!check.ok()) return request;
  rules.positions.pipeline = read_stages(check, args, parameters, shape, context, &request);
  rules.draft_parameters = read_draft_parameters(check, args, request, rules, num_slots);
  if (!request.has_filters()) check_filters_have_logits(check, request.parameters);
  request.random = read_random(check, args.call.random, num_slots);
  request.bad_row_token = read_fallback_token(check, context.bad_row_token, request.target);
  read_tokens_and_counts(check, args, shape, rules, &request);
  rules.keeps_verified = context.is_of_session;
  if (!check.ok()) return request;
  read_positions(check, args, shape, context, request, &rules);
  if (check.ok() && is_extended(args, rules))
    request.verification = &context.verification->emplace(rules);
  return request;
}

}  // namespace sampler::capi
