// Edits of a row by its sequence's history: penalties, DRY, no repeated n-grams.
#pragma once

#include <cstdint>

#include "contract/edits.h"
#include "contract/pipeline.h"
#include "contract/repeats.h"
#include "machine/team.cuh"
#include "stages/edited_row.cuh"
#include "stages/repeats.cuh"

namespace sampler::kernels {

// A history, and drafts of its type after it: [i] is the token i before the newest.
class StagedText {
 public:
  SAMPLER_DEVICE StagedText() {}
  SAMPLER_DEVICE StagedText(const contract::TokenList &history, int64_t prompt_length,
                            const contract::TokenList &drafts = {})
      : history_(history),
        drafts_(drafts.ids),
        first_draft_(drafts.begin - history.count),
        length_(history.count + drafts.count),
        prompt_length_(prompt_length) {}

  SAMPLER_DEVICE int64_t operator[](int64_t i) const { return at(length_ - 1 - i); }

  SAMPLER_DEVICE int64_t length() const { return length_; }
  SAMPLER_DEVICE int64_t prompt_length() const { return prompt_length_; }
  SAMPLER_DEVICE int64_t output_length() const { return length_ - prompt_length_; }

  // The token at a place; 0 is the oldest.
  SAMPLER_DEVICE int64_t at(int64_t place) const {
    const bool is_draft = place >= history_.count;
    return contract::load_id(is_draft ? drafts_ : history_.ids, history_.type,
                             place + (is_draft ? first_draft_ : history_.begin));
  }

 private:
  contract::TokenList history_;
  const void *drafts_ = nullptr;
  int64_t first_draft_ = 0;  // less the history's length
  int64_t length_ = 0;
  int64_t prompt_length_ = 0;
};

// The history of an output's slot, and the drafts before it. Returns its status.
SAMPLER_DEVICE inline uint32_t read_staged_text(const contract::Pipeline &pipeline, int64_t slot,
                                                int64_t output, StagedText *text) {
  contract::SlotHistory history;
  const uint32_t status = contract::read_text(pipeline, slot, &history);
  *text = StagedText(history.tokens, history.prompt_length,
                     pipeline.drafts.before(output, history.tokens.type));
  return status;
}

// EditedRow: a class like that of edited_row.cuh.
template <class Context, class EditedRow>
class TextEdits {
 public:
  SAMPLER_DEVICE TextEdits(const EditedRow &row, const contract::Pipeline &pipeline)
      : row_(row), pipeline_(pipeline) {}

  // From now on read() returns this.
  SAMPLER_DEVICE void assume(const StagedText *text) { assumed_ = text; }

  // Reads the history of an output, before any other call. Returns a status.
  SAMPLER_DEVICE uint32_t read(int64_t slot, int64_t output, const contract::EditNumbers &numbers) {
    numbers_ = numbers;
    if (assumed_) {
      text_ = *assumed_;
      return SAMPLER_ROW_OK;
    }
    return read_staged_text(pipeline_, slot, output, &text_);
  }

  SAMPLER_DEVICE const StagedText &text() const { return text_; }

  // Returns the row's status.
  SAMPLER_DEVICE uint32_t penalize(int64_t slot) {
    uint32_t status = SAMPLER_ROW_OK;
    if (numbers_.penalties_are_on()) status = penalize_repeated(slot);
    if (status != SAMPLER_ROW_OK || !numbers_.decay.is_on()) return status;
    return raise_stops(slot, numbers_.decay.gain(text_.output_length()));
  }

