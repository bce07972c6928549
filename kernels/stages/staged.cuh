// Sampling and filtering with stages: the staged row is then processed like one without stages.
#pragma once

#include <cstdint>

#include "contract/adaptive.h"
#include "contract/elements.h"
#include "contract/philox.h"
#include "machine/team.cuh"
#include "operations/filter.cuh"
#include "operations/reports.cuh"
#include "operations/sample.cuh"
#include "row/distribution.cuh"
#include "row/draw.cuh"
#include "row/output.cuh"
#include "row/row.cuh"
#include "stages/staged.h"
#include "stages/stages.cuh"

namespace sampler::kernels {

// ---- sampler_sample -----------------------------------------------------------------------------

template <class Context>
class StagedSampleTeam : public SampleTeam<Context> {
 public:
  SAMPLER_DEVICE StagedSampleTeam(Team<Context> &team, const StagedSampleRequest &request,
                                  const RowCache &row_cache)
      : Base(team, request, row_cache),
        edited_(request.memory.part<float>(team.ctx.team(), request.memory.edited)),
        kind_(request.logprob_kind),
        keeps_edited_(request.keeps_edited()),
        reports_removals_(request.wanted.out_removed_by != nullptr),
        stages_(team, request.stages, request.memory, request.parameters.rules, row_cache),
        reports_(team, request, stages_.elements()) {}

  // Output rows [begin, end). Staged rows are not shared between outputs.
  SAMPLER_DEVICE void run(int64_t begin, int64_t end) {
    for (int64_t output = begin; output < end; ++output) run_one(output);
    while (this->take_listed()) run_one(this->next_);
  }

 protected:
  using Base = SampleTeam<Context>;
  using Row = typename Base::Row;

  SAMPLER_DEVICE void run_one(int64_t output) {
    this->output_ = output;
    this->next_ = output + 1;
    const uint32_t status = run_output();
    if (status != SAMPLER_ROW_OK) write_bad(status);
  }

  // Returns the row's status. Outputs not yet written are bad.
  SAMPLER_DEVICE uint32_t run_output() {
    const SampleRequest &request = this->request_;
    const int64_t index = input_row(request, this->output_);
    if (index < 0 || index >= request.input.num_rows) return SAMPLER_ROW_INVALID_INDEX;
    slot_ = request.slots[this->output_];
    uint32_t status = contract::read_parameters(request, slot_, &this->parameters_);
    if (status != SAMPLER_ROW_OK) return status;
    given_ = stored_row(contract::row_view(request.input, index));
    if (!stages_.has_valid_numbers(slot_, given_.kind)) return SAMPLER_ROW_INVALID_PARAMETER;
    if (!contract::has_valid_count(given_, request.input.num_cols)) {
      return SAMPLER_ROW_INVALID_CANDIDATE;
    }
    StoredRow seen = given_;
    if (is_looked_at_first()) status = look_at_given(&seen);
    if (status != SAMPLER_ROW_OK) return status;
    stages_.adapt(slot_, &this->parameters_);
    const contract::RandomStream random = this->random_stream();
    const uint32_t xtc_word = contract::random_word32(random, contract::Purpose::kXtc, 0);
    if (reports_removals_) {
      status = stages_.trace_removals(seen, slot_, xtc_word, this->parameters_,
                                      reports_.removals(this->output_));
      if (status != SAMPLER_ROW_OK) return status;
    }
    status = stages_.keep_window(seen, slot_, xtc_word, &this->parameters_);
    return status == SAMPLER_ROW_OK ? draw_seen(seen) : status;
  }

  // Whether the given row is loaded before the one that is drawn from.
  SAMPLER_DEVICE bool is_looked_at_first() const {
    return stages_.changes_rows() || reports_removals_;
  }

