// A sequence of a session, without its tokens.
#pragma once

#include <algorithm>
#include <cstdint>

#include "contract/adaptive_values.h"
#include "decoding/session/measured_gamma.h"
#include "decoding/session/session_block.h"
#include "sampler/session.h"

namespace sampler::decoding {

// A planned span. No tokens: no span.
struct PlannedSpan {
  int64_t start = 0, num_tokens = 0, num_logits = 0;
  int32_t plan = 0;  // number of the plan
};

// The call that draws or verifies a sequence's tokens.
enum class DraftGroup {
  kNone,     // no drafts, under SAMPLE_MATCH: drawn by sampler_sample
  kCertain,  // chains verified without the drafter's rows
  kDrawn,    // chains verified with the drafter's rows that they were drawn from
  kTrees,
  kBlocks,  // positions of blocks: drawn, and unmasked
};
constexpr DraftGroup kDraftGroups[] = {DraftGroup::kNone, DraftGroup::kCertain, DraftGroup::kDrawn,
                                       DraftGroup::kTrees, DraftGroup::kBlocks};

struct SessionSequence {
  bool is_used, is_drafting, drafts_unknown;
  bool is_drafted;   // the drafts of the step are complete
  DraftGroup group;  // of its drafts
  sampler_draft_source source;
  sampler_finish_reason reason;
  sampler_row_status row_status;
  int64_t stop_sequence;
  int64_t length, prompt_length;
  int64_t max_length;  // from max_new_tokens; INT64_MAX: no limit
  int64_t cache_length, drafter_cache_length;
  int64_t most_drafts, num_drafts;
  // The most drafts of the current step. The step of a measured sequence begins when it is first
  // planned.
  int64_t step_drafts;
  bool is_in_step;
  sampler_gamma_rule gamma_rule;
  int64_t gamma_min;
  float ema_beta;
  double entropy, step_entropy;  // smoothed over the steps before, and including this one
  float row_entropy;             // of the first row of this step; NaN: not measured
  int64_t first_row;             // first row of the target in the last advance
  // Trees: drafts per position; drafts of the first path, which come before the others; siblings
  // that are not among the drafts yet.
  int64_t top_k, num_first, num_siblings;
  int64_t min_match;
  int64_t least_count;
  float least_share;
  float least_probability;
  int64_t num_stops;
  int64_t num_steps, num_drafted, num_accepted;
  contract::AdaptiveValues adaptive;  // the state's, once the state has the text
  PlannedSpan target, drafter;
  SessionBlock block;
  sampler_ngram ngram;

  int64_t num_new() const { return length - prompt_length; }
  // Tokens of the text, and places of its block.
  int64_t num_places() const { return block.has_begun() ? block.end : length; }
  bool runs() const { return is_used && reason == SAMPLER_FINISH_NONE; }
  // Drafts per position.
  int64_t width() const { return group == DraftGroup::kTrees ? top_k : 1; }
  // Resumes a removed sequence; reports this one without its tokens.
  void resume(const sampler_session_sequence &before);
  void describe(sampler_session_sequence *out) const;
  // Adds this sequence to a measured round; limits its positions.
  void add_to(RoundTexts *texts, bool drafts) const;
  void limit_drafts(int64_t num_positions) {
    step_drafts = std::min(most_drafts, num_positions * width());
  }
};

// Whether verification needs the rows that the drafts were drawn from.
bool asks_for_rows(const sampler_session_add_args &args);

}  // namespace sampler::decoding
