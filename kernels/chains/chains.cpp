#include "chains/chains.h"

#include <algorithm>

#include "stream/stream.h"

namespace sampler::kernels {

namespace {

// Whether all sequences take the first token of each row.
bool are_greedy(const contract::Parameters &parameters) {
  return !parameters.temperature.array && contract::is_greedy(parameters.temperature.value);
}

// Whether each draft is compared with the token that sampling draws at its position. XTC has
// another random number than in sampling where the rule is another.
bool compares(const ExtendedVerifyRequest &request) {
  const contract::PerSlot<sampler_acceptance> &rule = request.rules.acceptance;
  if (rule.array) return false;
  if (rule.value == SAMPLER_ACCEPT_SAMPLE_MATCH) return true;
  const bool is_other =
      rule.value == SAMPLER_ACCEPT_RELAXED || rule.value == SAMPLER_ACCEPT_SYNTHETIC;
  return are_greedy(request.parameters) && !is_other &&
         !request.positions.stages.windows.has(SAMPLER_STAGE_XTC);
}

// Whether the outputs of tokens, if any, follow from lists of kept tokens, one by one.
bool are_outputs_listed(const ExtendedVerifyRequest &request) {
  const StagedSampleRequest &positions = request.positions;
  const bool is_of_kept =
      positions.logprob_kind == SAMPLER_LOGPROB_PROCESSED || !positions.out_logprobs;
  return is_of_kept && !positions.reports_distribution() && !positions.reports_kept() &&
         !positions.out_observations;
}

// Whether kernels of rows of logits can decide, where the drafts' rows, if any, are given.
bool can_decide(const ExtendedVerifyRequest &request) {
  const contract::Rows &draft = request.draft;
  const bool has_draft = draft.values != nullptr;
  const bool is_given = draft.kind == SAMPLER_PROBABILITIES && !draft.ids && !draft.counts;
  return request.target.kind == SAMPLER_LOGITS && (!has_draft || is_given) &&
         are_outputs_listed(request) && request.positions.draw_method == SAMPLER_DRAW_INVERSE_CDF;
}

// Trees whose nodes have their parents' numbers, and no outputs by depth where sampling writes
// them. Each node looks for its depth, and copies its path, by itself.
bool are_trees_simple(const ExtendedVerifyRequest &request) {
  constexpr int64_t kMostDrafts = 1024, kMostDraftsAfterText = 63;
  const bool has_text = VerifyMemory::assumes_text(request.positions.stages);
  return request.rules.parents &&
         request.num_drafts <= (has_text ? kMostDraftsAfterText : kMostDrafts) &&
         !(request.has_outputs && compares(request)) &&
         !(request.draft.values && request.rules.excludes_siblings());
}

// Whether a position's row follows from the drafts before it alone, and its reports lie where
// sampling writes them.
bool is_of_drafts(const ExtendedVerifyRequest &request) {
  const contract::Pipeline &stages = request.positions.stages;
  const contract::PerSlot<sampler_acceptance> &rule = request.rules.acceptance;
  const bool has_values = stages.adaptive.may_have_window() || stages.adaptive.may_decay();
  // Where they are counted, the text before a draft lacks what is no token of the vocabulary.
  const bool counts = request.out_accepted_counts &&
                      (rule.array || rule.value == SAMPLER_ACCEPT_STANDARD) &&
                      VerifyMemory::assumes_text(stages);
  const bool forces_reported = request.rules.forced_token_ids && request.has_outputs;
  return (!request.rules.has_trees() || are_trees_simple(request)) && !has_values && !counts &&
         !forces_reported && !request.positions.wanted.are_lists_packed() &&
         !request.random.are_watermarks;
}

// Packed batches may have room for many more drafts than there are, which would take memory.
int64_t most_outputs(const ExtendedVerifyRequest &request) {
  constexpr int64_t kOutputsOfPosition = 4;
  const contract::Verification &rules = request.rules;
  if (rules.packing == SAMPLER_PACKING_DENSE) return INT64_MAX;
  const int64_t num_positions =
      std::max(rules.num_packed_positions, rules.num_packed_drafts + request.num_rows);
  return kOutputsOfPosition * num_positions;
}

}  // namespace

bool may_be_listed(const ExtendedVerifyRequest &request) {
  const contract::PerSlot<sampler_acceptance> &rule = request.rules.acceptance;
  const bool may_be_greedy = request.parameters.temperature.array || are_greedy(request.parameters);
  const bool may_be_relaxed = rule.array || rule.value == SAMPLER_ACCEPT_RELAXED;
  const bool has_xtc = request.positions.stages.windows.has(SAMPLER_STAGE_XTC);
  return !(may_be_greedy && may_be_relaxed) && !(rule.array && has_xtc);
}

bool may_report_apart(const ExtendedVerifyRequest &request) {
  return request.target.kind == SAMPLER_LOGITS && !request.rules.forced_token_ids &&
         !request.reads_one_by_one && may_report_apart(request.positions);
}

ExtendedVerifyRequest verified_of(const ExtendedVerifyRequest &request, const Chains &chains) {
  ExtendedVerifyRequest verified = request;
  StagedSampleRequest &positions = verified.positions;
  positions = draws_of(positions);
  if (!verified.rules.out_positions && chains.are_reported) {
    verified.rules.out_positions = chains.positions();
  }
  const bool has_more = positions.out_observations || positions.reports_kept();
  verified.are_staged = verified.has_pipeline || has_more;
  verified.has_outputs = positions.out_kept_counts || has_more;
  return verified;
}

StagedSampleRequest reports_of(const ExtendedVerifyRequest &request, const Chains &chains) {
  StagedSampleRequest reports = reports_of(positions_of(request, chains));
  reports.row_indices = chains.reported_rows();
  reports.out_token_ids = request.out_token_ids;
  reports.out_kept_counts = nullptr;
  return reports;
}

StagedSampleRequest left_of(const StagedSampleRequest &reports) {
  StagedSampleRequest left = reports;
  left.stages.scored_token_ids = left.out_token_ids.data;
  left.stages.scored_id_type = left.out_token_ids.type;
  left.memory = StageMemory::of(left.input, left.stages, false, false);
  return left;
}

contract::Verification rules_of_chains(const contract::VerifyRequest &request) {
  contract::Verification rules = {};
  rules.draft_token_stride = request.num_drafts;
  contract::SampleRequest &positions = rules.positions;
  positions.input = request.target;
  positions.num_rows = request.num_rows * (request.num_drafts + 1);
  positions.slots = request.slots;
  positions.parameters = request.parameters;
  positions.random = request.random;
  positions.out_token_ids = request.out_token_ids;
  return rules;
}

Chains plan_chains(const ExtendedVerifyRequest &request) {
  const contract::Rows &target = request.target;
  Chains chains;
  if (request.reads_one_by_one) return chains;
  const bool has_rows = request.num_rows > 0 && !target.ids && !target.counts && target.stride > 0;
  if (!has_rows || !is_of_drafts(request)) return chains;
  const bool is_matched = compares(request);
  if (!is_matched && !can_decide(request)) return chains;
  const bool is_dense = request.rules.packing == SAMPLER_PACKING_DENSE &&
                        !request.rules.target_rows && !request.rules.bonus_rows;
  const int64_t num_positions = request.num_drafts + 1;
  if (is_dense) {
    const bool is_single = request.num_rows == 1;
    if (!is_single && request.target_row_stride % target.stride != 0) return chains;
    chains.rows_of_sequence = is_single ? num_positions : request.target_row_stride / target.stride;
  }
  constexpr int64_t kMostRows = INT32_MAX;
  if (request.num_rows > kMostRows / std::max(num_positions, chains.rows_of_sequence)) return {};
  if (request.num_rows * num_positions > most_outputs(request)) return {};
  chains.kind = is_matched ? ChainsKind::kMatched : ChainsKind::kDecided;
  // Somewhere: that arrays are not null is all that matters before the memory is known.
  chains.memory = reinterpret_cast<char *>(Chains::kAlignment);
  chains.num_sequences = request.num_rows;
  chains.num_positions = int32_t(num_positions);
  chains.id_size = contract::size_of_id(request.out_token_ids.type);
  chains.tree_numbers = contract::TreeMemory::num_numbers(request.rules, num_positions);
  const contract::Pipeline &stages = request.positions.stages;
  if (VerifyMemory::assumes_text(stages)) {
    chains.text_id_size = contract::size_of_id(VerifyMemory::text_type(stages));
    if (request.rules.has_trees()) chains.path_stride = chains.num_positions;
  }
  return chains;
}

StagedSampleRequest positions_of(const ExtendedVerifyRequest &request, const Chains &chains) {
  StagedSampleRequest sample = request.positions;
  if (chains.rows_of_sequence > 0) {
    sample.input.num_rows = chains.num_sequences * chains.rows_of_sequence;
  }
  sample.num_rows = chains.num_outputs();
  sample.num_before = chains.depths();
  sample.row_indices = chains.rows();
  sample.slots = {chains.slots(), request.slots.number(request.num_rows)};
  sample.parameters = request.parameters;
  sample.random = request.random;
  sample.bad_row_token = -1;
  sample.out_token_ids = {chains.tokens(), request.out_token_ids.type};
  sample.out_row_status = chains.statuses();
  contract::Pipeline &stages = sample.stages;
  stages.adaptive.top_p = request.parameters.top_p;
  if (chains.text_id_size > 0)
    stages.drafts = {chains.drafts(), chains.depths(), chains.path_stride};
  sample.memory =
      StageMemory::of(sample.input, stages, sample.keeps_edited(), sample.wanted.out_removed_by);
  return sample;
}

}  // namespace sampler::kernels
