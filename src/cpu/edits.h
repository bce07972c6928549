// What a slot's lists and text make of a row of logits, before the temperature.
#pragma once

#include <cstdint>

#include "contract/pipeline.h"
#include "contract/row_view.h"

namespace sampler::cpu {

// The edits of section 14.1 of docs/contract.md, on a copy of the row.
class RowEdits {
 public:
  // `memory.take<T>(count)` gives the arrays. `pipeline` null, or one that edits nothing: none.
  template <class Memory>
  RowEdits(const contract::Pipeline *pipeline, const contract::Rows &input, Memory &memory)
      : pipeline_(pipeline), num_cols_(input.num_cols) {
    if (!is_on()) return;
    values_ = memory.template take<float>(num_cols_);
    marks_ = memory.template take<int32_t>(num_cols_);
    if (input.ids) {
      elements_ = memory.template take<uint64_t>(num_cols_);
      sort_scratch_ = memory.template take<uint64_t>(num_cols_);
    }
    if (pipeline->seeks_repeats()) lengths_ = memory.template take<int32_t>(pipeline->max_history);
  }

  bool is_on() const { return pipeline_ && pipeline_->edits(); }

  // Loads the row into `row`: as it is, or where there are edits, as they leave it. The result is
  // the row's status. `as_given(row)` is called in between, of a good row.
  template <class Row, class AsGiven>
  uint32_t load(const contract::RowView &given, int64_t slot, int64_t output, Row *row,
                const AsGiven &as_given) {
    uint32_t status = row->load(given);
    if (status != SAMPLER_ROW_OK) return status;
    as_given(*row);
    if (!is_on()) return status;
    row->copy_values(values_);
    status = edit(given, slot, output);
    if (status != SAMPLER_ROW_OK) return status;
    return row->load({values_, given.ids, given.count, SAMPLER_F32, given.id_type, given.kind});
  }

  // The element of the loaded row that has an id; -1: none.
  int64_t find(int64_t id) const;

 private:
  class Text;

  uint32_t edit(const contract::RowView &given, int64_t slot, int64_t output);
  void sort_elements(const contract::RowView &given);

  // Each is the row's status.
  uint32_t add_biases(int64_t slot);
  uint32_t ban_by_lists(int64_t slot, int64_t output);
  uint32_t ban_bad_words(int64_t slot, const Text &text);
  uint32_t lower_repeats(const contract::EditNumbers &numbers, const Text &text);

  void add_dense_bias(int64_t slot);
  void allow(const contract::TokenList &list);
  void ban(const contract::TokenList &list);
  void ban(int64_t id);
  void apply_bitmask(const uint32_t *words);
  void penalize(const contract::EditNumbers &numbers, const Text &text);
  void ban_ngrams(const contract::EditNumbers &numbers, const Text &text);

  bool has_valid_breakers();

  const contract::Pipeline *pipeline_;
  int64_t num_cols_;
  contract::RowView given_ = {};
  float *values_ = nullptr;
  int32_t *marks_ = nullptr;  // by element; what is in them lasts for one edit
  // Of a candidate list: id and element, by ascending id.
  uint64_t *elements_ = nullptr;
  uint64_t *sort_scratch_ = nullptr;
  const uint64_t *sorted_ = nullptr;
  int32_t *lengths_ = nullptr;  // of repeats

  enum class Known { kNo, kValid, kInvalid } breakers_ = Known::kNo;
};

}  // namespace sampler::cpu
