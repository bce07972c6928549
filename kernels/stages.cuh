// The edits, windows and new weights of a team's row. The twin of src/cpu/stages.h.
//
// A row is checked as it was given, copied to the team's memory in the workspace, edited there, and
// read again. Windows list its first tokens in rank order, and what they drop is taken out of it.
// Adaptive-p puts logits of its own in the place of what is kept.
#pragma once

#include <cstdint>

#include "contract/adaptive.h"
#include "contract/adaptive_values.h"
#include "contract/pipeline.h"
#include "contract/reports.h"
#include "contract/stages.h"
#include "distribution.cuh"
#include "edited_row.cuh"
#include "edits.cuh"
#include "elements.cuh"
#include "output.cuh"
#include "ranks.cuh"
#include "row.cuh"
#include "selection.cuh"
#include "staged.h"
#include "team.cuh"

namespace sampler::kernels {

template <class Context>
class TeamStages {
 public:
  using Row = TeamRow<Context, StoredRow>;

  SAMPLER_DEVICE TeamStages(Team<Context> &team, const contract::Pipeline &pipeline,
                            const StageMemory &memory, const FilterRules &rules,
                            const RowCache &row_cache)
      : team_(team),
        pipeline_(pipeline),
        rules_(rules),
        row_cache_(row_cache),
        values_(memory.part<float>(team.ctx.team(), memory.values)),
        ranks_(memory.part<Rank>(team.ctx.team(), memory.ranks)),
        notes_(memory.part<StageNotes>(team.ctx.team(), memory.notes)),
        elements_(memory.part<uint32_t>(team.ctx.team(), memory.index)),
        row_(team, elements_, memory.part<uint32_t>(team.ctx.team(), memory.marks)),
        edits_(row_, pipeline) {}

  // Of a good row, which was loaded: what its tokens are found by. A barrier of the team follows.
  SAMPLER_DEVICE void index(const Row &given) { elements_.index(team_, given.source()); }

  // Makes `seen` of it: the row itself, or what the edits leave of it, which is yet to be loaded.
  // The result is the row's status.
  SAMPLER_DEVICE uint32_t edit(const Row &given, int64_t slot, int64_t output, StoredRow *seen) {
    *seen = given.source();
    if (!pipeline_.changes_rows()) return SAMPLER_ROW_OK;
    copy(given);
    row_.begin(given.source(), values_ + given.source().lead);
    contract::RowView view = given.source();
    view.values = values_ + given.source().lead;
    view.dtype = SAMPLER_F32;
    *seen = stored_row(view);
    if (!pipeline_.has_edits()) return SAMPLER_ROW_OK;
    return edits_.edit(slot, output);
  }

  // The row as it has been edited. Its edits end with a barrier of the team.
  SAMPLER_DEVICE void copy_values(float *to) const {
    row_.for_each(0, row_.count(), [&](int64_t i) { to[i] = row_.values[i]; });
  }

  SAMPLER_DEVICE bool changes_rows() const { return pipeline_.changes_rows(); }

  SAMPLER_DEVICE bool has_valid_numbers(int64_t slot, sampler_input_kind kind) const {
    return pipeline_.has_valid_numbers(slot, kind);
  }

  // The slot's parameters as what it has drawn before has moved them.
  SAMPLER_DEVICE void adapt(int64_t slot, RowParameters *parameters) {
    adaptive_ = pipeline_.adaptive.of(slot);
    *parameters = pipeline_.adapted(*parameters, slot);
  }

  // Whether what the row's adaptive stage does or is told takes the weight of what is kept.
  SAMPLER_DEVICE bool needs_weight() const {
    return adaptive_.is_mirostat() || adaptive_.is_adaptive_p();
  }

  // Whether adaptive-p gives what is kept of the row new weights.
  SAMPLER_DEVICE bool reweighs(const contract::Distribution &kept) const {
    return !kept.greedy && adaptive_.is_adaptive_p();
  }

