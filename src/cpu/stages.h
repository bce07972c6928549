// Runs a row through the stages of a pipeline: edits when it is loaded, windows when it is
// distributed.
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

// A sequence's history and adaptive values.
struct History {
  Text text;
  contract::AdaptiveValues values;
};

class RowStages {
 public:
  // `memory.take<T>(count)` returns the arrays. `pipeline` null: no stages, no memory.
  // `keeps_edited`: the edited row is read later, so windows do not overwrite it.
  template <class Memory>
  RowStages(const contract::Pipeline *pipeline, const contract::Rows &input, bool keeps_edited,
            Memory &memory)
      : pipeline_(pipeline),
        num_cols_(input.num_cols),
        keeps_edited_(keeps_edited),
        elements_(has_stages(), input, memory),
        edits_(has_edits() ? RowEdits(*pipeline, input, memory) : RowEdits()) {
    // The windows may reuse the array of the edited copy.
    if (has_windows()) {
      const bool in_place = has_edits() && !keeps_edited_ && !pipeline->adaptive.may_have_window();
      kept_values_ = in_place ? edits_.row().values() : memory.template take<float>(num_cols_);
    }
  }

  // Sets the history used from here on. Null: the slot's own. Its text may exceed the slot's by at
  // most max_assumed tokens of the pipeline.
  void assume(const History *history) {
    history_ = history;
    edits_.assume(history ? &history->text : nullptr);
  }

  // Arguments of the coming distribute(), if the rest of the row will not be read.
  struct Asked {
    const contract::RowParameters &parameters;
    const contract::FilterRules &rules;
    bool draws_alone;  // the edited row is only used for draws by weights and single values
  };

