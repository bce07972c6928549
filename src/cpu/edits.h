// What a slot's lists and text make of a row of logits, before the temperature.
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
  // `memory.take<T>(count)` gives the arrays.
  template <class Memory>
  RowEdits(const contract::Pipeline &pipeline, const contract::Rows &input, Memory &memory)
      : pipeline_(&pipeline), row_(input.num_cols, memory) {
    if (pipeline.seeks_repeats()) {
      lengths_ = memory.template take<int32_t>(pipeline.max_history + pipeline.max_assumed);
    }
  }

  // What the slot has said. The result is a status.
  static uint32_t read_text(const contract::Pipeline &pipeline, int64_t slot, Text *text);

  // From now on the sequence has said this. Null: what its slot has.
  void assume(const Text *text) { assumed_ = text; }

  // From now on edits note in `removed_by`, by element, which stage made it -inf, where there is 0:
  // of dense edits. Null: nowhere.
  void note_removals(uint8_t *removed_by) { removed_by_ = removed_by; }

  // Whether so much of a row is edited that it is better copied first.
  bool are_dense(int64_t slot, const contract::RowView &given) const;

  // Whether the edits of a row's first tokens may tell which are the first ones afterwards: no
  // other token's logit is raised.
  bool may_edit_front(int64_t slot, const contract::RowView &given) const;

  // The bitmask that edit() will apply to a row that is not dense; null: there is none.
  const uint32_t *bitmask(int64_t output, const contract::RowView &given) const;

  // Edits the logits of the row `given`, in the order of the pipeline: where they are dense, the
  // copy in row()->values(). The slot's numbers are valid. The result is the status, after which a
  // bad row's logits mean nothing.
  uint32_t edit(int64_t slot, int64_t output, const contract::RowView &given,
                const Elements &elements, bool is_dense);

  // The same of a row that is not dense, where penalties may leave out tokens that are not of the
  // front, whose logits are too large then. False: too many tokens would be edited.
  bool edit_front(int64_t slot, int64_t output, const contract::RowView &given,
                  const Elements &elements, const Front &front, uint32_t *status);

  const EditedRow &row() const { return row_; }

 private:
  // Of a row of so many elements: room for slots of edits, and how many penalties of a front take.
  static int64_t num_front_slots(const contract::RowView &given) {
    return given.count / (4 * EditedRow::kElementsPerEdit);
  }

  int64_t num_edits(int64_t slot, bool has_text) const;
  bool has_dense_lists(int64_t slot, const contract::RowView &given) const;
  void note_removals_by(sampler_stage stage) const;

  // Negative: the row has none.
  int64_t bitmask_index(int64_t output) const {
    return pipeline_->bitmask_indices ? pipeline_->bitmask_indices[output] : output;
  }

  // Each is the row's status.
  uint32_t edit_by(sampler_stage stage, const contract::EditNumbers &numbers, const Text &text);
  uint32_t add_biases();
  uint32_t ban(const contract::EditNumbers &numbers, const Text &text);
  uint32_t ban_lists();
  uint32_t ban_bad_words(const Text &text);
  uint32_t lower_repeats(const contract::EditNumbers &numbers, const Text &text);

  void add_dense_bias();
  void allow(const contract::TokenList &list);
  void ban(const contract::TokenList &list);
  void ban(int64_t id);
  void apply_bitmask(const uint32_t *words);
  void penalize(const contract::EditNumbers &numbers, const Text &text);
  struct PenalizedText;
  TextCounts known_counts(const contract::EditNumbers &numbers, const Text &text) const;
  PenalizedText penalized_text(const contract::EditNumbers &numbers, const Text &text) const;
  void mark_known(const PenalizedText &penalized, const contract::TokenCount &token);
  void mark_all(const PenalizedText &penalized);
  void mark_front(const PenalizedText &penalized);
  template <class Id>
  void mark_one(const Id *begin, const Id *counted, const Id *end);
  template <class Id>
  void mark_picked(const Id *begin, const Id *counted, const Id *end);
  template <class F>
  void for_each_wanted(const F &f) const;
  void ban_ngrams(const contract::EditNumbers &numbers, const Text &text);

  bool has_valid_breakers();

  const contract::Pipeline *pipeline_ = nullptr;
  int32_t *lengths_ = nullptr;  // of repeats
  const Text *assumed_ = nullptr;
  uint8_t *removed_by_ = nullptr;

  enum class Known { kNo, kValid, kInvalid } breakers_ = Known::kNo;

  // The row that is edited.
  Front front_;  // null: all tokens are edited
  bool has_overrun_ = false;
  int64_t slot_ = 0;
  int64_t output_ = 0;
  contract::RowView given_ = {};
  const Elements *elements_ = nullptr;
  EditedRow row_;
};

}  // namespace sampler::cpu
