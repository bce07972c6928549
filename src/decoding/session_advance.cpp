// What logits make of the sequences: drafts, and verified tokens.
#include "decoding/session.h"

#include <algorithm>
#include <cstring>

#include "capi/operations.h"
#include "capi/structs.h"
#include "contract/float_bits.h"
#include "contract/weight.h"
#include "decoding/doubt.h"
#include "decoding/draft_offset.h"
#include "decoding/entropy_gamma.h"
#include "decoding/plain_params.h"
#include "sampler/sampler.h"

namespace sampler::decoding {

unsigned char *Session::drafter_row(int32_t sequence, int64_t draft) const {
  return drafter_rows_ +
         size_t(sequence * max_drafts() + draft) * size_t(num_cols()) * element_size();
}

// A token from each of the drafter's rows whose drafts are drawn.
sampler_status Session::draw_drafts(capi::Entry &entry, const sampler_session_advance_args &args) {
  int64_t num_rows = 0, num_draws = 0;
  bool has_doubt = false;
  for (int64_t i = 0; i < args.num_drafter_spans; ++i) {
    const sampler_span &span = args.drafter_spans[i];
    if (span.num_logits == 0) continue;
    const int64_t row = num_rows++;
    const SessionSequence &own = sequences_[span.sequence];
    if (own.group == DraftGroup::kTrees) continue;
    has_doubt = has_doubt || own.least_probability > 0;
    row_indices_[num_draws] = int32_t(row);
    slots_[num_draws++] = span.sequence;
    offsets_[span.sequence] =
        draft_offset(acceptances_[span.sequence], own.num_new(), own.num_drafts);
  }
  if (num_draws == 0) return SAMPLER_OK;
  const sampler_params params = plain_params(config_.params);
  const sampler_row_params row_params = numbers_.arrays(true);
  sampler_sample_args sample = sample_args(params, row_params);
  sample.input = rows_of(args.drafter_logits, num_rows, args.drafter_row_stride);
  sample.num_row_indices = num_draws;
  if (has_doubt) sample.out_logprobs = drawn_logprobs_;
  return entry.call_host([&] { return sampler_sample(handle_, &sample); });
}

// The likeliest tokens of the drafter's rows, where any are of trees.
sampler_status Session::select_drafts(capi::Entry &entry,
                                      const sampler_session_advance_args &args) {
  int64_t num_rows = 0;
  num_selected_ = 0;
  for (int64_t i = 0; i < args.num_drafter_spans; ++i) {
    const sampler_span &span = args.drafter_spans[i];
    if (span.num_logits == 0) continue;
    ++num_rows;
    const SessionSequence &own = sequences_[span.sequence];
    if (own.group == DraftGroup::kTrees) num_selected_ = std::max(num_selected_, own.top_k);
  }
  if (num_selected_ == 0) return SAMPLER_OK;
  num_selected_ = std::min(num_selected_, num_cols());
  auto select = capi::sized<sampler_select_args>();
  select.exec = exec_;
  select.input = rows_of(args.drafter_logits, num_rows, args.drafter_row_stride);
  select.num_selected = num_selected_;
  select.out_token_ids = selected_ids_;
  return entry.call_host([&] { return sampler_select(handle_, &select); });
}

// By the entropy of the first row of a step: how many drafts the step gets.
sampler_status Session::adapt(capi::Entry &entry, const sampler_session_advance_args &args,
                              int32_t sequence, int64_t row) {
  SessionSequence &own = sequences_[sequence];
  sampler_params params = sampler_params_default();
  const float temperature = params_of(sequence).temperature;
  if (!contract::is_greedy(temperature)) params.temperature = temperature;
  const int64_t stride = args.drafter_row_stride ? args.drafter_row_stride : num_cols();
  const auto *const rows = static_cast<const unsigned char *>(args.drafter_logits);
  const sampler_filter_args call =
      entropy_args(rows + size_t(row * stride) * element_size(), params, probabilities_);
  const sampler_status status = entry.call_host([&] { return sampler_filter(handle_, &call); });
  if (status != SAMPLER_OK) return status;
  const EntropyGamma gamma(own.gamma_min, own.most_drafts, own.ema_beta);
  own.step_entropy = own.entropy;
  own.step_drafts = gamma.drafts(EntropyGamma::entropy_of(probabilities_, num_cols()), num_cols(),
                                 &own.step_entropy);
  return SAMPLER_OK;
}

// `draw`: of draw_drafts.
void Session::take_drawn(const sampler_session_advance_args &args, int32_t sequence, int64_t row,
                         int64_t draw) {
  SessionSequence &own = sequences_[sequence];
  if (row_status_[draw] != SAMPLER_ROW_OK) {
    own.is_drafted = true;
    return;
  }
  if (own.group == DraftGroup::kDrawn) {
    const size_t row_bytes = size_t(num_cols()) * element_size();
    const size_t stride_bytes =
        args.drafter_row_stride ? size_t(args.drafter_row_stride) * element_size() : row_bytes;
    std::memcpy(
        drafter_row(sequence, own.num_drafts),
        static_cast<const unsigned char *>(args.drafter_logits) + size_t(row) * stride_bytes,
        row_bytes);
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
sampler_status Session::take_drafts(capi::Entry &entry, const sampler_session_advance_args &args) {
  sampler_status status = draw_drafts(entry, args);
  if (status == SAMPLER_OK) status = select_drafts(entry, args);
  if (status != SAMPLER_OK) return status;
  int64_t row = 0, draw = 0;
  for (int64_t i = 0; i < args.num_drafter_spans; ++i) {
    const sampler_span &span = args.drafter_spans[i];
    SessionSequence &own = sequences_[span.sequence];
    own.drafter_cache_length = span.start + span.num_tokens;
    own.drafter = {};
    if (span.num_logits == 0) continue;
    if (own.group == DraftGroup::kTrees) {
      take_selected(span.sequence, row++);
      continue;
    }
    if (own.gamma_rule == SAMPLER_GAMMA_BY_ENTROPY && own.num_drafts == 0) {
      status = adapt(entry, args, span.sequence, row);
      if (status != SAMPLER_OK) return status;
    }
    if (own.step_drafts > 0) take_drawn(args, span.sequence, row, draw);
    ++row;
    ++draw;
  }
  return SAMPLER_OK;
}

// The spans with logits of a group: chains are packed, trees have max_drafts places. The result is
// the number of the drafts.
int64_t Session::find_verified(const sampler_session_advance_args &args, DraftGroup group) {
  const int64_t num_positions = max_drafts() + 1;
  int64_t row = 0, num_drafts = 0;
  num_verified_ = 0;
  for (int64_t i = 0; i < args.num_spans; ++i) {
    const sampler_span &span = args.spans[i];
    const int64_t first_row = row;
    row += span.num_logits;
    const SessionSequence &own = sequences_[span.sequence];
    if (span.num_logits == 0 || own.group != group) continue;
    int64_t first_draft = num_drafts;
    if (group == DraftGroup::kTrees) {
      first_draft = num_verified_ * max_drafts();
      draft_counts_[num_verified_] = int32_t(own.num_drafts);
      std::copy_n(parents_ + span.sequence * max_drafts(), own.num_drafts,
                  tree_parents_ + first_draft);
    } else {
      packing_offsets_[num_verified_] = int32_t(num_drafts);
    }
    slots_[num_verified_] = span.sequence;
    offsets_[span.sequence] = uint64_t(own.num_new());
    std::copy_n(text(span.sequence) + own.length, own.num_drafts, draft_ids_ + first_draft);
    for (int64_t j = 0; j <= own.num_drafts; ++j) {
      target_rows_[first_draft + num_verified_ + j] = int32_t(first_row + j);
    }
    for (int64_t j = 0; args.token_bitmask_indices && j < num_positions; ++j) {
      masks_[num_verified_ * num_positions + j] =
          j <= own.num_drafts ? args.token_bitmask_indices[first_row + j] : -1;
    }
    num_drafts += own.num_drafts;
    verified_[num_verified_++] = {i, span.sequence};
  }
  packing_offsets_[num_verified_] = int32_t(num_drafts);
  return num_drafts;
}

// The tokens of a chain become text, and go out.
void Session::take_tokens(const sampler_session_advance_args &args, int64_t chain) {
  const int64_t num_positions = max_drafts() + 1, top = args.num_top_logprobs;
  SessionSequence &own = sequences_[verified_[chain].sequence];
  int32_t *const token_ids = token_ids_ + chain * num_positions;
  const int64_t num_kept = num_kept_[chain];
  const bool is_bad = row_status_[chain] != SAMPLER_ROW_OK;
  if (is_bad) token_ids[num_kept] = -1;  // not the fallback token
  int64_t position = 0;
  for (; own.runs() && position < num_kept + !is_bad; ++position) {
    append(verified_[chain].sequence, token_ids[position]);
    own.num_accepted += position < num_kept;
    const int64_t from = chain * num_positions + position;
    const int64_t to = verified_[chain].span * num_positions + position;
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
  if (position < num_positions) token_ids[position] = -1;
}

// Of a tree the cache can keep what lies in the first path.
void Session::find_kept_path(int64_t tree) {
  SessionSequence &own = sequences_[verified_[tree].sequence];
  const int32_t *const positions = positions_ + tree * (max_drafts() + 1);
  const int64_t num_kept = num_kept_[tree];
  int64_t num_first = 0;  // that were kept
  while (num_first < num_kept && num_first < own.num_first &&
         positions[num_first + 1] == num_first + 1) {
    ++num_first;
  }
  own.num_first = num_first;
}

// All sequences of a group, in one call.
sampler_status Session::verify(capi::Entry &entry, const sampler_session_advance_args &args,
                               int64_t num_rows, DraftGroup group) {
  const int64_t num_drafts = find_verified(args, group);
  if (num_verified_ == 0) return SAMPLER_OK;
  const sampler_row_params row_params = numbers_.arrays(false);
  sampler_pipeline pipeline = make_pipeline(numbers_.has_minimum());
  if (pipeline.token_bitmasks) pipeline.token_bitmask_indices = masks_;
  sampler_verify_args call = verify_args(config_.params, row_params, pipeline, num_verified_);
  const sampler_params draft_params = plain_params(config_.params);
  const sampler_row_params draft_row_params = numbers_.arrays(true);
  if (group == DraftGroup::kTrees) {
    add_trees(&call);
  } else {
    add_chains(num_drafts, &call);
  }
  if (group == DraftGroup::kDrawn) add_drafter_rows(draft_params, draft_row_params, &call);
  call.target = rows_of(args.logits, num_rows, args.logits_row_stride);
  call.logprob_kind = args.logprob_kind;
  const bool has_observations = numbers_.has_adaptive();
  if (has_observations) call.out_observations = observations_;
  if (args.out_logprobs) call.out_logprobs = logprobs_;
  call.num_top_logprobs = args.num_top_logprobs;
  if (args.out_top_token_ids) call.out_top_token_ids = top_token_ids_;
  if (args.out_top_logprobs) call.out_top_logprobs = top_logprobs_;
  const sampler_status status =
      entry.call_host([&] { return capi::verify_up_to_bad_rows(handle_, &call); });
  if (status != SAMPLER_OK) return status;
  for (int64_t i = 0; i < num_verified_; ++i) {
    if (group == DraftGroup::kTrees) find_kept_path(i);
    take_tokens(args, i);
  }
  return accept(entry, num_verified_, has_observations);
}

// Of measured sequences that have been verified together.
void Session::finish_round(capi::Entry &entry, const sampler_session_advance_args &args) {
  if (!measured_ || !round_.is_drafted || args.num_spans == 0) return;
  const bool is_whole = args.num_spans == round_.num_texts && args.num_drafter_spans == 0;
  round_.is_clean = round_.is_drafted = false;
  if (!is_whole) return;
  MeasuredRound round = {round_.num_texts, 0, 0, 0, 0};
  for (int64_t i = 0; i < args.num_spans; ++i) {
    const SessionSequence &own = sequences_[args.spans[i].sequence];
    const int64_t num_kept = own.num_accepted - args.out_counts[i];
    round.depth = std::max(round.depth, own.num_drafts);
    round.num_rows += own.num_drafts + 1;
    round.num_kept += num_kept;
    round.num_examined += std::min(num_kept + 1, own.num_drafts);
  }
  measured_->finish(&entry, round);
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
    own.num_drafted += own.num_drafts;
    own.num_steps += count > 0;
    own.num_drafts = own.num_first = own.num_siblings = 0;
    own.is_drafted = own.is_in_step = false;
    own.step_drafts = own.most_drafts;
    own.entropy = own.step_entropy;
    learn(entry, span.sequence, before);
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

sampler_status Session::advance(capi::Entry &entry, const sampler_session_advance_args &args) {
  sampler_status status = take_drafts(entry, args);
  if (status != SAMPLER_OK) return status;
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
  int64_t num_rows = 0;
  for (int64_t i = 0; i < args.num_spans; ++i) {
    const SessionSequence &own = sequences_[args.spans[i].sequence];
    num_rows += args.spans[i].num_logits;
    lengths_before_[i] = own.length;
    args.out_counts[i] = own.num_accepted;  // as it was, until the span is finished
  }
  for (const DraftGroup group : {DraftGroup::kCertain, DraftGroup::kDrawn, DraftGroup::kTrees}) {
    if (status == SAMPLER_OK) status = verify(entry, args, num_rows, group);
  }
  if (status == SAMPLER_OK) finish_round(entry, args);
  for (int64_t i = 0; i < args.num_spans; ++i) finish_span(entry, args, i);
  return status;
}

}  // namespace sampler::decoding
