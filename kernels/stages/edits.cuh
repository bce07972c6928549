// Logits processors of a row by its slot's lists and history, by a team. CPU twin: src/cpu/edits.
//
// The row is f32 in the workspace. Changes of the whole row are passes of aligned vectors; changes
// of single tokens are spread over the team's threads, list by list.
#pragma once

#include <cstdint>

#include "contract/edits.h"
#include "contract/pipeline.h"
#include "contract/repeats.h"
#include "machine/team.cuh"
#include "row/row.cuh"
#include "stages/edited_row.cuh"
#include "stages/text_edits.cuh"

namespace sampler::kernels {

// EditedRow: a class like that of edited_row.cuh.
template <class Context, class EditedRow>
class TeamEdits {
 public:
  SAMPLER_DEVICE TeamEdits(const EditedRow &row, const contract::Pipeline &pipeline)
      : row_(row), pipeline_(pipeline), text_edits_(row, pipeline) {}

  // From now on edits record in `removed_by`, by element, the stage that made it -inf, where it is
  // 0. Null: not recorded.
  SAMPLER_DEVICE void note_removals(uint8_t *removed_by) { removed_by_ = removed_by; }

  // From now on rows have this history, not their slot's.
  SAMPLER_DEVICE void assume(const StagedText *text) { text_edits_.assume(text); }

  // Edits the row in pipeline order, with the slot's valid numbers. Returns the status, the same in
  // all threads. Needs a barrier of the team before it and ends with one.
  SAMPLER_DEVICE uint32_t edit(int64_t slot, int64_t output) {
    slot_ = slot;
    output_ = output;
    numbers_ = pipeline_.numbers(slot);
    uint32_t status = text_edits_.read(slot, output, numbers_);
    for (const sampler_stage stage : pipeline_.edits) {
      if (status == SAMPLER_ROW_OK) status = edit_by(stage);
      if (removed_by_) note_removals_by(stage);
    }
    return status;
  }

 private:
  using TokenList = contract::TokenList;

  SAMPLER_DEVICE uint32_t edit_by(sampler_stage stage) {
    switch (stage) {
      case SAMPLER_STAGE_BIAS: {
        const uint32_t status = guide();
        return status == SAMPLER_ROW_OK ? add_biases() : status;
      }
      case SAMPLER_STAGE_MASK:
        return ban_by_mask();
      case SAMPLER_STAGE_PENALTIES:
        return text_edits_.penalize(slot_);
      case SAMPLER_STAGE_DRY:
        return text_edits_.lower_repeats();
      default:
        text_edits_.ban_ngrams();
        return SAMPLER_ROW_OK;
    }
  }

  SAMPLER_DEVICE_CALL void note_removals_by(sampler_stage stage) const {
    row_.for_each(0, row_.count(), [&](int64_t i) {
      const bool is_removed =
          removed_by_[i] == 0 && row_.value(int(i)) == contract::negative_infinity();
      if (is_removed) removed_by_[i] = uint8_t(stage);
    });
    row_.team.ctx.team_sync();
  }

  // ---- Guidance and biases

  SAMPLER_DEVICE_CALL uint32_t guide() {
    const contract::Guidance &guidance = pipeline_.guidance;
    if (!guidance.guides(slot_, output_)) return SAMPLER_ROW_OK;
    contract::GuidanceRow other;
    if (!guidance.find(output_, &other)) return SAMPLER_ROW_INVALID_INDEX;
    const float scale = numbers_.guidance_scale;
    row_.change_all(
        [=](int element, float x) { return contract::guide(x, other[element], scale); });
    return SAMPLER_ROW_OK;
  }

