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
#include "cpu/text.h"
#include "cpu/windows.h"

namespace sampler::cpu {

// What a sequence has said, and what its adaptive stages remember of it.
struct Said {
  Text text;
  contract::AdaptiveValues values;
};

class RowStages {
 public:
  // `memory.take<T>(count)` gives the arrays. `pipeline` null: no stages, and no memory.
  // `keeps_edited`: what the edits leave is looked at, too, and stays as it is.
  template <class Memory>
  RowStages(const contract::Pipeline *pipeline, const contract::Rows &input, bool keeps_edited,
            Memory &memory)
      : pipeline_(pipeline),
        num_cols_(input.num_cols),
        keeps_edited_(keeps_edited),
        elements_(has_stages(), input, memory),
        edits_(has_edits() ? RowEdits(*pipeline, input, memory) : RowEdits()) {
    // What edits have copied may be copied in place.
    if (has_windows()) {
      const bool in_place = has_edits() && !keeps_edited_ && !pipeline->adaptive.may_have_window();
      kept_values_ = in_place ? edits_.row().values() : memory.template take<float>(num_cols_);
    }
  }

  // From now on rows are those of a sequence that has said this, whatever its slot has said. Null:
  // what the slot has said. Room for the lengths of repeats is for texts as long as slots have, and
  // `pipeline`'s num_assumed more.
  void assume(const Said *said) {
    said_ = said;
    edits_.assume(said ? &said->text : nullptr);
  }

  // What distribute() will be asked for, where the rest of the row is not looked at.
  struct Asked {
    const contract::RowParameters &parameters;
    const contract::FilterRules &rules;
  };

  // Loads the row into `row`: as it is, or where there are edits, as they leave it. The result is
  // the row's status. Where `looks_at_given`, look_at_given(row) is called in between, of a good
  // row. `asked` may be null.
  template <class Row, class LookAtGiven>
  uint32_t load(const contract::RowView &given, int64_t slot, int64_t output, const Asked *asked,
                Row *row, bool looks_at_given, const LookAtGiven &look_at_given) {
    if (pipeline_ && !pipeline_->has_valid_numbers(slot, given.kind)) {
      return SAMPLER_ROW_INVALID_PARAMETER;
    }
    const auto is_dense = [&] { return has_dense_edits<Row>(slot, given); };
    const bool may_be_front = asked && has_edits() && has_front_edits<Row>(slot, given);
    const bool reads_bitmask = has_edits() && !looks_at_given && (may_be_front || !is_dense());
    const uint32_t *const allowed = reads_bitmask ? edits_.bitmask(output, given) : nullptr;
    const bool is_masked = allowed && row->load_allowed(given, allowed);
    // Where the front is listed, it tells the first token.
    const bool loads_value = may_be_front && !is_masked && !looks_at_given;
    if (!is_masked) {
      const uint32_t status = load(given, slot, loads_value, row);
      if (status != SAMPLER_ROW_OK) return status;
    }
    if (looks_at_given) look_at_given(*row);
    given_ = seen_ = given;
    if (!has_stages()) return SAMPLER_ROW_OK;
    elements_.index(given);
    if (!has_edits()) return SAMPLER_ROW_OK;
    const int64_t wanted = asked ? num_first(*asked, slot, *row) : 0;
    if constexpr (Row::kTakesEdits) {
      const bool is_masked_later = !is_masked && edits_.bitmask(output, given);
      uint32_t status;
      if (may_be_front && !is_masked_later && wanted > 0 &&
          edit_front(slot, output, wanted, row, &status)) {
        return status;
      }
      if (loads_value) row->find_first();
    }
    return edit(slot, output, is_dense(), wanted == 0, row);
  }

  // The slot's parameters as what it has drawn before has moved them.
  contract::RowParameters adapt(const contract::RowParameters &parameters, int64_t slot) {
    if (!pipeline_) return parameters;
    adaptive_ = pipeline_->adaptive.of(slot);
    return pipeline_->adapted(parameters, slot, values(slot));
  }

  // What temperature, filters and windows make of the row that was loaded. `draws_alone`: no more
  // is asked of it from here on than draws by its weights.
  template <class Row>
  const Distribution &distribute(const contract::RowParameters &parameters,
                                 const contract::FilterRules &rules, int64_t slot,
                                 uint32_t xtc_word, Row *row, bool draws_alone = false) {
    const auto is_off = [&] {
      return !runner(RankedTokens{}, parameters, rules, slot, *row).any_is_on(pipeline_->windows);
    };
    if (!has_windows() || contract::is_greedy(parameters.temperature) || is_off()) {
      return row->distribute(parameters, rules);
    }
    return keep_window(
        *row, kept_values_, pipeline_->windows, xtc_word, draws_alone && !adaptive_.is_adaptive_p(),
        [&](const auto &tokens) { return runner(tokens, parameters, rules, slot, *row); });
  }

  // Makes of the tokens that `kept`, the row's own distribution, keeps the logits of adaptive-p,
  // where it is on. `draws_alone`: no more is asked of the row from here on than draws, and values
  // of tokens.
  template <class Row>
  const Distribution &reweigh(const Distribution &kept, int64_t slot, Row *row, bool draws_alone) {
    if (kept.greedy || !adaptive_.is_adaptive_p()) return kept;
    adaptive_p_ = contract::adaptive_p(contract::begun_adaptive_p(values(slot), adaptive_),
                                       contract::adaptive_p_rules(adaptive_.target, adaptive_.rate),
                                       kept.scale, kept.kept_weight);
    return row->reweigh(adaptive_p_, kept_values_, draws_alone);
  }

