// Texts that are added, copied and removed, grow and end.
#include "decoding/session/session.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "capi/structs.h"
#include "contract/float_bits.h"
#include "decoding/session/entropy_gamma.h"
#include "sampler/sampler.h"

namespace sampler::decoding {

sampler_acceptance acceptance_of(sampler_draft_verification verification) {
  switch (verification) {
    case SAMPLER_VERIFY_SAMPLE_MATCH:
      return SAMPLER_ACCEPT_SAMPLE_MATCH;
    case SAMPLER_VERIFY_STANDARD:
      return SAMPLER_ACCEPT_STANDARD;
    case SAMPLER_VERIFY_BLOCK:
      return SAMPLER_ACCEPT_BLOCK;
    case SAMPLER_VERIFY_TYPICAL:
      return SAMPLER_ACCEPT_TYPICAL;
    case SAMPLER_VERIFY_RELAXED:
      return SAMPLER_ACCEPT_RELAXED;
    case SAMPLER_VERIFY_THRESHOLD:
      return SAMPLER_ACCEPT_THRESHOLD;
    case SAMPLER_VERIFY_DEFERRED:
      return SAMPLER_ACCEPT_DEFERRED;
    default:
      return SAMPLER_ACCEPT_SYNTHETIC;
  }
}

sampler_draft_verification verification_of(sampler_acceptance acceptance) {
  sampler_draft_verification result = SAMPLER_VERIFY_SAMPLE_MATCH;
  while (acceptance_of(result) != acceptance) ++result;
  return result;
}

bool asks_for_rows(const sampler_session_add_args &args) {
  if (args.draft_source != SAMPLER_DRAFTS_MODEL || args.draft_top_k > 0) return false;
  switch (args.verification) {
    case SAMPLER_VERIFY_STANDARD:
    case SAMPLER_VERIFY_BLOCK:
    case SAMPLER_VERIFY_RELAXED:
    case SAMPLER_VERIFY_DEFERRED:
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

void SessionSequence::tell(sampler_session_sequence *out) const {
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

sampler_params Session::params_of(int32_t sequence) const {
  sampler_params params = config_.params;
  numbers_.get(sequence, &params);
  return params;
}

bool Session::is_end(int32_t sequence, int32_t token) {
  if (config_.loop) return config_.loop->generation->is_end(token);
  const int32_t *const ends = ends_of(sequence);
  const int32_t *const end = ends + sequences_[sequence].num_ends;
  return std::find(ends, end, token) != end;
}

// The first of the stop sequences that the new tokens end in; -1: in none.
int64_t Session::find_stop(int32_t sequence) const {
  const SessionSequence &own = sequences_[sequence];
  const int64_t *const offsets =
      stop_offsets_ + sequence * (config_.options.max_stop_sequences + 1);
  const int32_t *const tokens = stop_tokens_ + sequence * config_.options.max_stop_tokens;
  const int32_t *const text_end = text(sequence) + own.length;
  for (int64_t i = 0; i < own.num_stops; ++i) {
    const int64_t length = offsets[i + 1] - offsets[i];
    if (length > own.num_new()) continue;
    if (std::equal(tokens + offsets[i], tokens + offsets[i + 1], text_end - length)) return i;
  }
  return -1;
}

void Session::finish_if_full(int32_t sequence) {
  SessionSequence &own = sequences_[sequence];
  if (own.reason != SAMPLER_FINISH_NONE) return;
  if (own.length >= own.max_length) {
    own.reason = SAMPLER_FINISH_LENGTH;
  } else if (own.length >= config_.options.max_context) {
    own.reason = SAMPLER_FINISH_CONTEXT;
  }
}

// By its last token, where that is new, or for want of room.
void Session::finish_if_ended(int32_t sequence) {
  SessionSequence &own = sequences_[sequence];
  if (own.num_new() > 0) {
    if (is_end(sequence, text(sequence)[own.length - 1])) {
      own.reason = SAMPLER_FINISH_END_TOKEN;
    } else if ((own.stop_sequence = find_stop(sequence)) >= 0) {
      own.reason = SAMPLER_FINISH_STOP_SEQUENCE;
    }
  }
  finish_if_full(sequence);
}

void Session::append(int32_t sequence, int32_t token) {
  tokens_of(sequence)[sequences_[sequence].length++] = token;
  finish_if_ended(sequence);
}

sampler_status Session::add(capi::Entry &entry, const sampler_session_add_args &args,
                            const sampler_params &params, int32_t *out_sequence) {
  const sampler_session_options &options = config_.options;
  const int32_t sequence = free_[num_free_ - 1];
  const int64_t prompt_length = args.prompt_length ? args.prompt_length : args.num_tokens;
  sampler_status status = settle(entry);
  if (status == SAMPLER_OK && state_) {
    status = append_text(entry, sequence, args);
  }
  if (status != SAMPLER_OK) return status;
  if (args.draft_source == SAMPLER_DRAFTS_NGRAM && !args.ngram_has_text && !config_.loop) {
    status = entry.call_host(
        [&] { return args.ngram->initialize(args.ngram->user, args.token_ids, args.num_tokens); });
    if (status != SAMPLER_OK) {
      return capi::fail(entry, status, "initialize of ngram returned %d", int(status));
    }
  }

  SessionSequence &own = sequences_[sequence];
  own = {};
  own.is_used = true;
  own.source = args.draft_source;
  own.is_drafting = own.source != SAMPLER_DRAFTS_NONE;
  own.group = args.draft_top_k > 0  ? DraftGroup::kTrees
              : asks_for_rows(args) ? DraftGroup::kDrawn
                                    : DraftGroup::kCertain;
  own.top_k = args.draft_top_k;
  own.drafts_unknown = args.draft_unknown != 0;
  own.stop_sequence = -1;
  own.length = args.num_tokens;
  own.prompt_length = prompt_length;
  own.max_length = args.max_new_tokens ? prompt_length + args.max_new_tokens : INT64_MAX;
  own.cache_length = args.cache_length;
  own.drafter_cache_length = args.drafter_cache_length;
  own.most_drafts = args.num_drafts ? args.num_drafts : max_drafts();
  own.step_drafts = own.most_drafts;
  own.gamma_rule = args.adaptive_gamma;
  own.gamma_min = args.gamma_min;
  own.ema_beta = args.ema_beta;
  own.entropy = own.step_entropy = EntropyGamma::kNone;
  own.row_entropy = contract::quiet_nan();
  own.min_match = std::max<int64_t>(args.min_match, 1);
  own.least_count = args.ngram_least_count;
  own.least_share = args.ngram_least_share;
  own.least_probability = args.least_draft_probability;
  own.num_ends = args.num_end_tokens;
  own.num_stops = args.stop_sequences.num_lists;
  if (own.source == SAMPLER_DRAFTS_NGRAM) own.ngram = *args.ngram;
  if (args.resumed) own.resume(*args.resumed);
  std::copy_n(args.token_ids, args.num_tokens, tokens_of(sequence));
  int32_t *const ends = ends_of(sequence);
  std::fill_n(std::copy_n(args.end_token_ids, own.num_ends, ends),
              options.max_end_tokens - own.num_ends, kNoToken);
  if (own.num_stops > 0) {
    int64_t *const offsets = stop_offsets_ + sequence * (options.max_stop_sequences + 1);
    const int64_t first = args.stop_sequences.offsets[0];
    for (int64_t i = 0; i <= own.num_stops; ++i) {
      offsets[i] = args.stop_sequences.offsets[i] - first;
    }
    std::copy_n(static_cast<const int32_t *>(args.stop_sequences.token_ids) + first,
                offsets[own.num_stops], stop_tokens_ + sequence * options.max_stop_tokens);
  }
  seeds_[sequence] = args.seed;
  acceptances_[sequence] = acceptance_of(args.verification);
  if (!config_.loop) numbers_.set(sequence, params);
  if (own.source == SAMPLER_DRAFTS_PROMPT_LOOKUP) {
    new (&lookups_[sequence]) PromptLookup(lookup_memory_ + size_t(sequence) * lookup_bytes(),
                                           options.lookup_tokens, {own.min_match, INT64_MAX});
  }
  if (own.source != SAMPLER_DRAFTS_NGRAM) learn(entry, sequence, 0);
  finish_if_ended(sequence);
  --num_free_;
  *out_sequence = sequence;
  return SAMPLER_OK;
}

sampler_status Session::fork(capi::Entry &entry, int32_t source, const uint64_t *seed,
                             const sampler_params *params, int32_t *out_sequence) {
  const sampler_session_options &options = config_.options;
  const int32_t sequence = free_[num_free_ - 1];
  sampler_status status = settle(entry);
  if (status == SAMPLER_OK) status = copy_state(entry, source, sequence);
  if (status != SAMPLER_OK) return status;

  SessionSequence &own = sequences_[sequence];
  own = sequences_[source];
  own.target = own.drafter = {};
  own.is_drafted = own.is_in_step = false;
  own.num_drafts = own.num_first = own.num_siblings = 0;
  own.step_drafts = own.most_drafts;
  own.step_entropy = own.entropy;
  own.drafter_cache_length = std::min(own.drafter_cache_length, own.length);
  std::copy_n(text(source), own.length, tokens_of(sequence));
  std::copy_n(ends_of(source), options.max_end_tokens, ends_of(sequence));
  std::copy_n(stop_tokens_ + source * options.max_stop_tokens, options.max_stop_tokens,
              stop_tokens_ + sequence * options.max_stop_tokens);
  const int64_t num_offsets = options.max_stop_sequences + 1;
  std::copy_n(stop_offsets_ + source * num_offsets, num_offsets,
              stop_offsets_ + sequence * num_offsets);
  acceptances_[sequence] = acceptances_[source];
  seeds_[sequence] = seed ? *seed : seeds_[source];
  numbers_.set(sequence, params ? *params : params_of(source));
  if (own.source == SAMPLER_DRAFTS_PROMPT_LOOKUP && own.is_drafting) {
    new (&lookups_[sequence])
        PromptLookup(lookups_[source], lookup_memory_ + size_t(sequence) * lookup_bytes());
  }
  --num_free_;
  *out_sequence = sequence;
  return SAMPLER_OK;
}

void Session::remove(int32_t sequence) {
  sequences_[sequence] = {};
  std::fill_n(ends_of(sequence), config_.options.max_end_tokens, kNoToken);
  numbers_.clear(sequence);
  free_[num_free_++] = sequence;
}

}  // namespace sampler::decoding
