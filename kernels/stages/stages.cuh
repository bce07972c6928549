// Stages of a team's row: logits processors (edits), truncations (windows), new weights.
// CPU twin: src/cpu/stages.h.
//
// A row is checked as given, copied to the team's memory in the workspace, edited there, and read
// again. Windows take passes over it, and their removals are written to it. Adaptive-p replaces the
// kept tokens' logits.
#pragma once

#include <cstdint>

#include "contract/adaptive.h"
#include "contract/adaptive_values.h"
#include "contract/pipeline.h"
#include "contract/reports.h"
#include "contract/stages.h"
#include "machine/team.cuh"
#include "row/distribution.cuh"
#include "row/elements.cuh"
#include "row/output.cuh"
#include "row/ranks.cuh"
#include "row/row.cuh"
#include "row/selection.cuh"
#include "row/windows.cuh"
#include "stages/edited_row.cuh"
#include "stages/edits.cuh"
#include "stages/staged.h"
#include "stages/text_edits.cuh"

namespace sampler::kernels {

// The history of a sequence, and the values of its adaptive stages.
struct TeamHistory {
  StagedText text;
  contract::AdaptiveValues values;
};

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

  // From now on rows have this history, not their slot's.
  SAMPLER_DEVICE void assume(const TeamHistory *history) {
    history_ = history;
    edits_.assume(&history->text);
  }

  // Indexes the ids of a good, loaded row. A barrier of the team must follow.
  SAMPLER_DEVICE void index(const Row &given) { elements_.index(team_, given.source()); }

  // Sets `seen` to the row itself, or to the edited row, which must be loaded. Returns the row's
  // status.
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

  // Copies the edited row. Edits end with a barrier of the team.
  SAMPLER_DEVICE void copy_values(float *to) const {
    row_.for_each(0, row_.count(), [&](int64_t i) { to[i] = row_.values[i]; });
  }

  SAMPLER_DEVICE bool changes_rows() const { return pipeline_.changes_rows(); }
  SAMPLER_DEVICE int64_t forced_token(int64_t slot, int64_t output) const {
    return pipeline_.forced_token(slot, output);
  }

  SAMPLER_DEVICE bool has_valid_numbers(int64_t slot, sampler_input_kind kind) const {
    return pipeline_.has_valid_numbers(slot, kind);
  }

  // The slot's parameters as moved by its adaptive stages.
  SAMPLER_DEVICE void adapt(int64_t slot, RowParameters *parameters) {
    adaptive_ = pipeline_.adaptive.of(slot);
    *parameters = pipeline_.adapted(*parameters, slot, values(slot));
  }

  // Whether the row's adaptive stage needs the kept weight.
  SAMPLER_DEVICE bool needs_weight() const {
    return adaptive_.is_mirostat() || adaptive_.reweighs();
  }

  // Whether adaptive-p or smoothing gives the kept tokens new weights.
  SAMPLER_DEVICE bool reweighs(const contract::Distribution &kept) const {
    return !kept.greedy && adaptive_.reweighs();
  }

  // Replaces the kept tokens' values in `seen` by their new logits: a row of temperature 1, to
  // be loaded. Needs a barrier of the team since the row was last read; a barrier follows.
  SAMPLER_DEVICE_CALL StoredRow reweigh(const StoredRow &seen, const contract::Distribution &kept,
                                        int64_t slot) {
    const Reweighed reweighed = {
        kept, contract::reweighing(values(slot), adaptive_, kept.scale, kept.kept_weight)};
    const float lowest = contract::value_of_rank(kept.cut);
    row_.change_all([&](int element, float x) {
      const uint32_t id = uint32_t(row_.id_of_element(element));
      if (x < lowest || !reweighed.kept.keeps(contract::rank_of(x, id))) {
        return contract::negative_infinity();
      }
      if (reweighed.stage.smooths) return reweighed.stage.smoothing.logit(x);
      row_.marks[element] = contract::bits_of(reweighed.stage.adaptive_p.probability(x));
      return reweighed.stage.adaptive_p.logit(x);
    });
    StoredRow changed = seen;
    changed.kind = SAMPLER_LOGITS;
    return changed;
  }

  // The observation for the slot's adaptive stage, after a token of this id and value is drawn from
  // `drawn`. NaN: none.
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

  // The row's elements by token id.
  SAMPLER_DEVICE const TeamElements<Context> &elements() const { return elements_; }
  SAMPLER_DEVICE int find(int64_t id) const { return elements_.find(id); }

  // Records in `removed_by` the stage that removes each token that the edits left. Returns the
  // row's status. The caller must load a row before it calls any other function.
  SAMPLER_DEVICE_CALL uint32_t trace_removals(const StoredRow &seen, int64_t slot,
                                              uint32_t xtc_word, const RowParameters &parameters,
                                              uint8_t *removed_by) {
    Row row(team_.ctx, seen, row_cache_);
    const RowSummary summary = load_row(team_, row, 0);
    if (summary.status != SAMPLER_ROW_OK) return summary.status;
    if (team_.is_first_thread()) notes_->count = 0;
    Windows windows(team_, row, summary, seen.count, ranks_);
    if (contract::is_greedy(parameters.temperature)) {
      note(SAMPLER_STAGE_TEMPERATURE, {0, windows.count()}, {0, 1});
    } else {
      const Tokens tokens = {&windows};
      run(runner(tokens, seen, slot, parameters), windows.count(), xtc_word, true);
    }
    const int count = list_ranks(row, summary, seen.count);
    team_.ctx.team_sync();
    row_.for_each(0, count, [&](int64_t i) {
      const uint8_t stage = notes_->remover_of(i);
      if (stage != contract::kNotRemoved) {
        removed_by[elements_.find(contract::id_of_rank(ranks_[i]))] = stage;
      }
    });
    return SAMPLER_ROW_OK;
  }

