#include "held/held.h"

#include <algorithm>

#include "contract/elements.h"
#include "contract/parameter_table.h"

namespace sampler::kernels {

namespace {

// Three blocks share a multiprocessor, so that one loads while others compute or write.
constexpr int64_t kWantedTiles = 32;
// Tiles worth a block: one per warp.
constexpr int64_t kLeastTiles = 8;
constexpr int64_t kMostBlocks = INT32_MAX;
constexpr size_t kMostBytesOfEdits = size_t(64) << 20;

bool is_wide(int64_t num_cols) {
  return num_cols >= kLeastStreamedTiles * kTile;
}

// Logits by ascending id.
bool is_dense(const contract::Rows &rows, sampler_input_kind kind) {
  return rows.kind == kind && !rows.ids && !rows.counts;
}

// Whether filters with the same numbers for all rows are for these kernels.
bool can_hold(const contract::Parameters &all, int64_t num_cols) {
  const contract::RowParameters row = all.of(0);
  return stream_need(row, all.rules, num_cols, {false, false}) != StreamNeed::kOther &&
         has_bound(row.top_k, num_cols);
}

// Whether the reports wanted are for these kernels. A row that is left must not have taken the
// places of a packed list.
bool can_report(const StagedSampleRequest &request) {
  const contract::Reports &wanted = request.wanted;
  const bool has_top = wanted.wants_top();
  const bool is_short = wanted.num_top <= kMostStreamedK &&
                        has_bound(int32_t(wanted.num_top), request.input.num_cols);
  return !wanted.out_removed_by && (!has_top || (is_short && !wanted.are_lists_packed()));
}

// Whether adaptive-p or smoothing weighs the kept tokens anew.
bool reweighs(const contract::AdaptiveParameters &adaptive) {
  const sampler_adaptive_kind kind = adaptive.kind.value;
  return kind == SAMPLER_ADAPTIVE_P || kind == SAMPLER_ADAPTIVE_SMOOTHING;
}

// Whether a window keeps the tokens from some value on, or the first one.
bool cuts_at_value(sampler_stage stage, const contract::Pipeline &stages) {
  switch (stage) {
    case SAMPLER_STAGE_TEMPERATURE:
    case SAMPLER_STAGE_MIN_P:
    case SAMPLER_STAGE_TOP_N_SIGMA:
    case SAMPLER_STAGE_EPSILON:
    case SAMPLER_STAGE_ETA:
    case SAMPLER_STAGE_P_LESS:
    case SAMPLER_STAGE_TOP_A:
      return true;
    case SAMPLER_STAGE_ADAPTIVE:
      return stages.adaptive.kind.value == SAMPLER_ADAPTIVE_MIROSTAT_V2;
    default:
      return false;
  }
}

// kReweighed, kValues, kTypical, or kStaged: draws after stages that are for none of these. Their
// kernels check the numbers of the stages that they run; those of others are valid unless they
// differ by slot, or are checked by the launch that edits.
HeldKind kind_of_stages(const StagedSampleRequest &request) {
  const contract::Pipeline &stages = request.stages;
  const contract::PerSlot<float> &range = stages.dynamic_range;
  const bool is_reweighed = reweighs(stages.adaptive);
  const bool is_dynamic = range.array || range.value > 0;
  bool is_for_values = true, is_for_reweighed = is_reweighed && !is_dynamic;
  bool is_for_typical = stages.adaptive.kind.value == SAMPLER_ADAPTIVE_NONE && !is_dynamic &&
                        !stages.dynamic_exponent.array;
  bool is_checked[SAMPLER_MAX_STAGES + 1] = {};
  is_checked[SAMPLER_STAGE_ADAPTIVE] = true;
  for (const sampler_stage stage : stages.windows) {
    is_checked[stage] = !is_reweighed || stage == SAMPLER_STAGE_ADAPTIVE;
    is_for_values = is_for_values && cuts_at_value(stage, stages);
    is_for_typical =
        is_for_typical && (stage == SAMPLER_STAGE_TEMPERATURE || stage == SAMPLER_STAGE_TYPICAL_P);
    is_for_reweighed =
        is_for_reweighed && (stage == SAMPLER_STAGE_TEMPERATURE || stage == SAMPLER_STAGE_MIN_P ||
                             stage == SAMPLER_STAGE_ADAPTIVE);
  }
  bool may_be_invalid = false;
  contract::for_each_stage_parameter(&stages, [&](int, sampler_stage stage, const auto *number) {
    may_be_invalid = may_be_invalid || (number->array && !(stage > 0 && is_checked[stage]));
  });
  if (stages.has_edits()) may_be_invalid = !are_edits_few(stages);
  const bool has_others = stages.adaptive.kind.array || stages.adaptive.may_decay() ||
                          stages.min_keep.array || stages.min_keep.value > 1 ||
                          stages.forced_token_ids || stages.scored_token_ids;
  const bool has_reports =
      request.reports_kept() || request.reports_distribution() || request.wanted.out_removed_by;
  if (may_be_invalid || has_others || has_reports) return HeldKind::kStaged;
  if (is_for_reweighed) return HeldKind::kReweighed;
  if (is_for_values) return HeldKind::kValues;
  return is_for_typical ? HeldKind::kTypical : HeldKind::kStaged;
}

}  // namespace

HeldKind held_kind(const contract::FilterRequest &request) {
  const contract::Parameters &all = request.parameters;
  const bool are_logits = request.input.kind == SAMPLER_LOGITS;
  const bool is_written = are_logits || request.output_kind == SAMPLER_OUTPUT_PROBABILITIES;
  if (!is_dense(request.input, request.input.kind) || !is_wide(request.input.num_cols) ||
      request.pipeline || !is_written || may_have_two_scales(all)) {
    return HeldKind::kNone;
  }
  const bool has_arrays = all.top_k.array || all.top_p.array || all.min_p.array;
  const bool counts_kept = request.out_kept_counts != nullptr;
  if (are_logits && !has_arrays && !contract::any_filter_is_on(all.of(0)) && !counts_kept &&
      request.output_kind == SAMPLER_OUTPUT_PROBABILITIES) {
    return HeldKind::kSoftmax;
  }
  if (all.differ_by_slot()) return HeldKind::kFilter;
  return can_hold(all, request.input.num_cols) ? HeldKind::kFilter : HeldKind::kNone;
}

HeldKind held_kind(const contract::VerifyRequest &request) {
  const contract::Rows &target = request.target, &draft = request.draft;
  const contract::Parameters &all = request.parameters;
  const bool is_given = target.kind == SAMPLER_PROBABILITIES;
  // Drafts of given rows are given, too.
  const bool has_draft = draft.values != nullptr;
  const bool is_dense_draft =
      !has_draft || (is_dense(draft, draft.kind) && draft.dtype == target.dtype &&
                     (!is_given || draft.kind == SAMPLER_PROBABILITIES));
  if (!is_dense(target, target.kind) || !is_dense_draft || !is_wide(target.num_cols) ||
      request.verification) {
    return HeldKind::kNone;
  }
  if (is_given) {
    const bool draws = !all.temperature.array && !contract::is_greedy(all.temperature.value);
    return draws ? HeldKind::kChain : HeldKind::kNone;
  }
  if (may_have_two_scales(all)) return HeldKind::kNone;
  if (all.differ_by_slot()) return HeldKind::kVerify;
  return can_hold(all, target.num_cols) ? HeldKind::kVerify : HeldKind::kNone;
}

namespace {

// Whether the rows, as given or edited, are for kVerifyExtended, and the rules.
bool can_verify(const ExtendedVerifyRequest &request) {
  const contract::Rows &target = request.target, &draft = request.draft;
  const contract::Parameters &all = request.parameters;
  const contract::Verification &rules = request.rules;
  const bool has_draft = draft.values != nullptr;
  const bool is_deferred =
      !rules.acceptance.array && rules.acceptance.value == SAMPLER_ACCEPT_DEFERRED;
  const bool draws =
      request.positions.draw_method == SAMPLER_DRAW_INVERSE_CDF && !request.random.are_watermarks;
  if (!is_dense(target, target.kind) || !is_wide(target.num_cols) || !draws || is_deferred ||
      (has_draft && (!is_dense(draft, SAMPLER_PROBABILITIES) || rules.excludes_siblings())) ||
      request.has_outputs || request.reads_one_by_one) {
    return false;
  }
  if (target.kind == SAMPLER_PROBABILITIES) return true;
  return !may_have_two_scales(all) && (all.differ_by_slot() || can_hold(all, target.num_cols));
}

// Whether stages are edits that a launch lists.
bool has_few_edits(const contract::Pipeline &stages) {
  return are_edits_few(stages) && !stages.has_windows && !stages.adaptive.may_have_window() &&
         !stages.adaptive.may_decay() && !stages.min_keep.array && stages.min_keep.value <= 1;
}

}  // namespace

HeldKind held_kind(const ExtendedVerifyRequest &request) {
  const bool is_held = !request.has_pipeline && can_verify(request);
  return is_held ? HeldKind::kVerifyExtended : HeldKind::kNone;
}

HeldKind held_kind(const StagedSampleRequest &request) {
  const contract::Pipeline &stages = request.stages;
  const contract::Parameters &all = request.parameters;
  const bool draws =
      request.draw_method == SAMPLER_DRAW_INVERSE_CDF && !request.random.are_watermarks;
  const bool has_stages = stages.has_windows || stages.adaptive.may_have_window();
  if (!is_dense(request.input, request.input.kind) || !is_wide(request.input.num_cols) ||
      !can_report(request) || !draws || request.keeps_edited()) {
    return HeldKind::kNone;
  }
  const bool are_logits = request.input.kind == SAMPLER_LOGITS;
  if (!are_logits && (has_stages || stages.has_edits())) return HeldKind::kNone;
  if (has_stages) return kind_of_stages(request);
  if (may_have_two_scales(all)) return HeldKind::kNone;
  const bool may_hold = all.differ_by_slot() || stages.adaptive.may_decay();
  if (!may_hold && !can_hold(all, request.input.num_cols)) return HeldKind::kNone;
  return stages.has_edits() ? HeldKind::kEditedReport : HeldKind::kReport;
}

HeldKind held_kind(const contract::SelectRequest &request) {
  const contract::Rows &input = request.input;
  const bool is_held = is_dense(input, SAMPLER_LOGITS) && is_wide(input.num_cols) &&
                       request.num_selected > 0 && request.num_selected <= kMostStreamedK &&
                       has_bound(int32_t(request.num_selected), input.num_cols);
  return is_held ? HeldKind::kSelect : HeldKind::kNone;
}

HeldKind held_kind(const contract::SampleRequest &request) {
  const contract::Parameters &all = request.parameters;
  if (stream_kind(request) != StreamKind::kAny || all.differ_by_slot() ||
      may_have_two_scales(all)) {
    return HeldKind::kNone;
  }
  const contract::RowParameters row = all.of(0);
  const StreamWanted wanted = StreamWanted::of(request);
  const StreamNeed need = stream_need(row, all.rules, request.input.num_cols, wanted);
  const bool sums_twice = wanted.total_at_one && has_second_total(row, all.rules, need);
  return need == StreamNeed::kWeights && !sums_twice ? HeldKind::kDraw : HeldKind::kNone;
}

Held plan_held(HeldKind kind, int64_t num_rows, int64_t num_cols, const DeviceShape &device) {
  Held held;
  if (kind == HeldKind::kNone || num_rows < 1 || device.held_team == 0) return held;
  // Few rows are streamed by more blocks than one each.
  if (kind == HeldKind::kDraw && device.held_team == 1) return held;
  const int64_t tiles = (num_cols + kMaxLead + kTile - 1) / kTile;
  int size = 1;
  while (size < device.held_team) {
    const bool is_large = tiles > kWantedTiles * size;
    const bool is_spread =
        2 * num_rows * size <= device.num_multiprocessors && tiles >= 2 * kLeastTiles * size;
    if (!is_large && !is_spread) break;
    size *= 2;
  }
  held.kind = kind;
  held.team_size = size;
  held.tiles_of_block = int((tiles + size - 1) / size);
  held.num_rows = held.num_teams = num_rows;
  const bool fits = held.tiles_of_block <= kMostHeldTiles &&
                    int64_t(held.shared_bytes()) <= device.held_bytes &&
                    num_rows <= kMostBlocks / size;
  if (!fits) return Held();
  if (is_sample(kind)) {  // teams have memory of their own
    const KernelShape &shape = device.of(KernelSet::kHeldSample);
    const int64_t at_once = shape.share_of((long long)(held.shared_bytes())).teams_of(size);
    if (at_once == 0) return Held();
    held.num_teams = std::min(num_rows, at_once);
  }
  return held;
}

Held plan_held(const ExtendedVerifyRequest &request, const DeviceShape &device) {
  Held held = plan_held(held_kind(request), request.num_rows, request.target.num_cols, device);
  held.tree_numbers = contract::TreeMemory::num_numbers(request.rules, request.num_drafts + 1);
  return held;
}

Held plan_held(const ExtendedVerifyRequest &request, const Chains &chains,
               const DeviceShape &device) {
  if (!request.has_pipeline || !has_few_edits(request.positions.stages) || !can_verify(request)) {
    return {};
  }
  Held held =
      plan_held(HeldKind::kVerifyExtended, request.num_rows, request.target.num_cols, device);
  held.tree_numbers = contract::TreeMemory::num_numbers(request.rules, request.num_drafts + 1);
  held.edits = plan_edits(positions_of(request, chains), device.edits_bytes);
  held.num_edited = chains.num_outputs();
  return held.edits.capacity >= 0 ? held : Held();
}

Held plan_held(const StagedSampleRequest &request, const DeviceShape &device) {
  const auto plan = [&](HeldKind kind) {
    return plan_held(kind, request.num_rows, request.input.num_cols, device);
  };
  Held held = plan(held_kind(request));
  if (!is_weighed(held.kind) || !request.stages.has_edits()) return held;
  held.edits = plan_edits(request, device.edits_bytes);
  held.num_edited = request.num_rows;
  const bool is_limited = !request.num_before;  // as in plan_lists_alone()
  const bool fits = held.edits.capacity >= 0 && (!is_limited || held.bytes() <= kMostBytesOfEdits);
  return fits ? held : plan(HeldKind::kStaged);
}

}  // namespace sampler::kernels