  // Marks count occurrences of a token; the first thread to reach it edits it.
  SAMPLER_DEVICE_CALL uint32_t penalize_repeated(int64_t slot) {
    const bool repetition = numbers_.repetition_is_on(), counts = numbers_.counts_are_on();
    TokenList unpenalized = {};
    if (pipeline_.unpenalized && !pipeline_.unpenalized.find_by_slot(slot, &unpenalized)) {
      return SAMPLER_ROW_INVALID_LIST;
    }
    Context &ctx = row_.team.ctx;
    const sampler_penalty_scope scope = pipeline_.penalty_scope;
    // The range that counts as repetition begins no later.
    const int64_t first = first_counted(scope != SAMPLER_PENALTY_SCOPE_ALL);
    const int64_t begin = repetition ? first_counted(scope == SAMPLER_PENALTY_SCOPE_OUTPUT) : first;
    const int64_t end = text_.length();

    contract::Penalties penalties = numbers_.penalties;
    if (!repetition) penalties.repetition = 0.0f;
    for_each_in_history(begin, end, [&](int element) { row_.set_mark(element, 0); });
    if (counts) {
      for_each_in_history(first, end,
                          [&](int element) { ctx.atomic_add(&row_.marks[element], 1u); });
    }
    if (unpenalized.count > 0) {
      row_.for_each_listed(unpenalized,
                           [&](int element, int64_t) { row_.set_mark(element, kDone); });
    }
    for_each_in_history(begin, end, [&](int element) {
      const uint32_t count = ctx.atomic_or(&row_.marks[element], kDone);
      if (count >= kDone) return;
      row_.value(element) = contract::penalize(row_.value(element), 1, int32_t(count), penalties);
    });
    return SAMPLER_ROW_OK;
  }

  // Each once, however often it is listed.
  SAMPLER_DEVICE_CALL uint32_t raise_stops(int64_t slot, float gain) {
    TokenList stop;
    if (!pipeline_.stop.find_by_slot(slot, &stop)) return SAMPLER_ROW_INVALID_LIST;
    if (gain == 0.0f) return SAMPLER_ROW_OK;
    row_.for_each_listed(stop, [&](int element, int64_t) { row_.set_mark(element, 0); });
    row_.for_each_listed(stop, [&](int element, int64_t) {
      if (row_.team.ctx.atomic_or(&row_.marks[element], kDone) >= kDone) return;
      row_.value(element) = contract::raise_stop(row_.value(element), gain);
    });
    return SAMPLER_ROW_OK;
  }

  SAMPLER_DEVICE_CALL uint32_t lower_repeats() {
    const contract::DryRules dry = numbers_.dry;
    if (!contract::dry_is_on(dry)) return SAMPLER_ROW_OK;
    if (!has_valid_breakers()) return SAMPLER_ROW_INVALID_LIST;
    const contract::TokenLists &lists = pipeline_.dry_breakers;
    const TokenList ids = {lists.ids, lists.type, 0, lists.num_ids};
    const Breakers breakers = {lists.offsets, ids, int32_t(lists.num_lists)};
    const int64_t first = contract::first_counted(text_.length(), 0, numbers_.dry_window);
    const int length = int(text_.length() - first);
    const int limit = repeat_limit(breakers, length);
    if (limit < dry.allowed_length) return SAMPLER_ROW_OK;

    // A mark is 1 + the longest repeat that a token would continue.
    Context &ctx = row_.team.ctx;
    for_each_in_history(first + 1, text_.length(), [&](int element) { row_.set_mark(element, 0); });
    visit_repeats(row_.team, text_, length, limit, [&](int k, int repeat) {
      if (repeat < dry.allowed_length) return;
      const int element = row_.find(text_[k - 1]);
      if (element >= 0) ctx.atomic_max(&row_.marks[element], uint32_t(repeat) + 1);
    });
    ctx.team_sync();
    row_.for_each(first + 1, text_.length(), [&](int64_t place) {
      const int64_t id = text_.at(place);
      const int element = row_.find(id);
      if (element < 0) return;
      const uint32_t mark = ctx.atomic_or(&row_.marks[element], kDone);
      if (mark == 0 || mark >= kDone || breakers.has_token(id)) return;
      row_.value(element) = contract::penalize_repeat(row_.value(element), dry, int32_t(mark) - 1);
    });
    ctx.team_sync();
    return SAMPLER_ROW_OK;
  }