  // Loads a row into `row` and edits it; returns the status. If `looks_at_given`, calls
  // look_at_given(row) before the edits, for a good row. `asked` may be null.
  template <class Row, class LookAtGiven>
  uint32_t load(const contract::RowView &given, int64_t slot, int64_t output, const Asked *asked,
                Row *row, bool looks_at_given, const LookAtGiven &look_at_given) {
    if (pipeline_ && !pipeline_->has_valid_numbers(slot, given.kind)) {
      return SAMPLER_ROW_INVALID_PARAMETER;
    }
    const auto is_dense = [&] { return has_dense_edits<Row>(slot, output, given); };
    // Edits of a row without a valid count have no memory; the load below refuses it.
    const bool may_edit = has_edits() && contract::has_valid_count(given, num_cols_);
    const bool may_be_front = asked && may_edit && has_front_edits<Row>(slot, output, given);
    const bool reads_bitmask = may_edit && !looks_at_given && (may_be_front || !is_dense());
    const uint32_t *const allowed = reads_bitmask ? edits_.bitmask(slot, output, given) : nullptr;
    const bool is_masked = allowed && row->load_allowed(given, allowed);
    // The front's list gives the first token.
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
      const bool is_masked_later = !is_masked && edits_.bitmask(slot, output, given);
      uint32_t status;
      if (may_be_front && !is_masked_later && wanted > 0 &&
          edit_front(slot, output, wanted, row, &status)) {
        return status;
      }
      if (loads_value) row->find_first();
    }
    return edit(slot, output, is_dense(), wanted > 0 ? EditedUse::kFirst : later_use(asked, slot),
                row);
  }

  // The slot's parameters, adapted by its earlier draws.
  contract::RowParameters adapt(const contract::RowParameters &parameters, int64_t slot) {
    if (!pipeline_) return parameters;
    adaptive_ = pipeline_->adaptive.of(slot);
    return pipeline_->adapted(parameters, slot, values(slot));
  }

  // Applies temperature, filters and windows to the loaded row. `draws_alone`: from here on the row
  // is only used for draws by weights. `use`: that of reweigh(), which follows at once.
  template <class Row>
  const Distribution &distribute(const contract::RowParameters &parameters,
                                 const contract::FilterRules &rules, int64_t slot,
                                 uint32_t xtc_word, Row *row, bool draws_alone = false,
                                 ReweighedUse use = ReweighedUse::kAny) {
    const auto is_off = [&] {
      return !runner(RankedTokens{}, parameters, rules, slot, *row).any_is_on(pipeline_->windows);
    };
    if (!has_windows() || contract::is_greedy(parameters.temperature) || is_off()) {
      const bool weighs_later = use == ReweighedUse::kDrawsByWeights && adaptive_.is_adaptive_p();
      if (weighs_later) row->will_reweigh(kept_values_);
      return row->distribute(parameters, rules);
    }
    return keep_window(
        *row, kept_values_, pipeline_->windows, xtc_word, draws_alone && !adaptive_.reweighs(),
        [&](const auto &tokens) { return runner(tokens, parameters, rules, slot, *row); });
  }

  bool reweighs() const { return adaptive_.reweighs(); }

  // If adaptive-p or smoothing is on, replaces the tokens of `kept`, the row's own distribution, by
  // their new logits. From here on the row is only for this use.
  template <class Row>
  const Distribution &reweigh(const Distribution &kept, int64_t slot, Row *row, ReweighedUse use) {
    if (kept.greedy || !adaptive_.reweighs()) return kept;
    reweighing_ = contract::reweighing(values(slot), adaptive_, kept.scale, kept.kept_weight);
    return row->reweigh(reweighing_, kept_values_, use);
  }

  // The token's observation for the slot's adaptive stage, given the distribution `drawn`; NaN:
  // none.
  template <class Row>
  float observation(const Row &row, const Distribution &drawn, int64_t id) const {
    if (!row.has(id)) return contract::quiet_nan();  // an accepted draft may be outside the row
    const float value = row.value_of(id);
    const bool is_kept = drawn.keeps(contract::rank_of(value, uint32_t(id)));
    if (drawn.greedy || !is_kept) return contract::quiet_nan();
    if (adaptive_.is_mirostat()) {
      return contract::surprise(contract::relative_log2(drawn.scale, value), drawn.kept_weight);
    }
    if (!adaptive_.is_adaptive_p()) return contract::quiet_nan();
    return reweighing_.adaptive_p.probability(seen_.value(elements_.find(id)));
  }

  // A token's value in the given row.
  template <class Row>
  float given_value(const Row &row, int64_t id) const {
    return has_stages() ? given_.value(elements_.find(id)) : row.value_of(id);
  }

  // Whether another row is loaded after the given one; after the edited one.
  bool replaces_given() const { return has_stages(); }
  bool replaces_edited() const { return has_windows(); }
  // Index of the row's elements. Valid only if a row is replaced.
  const Elements &elements() const { return elements_; }
  RowEdits &edits() { return edits_; }

 private:
  // Whether edits go to a dense copy, which is loaded and viewed by seen_. SimdRow takes few edits
  // without a copy.
  template <class Row>
  bool has_dense_edits(int64_t slot, int64_t output, const contract::RowView &given) const {
    return !Row::kTakesEdits || keeps_edited_ || pipeline_->adaptive.of(slot).reweighs() ||
           edits_.are_dense(slot, output, given);
  }

  template <class Row>
  bool has_front_edits(int64_t slot, int64_t output, const contract::RowView &given) const {
    return Row::kTakesEdits && !keeps_edited_ && !pipeline_->adaptive.of(slot).reweighs() &&
           edits_.may_edit_front(slot, output, given);
  }

  template <class Tokens, class Row>
  auto runner(const Tokens &tokens, const contract::RowParameters &parameters,
              const contract::FilterRules &rules, int64_t slot, const Row &row) const {
    return contract::StageRunner(tokens, row.kind(), parameters, window_numbers(slot), rules,
                                 pipeline_->window_rules, row.view().count);
  }

  // If typical-p is on, the load also counts the tokens that may be drawn.
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

  // Number of first tokens that suffice; 0: unknown, or too many.
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

  // The use of a row of which the first tokens do not suffice.
  EditedUse later_use(const Asked *asked, int64_t slot) const {
    if (!asked || !asked->draws_alone || has_windows()) return EditedUse::kAny;
    const contract::RowParameters parameters =
        pipeline_->adapted(asked->parameters, slot, values(slot));
    const bool cuts_by_passes =
        contract::top_k_is_on(parameters.top_k) || contract::top_p_is_on(parameters.top_p);
    return cuts_by_passes ? EditedUse::kAny : EditedUse::kDraws;
  }

  // False if the front does not suffice; the row is then unchanged.
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
  uint32_t edit(int64_t slot, int64_t output, bool is_dense, EditedUse use, Row *row) {
    if (is_dense) row->copy_values(edits_.row().values());
    const Passes *const passes = is_dense ? nullptr : row->passes();
    const uint32_t status = edits_.edit(slot, output, given_, elements_, passes);
    if (status != SAMPLER_ROW_OK) return status;
    if (!is_dense) return row->take_edits(edits_.row(), use);
    seen_.values = edits_.row().values();
    seen_.dtype = SAMPLER_F32;
    return row->load(seen_);
  }

  contract::AdaptiveValues values(int64_t slot) const {
    return history_ ? history_->values : pipeline_->values(slot);
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
  const History *history_ = nullptr;
  float *kept_values_ = nullptr;
  contract::RowView given_ = {}, seen_ = {};  // as given; after dense edits
  contract::AdaptiveRules adaptive_ = {};     // of the row's slot
  contract::Reweighing reweighing_ = {};      // of the row, if it is on
};

}  // namespace sampler::cpu
