// Draws from a held row of logits by the weights of those of its tokens that are above a value:
// what they have in common, whatever the value and the weights.
#pragma once

#include <cstdint>

#include "contract/adaptive_values.h"
#include "contract/draw.h"
#include "contract/entropy.h"
#include "contract/log2.h"
#include "held/edits.cuh"
#include "operations/report_outputs.cuh"
#include "operations/sample.cuh"
#include "stages/staged.h"

namespace sampler::kernels {

template <class Context, class Shared>
class WeighedBlock : protected EditedBlock<Context, Shared, StagedSampleRequest> {
 public:
  using Base = EditedBlock<Context, Shared, StagedSampleRequest>;
  using Base::Base;

 protected:
  using Block = typename Base::Block;
  using Base::ctx;
  using Base::held;
  using Base::request;
  using Base::shared;
  using Row = typename Base::Row;

  // What is drawn from: the tokens above a value, at a temperature.
  struct Kept {
    float below;
    float temperature;
    bool is_first;  // the first of them alone
  };

  // The row as it was given: its largest value, and the weight of all tokens at temperature 1, if
  // raw log-probabilities are wanted.
  struct Given {
    float max;
    uint64_t weight;
  };

  // Loads the row, and edits it; meanwhile one thread calls read(slot, adaptive values), which
  // returns whether what it reads is valid. Calls draw(row, key of the largest value, given) if the
  // row is good.
  template <class Read, class Draw>
  SAMPLER_DEVICE void run_row(const Read &read, const Draw &draw) {
    const int64_t index = input_row(request, this->index());
    if (index < 0 || index >= request.input.num_rows) return write_bad(SAMPLER_ROW_INVALID_INDEX);
    const Row row = Row::of(contract::row_view(request.input, index));
    this->load_as_f32(row, [&] {
      if (ctx.thread() == 0) shared.status = read_numbers(read);
    });
    ctx.team_sync();
    uint32_t key = this->max_of_team(this->key_of_part(row));
    uint32_t status = shared.status;
    EditsHead edits = {};
    if (held.edits.is_on()) {
      edits = this->edits_head(uint32_t(this->index()));
      if (status == SAMPLER_ROW_OK) status = edits.number_status;
      if (status == SAMPLER_ROW_OK && edits.num_edited == EditsHead::kLeft) {
        return this->leave(this->index());
      }
    }
    if (status == SAMPLER_ROW_OK) status = status_of_key(key);
    if (status == SAMPLER_ROW_OK) status = edits.status;
    if (status != SAMPLER_ROW_OK) return write_bad(status);
    const float max = contract::value_of_key(key);
    const Given given = {max, has_raw_logprobs() ? raw_weight(row, max) : 0};
    if (held.edits.is_on()) {
      this->edit(row, edits, uint32_t(this->index()));
      key = this->max_of_team(this->key_of_part(row));
      status = status_of_key(key);
      if (status != SAMPLER_ROW_OK) return write_bad(status);
    }
    draw(row, key, given);
  }

  SAMPLER_DEVICE bool is_greedy() const {
    return contract::is_greedy(shared.parameters.temperature);
  }
  // A value that the largest one alone is above.
  SAMPLER_DEVICE static float just_below(uint32_t max_key) {
    return contract::previous_value(contract::value_of_key(max_key));
  }
  SAMPLER_DEVICE uint64_t random_word(const Kept &kept) const {
    return kept.is_first ? 0 : shared.word;
  }

  // For lists: sorted at one place.
  SAMPLER_DEVICE void sort_list(float first, float least) const { this->sort(first, least); }

  // ---- Passes