  SAMPLER_DEVICE_CALL uint32_t add_biases() {
    if (pipeline_.biased) {
      TokenList biased;
      if (!pipeline_.biased.find_by_slot(slot_, &biased)) return SAMPLER_ROW_INVALID_LIST;
      if (biased.count > 0) {
        const uint32_t status = add_biases(biased, pipeline_.biases + biased.begin);
        if (status != SAMPLER_ROW_OK) return status;
      }
    }
    if (pipeline_.dense_bias) add_dense_bias();
    return SAMPLER_ROW_OK;
  }

  // Any thread edits a token that is listed once; one warp adds the biases of the others in the
  // list's order.
  SAMPLER_DEVICE uint32_t add_biases(const TokenList &list, const float *biases) {
    Context &ctx = row_.team.ctx;
    bool is_invalid = false, has_bad_context = false;
    row_.for_each(0, list.count, [&](int64_t i) {
      is_invalid = is_invalid || !contract::is_valid_bias(biases[i]);
      TokenList context;
      has_bad_context =
          has_bad_context ||
          (pipeline_.bias_contexts && !pipeline_.bias_contexts.find(list.begin + i, &context));
    });
    row_.for_each_listed(list, [&](int element, int64_t) { row_.set_mark(element, 0); });
    if (row_.any(is_invalid)) return SAMPLER_ROW_INVALID_PARAMETER;
    if (row_.any(has_bad_context)) return SAMPLER_ROW_INVALID_LIST;
    row_.for_each_listed(list, [&](int element, int64_t i) {
      if (is_in_context(list.begin + i)) ctx.atomic_add(&row_.marks[element], 1u);
    });
    bool comes_again = false;
    row_.for_each_listed(list, [&](int element, int64_t i) {
      if (!is_in_context(list.begin + i)) return;
      if (row_.marks[element] == 1) {
        row_.value(element) = contract::add_bias(row_.value(element), biases[i]);
      } else {
        comes_again = true;
      }
    });
    if (row_.any(comes_again)) {
      if (row_.team.is_leader() && ctx.warp() == 0) add_in_order(list, biases);
      ctx.team_sync();
    }
    return SAMPLER_ROW_OK;
  }

  // Whether the entry's bias applies, by the text before.
  SAMPLER_DEVICE bool is_in_context(int64_t entry) const {
    TokenList context;
    if (!pipeline_.bias_contexts || !pipeline_.bias_contexts.find(entry, &context)) return true;
    const StagedText &text = text_edits_.text();
    return context.count <= text.length() &&
           contract::ends_in(text, int32_t(text.length()), context, int32_t(context.count));
  }

  // Tokens that are listed more than once. Called by the whole warp.
  SAMPLER_DEVICE void add_in_order(const TokenList &list, const float *biases) const {
    Context &ctx = row_.team.ctx;
    for (int64_t first = 0; first < list.count; first += 32) {
      const int64_t i = first + ctx.lane();
      const bool applies = i < list.count && is_in_context(list.begin + i);
      const int element = applies ? row_.find(list[i]) : -1;
      const bool comes_again = element >= 0 && row_.marks[element] > 1;
      const uint32_t alike = ctx.warp_match(uint32_t(element));
      const int turn = Context::count_bits(alike & ((uint32_t(1) << ctx.lane()) - 1));
      const int num_turns = int(ctx.warp_max(comes_again ? uint32_t(turn) + 1 : 0));
      for (int now = 0; now < num_turns; ++now) {
        if (comes_again && turn == now) {
          row_.value(element) = contract::add_bias(row_.value(element), biases[i]);
        }
        ctx.warp_sync();
      }
    }
  }

  SAMPLER_DEVICE void add_dense_bias() {
    const int64_t width = pipeline_.dense_bias_stride;
    const float *const biases =
        pipeline_.dense_bias + (pipeline_.dense_bias_by_slot ? slot_ * width : 0);
    row_.change_all([=](int element, float x) {
      const int64_t id = row_.id_of_element(element);
      return id < width ? contract::add_bias(x, biases[id]) : x;
    });
  }

  // ---- Bans

