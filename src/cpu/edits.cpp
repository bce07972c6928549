// Edits of a row: the order of stages, biases, bans.
#include "cpu/edits.h"

#include <algorithm>

#include "cpu/text.h"

namespace sampler::cpu {

using contract::EditNumbers;
using contract::TokenList;

namespace {

// For each byte of a bitmask, 8 words: all ones if the bit is set, otherwise 0.
struct AllowedBits {
  constexpr AllowedBits() : of() {
    for (int byte = 0; byte < 256; ++byte) {
      for (int i = 0; i < 8; ++i) of[byte][i] = (byte >> i & 1) != 0 ? UINT32_MAX : 0u;
    }
  }
  uint32_t of[256][8];
};
constexpr AllowedBits kAllowedBits;

// Whether a bitmask has the bits of all `count` elements. Ends at the first word that is not full.
bool allows_all(const uint32_t *words, int64_t num_words, int64_t count) {
  if (count > 32 * num_words) return false;
  const int64_t whole = count / 32;
  if (!std::all_of(words, words + whole, [](uint32_t word) { return word == UINT32_MAX; })) {
    return false;
  }
  return count % 32 == 0 || (~words[whole] << (32 - count % 32)) == 0;
}

// Bans those of 32 values that a bitmask's word does not allow. Branchless, so that the compiler
// vectorises it.
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

// Edits a few logits by as many others: any(x, other), which is finite(x, other) of finite ones.
// The usual case, all of them finite, is two loops that the compiler vectorises.
constexpr int64_t kDenseBlock = 256;
template <class Finite, class Any>
void edit_dense(const float *__restrict others, int64_t count, const Finite &finite, const Any &any,
                float *__restrict values) {
  constexpr uint32_t kSign = 0x80000000u, kExponentUnit = 0x00800000u;
  uint32_t not_finite = 0;  // the sign bit, where an exponent is the largest
  for (int64_t i = 0; i < count; ++i) {
    not_finite |= (contract::bits_of(values[i]) & ~kSign) + kExponentUnit;
    not_finite |= (contract::bits_of(others[i]) & ~kSign) + kExponentUnit;
  }
  if ((not_finite & kSign) == 0) {
    for (int64_t i = 0; i < count; ++i) values[i] = finite(values[i], others[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) values[i] = any(values[i], others[i]);
  }
}

// Elements [begin, begin + count) as f32: where they are, or widened in `block`.
const float *widened(const contract::GuidanceRow &row, int64_t begin, int64_t count,
                     float *__restrict block) {
  const auto *const halfs = static_cast<const uint16_t *>(row.logits) + row.begin + begin;
  switch (row.dtype) {
    case SAMPLER_F32:
      return static_cast<const float *>(row.logits) + row.begin + begin;
    case SAMPLER_BF16:
      std::transform(halfs, halfs + count, block, contract::widen_bf16);
      return block;
    default:
      std::transform(halfs, halfs + count, block, contract::widen_f16);
      return block;
  }
}

}  // namespace

// ---- All edits

bool RowEdits::has_dense_lists(int64_t slot, int64_t output, const contract::RowView &given) const {
  const contract::Pipeline &pipeline = *pipeline_;
  TokenList allowed = {};
  bool lists_allowed = false;
  if (given.ids) pipeline.find_allowed(slot, output, &allowed, &lists_allowed);
  return pipeline.guidance.guides(slot, output) || pipeline.dense_bias || lists_allowed ||
         (pipeline.bitmasks && pipeline.bitmask_stride * 32 < given.count);
}

// Upper bound of edited tokens. `has_text`: including those of the history.
int64_t RowEdits::num_edits(int64_t slot, bool has_text) const {
  const contract::Pipeline &pipeline = *pipeline_;
  int64_t result = pipeline.bad_words ? pipeline.bad_words.num_lists : 0;
  if (has_text && assumed_) {
    result += assumed_->num_distinct();
    has_text = false;
  }
  if (has_text && pipeline.state_slots) result += Text(pipeline.state_slots[slot]).num_distinct();
  for (const auto *lists :
       {&pipeline.history, &pipeline.biased, &pipeline.banned, &pipeline.stop}) {
    TokenList list;
    if (lists == &pipeline.history && !has_text) continue;
    if (*lists && lists->find_by_slot(slot, &list)) result += list.count;
  }
  return result;
}

bool RowEdits::are_dense(int64_t slot, int64_t output, const contract::RowView &given) const {
  if (has_dense_lists(slot, output, given)) return true;
  const EditNumbers numbers = pipeline_->numbers(slot);
  const bool edits_text = numbers.penalties_are_on() || numbers.seek_repeats();
  return num_edits(slot, edits_text) * EditedRow::kElementsPerEdit > given.count;
}

bool RowEdits::may_edit_front(int64_t slot, int64_t output, const contract::RowView &given) const {
  constexpr int64_t kLeastColumns = 2048;
  const contract::StageOrder &edits = pipeline_->edits;
  if (given.count < kLeastColumns || has_dense_lists(slot, output, given)) return false;
  if (std::find(edits.begin(), edits.end(), SAMPLER_STAGE_PENALTIES) == edits.end()) return false;
  const EditNumbers numbers = pipeline_->numbers(slot);
  if (!numbers.penalties_are_on()) return false;
  const int64_t others = num_edits(slot, numbers.seek_repeats());
  return contract::only_lower(numbers.penalties) &&
         others * EditedRow::kElementsPerEdit <= given.count - given.count / 4;
}

const uint32_t *RowEdits::bitmask(int64_t slot, int64_t output, const contract::RowView &given) {
  Mask &last = last_mask_;
  if (last.values != given.values || last.output != output || last.slot != slot) {
    last = {given.values, slot, output, make_bitmask(slot, output, given)};
  }
  return last.words;
}

const uint32_t *RowEdits::make_bitmask(int64_t slot, int64_t output,
                                       const contract::RowView &given) const {
  const contract::Pipeline &pipeline = *pipeline_;
  const contract::StageOrder &edits = pipeline.edits;
  if (given.ids) return nullptr;
  if (std::find(edits.begin(), edits.end(), SAMPLER_STAGE_MASK) == edits.end()) return nullptr;
  const uint32_t *words = nullptr;
  if (pipeline.bitmasks) {
    const int64_t mask = bitmask_index(output);
    if (mask >= 0 && mask < pipeline.num_bitmasks) {
      words = pipeline.bitmasks + mask * pipeline.bitmask_stride;
      if (allows_all(words, pipeline.bitmask_stride, given.count)) words = nullptr;
    }
  }
  TokenList list;
  bool has_list;
  if (!pipeline.find_allowed(slot, output, &list, &has_list) || !has_list) return words;
  const int64_t num_words = (given.count + 31) / 32;
  std::fill_n(allowed_, num_words, 0u);
  for (int64_t i = 0; i < list.count; ++i) {
    const int64_t id = list[i];
    if (id >= 0 && id < given.count) allowed_[id / 32] |= 1u << (id % 32);
  }
  // A row longer than the mask is dense.
  const int64_t num_masked = words ? std::min(num_words, pipeline.bitmask_stride) : 0;
  for (int64_t i = 0; i < num_masked; ++i) allowed_[i] &= words[i];
  return allowed_;
}

uint32_t RowEdits::edit(int64_t slot, int64_t output, const contract::RowView &given,
                        const Elements &elements, const Passes *passes) {
  slot_ = slot;
  output_ = output;
  given_ = given;
  elements_ = &elements;
  passes_ = passes;
  row_.begin(given, !passes);
  const EditNumbers numbers = pipeline_->numbers(slot);
  Text text;
  uint32_t status = SAMPLER_ROW_OK;
  if (assumed_) {
    text = *assumed_;
  } else {
    status = read_text(*pipeline_, slot, &text);
  }
  for (const sampler_stage stage : pipeline_->edits) {
    if (status != SAMPLER_ROW_OK) break;
    status = edit_by(stage, numbers, text);
    if (removed_by_) note_removals_by(stage);
  }
  return status;
}

bool RowEdits::edit_front(int64_t slot, int64_t output, const contract::RowView &given,
                          const Elements &elements, const Front &front, uint32_t *status) {
  front_ = front;
  has_overrun_ = false;
  *status = edit(slot, output, given, elements, front.passes);
  front_ = {};
  return !has_overrun_;
}

void RowEdits::note_removals_by(sampler_stage stage) const {
  const float *const values = row_.values();
  for (int64_t i = 0; i < given_.count; ++i) {
    const bool is_removed = removed_by_[i] == 0 && values[i] == contract::negative_infinity();
    if (is_removed) removed_by_[i] = uint8_t(stage);
  }
}

uint32_t RowEdits::read_text(const contract::Pipeline &pipeline, int64_t slot, Text *text) {
  contract::SlotHistory history;
  const uint32_t status = contract::read_text(pipeline, slot, &history);
  if (status != SAMPLER_ROW_OK) return status;
  *text = pipeline.state_slots ? Text(pipeline.state_slots[slot])
                               : Text(history.tokens, history.prompt_length);
  return status;
}

uint32_t RowEdits::edit_by(sampler_stage stage, const EditNumbers &numbers, const Text &text) {
  switch (stage) {
    case SAMPLER_STAGE_BIAS: {
      const uint32_t status = guide(numbers.guidance_scale);
      return status == SAMPLER_ROW_OK ? add_biases(text) : status;
    }
    case SAMPLER_STAGE_MASK:
      return ban(numbers, text);
    case SAMPLER_STAGE_PENALTIES:
      return penalize(numbers, text);
    case SAMPLER_STAGE_DRY:
      return lower_repeats(numbers, text);
    default:
      ban_ngrams(numbers, text);
      return SAMPLER_ROW_OK;
  }
}

// ---- Guidance and biases

uint32_t RowEdits::guide(float scale) {
  const contract::Guidance &guidance = pipeline_->guidance;
  if (!guidance.guides(slot_, output_)) return SAMPLER_ROW_OK;
  contract::GuidanceRow other;
  if (!guidance.find(output_, &other)) return SAMPLER_ROW_INVALID_INDEX;
  float *const values = row_.values();
  float block[kDenseBlock];
  for (int64_t i = 0; i < given_.count; i += kDenseBlock) {
    const int64_t count = std::min(kDenseBlock, given_.count - i);
    edit_dense(
        widened(other, i, count, block), count,
        [=](float x, float u) { return contract::saturated(u + scale * (x - u)); },
        [=](float x, float u) { return contract::guide(x, u, scale); }, values + i);
  }
  return SAMPLER_ROW_OK;
}

namespace {

bool ends_in(const Text &text, const contract::TokenLists &lists, int64_t list) {
  TokenList tokens;
  return lists.find(list, &tokens) && tokens.count <= text.length() &&
         contract::ends_in(text, int32_t(text.length()), tokens, int32_t(tokens.count));
}

}  // namespace

uint32_t RowEdits::add_biases(const Text &text) {
  if (pipeline_->biased) {
    TokenList biased;
    if (!pipeline_->biased.find_by_slot(slot_, &biased)) return SAMPLER_ROW_INVALID_LIST;
    const float *const biases = pipeline_->biases + biased.begin;
    if (!std::all_of(biases, biases + biased.count, contract::is_valid_bias)) {
      return SAMPLER_ROW_INVALID_PARAMETER;
    }
    const contract::TokenLists &contexts = pipeline_->bias_contexts;
    TokenList context;
    for (int64_t i = 0; contexts && i < biased.count; ++i) {
      if (!contexts.find(biased.begin + i, &context)) return SAMPLER_ROW_INVALID_LIST;
    }
    for (int64_t i = 0; i < biased.count; ++i) {
      if (contexts && !ends_in(text, contexts, biased.begin + i)) continue;
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
    for (int64_t i = 0; i < count; i += kDenseBlock) {
      edit_dense(
          biases + i, std::min(kDenseBlock, count - i),
          [](float x, float bias) { return contract::saturated(x + bias); }, contract::add_bias,
          values + i);
    }
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
  row_.for_each_marked([](int32_t, float &, int32_t) {});
}

void RowEdits::apply_bitmask(const uint32_t *words) {
  const int64_t num_words = pipeline_->bitmask_stride;
  if (!given_.ids && allows_all(words, num_words, given_.count)) return;
  float *const values = row_.values();
  int64_t begin = 0;
  if (!given_.ids) {
    // Whole words of columns.
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
  bool has_list;
  if (!pipeline.find_allowed(slot_, output_, &list, &has_list)) return SAMPLER_ROW_INVALID_LIST;
  if (has_list && row_.is_dense()) allow(list);
  if (pipeline.banned) {
    if (!pipeline.banned.find_by_slot(slot_, &list)) return SAMPLER_ROW_INVALID_LIST;
    ban(list);
  }
  if (pipeline.bitmasks) {
    const int64_t mask = bitmask_index(output_);
    if (mask >= pipeline.num_bitmasks) return SAMPLER_ROW_INVALID_INDEX;
    if (mask >= 0 && row_.is_dense()) {
      apply_bitmask(pipeline.bitmasks + mask * pipeline.bitmask_stride);
    }
  }
  const uint32_t *const words = row_.is_dense() ? nullptr : bitmask(slot_, output_, given_);
  if (words) row_.allow(words);
  return SAMPLER_ROW_OK;
}

}  // namespace sampler::cpu
