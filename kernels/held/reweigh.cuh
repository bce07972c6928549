// Draws from held rows by the weights that adaptive-p or smoothing gives their tokens: all of them,
// or those that min-p keeps.
#pragma once

#include <cstdint>

#include "contract/adaptive.h"
#include "contract/adaptive_values.h"
#include "contract/draw.h"
#include "contract/log2.h"
#include "contract/reports.h"
#include "held/cut.cuh"
#include "operations/sample.cuh"
#include "stages/staged.h"

namespace sampler::kernels {

template <class Context>
class ReweighedBlock : CutBlock<Context, HeldReweighed, StagedSampleRequest> {
 public:
  using Base = CutBlock<Context, HeldReweighed, StagedSampleRequest>;
  using Base::Base;

  SAMPLER_DEVICE void run() {
    const int64_t index = input_row(request, this->index());
    if (index < 0 || index >= request.input.num_rows) return write_bad(SAMPLER_ROW_INVALID_INDEX);
    const Row row = Row::of(contract::row_view(request.input, index));
    this->load_as_f32(row, [this] {
      if (ctx.thread() == 0) read_numbers();
    });
    ctx.team_sync();
    const uint32_t key = this->max_of_team(this->key_of_part(row));
    const uint32_t status = shared.status != SAMPLER_ROW_OK ? shared.status : status_of_key(key);
    if (status != SAMPLER_ROW_OK) return write_bad(status);
    draw(row, key);
  }

 private:
  using Block = typename Base::Block;
  using Base::ctx;
  using Base::request;
  using Base::shared;
  using Row = typename Base::Row;

  // What gives a token its weight, and its log-probability.
  enum class Weights { kFirst, kGiven, kSmoothed, kAdaptive };
  struct Rules {
    Weights weights;
    contract::RowScale drawn;  // of the new logits
    contract::Smoothing smoothing;
    contract::AdaptiveP adaptive_p;
  };

  // Called by one thread.
  SAMPLER_DEVICE void read_numbers() const {
    const int64_t slot = request.slots[this->index()];
    shared.status = contract::read_parameters(request, slot, &shared.parameters);
    if (shared.status != SAMPLER_ROW_OK) return;
    shared.adaptive = request.stages.adaptive.of(slot);
    shared.adaptive_values = request.stages.values(slot);
    if (!shared.adaptive.are_valid() || !contract::are_valid_values(shared.adaptive_values)) {
      shared.status = SAMPLER_ROW_INVALID_PARAMETER;
    }
    shared.word = contract::random_word64(request.random.of(slot), contract::Purpose::kSample, 0);
  }

  SAMPLER_DEVICE void draw(const Row &row, uint32_t max_key) {
    const contract::RowScale raw =
        contract::logits_row_scale(contract::value_of_key(max_key), 1.0f);
    const uint64_t raw_weight = has_raw_logprobs() ? weight_of_all(row, raw) : 0;
    const Rules rules = find_weights(row, raw, max_key);
    const contract::AdaptiveP adaptive = rules.adaptive_p;
    const bool is_adaptive = rules.weights == Weights::kAdaptive;
    const uint64_t own = is_adaptive ? weigh_adaptive(row, rules)
                                     : this->template weigh_tiles<false>(
                                           row, [](float relative, int) { return relative; });
    const auto relative = [&](float x, int) {
      return is_adaptive ? relative_of(rules, rounded_bits(adaptive, x)) : x;
    };
    const auto write = [&](int id, float, uint64_t total) {
      this->write(row, rules, id, total, raw, raw_weight);
    };
    const uint64_t word = rules.weights == Weights::kFirst ? 0 : shared.word;
    this->template find_drawn<false>(row, own, word, relative, write);
  }

  // Replaces each value of the row by what weighs it: its relative probability; or that of the row
  // before adaptive-p, kDropped where it is not kept.
  SAMPLER_DEVICE Rules find_weights(const Row &row, const contract::RowScale &raw,
                                    uint32_t max_key) {
    const contract::RowParameters &parameters = shared.parameters;
    Rules rules = {};
    if (contract::is_greedy(parameters.temperature)) {
      rules.weights = Weights::kFirst;
      replace(row, [&](float x) { return x == raw.max ? 1.0f : 0.0f; });
      return rules;
    }
    const contract::RowScale seen = contract::logits_row_scale(raw.max, parameters.temperature);
    float below = contract::negative_infinity();  // values up to it are left out
    if (contract::min_p_is_on(parameters.min_p)) {
      const contract::RowScale scale =
          contract::logits_row_scale(raw.max, min_p_is_at_one() ? 1.0f : parameters.temperature);
      below = contract::value_of_key(this->lowest_weighed(scale, max_key, parameters.min_p) - 1);
    }
    rules.drawn = seen;
    if (!shared.adaptive.reweighs()) {
      rules.weights = Weights::kGiven;
      replace(row, [&](float x) {
        const float relative = contract::relative_for_weight(seen, x);
        return x > below ? relative : 0.0f;
      });
      return rules;
    }
    if (shared.adaptive.smooths()) {
      rules.weights = Weights::kSmoothed;
      const contract::Smoothing stage =
          contract::smoothing(shared.adaptive.target, shared.adaptive.rate, seen);
      rules.smoothing = stage;
      rules.drawn = contract::logits_row_scale(stage.logit(seen.max), 1.0f);
      replace(row, [&](float x) {
        const float relative = contract::relative_for_weight(rules.drawn, stage.logit(x));
        return x > below ? relative : 0.0f;
      });
      return rules;
    }
    rules.weights = Weights::kAdaptive;
    const uint64_t own = replace(row, [&](float x) {
      const float relative = contract::relative_for_weight(seen, x);
      return x > below ? relative : kDropped;
    });
    rules.adaptive_p = contract::reweighing(shared.adaptive_values, shared.adaptive, seen,
                                            this->weight_of_team(own))
                           .adaptive_p;
    rules.drawn = contract::logits_row_scale(nearest_logit(row, rules.adaptive_p), 1.0f);
    return rules;
  }

