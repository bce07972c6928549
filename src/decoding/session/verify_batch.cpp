#include "decoding/session/verify_batch.h"

#include <algorithm>
#include <optional>

#include "abi/structs.h"
#include "capi/operations.h"
#include "contract/float_bits.h"
#include "decoding/session/plain_params.h"
#include "decoding/session/session_numbers.h"
#include "sampler/sampler.h"

namespace sampler::decoding {

VerifyBatch::VerifyBatch(const SessionConfig &config, const SessionHost *host, SequenceTable *table,
                         Drafting *drafting, SessionRequests *requests, SessionState *state,
                         Transfer *transfer, SessionArrays *arrays)
    : config_(config),
      host_(host),
      table_(*table),
      drafting_(*drafting),
      requests_(*requests),
      state_(*state),
      transfer_(*transfer),
      layout_(config, table, drafting, transfer, arrays),
      blocks_(config, table, &layout_, requests, transfer, arrays) {
  const int64_t count = config.num_sequences(), top = config.options.max_top_logprobs;
  const int64_t num_places = max_drafts() + 1;
  lengths_before_ = arrays->take<int64_t>(count);
  positions_ = arrays->out<int32_t>(config.num_tree_places() > 0 ? count : 0, num_places);
  num_kept_ = arrays->out<int32_t>(count);
  row_status_ = arrays->out<sampler_row_status>(count);
  token_ids_ = arrays->out<int32_t>(count, num_places);
  arrays->count_in<int32_t>(count, num_places);  // what the tokens become
  logprobs_ = arrays->out<float>(count, num_places);
  top_token_ids_ = arrays->out<int32_t>(count, num_places * top);
  top_logprobs_ = arrays->out<float>(count, num_places * top);
  observations_ = arrays->out<float>(count, num_places);
  arrays->count_in<float>(count, num_places);
}

// Flag of the offset of a draw that replaces a residual's; the rejected draft has the same offset
// without it.
constexpr uint64_t kRedrawn = uint64_t(1) << 63;

// ---- The calls of a step ------------------------------------------------------------------------

sampler_rows VerifyBatch::rows_of(const sampler_session_advance_args &args) const {
  return requests_.rows_of(args.logits, layout_.num_rows(), args.logits_row_stride);
}

void VerifyBatch::find(const sampler_session_advance_args &args) {
  has_observations_ = host_->has_adaptive();
  layout_.find(args);
}

// Places the stages of a group's rows.
sampler_pipeline VerifyBatch::place_pipeline(const sampler_session_advance_args &args,
                                             const Group &group) {
  const bool has_masks = config_.pipeline.token_bitmasks != nullptr;
  return requests_.make_pipeline(args, has_masks ? layout_.place_masks(group) : nullptr,
                                 args.guidance_logits ? layout_.place_guidance(group) : nullptr);
}

// Draws one token per chain; rows and results are missing.
sampler_sample_args VerifyBatch::draw_args(const Group &group, const sampler_pipeline &pipeline) {
  sampler_sample_args args = requests_.sample_args(config_.params, requests_.numbers());
  args.pipeline = &pipeline;
  args.input = requests_.rows_of(nullptr, 0, 0);
  args.row_indices = layout_.place_rows(group);
  args.num_row_indices = group.count;
  args.slots = layout_.place_slots(group);
  return args;
}

template <class Call>
void VerifyBatch::place_results(const sampler_session_advance_args &args, const Group &group,
                                sampler_report_args *reports, Call *call) {
  const sampler_report_args &asked = reports_of(args);
  const int64_t first_place = group.first_place, num_places = group.num_places();
  const int64_t top = asked.num_top_logprobs;
  call->out_token_ids = transfer_.out(token_ids_ + first_place, num_places);
  call->out_row_status = transfer_.out(row_status_ + group.first, group.count);
  *reports = abi::sized<sampler_report_args>();
  call->reports = reports;
  if (has_observations_) {
    reports->out_observations = transfer_.out(observations_ + first_place, num_places);
  }
  reports->logprob_kind = asked.logprob_kind;
  if (asked.out_logprobs) {
    reports->out_logprobs = transfer_.out(logprobs_ + first_place, num_places);
  }
  reports->num_top_logprobs = top;
  if (asked.out_top_token_ids) {
    reports->out_top_token_ids =
        transfer_.out(top_token_ids_ + first_place * top, num_places * top);
  }
  if (asked.out_top_logprobs) {
    reports->out_top_logprobs = transfer_.out(top_logprobs_ + first_place * top, num_places * top);
  }
}

sampler_status VerifyBatch::check_params(abi::Entry &entry, const sampler_params &user_params) {
  sampler_params params = user_params;
  // Its rows come with each step.
  if (contract::is_finite(params.guidance_scale)) params.guidance_scale = 0;
  // With no chains the call checks its arguments and draws nothing.
  auto row_params = abi::sized<sampler_row_params>();
  requests_.place_arrays(SessionNumbers::needs_ends(params), false);
  const sampler_pipeline pipeline = place_pipeline({}, {});
  sampler_draft_layout layout;
  sampler_verify_args args = requests_.verify_args(params, row_params, pipeline, 0, &layout);
  args.slots = layout_.place_slots({});
  layout_.place_chains({}, &layout, &args);
  const sampler_params draft_params = plain_params(params);
  if (config_.options.keep_drafter_rows) {
    requests_.add_drafter_rows(draft_params, row_params, &layout, &args);
  }
  return requests_.call(entry, sampler_verify, args);
}

sampler_status VerifyBatch::check(abi::Entry &entry) {
  // With no rows the call checks its arguments and draws nothing.
  requests_.place_arrays(false, false);
  const sampler_pipeline pipeline = place_pipeline({}, {});
  if (max_drafts() == 0) {
    return requests_.call(entry, sampler_sample, draw_args({}, pipeline));
  }
  sampler_draft_layout layout;
  sampler_verify_args args =
      requests_.verify_args(config_.params, requests_.numbers(), pipeline, 0, &layout);
  args.slots = layout_.place_slots({});
  return requests_.call(entry, sampler_verify, args);
}

// Draws a token for each sequence without drafts.
sampler_status VerifyBatch::draw(abi::Entry &entry, const sampler_session_advance_args &args) {
  const Group &group = layout_.group(DraftGroup::kNone);
  if (group.count == 0) return SAMPLER_OK;
  const sampler_pipeline pipeline = place_pipeline(args, group);
  sampler_sample_args call = draw_args(group, pipeline);
  sampler_row_params numbers = requests_.numbers();
  if (args.forced_token_ids) numbers.forced_token_id = layout_.place_forced_by_slot();
  call.row_params = &numbers;
  call.input = rows_of(args);
  std::fill_n(num_kept_ + group.first, group.count, 0);
  sampler_report_args reports;
  place_results(args, group, &reports, &call);
  const sampler_status status = transfer_.upload(entry);
  if (status != SAMPLER_OK) return status;
  return requests_.call(entry, capi::sample_of_session, call);
}

// Verifies all sequences of a group with drafts, in one call.
sampler_status VerifyBatch::verify(abi::Entry &entry, const sampler_session_advance_args &args,
                                   DraftGroup kind) {
  const Group &group = layout_.group(kind);
  if (group.count == 0) return SAMPLER_OK;
  const sampler_pipeline pipeline = place_pipeline(args, group);
  sampler_draft_layout layout;
  sampler_verify_args call =
      requests_.verify_args(config_.params, requests_.numbers(), pipeline, group.count, &layout);
  // One rule for all is faster on a device than one for each.
  sampler_acceptance_params acceptance = *call.acceptance;
  acceptance.rule = layout_.rule_of(group);
  if (acceptance.rule != SAMPLER_ACCEPT_DEFAULT) {
    call.acceptances = nullptr;
    call.acceptance = &acceptance;
  }
  const sampler_params draft_params = plain_params(config_.params);
  if (kind == DraftGroup::kTrees) {
    layout_.place_trees(group, &layout, &call);
    call.out_positions = transfer_.out(positions_ + group.first_place, group.num_places());
  } else {
    layout_.place_chains(group, &layout, &call);
  }
  if (kind == DraftGroup::kDrawn) {
    requests_.add_drafter_rows(draft_params, requests_.plain_numbers(), &layout, &call);
  }
  call.slots = layout_.place_slots(group);
  if (args.forced_token_ids) call.forced_token_ids = layout_.place_forced(group);
  call.target = rows_of(args);
  call.out_emitted_counts = transfer_.out(num_kept_ + group.first, group.count);
  sampler_report_args reports;
  place_results(args, group, &reports, &call);
  const sampler_status status = transfer_.upload(entry);
  if (status != SAMPLER_OK) return status;
  return requests_.call(entry, capi::verify_up_to_bad_rows, call);
}

// Selects what n-grams learn besides the text.
sampler_status VerifyBatch::select_likeliest(abi::Entry &entry,
                                             const sampler_session_advance_args &args) {
  bool has_lessons = false;
  for (int64_t i = 0; i < args.num_spans; ++i) {
    const SessionSequence &own = table_[args.spans[i].sequence];
    const bool learns = own.source == SAMPLER_DRAFTS_NGRAM && own.is_drafting;
    has_lessons = has_lessons || (learns && args.spans[i].num_logits > 0);
  }
  const int64_t count = config_.options.filler_top_k;
  if (!has_lessons || count == 0) return SAMPLER_OK;
  return requests_.select(entry, rows_of(args), count, drafting_.likeliest());
}

sampler_status VerifyBatch::run(abi::Entry &entry, const sampler_session_advance_args &args) {
  sampler_status status = draw(entry, args);
  for (const DraftGroup kind : {DraftGroup::kCertain, DraftGroup::kDrawn, DraftGroup::kTrees}) {
    if (status == SAMPLER_OK) status = verify(entry, args, kind);
  }
  if (status == SAMPLER_OK) {
    status = blocks_.draw(entry, args, layout_.group(DraftGroup::kBlocks));
  }
  return status == SAMPLER_OK ? select_likeliest(entry, args) : status;
}

sampler_status VerifyBatch::redraw(abi::Entry &entry, const sampler_session_advance_args &args,
                                   Draws *draws) {
  const Group &group = layout_.group(DraftGroup::kDrawn);
  for (int64_t i = 0; i < group.count; ++i) {
    const int64_t chain = group.first + i;
    const int32_t sequence = layout_.chain(chain).sequence;
    const SessionSequence &own = table_[sequence];
    if (num_kept_[chain] == own.num_drafts || row_status_[chain] != SAMPLER_ROW_OK) continue;
    draws->add(own.first_row + num_kept_[chain], sequence);
    table_.offsets()[sequence] = uint64_t(own.num_new() + num_kept_[chain]) | kRedrawn;
  }
  if (draws->count == 0) return SAMPLER_OK;
  requests_.place_arrays(false, args.guidance_logits != nullptr);
  sampler_sample_args call = requests_.sample_args(config_.params, requests_.numbers());
  call.input = rows_of(args);
  call.row_indices = transfer_.in(draws->row_indices, draws->count);
  call.num_row_indices = draws->count;
  call.slots = transfer_.in(draws->slots, draws->count);
  call.out_token_ids = transfer_.out(draws->ids, draws->count);
  sampler_status status = transfer_.upload(entry);
  if (status == SAMPLER_OK) status = requests_.call(entry, capi::sample_of_session, call);
  if (status == SAMPLER_OK) status = transfer_.download(entry);
  if (status != SAMPLER_OK) return status;
  for (int64_t i = 0, draw = 0; i < group.count && draw < draws->count; ++i) {
    const int64_t chain = group.first + i;
    if (layout_.chain(chain).sequence != draws->slots[draw]) continue;
    token_ids_[group.first_place + i * group.num_positions + num_kept_[chain]] = draws->ids[draw++];
  }
  return SAMPLER_OK;
}

// ---- What comes of them -------------------------------------------------------------------------

// Appends the tokens of a chain to its text, and writes them out.
void VerifyBatch::take_tokens(const sampler_session_advance_args &args, const Group &group,
                              int64_t index) {
  const sampler_report_args &reports = reports_of(args);
  const int64_t chain = group.first + index, top = reports.num_top_logprobs;
  const int64_t first_place = group.first_place + index * group.num_positions;
  const int32_t sequence = layout_.chain(chain).sequence;
  SessionSequence &own = table_[sequence];
  int32_t *const token_ids = token_ids_ + first_place;
  const int64_t num_kept = num_kept_[chain];
  const bool is_bad = row_status_[chain] != SAMPLER_ROW_OK;
  if (is_bad) token_ids[num_kept] = -1;  // not the fallback token
  std::optional<contract::AdaptiveRules> rules;
  if (has_observations_) rules = host_->adaptive_rules(sequence);
  int64_t position = 0;
  for (; own.runs() && position < num_kept + !is_bad; ++position) {
    table_.append(sequence, token_ids[position]);
    own.num_accepted += position < num_kept;
    const int64_t from = first_place + position;
    if (rules) {
      own.adaptive = contract::adaptive_values_moved(own.adaptive, token_ids[position],
                                                     observations_[from], *rules);
    }
    const int64_t to = layout_.chain(chain).span * (max_drafts() + 1) + position;
    args.out_token_ids[to] = token_ids[position];
    if (reports.out_logprobs) reports.out_logprobs[to] = logprobs_[from];
    if (reports.out_top_token_ids) {
      std::copy_n(top_token_ids_ + from * top, top,
                  static_cast<int32_t *>(reports.out_top_token_ids) + to * top);
    }
    if (reports.out_top_logprobs) {
      std::copy_n(top_logprobs_ + from * top, top, reports.out_top_logprobs + to * top);
    }
  }
  if (is_bad && own.runs()) {
    own.reason = SAMPLER_FINISH_BAD_ROW;
    own.row_status = row_status_[chain];
  }
  // Tokens after the end are not reported.
  if (position < group.num_positions) token_ids[position] = -1;
}

// Lets the candidates of a block stand and, once it is complete, makes it text.
void VerifyBatch::take_block(abi::Entry &entry, const sampler_session_advance_args &args,
                             const Group &group, int64_t index) {
  const int64_t chain = group.first + index;
  const int64_t first_place = group.first_place + index * group.num_positions;
  const int32_t sequence = layout_.chain(chain).sequence;
  std::fill_n(token_ids_ + first_place, group.num_positions, -1);
  std::fill_n(observations_ + first_place, group.num_positions, contract::quiet_nan());
  const BlockBatch::Outcome outcome = blocks_.unmask(entry, group, index);
  SessionSequence &own = table_[sequence];
  if (outcome.row_status != SAMPLER_ROW_OK) {
    own.reason = SAMPLER_FINISH_BAD_ROW;
    own.row_status = outcome.row_status;
  }
  if (!outcome.is_complete) return;
  const int32_t *const tokens = table_.drafts(sequence);
  const int64_t count = table_.end_block(sequence);
  std::copy_n(tokens, count, token_ids_ + first_place);
  std::copy_n(tokens, count, args.out_token_ids + layout_.chain(chain).span * (max_drafts() + 1));
}

// Counts the accepted drafts on a tree's first path, which the cache can keep.
void VerifyBatch::find_kept_path(const Group &group, int64_t tree) {
  SessionSequence &own = table_[layout_.chain(group.first + tree).sequence];
  const int32_t *const positions = positions_ + group.first_place + tree * group.num_positions;
  const int64_t num_kept = num_kept_[group.first + tree];
  int64_t num_first = 0;  // accepted, on the first path
  while (num_first < num_kept && num_first < own.num_first &&
         positions[num_first + 1] == num_first + 1) {
    ++num_first;
  }
  own.num_first = num_first;
}

// Clears all outputs.
void VerifyBatch::clear_outputs(const sampler_session_advance_args &args) const {
  const sampler_report_args &reports = reports_of(args);
  const int64_t num_places = args.num_spans * (max_drafts() + 1);
  const float nan = contract::quiet_nan();
  std::fill_n(args.out_token_ids, num_places, -1);
  if (reports.out_logprobs) std::fill_n(reports.out_logprobs, num_places, nan);
  if (reports.out_top_token_ids) {
    std::fill_n(static_cast<int32_t *>(reports.out_top_token_ids),
                num_places * reports.num_top_logprobs, -1);
  }
  if (reports.out_top_logprobs) {
    std::fill_n(reports.out_top_logprobs, num_places * reports.num_top_logprobs, nan);
  }
}

void VerifyBatch::take(abi::Entry &entry, const sampler_session_advance_args &args) {
  clear_outputs(args);
  for (int64_t i = 0; i < args.num_spans; ++i) {
    const SessionSequence &own = table_[args.spans[i].sequence];
    lengths_before_[i] = own.length;
    args.out_counts[i] = own.num_accepted;  // as it was, until the span is finished
  }
  for (const DraftGroup kind : kDraftGroups) {
    const Group &group = layout_.group(kind);
    for (int64_t i = 0; i < group.count; ++i) {
      if (kind == DraftGroup::kBlocks) {
        take_block(entry, args, group, i);
        continue;
      }
      if (kind == DraftGroup::kTrees) find_kept_path(group, i);
      take_tokens(args, group, i);
    }
  }
  const Group &drawn = layout_.group(DraftGroup::kNone);
  const Group &last = layout_.group(DraftGroup::kBlocks);
  unsettled_[0] = drawn;
  unsettled_[1] = {
      drawn.count, 0, drawn.count, max_drafts() + 1, last.first + last.count - drawn.count, 0};
}

// ---- The texts' state ---------------------------------------------------------------------------

sampler_status VerifyBatch::settle(abi::Entry &entry) {
  if (!state_.get()) return SAMPLER_OK;
  for (Group &group : unsettled_) {
    const sampler_status status = group.count > 0 ? accept(entry, group) : SAMPLER_OK;
    if (status != SAMPLER_OK) return status;
    group.count = 0;
  }
  return SAMPLER_OK;
}

sampler_status VerifyBatch::accept(abi::Entry &entry, const Group &group) {
  transfer_.begin();
  auto args = abi::sized<sampler_accept_args>();
  args.slots = layout_.place_slots(group);
  args.num_rows = group.count;
  args.token_ids = transfer_.in(token_ids_ + group.first_place, group.num_places());
  args.num_tokens = group.num_positions;
  const sampler_row_params row_params = host_->place_numbers(&transfer_);
  if (has_observations_) {
    args.observations = transfer_.in(observations_ + group.first_place, group.num_places());
    args.params = &config_.params;
    args.row_params = &row_params;
  }
  return state_.accept(entry, &args);
}

}  // namespace sampler::decoding