  SAMPLER_DEVICE_CALL uint32_t look_at_given(StoredRow *seen) {
    Row row(this->team_.ctx, given_, this->row_cache_);
    const RowSummary summary = load_row(this->team_, row, 0);
    if (summary.status != SAMPLER_ROW_OK) return summary.status;
    look_at(row, summary);
    stages_.note_removals(reports_.removals(this->output_));
    if (reports_removals_) reports_.note_never_there(given_, this->output_);
    const uint32_t status = stages_.edit(row, slot_, this->output_, seen);
    if (status == SAMPLER_ROW_OK && keeps_edited_) stages_.copy_values(edited_);
    return status;
  }

  // Raw log-probabilities are of the row before its edits.
  SAMPLER_DEVICE void look_at(const Row &given, const RowSummary &summary) {
    stages_.index(given);
    this->raw_weight_ = this->has_raw_logprobs() ? total_weight(this->team_, given, summary) : 0;
    raw_scale_ = contract::row_scale(given_.kind, contract::value_of_rank(summary.first), 1.0f);
  }

  SAMPLER_DEVICE_CALL uint32_t draw_seen(const StoredRow &seen) {
    const SampleRequest &request = this->request_;
    Row row(this->team_.ctx, seen, this->row_cache_);
    const RowSummary summary = load_row(this->team_, row, wanted_maxima(seen.count));
    if (summary.status != SAMPLER_ROW_OK) return summary.status;
    const int64_t forced = stages_.forced_token(slot_, this->output_);
    if (!is_looked_at_first()) {
      look_at(row, summary);
      this->team_.ctx.team_sync();  // the elements may be queried
    }
    if (forced >= 0 && stages_.find(forced) < 0) return SAMPLER_ROW_INVALID_PARAMETER;
    ListState list;
    wanted_ = this->wanted_of_kept();
    const Wanted reported = reports_.wanted_of_kept();
    wanted_ = {wanted_.count || reported.count, wanted_.weight || reported.weight};
    const Wanted wanted = {wanted_.count, wanted_.weight || stages_.needs_weight()};
    const Distribution kept = make_distribution(this->team_, row, summary, this->parameters_,
                                                request.parameters.rules, &list, wanted);
    if (stages_.reweighs(kept)) {
      draw_reweighed(stages_.reweigh(seen, kept, slot_), forced);
    } else {
      draw_from(row, summary, kept, list, forced);
    }
    return SAMPLER_ROW_OK;
  }

  SAMPLER_DEVICE_CALL void draw_reweighed(const StoredRow &changed, int64_t forced) {
    Row row(this->team_.ctx, changed, this->row_cache_);
    const RowSummary summary =
        load_row(this->team_, row, reports_drawn_row() ? reports_.wanted_maxima(changed.count) : 0);
    const Distribution all = unfiltered_distribution(this->team_, row, summary, 1.0f, wanted_);
    draw_from(row, summary, all, ListState(), forced);
  }

  // Draws a token, unless one is forced, and writes all reports.
  SAMPLER_DEVICE_CALL void draw_from(const Row &row, const RowSummary &summary,
                                     const Distribution &distribution, const ListState &list,
                                     int64_t forced) {
    int64_t id = forced;
    if (forced < 0 && distribution.greedy) {
      id = contract::id_of_rank(distribution.cut);
    } else if (forced < 0) {
      const DrawSource source =
          this->is_gumbel() ? DrawSource() : prepare_draw(this->team_, distribution, list);
      const contract::GumbelStream random = {this->random_stream(),
                                             this->request_.random.are_watermarks};
      id = this->draw(row, distribution, list, source, random).id;
    }
    if (this->team_.is_first_thread()) write(id, row.source(), distribution);
    if (reports_.are_of_kept()) reports_.write_kept(row.source(), distribution, this->output_);
    if (!reports_.are_of_distribution()) return;
    if (reports_drawn_row()) {
      report_row(row, summary, distribution, id);
    } else {
      report_other_row(distribution, id);
    }
  }

  // Whether the reported distribution is one of the row that is drawn from.
  SAMPLER_DEVICE bool reports_drawn_row() const {
    return kind_ == SAMPLER_LOGPROB_PROCESSED || !stages_.changes_rows() ||
           (kind_ == SAMPLER_LOGPROB_EDITED && !keeps_edited_);
  }

