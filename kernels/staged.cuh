// Sampling and filtering with stages: what they leave of a row is then sampled and filtered like
// one without.
#pragma once

#include <cstdint>

#include "contract/adaptive.h"
#include "contract/elements.h"
#include "contract/philox.h"
#include "distribution.cuh"
#include "draw.cuh"
#include "output.cuh"
#include "row.cuh"
#include "rows.cuh"
#include "sample.cuh"
#include "staged.h"
#include "stages.cuh"
#include "team.cuh"

namespace sampler::kernels {

// ---- sampler_sample -----------------------------------------------------------------------------

template <class Context>
class StagedSampleTeam : public SampleTeam<Context> {
 public:
  SAMPLER_DEVICE StagedSampleTeam(Team<Context> &team, const StagedSampleRequest &request,
                                  const RowCache &row_cache)
      : Base(team, request, row_cache),
        forced_ids_(request.stages.forced_token_ids),
        stages_(team, request.stages, request.memory, request.parameters.rules, row_cache) {}

  // Output rows [begin, end). What is edited is not shared.
  SAMPLER_DEVICE void run(int64_t begin, int64_t end) {
    for (int64_t output = begin; output < end; ++output) {
      this->output_ = output;
      this->next_ = output + 1;
      const uint32_t status = run_output();
      if (status != SAMPLER_ROW_OK) this->write_bad(status);
    }
  }

 private:
  using Base = SampleTeam<Context>;
  using Row = typename Base::Row;

  // The result is the row's status. What is not written yet is bad.
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
    status = look_at_given(&seen);
    if (status != SAMPLER_ROW_OK) return status;
    const contract::RandomStream random = this->random_stream();
    const uint32_t xtc_word = contract::random_word32(random, contract::Purpose::kXtc, 0);
    status = stages_.keep_window(seen, slot_, xtc_word, &this->parameters_);
    return status == SAMPLER_ROW_OK ? draw_seen(seen) : status;
  }

  // Raw log-probabilities are of the row before its edits.
  SAMPLER_DEVICE_CALL uint32_t look_at_given(StoredRow *seen) {
    Row row(this->team_.ctx, given_, this->row_cache_);
    const RowSummary summary = load_row(this->team_, row, 0);
    if (summary.status != SAMPLER_ROW_OK) return summary.status;
    this->raw_weight_ = this->has_raw_logprobs() ? total_weight(this->team_, row, summary) : 0;
    raw_scale_ = contract::row_scale(given_.kind, contract::value_of_rank(summary.first), 1.0f);
    return stages_.edit(row, slot_, this->output_, seen);
  }

  SAMPLER_DEVICE_CALL uint32_t draw_seen(const StoredRow &seen) {
    const SampleRequest &request = this->request_;
    Row row(this->team_.ctx, seen, this->row_cache_);
    const RowSummary summary =
        load_row(this->team_, row, wanted_group_maxima(this->parameters_, seen.count));
    if (summary.status != SAMPLER_ROW_OK) return summary.status;
    const int64_t forced = forced_ids_ ? forced_ids_[slot_] : -1;
    if (forced >= 0 && stages_.find(forced) < 0) return SAMPLER_ROW_INVALID_PARAMETER;
    ListState list;
    const Distribution distribution =
        make_distribution(this->team_, row, summary, this->parameters_, request.parameters.rules,
                          &list, this->wanted_of_kept());
    int64_t id = forced;
    if (forced < 0 && distribution.greedy) {
      id = contract::id_of_rank(distribution.cut);
    } else if (forced < 0) {
      const DrawSource source =
          this->is_gumbel() ? DrawSource() : prepare_draw(this->team_, distribution, list);
      id = this->draw(row, distribution, list, source, this->random_stream()).id;
    }
    if (this->team_.is_first_thread()) write(id, seen, distribution);
    return SAMPLER_ROW_OK;
  }

  SAMPLER_DEVICE void write(int64_t id, const StoredRow &seen,
                            const Distribution &distribution) const {
    const SampleRequest &request = this->request_;
    const int64_t output = this->output_;
    contract::store_id(request.out_token_ids, output, id);
    if (request.out_kept_counts) request.out_kept_counts[output] = int32_t(distribution.kept_count);
    if (request.out_row_status) request.out_row_status[output] = SAMPLER_ROW_OK;
    if (!request.out_logprobs && !request.out_values) return;
    const int element = stages_.find(id);
    const float given = given_.value(element);
    if (request.out_values) request.out_values[output] = given;
    if (!request.out_logprobs) return;
    request.out_logprobs[output] =
        request.logprob_kind == SAMPLER_LOGPROB_RAW
            ? contract::forced_log_probability(raw_scale_, given, true, this->raw_weight_)
            : processed_logprob(id, seen.value(element), distribution);
  }

  SAMPLER_DEVICE float processed_logprob(int64_t id, float value,
                                         const Distribution &distribution) const {
    const bool is_kept = distribution.keeps(contract::rank_of(value, uint32_t(id)));
    if (distribution.greedy && is_kept) return 0.0f;
    return contract::forced_log_probability(distribution.scale, value, is_kept,
                                            distribution.kept_weight);
  }

  const int64_t *forced_ids_;  // null: none are
  TeamStages<Context> stages_;
  int64_t slot_ = 0;
  StoredRow given_ = {};
  RowScale raw_scale_ = {};  // of the given row at temperature 1
};

// ---- sampler_filter -----------------------------------------------------------------------------

template <class Context>
class StagedRowsTeam : public RowsTeam<Context> {
 public:
  SAMPLER_DEVICE StagedRowsTeam(Team<Context> &team, const StagedRowsRequest &request,
                                const RowCache &row_cache)
      : Base(team, request, row_cache),
        stages_(team, request.stages, request.memory, request.parameters.rules, row_cache) {}

  SAMPLER_DEVICE void run(int64_t begin, int64_t end) {
    for (this->index_ = begin; this->index_ < end; ++this->index_) run_row();
  }

 private:
  using Base = RowsTeam<Context>;
  using Row = typename Base::Row;

  SAMPLER_DEVICE void run_row() {
    const RowsRequest &request = this->request_;
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
      status = stages_.keep_window(seen, slot, 0, &this->parameters_);
    }
    if (status == SAMPLER_ROW_OK) status = write_good(seen);
    if (status == SAMPLER_ROW_OK) return;
    StoredRow copied = given;
    if (!has_count) copied.count = 0;
    this->write_bad(copied, status);
  }

  SAMPLER_DEVICE_CALL uint32_t edit(const StoredRow &given, int64_t slot, StoredRow *seen) {
    Row row(this->team_.ctx, given, this->row_cache_);
    const RowSummary summary = load_row(this->team_, row, 0);
    if (summary.status != SAMPLER_ROW_OK) return summary.status;
    return stages_.edit(row, slot, this->index_, seen);
  }

  SAMPLER_DEVICE_CALL uint32_t write_good(const StoredRow &seen) {
    const RowsRequest &request = this->request_;
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
    } else {
      write_probabilities(this->team_, this->output(), this->index_, row, distribution);
    }
    this->write_outcome(SAMPLER_ROW_OK, distribution.kept_count);
    return SAMPLER_ROW_OK;
  }

  TeamStages<Context> stages_;
};

}  // namespace sampler::kernels