  // Makes logits of what is kept of `seen`: those of a row that has AdaptiveP::scale(), which is
  // yet to be loaded. A barrier of the team after it; before it, one after the row was last read.
  SAMPLER_DEVICE_CALL StoredRow reweigh(const StoredRow &seen, const contract::Distribution &kept,
                                        int64_t slot) {
    const Reweighed reweighed = {
        kept, contract::adaptive_p(
                  contract::begun_adaptive_p(pipeline_.values(slot), adaptive_),
                  contract::adaptive_p_rules(adaptive_.target, adaptive_.rate),
                  contract::relative_probability(kept.scale, kept.scale.max) * kept.normalizer)};
    const float lowest = contract::value_of_rank(kept.cut);
    row_.change_all([&](int element, float x) {
      const uint32_t id = uint32_t(row_.id_of_element(element));
      if (x < lowest || !reweighed.kept.keeps(contract::rank_of(x, id))) {
        return contract::negative_infinity();
      }
      const float probability =
          contract::relative_probability(reweighed.kept.scale, x) * reweighed.kept.normalizer;
      row_.marks[element] = contract::bits_of(probability);
      return reweighed.stage.log2_relative(probability);
    });
    StoredRow changed = seen;
    changed.kind = SAMPLER_LOGITS;
    return changed;
  }

  // What moves the slot's adaptive stage on after the token of this id and value, which is drawn
  // from `drawn`. NaN: nothing does.
  SAMPLER_DEVICE float observation(int64_t id, float value,
                                   const contract::Distribution &drawn) const {
    const bool is_kept = drawn.keeps(contract::rank_of(value, uint32_t(id)));
    if (drawn.greedy || !is_kept) return contract::quiet_nan();
    if (adaptive_.is_mirostat()) {
      return contract::surprise(contract::relative_log2(drawn.scale, value), drawn.kept_weight);
    }
    if (!adaptive_.is_adaptive_p()) return contract::quiet_nan();
    return contract::float_of(row_.marks[find(id)]);
  }

  // The tokens of the row by their ids.
  SAMPLER_DEVICE const TeamElements<Context> &elements() const { return elements_; }
  SAMPLER_DEVICE int find(int64_t id) const { return elements_.find(id); }

  // Notes in `removed_by` which stage removes each token of the row that the edits left. The result
  // is the row's status. A barrier of the team after it.
  SAMPLER_DEVICE_CALL uint32_t trace_removals(const StoredRow &seen, int64_t slot,
                                              uint32_t xtc_word, const RowParameters &parameters,
                                              uint8_t *removed_by) {
    Row row(team_.ctx, seen, row_cache_);
    const RowSummary summary = load_row(team_, row, 0);
    if (summary.status != SAMPLER_ROW_OK) return summary.status;
    const int count = list_ranks(row, summary, 0, seen.count);
    const bool greedy = contract::is_greedy(parameters.temperature);
    if (team_.is_first_thread()) {
      notes_->count = 0;
      const Ranks tokens = {ranks_};
      if (greedy) {
        notes_->add(SAMPLER_STAGE_TEMPERATURE, {0, count}, {0, 1});
      } else {
        run(runner(tokens, seen, slot, parameters), count, xtc_word, notes_);
      }
    }
    team_.ctx.team_sync();
    row_.for_each(0, count, [&](int64_t i) {
      const uint8_t stage = notes_->remover_of(i);
      if (stage != contract::kNotRemoved) {
        removed_by[elements_.find(contract::id_of_rank(ranks_[i]))] = stage;
      }
    });
    team_.ctx.team_sync();
    return SAMPLER_ROW_OK;
  }

  // From now on edits note in `removed_by`, by element, which stage made it -inf, where there is 0.
  SAMPLER_DEVICE void note_removals(uint8_t *removed_by) { edits_.note_removals(removed_by); }

  // Takes what the windows drop out of the row that was edited, and gives the parameters that are
  // left. The result is the row's status.
  SAMPLER_DEVICE_CALL uint32_t keep_window(const StoredRow &seen, int64_t slot, uint32_t xtc_word,
                                           RowParameters *parameters) {
    if (!pipeline_.has_windows || contract::is_greedy(parameters->temperature)) {
      return SAMPLER_ROW_OK;
    }
    const Ranks tokens = {ranks_};
    const Runner runner = this->runner(tokens, seen, slot, *parameters);
    const int64_t decisive = runner.num_decisive(pipeline_.windows);
    const int wanted = decisive < seen.count ? int(decisive) : seen.count;
    Row row(team_.ctx, seen, row_cache_);
    const bool is_few = wanted < seen.count && wanted <= kEnoughOfRun;
    const RowSummary summary = load_row(team_, row, is_few ? wanted : 0);
    if (summary.status != SAMPLER_ROW_OK) return summary.status;
    const int count = list_ranks(row, summary, summary.group_max, wanted);
    drop(seen.kind, run_windows(runner, count, xtc_word, parameters));
    return SAMPLER_ROW_OK;
  }

