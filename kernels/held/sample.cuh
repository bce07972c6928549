// Draws from held rows, after edits.
#pragma once

#include <cstdint>

#include "contract/draw.h"
#include "contract/request.h"
#include "held/cut.cuh"
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

template <class Context>
class SampleBlock : CutBlock<Context, HeldSample, StagedSampleRequest> {
 public:
  SAMPLER_DEVICE SampleBlock(const Context &context, const StagedSampleRequest &sample,
                             const Held &layout)
      : Cut(context, sample, layout),
        team_(context, *reinterpret_cast<TeamShared *>(&context.template shared<HeldSample>().row)),
        row_(team_, *this,
             sample.memory.template part<uint32_t>(context.team(), sample.memory.marks)),
        edits_(row_, sample.stages) {}

  SAMPLER_DEVICE void run() {
    for (output_ = ctx.team(); output_ < held.num_rows; output_ += ctx.num_teams()) {
      run_row();
      ctx.team_sync();  // peers may access this block's shared memory until here
    }
  }

 private:
  static_assert(sizeof(TeamShared) <= sizeof(StreamedList), "edits come before the list");
  using Cut = CutBlock<Context, HeldSample, StagedSampleRequest>;
  using Block = typename Cut::Block;
  using Cut::ctx;
  using Cut::held;
  using Cut::request;
  using Cut::shared;
  using Cut::state;
  using Row = typename Cut::Row;
  using EditedRow = HeldEditedRow<const Context, SampleBlock>;
  friend EditedRow;

  SAMPLER_DEVICE void run_row() {
    const int64_t index = input_row(request, output_);
    const bool has_row = index >= 0 && index < request.input.num_rows;
    const int64_t slot = request.slots[output_];
    if (ctx.thread() == 0) {
      this->read_parameters(slot);
      if (!has_row) {
        state().status = SAMPLER_ROW_INVALID_INDEX;
      } else if (state().status == SAMPLER_ROW_OK &&
                 !request.stages.has_valid_numbers(slot, SAMPLER_LOGITS)) {
        state().status = SAMPLER_ROW_INVALID_PARAMETER;
      }
    }
    ctx.sync();
    if (state().status != SAMPLER_ROW_OK) return write_bad(state().status);
    if (this->is_other()) return this->leave(output_);
    const Row row = Row::of(contract::row_view(request.input, index));
    this->load_as_f32(row);
    const uint32_t given_key = this->max_of_team(largest_of(row));
    uint32_t status = status_of_key(given_key);
    if (status != SAMPLER_ROW_OK) return write_bad(status);
    // Raw log-probabilities are of the row before its edits.
    const contract::RowScale raw_scale =
        contract::logits_row_scale(contract::value_of_key(given_key), 1.0f);
    const uint64_t raw_weight =
        has_raw_logprobs() ? this->weight_of_team(this->weigh(row, raw_scale, 0)) : 0;
    row_.begin(row);
    status = edits_.edit(slot, output_);
    ctx.team_sync();  // the list takes the memory of the edits
    if (status != SAMPLER_ROW_OK) return write_bad(status);
    this->set_maximum(this->max_of_team(this->largest_by_bins(row)));
    ctx.sync();
    if (state().status != SAMPLER_ROW_OK) return write_bad(state().status);
    if (!this->cut(row, false)) return this->leave(output_);
    const uint64_t kept_weight = draw(row, slot);
    ctx.team_sync();
    if (this->is_leader() && ctx.thread() == 0) write(row, kept_weight, raw_scale, raw_weight);
  }

  SAMPLER_DEVICE uint32_t largest_of(const Row &row) const {
    uint32_t own = 0;
    this->for_each_tile(row, [&](int tile) {
      const uint32_t key = this->key_of_group(tile);
      if (key > own) own = key;
    });
    return own;
  }

  // Returns the kept weight; of a greedy row it is not known.
  SAMPLER_DEVICE uint64_t draw(const Row &row, int64_t slot) {
    if (contract::is_greedy(state().parameters.temperature)) {
      if (this->is_leader() && ctx.thread() == 0) {
        shared.drawn.id = contract::id_of_rank(shared.cut);
        shared.drawn.value = contract::value_of_rank(shared.cut);
      }
      return 0;
    }
    const contract::RowScale scale = this->scale();
    const auto kept = this->kept();
    const uint64_t word =
        contract::random_word64(request.random.of(slot), contract::Purpose::kSample, 0);
    return this->draw_by_tiles(row, word, [&](float x, int element) {
      return kept.has(x, element) ? contract::relative_for_weight(scale, x) : 0.0f;
    });
  }

  template <class Change>
  SAMPLER_DEVICE void change_all(const Row &row, const Change &change) const {
    this->for_each_tile(row, [&](int tile) {
      SAMPLER_KEEP_ROLLED
      for (int slot = 0; slot < Block::kSlots; ++slot) {
        Vector raw = ctx.load_shared(this->place(tile, slot));
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) {
          const int element = this->index_of(row, tile, slot * kQuad + j);
          if (uint32_t(element) >= uint32_t(row.count)) continue;
          raw.word[j] = contract::bits_of(change(element, contract::float_of(raw.word[j])));
        }
        ctx.store_vector(this->place(tile, slot), raw);
      }
    });
  }

  SAMPLER_DEVICE bool has_raw_logprobs() const {
    return request.out_logprobs && request.logprob_kind == SAMPLER_LOGPROB_RAW;
  }

  // Called by one thread.
  SAMPLER_DEVICE void write(const Row &row, uint64_t kept_weight,
                            const contract::RowScale &raw_scale, uint64_t raw_weight) const {
    const HeldDraw &drawn = shared.drawn;
    if (request.out_token_ids.data) contract::store_id(request.out_token_ids, output_, drawn.id);
    if (request.out_kept_counts) request.out_kept_counts[output_] = shared.kept_count;
    if (request.out_row_status) request.out_row_status[output_] = SAMPLER_ROW_OK;
    const float given = row.value(int(drawn.id));
    if (request.out_values) request.out_values[output_] = given;
    if (!request.out_logprobs) return;
    float logprob = 0.0f;
    if (has_raw_logprobs()) {
      logprob = contract::forced_log_probability(raw_scale, given, true, raw_weight);
    } else if (!contract::is_greedy(state().parameters.temperature)) {
      logprob = contract::forced_log_probability(this->scale(), drawn.value, true, kept_weight);
    }
    request.out_logprobs[output_] = logprob;
  }

  SAMPLER_DEVICE void write_bad(uint32_t status) const {
    if (!this->is_leader() || ctx.thread() != 0) return;
    if (request.out_token_ids.data) {
      contract::store_id(request.out_token_ids, output_, request.bad_row_token);
    }
    if (request.out_kept_counts) request.out_kept_counts[output_] = 0;
    if (request.out_logprobs) request.out_logprobs[output_] = contract::quiet_nan();
    if (request.out_values) request.out_values[output_] = contract::quiet_nan();
    if (request.out_row_status) request.out_row_status[output_] = status;
  }

  Team<const Context> team_;
  EditedRow row_;
  TeamEdits<const Context, EditedRow> edits_;
  int64_t output_ = 0;
};

}  // namespace sampler::kernels
