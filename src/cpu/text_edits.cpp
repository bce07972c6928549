// Edits by a slot's history: bad words, DRY, n-gram bans.
#include <algorithm>

#include "contract/repeats.h"
#include "cpu/edits.h"
#include "cpu/repeats.h"
#include "cpu/text.h"

namespace sampler::cpu {

using contract::EditNumbers;
using contract::TokenList;

namespace {

// Lexicographic three-way comparison: -1, 0 or 1.
int compare(const TokenList &a, const TokenList &b) {
  const int64_t common = std::min(a.count, b.count);
  for (int64_t i = 0; i < common; ++i) {
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return a.count == b.count ? 0 : a.count < b.count ? -1 : 1;
}

}  // namespace

uint32_t RowEdits::ban_bad_words(const Text &text) {
  const contract::TokenLists &words = pipeline_->bad_words;
  if (!words) return SAMPLER_ROW_OK;
  const int64_t *const offsets = pipeline_->bad_word_offsets;
  const int64_t begin = offsets ? offsets[slot_] : 0;
  const int64_t end = offsets ? offsets[slot_ + 1] : words.num_lists;
  if (begin < 0 || begin > end || end > words.num_lists) return SAMPLER_ROW_INVALID_LIST;
  const int64_t length = pipeline_->bad_words_end_output ? text.output_length() : text.length();
  for (int64_t i = begin; i < end; ++i) {
    TokenList word;
    if (!words.find(i, &word) || word.count == 0) return SAMPLER_ROW_INVALID_LIST;
    if (word.count > length + 1) continue;
    if (contract::bans_word_end(text, int32_t(length), word, int32_t(word.count))) {
      ban(word[word.count - 1]);
    }
  }
  return SAMPLER_ROW_OK;
}

bool RowEdits::has_valid_breakers() {
  if (breakers_ != Known::kNo) return breakers_ == Known::kValid;
  const contract::TokenLists &breakers = pipeline_->dry_breakers;
  bool valid = true;
  TokenList before;
  for (int64_t i = 0; i < breakers.num_lists && valid; ++i) {
    TokenList breaker;
    valid = breakers.find(i, &breaker) && breaker.count > 0 &&
            breaker.count <= contract::kLongestBreaker && compare(before, breaker) < 0;
    before = breaker;
  }
  breakers_ = valid ? Known::kValid : Known::kInvalid;
  return valid;
}

uint32_t RowEdits::lower_repeats(const EditNumbers &numbers, const Text &text) {
  if (!contract::dry_is_on(numbers.dry)) return SAMPLER_ROW_OK;
  if (!has_valid_breakers()) return SAMPLER_ROW_INVALID_LIST;
  const contract::TokenLists &lists = pipeline_->dry_breakers;
  const TokenList ids = {lists.ids, lists.type, 0, lists.num_ids};
  const contract::Breakers<const int64_t *, TokenList> breakers = {lists.offsets, ids,
                                                                   int32_t(lists.num_lists)};
  const int32_t length =
      int32_t(text.length() - contract::first_counted(text.length(), 0, numbers.dry_window));
  const int32_t limit = breakers.count > 0 ? breakers.repeat_limit(text, length) : length;
  if (limit < numbers.dry.allowed_length) return SAMPLER_ROW_OK;

  // A mark is the length of the longest repeat that a token would extend.
  text.with_ids(length, [&](const auto &tokens) {
    const auto visit = [&](int64_t id, int32_t repeat) {
      if (repeat < numbers.dry.allowed_length) return;
      const int64_t element = elements_->find(id);
      if (element < 0) return;
      int32_t &mark = row_.mark_at(row_.slot(element));
      mark = std::max(mark, repeat);
    };
    if (numbers.dry.allowed_length >= 2) {
      visit_long_repeats(tokens, limit, lengths_, visit);
    } else {
      contract::visit_repeats(tokens, length, limit, lengths_, visit);
    }
  });
  row_.for_each_marked([&](int32_t slot, float &value, int32_t repeat) {
    if (breakers.has_token(given_.id(row_.element_at(slot)))) return;
    value = contract::penalize_repeat(value, numbers.dry, repeat);
  });
  return SAMPLER_ROW_OK;
}

void RowEdits::ban_ngrams(const EditNumbers &numbers, const Text &text) {
  const int32_t size = numbers.no_repeat_ngram_size;
  if (size <= 0 || size > text.length()) return;
  text.with_ids(text.length(), [&](const auto &tokens) {
    if (size < 3) {
      contract::visit_ngram_bans(tokens, tokens.length, size, lengths_,
                                 [&](int64_t id) { ban(id); });
      return;
    }
    visit_long_repeats(tokens, size - 1, lengths_, [&](int64_t id, int32_t repeat) {
      if (repeat == size - 1) ban(id);
    });
  });
}

}  // namespace sampler::cpu