  // What moves the slot's adaptive stage on after this token of the row, which is drawn from
  // `drawn`. NaN: nothing does.
  template <class Row>
  float observation(const Row &row, const Distribution &drawn, int64_t id) const {
    if (!row.has(id)) return contract::quiet_nan();  // a draft that is accepted all the same
    const float value = row.value_of(id);
    const bool is_kept = drawn.keeps(contract::rank_of(value, uint32_t(id)));
    if (drawn.greedy || !is_kept) return contract::quiet_nan();
    if (adaptive_.is_mirostat()) {
      return contract::surprise(contract::relative_log2(drawn.scale, value), drawn.kept_weight);
    }
    if (!adaptive_.is_adaptive_p()) return contract::quiet_nan();
    return adaptive_p_.probability(seen_.value(elements_.find(id)));
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
  // Whether a copy is edited and loaded, and then stands in seen_. A row that can takes few edits
  // as they are.
  template <class Row>
  bool has_dense_edits(int64_t slot, const contract::RowView &given) const {
    return !Row::kTakesEdits || keeps_edited_ || pipeline_->adaptive.of(slot).is_adaptive_p() ||
           edits_.are_dense(slot, given);
  }

  template <class Row>
  bool has_front_edits(int64_t slot, const contract::RowView &given) const {
    return Row::kTakesEdits && !keeps_edited_ && !pipeline_->adaptive.of(slot).is_adaptive_p() &&
           edits_.may_edit_front(slot, given);
  }

  template <class Tokens, class Row>
  auto runner(const Tokens &tokens, const contract::RowParameters &parameters,
              const contract::FilterRules &rules, int64_t slot, const Row &row) const {
    return contract::StageRunner(tokens, row.kind(), parameters, window_numbers(slot), rules,
                                 pipeline_->window_rules, row.view().count);
  }

  // A row of which typical-p will ask how many tokens may be drawn has them counted on the way.
  template <class Row>
  uint32_t load(const contract::RowView &given, int64_t slot, bool value_alone, Row *row) const {
    if constexpr (Row::kTakesEdits) {
      const bool counts = has_windows() && contract::fraction_is_on(window_numbers(slot).typical_p);
      return value_alone ? row->load_value(given, contract::Use::kDraw, counts)
                         : row->load(given, contract::Use::kDraw, counts);
    } else {
      return row->load(given);
    }
  }

  // How many of the row's first tokens are asked for; 0: more than that.
  template <class Row>
  int64_t num_first(const Asked &asked, int64_t slot, const Row &row) const {
    if (!has_windows() || contract::is_greedy(asked.parameters.temperature)) {
      return row.num_first(asked.parameters, asked.rules);
    }
    const int64_t num_decisive =
        runner(RankedTokens{}, pipeline_->adapted(asked.parameters, slot, values(slot)),
               asked.rules, slot, row)
            .num_decisive(pipeline_->windows);
    return num_decisive <= RowWindows::most_listed(row.view().count) ? num_decisive : 0;
  }

  // False: the front does not tell, and the row is as it was.
  template <class Row>
  bool edit_front(int64_t slot, int64_t output, int64_t wanted, Row *row, uint32_t *status) {
    Front front = row->list_front(wanted);
    for (const bool is_widened : {false, true}) {
      if (front.count == 0) break;
      const bool is_edited = edits_.edit_front(slot, output, given_, elements_, front, status);
      if (!is_edited) break;
      if (*status != SAMPLER_ROW_OK) return true;
      if (row->take_front_edits(edits_.row(), wanted, status)) return true;
      if (!is_widened) front = row->widen_front(edits_.row(), wanted);
    }
    row->drop_front();
    return false;
  }

  template <class Row>
  uint32_t edit(int64_t slot, int64_t output, bool is_dense, bool asks_for_all, Row *row) {
    if (is_dense) row->copy_values(edits_.row().values());
    const uint32_t status = edits_.edit(slot, output, given_, elements_, is_dense);
    if (status != SAMPLER_ROW_OK) return status;
    if (!is_dense) return row->take_edits(edits_.row(), asks_for_all);
    seen_.values = edits_.row().values();
    seen_.dtype = SAMPLER_F32;
    return row->load(seen_);
  }

  contract::AdaptiveValues values(int64_t slot) const {
    return said_ ? said_->values : pipeline_->values(slot);
  }
  contract::WindowNumbers window_numbers(int64_t slot) const {
    return pipeline_->window_numbers(slot, values(slot));
  }

  bool has_edits() const { return pipeline_ && pipeline_->has_edits(); }
  bool has_windows() const { return pipeline_ && pipeline_->has_windows; }
  bool has_stages() const { return has_edits() || has_windows(); }

  const contract::Pipeline *pipeline_;
  int64_t num_cols_;
  bool keeps_edited_;
  Elements elements_;
  RowEdits edits_;
  const Said *said_ = nullptr;
  float *kept_values_ = nullptr;
  contract::RowView given_ = {}, seen_ = {};  // as given, and as dense edits left it
  contract::AdaptiveRules adaptive_ = {};     // of the row's slot
  contract::AdaptiveP adaptive_p_ = {};       // of the row, where it is on
};

}  // namespace sampler::cpu
