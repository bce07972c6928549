// Edits of a row's logits by a slot's lists and history, before the temperature.
#pragma once

#include <cstdint>

#include "contract/pipeline.h"
#include "contract/row_view.h"
#include "cpu/edited_row.h"
#include "cpu/elements.h"
#include "cpu/front.h"

namespace sampler::cpu {

class Text;  // cpu/text.h
struct TextCounts;

// The edits of section 14.1 of docs/contract.md.
class RowEdits {
 public:
  RowEdits() = default;
  // `memory.take<T>(count)` returns the arrays.
  template <class Memory>
  RowEdits(const contract::Pipeline &pipeline, const contract::Rows &input, Memory &memory)
      : pipeline_(&pipeline), row_(input.num_cols, memory) {
    if (pipeline.seeks_repeats()) {
      lengths_ = memory.template take<int32_t>(pipeline.max_history + pipeline.max_assumed);
    }
    if (pipeline.may_list_allowed())
      allowed_ = memory.template take<uint32_t>((input.num_cols + 31) / 32);
  }

  // Reads a slot's history; returns a row status.
  static uint32_t read_text(const contract::Pipeline &pipeline, int64_t slot, Text *text);

  // Sets the history used from here on. Null: the slot's own.
  void assume(const Text *text) { assumed_ = text; }

  // From here on dense edits record in `removed_by`, by element, the first stage that sets a logit
  // to -inf; entries other than 0 stay. Null: no record.
  void note_removals(uint8_t *removed_by) { removed_by_ = removed_by; }

  // Whether enough tokens are edited that a dense copy is better.
  bool are_dense(int64_t slot, int64_t output, const contract::RowView &given) const;

  // Whether editing the row's first tokens alone may suffice to find the first tokens afterwards:
  // the penalties raise no logit.
  bool may_edit_front(int64_t slot, int64_t output, const contract::RowView &given) const;

  // The bitmask that edit() will apply to a sparse row: the output's, and the list of allowed
  // tokens. Null: none, or a full one. Valid until the next call for another row, which makes it
  // anew.
  const uint32_t *bitmask(int64_t slot, int64_t output, const contract::RowView &given);

  // Edits the logits of the row `given` in pipeline order. `passes` null: dense, the copy in
  // row().values(); otherwise sparse.
  // The slot's parameters are valid. Returns the status; the logits of a bad row are undefined.
  uint32_t edit(int64_t slot, int64_t output, const contract::RowView &given,
                const Elements &elements, const Passes *passes);

  // The same for a sparse row. Penalties may skip tokens outside the front, whose logits are then
  // too large. False if too many tokens would be edited.
  bool edit_front(int64_t slot, int64_t output, const contract::RowView &given,
                  const Elements &elements, const Front &front, uint32_t *status);

  const EditedRow &row() const { return row_; }

 private:
  // Maximum number of slots that the penalties of a front may take.
  static int64_t num_front_slots(const contract::RowView &given) {
    return given.count / (4 * EditedRow::kElementsPerEdit);
  }

  int64_t num_edits(int64_t slot, bool has_text) const;
  bool has_dense_lists(int64_t slot, int64_t output, const contract::RowView &given) const;
  void note_removals_by(sampler_stage stage) const;

  // Negative: no bitmask.
  int64_t bitmask_index(int64_t output) const {
    return pipeline_->bitmask_indices ? pipeline_->bitmask_indices[output] : output;
  }

  // These return the row's status.
  uint32_t edit_by(sampler_stage stage, const contract::EditNumbers &numbers, const Text &text);
  uint32_t guide(float scale);
  uint32_t add_biases(const Text &text);
  uint32_t ban(const contract::EditNumbers &numbers, const Text &text);
  uint32_t ban_lists();
  uint32_t ban_bad_words(const Text &text);
  uint32_t lower_repeats(const contract::EditNumbers &numbers, const Text &text);

  const uint32_t *make_bitmask(int64_t slot, int64_t output, const contract::RowView &given) const;
  void add_dense_bias();
  void allow(const contract::TokenList &list);
  void ban(const contract::TokenList &list);
  void ban(int64_t id);
  void apply_bitmask(const uint32_t *words);
  uint32_t penalize(const contract::EditNumbers &numbers, const Text &text);
  uint32_t penalize_repeated(const contract::EditNumbers &numbers, const Text &text);
  uint32_t raise_stops(float gain);
  struct PenalizedText;
  TextCounts known_counts(const contract::EditNumbers &numbers, const Text &text) const;
  PenalizedText penalized_text(const contract::EditNumbers &numbers, const Text &text) const;
  template <class Id>
  void mark(const Id *begin, const Id *end, int32_t count);
  void mark_all(const PenalizedText &penalized);
  void mark_front(const PenalizedText &penalized);
  template <class Id>
  void mark_one(const Id *begin, const Id *counted, const Id *end);
  template <class Id>
  void mark_picked(const Id *begin, const Id *counted, const Id *end);
  bool may_raise_stops() const {
    return pipeline_->stop && pipeline_->numbers(slot_).decay.is_on();
  }
  template <class F>
  void for_each_wanted(const F &f) const;
  void ban_ngrams(const contract::EditNumbers &numbers, const Text &text);

  bool has_valid_breakers();

  const contract::Pipeline *pipeline_ = nullptr;
  int32_t *lengths_ = nullptr;   // lengths of repeats
  uint32_t *allowed_ = nullptr;  // a bitmask of the listed tokens; null: no lists
  const Text *assumed_ = nullptr;
  uint8_t *removed_by_ = nullptr;

  // The row that bitmask() was last asked for.
  struct Mask {
    const void *values = nullptr;
    int64_t slot = 0, output = 0;
    const uint32_t *words = nullptr;
  } last_mask_;

  enum class Known { kNo, kValid, kInvalid } breakers_ = Known::kNo;

  // The current row.
  Front front_;  // without ids: all tokens are edited
  bool has_overrun_ = false;
  int64_t slot_ = 0;
  int64_t output_ = 0;
  contract::RowView given_ = {};
  const Elements *elements_ = nullptr;
  const Passes *passes_ = nullptr;
  EditedRow row_;
};

}  // namespace sampler::cpu
