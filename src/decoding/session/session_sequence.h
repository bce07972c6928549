// A sequence of a session: what is known of it but for its tokens.
#pragma once

#include <algorithm>
#include <cstdint>

#include "contract/adaptive_values.h"
#include "decoding/session/measured_gamma.h"
#include "sampler/session.h"

namespace sampler::decoding {

// A span as it was planned. No tokens: there is none.
struct PlannedSpan {
  int64_t start = 0, num_tokens = 0, num_logits = 0;
  int32_t plan = 0;  // its number
};

// Which call draws or verifies the tokens of a sequence.
enum class DraftGroup {
  kNone,     // without drafts, where that is sampler_sample: by SAMPLE_MATCH
  kCertain,  // chains of which nothing else is known
  kDrawn,    // chains that were drawn from rows of the drafter, for which the verification asks
  kTrees,
};
constexpr DraftGroup kDraftGroups[] = {DraftGroup::kNone, DraftGroup::kCertain, DraftGroup::kDrawn,
                                       DraftGroup::kTrees};

struct SessionSequence {
  bool is_used, is_drafting, drafts_unknown;
  bool is_drafted;   // the drafts of the step are complete
  DraftGroup group;  // of its drafts
  sampler_draft_source source;
  sampler_finish_reason reason;
  sampler_row_status row_status;
  int64_t stop_sequence;
  int64_t length, prompt_length;
  int64_t max_length;  // by max_new_tokens; INT64_MAX: no such limit
  int64_t cache_length, drafter_cache_length;
  int64_t most_drafts, num_drafts;
  // Of the step that its drafts are for: at most so many. The step of a measured sequence begins
  // when it is planned first.
  int64_t step_drafts;
  bool is_in_step;
  sampler_gamma_rule gamma_rule;
  int64_t gamma_min;
  float ema_beta;
  double entropy, step_entropy;  // smoothed over the steps before, and with that of this one
  float row_entropy;             // of the first row of this step; NaN: it was not measured
  int64_t first_row;             // of the target's, in the last advance
  // Of a tree: drafts of a position; drafts of its first path, which lie before the others; and
  // others that are not among the drafts yet.
  int64_t top_k, num_first, num_siblings;
  int64_t min_match;
  int64_t least_count;
  float least_share;
  float least_probability;
  int64_t num_stops;
  int64_t num_steps, num_drafted, num_accepted;
  contract::AdaptiveValues adaptive;  // the state's, once it has been told the text
  PlannedSpan target, drafter;
  sampler_ngram ngram;

  int64_t num_new() const { return length - prompt_length; }
  bool runs() const { return is_used && reason == SAMPLER_FINISH_NONE; }
  // Drafts of a position.
  int64_t width() const { return group == DraftGroup::kTrees ? top_k : 1; }
  // What goes on of a sequence that was removed, and what is told of this one but for its tokens.
  void resume(const sampler_session_sequence &before);
  void tell(sampler_session_sequence *out) const;
  // For a measured round, of as many positions at most.
  void add_to(RoundTexts *texts, bool drafts) const;
  void limit_drafts(int64_t num_positions) {
    step_drafts = std::min(most_drafts, num_positions * width());
  }
};

// Whether its verification asks for the rows that the drafts were drawn from.
bool asks_for_rows(const sampler_session_add_args &args);

}  // namespace sampler::decoding