  // Calls f(x) for each of the thread's elements.
  template <class F>
  SAMPLER_DEVICE void for_each_element(const Row &row, const F &f) const {
    this->for_each_tile(row, [&](int tile) {
      this->for_each_quad(tile, [&](int, const Vector &quad) {
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) f(contract::float_of(quad.word[j]));
      });
    });
  }
  // The team's sum of the weights of relative(x).
  template <class Relative>
  SAMPLER_DEVICE uint64_t weight_of(const Row &row, const Relative &relative) {
    uint64_t own = 0;
    this->for_each_tile(row, [&](int tile) {
      contract::WeightSum weights;
      this->for_each_quad(tile, [&](int, const Vector &quad) {
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) weights.add(relative(contract::float_of(quad.word[j])));
      });
      own += weights.of(kGroup);
    });
    return this->weight_of_team(own);
  }
  // Sums over the tokens above a value.
  SAMPLER_DEVICE contract::EntropySums entropies(const Row &row, const contract::RowScale &scale,
                                                 float below) {
    uint64_t own = 0, own_surprise = 0;
    this->for_each_tile(row, [&](int tile) {
      contract::WeightSum weights, surprises;
      this->for_each_quad(tile, [&](int, const Vector &quad) {
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) {
          const float x = contract::float_of(quad.word[j]);
          const float all = contract::relative_probability(scale, x);
          const float relative = x > below ? all : 0.0f;
          weights.add(relative);
          surprises.add(contract::relative_surprise(contract::relative_log2(scale, x), relative));
        }
      });
      own += weights.of(kGroup);
      own_surprise += surprises.of(kGroup);
    });
    const uint64_t weight = this->weight_of_team(own);
    return {weight, this->weight_of_team(own_surprise)};
  }
  // The number of tokens above a value, if it is wanted.
  SAMPLER_DEVICE int32_t kept_count(const Row &row, const Kept &kept) {
    if (kept.is_first || !request.out_kept_counts) return 1;
    uint64_t count = 0;
    for_each_element(row, [&](float x) { count += x > kept.below ? 1 : 0; });
    return int32_t(this->weight_of_team(count));
  }

  // ---- Output

  SAMPLER_DEVICE bool has_raw_logprobs() const {
    return request.out_logprobs && request.logprob_kind == SAMPLER_LOGPROB_RAW;
  }

  // The drawn token's, in the row that it is drawn from.
  struct Drawn {
    int id;
    contract::RowScale scale;
    float logit;
    uint64_t weight;  // of that row
    float observation;
  };
  // Called by one thread. `value`: the token's, as given.
  SAMPLER_DEVICE void write(const Drawn &drawn, float value, const Given &given,
                            int32_t kept_count) const {
    const int64_t output = this->index();
    if (request.out_token_ids.data) contract::store_id(request.out_token_ids, output, drawn.id);
    if (request.out_row_status) request.out_row_status[output] = SAMPLER_ROW_OK;
    if (request.out_values) request.out_values[output] = value;
    if (request.out_kept_counts) request.out_kept_counts[output] = kept_count;
    if (request.out_observations) request.out_observations[output] = drawn.observation;
    if (!request.out_logprobs) return;
    const bool is_raw = has_raw_logprobs();
    const contract::RowScale raw = contract::logits_row_scale(given.max, 1.0f);
    const contract::RowScale scale = {SAMPLER_LOGITS, is_raw ? given.max : drawn.scale.max,
                                      is_raw ? raw.scale : drawn.scale.scale, 0};
    const float log_probability = contract::log_probability(scale, is_raw ? value : drawn.logit,
                                                            is_raw ? given.weight : drawn.weight);
    request.out_logprobs[output] = !is_raw && is_greedy() ? 0.0f : log_probability;
  }

  SAMPLER_DEVICE void write_bad(uint32_t status) const {
    if (this->is_leader() && ctx.thread() == 0) write_bad_token(request, this->index(), status);
  }

 private:
  SAMPLER_DEVICE uint64_t raw_weight(const Row &row, float max) {
    const contract::RowScale scale = contract::logits_row_scale(max, 1.0f);
    return weight_of(row, [=](float x) { return contract::relative_for_weight(scale, x); });
  }

  // Called by one thread.
  template <class Read>
  SAMPLER_DEVICE uint32_t read_numbers(const Read &read) const {
    const int64_t slot = request.slots[this->index()];
    const uint32_t status = contract::read_parameters(request, slot, &shared.parameters);
    if (status != SAMPLER_ROW_OK) return status;
    shared.word = contract::random_word64(request.stream_of(this->index(), slot),
                                          contract::Purpose::kSample, 0);
    shared.adaptive = request.stages.adaptive.of(slot);
    const contract::AdaptiveValues values = request.stages.values(slot);
    const bool are_valid =
        shared.adaptive.are_valid() && contract::are_valid_values(values) && read(slot, values);
    return are_valid ? SAMPLER_ROW_OK : SAMPLER_ROW_INVALID_PARAMETER;
  }
};

}  // namespace sampler::kernels