  // From now on edits record in `removed_by`, by element, the stage that made it -inf, where it is
  // 0.
  SAMPLER_DEVICE void note_removals(uint8_t *removed_by) { edits_.note_removals(removed_by); }

  // Removes from the edited row what the windows drop, and sets the remaining parameters. Returns
  // the row's status.
  SAMPLER_DEVICE_CALL uint32_t keep_window(const StoredRow &seen, int64_t slot, uint32_t xtc_word,
                                           RowParameters *parameters) {
    if (!pipeline_.has_windows || contract::is_greedy(parameters->temperature)) {
      return SAMPLER_ROW_OK;
    }
    const Tokens none = {nullptr};
    const Runner stages = runner(none, seen, slot, *parameters);
    if (!stages.any_is_on(pipeline_.windows)) return SAMPLER_ROW_OK;
    Row row(team_.ctx, seen, row_cache_);
    const int wanted = num_decisive(stages, seen.count);
    const RowSummary summary = load_row(team_, row, wanted < seen.count ? wanted : 0);
    if (summary.status != SAMPLER_ROW_OK) return summary.status;
    Windows windows(team_, row, summary, wanted, ranks_);
    const Tokens tokens = {&windows};
    const contract::Staged staged =
        run(runner(tokens, seen, slot, *parameters), windows.count(), xtc_word, false);
    *parameters = {staged.temperature, 0, 1.0f, 0.0f};
    drop(row.nothing(), windows.ranks(staged.window));
    return SAMPLER_ROW_OK;
  }

 private:
  SAMPLER_DEVICE contract::AdaptiveValues values(int64_t slot) const {
    return history_ ? history_->values : pipeline_.values(slot);
  }

  using Windows = TeamWindows<Context>;
  using Tokens = TeamTokens<Context>;
  using Runner = contract::StageRunner<Tokens>;

  // State of the new weights. With adaptive-p the marks hold the probability that a changed token
  // had.
  struct Reweighed {
    contract::Distribution kept;
    contract::Reweighing stage;
  };

  // Copies the whole row as f32, with the same lead. A barrier of the team follows.
  SAMPLER_DEVICE_CALL void copy(const Row &row) {
    const int count = row.count();
    const OutputRows to = {values_ + row.source().lead, count, count, SAMPLER_F32};
    write_row(team_, to, 0, row, 0.0f, [](const Row &, int, int, float(&)[kRun]) {});
    team_.ctx.team_sync();
  }

  // Stores the row's ranks in order; returns their number. The leader may read them; other blocks
  // after a barrier of the team.
  SAMPLER_DEVICE int list_ranks(const Row &row, const RowSummary &summary, int wanted) {
    return list_in_rank_order(team_, row, summary, contract::lowest_cut(row.kind()), 0, wanted,
                              [ranks = ranks_](int place, Rank rank) { ranks[place] = rank; });
  }

  SAMPLER_DEVICE void note(sampler_stage stage, contract::Window seen,
                           contract::Window kept) const {
    if (team_.is_first_thread()) notes_->add(stage, seen, kept);
  }

  // For a pipeline without windows: temperature and filters only.
  SAMPLER_DEVICE Runner runner(const Tokens &tokens, const StoredRow &seen, int64_t slot,
                               const RowParameters &parameters) const {
    const bool has_windows = pipeline_.has_windows;
    return Runner(
        tokens, seen.kind, parameters,
        has_windows ? pipeline_.window_numbers(slot, values(slot)) : contract::WindowNumbers(),
        rules_, has_windows ? pipeline_.window_rules : contract::WindowRules(), seen.count);
  }

  // Number of the row's first tokens that decide the windows' result; all if a list cannot hold
  // them.
  SAMPLER_DEVICE int num_decisive(const Runner &stages, int count) const {
    const int64_t num = stages.num_decisive(pipeline_.windows);
    return num < count && num <= kEnoughOfRun ? int(num) : count;
  }

  // `notes`: record what each stage keeps.
  SAMPLER_DEVICE_CALL contract::Staged run(const Runner &runner, int64_t count, uint32_t xtc_word,
                                           bool notes) const {
    const contract::StageOrder order =
        pipeline_.has_windows ? pipeline_.windows : contract::order_of(rules_);
    return runner.run(
        order, count, xtc_word,
        [this, notes](sampler_stage stage, contract::Window seen, contract::Window kept) {
          if (notes) note(stage, seen, kept);
        });
  }

  SAMPLER_DEVICE void drop(float nothing, const typename Windows::Ranks &kept) {
    row_.change_all([&](int element, float x) {
      return kept.has(contract::rank_of(x, uint32_t(row_.id_of_element(element)))) ? x : nothing;
    });
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
  TeamEdits<Context, EditedRow<Context>> edits_;
  contract::AdaptiveRules adaptive_ = {};  // of the row's slot
  const TeamHistory *history_ = nullptr;
};

}  // namespace sampler::kernels
