// Penalties: counts the tokens of a history and edits their logits.
//
// If only the first tokens of a row are needed, only tokens that may become one of them are
// counted: the others are skipped, many at a time.
#include <algorithm>

#include "cpu/edits.h"
#include "cpu/text.h"

namespace sampler::cpu {

using contract::EditNumbers;
using contract::TokenCount;

// Input of the penalties.
struct RowEdits::PenalizedText {
  const Text &text;
  sampler_penalty_scope scope;
  bool repetition, counts;
  TextCounts known;  // counts of a prefix of the text, if usable
  // Numbers of newest tokens, after the known prefix: those that occur at all, and those of them
  // that count.
  int64_t num_occurring, num_counted;

  // Mark by a known count.
  int32_t mark_of(const TokenCount &token) const {
    const bool in_output_only = scope == SAMPLER_PENALTY_SCOPE_OUTPUT,
               in_all = scope == SAMPLER_PENALTY_SCOPE_ALL;
    const int32_t repeated = token.in_output + (in_output_only ? 0 : token.in_prompt);
    const int32_t count = token.in_output + (in_all ? token.in_prompt : 0);
    if ((repetition ? repeated : count) == 0) return EditedRow::kUnmarked;
    return counts ? count : 0;
  }
};

// The known counts of a prefix of the text, if they apply and are faster than a scan.
TextCounts RowEdits::known_counts(const EditNumbers &numbers, const Text &text) const {
  if (numbers.penalty_window > 0 && numbers.penalty_window < text.length()) return {};
  // Looking up one token takes as long as skipping this many.
  constexpr int64_t kTokensPerLookUp = 128;
  const int64_t num_wanted = front_.count + row_.num_slots();
  const bool is_worth_it = !front_.ids || text.length() > kTokensPerLookUp * num_wanted;
  return is_worth_it ? text.counts() : TextCounts();
}

RowEdits::PenalizedText RowEdits::penalized_text(const EditNumbers &numbers,
                                                 const Text &text) const {
  const sampler_penalty_scope scope = pipeline_->penalty_scope;
  const bool repetition = numbers.repetition_is_on(), counts = numbers.counts_are_on();
  const TextCounts known = known_counts(numbers, text);
  const auto num_from = [&](bool output_only) {
    const int64_t first = contract::first_counted(
        text.length(), output_only ? text.prompt_length() : 0, numbers.penalty_window);
    return text.length() - std::max(first, known.length);
  };
  const int64_t num_counted = num_from(scope != SAMPLER_PENALTY_SCOPE_ALL);
  // The tokens for the repetition penalty begin no later.
  const int64_t num_repeated = num_from(scope == SAMPLER_PENALTY_SCOPE_OUTPUT);
  return {text,
          scope,
          repetition,
          counts,
          known,
          repetition ? num_repeated : num_counted,
          counts ? num_counted : 0};
}

uint32_t RowEdits::penalize(const EditNumbers &numbers, const Text &text) {
  uint32_t status = SAMPLER_ROW_OK;
  if (numbers.penalties_are_on()) {
    status = penalize_repeated(numbers, text);
  }
  if (status != SAMPLER_ROW_OK || !numbers.decay.is_on()) return status;
  return raise_stops(numbers.decay.gain(text.output_length()));
}

uint32_t RowEdits::penalize_repeated(const EditNumbers &numbers, const Text &text) {
  contract::TokenList unpenalized = {};
  if (pipeline_->unpenalized && !pipeline_->unpenalized.find_by_slot(slot_, &unpenalized)) {
    return SAMPLER_ROW_INVALID_LIST;
  }
  const PenalizedText penalized = penalized_text(numbers, text);
  // A mark is the count of a token that occurs.
  if (front_.ids) {
    mark_front(penalized);
  } else {
    mark_all(penalized);
  }
  for (int64_t i = 0; i < unpenalized.count; ++i) {
    const int64_t element = elements_->find(unpenalized[i]);
    const int32_t slot = element >= 0 ? row_.find(element) : -1;
    if (slot >= 0) row_.mark_at(slot) = EditedRow::kUnmarked;
  }
  contract::Penalties penalties = numbers.penalties;
  if (!penalized.repetition) penalties.repetition = 0.0f;
  if (row_.is_dense()) {
    row_.for_each_marked([&](int32_t, float &value, int32_t count) {
      value = contract::penalize(value, 1, count, penalties);
    });
  } else {
    row_.penalize(*passes_, penalties);
  }
  return SAMPLER_ROW_OK;
}

// Each once, however often it is listed.
uint32_t RowEdits::raise_stops(float gain) {
  contract::TokenList stop;
  if (!pipeline_->stop.find_by_slot(slot_, &stop)) return SAMPLER_ROW_INVALID_LIST;
  if (gain == 0.0f) return SAMPLER_ROW_OK;
  for (int64_t i = 0; i < stop.count; ++i) {
    const int64_t element = elements_->find(stop[i]);
    if (element >= 0) row_.mark_at(row_.slot(element)) = 0;
  }
  row_.for_each_marked(
      [&](int32_t, float &value, int32_t) { value = contract::raise_stop(value, gain); });
  return SAMPLER_ROW_OK;
}

// Tokens that occur `count` times more.
template <class Id>
void RowEdits::mark(const Id *begin, const Id *end, int32_t count) {
  EditedRow::Marker marker(row_);
  const Elements elements = *elements_;
  for (; begin < end; ++begin) {
    const int64_t element = elements.find(*begin);
    if (element >= 0) marker.add(element, count);
  }
  row_.take(marker);
}

void RowEdits::mark_all(const PenalizedText &penalized) {
  EditedRow::Marker marker(row_);
  for (int64_t i = 0; i < penalized.known.num_tokens; ++i) {
    const TokenCount &token = penalized.known.tokens[i];
    const int32_t count = penalized.mark_of(token);
    const int64_t element = elements_->find(token.id);
    if (count != EditedRow::kUnmarked && element >= 0) marker.add(element, count);
  }
  row_.take(marker);
  penalized.text.with_ids(penalized.num_occurring, [&](const auto &tokens) {
    const auto *const counted = tokens.end - penalized.num_counted;
    if (elements_->is_list()) {
      mark(tokens.end - tokens.length, counted, 0);
      mark(counted, tokens.end, 1);
    } else {
      row_.mark_columns(tokens.end - tokens.length, counted, 0);
      row_.mark_columns(counted, tokens.end, 1);
    }
  });
}

// ---- The front alone

// Calls f(ids, count) for the tokens whose logits must be exact.
template <class F>
void RowEdits::for_each_wanted(const F &f) const {
  f(front_.ids, front_.count);
  for (int32_t slot = 0, count = row_.num_slots(); slot < count; ++slot) {
    const auto id = int32_t(given_.id(row_.element_at(slot)));
    f(&id, 1);
  }
  const auto for_list = [&](const auto &lists) {
    contract::TokenList list;
    if (!lists || !lists.find_by_slot(slot_, &list)) return;
    for (int64_t i = 0; i < list.count; ++i) {
      const auto id = int32_t(list[i]);
      if (elements_->find(list[i]) >= 0) f(&id, 1);
    }
  };
  for_list(pipeline_->biased);
  if (may_raise_stops()) for_list(pipeline_->stop);
}

void RowEdits::mark_front(const PenalizedText &penalized) {
  const TextCounts &known = penalized.known;
  if (known.num_tokens > 0) {
    for_each_wanted([&](const int32_t *ids, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        const TokenCount *const entry =
            contract::find_count(known.tokens, known.num_tokens, ids[i]);
        const int32_t mark = entry ? penalized.mark_of(*entry) : EditedRow::kUnmarked;
        if (mark != EditedRow::kUnmarked) row_.mark_at(row_.slot(elements_->find(ids[i]))) = mark;
      }
    });
  }
  if (penalized.num_occurring == 0) return;
  const bool is_one =
      front_.count == 1 && row_.num_slots() == 0 && !pipeline_->biased && !may_raise_stops();
  penalized.text.with_ids(penalized.num_occurring, [&](const auto &tokens) {
    const auto *const counted = tokens.end - penalized.num_counted;
    if (is_one) {
      mark_one(tokens.end - tokens.length, counted, tokens.end);
    } else {
      mark_picked(tokens.end - tokens.length, counted, tokens.end);
    }
  });
}