  // Reports the row as given, or as the edits left it.
  SAMPLER_DEVICE_CALL void report_other_row(const Distribution &drawn, int64_t id) {
    contract::RowView view = given_;
    if (kind_ == SAMPLER_LOGPROB_EDITED) {
      view.values = edited_;
      view.dtype = SAMPLER_F32;
    }
    Row row(this->team_.ctx, stored_row(view), this->row_cache_);
    report_row(row, load_row(this->team_, row, reports_.wanted_maxima(view.count)), drawn, id);
  }

  SAMPLER_DEVICE void report_row(const Row &row, const RowSummary &summary,
                                 const Distribution &drawn, int64_t id) const {
    contract::Reported reported =
        contract::reported_row(row.kind(), contract::value_of_rank(summary.first));
    if (kind_ == SAMPLER_LOGPROB_PROCESSED) {
      const bool has_weight = drawn.greedy || wanted_.weight;
      reported = {drawn.scale, drawn.cut, has_weight ? drawn.kept_weight : 0, drawn.greedy};
    } else if (this->has_raw_logprobs()) {
      reported.weight = this->raw_weight_;
    }
    const Rank reached = reports_.wanted_maxima(row.count()) > 0 ? summary.group_max : 0;
    reports_.write_distribution(row, summary, reached, reported, this->output_, id);
  }

  SAMPLER_DEVICE void write_bad(uint32_t status) const {
    Base::write_bad(status);
    reports_.write_bad(this->output_);
    if (!this->request_.out_observations || !this->team_.is_first_thread()) return;
    this->request_.out_observations[this->output_] = contract::quiet_nan();
  }

  SAMPLER_DEVICE void write(int64_t id, const StoredRow &seen,
                            const Distribution &distribution) const {
    const SampleRequest &request = this->request_;
    const int64_t output = this->output_;
    if (request.out_token_ids.data) contract::store_id(request.out_token_ids, output, id);
    if (request.out_kept_counts) request.out_kept_counts[output] = int32_t(distribution.kept_count);
    if (request.out_row_status) request.out_row_status[output] = SAMPLER_ROW_OK;
    const int element = stages_.find(id);
    const float given = given_.value(element);
    if (request.out_values) request.out_values[output] = given;
    if (request.out_observations) {
      request.out_observations[output] = stages_.observation(id, seen.value(element), distribution);
    }
    if (!request.out_logprobs || kind_ == SAMPLER_LOGPROB_EDITED) return;
    request.out_logprobs[output] =
        kind_ == SAMPLER_LOGPROB_RAW
            ? contract::forced_log_probability(raw_scale_, given, true, this->raw_weight_)
            : processed_logprob(id, seen.value(element), distribution);
  }

  // Group maxima of the drawn row that top-k and the reports need. A top-k of all needs none.
  SAMPLER_DEVICE int wanted_maxima(int count) const {
    const int drawn = wanted_group_maxima(this->parameters_, count);
    const bool keeps_all = this->parameters_.top_k >= count;
    const int reported = reports_drawn_row() && !keeps_all ? reports_.wanted_maxima(count) : 0;
    return drawn > reported ? drawn : reported;
  }

  SAMPLER_DEVICE float processed_logprob(int64_t id, float value,
                                         const Distribution &distribution) const {
    const bool is_kept = distribution.keeps(contract::rank_of(value, uint32_t(id)));
    if (distribution.greedy && is_kept) return 0.0f;
    return contract::forced_log_probability(distribution.scale, value, is_kept,
                                            distribution.kept_weight);
  }