 private:
  // Tokens in rank order.
  struct Ranks {
    const Rank *ranks;
    SAMPLER_HD float value(int64_t place) const { return contract::value_of_rank(ranks[place]); }
  };

  using Runner = contract::StageRunner<Ranks>;

  // What adaptive-p goes by. What it has changed is noted in the marks: the probability that a kept
  // token had.
  struct Reweighed {
    contract::Distribution kept;
    contract::AdaptiveP stage;
  };

  // The whole row, as f32, as many elements from an aligned place as it has there. A barrier of the
  // team after it.
  SAMPLER_DEVICE_CALL void copy(const Row &row) {
    const int count = row.count();
    const OutputRows to = {values_ + row.source().lead, count, count, SAMPLER_F32};
    write_row(team_, to, 0, row, 0.0f, [](const Row &, int, int, float(&)[kRun]) {});
    team_.ctx.team_sync();
  }

  // Notes the row's first `wanted` tokens in rank order, or all there are: the result is their
  // number. The leader may read them; others after a barrier of the team.
  SAMPLER_DEVICE int list_ranks(const Row &row, const RowSummary &summary, Rank reached,
                                int wanted) {
    Rank *const ranks = ranks_;
    return list_in_rank_order(team_, row, summary, contract::lowest_cut(row.kind()), reached,
                              wanted, [ranks](int place, Rank rank) { ranks[place] = rank; });
  }

  // Of a pipeline without windows: temperature and filters alone.
  SAMPLER_DEVICE Runner runner(const Ranks &tokens, const StoredRow &seen, int64_t slot,
                               const RowParameters &parameters) const {
    const bool has_windows = pipeline_.has_windows;
    return Runner(tokens, seen.kind, parameters,
                  has_windows ? pipeline_.window_numbers(slot) : contract::WindowNumbers(), rules_,
                  has_windows ? pipeline_.typical_p_ties : SAMPLER_TIES_EXACT, seen.count);
  }

  // Null `notes`: nobody wants to know which stage removes what.
  SAMPLER_DEVICE_CALL contract::Staged run(const Runner &runner, int count, uint32_t xtc_word,
                                           StageNotes *notes) const {
    const contract::StageOrder order =
        pipeline_.has_windows ? pipeline_.windows : contract::order_of(rules_);
    return runner.run(order, count, xtc_word,
                      [notes](sampler_stage stage, contract::Window seen, contract::Window kept) {
                        if (notes) notes->add(stage, seen, kept);
                      });
  }

  // By one thread, which tells the others.
  SAMPLER_DEVICE contract::Window run_windows(const Runner &runner, int count, uint32_t xtc_word,
                                              RowParameters *parameters) {
    contract::Staged staged = {};
    if (team_.is_first_thread()) staged = run(runner, count, xtc_word, nullptr);
    uint64_t window = uint64_t(staged.window.begin) << 32 | uint64_t(staged.window.end);
    window = team_.max(window);
    const uint64_t bits = team_.max(contract::bits_of(staged.temperature));
    *parameters = {contract::float_of(uint32_t(bits)), 0, 1.0f, 0.0f};
    return {int64_t(window >> 32), int64_t(uint32_t(window))};
  }

  SAMPLER_DEVICE void drop(sampler_input_kind kind, const contract::Window &kept) {
    row_.clear_bits();
    row_.for_each(kept.begin, kept.end, [&](int64_t i) {
      row_.mark_bit(elements_.find(contract::id_of_rank(ranks_[i])));
    });
    team_.ctx.team_sync();
    row_.keep_marked(kind == SAMPLER_LOGITS ? contract::negative_infinity() : 0.0f);
  }

  Team<Context> &team_;
  const contract::Pipeline &pipeline_;
  const FilterRules &rules_;
  RowCache row_cache_;
  float *values_;
  Rank *ranks_;
  StageNotes *notes_;
  TeamElements<Context> elements_;
  EditedRow<Context> row_;
  TeamEdits<Context> edits_;
  contract::AdaptiveRules adaptive_ = {};  // of the row's slot
};

}  // namespace sampler::kernels
