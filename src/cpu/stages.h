// A row through the stages of a pipeline, as the operations use it: its edits as it is loaded, its
// windows as it is distributed.
#pragma once

#include <algorithm>
#include <cstdint>

#include "contract/pipeline.h"
#include "contract/row_view.h"
#include "contract/stages.h"
#include "cpu/edits.h"
#include "cpu/elements.h"
#include "cpu/windows.h"

namespace sampler::cpu {

class RowStages {
 public:
  // `memory.take<T>(count)` gives the arrays. `pipeline` null: no stages, and no memory.
  template <class Memory>
  RowStages(const contract::Pipeline *pipeline, const contract::Rows &input, Memory &memory)
      : pipeline_(pipeline), num_cols_(input.num_cols), elements_(has_stages(), input, memory) {
    if (has_edits()) {
      edits_ = RowEdits(*pipeline, input, memory);
    }
    // What edits have copied may be copied in place.
    if (has_windows()) {
      kept_values_ = has_edits() ? edits_.row().values() : memory.template take<float>(num_cols_);
    }
  }

  // Loads the row into `row`: as it is, or where there are edits, as they leave it. The result is
  // the row's status. Where `looks_at_given`, look_at_given(row) is called in between, of a good
  // row.
  template <class Row, class LookAtGiven>
  uint32_t load(const contract::RowView &given, int64_t slot, int64_t output, Row *row,
                bool looks_at_given, const LookAtGiven &look_at_given) {
    const uint32_t *const allowed =
        has_edits() && !looks_at_given ? edits_.bitmask(slot, output, given) : nullptr;
    if (!allowed || !row->load_allowed(given, allowed)) {
      const uint32_t status = row->load(given);
      if (status != SAMPLER_ROW_OK) return status;
    }
    if (looks_at_given) look_at_given(*row);
    given_ = given;
    if (!has_stages()) return SAMPLER_ROW_OK;
    elements_.index(given);
    if (has_windows() && !pipeline_->window_numbers(slot).are_valid(given.kind)) {
      return SAMPLER_ROW_INVALID_PARAMETER;
    }
    if (!has_edits()) return SAMPLER_ROW_OK;
    return edit(slot, output, row);
  }

  // What temperature, filters and windows make of the row that was loaded.
  template <class Row>
  const Distribution &distribute(const contract::RowParameters &parameters,
                                 const contract::FilterRules &rules, int64_t slot,
                                 uint32_t xtc_word, Row *row) {
    if (!has_windows() || contract::is_greedy(parameters.temperature)) {
      return row->distribute(parameters, rules);
    }
    const contract::WindowNumbers numbers = pipeline_->window_numbers(slot);
    return keep_window(*row, kept_values_, pipeline_->windows, xtc_word, [&](const auto &tokens) {
      return contract::StageRunner(tokens, row->kind(), parameters, numbers, rules,
                                   pipeline_->typical_p_ties);
    });
  }

  // The value of a token of the row as it was given.
  template <class Row>
  float given_value(const Row &row, int64_t id) const {
    return has_stages() ? given_.value(elements_.find(id)) : row.value_of(id);
  }

 private:
  // A row that can takes few edits as they are. Otherwise a copy is edited and loaded.
  template <class Row>
  uint32_t edit(int64_t slot, int64_t output, Row *row) {
    const bool is_dense = !Row::kTakesEdits || edits_.are_dense(slot, given_);
    if (is_dense) row->copy_values(edits_.row().values());
    const uint32_t status = edits_.edit(slot, output, given_, elements_, is_dense);
    if (status != SAMPLER_ROW_OK) return status;
    if (!is_dense) return row->take_edits(edits_.row());
    RowView seen = given_;
    seen.values = edits_.row().values();
    seen.dtype = SAMPLER_F32;
    return row->load(seen);
  }

  bool has_edits() const { return pipeline_ && pipeline_->has_edits(); }
  bool has_windows() const { return pipeline_ && pipeline_->has_windows; }
  bool has_stages() const { return has_edits() || has_windows(); }

  const contract::Pipeline *pipeline_;
  int64_t num_cols_;
  Elements elements_;
  RowEdits edits_;
  float *kept_values_ = nullptr;
  contract::RowView given_ = {};
};

}  // namespace sampler::cpu