  // A barrier follows.
  SAMPLER_DEVICE void ban(const TokenList &list) const {
    row_.for_each_listed(list, [&](int element, int64_t) { row_.ban(element); });
  }

  SAMPLER_DEVICE_CALL uint32_t ban_by_mask() {
    uint32_t status = ban_lists();
    if (status == SAMPLER_ROW_OK) status = ban_bad_words();
    if (status != SAMPLER_ROW_OK || !pipeline_.stop) return status;
    TokenList stop;
    if (!pipeline_.stop.find_by_slot(slot_, &stop)) return SAMPLER_ROW_INVALID_LIST;
    if (contract::bans_stop_tokens(text_edits_.text().output_length(), numbers_.min_new_tokens))
      ban(stop);
    return SAMPLER_ROW_OK;
  }

  SAMPLER_DEVICE uint32_t ban_lists() {
    TokenList list;
    bool has_list;
    if (!pipeline_.find_allowed(slot_, output_, &list, &has_list)) return SAMPLER_ROW_INVALID_LIST;
    if (has_list) allow(list);
    if (pipeline_.banned) {
      if (!pipeline_.banned.find_by_slot(slot_, &list)) return SAMPLER_ROW_INVALID_LIST;
      ban(list);
    }
    if (pipeline_.bitmasks) {
      const int64_t mask = pipeline_.bitmask_indices ? pipeline_.bitmask_indices[output_] : output_;
      if (mask >= pipeline_.num_bitmasks) return SAMPLER_ROW_INVALID_INDEX;
      if (mask >= 0) apply_bitmask(pipeline_.bitmasks + mask * pipeline_.bitmask_stride);
    }
    return SAMPLER_ROW_OK;
  }

  SAMPLER_DEVICE void allow(const TokenList &list) {
    row_.clear_bits();
    row_.for_each_listed(list, [&](int element, int64_t) { row_.mark_bit(element); });
    row_.keep_marked(contract::negative_infinity());
  }

  SAMPLER_DEVICE void apply_bitmask(const uint32_t *words) {
    const int64_t num_words = pipeline_.bitmask_stride;
    const contract::BitmaskRule rule = pipeline_.bitmask_rule;
    row_.change_all([=](int element, float x) {
      return contract::ban(
          x, !contract::bitmask_allows(words, num_words, row_.id_of_element(element), rule));
    });
  }

  SAMPLER_DEVICE uint32_t ban_bad_words() {
    const contract::TokenLists &words = pipeline_.bad_words;
    if (!words) return SAMPLER_ROW_OK;
    const int64_t *const offsets = pipeline_.bad_word_offsets;
    const int64_t begin = offsets ? offsets[slot_] : 0;
    const int64_t end = offsets ? offsets[slot_ + 1] : words.num_lists;
    if (begin < 0 || begin > end || end > words.num_lists) return SAMPLER_ROW_INVALID_LIST;
    const int64_t length = pipeline_.bad_words_end_output ? text_edits_.text().output_length()
                                                          : text_edits_.text().length();
    bool is_invalid = false;
    row_.for_each(begin, end, [&](int64_t i) {
      TokenList word;
      if (!words.find(i, &word) || word.count == 0) {
        is_invalid = true;
        return;
      }
      if (word.count > length + 1) return;
      if (contract::bans_word_end(text_edits_.text(), int32_t(length), word, int32_t(word.count))) {
        row_.ban(row_.find(word[word.count - 1]));
      }
    });
    return row_.any(is_invalid) ? SAMPLER_ROW_INVALID_LIST : SAMPLER_ROW_OK;
  }

  const EditedRow &row_;
  const contract::Pipeline &pipeline_;
  TextEdits<Context, EditedRow> text_edits_;
  uint8_t *removed_by_ = nullptr;
  int64_t slot_ = 0;
  int64_t output_ = 0;
  contract::EditNumbers numbers_ = {};
};

}  // namespace sampler::kernels
