// What a slot's lists and text make of a row of logits, before the temperature.
#pragma once

#include <cstdint>

#include "contract/pipeline.h"
#include "contract/row_view.h"
#include "cpu/edited_row.h"
#include "cpu/elements.h"

namespace sampler::cpu {

class Text;  // cpu/text.h

// The edits of section 14.1 of docs/contract.md.
class RowEdits {
 public:
  RowEdits() = default;
  // `memory.take<T>(count)` gives the arrays.
  template <class Memory>
  RowEdits(const contract::Pipeline &pipeline, const contract::Rows &input, Memory &memory)
      : pipeline_(&pipeline), row_(input.num_cols, memory) {
    if (pipeline.seeks_repeats()) lengths_ = memory.template take<int32_t>(pipeline.max_history);
  }

  // From now on edits note in `removed_by`, by element, which stage made it -inf, where there is 0:
  // of dense edits. Null: nowhere.
  void note_removals(uint8_t *removed_by) { removed_by_ = removed_by; }

  // Whether so much of a row is edited that it is better copied first.
  bool are_dense(int64_t slot, const contract::RowView &given) const;

  // The bitmask that edit() will apply to a row that is not dense; null: there is none.
  const uint32_t *bitmask(int64_t output, const contract::RowView &given) const;

  // Edits the logits of the row `given`, in the order of the pipeline: where they are dense, the
  // copy in row()->values(). The slot's numbers are valid. The result is the status, after which a
  // bad row's logits mean nothing.
  uint32_t edit(int64_t slot, int64_t output, const contract::RowView &given,
                const Elements &elements, bool is_dense);

  const EditedRow &row() const { return row_; }

 private:
  void note_removals_by(sampler_stage stage) const;

  // Negative: the row has none.
  int64_t bitmask_index(int64_t output) const {
    return pipeline_->bitmask_indices ? pipeline_->bitmask_indices[output] : output;
  }

  // Each is the row's status.
  uint32_t edit_by(sampler_stage stage, const contract::EditNumbers &numbers, const Text &text);
  uint32_t read_text(Text *text) const;
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
  void ban_ngrams(const contract::EditNumbers &numbers, const Text &text);

  bool has_valid_breakers();

  const contract::Pipeline *pipeline_ = nullptr;
  int32_t *lengths_ = nullptr;  // of repeats
  uint8_t *removed_by_ = nullptr;

  enum class Known { kNo, kValid, kInvalid } breakers_ = Known::kNo;

  // The row that is edited.
  int64_t slot_ = 0;
  int64_t output_ = 0;
  contract::RowView given_ = {};
  const Elements *elements_ = nullptr;
  EditedRow row_;
};

}  // namespace sampler::cpu