  float *edited_;  // the row after the edits, kept if windows change it
  sampler_logprob_kind kind_;
  bool keeps_edited_;
  bool reports_removals_;
  TeamStages<Context> stages_;
  TeamReports<Context> reports_;
  int64_t slot_ = 0;
  Wanted wanted_ = {};  // of the drawn row
  StoredRow given_ = {};
  RowScale raw_scale_ = {};  // of the given row, at temperature 1
};

// ---- sampler_filter -----------------------------------------------------------------------------

template <class Context>
class StagedFilterTeam : public FilterTeam<Context> {
 public:
  SAMPLER_DEVICE StagedFilterTeam(Team<Context> &team, const StagedFilterRequest &request,
                                  const RowCache &row_cache)
      : Base(team, request, row_cache),
        stages_(team, request.stages, request.memory, request.parameters.rules, row_cache) {}

  SAMPLER_DEVICE void run(int64_t begin, int64_t end) {
    for (this->index_ = begin; this->index_ < end; ++this->index_) run_row();
  }

 private:
  using Base = FilterTeam<Context>;
  using Row = typename Base::Row;

  SAMPLER_DEVICE void run_row() {
    const FilterRequest &request = this->request_;
    const StoredRow given = stored_row(contract::row_view(request.input, this->index_));
    const int64_t slot = request.slots[this->index_];
    StoredRow seen = given;
    uint32_t status = contract::read_parameters(request, slot, &this->parameters_);
    if (status == SAMPLER_ROW_OK && !stages_.has_valid_numbers(slot, given.kind)) {
      status = SAMPLER_ROW_INVALID_PARAMETER;
    }
    const bool has_count = contract::has_valid_count(given, request.input.num_cols);
    if (status == SAMPLER_ROW_OK && !has_count) status = SAMPLER_ROW_INVALID_CANDIDATE;
    if (status == SAMPLER_ROW_OK) status = edit(given, slot, &seen);
    if (status == SAMPLER_ROW_OK) {
      stages_.adapt(slot, &this->parameters_);
      status = stages_.keep_window(seen, slot, 0, &this->parameters_);
    }
    if (status == SAMPLER_ROW_OK) status = write_good(seen, slot);
    if (status == SAMPLER_ROW_OK) return;
    StoredRow copied = given;
    if (!has_count) copied.count = 0;
    this->write_bad(copied, status);
  }

  SAMPLER_DEVICE_CALL uint32_t edit(const StoredRow &given, int64_t slot, StoredRow *seen) {
    Row row(this->team_.ctx, given, this->row_cache_);
    const RowSummary summary = load_row(this->team_, row, 0);
    if (summary.status != SAMPLER_ROW_OK) return summary.status;
    stages_.index(row);
    return stages_.edit(row, slot, this->index_, seen);
  }

  SAMPLER_DEVICE_CALL uint32_t write_good(const StoredRow &seen, int64_t slot) {
    const FilterRequest &request = this->request_;
    Row row(this->team_.ctx, seen, this->row_cache_);
    const RowSummary summary =
        load_row(this->team_, row, wanted_group_maxima(this->parameters_, seen.count));
    if (summary.status != SAMPLER_ROW_OK) return summary.status;
    ListState list;
    const Distribution distribution =
        make_distribution(this->team_, row, summary, this->parameters_, request.parameters.rules,
                          &list, {request.out_kept_counts != nullptr, true});
    if (this->is_mask()) {
      this->write_mask(row, distribution);
    } else if (stages_.reweighs(distribution)) {
      write_reweighed(stages_.reweigh(seen, distribution, slot));
    } else {
      write_probabilities(this->team_, this->output(), this->index_, row, distribution);
    }
    this->write_outcome(SAMPLER_ROW_OK, distribution.kept_count);
    return SAMPLER_ROW_OK;
  }

  SAMPLER_DEVICE_CALL void write_reweighed(const StoredRow &changed) {
    Row row(this->team_.ctx, changed, this->row_cache_);
    const RowSummary summary = load_row(this->team_, row, 0);
    const Distribution all = unfiltered_distribution(this->team_, row, summary, 1.0f);
    write_probabilities(this->team_, this->output(), this->index_, row, all);
  }

  TeamStages<Context> stages_;
};

}  // namespace sampler::kernels
