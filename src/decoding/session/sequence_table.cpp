#include "decoding/session/sequence_table.h"

#include <algorithm>

#include "contract/float_bits.h"
#include "decoding/session/entropy_gamma.h"

namespace sampler::decoding {

SequenceTable::SequenceTable(const SessionConfig &config, const SessionHost *host,
                             SessionArrays *arrays)
    : config_(config), host_(host) {
  const int64_t count = num_sequences();
  sequences_ = arrays->take<SessionSequence>(count);
  stop_tokens_ = arrays->take<int32_t>(count, config.options.max_stop_tokens);
  stop_offsets_ = arrays->take<int64_t>(count, config.options.max_stop_sequences + 1);
  seeds_ = arrays->in<uint64_t>(count);
  offsets_ = arrays->in<uint64_t>(count);
  acceptances_ = arrays->in<sampler_acceptance>(count);
  free_ = arrays->take<int32_t>(count);
  num_free_ = count;
  marks_ = arrays->take<uint64_t>(count);
  if (!sequences_) return;
  for (int64_t i = 0; i < count; ++i) {
    free_[i] = int32_t(count - 1 - i);
    sequences_[i] = {};
    marks_[i] = seeds_[i] = offsets_[i] = 0;
    acceptances_[i] = SAMPLER_ACCEPT_SAMPLE_MATCH;
  }
}

// Index of the first stop sequence that the new tokens end with; -1: none.
int64_t SequenceTable::find_stop(int32_t sequence) const {
  const SessionSequence &own = sequences_[sequence];
  const int64_t *const offsets = stop_offsets_of(sequence);
  const int32_t *const tokens = stop_tokens_of(sequence);
  const int32_t *const text_end = text(sequence) + own.length;
  for (int64_t i = 0; i < own.num_stops; ++i) {
    const int64_t length = offsets[i + 1] - offsets[i];
    if (length > own.num_new()) continue;
    if (std::equal(tokens + offsets[i], tokens + offsets[i + 1], text_end - length)) return i;
  }
  return -1;
}

void SequenceTable::finish_if_full(int32_t sequence) {
  SessionSequence &own = sequences_[sequence];
  if (own.reason != SAMPLER_FINISH_NONE) return;
  if (own.length >= own.max_length) {
    own.reason = SAMPLER_FINISH_LENGTH;
  } else if (own.length >= config_.options.max_context) {
    own.reason = SAMPLER_FINISH_CONTEXT;
  }
}

// Finishes a sequence by its last token, if that is new, or for lack of room.
void SequenceTable::finish_if_ended(int32_t sequence) {
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

void SequenceTable::append(int32_t sequence, int32_t token) {
  text(sequence)[sequences_[sequence].length++] = token;
  finish_if_ended(sequence);
}

int64_t SequenceTable::begin_block(int32_t sequence) {
  SessionSequence &own = sequences_[sequence];
  if (!own.block.has_begun()) {
    own.block.begin(own.length, config_.options.max_context);
    std::fill(text(sequence) + own.length, text(sequence) + own.block.end,
              int32_t(own.block.rules.mask_token_id));
  }
  return own.block.end;
}

int64_t SequenceTable::end_block(int32_t sequence) {
  SessionSequence &own = sequences_[sequence];
  const int64_t before = own.length;
  while (own.runs() && own.length < own.block.end) {
    append(sequence, text(sequence)[own.length]);  // they are in their places
  }
  own.block.end = 0;
  return own.length - before;
}

void SequenceTable::add(const sampler_session_add_args &args) {
  const int32_t sequence = next_number();
  const int64_t prompt_length = args.prompt_length ? args.prompt_length : args.num_tokens;
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
  own.most_drafts = args.num_drafts ? args.num_drafts : config_.max_drafts();
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
  own.num_stops = args.stop_sequences.num_lists;
  if (own.source == SAMPLER_DRAFTS_NGRAM) own.ngram = *args.ngram;
  if (args.resumed) own.resume(*args.resumed);
  if (args.unmask) {
    own.block.rules = *args.unmask;
    own.block.origin = args.unmask->blocks_after_prompt ? prompt_length : 0;
    own.cache_length = own.block.begin_of(std::min(own.cache_length, own.length));
  }
  if (own.num_stops > 0) {
    int64_t *const offsets = stop_offsets_of(sequence);
    const int64_t first = args.stop_sequences.offsets[0];
    for (int64_t i = 0; i <= own.num_stops; ++i) {
      offsets[i] = args.stop_sequences.offsets[i] - first;
    }
    std::copy_n(static_cast<const int32_t *>(args.stop_sequences.token_ids) + first,
                offsets[own.num_stops], stop_tokens_of(sequence));
  }
  seeds_[sequence] = args.seed;
  acceptances_[sequence] = args.acceptance;
  finish_if_ended(sequence);
  --num_free_;
}

void SequenceTable::copy(int32_t source, const uint64_t *seed) {
  const int32_t sequence = next_number();
  SessionSequence &own = sequences_[sequence];
  own = sequences_[source];
  own.target = own.drafter = {};
  own.is_drafted = own.is_in_step = false;
  own.num_drafts = own.num_first = own.num_siblings = 0;
  own.step_drafts = own.most_drafts;
  own.step_entropy = own.entropy;
  own.drafter_cache_length = std::min(own.drafter_cache_length, own.length);
  std::copy_n(stop_tokens_of(source), config_.options.max_stop_tokens, stop_tokens_of(sequence));
  std::copy_n(stop_offsets_of(source), config_.options.max_stop_sequences + 1,
              stop_offsets_of(sequence));
  acceptances_[sequence] = acceptances_[source];
  seeds_[sequence] = seed ? *seed : seeds_[source];
  --num_free_;
}

void SequenceTable::remove(int32_t sequence) {
  sequences_[sequence] = {};
  free_[num_free_++] = sequence;
}

}  // namespace sampler::decoding
