// What logits make of the sequences: drafts, and verified tokens.
#include "decoding/session/session.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "capi/operations.h"
#include "capi/structs.h"
#include "contract/elements.h"
#include "contract/float_bits.h"
#include "contract/weight.h"
#include "decoding/session/doubt.h"
#include "decoding/session/draft_offset.h"
#include "decoding/session/entropy_gamma.h"
#include "decoding/session/plain_params.h"
#include "sampler/sampler.h"

namespace sampler::decoding {

unsigned char *Session::drafter_row(int32_t sequence, int64_t draft) const {
  return drafter_rows_ + size_t(sequence * max_drafts() + draft) * drafter_row_bytes();
}

// Marks draws that take the place of a residual's: the draft before them had the offset without it.
constexpr uint64_t kRedrawn = uint64_t(1) << 63;

// ---- The calls of a step ------------------------------------------------------------------------

// What tokens are drawn and selected from: the drafter's rows.
void Session::find_drawn(const sampler_session_advance_args &args) {
  num_drafter_rows_ = num_draws_ = num_selected_ = 0;
  has_doubt_ = false;
  for (int64_t i = 0; i < args.num_drafter_spans; ++i) {
    const sampler_span &span = args.drafter_spans[i];
    if (span.num_logits == 0) continue;
    const int64_t row = num_drafter_rows_++;
    const SessionSequence &own = sequences_[span.sequence];
    if (own.group == DraftGroup::kTrees) {
      num_selected_ = std::max(num_selected_, std::min(own.top_k, num_cols()));
      continue;
    }
    has_doubt_ = has_doubt_ || own.least_probability > 0;
    row_indices_[num_draws_] = int32_t(row);
    draw_slots_[num_draws_++] = span.sequence;
    offsets_[span.sequence] =
        draft_offset(acceptances_[span.sequence], own.num_new(), own.num_drafts);
  }
}

// A token from each of the drafter's rows whose drafts are drawn.
sampler_status Session::draw_drafts(capi::Entry &entry, const sampler_session_advance_args &args) {
  if (num_draws_ == 0) return SAMPLER_OK;
  const sampler_params params = plain_params(config_.params);
  sampler_sample_args sample = sample_args(params, placed_.plain_numbers);
  sample.input = drafter_rows_of(args.drafter_logits, num_drafter_rows_, args.drafter_row_stride);
  sample.row_indices = transfer_.in(row_indices_, num_draws_);
  sample.num_row_indices = num_draws_;
  sample.slots = transfer_.in(draw_slots_, num_draws_);
  sample.out_token_ids = transfer_.out(drawn_ids_, num_draws_);
  sample.out_row_status = transfer_.out(draw_status_, num_draws_);
  if (has_doubt_) sample.out_logprobs = transfer_.out(drawn_logprobs_, num_draws_);
  const sampler_status status = transfer_.upload(entry);
  if (status != SAMPLER_OK) return status;
  return entry.call_host([&] { return sampler_sample(handle_, &sample); });
}

// The likeliest tokens of the drafter's rows, where any are of trees.
sampler_status Session::select_drafts(capi::Entry &entry,
                                      const sampler_session_advance_args &args) {
  if (num_selected_ == 0) return SAMPLER_OK;
  return select(entry,
                drafter_rows_of(args.drafter_logits, num_drafter_rows_, args.drafter_row_stride),
                num_selected_, selected_ids_);
}

// The likeliest tokens of each row, `count` of them.
sampler_status Session::select(capi::Entry &entry, const sampler_rows &rows, int64_t count,
                               int32_t *out_ids) {
  auto args = capi::sized<sampler_select_args>();
  args.exec = exec_;
  args.input = rows;
  args.num_selected = count;
  args.out_token_ids = transfer_.out(out_ids, rows.num_rows * count);
  return entry.call_host([&] { return sampler_select(handle_, &args); });
}

// A row of the drafter.
const unsigned char *Session::given_row(const sampler_session_advance_args &args,
                                        int64_t row) const {
  const int64_t stride = args.drafter_row_stride ? args.drafter_row_stride : num_cols();
  return static_cast<const unsigned char *>(args.drafter_logits) +
         size_t(row * stride) * contract::size_of(config_.drafter_dtype);
}

// What drafts are drawn from, for their verification.
sampler_status Session::keep_rows(capi::Entry &entry, const sampler_session_advance_args &args) {
  for (int64_t i = 0; i < num_draws_; ++i) {
    const int32_t sequence = draw_slots_[i];
    const SessionSequence &own = sequences_[sequence];
    if (own.group != DraftGroup::kDrawn) continue;
    const sampler_status status =
        transfer_.copy(entry, drafter_row(sequence, own.num_drafts),
                       given_row(args, row_indices_[i]), drafter_row_bytes());
    if (status != SAMPLER_OK) return status;
  }
  return SAMPLER_OK;
}

// A loop takes it from its parameters, whatever its processor.
float Session::entropy_temperature(int32_t sequence) const {
  if (!config_.loop) {
    const float temperature = params_of(sequence).temperature;
    return contract::is_greedy(temperature) ? 1.0f : temperature;
  }
  const float *const by_text = config_.loop->row_params.temperature;
  const sampler_params *const params = config_.loop->generation->args().params;
  return by_text ? by_text[sequence] : params ? params->temperature : 1.0f;
}

// By the entropy of the first row of a step: how many drafts the step gets.
sampler_status Session::adapt(capi::Entry &entry, const sampler_session_advance_args &args) {
  for (int64_t i = 0; i < num_draws_; ++i) {
    SessionSequence &own = sequences_[draw_slots_[i]];
    if (own.gamma_rule != SAMPLER_GAMMA_BY_ENTROPY || own.num_drafts > 0) continue;
    sampler_params params = sampler_params_default();
    params.temperature = entropy_temperature(draw_slots_[i]);
    transfer_.begin();
    const sampler_filter_args call = entropy_args(given_row(args, row_indices_[i]), params,
                                                  transfer_.out(probabilities_, num_cols()));
    sampler_status status = entry.call_host([&] { return sampler_filter(handle_, &call); });
    if (status == SAMPLER_OK) status = transfer_.download(entry);
    if (status != SAMPLER_OK) return status;
    const EntropyGamma gamma(own.gamma_min, own.most_drafts, own.ema_beta);
    const double entropy = EntropyGamma::entropy_of(probabilities_, num_cols());
    own.row_entropy = float(entropy);
    own.step_entropy = own.entropy;
    own.step_drafts = gamma.drafts(entropy, num_cols(), &own.step_entropy);
  }
  return SAMPLER_OK;
}

// A span of the target becomes a chain of its group, which has `group.count` of them so far. The
// result is its number of drafts.
int64_t Session::add_chain(const sampler_session_advance_args &args, int64_t index,
                           int64_t first_row, const Group &group) {
  const int64_t chain = group.first + group.count;
  const int32_t sequence = args.spans[index].sequence;
  const SessionSequence &own = sequences_[sequence];
  int64_t first_draft = group.num_drafts;  // in the group, where trees have max_drafts places
  if (group_of(sequence) == DraftGroup::kTrees) {
    first_draft = group.count * max_drafts();
    draft_counts_[chain] = int32_t(own.num_drafts);
    std::copy_n(parents_ + sequence * max_drafts(), own.num_drafts,
                tree_parents_ + chain * max_drafts());
  }
  slots_[chain] = sequence;
  offsets_[sequence] = uint64_t(own.num_new());
  const int64_t first_place = group.first_place + first_draft;
  std::copy_n(text(sequence) + own.length, own.num_drafts, draft_ids_ + first_place);
  for (int64_t j = 0; j <= own.num_drafts; ++j) {
    target_rows_[first_place + group.count + j] = int32_t(first_row + j);
  }
  for (int64_t j = 0; args.token_bitmask_indices && j < group.num_positions; ++j) {
    masks_[group.first_place + group.num_places() + j] =
        j <= own.num_drafts ? args.token_bitmask_indices[first_row + j] : -1;
  }
  verified_[chain] = {index, sequence};
  return own.num_drafts;
}

DraftGroup Session::group_of(int32_t sequence) const {
  const SessionSequence &own = sequences_[sequence];
  const bool is_drawn =
      own.num_drafts == 0 && acceptances_[sequence] == SAMPLER_ACCEPT_SAMPLE_MATCH;
  return is_drawn ? DraftGroup::kNone : own.group;
}

// The spans with logits, group after group.
void Session::find_verified(const sampler_session_advance_args &args) {
  int64_t num_chains = 0, num_offsets = 0, num_places = 0;
  for (const DraftGroup kind : kDraftGroups) {
    Group &group = groups_[int(kind)];
    const int64_t num_positions = kind == DraftGroup::kNone ? 1 : max_drafts() + 1;
    group = {num_chains, num_offsets, num_places, num_positions, 0, 0};
    num_rows_ = 0;
    for (int64_t i = 0; i < args.num_spans; ++i) {
      const sampler_span &span = args.spans[i];
      const int64_t first_row = num_rows_;
      num_rows_ += span.num_logits;
      sequences_[span.sequence].first_row = first_row;
      if (span.num_logits == 0 || group_of(span.sequence) != kind) continue;
      packing_offsets_[num_offsets++] = int32_t(group.num_drafts);
      group.num_drafts += add_chain(args, i, first_row, group);
      ++group.count;
    }
    packing_offsets_[num_offsets++] = int32_t(group.num_drafts);
    num_chains += group.count;
    num_places += group.num_places();
  }
}

// The stages of a group's rows.
sampler_pipeline Session::place_masks(const Group &group) {
  sampler_pipeline pipeline = make_pipeline();
  if (pipeline.token_bitmasks) {
    pipeline.token_bitmask_indices = transfer_.in(masks_ + group.first_place, group.num_places());
  }
  return pipeline;
}

// A draw of a token for each chain, where rows and results are missing.
sampler_sample_args Session::draw_args(const Group &group, const sampler_pipeline &pipeline) {
  sampler_sample_args args = sample_args(config_.params, placed_.numbers);
  args.pipeline = &pipeline;
  args.input = rows_of(nullptr, 0, 0);
  args.row_indices = transfer_.in(target_rows_ + group.first_place, group.count);
  args.num_row_indices = group.count;
  args.slots = transfer_.in(slots_ + group.first, group.count);
  return args;
}

// A token for each sequence without drafts.
sampler_status Session::draw(capi::Entry &entry, const sampler_session_advance_args &args) {
  const Group &group = groups_[int(DraftGroup::kNone)];
  if (group.count == 0) return SAMPLER_OK;
  const sampler_pipeline pipeline = place_masks(group);
  sampler_sample_args call = draw_args(group, pipeline);
  call.input = rows_of(args.logits, num_rows_, args.logits_row_stride);
  std::fill_n(num_kept_ + group.first, group.count, 0);
  place_results(args, group, &call);
  const sampler_status status = transfer_.upload(entry);
  if (status != SAMPLER_OK) return status;
  return entry.call_host([&] { return sampler_sample(handle_, &call); });
}

// All sequences of a group with drafts, in one call.
sampler_status Session::verify(capi::Entry &entry, const sampler_session_advance_args &args,
                               DraftGroup kind) {
  const Group &group = groups_[int(kind)];
  if (group.count == 0) return SAMPLER_OK;
  const sampler_pipeline pipeline = place_masks(group);
  sampler_verify_args call = verify_args(config_.params, placed_.numbers, pipeline, group.count);
  const sampler_params draft_params = plain_params(config_.params);
  if (kind == DraftGroup::kTrees) {
    place_trees(group, &call);
  } else {
    place_chains(group, &call);
  }
  if (kind == DraftGroup::kDrawn) add_drafter_rows(draft_params, placed_.plain_numbers, &call);
  call.slots = transfer_.in(slots_ + group.first, group.count);
  call.target = rows_of(args.logits, num_rows_, args.logits_row_stride);
  call.out_emitted_counts = transfer_.out(num_kept_ + group.first, group.count);
  place_results(args, group, &call);
  const sampler_status status = transfer_.upload(entry);
  if (status != SAMPLER_OK) return status;
  return entry.call_host([&] { return capi::verify_up_to_bad_rows(handle_, &call); });
}

// What n-grams learn beside the tokens that come.
sampler_status Session::select_likeliest(capi::Entry &entry,
                                         const sampler_session_advance_args &args) {
  bool has_lessons = false;
  for (int64_t i = 0; i < args.num_spans; ++i) {
    const SessionSequence &own = sequences_[args.spans[i].sequence];
    const bool learns = own.source == SAMPLER_DRAFTS_NGRAM && own.is_drafting;
    has_lessons = has_lessons || (learns && args.spans[i].num_logits > 0);
  }
  const int64_t count = config_.options.filler_top_k;
  if (!has_lessons || count == 0) return SAMPLER_OK;
  return select(entry, rows_of(args.logits, num_rows_, args.logits_row_stride), count, likeliest_);
}

// Puts draws from the target's p in the places of draws from residuals.
sampler_status Session::redraw(capi::Entry &entry, const sampler_session_advance_args &args) {
  const Group &group = groups_[int(DraftGroup::kDrawn)];
  Group redrawn = {};
  for (int64_t i = 0; i < group.count; ++i) {
    const int64_t chain = group.first + i;
    const int32_t sequence = slots_[chain];
    const SessionSequence &own = sequences_[sequence];
    if (num_kept_[chain] == own.num_drafts || row_status_[chain] != SAMPLER_ROW_OK) continue;
    row_indices_[redrawn.count] = int32_t(own.first_row + num_kept_[chain]);
    draw_slots_[redrawn.count++] = sequence;
    offsets_[sequence] = uint64_t(own.num_new() + num_kept_[chain]) | kRedrawn;
  }
  if (redrawn.count == 0) return SAMPLER_OK;
  place_arrays(false);
  sampler_sample_args call = sample_args(config_.params, placed_.numbers);
  call.input = rows_of(args.logits, num_rows_, args.logits_row_stride);
  call.row_indices = transfer_.in(row_indices_, redrawn.count);
  call.num_row_indices = redrawn.count;
  call.slots = transfer_.in(draw_slots_, redrawn.count);
  call.out_token_ids = transfer_.out(drawn_ids_, redrawn.count);
  sampler_status status = transfer_.upload(entry);
  if (status == SAMPLER_OK) {
    status = entry.call_host([&] { return sampler_sample(handle_, &call); });
  }
  if (status == SAMPLER_OK) status = transfer_.download(entry);
  if (status != SAMPLER_OK) return status;
  for (int64_t i = 0, draw = 0; i < group.count && draw < redrawn.count; ++i) {
    const int64_t chain = group.first + i;
    if (slots_[chain] != draw_slots_[draw]) continue;
    token_ids_[group.first_place + i * group.num_positions + num_kept_[chain]] = drawn_ids_[draw++];
  }
  return SAMPLER_OK;
}

// All calls of a step, one after the other, and all of their results.
sampler_status Session::run_calls(capi::Entry &entry, const sampler_session_advance_args &args) {
  place_arrays(!config_.loop && numbers_.has_minimum());
  has_observations_ = has_adaptive();
  sampler_status status = draw_drafts(entry, args);
  if (status == SAMPLER_OK) status = select_drafts(entry, args);
  if (status == SAMPLER_OK) status = draw(entry, args);
  for (const DraftGroup kind : {DraftGroup::kCertain, DraftGroup::kDrawn, DraftGroup::kTrees}) {
    if (status == SAMPLER_OK) status = verify(entry, args, kind);
  }
  if (status == SAMPLER_OK) status = select_likeliest(entry, args);
  if (status == SAMPLER_OK) status = keep_rows(entry, args);
  if (status == SAMPLER_OK) status = transfer_.download(entry);
  if (status == SAMPLER_OK && config_.loop && config_.loop->skips_adjustment) {
    status = redraw(entry, args);
  }
  return status == SAMPLER_OK ? adapt(entry, args) : status;
}

// ---- What comes of them -------------------------------------------------------------------------

// `draw`: of draw_drafts.
void Session::take_drawn(int32_t sequence, int64_t draw) {
  SessionSequence &own = sequences_[sequence];
  if (draw_status_[draw] != SAMPLER_ROW_OK) {
    own.is_drafted = true;
    return;
  }
  tokens_of(sequence)[own.length + own.num_drafts++] = drawn_ids_[draw];
  const bool is_last =
      own.least_probability > 0 && Doubt(own.least_probability).is_about(drawn_logprobs_[draw]);
  if (is_last || is_end(sequence, drawn_ids_[draw])) own.is_drafted = true;
}

// The first token goes on, the others are its siblings.
void Session::take_selected(int32_t sequence, int64_t row) {
  SessionSequence &own = sequences_[sequence];
  const int32_t *const selected = selected_ids_ + row * num_selected_;
  if (selected[0] < 0) {
    own.is_drafted = true;
    return;
  }
  const int64_t first = sequence * max_drafts(), count = std::min(own.top_k, num_selected_);
  for (int64_t i = 1; i < count && selected[i] >= 0; ++i) {
    sibling_parents_[first + own.num_siblings] = int32_t(own.num_drafts) - 1;
    siblings_[first + own.num_siblings++] = selected[i];
  }
  tokens_of(sequence)[own.length + own.num_drafts++] = selected[0];
  if (is_end(sequence, selected[0])) own.is_drafted = true;
}

// From the drafter's rows: each gives its sequence a draft, or of a tree the drafts of a position.
void Session::take_drafts(const sampler_session_advance_args &args) {
  int64_t row = 0, draw = 0;
  for (int64_t i = 0; i < args.num_drafter_spans; ++i) {
    const sampler_span &span = args.drafter_spans[i];
    SessionSequence &own = sequences_[span.sequence];
    own.drafter_cache_length = span.start + span.num_tokens;
    own.drafter = {};
    if (span.num_logits == 0) continue;
    if (own.group == DraftGroup::kTrees) {
      take_selected(span.sequence, row);
    } else {
      if (own.step_drafts > 0) take_drawn(span.sequence, draw);
      ++draw;
    }
    ++row;
  }
}

// The tokens of a chain become text, and go out.
void Session::take_tokens(const sampler_session_advance_args &args, const Group &group,
                          int64_t index) {
  const int64_t chain = group.first + index, top = args.num_top_logprobs;
  const int64_t first_place = group.first_place + index * group.num_positions;
  const int32_t sequence = verified_[chain].sequence;
  SessionSequence &own = sequences_[sequence];
  int32_t *const token_ids = token_ids_ + first_place;
  const int64_t num_kept = num_kept_[chain];
  const bool is_bad = row_status_[chain] != SAMPLER_ROW_OK;
  if (is_bad) token_ids[num_kept] = -1;  // not the fallback token
  const bool is_adaptive = has_observations_ && !config_.loop;
  const contract::AdaptiveRules rules =
      is_adaptive ? adaptive_rules_of(sequence) : contract::AdaptiveRules{};
  int64_t position = 0;
  for (; own.runs() && position < num_kept + !is_bad; ++position) {
    append(sequence, token_ids[position]);
    own.num_accepted += position < num_kept;
    const int64_t from = first_place + position;
    if (is_adaptive) {
      own.adaptive = contract::adaptive_values_moved(own.adaptive, token_ids[position],
                                                     observations_[from], rules);
    }
    const int64_t to = verified_[chain].span * (max_drafts() + 1) + position;
    args.out_token_ids[to] = token_ids[position];
    if (args.out_logprobs) args.out_logprobs[to] = logprobs_[from];
    if (args.out_top_token_ids) {
      std::copy_n(top_token_ids_ + from * top, top, args.out_top_token_ids + to * top);
    }
    if (args.out_top_logprobs) {
      std::copy_n(top_logprobs_ + from * top, top, args.out_top_logprobs + to * top);
    }
  }
  if (is_bad && own.runs()) {
    own.reason = SAMPLER_FINISH_BAD_ROW;
    own.row_status = row_status_[chain];
  }
  // Of tokens after the end nothing is told.
  if (position < group.num_positions) token_ids[position] = -1;
}

// Of a tree the cache can keep what lies in the first path.
void Session::find_kept_path(const Group &group, int64_t tree) {
  SessionSequence &own = sequences_[verified_[group.first + tree].sequence];
  const int32_t *const positions = positions_ + group.first_place + tree * group.num_positions;
  const int64_t num_kept = num_kept_[group.first + tree];
  int64_t num_first = 0;  // that were kept
  while (num_first < num_kept && num_first < own.num_first &&
         positions[num_first + 1] == num_first + 1) {
    ++num_first;
  }
  own.num_first = num_first;
}

// Of measured sequences that have been verified together. False: of others.
bool Session::finish_round(const sampler_session_advance_args &args) {
  if (!measured_ || !round_.is_drafted || args.num_spans == 0) return false;
  const bool is_whole = args.num_spans == round_.num_texts && args.num_drafter_spans == 0;
  round_.is_clean = round_.is_drafted = false;
  return is_whole;
}

// What a span's logits have made of its sequence.
void Session::finish_span(capi::Entry &entry, const sampler_session_advance_args &args,
                          int64_t index) {
  const sampler_span &span = args.spans[index];
  SessionSequence &own = sequences_[span.sequence];
  const int64_t before = lengths_before_[index], count = own.length - before;
  int64_t num_kept = 0;
  own.target = {};
  if (span.num_logits == 0) {
    own.cache_length = span.start + span.num_tokens;
  } else {
    num_kept = own.num_accepted - args.out_counts[index];
    const bool is_tree = own.group == DraftGroup::kTrees;
    const int64_t num_cached = is_tree ? std::min(num_kept, own.num_first) : num_kept;
    // What runs on needs logits of its last token.
    own.cache_length = std::min(before + num_cached, own.length - own.runs());
    own.drafter_cache_length = std::min(own.drafter_cache_length, own.cache_length);
    if (config_.loop || own.is_in_step) {
      verified_round_.add(wanted_drafts(own, before), depth_of(span.sequence), span.num_tokens,
                          num_kept, own.runs());
    }
    own.num_drafted += own.num_drafts;
    own.num_steps += count > 0;
    own.num_drafts = own.num_first = own.num_siblings = 0;
    own.is_drafted = own.is_in_step = false;
    own.step_drafts = own.most_drafts;
    own.entropy = own.step_entropy;
    own.row_entropy = contract::quiet_nan();
    if (!config_.loop) learn(entry, span.sequence, before);
  }
  args.out_counts[index] = count;
  if (args.out_finish_reasons) args.out_finish_reasons[index] = own.reason;
  if (args.out_cache_lengths) args.out_cache_lengths[index] = own.cache_length;
  if (args.out_drafter_cache_lengths) {
    args.out_drafter_cache_lengths[index] = own.drafter_cache_length;
  }
  if (args.out_accepted_counts) args.out_accepted_counts[index] = num_kept;
  if (args.out_row_status) args.out_row_status[index] = own.row_status;
}

// Nothing is told yet.
void Session::clear_outputs(const sampler_session_advance_args &args) const {
  const int64_t num_places = args.num_spans * (max_drafts() + 1);
  const float nan = contract::quiet_nan();
  std::fill_n(args.out_token_ids, num_places, -1);
  if (args.out_logprobs) std::fill_n(args.out_logprobs, num_places, nan);
  if (args.out_top_token_ids) {
    std::fill_n(args.out_top_token_ids, num_places * args.num_top_logprobs, -1);
  }
  if (args.out_top_logprobs) {
    std::fill_n(args.out_top_logprobs, num_places * args.num_top_logprobs, nan);
  }
}

// From the target's rows. Whether they end a measured round.
bool Session::take_verified(capi::Entry &entry, const sampler_session_advance_args &args) {
  clear_outputs(args);
  for (int64_t i = 0; i < args.num_spans; ++i) {
    const SessionSequence &own = sequences_[args.spans[i].sequence];
    lengths_before_[i] = own.length;
    args.out_counts[i] = own.num_accepted;  // as it was, until the span is finished
  }
  for (const DraftGroup kind : kDraftGroups) {
    const Group &group = groups_[int(kind)];
    for (int64_t i = 0; i < group.count; ++i) {
      if (kind == DraftGroup::kTrees) find_kept_path(group, i);
      take_tokens(args, group, i);
    }
  }
  const Group &drawn = groups_[0], &last = groups_[std::size(kDraftGroups) - 1];
  untold_[0] = drawn;
  untold_[1] = {
      drawn.count, 0, drawn.count, max_drafts() + 1, last.first + last.count - drawn.count, 0};
  const bool ends_round = finish_round(args);
  verified_round_ = {};
  for (int64_t i = 0; i < args.num_spans; ++i) finish_span(entry, args, i);
  return ends_round;
}

sampler_status Session::advance(capi::Entry &entry, const sampler_session_advance_args &args) {
  sampler_status status = settle(entry);
  if (status != SAMPLER_OK) return status;
  find_drawn(args);
  find_verified(args);
  status = run_calls(entry, args);
  if (status != SAMPLER_OK) return status;
  take_drafts(args);
  const bool is_timed = take_verified(entry, args);
  if (is_timed) {
    measured_->finish(&entry, verified_round_);
  } else if (!config_.loop && verified_round_.num_texts > 0) {
    measured_->finish_untimed(verified_round_);
  }
  return SAMPLER_OK;
}

}  // namespace sampler::decoding
