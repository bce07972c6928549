#include "cpu/edits.h"

#include <algorithm>

namespace sampler::cpu {

using contract::EditNumbers;
using contract::TokenList;

// How often tokens occur in the beginning of a text.
struct RowEdits::Counts {
  const contract::TokenCount *tokens = nullptr;
  int64_t num_tokens = 0;
  int64_t length = 0;  // of that beginning
};

// What a sequence has said: [i] is the token i before the newest.
class RowEdits::Text {
 public:
  Text() = default;
  Text(const TokenList &history, int64_t prompt_length)
      : history_(history), prompt_length_(prompt_length) {}
  Text(const contract::Sequence &sequence)
      : history_{sequence.tokens(), SAMPLER_ID_I32, 0, sequence.length()},
        prompt_length_(sequence.prompt_length()),
        counts_{sequence.counts(), sequence.num_distinct(), sequence.counted_length()} {}

  int64_t operator[](int64_t i) const { return history_[history_.count - 1 - i]; }

  int64_t length() const { return history_.count; }
  int64_t prompt_length() const { return prompt_length_; }
  int64_t output_length() const { return history_.count - prompt_length_; }

  // The place of a token, 0 the oldest.
  int64_t at(int64_t place) const { return history_[place]; }

  // What is known without a look at the tokens.
  const Counts &counts() const { return counts_; }

