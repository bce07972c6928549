// What a session drafts, and what it has the models run.
#include "decoding/session/session.h"

#include <algorithm>

#include "decoding/loops/failure.h"
#include "decoding/ngram/ngram_drafts.h"

namespace sampler::decoding {

// Calls a caller's n-grams. False: they failed, which ends a loop, and in a session drafts.
template <class Call>
bool Session::call_ngram(capi::Entry &entry, const char *name, const Call &call) const {
  if (config_.loop) {
    call_back(&entry, name, call);
    return true;
  }
  try {
    return entry.call_host(call) == SAMPLER_OK;
  } catch (...) {
    return false;
  }
}

void SessionSequence::add_to(RoundTexts *texts, bool drafts) const {
  const bool has_model = drafts && source == SAMPLER_DRAFTS_MODEL;
  const int64_t num_read = has_model ? std::min(drafter_cache_length, length - 1) : length - 1;
  texts->add(drafts ? width() : 0, drafts ? most_drafts / width() : 0, length - 1 - num_read,
             std::max<int64_t>(prompt_length - 1 - num_read, 0));
}

int64_t Session::wanted_drafts(const SessionSequence &sequence, int64_t length) const {
  const bool may_draft =
      length > sequence.prompt_length || (config_.loop && config_.loop->drafts_first);
  if (!sequence.is_drafting || !may_draft) return 0;
  const int64_t end = std::min(sequence.max_length, config_.options.max_context);
  int64_t wanted = std::min(sequence.step_drafts, end - length - 1);
  wanted /= sequence.width();  // of the first path
  if (sequence.source == SAMPLER_DRAFTS_MODEL) {
    // All drafts but the last are fed.
    wanted = std::min(wanted, drafter_context() - length + 1);
  }
  return std::max<int64_t>(wanted, 0);
}

// The drafts beside a tree's first path become drafts, after it.
void Session::join_siblings(int32_t sequence) {
  SessionSequence &own = sequences_[sequence];
  int32_t *const drafts = tokens_of(sequence) + own.length;
  const int64_t first = sequence * max_drafts();
  own.num_first = own.num_drafts;
  for (int64_t i = 0; i < own.num_first; ++i) parents_[first + i] = int32_t(i) - 1;
  for (int64_t i = 0; i < own.num_siblings; ++i) {
    parents_[first + own.num_drafts] = sibling_parents_[first + i];
    drafts[own.num_drafts++] = siblings_[first + i];
  }
  own.num_siblings = 0;
}

// Of a span of the target.
void Session::tell_parents(const sampler_session_plan_args &args, int32_t sequence,
                           int64_t span) const {
  if (!args.out_parents) return;
  const SessionSequence &own = sequences_[sequence];
  int32_t *const out = args.out_parents + span * max_drafts();
  const int64_t count = own.target.num_logits > 0 ? own.num_drafts : 0;
  for (int64_t i = 0; i < max_drafts(); ++i) {
    const bool is_tree = own.group == DraftGroup::kTrees;
    out[i] = i >= count ? -1 : is_tree ? parents_[sequence * max_drafts() + i] : int32_t(i) - 1;
  }
}

void Session::draft_by_lookup(int32_t sequence) {
  SessionSequence &own = sequences_[sequence];
  int32_t *const drafts = tokens_of(sequence) + own.length;
  const int64_t count = lookups_[sequence].continue_match(wanted_drafts(own), drafts);
  for (own.num_drafts = 0; own.num_drafts < count;) {
    if (is_end(sequence, drafts[own.num_drafts++])) break;
  }
}

void Session::draft_by_ngram(capi::Entry &entry, int32_t sequence) {
  SessionSequence &own = sequences_[sequence];
  const bool proposes =
      config_.loop ? config_.loop->proposes : own.ngram.propose && !own.drafts_unknown;
  const NgramRules rules = {proposes, own.drafts_unknown, own.least_count, own.least_share};
  own.num_drafts = draft_by_ngrams(
      own.ngram, rules, {tokens_of(sequence), own.length, own.num_new(), seeds_[sequence]},
      wanted_drafts(own), num_cols(),
      [&](const char *name, const auto &function) {
        return own.is_drafting = call_ngram(entry, name, function);
      },
      [&](int32_t token) { return is_end(sequence, token); });
}

// Positions of its drafts.
int64_t Session::depth_of(int32_t sequence) const {
  const SessionSequence &own = sequences_[sequence];
  if (own.group != DraftGroup::kTrees) return own.num_drafts;
  const int32_t *const parents = parents_ + sequence * max_drafts();
  int64_t depth = 0;  // of the first path, whose drafts stand first
  while (depth < own.num_drafts && parents[depth] == depth - 1) ++depth;
  return depth;
}

RoundTexts Session::round_texts() const {
  RoundTexts texts;
  for (int64_t i = 0; i < num_sequences(); ++i) {
    if (sequences_[i].runs()) sequences_[i].add_to(&texts, sequences_[i].is_drafting);
  }
  return texts;
}

void Session::limit_drafts(int64_t num_positions) {
  for (int64_t i = 0; i < num_sequences(); ++i) sequences_[i].limit_drafts(num_positions);
}

void Session::learn(capi::Entry &entry, int32_t sequence, int64_t begin) {
  SessionSequence &own = sequences_[sequence];
  if (!own.is_drafting) return;
  const int32_t *const tokens = text(sequence);
  if (own.source == SAMPLER_DRAFTS_MODEL) {
    own.is_drafting = own.length <= drafter_context();
  } else if (own.source == SAMPLER_DRAFTS_PROMPT_LOOKUP) {
    PromptLookup &lookup = lookups_[sequence];
    if (own.length > lookup.max_tokens()) {
      own.is_drafting = false;
      return;
    }
    for (int64_t i = begin; i < own.length; ++i) lookup.append(tokens[i]);
  } else if (own.source == SAMPLER_DRAFTS_NGRAM) {
    const int64_t most = config_.options.filler_top_k;
    for (int64_t i = begin; own.is_drafting && i < own.length; ++i) {
      // The likeliest tokens, after which -1 follows where there are fewer, and the one that came.
      const int32_t *const row = likeliest_ + (own.first_row + i - begin) * most;
      const int64_t num_likely = std::find(row, row + most, -1) - row;
      std::copy_n(row, num_likely, lesson_);
      lesson_[num_likely] = tokens[i];
      const bool is_likely = std::find(row, row + num_likely, tokens[i]) != row + num_likely;
      own.is_drafting = call_ngram(entry, "update", [&] {
        return own.ngram.update(own.ngram.user, tokens, i, lesson_, num_likely + !is_likely);
      });
    }
  }
}

// Tokens [begin, end), of which the last `last_part` stay together, or as many as there is room
// for. False: none.
bool Session::make_span(int64_t begin, int64_t end, int64_t last_part, int64_t num_logits,
                        int64_t *room, PlannedSpan *out) const {
  *out = {};
  if (end - begin <= *room) {
    *out = {begin, end - begin, num_logits, int32_t(num_plans_)};
  } else {
    const int64_t part = std::min(*room, end - last_part - begin);
    if (part <= 0) return false;
    *out = {begin, part, 0, int32_t(num_plans_)};
  }
  *room -= out->num_tokens;
  return true;
}

sampler_span Session::planned_span(int32_t sequence, const PlannedSpan &planned) const {
  return {sequence,           planned.plan,      planned.start, text(sequence) + planned.start,
          planned.num_tokens, planned.num_logits};
}

bool Session::needs_drafter(const SessionSequence &sequence) const {
  return sequence.source == SAMPLER_DRAFTS_MODEL && sequence.is_drafting && !sequence.is_drafted &&
         sequence.num_drafts < wanted_drafts(sequence);
}

// `is_waiting`: measured sequences that have their drafts wait for those that have not.
void Session::plan_sequence(capi::Entry &entry, int32_t sequence,
                            const sampler_session_plan_args &args, bool is_waiting, int64_t *room,
                            int64_t *drafter_room) {
  SessionSequence &own = sequences_[sequence];
  own.target = own.drafter = {};
  if (!own.is_drafted) {
    switch (own.is_drafting ? own.source : SAMPLER_DRAFTS_NONE) {
      case SAMPLER_DRAFTS_MODEL:
        if (needs_drafter(own)) {
          const int64_t end = own.length + own.num_drafts;
          const int64_t begin = std::min(own.drafter_cache_length, end - 1);
          if (make_span(begin, end, 1, 1, drafter_room, &own.drafter)) {
            args.out_drafter_spans[(*args.out_num_drafter_spans)++] =
                planned_span(sequence, own.drafter);
          }
          return;
        }
        break;
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
  if (own.group == DraftGroup::kTrees && own.num_first == 0) join_siblings(sequence);
  if (is_waiting && own.is_in_step) return;
  const int64_t num_logits = own.num_drafts + 1;
  if (make_span(own.cache_length, own.length + own.num_drafts, num_logits, num_logits, room,
                &own.target)) {
    tell_parents(args, sequence, *args.out_num_spans);
    args.out_spans[(*args.out_num_spans)++] = planned_span(sequence, own.target);
  }
}

// Gives measured sequences the number of their drafts. Whether some of them draft now.
bool Session::begin_round(capi::Entry &entry, const sampler_session_plan_args &args) {
  if (!measured_) return false;
  const int64_t count = args.sequences ? args.num_sequences : num_sequences();
  const auto each = [&](const auto &visit) {
    for (int64_t i = 0; i < count; ++i) {
      SessionSequence &own = sequences_[args.sequences ? args.sequences[i] : i];
      if (own.runs()) visit(own);
    }
  };
  const auto begins = [](const SessionSequence &own) {
    return own.gamma_rule == SAMPLER_GAMMA_MEASURED && own.is_drafting && own.num_new() > 0 &&
           !own.is_in_step;
  };
  bool is_clean = true;
  each([&](const SessionSequence &own) { is_clean = is_clean && begins(own); });
  // With others each step of a drafter would be one of the target for them, too.
  const auto drafts = [&](const SessionSequence &own) {
    return own.is_drafting && (is_clean || own.source != SAMPLER_DRAFTS_MODEL);
  };
  RoundTexts texts;
  each([&](const SessionSequence &own) {
    if (begins(own)) own.add_to(&texts, drafts(own));
  });
  if (texts.num_texts > 0) {
    const int64_t num_positions = measured_->choose(texts, is_clean);
    round_ = {texts.num_texts, is_clean, false};
    each([&](SessionSequence &own) {
      if (!begins(own)) return;
      own.limit_drafts(drafts(own) ? num_positions : 0);
      own.is_in_step = true;
    });
    measured_->start(&entry);
  }
  bool is_waiting = false;
  each([&](const SessionSequence &own) {
    is_waiting = is_waiting || (own.is_in_step && needs_drafter(own));
  });
  return is_waiting;
}

// Behind a plan: whether it has the spans that the round ends with.
void Session::mark_drafted(capi::Entry &entry, const sampler_session_plan_args &args) {
  if (!measured_ || !round_.is_clean) return;
  const int64_t num_spans = *args.out_num_spans;
  const int64_t num_drafter_spans = args.out_num_drafter_spans ? *args.out_num_drafter_spans : 0;
  bool is_alone = num_spans + num_drafter_spans <= round_.num_texts;
  for (int64_t i = 0; is_alone && i < num_spans; ++i) {
    const sampler_span &span = args.out_spans[i];
    const SessionSequence &own = sequences_[span.sequence];
    // What a tree's drafts beside the first path became comes again.
    const int64_t num_again = own.group == DraftGroup::kTrees ? own.most_drafts : 0;
    is_alone = own.is_in_step && span.num_tokens <= span.num_logits + num_again;
  }
  for (int64_t i = 0; is_alone && i < num_drafter_spans; ++i) {
    is_alone = sequences_[args.out_drafter_spans[i].sequence].is_in_step;
  }
  round_.is_drafted = is_alone && num_spans == round_.num_texts;
  // Those that have their drafts are planned together, or their round is none.
  round_.is_clean = is_alone && (round_.is_drafted || num_spans == 0);
  if (round_.is_drafted) measured_->mark_drafted(&entry);
}

void Session::plan(capi::Entry &entry, const sampler_session_plan_args &args) {
  int64_t room = args.max_tokens ? args.max_tokens : INT64_MAX, drafter_room = room;
  *args.out_num_spans = 0;
  if (args.out_num_drafter_spans) *args.out_num_drafter_spans = 0;
  const bool names_all = !args.sequences;
  const int64_t count = names_all ? num_sequences() : args.num_sequences;
  const bool is_waiting = begin_round(entry, args);
  ++num_plans_;
  int64_t first_without = -1;
  for (int64_t i = 0; i < count; ++i) {
    int64_t sequence = names_all ? next_ + i : args.sequences[i];
    if (names_all && sequence >= count) sequence -= count;
    SessionSequence &own = sequences_[sequence];
    if (!own.runs()) continue;
    plan_sequence(entry, int32_t(sequence), args, is_waiting, &room, &drafter_room);
    const bool has_none = own.target.num_tokens + own.drafter.num_tokens == 0;
    if (has_none && first_without < 0) first_without = sequence;
  }
  if (names_all && first_without >= 0) next_ = first_without;
  mark_drafted(entry, args);
}

bool Session::is_planned(const sampler_span &span, bool of_drafter) const {
  const SessionSequence *const own = find(span.sequence);
  if (!own || !own->runs()) return false;
  const PlannedSpan &planned = of_drafter ? own->drafter : own->target;
  return planned.num_tokens > 0 && planned.plan == span.plan &&
         planned.num_tokens == span.num_tokens && planned.start == span.start &&
         planned.num_logits == span.num_logits;
}

}  // namespace sampler::decoding
