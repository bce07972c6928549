// A row through the stages of a pipeline, as the operations use it: its edits as it is loaded, its
// windows as it is distributed.
#pragma once

#include <algorithm>
#include <cstdint>

#include "contract/distribution.h"
#include "contract/pipeline.h"
#include "contract/row_view.h"
#include "contract/stages.h"
#include "cpu/edits.h"
#include "cpu/elements.h"

namespace sampler::cpu {

class RowStages {
 public:
  // `memory.take<T>(count)` gives the arrays. `pipeline` null: no stages, and no memory.
  template <class Memory>
  RowStages(const contract::Pipeline *pipeline, const contract::Rows &input, Memory &memory)
      : pipeline_(pipeline), num_cols_(input.num_cols), elements_(has_stages(), input, memory) {
    if (has_edits()) {
      edited_values_ = memory.template take<float>(num_cols_);
      edits_ = RowEdits(*pipeline, input, memory);
    }
    if (has_windows()) kept_values_ = memory.template take<float>(num_cols_);
  }

  // Loads the row into `row`: as it is, or where there are edits, as they leave it. The result is
  // the row's status. `look_at_given(row)` is called in between, of a good row.
  template <class Row, class LookAtGiven>
  uint32_t load(const contract::RowView &given, int64_t slot, int64_t output, Row *row,
                const LookAtGiven &look_at_given) {
    if (pipeline_ && !pipeline_->has_valid_numbers(slot, given.kind)) {
      return SAMPLER_ROW_INVALID_PARAMETER;
    }
    uint32_t status = row->load(given);
    if (status != SAMPLER_ROW_OK) return status;
    look_at_given(*row);
    given_ = seen_ = given;
    if (!has_stages()) return status;
    elements_.index(given);
    if (!has_edits()) return status;
    row->copy_values(edited_values_);
    status = edits_.edit(slot, output, given, elements_, edited_values_);
    if (status != SAMPLER_ROW_OK) return status;
    seen_.values = edited_values_;
    seen_.dtype = SAMPLER_F32;
    return row->load(seen_);
  }

  // The slot's parameters as what it has drawn before has moved them.
  contract::RowParameters adapt(const contract::RowParameters &parameters, int64_t slot) {
    if (!pipeline_) return parameters;
    adaptive_ = pipeline_->adaptive.of(slot);
    return pipeline_->adapted(parameters, slot);
  }

  // What temperature, filters and windows make of the row that was loaded.
  template <class Row>
  const contract::Distribution &distribute(const contract::RowParameters &parameters,
                                           const contract::FilterRules &rules, int64_t slot,
                                           uint32_t xtc_word, Row *row) {
    if (!has_windows() || contract::is_greedy(parameters.temperature)) {
      return row->distribute(parameters, rules);
    }
    const float temperature = keep_window(parameters, rules, slot, xtc_word, row);
    return row->distribute({temperature, 0, 1.0f, 0.0f}, {});
  }

  // Gives the tokens that `kept` keeps of the row the weights of adaptive-p, where it is on.
  template <class Row>
  const contract::Distribution &reweigh(const contract::Distribution &kept, int64_t slot,
                                        Row *row) {
    if (kept.greedy || !adaptive_.is_adaptive_p()) return kept;
    unadapted_ = kept;
    const auto probability = [&](float x) {
      return contract::relative_probability(unadapted_.scale, x) * unadapted_.normalizer;
    };
    const float first = probability(unadapted_.scale.max);
    const contract::AdaptiveP stage =
        contract::adaptive_p(contract::begun_adaptive_p(pipeline_->values(slot), adaptive_),
                             contract::adaptive_p_rules(adaptive_.target, adaptive_.rate), first);
    row->copy_values(kept_values_);  // which may be where they are
    const float lowest = contract::value_of_rank(unadapted_.cut);
    for (int64_t i = 0; i < seen_.count; ++i) {
      float &x = kept_values_[i];
      const bool is_kept =
          x >= lowest && unadapted_.keeps(contract::rank_of(x, uint32_t(seen_.id(i))));
      x = is_kept ? stage.log2_relative(probability(x)) : contract::negative_infinity();
    }
    contract::RowView reweighed = kept_view();
    reweighed.kind = SAMPLER_LOGITS;
    row->load(reweighed);
    return row->distribute_all(contract::AdaptiveP::scale());
  }

