#include "decoding/session/drafting.h"

#include <algorithm>
#include <new>

#include "decoding/ngram/ngram_drafts.h"
#include "decoding/session/least_probability.h"

namespace sampler::decoding {

Drafting::Drafting(const SessionConfig &config, const SessionHost *host, SequenceTable *table,
                   SessionArrays *arrays)
    : config_(config), host_(host), table_(*table) {
  const int64_t count = config.num_sequences(), num_places = config.max_drafts() + 1;
  lookups_ = arrays->take<PromptLookup>(config.options.lookup_tokens > 0 ? count : 0);
  lookup_memory_ = arrays->take<char>(count, int64_t(lookup_bytes()));
  siblings_ = arrays->take<int32_t>(count, config.num_tree_places());
  sibling_parents_ = arrays->take<int32_t>(count, config.num_tree_places());
  parents_ = arrays->take<int32_t>(count, config.num_tree_places());
  likeliest_ = arrays->out<int32_t>(count * num_places, config.options.filler_top_k);
  lesson_ = arrays->take<int32_t>(config.options.filler_top_k + 1);
}

size_t Drafting::lookup_bytes() const {
  const int64_t tokens = config_.options.lookup_tokens;
  return tokens > 0 ? Arena::padded(PromptLookup::memory_bytes(tokens)) : 0;
}

void Drafting::begin(int32_t sequence) {
  const SessionSequence &own = table_[sequence];
  if (own.source != SAMPLER_DRAFTS_PROMPT_LOOKUP) return;
  new (&lookups_[sequence]) PromptLookup(lookup_memory(sequence), config_.options.lookup_tokens,
                                         {own.min_match, INT64_MAX});
}

void Drafting::copy(int32_t source, int32_t destination) {
  const SessionSequence &own = table_[destination];
  if (own.source != SAMPLER_DRAFTS_PROMPT_LOOKUP || !own.is_drafting) return;
  new (&lookups_[destination]) PromptLookup(lookups_[source], lookup_memory(destination));
}

int64_t Drafting::wanted(const SessionSequence &sequence, int64_t length) const {
  const bool may_draft = length > sequence.prompt_length || host_->rules().drafts_first;
  if (!sequence.is_drafting || !may_draft) return 0;
  const int64_t end = std::min(sequence.max_length, config_.options.max_context);
  int64_t wanted = std::min(sequence.step_drafts, end - length - 1);
  wanted /= sequence.width();  // positions of the first path
  if (sequence.source == SAMPLER_DRAFTS_MODEL) {
    // The drafter is fed all drafts but the last.
    wanted = std::min(wanted, config_.drafter_context() - length + 1);
  }
  return std::max<int64_t>(wanted, 0);
}

bool Drafting::needs_drafter(const SessionSequence &sequence) const {
  return sequence.source == SAMPLER_DRAFTS_MODEL && sequence.is_drafting && !sequence.is_drafted &&
         sequence.num_drafts < wanted(sequence);
}

int64_t Drafting::depth_of(int32_t sequence) const {
  const SessionSequence &own = table_[sequence];
  if (own.group != DraftGroup::kTrees) return own.num_drafts;
  const int32_t *const parents = parents_of(sequence);
  int64_t depth = 0;  // of the first path, whose drafts come first
  while (depth < own.num_drafts && parents[depth] == depth - 1) ++depth;
  return depth;
}

void Drafting::draft(abi::Entry &entry, int32_t sequence) {
  SessionSequence &own = table_[sequence];
  switch (own.is_drafting ? own.source : SAMPLER_DRAFTS_NONE) {
    case SAMPLER_DRAFTS_MODEL:
      break;  // already drafted
    case SAMPLER_DRAFTS_NGRAM:
      draft_by_ngram(entry, sequence);
      break;
    case SAMPLER_DRAFTS_PROMPT_LOOKUP:
      draft_by_lookup(sequence);
      break;
    default:
      own.num_drafts = 0;
  }
  own.is_drafted = true;
}

void Drafting::draft_by_lookup(int32_t sequence) {
  SessionSequence &own = table_[sequence];
  int32_t *const drafts = table_.drafts(sequence);
  const int64_t count = lookups_[sequence].continue_match(wanted(own), drafts);
  for (own.num_drafts = 0; own.num_drafts < count;) {
    if (table_.is_end(sequence, drafts[own.num_drafts++])) break;
  }
}

void Drafting::draft_by_ngram(abi::Entry &entry, int32_t sequence) {
  SessionSequence &own = table_[sequence];
  const bool has_limits = own.least_count > 0 || own.least_share > 0;
  const bool proposes =
      host_->rules().proposes_by_limits ? has_limits : own.ngram.propose && !own.drafts_unknown;
  const NgramRules rules = {proposes, own.drafts_unknown, own.least_count, own.least_share};
  own.num_drafts = draft_by_ngrams(
      own.ngram, rules,
      {table_.text(sequence), own.length, own.num_new(), table_.seeds()[sequence]}, wanted(own),
      config_.num_cols(),
      [&](const char *name, const auto &function) {
        return own.is_drafting = host_->call_ngram(entry, name, function);
      },
      [&](int32_t token) { return table_.is_end(sequence, token); });
}

void Drafting::add_drawn(int32_t sequence, int32_t token, float logprob) {
  SessionSequence &own = table_[sequence];
  table_.drafts(sequence)[own.num_drafts++] = token;
  const bool is_last =
      own.least_probability > 0 && LeastProbability(own.least_probability).excludes(logprob);
  if (is_last || table_.is_end(sequence, token)) own.is_drafted = true;
}

void Drafting::add_selected(int32_t sequence, const int32_t *token_ids, int64_t count) {
  SessionSequence &own = table_[sequence];
  if (token_ids[0] < 0) {
    own.is_drafted = true;
    return;
  }
  const int64_t first = first_of(sequence);
  for (int64_t i = 1; i < count && token_ids[i] >= 0; ++i) {
    sibling_parents_[first + own.num_siblings] = int32_t(own.num_drafts) - 1;
    siblings_[first + own.num_siblings++] = token_ids[i];
  }
  table_.drafts(sequence)[own.num_drafts++] = token_ids[0];
  if (table_.is_end(sequence, token_ids[0])) own.is_drafted = true;
}

void Drafting::join_siblings(int32_t sequence) {
  SessionSequence &own = table_[sequence];
  int32_t *const drafts = table_.drafts(sequence);
  const int64_t first = first_of(sequence);
  own.num_first = own.num_drafts;
  for (int64_t i = 0; i < own.num_first; ++i) parents_[first + i] = int32_t(i) - 1;
  for (int64_t i = 0; i < own.num_siblings; ++i) {
    parents_[first + own.num_drafts] = sibling_parents_[first + i];
    drafts[own.num_drafts++] = siblings_[first + i];
  }
  own.num_siblings = 0;
}

void Drafting::learn(abi::Entry &entry, int32_t sequence, int64_t begin) {
  SessionSequence &own = table_[sequence];
  if (!own.is_drafting) return;
  if (own.source == SAMPLER_DRAFTS_MODEL) {
    own.is_drafting = own.length <= config_.drafter_context();
  } else if (own.source == SAMPLER_DRAFTS_PROMPT_LOOKUP) {
    PromptLookup &lookup = lookups_[sequence];
    if (own.length > lookup.max_tokens()) {
      own.is_drafting = false;
      return;
    }
    const int32_t *const tokens = table_.text(sequence);
    for (int64_t i = begin; i < own.length; ++i) lookup.append(tokens[i]);
  } else if (own.source == SAMPLER_DRAFTS_NGRAM) {
    teach_ngram(entry, sequence, begin);
  }
}

void Drafting::teach_ngram(abi::Entry &entry, int32_t sequence, int64_t begin) {
  SessionSequence &own = table_[sequence];
  const int32_t *const tokens = table_.text(sequence);
  const int64_t most = config_.options.filler_top_k;
  for (int64_t i = begin; own.is_drafting && i < own.length; ++i) {
    // The likeliest tokens, padded with -1, and the token that was drawn.
    const int32_t *const row = likeliest_ + (own.first_row + i - begin) * most;
    const int64_t num_likely = std::find(row, row + most, -1) - row;
    std::copy_n(row, num_likely, lesson_);
    lesson_[num_likely] = tokens[i];
    const bool is_likely = std::find(row, row + num_likely, tokens[i]) != row + num_likely;
    own.is_drafting = host_->call_ngram(entry, "update", [&] {
      return own.ngram.update(own.ngram.user, tokens, i, lesson_, num_likely + !is_likely);
    });
  }
}

}  // namespace sampler::decoding