  SAMPLER_DEVICE_CALL void ban_ngrams() {
    const int size = numbers_.no_repeat_ngram_size, n = int(text_.length());
    if (size <= 0 || size > n) return;
    visit_repeats(row_.team, text_, n, size - 1, [&](int k, int length) {
      if (length == size - 1) row_.ban(row_.find(text_[k - 1]));
    });
    // The oldest token has no predecessor.
    if (size == 1 && row_.team.is_first_thread()) row_.ban(row_.find(text_[n - 1]));
    row_.team.ctx.team_sync();
  }

 private:
  using TokenList = contract::TokenList;
  using Breakers = contract::Breakers<const int64_t *, TokenList>;

  static constexpr uint32_t kDone = uint32_t(1) << 31;

  // Calls f(element) for tokens [begin, end) of the text, 0 the oldest. A barrier follows.
  template <class F>
  SAMPLER_DEVICE void for_each_in_history(int64_t begin, int64_t end, const F &f) const {
    row_.for_each(begin, end, [&](int64_t place) {
      const int element = row_.find(text_.at(place));
      if (element >= 0) f(element);
    });
    row_.team.ctx.team_sync();
  }

  SAMPLER_DEVICE int64_t first_counted(bool output_only) const {
    return contract::first_counted(text_.length(), output_only ? text_.prompt_length() : 0,
                                   numbers_.penalty_window);
  }

  // Lexicographic order: -1, 0 or 1.
  SAMPLER_DEVICE static int compare(const TokenList &a, const TokenList &b) {
    const int64_t common = a.count < b.count ? a.count : b.count;
    for (int64_t i = 0; i < common; ++i) {
      if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    }
    return a.count == b.count ? 0 : a.count < b.count ? -1 : 1;
  }

  SAMPLER_DEVICE bool has_breaker(int64_t i, TokenList *breaker) const {
    return pipeline_.dry_breakers.find(i, breaker) && breaker->count > 0 &&
           breaker->count <= contract::kLongestBreaker;
  }

  // Checked once per team.
  SAMPLER_DEVICE bool has_valid_breakers() {
    if (breakers_ != Known::kNo) return breakers_ == Known::kValid;
    bool is_invalid = false;
    row_.for_each(0, pipeline_.dry_breakers.num_lists, [&](int64_t i) {
      TokenList before, breaker;
      const bool valid = has_breaker(i, &breaker) && (i == 0 || has_breaker(i - 1, &before)) &&
                         compare(before, breaker) < 0;
      is_invalid = is_invalid || !valid;
    });
    breakers_ = row_.any(is_invalid) ? Known::kInvalid : Known::kValid;
    return breakers_ == Known::kValid;
  }

  // Breakers::repeat_limit(), for as many tokens at a time as the team has threads.
  SAMPLER_DEVICE int repeat_limit(const Breakers &breakers, int n) {
    if (breakers.count == 0) return n;
    for (int begin = 0; begin < n; begin += row_.num_threads()) {
      const int i = begin + row_.thread();
      const int length = i < n ? breakers.length_at(text_, i) : 0;
      const uint64_t own = length > 0 ? uint64_t(~uint32_t(i)) << 32 | uint32_t(length) : 0;
      const uint64_t nearest = row_.team.max(own);
      if (nearest != 0) return int(~uint32_t(nearest >> 32)) + 1 - int(uint32_t(nearest));
    }
    return n;
  }

  const EditedRow &row_;
  const contract::Pipeline &pipeline_;
  contract::EditNumbers numbers_ = {};
  StagedText text_;
  const StagedText *assumed_ = nullptr;

  enum class Known { kNo, kValid, kInvalid } breakers_ = Known::kNo;
};

}  // namespace sampler::kernels
