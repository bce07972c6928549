#include "decoding/session/session_sequence.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "contract/float_bits.h"
#include "decoding/session/entropy_gamma.h"

namespace sampler::decoding {

bool asks_for_rows(const sampler_session_add_args &args) {
  if (args.draft_source != SAMPLER_DRAFTS_MODEL || args.draft_top_k > 0) return false;
  switch (args.acceptance) {
    case SAMPLER_ACCEPT_STANDARD:
    case SAMPLER_ACCEPT_BLOCK:
    case SAMPLER_ACCEPT_RELAXED:
    case SAMPLER_ACCEPT_DEFERRED:
      return true;
    default:
      return false;
  }
}

void SessionSequence::resume(const sampler_session_sequence &before) {
  num_steps = before.num_steps;
  num_drafted = before.num_drafted;
  num_accepted = before.num_accepted;
  std::memcpy(&adaptive, before.adaptive_values, sizeof adaptive);
  if (!std::isnan(before.drafter_entropy)) entropy = step_entropy = before.drafter_entropy;
}

void SessionSequence::describe(sampler_session_sequence *out) const {
  out->num_tokens = length;
  out->prompt_length = prompt_length;
  out->cache_length = cache_length;
  out->drafter_cache_length = std::min(drafter_cache_length, length);
  out->finish_reason = reason;
  out->row_status = row_status;
  out->stop_sequence = stop_sequence;
  out->num_steps = num_steps;
  out->num_drafted = num_drafted;
  out->num_accepted = num_accepted;
  out->is_drafting = is_drafting;
  std::memcpy(out->adaptive_values, &adaptive, sizeof adaptive);
  out->drafter_entropy = entropy == EntropyGamma::kNone ? double(contract::quiet_nan()) : entropy;
}

void SessionSequence::add_to(RoundTexts *texts, bool drafts) const {
  const bool has_model = drafts && source == SAMPLER_DRAFTS_MODEL;
  const int64_t num_read = has_model ? std::min(drafter_cache_length, length - 1) : length - 1;
  texts->add(drafts ? width() : 0, drafts ? most_drafts / width() : 0, length - 1 - num_read,
             std::max<int64_t>(prompt_length - 1 - num_read, 0));
}

}  // namespace sampler::decoding
