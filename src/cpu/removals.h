// Reports the stage that removed each token of a row.
#pragma once

#include <algorithm>
#include <cstdint>

#include "contract/elements.h"
#include "contract/pipeline.h"
#include "contract/reports.h"
#include "contract/stages.h"
#include "cpu/edits.h"
#include "cpu/elements.h"

namespace sampler::cpu {

template <class Row>
class Removals {
 public:
  template <class Memory>
  Removals(const contract::SampleRequest &request, Memory &memory)
      : request_(request),
        out_(request.reports ? request.reports->out_removed_by : nullptr),
        elements_(out_ != nullptr, request.input, memory) {}

  bool are_wanted() const { return out_ != nullptr; }

  void begin(int64_t output, RowEdits *edits) {
    if (!out_) return;
    removed_by_ = out_ + output * request_.input.num_cols;
    edits->note_removals(removed_by_);
  }

  // Reads the given row.
  void look_at_given(const contract::RowView &row) {
    if (!out_) return;
    elements_.index(row);
    const float nothing = row.kind == SAMPLER_LOGITS ? contract::negative_infinity() : 0.0f;
    for (int64_t i = 0; i < row.count; ++i) {
      removed_by_[i] = row.value(i) > nothing ? contract::kNotRemoved : contract::kNeverThere;
    }
    std::fill(removed_by_ + row.count, removed_by_ + request_.input.num_cols,
              contract::kNeverThere);
  }

  // `row` is the edited row; the edits have recorded their removals.
  void trace(const contract::RowParameters &parameters, int64_t slot, uint32_t xtc_word, Row *row) {
    if (!out_) return;
    Ranks tokens = {};
    const int64_t count = row->select(row->view().count, &tokens.ranks);
    const auto note = [&](sampler_stage stage, contract::Window seen, contract::Window kept) {
      remove(tokens, stage, {seen.begin, kept.begin});
      remove(tokens, stage, {kept.end, seen.end});
    };
    if (contract::is_greedy(parameters.temperature)) {
      return note(SAMPLER_STAGE_TEMPERATURE, {0, count}, {0, 1});
    }
    const contract::Pipeline *pipeline = request_.pipeline;
    const bool has_windows = pipeline && pipeline->has_windows;
    const contract::FilterRules &rules = request_.parameters.rules;
    const contract::StageRunner<Ranks> runner(
        tokens, row->kind(), parameters,
        has_windows ? pipeline->window_numbers(slot) : contract::WindowNumbers(), rules,
        has_windows ? pipeline->window_rules : contract::WindowRules(), row->view().count);
    runner.run(has_windows ? pipeline->windows : contract::order_of(rules), count, xtc_word, note);
  }

  void write_bad(int64_t output) const {
    const int64_t num_cols = request_.input.num_cols;
    if (out_) std::fill_n(out_ + output * num_cols, num_cols, contract::kNeverThere);
  }

 private:
  // Tokens in rank order.
  struct Ranks {
    const contract::Rank *ranks;
    float value(int64_t place) const { return contract::value_of_rank(ranks[place]); }
  };

  // With JOINT filters, the filter with the lowest constant is reported.
  void remove(const Ranks &tokens, sampler_stage stage, contract::Window removed) {
    for (int64_t i = removed.begin; i < removed.end; ++i) {
      uint8_t &by = removed_by_[elements_.find(contract::id_of_rank(tokens.ranks[i]))];
      if (by == contract::kNotRemoved || by > stage) by = uint8_t(stage);
    }
  }

  const contract::SampleRequest &request_;
  uint8_t *out_;  // null: not wanted
  Elements elements_;
  uint8_t *removed_by_ = nullptr;
};

}  // namespace sampler::cpu