 private:
  TokenList history_;
  int64_t prompt_length_ = 0;
  Counts counts_;
};

namespace {

constexpr int32_t kDone = -1;

// -1, 0 or 1 as the first list comes before the other in lexicographic order.
int compare(const TokenList &a, const TokenList &b) {
  const int64_t common = std::min(a.count, b.count);
  for (int64_t i = 0; i < common; ++i) {
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return a.count == b.count ? 0 : a.count < b.count ? -1 : 1;
}

// For each byte of a bitmask, all bits of those of 8 values that it allows.
struct AllowedBits {
  constexpr AllowedBits() : of() {
    for (int byte = 0; byte < 256; ++byte) {
      for (int i = 0; i < 8; ++i) of[byte][i] = (byte >> i & 1) != 0 ? UINT32_MAX : 0u;
    }
  }
  uint32_t of[256][8];
};
constexpr AllowedBits kAllowedBits;

// The 32 values of one word. No bit is asked by itself: the compiler makes vectors of this.
void ban_by_word(uint32_t word, float *values) {
  constexpr uint32_t kBanned = 0xFF800000u;  // -inf
  for (int byte = 0; byte < 4; ++byte) {
    const uint32_t *const allowed = kAllowedBits.of[word >> (8 * byte) & 0xFF];
    for (int i = 0; i < 8; ++i) {
      float &value = values[8 * byte + i];
      value = contract::float_of((contract::bits_of(value) & allowed[i]) | (kBanned & ~allowed[i]));
    }
  }
}

}  // namespace

// ---- All edits

uint32_t RowEdits::edit(int64_t slot, int64_t output, const contract::RowView &given,
                        const Elements &elements, float *values) {
  slot_ = slot;
  output_ = output;
  given_ = given;
  elements_ = &elements;
  values_ = values;
  const EditNumbers numbers = pipeline_->numbers(slot);
  Text text;
  uint32_t status = read_text(&text);
  for (const sampler_stage stage : pipeline_->edits) {
    if (status != SAMPLER_ROW_OK) break;
    status = edit_by(stage, numbers, text);
    if (removed_by_) note_removals_by(stage);
  }
  return status;
}

void RowEdits::note_removals_by(sampler_stage stage) const {
  for (int64_t i = 0; i < given_.count; ++i) {
    const bool is_removed = removed_by_[i] == 0 && values_[i] == contract::negative_infinity();
    if (is_removed) removed_by_[i] = uint8_t(stage);
  }
}

uint32_t RowEdits::read_text(Text *text) const {
  const contract::Pipeline &pipeline = *pipeline_;
  if (pipeline.sequences) {
    const contract::Sequence sequence = pipeline.sequences[slot_];
    if (sequence.length() > pipeline.max_history) return SAMPLER_ROW_INVALID_LIST;
    *text = Text(sequence);
    return SAMPLER_ROW_OK;
  }
  if (!pipeline.history) return SAMPLER_ROW_OK;
  TokenList history;
  if (!pipeline.history.find_by_slot(slot_, &history) || history.count > pipeline.max_history) {
    return SAMPLER_ROW_INVALID_LIST;
  }
  const int64_t prompt_length = pipeline.prompt_lengths ? pipeline.prompt_lengths[slot_] : 0;
  if (prompt_length < 0 || prompt_length > history.count) return SAMPLER_ROW_INVALID_LIST;
  *text = Text(history, prompt_length);
  return SAMPLER_ROW_OK;
}

uint32_t RowEdits::edit_by(sampler_stage stage, const EditNumbers &numbers, const Text &text) {
  switch (stage) {
    case SAMPLER_STAGE_BIAS:
      return add_biases();
    case SAMPLER_STAGE_MASK:
      return ban(numbers, text);
    case SAMPLER_STAGE_PENALTIES:
      penalize(numbers, text);
      return SAMPLER_ROW_OK;
    case SAMPLER_STAGE_DRY:
      return lower_repeats(numbers, text);
    default:
      ban_ngrams(numbers, text);
      return SAMPLER_ROW_OK;
  }
}

// ---- Biases

uint32_t RowEdits::add_biases() {
  if (pipeline_->biased) {
    TokenList biased;
    if (!pipeline_->biased.find_by_slot(slot_, &biased)) return SAMPLER_ROW_INVALID_LIST;
    const float *const biases = pipeline_->biases + biased.begin;
    if (!std::all_of(biases, biases + biased.count, contract::is_valid_bias)) {
      return SAMPLER_ROW_INVALID_PARAMETER;
    }
    for (int64_t i = 0; i < biased.count; ++i) {
      const int64_t element = elements_->find(biased[i]);
      if (element >= 0) values_[element] = contract::add_bias(values_[element], biases[i]);
    }
  }
  if (pipeline_->dense_bias) add_dense_bias();
  return SAMPLER_ROW_OK;
}

void RowEdits::add_dense_bias() {
  const int64_t width = pipeline_->dense_bias_stride;
  const float *const biases =
      pipeline_->dense_bias + (pipeline_->dense_bias_by_slot ? slot_ * width : 0);
  if (!given_.ids) {
    const int64_t count = std::min<int64_t>(given_.count, width);
    for (int64_t i = 0; i < count; ++i) values_[i] = contract::add_bias(values_[i], biases[i]);
    return;
  }
  for (int64_t i = 0; i < given_.count; ++i) {
    const int64_t id = given_.id(i);
    if (id < width) values_[i] = contract::add_bias(values_[i], biases[id]);
  }
}

// ---- Bans

void RowEdits::ban(int64_t id) {
  const int64_t element = elements_->find(id);
  if (element >= 0) values_[element] = contract::ban(values_[element], true);
}

void RowEdits::ban(const TokenList &list) {
  for (int64_t i = 0; i < list.count; ++i) ban(list[i]);
}

void RowEdits::allow(const TokenList &list) {
  std::fill_n(marks_, given_.count, 0);
  for (int64_t i = 0; i < list.count; ++i) {
    const int64_t element = elements_->find(list[i]);
    if (element >= 0) marks_[element] = 1;
  }
  for (int64_t i = 0; i < given_.count; ++i) {
    values_[i] = contract::ban(values_[i], marks_[i] == 0);
  }
}

void RowEdits::apply_bitmask(const uint32_t *words) {
  const int64_t num_words = pipeline_->bitmask_stride;
  int64_t begin = 0;
  if (!given_.ids) {
    // Whole words, of columns.
    const int64_t whole = std::min<int64_t>(given_.count / 32, num_words);
    for (int64_t i = 0; i < whole; ++i) {
      if (words[i] != UINT32_MAX) ban_by_word(words[i], values_ + 32 * i);
    }
    begin = 32 * whole;
  }
  for (int64_t i = begin; i < given_.count; ++i) {
    const bool allowed =
        contract::bitmask_allows(words, num_words, given_.id(i), pipeline_->bitmask_rule);
    values_[i] = contract::ban(values_[i], !allowed);
  }
}

uint32_t RowEdits::ban(const EditNumbers &numbers, const Text &text) {
  uint32_t status = ban_lists();
  if (status == SAMPLER_ROW_OK) status = ban_bad_words(text);
  if (status != SAMPLER_ROW_OK || !pipeline_->stop) return status;
  TokenList stop;
  if (!pipeline_->stop.find_by_slot(slot_, &stop)) return SAMPLER_ROW_INVALID_LIST;
  if (contract::bans_stop_tokens(text.output_length(), numbers.min_new_tokens)) ban(stop);
  return SAMPLER_ROW_OK;
}

uint32_t RowEdits::ban_lists() {
  const contract::Pipeline &pipeline = *pipeline_;
  TokenList list;
  if (pipeline.allowed) {
    if (!pipeline.allowed.find_by_slot(slot_, &list)) return SAMPLER_ROW_INVALID_LIST;
    if (list.count > 0) allow(list);
  }
  if (pipeline.banned) {
    if (!pipeline.banned.find_by_slot(slot_, &list)) return SAMPLER_ROW_INVALID_LIST;
    ban(list);
  }
  if (pipeline.bitmasks) {
    const int64_t mask = pipeline.bitmask_indices ? pipeline.bitmask_indices[output_] : output_;
    if (mask >= pipeline.num_bitmasks) return SAMPLER_ROW_INVALID_INDEX;
    if (mask >= 0) apply_bitmask(pipeline.bitmasks + mask * pipeline.bitmask_stride);
  }
  return SAMPLER_ROW_OK;
}

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

// ---- What the text has said before

void RowEdits::penalize(const EditNumbers &numbers, const Text &text) {
  const bool repetition = numbers.repetition_is_on(), counts = numbers.counts_are_on();
  if (!repetition && !counts) return;
  const sampler_penalty_scope scope = pipeline_->penalty_scope;
  const auto first_counted = [&](bool output_only) {
    return contract::first_counted(text.length(), output_only ? text.prompt_length() : 0,
                                   numbers.penalty_window);
  };
  // What counts as a repetition begins no later.
  const int64_t first_repeated = first_counted(scope == SAMPLER_PENALTY_SCOPE_OUTPUT);
  const int64_t first = first_counted(scope != SAMPLER_PENALTY_SCOPE_ALL);
  const int64_t begin = repetition ? first_repeated : first;

  contract::Penalties penalties = numbers.penalties;
  if (!repetition) penalties.repetition = 0.0f;
  const bool has_window = numbers.penalty_window > 0 && numbers.penalty_window < text.length();
  const Counts known = has_window ? Counts() : text.counts();
  const auto for_each_known = [&](const auto &f) {
    for (int64_t i = 0; i < known.num_tokens; ++i) {
      const contract::TokenCount &token = known.tokens[i];
      const int32_t repeated =
          token.in_output + (scope == SAMPLER_PENALTY_SCOPE_OUTPUT ? 0 : token.in_prompt);
      const int32_t count =
          token.in_output + (scope == SAMPLER_PENALTY_SCOPE_ALL ? token.in_prompt : 0);
      if ((repetition ? repeated : count) == 0) continue;
      const int64_t element = elements_->find(token.id);
      if (element >= 0) f(element, counts ? count : 0);
    }
  };
  const auto for_each_other = [&](int64_t from, const auto &f) {
    for (int64_t place = std::max(from, known.length); place < text.length(); ++place) {
      const int64_t element = elements_->find(text.at(place));
      if (element >= 0) f(element);
    }
  };
  const auto apply = [&](int64_t element) {
    if (marks_[element] == kDone) return;
    values_[element] = contract::penalize(values_[element], 1, marks_[element], penalties);
    marks_[element] = kDone;
  };
  for_each_other(begin, [&](int64_t element) { marks_[element] = 0; });
  for_each_known([&](int64_t element, int32_t count) { marks_[element] = count; });
  if (counts) for_each_other(first, [&](int64_t element) { ++marks_[element]; });
  for_each_known([&](int64_t element, int32_t) { apply(element); });
  for_each_other(begin, apply);
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
  const int32_t limit = breakers.repeat_limit(text, length);
  if (limit < numbers.dry.allowed_length) return SAMPLER_ROW_OK;

  // A mark is the longest repeat that a token would continue, and 1.
  const auto for_each_element = [&](const auto &f) {
    for (int32_t i = 0; i + 1 < length; ++i) {
      const int64_t element = elements_->find(text[i]);
      if (element >= 0) f(element, text[i]);
    }
  };
  for_each_element([&](int64_t element, int64_t) { marks_[element] = 0; });
  contract::visit_repeats(text, length, limit, lengths_, [&](int64_t id, int32_t repeat) {
    if (repeat < numbers.dry.allowed_length) return;
    const int64_t element = elements_->find(id);
    if (element >= 0) marks_[element] = std::max(marks_[element], repeat + 1);
  });
  for_each_element([&](int64_t element, int64_t id) {
    const int32_t repeat = marks_[element] - 1;
    if (repeat < 0) return;
    marks_[element] = 0;
    if (breakers.has_token(id)) return;
    values_[element] = contract::penalize_repeat(values_[element], numbers.dry, repeat);
  });
  return SAMPLER_ROW_OK;
}

void RowEdits::ban_ngrams(const EditNumbers &numbers, const Text &text) {
  if (numbers.no_repeat_ngram_size <= 0) return;
  contract::visit_ngram_bans(text, int32_t(text.length()), numbers.no_repeat_ngram_size, lengths_,
                             [&](int64_t id) { ban(id); });
}

}  // namespace sampler::cpu
