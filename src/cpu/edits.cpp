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

  // f(text) for a text of the ids' own type, which are read faster: the newest `length` tokens.
  template <class F>
  void with_ids(int64_t length, const F &f) const {
    const int64_t end = history_.begin + history_.count;
    if (history_.type == SAMPLER_ID_I32) {
      const auto *const ids = static_cast<const int32_t *>(history_.ids);
      f(contract::NewestFirst<int32_t>{ids + end, int32_t(length)});
    } else {
      const auto *const ids = static_cast<const int64_t *>(history_.ids);
      f(contract::NewestFirst<int64_t>{ids + end, int32_t(length)});
    }
  }

  // At most so many tokens are not the same.
  int64_t num_distinct() const { return counts_.num_tokens + length() - counts_.length; }

  // What is known without a look at the tokens.
  const Counts &counts() const { return counts_; }

 private:
  TokenList history_;
  int64_t prompt_length_ = 0;
  Counts counts_;
};

namespace {

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

}  // namespace

// No bit is asked by itself: the compiler makes vectors of this.
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

// ---- All edits

bool RowEdits::are_dense(int64_t slot, const contract::RowView &given) const {
  const contract::Pipeline &pipeline = *pipeline_;
  if (pipeline.dense_bias || pipeline.allowed) return true;
  if (pipeline.bitmasks && pipeline.bitmask_stride * 32 < given.count) return true;
  int64_t num_edits = pipeline.bad_words ? pipeline.bad_words.num_lists : 0;
  if (pipeline.sequences) num_edits += Text(pipeline.sequences[slot]).num_distinct();
  for (const auto *lists :
       {&pipeline.history, &pipeline.biased, &pipeline.banned, &pipeline.stop}) {
    TokenList list;
    if (*lists && lists->find_by_slot(slot, &list)) num_edits += list.count;
  }
  return num_edits * EditedRow::kElementsPerEdit > given.count;
}

const uint32_t *RowEdits::bitmask(int64_t output, const contract::RowView &given) const {
  const contract::Pipeline &pipeline = *pipeline_;
  const contract::StageOrder &edits = pipeline.edits;
  if (!pipeline.bitmasks || given.ids) return nullptr;
  if (std::find(edits.begin(), edits.end(), SAMPLER_STAGE_MASK) == edits.end()) return nullptr;
  const int64_t mask = bitmask_index(output);
  if (mask < 0 || mask >= pipeline.num_bitmasks) return nullptr;
  return pipeline.bitmasks + mask * pipeline.bitmask_stride;
}

uint32_t RowEdits::edit(int64_t slot, int64_t output, const contract::RowView &given,
                        const Elements &elements, bool is_dense) {
  slot_ = slot;
  output_ = output;
  given_ = given;
  elements_ = &elements;
  row_.begin(given, is_dense);
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
  const float *const values = row_.values();
  for (int64_t i = 0; i < given_.count; ++i) {
    const bool is_removed = removed_by_[i] == 0 && values[i] == contract::negative_infinity();
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
      if (element < 0) continue;
      float &value = row_.value(element);
      value = contract::add_bias(value, biases[i]);
    }
  }
  if (pipeline_->dense_bias) add_dense_bias();
  return SAMPLER_ROW_OK;
}

void RowEdits::add_dense_bias() {
  const int64_t width = pipeline_->dense_bias_stride;
  const float *const biases =
      pipeline_->dense_bias + (pipeline_->dense_bias_by_slot ? slot_ * width : 0);
  float *const values = row_.values();
  if (!given_.ids) {
    const int64_t count = std::min<int64_t>(given_.count, width);
    for (int64_t i = 0; i < count; ++i) values[i] = contract::add_bias(values[i], biases[i]);
    return;
  }
  for (int64_t i = 0; i < given_.count; ++i) {
    const int64_t id = given_.id(i);
    if (id < width) values[i] = contract::add_bias(values[i], biases[id]);
  }
}

// ---- Bans

void RowEdits::ban(int64_t id) {
  const int64_t element = elements_->find(id);
  if (element < 0) return;
  float &value = row_.value(element);
  value = contract::ban(value, true);
}

void RowEdits::ban(const TokenList &list) {
  for (int64_t i = 0; i < list.count; ++i) ban(list[i]);
}

