// Draws from held rows: after edits, and windows, with reports.
#pragma once

#include <cstdint>
#include <type_traits>

#include "contract/draw.h"
#include "contract/request.h"
#include "held/cut.cuh"
#include "held/reports.cuh"
#include "held/windows.cuh"
#include "operations/sample.cuh"
#include "stages/edited_row.cuh"
#include "stages/edits.cuh"
#include "stages/staged.h"

namespace sampler::kernels {

// A row of f32 in the shared memory of all blocks of its team.
template <class Context, class Block>
class HeldEditedRow : public TeamEditedRow<Context, HeldEditedRow<Context, Block>> {
 public:
  using TeamEditedRow<Context, HeldEditedRow>::team;
  using Row = HeldRow;

  SAMPLER_DEVICE HeldEditedRow(Team<Context> &owner, const Block &block, uint32_t *of_elements)
      : TeamEditedRow<Context, HeldEditedRow>(owner, of_elements), block_(block) {}

  SAMPLER_DEVICE void begin(const Row &row) { row_ = row; }

  SAMPLER_DEVICE int count() const { return row_.count; }
  SAMPLER_DEVICE int find(int64_t id) const { return id >= 0 && id < row_.count ? int(id) : -1; }
  SAMPLER_DEVICE int64_t id_of_element(int element) const { return element; }
  SAMPLER_DEVICE float &value(int element) const { return block_.value_in_team(row_, element); }

  // Replaces each value by change(element, x). A barrier follows.
  template <class Change>
  SAMPLER_DEVICE void change_all(const Change &change) const {
    block_.change_all(row_, change);
    team.ctx.team_sync();
  }