  // Whether min-p comes before the temperature.
  SAMPLER_DEVICE bool min_p_is_at_one() const {
    for (const sampler_stage stage : request.stages.windows) {
      if (stage == SAMPLER_STAGE_TEMPERATURE) return false;
      if (stage == SAMPLER_STAGE_MIN_P) return true;
    }
    return false;
  }

  // Replaces each element by make(x). Returns the weight of the thread's new ones but for negative
  // ones.
  template <class Make>
  SAMPLER_DEVICE uint64_t replace(const Row &row, const Make &make) const {
    uint64_t own = 0;
    this->for_each_tile(row, [&](int tile) {
      contract::WeightSum weights;
      for_each_quad(tile, [&](Vector *place, Vector quad) {
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) {
          const float made = make(contract::float_of(quad.word[j]));
          weights.add(contract::larger_of(made, 0.0f));
          quad.word[j] = contract::bits_of(made);
        }
        ctx.store_vector(place, quad);
      });
      own += weights.of(kGroup);
    });
    return own;
  }
  // The row's weight.
  SAMPLER_DEVICE uint64_t weight_of_all(const Row &row, const contract::RowScale &scale) {
    uint64_t own = 0;
    this->for_each_tile(row, [&](int tile) {
      contract::WeightSum weights;
      for_each_quad(tile, [&](Vector *, const Vector &quad) {
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j)
          weights.add(contract::relative_for_weight(scale, contract::float_of(quad.word[j])));
      });
      own += weights.of(kGroup);
    });
    return this->weight_of_team(own);
  }
  // Calls f(place, quad) for the lane's vectors of a tile.
  template <class F>
  SAMPLER_DEVICE void for_each_quad(int tile, const F &f) const {
    SAMPLER_KEEP_ROLLED
    for (int slot = 0; slot < Block::kSlots; ++slot) {
      Vector *const place = this->place(tile, slot);
      f(place, ctx.load_shared(place));
    }
  }

  // ---- Adaptive-p

  // What stands for a token that is not kept: its rounded_bits() are negative.
  static constexpr float kDropped = -4.0f;
  static constexpr uint32_t kMostRounded = uint32_t(1) << 21;  // a probability of 1

  // The rounded probability of an element, in its units.
  SAMPLER_DEVICE static uint32_t rounded_bits(const contract::AdaptiveP &stage, float x) {
    return contract::bits_of(contract::fma32(x, stage.inverse, contract::AdaptiveP::kGrid)) -
           contract::bits_of(contract::AdaptiveP::kGrid);
  }
  SAMPLER_DEVICE static float logit_of(const contract::AdaptiveP &stage, uint32_t rounded) {
    constexpr float kGrid = contract::AdaptiveP::kGrid;
    return stage.logit_of(contract::float_of(contract::bits_of(kGrid) + rounded) - kGrid);
  }
  // The relative probability of a token of this rounded one; 0 if it is not kept.
  SAMPLER_DEVICE static float relative_of(const Rules &rules, uint32_t rounded) {
    const float logit = logit_of(rules.adaptive_p, rounded);
    return rounded <= kMostRounded ? contract::relative_for_weight(rules.drawn, logit) : 0.0f;
  }

  // The new logit of the token nearest to the wanted probability, which is the largest one. By the
  // nearest on both sides: which of the two is it may be a matter of rounding.
  SAMPLER_DEVICE float nearest_logit(const Row &row, const contract::AdaptiveP &stage) {
    const float units = stage.wanted * float(kMostRounded);
    uint32_t wanted = uint32_t(units);  // rounded up
    if (float(wanted) < units) ++wanted;
    // Distances: those below are the largest as unsigned numbers.
    uint32_t above = ~uint32_t(0), below = 0;
    this->for_each_tile(row, [&](int tile) {
      for_each_quad(tile, [&](Vector *, const Vector &quad) {
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) {
          const uint32_t distance = rounded_bits(stage, contract::float_of(quad.word[j])) - wanted;
          above = distance < above ? distance : above;
          below = distance > below ? distance : below;
        }
      });
    });
    below = this->max_of_team(below) + wanted;
    above = ~this->max_of_team(~above) + wanted;
    const float none = contract::negative_infinity();
    return contract::larger_of(
        below < wanted ? logit_of(stage, below) : none,
        above >= wanted && above <= kMostRounded ? logit_of(stage, above) : none);
  }

  // Weighs the block's tiles. Most probabilities are small: their weights are in a table.
  SAMPLER_DEVICE uint64_t weigh_adaptive(const Row &row, const Rules &rules) const {
    SAMPLER_KEEP_ROLLED
    for (uint32_t i = uint32_t(ctx.thread()); i <= kWeighedByTable; i += Context::kThreads) {
      const uint64_t weight = contract::weight_of(relative_of(rules, i));
      shared.table[i] = i < kWeighedByTable ? weight : 0;
    }
    ctx.sync();
    const contract::AdaptiveP &stage = rules.adaptive_p;
    uint64_t own = 0;
    this->for_each_tile(row, [&](int tile) {
      uint64_t weight = 0;
      uint32_t others = 0;
      SAMPLER_KEEP_ROLLED
      for (int slot = 0; slot < Block::kSlots; ++slot) {
        const Vector quad = ctx.load_shared(this->place(tile, slot));
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) {
          const uint32_t rounded = rounded_bits(stage, contract::float_of(quad.word[j]));
          weight += shared.table[rounded < kWeighedByTable ? rounded : kWeighedByTable];
          if (int32_t(rounded) >= int32_t(kWeighedByTable)) others |= 1u << j;
        }
        others <<= kQuad;
      }
      SAMPLER_KEEP_ROLLED
      for (; others != 0; others &= others - 1) {
        const int i = Context::lowest_bit(others) - kQuad;  // of the slots from the last one on
        const Vector quad = ctx.load_shared(this->place(tile, Block::kSlots - 1 - i / kQuad));
        const int j = i % kQuad;
        const uint32_t low = j % 2 == 0 ? quad.word[0] : quad.word[1];
        const uint32_t high = j % 2 == 0 ? quad.word[2] : quad.word[3];
        const float x = contract::float_of(j < 2 ? low : high);
        weight += contract::weight_of(relative_of(rules, rounded_bits(stage, x)));
      }
      weight = ctx.warp_sum(weight);
      if (ctx.lane() == 0) shared.tile_weights[tile] = weight;
      own += weight;
    });
    return own;
  }

  // ---- Output

  SAMPLER_DEVICE bool has_raw_logprobs() const {
    return request.out_logprobs && request.logprob_kind == SAMPLER_LOGPROB_RAW;
  }

  // Called by one thread. `raw_weight`: of all tokens, at temperature 1, if it is needed.
  SAMPLER_DEVICE void write(const Row &row, const Rules &rules, int id, uint64_t total,
                            const contract::RowScale &raw, uint64_t raw_weight) const {
    const int64_t output = this->index();
    if (request.out_token_ids.data) contract::store_id(request.out_token_ids, output, id);
    if (request.out_row_status) request.out_row_status[output] = SAMPLER_ROW_OK;
    const float given = row.value(id);
    if (request.out_values) request.out_values[output] = given;
    const bool is_adaptive = rules.weights == Weights::kAdaptive;
    if (request.out_observations) {
      request.out_observations[output] =
          is_adaptive ? rules.adaptive_p.probability(given) : contract::quiet_nan();
    }
    if (!request.out_logprobs) return;
    const bool is_raw = has_raw_logprobs();
    float logit = given;
    if (!is_raw && is_adaptive) logit = rules.adaptive_p.logit(given);
    if (!is_raw && rules.weights == Weights::kSmoothed) logit = rules.smoothing.logit(given);
    const float log_probability =
        contract::log_probability({SAMPLER_LOGITS, is_raw ? raw.max : rules.drawn.max,
                                   is_raw ? raw.scale : rules.drawn.scale, 0},
                                  logit, is_raw ? raw_weight : total);
    request.out_logprobs[output] =
        !is_raw && rules.weights == Weights::kFirst ? 0.0f : log_probability;
  }

  SAMPLER_DEVICE void write_bad(uint32_t status) const {
    if (!this->is_leader() || ctx.thread() != 0) return;
    const int64_t output = this->index();
    if (request.out_token_ids.data) {
      contract::store_id(request.out_token_ids, output, request.bad_row_token);
    }
    if (request.out_row_status) request.out_row_status[output] = status;
    if (request.out_values) request.out_values[output] = contract::quiet_nan();
    if (request.out_observations) request.out_observations[output] = contract::quiet_nan();
    if (request.out_logprobs) request.out_logprobs[output] = contract::quiet_nan();
  }
};

}  // namespace sampler::kernels