  // What moves the slot's adaptive stage on after this token of the row, which is drawn from
  // `drawn`. NaN: nothing does.
  template <class Row>
  float observation(const Row &row, const contract::Distribution &drawn, int64_t id) const {
    const float value = row.value_of(id);
    const bool is_kept = drawn.keeps(contract::rank_of(value, uint32_t(id)));
    if (drawn.greedy || !is_kept) return contract::quiet_nan();
    if (adaptive_.is_mirostat()) {
      return contract::surprise(contract::relative_log2(drawn.scale, value), drawn.kept_weight);
    }
    if (!adaptive_.is_adaptive_p()) return contract::quiet_nan();
    const float before = seen_.value(elements_.find(id));
    return contract::relative_probability(unadapted_.scale, before) * unadapted_.normalizer;
  }

  // The value of a token of the row as it was given.
  template <class Row>
  float given_value(const Row &row, int64_t id) const {
    return has_stages() ? given_.value(elements_.find(id)) : row.value_of(id);
  }

  // Whether another row is loaded after the one that is given, and after the edited one.
  bool replaces_given() const { return has_stages(); }
  bool replaces_edited() const { return has_windows(); }
  // By element of any of them. Only where one is replaced.
  const Elements &elements() const { return elements_; }
  RowEdits &edits() { return edits_; }

 private:
  // Tokens in rank order.
  struct Ranks {
    const contract::Rank *ranks;
    float value(int64_t place) const { return contract::value_of_rank(ranks[place]); }
  };

  bool has_edits() const { return pipeline_ && pipeline_->has_edits(); }
  bool has_windows() const { return pipeline_ && pipeline_->has_windows; }
  bool has_stages() const { return has_edits() || has_windows(); }

  contract::RowView kept_view() const {
    contract::RowView kept = seen_;
    kept.values = kept_values_;
    kept.dtype = SAMPLER_F32;
    return kept;
  }

  // Makes a row of the tokens that the windows keep, and loads it. The result is the temperature.
  template <class Row>
  float keep_window(const contract::RowParameters &parameters, const contract::FilterRules &rules,
                    int64_t slot, uint32_t xtc_word, Row *row) {
    Ranks tokens = {};
    const contract::StageRunner<Ranks> runner(tokens, seen_.kind, parameters,
                                              pipeline_->window_numbers(slot), rules,
                                              pipeline_->typical_p_ties, seen_.count);
    const int64_t wanted = runner.num_decisive(pipeline_->windows);
    const int64_t count = row->select(std::min<int64_t>(wanted, seen_.count), &tokens.ranks);
    const contract::Staged staged = runner.run(pipeline_->windows, count, xtc_word);

    const float nothing = seen_.kind == SAMPLER_LOGITS ? contract::negative_infinity() : 0.0f;
    std::fill_n(kept_values_, seen_.count, nothing);
    for (int64_t i = staged.window.begin; i < staged.window.end; ++i) {
      const int64_t element = elements_.find(contract::id_of_rank(tokens.ranks[i]));
      kept_values_[element] = seen_.value(element);
    }
    row->load(kept_view());
    return staged.temperature;
  }

  const contract::Pipeline *pipeline_;
  int64_t num_cols_;
  Elements elements_;
  RowEdits edits_;
  float *edited_values_ = nullptr;
  float *kept_values_ = nullptr;
  contract::RowView given_ = {}, seen_ = {};  // as given, and as the edits left it
  contract::AdaptiveRules adaptive_ = {};     // of the row's slot
  contract::Distribution unadapted_ = {};     // what adaptive-p has changed
};

}  // namespace sampler::cpu