 private:
  const Block &block_;
  Row row_;
};

// kStages: with windows and adaptive stages; then with edits and reports, too.
template <class Context, bool kEdits, bool kStages>
class SampleBlock
    : std::conditional_t<kStages, WindowBlock<Context>, ReportBlock<Context, !kEdits>> {
 public:
  SAMPLER_DEVICE SampleBlock(const Context &context, const StagedSampleRequest &sample,
                             const Held &layout)
      : Base(context, sample, layout), edits_(*this) {}

  SAMPLER_DEVICE void run() {
    const bool is_left = held.rows_left != nullptr;
    if (is_left) ctx.wait_for_launch_before();
    const int64_t num = is_left ? int64_t(*held.num_rows_left) : held.num_rows;
    for (int64_t i = ctx.team(); i < num; i += ctx.num_teams()) {
      output_ = is_left ? int64_t(held.rows_left[i]) : i;
      run_row();
      ctx.team_sync();  // peers may access this block's shared memory until here
    }
  }

 private:
  static_assert(sizeof(TeamShared) <= sizeof(StreamedList), "edits come before the list");
  using Base = std::conditional_t<kStages, WindowBlock<Context>, ReportBlock<Context, !kEdits>>;
  using Block = typename Base::Block;
  using Base::ctx;
  using Base::held;
  using Base::outputs;
  using Base::request;
  using Base::shared;
  using Base::state;
  using Row = typename Base::Row;
  using EditedRow = HeldEditedRow<const Context, SampleBlock>;
  friend EditedRow;

  struct Edits {
    SAMPLER_DEVICE explicit Edits(const SampleBlock &block)
        : team(block.ctx, *reinterpret_cast<TeamShared *>(&block.shared.row)),
          row(team, block, block.marks()),
          edits(row, block.request.stages) {}

    Team<const Context> team;
    EditedRow row;
    TeamEdits<const Context, EditedRow> edits;
  };
  struct NoEdits {
    SAMPLER_DEVICE explicit NoEdits(const SampleBlock &) {}
  };

  // The given row's distribution, at temperature 1.
  struct Raw {
    contract::RowScale scale;
    uint64_t weight;  // 0: not needed
  };

  SAMPLER_DEVICE void run_row() {
    const int64_t index = input_row(request, output_);
    const bool has_row = index >= 0 && index < request.input.num_rows;
    const int64_t slot = request.slots[output_];
    if (ctx.thread() == 0) {
      this->read_parameters(slot);
      if (!has_row) {
        state().status = SAMPLER_ROW_INVALID_INDEX;
      } else if (state().status == SAMPLER_ROW_OK &&
                 !request.stages.has_valid_numbers(slot, this->kind())) {
        state().status = SAMPLER_ROW_INVALID_PARAMETER;
      }
      if (state().status == SAMPLER_ROW_OK) {
        this->set_parameters(request.stages.adapted(state().parameters, slot));
      }
    }
    ctx.sync();
    if (state().status != SAMPLER_ROW_OK) return write_bad(state().status);
    if (!kStages && this->is_other()) return this->leave(output_);
    const Row row = Row::of(contract::row_view(request.input, index));
    load_row(row);
    Raw raw = {};
    if constexpr (kEdits) {
      const uint32_t given_key = this->max_of_team(largest_of(row));
      uint32_t status = status_of_key(given_key);
      if (status != SAMPLER_ROW_OK) return write_bad(status);
      raw = raw_of(row, given_key);
      edits_.row.begin(row);
      if (!kStages || request.stages.has_edits()) status = edits_.edits.edit(slot, output_);
      ctx.team_sync();  // the list takes the memory of the edits
      if (status != SAMPLER_ROW_OK) return write_bad(status);
    }
    if constexpr (kStages) {
      bool is_left;
      const uint32_t status = this->keep_window(row, slot, output_, &is_left);
      if (status != SAMPLER_ROW_OK) return write_bad(status);
      if (is_left || this->is_other()) return this->leave(output_);
    }
    const contract::AdaptiveRules rules = adaptive_rules(slot);
    if (!this->find_kept_by_call(row, rules.reweighs())) return this->leave(output_);
    if (state().status != SAMPLER_ROW_OK) return write_bad(state().status);
    const int64_t forced = request.stages.forced_token(slot, output_);
    if (forced >= row.count) return write_bad(SAMPLER_ROW_INVALID_PARAMETER);
    if constexpr (!kEdits) raw = raw_of(row, state().max_key);
    if constexpr (kStages) {
      if (rules.reweighs() && !contract::is_greedy(state().parameters.temperature)) {
        this->reweigh(row, rules, slot, marks());
        this->find_kept_by_call(row);
      }
    }
    const uint64_t kept_weight = draw(row, slot);
    ctx.team_sync();
    if (forced >= 0) {
      if (outputs.is_first_thread()) {
        shared.drawn.id = forced;
        shared.drawn.value = this->value_in_team(row, int(forced));
      }
      ctx.team_sync();
    }
    const int64_t id = ctx.peer(&shared.drawn, 0)->id;
    if (outputs.is_first_thread()) write(row, kept_weight, raw, rules);
    report(row, kept_weight, raw, id);
  }

  // Code with more than one caller is a function.
  SAMPLER_DEVICE void load_row(const Row &row) const {
    if constexpr (kEdits) {
      load_by_call(row);
    } else {
      this->load_as_f32(row);
    }
  }
  SAMPLER_DEVICE_CALL void load_by_call(const Row &row) const { this->load_as_f32(row); }
  SAMPLER_DEVICE contract::AdaptiveRules adaptive_rules(int64_t slot) const {
    if constexpr (kStages) return request.stages.adaptive.of(slot);
    return {};
  }
  SAMPLER_DEVICE float observation(const contract::AdaptiveRules &rules,
                                   uint64_t kept_weight) const {
    if constexpr (kStages) return Base::observation(rules, kept_weight, marks());
    return contract::quiet_nan();
  }
  SAMPLER_DEVICE uint32_t *marks() const {
    return request.memory.template part<uint32_t>(ctx.team(), request.memory.marks);
  }

  // Writes what else is wanted of the row. Only then may it be left.
  SAMPLER_DEVICE void report(const Row &row, uint64_t kept_weight, const Raw &raw, int64_t id) {
    const bool greedy = contract::is_greedy(state().parameters.temperature);
    if (request.reports_kept()) {
      const float normalizer = greedy ? 1.0f : contract::normalizer(kept_weight);
      this->report_kept(row, {this->scale(), this->kept(), normalizer, greedy}, output_);
    }
    if (!request.reports_distribution()) return;
    contract::Reported reported = {this->scale(), shared.cut, kept_weight, greedy};
    if (request.logprob_kind != SAMPLER_LOGPROB_PROCESSED) {
      const bool is_raw = request.logprob_kind == SAMPLER_LOGPROB_RAW;
      reported = contract::reported_row(this->kind(), is_raw ? raw.scale.max : state().max);
      reported.weight = is_raw ? raw.weight : 0;
      if (kEdits && is_raw) {
        ctx.team_sync();  // peers may read the edited row until here
        load_row(row);
        ctx.team_sync();
      }
    }
    if (!this->report_distribution(row, reported, output_, id)) this->leave(output_);
  }

  SAMPLER_DEVICE uint32_t largest_of(const Row &row) const {
    uint32_t own = 0;
    this->for_each_tile(row, [&](int tile) {
      const uint32_t key = this->key_of_group(tile);
      if (key > own) own = key;
    });
    return own;
  }

  SAMPLER_DEVICE bool has_raw_logprobs() const {
    return request.out_logprobs && request.logprob_kind == SAMPLER_LOGPROB_RAW;
  }
  // The distribution of the row as it was given: before its edits.
  SAMPLER_DEVICE Raw raw_of(const Row &row, uint32_t max_key) {
    const contract::RowScale scale =
        contract::row_scale(this->kind(), contract::value_of_key(max_key), 1.0f);
    const uint32_t lowest = this->lowest_key();
    return {scale, has_raw_logprobs() ? this->weight_of_team(this->weigh(row, scale, lowest)) : 0};
  }

  // Returns the kept weight; of a greedy row it is not known.
  SAMPLER_DEVICE uint64_t draw(const Row &row, int64_t slot) {
    if (contract::is_greedy(state().parameters.temperature)) {
      if (outputs.is_first_thread()) {
        shared.drawn.id = contract::id_of_rank(shared.cut);
        shared.drawn.value = contract::value_of_rank(shared.cut);
      }
      return 0;
    }
    const contract::RowScale scale = this->scale();
    const auto kept = this->kept();
    const uint64_t word =
        contract::random_word64(request.stream_of(output_, slot), contract::Purpose::kSample, 0);
    return this->draw_by_tiles(row, word, [&](float x, int element) {
      return kept.has(x, element) ? contract::relative_for_weight(scale, x) : 0.0f;
    });
  }

  // Called by one thread.
  SAMPLER_DEVICE void write(const Row &row, uint64_t kept_weight, const Raw &raw,
                            const contract::AdaptiveRules &rules) const {
    const HeldDrawn &drawn = shared.drawn;
    if (request.out_token_ids.data) contract::store_id(request.out_token_ids, output_, drawn.id);
    if (request.out_kept_counts) request.out_kept_counts[output_] = shared.kept_count;
    if (request.out_row_status) request.out_row_status[output_] = SAMPLER_ROW_OK;
    if (request.out_observations) {
      request.out_observations[output_] = observation(rules, kept_weight);
    }
    const float given = row.value(int(drawn.id));
    if (request.out_values) request.out_values[output_] = given;
    if (!request.out_logprobs || request.logprob_kind == SAMPLER_LOGPROB_EDITED) return;
    if (has_raw_logprobs()) {
      request.out_logprobs[output_] =
          contract::forced_log_probability(raw.scale, given, true, raw.weight);
      return;
    }
    const bool greedy = contract::is_greedy(state().parameters.temperature);
    const contract::Reported kept = {this->scale(), shared.cut, kept_weight, greedy};
    request.out_logprobs[output_] = kept.log_probability(drawn.value, uint32_t(drawn.id));
  }

  SAMPLER_DEVICE_CALL void write_bad(uint32_t status) const { outputs.write_bad(output_, status); }

  std::conditional_t<kEdits, Edits, NoEdits> edits_;
  int64_t output_ = 0;
};

}  // namespace sampler::kernels