void RowEdits::allow(const TokenList &list) {
  for (int64_t i = 0; i < list.count; ++i) {
    const int64_t element = elements_->find(list[i]);
    if (element >= 0) row_.mark_at(row_.slot(element)) = 0;
  }
  float *const values = row_.values();
  for (int64_t i = 0; i < given_.count; ++i) {
    const int32_t slot = row_.find(i);
    values[i] = contract::ban(values[i], slot < 0 || row_.mark_at(slot) != 0);
  }
  for_each_marked([](int32_t, float &, int32_t) {});
}

// f(slot, value, mark) for all that are marked, which they are not any more then.
template <class F>
void RowEdits::for_each_marked(const F &f) {
  for (int32_t slot = 0; slot < row_.num_slots(); ++slot) {
    int32_t &mark = row_.mark_at(slot);
    if (mark == EditedRow::kUnmarked) continue;
    f(slot, row_.value_at(slot), mark);
    mark = EditedRow::kUnmarked;
  }
}

void RowEdits::apply_bitmask(const uint32_t *words) {
  const int64_t num_words = pipeline_->bitmask_stride;
  if (!row_.is_dense()) return row_.allow(words);
  float *const values = row_.values();
  int64_t begin = 0;
  if (!given_.ids) {
    // Whole words, of columns.
    const int64_t whole = std::min<int64_t>(given_.count / 32, num_words);
    for (int64_t i = 0; i < whole; ++i) {
      if (words[i] != UINT32_MAX) ban_by_word(words[i], values + 32 * i);
    }
    begin = 32 * whole;
  }
  for (int64_t i = begin; i < given_.count; ++i) {
    const bool allowed =
        contract::bitmask_allows(words, num_words, given_.id(i), pipeline_->bitmask_rule);
    values[i] = contract::ban(values[i], !allowed);
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
    const int64_t mask = bitmask_index(output_);
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
  // A mark is how often a token counts, of those that occur at all.
  const bool has_window = numbers.penalty_window > 0 && numbers.penalty_window < text.length();
  const Counts known = has_window ? Counts() : text.counts();
  for (int64_t i = 0; i < known.num_tokens; ++i) {
    const contract::TokenCount &token = known.tokens[i];
    const int32_t repeated =
        token.in_output + (scope == SAMPLER_PENALTY_SCOPE_OUTPUT ? 0 : token.in_prompt);
    const int32_t count =
        token.in_output + (scope == SAMPLER_PENALTY_SCOPE_ALL ? token.in_prompt : 0);
    if ((repetition ? repeated : count) == 0) continue;
    const int64_t element = elements_->find(token.id);
    if (element >= 0) row_.mark_at(row_.slot(element)) = counts ? count : 0;
  }
  const auto num_from = [&](int64_t place) {
    return text.length() - std::max(place, known.length);
  };
  text.with_ids(num_from(begin), [&](const auto &tokens) {
    row_.count_marks(tokens.length, counts ? num_from(first) : 0,
                     [&](int32_t i) { return elements_->find(tokens[i]); });
  });
  for_each_marked([&](int32_t, float &value, int32_t count) {
    value = contract::penalize(value, 1, count, penalties);
  });
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

  // A mark is the longest repeat that a token would continue.
  text.with_ids(length, [&](const auto &tokens) {
    contract::visit_repeats(tokens, length, limit, lengths_, [&](int64_t id, int32_t repeat) {
      if (repeat < numbers.dry.allowed_length) return;
      const int64_t element = elements_->find(id);
      if (element < 0) return;
      int32_t &mark = row_.mark_at(row_.slot(element));
      mark = std::max(mark, repeat);
    });
  });
  for_each_marked([&](int32_t slot, float &value, int32_t repeat) {
    if (breakers.has_token(given_.id(row_.element_at(slot)))) return;
    value = contract::penalize_repeat(value, numbers.dry, repeat);
  });
  return SAMPLER_ROW_OK;
}

void RowEdits::ban_ngrams(const EditNumbers &numbers, const Text &text) {
  if (numbers.no_repeat_ngram_size <= 0) return;
  text.with_ids(text.length(), [&](const auto &tokens) {
    contract::visit_ngram_bans(tokens, tokens.length, numbers.no_repeat_ngram_size, lengths_,
                               [&](int64_t id) { ban(id); });
  });
}

}  // namespace sampler::cpu
