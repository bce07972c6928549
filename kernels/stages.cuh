// The edits and windows of a team's row. The twin of src/cpu/stages.h.
//
// A row is checked as it was given, copied to the team's memory in the workspace, edited there, and
// read again. Windows list its first tokens in rank order, and what they drop is taken out of it.
#pragma once

#include <cstdint>

#include "contract/pipeline.h"
#include "contract/stages.h"
#include "distribution.cuh"
#include "edited_row.cuh"
#include "edits.cuh"
#include "elements.cuh"
#include "output.cuh"
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
        elements_(memory.part<uint32_t>(team.ctx.team(), memory.index)),
        row_(team, elements_, memory.part<uint32_t>(team.ctx.team(), memory.marks)),
        edits_(row_, pipeline) {}

  // Makes `seen` of a good row, which was loaded: the row itself, or what the edits leave of it,
  // which is yet to be loaded. The result is the row's status.
  SAMPLER_DEVICE uint32_t edit(const Row &given, int64_t slot, int64_t output, StoredRow *seen) {
    *seen = given.source();
    elements_.index(team_, given.source());
    if (!pipeline_.has_edits() && !pipeline_.has_windows) return SAMPLER_ROW_OK;
    copy(given);
    row_.begin(given.source(), values_ + given.source().lead);
    contract::RowView view = given.source();
    view.values = values_ + given.source().lead;
    view.dtype = SAMPLER_F32;
    *seen = stored_row(view);
    if (!pipeline_.has_edits()) return SAMPLER_ROW_OK;
    return edits_.edit(slot, output);
  }

  SAMPLER_DEVICE bool has_valid_numbers(int64_t slot, sampler_input_kind kind) const {
    return pipeline_.has_valid_numbers(slot, kind);
  }

  // The element of a token of the row; -1: it has none of that id.
  SAMPLER_DEVICE int find(int64_t id) const { return elements_.find(id); }

  // Takes what the windows drop out of the row that was edited, and gives the parameters that are
  // left. The result is the row's status.
  SAMPLER_DEVICE_CALL uint32_t keep_window(const StoredRow &seen, int64_t slot, uint32_t xtc_word,
                                           RowParameters *parameters) {
    if (!pipeline_.has_windows || contract::is_greedy(parameters->temperature)) {
      return SAMPLER_ROW_OK;
    }
    const Ranks tokens = {ranks_};
    const Runner runner(tokens, seen.kind, *parameters, pipeline_.window_numbers(slot), rules_,
                        pipeline_.typical_p_ties, seen.count);
    const int64_t decisive = runner.num_decisive(pipeline_.windows);
    const int wanted = decisive < seen.count ? int(decisive) : seen.count;
    Row row(team_.ctx, seen, row_cache_);
    const bool is_few = wanted < seen.count && wanted <= kEnough;
    const RowSummary summary = load_row(team_, row, is_few ? wanted : 0);
    if (summary.status != SAMPLER_ROW_OK) return summary.status;
    const int count = list_ranks(row, summary, wanted);
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

  // This many of a run that might fill the list will do; it saves one histogram.
  static constexpr int kEnough = kListCapacity * 2 / 3;

  // The whole row, as f32, as many elements from an aligned place as it has there. A barrier of the
  // team after it.
  SAMPLER_DEVICE_CALL void copy(const Row &row) {
    const int count = row.count();
    const OutputRows to = {values_ + row.source().lead, count, count, SAMPLER_F32};
    write_row(team_, to, 0, row, 0.0f, [](const Row &, int, int, float(&)[kRun]) {});
    team_.ctx.team_sync();
  }

  // The row's first `wanted` tokens in rank order, or all there are: the result is their number.
  // Run after run, as many at once as the list holds. The leader may read them; others after a
  // barrier of the team.
  SAMPLER_DEVICE_CALL int list_ranks(const Row &row, const RowSummary &summary, int wanted) {
    const Rank lowest = contract::lowest_cut(row.kind());
    int written = 0;
    Rank low = summary.group_max > lowest ? summary.group_max : lowest;
    Rank high = summary.first;
    while (written < wanted) {
      const int rest = wanted - written;
      const int run = rest < kListCapacity ? rest : kListCapacity;
      Search search = {low, high, uint64_t(run), kListCapacity};
      if (run < kEnough) {
        search.limit = list_limit(run);
      } else {
        search.enough = kEnough;
      }
      const Selected selected = low == summary.group_max
                                    ? select_top(team_, row, search)
                                    : select_key<RankOrder>(team_, row, search, CountTokens());
      int count = selected.listed;
      if (count < 0) count = make_list<RankOrder>(team_, row, selected.key, high);
      const int listed = count < rest ? count : rest;
      const Rank last = team_.broadcast(team_.shared.list[listed > 0 ? listed - 1 : 0], 0);
      if (listed == 0) break;
      if (team_.is_leader()) {
        for (int i = team_.ctx.thread(); i < listed; i += Context::kThreads) {
          ranks_[written + i] = team_.shared.list[i];
        }
        team_.ctx.sync();  // the next histogram stands where the list does
      }
      written += listed;
      if (listed < run && listed < kEnough) break;
      high = last - 1;
      low = lowest;
    }
    return written;
  }

  // By one thread, which tells the others.
  SAMPLER_DEVICE contract::Window run_windows(const Runner &runner, int count, uint32_t xtc_word,
                                              RowParameters *parameters) {
    contract::Staged staged = {};
    if (team_.is_first_thread()) staged = runner.run(pipeline_.windows, count, xtc_word);
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
  TeamElements<Context> elements_;
  EditedRow<Context> row_;
  TeamEdits<Context> edits_;
};

}  // namespace sampler::kernels