// Tokens from `begin` on occur; those from `counted` on count.
template <class Id>
void RowEdits::mark_one(const Id *begin, const Id *counted, const Id *end) {
  const int32_t id = front_.ids[0];
  const auto num_between = [&](const Id *from, const Id *to) {
    int64_t result = 0;
    for_each_part(from, to, [&](const int32_t *ids, int64_t count) {
      result += front_.passes->count_id(ids, count, id);
    });
    return int32_t(result);
  };
  const int32_t num_uncounted = num_between(begin, counted), num = num_between(counted, end);
  if (num_uncounted + num > 0) row_.mark_at(row_.slot(elements_->find(id))) = num;
}

template <class Id>
void RowEdits::mark_picked(const Id *begin, const Id *counted, const Id *end) {
  IdFilter wanted(*front_.passes, front_.count + row_.num_slots(), row_.spare_words());
  for_each_wanted([&](const int32_t *ids, int64_t count) { wanted.add(ids, count); });
  // Picked tokens may be more than there are slots for.
  const int64_t most_slots = row_.num_slots() + num_front_slots(given_);
  const auto mark_between = [&](const Id *from, const Id *to, bool counts) {
    for_each_part(from, to, [&](const int32_t *ids, int64_t count) {
      int32_t picked[kIdsAtOnce];
      const int64_t num_picked = wanted.pick(ids, count, picked);
      has_overrun_ = has_overrun_ || row_.num_slots() + num_picked > most_slots;
      if (has_overrun_) return;
      mark(picked, picked + num_picked, counts ? 1 : 0);
    });
  };
  mark_between(begin, counted, false);
  mark_between(counted, end, true);
}

}  // namespace sampler::cpu
