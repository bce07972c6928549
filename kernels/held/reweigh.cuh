// Draws from held rows by the weights that adaptive-p or smoothing gives their tokens: all of them,
// or those that min-p keeps.
#pragma once

#include <cstdint>

#include "contract/adaptive.h"
#include "held/weighed.cuh"

namespace sampler::kernels {

template <class Context>
class ReweighedBlock : WeighedBlock<Context, HeldReweighed> {
 public:
  using Base = WeighedBlock<Context, HeldReweighed>;
  using Base::Base;

  SAMPLER_DEVICE void run() {
    this->run_row(
        [this](int64_t, const contract::AdaptiveValues &values) {
          shared.adaptive_values = values;
          return true;
        },
        [this](const Row &row, uint32_t max_key, const Given &given) {
          draw(row, max_key, given);
        });
  }

 private:
  using Block = typename Base::Block;
  using Base::ctx;
  using Base::request;
  using Base::shared;
  using Given = typename Base::Given;
  using Kept = typename Base::Kept;
  using Row = typename Base::Row;

  // What gives a token its weight, and its log-probability.
  enum class Weights { kGiven, kSmoothed, kAdaptive };
  struct Rules {
    Weights weights;
    contract::RowScale drawn;  // of the new logits
    contract::Smoothing smoothing;
    contract::AdaptiveP adaptive_p;
  };

  SAMPLER_DEVICE void draw(const Row &row, uint32_t max_key, const Given &given) {
    const float max = contract::value_of_key(max_key);
    const Kept kept = find_kept(max_key);
    const int32_t count = this->kept_count(row, kept);
    const Rules rules = find_weights(row, max, kept);
    const contract::AdaptiveP adaptive = rules.adaptive_p;
    const bool is_adaptive = rules.weights == Weights::kAdaptive;
    const uint64_t own = is_adaptive ? weigh_adaptive(row, rules)
                                     : this->template weigh_tiles<false>(
                                           row, [](float relative, int) { return relative; });
    const auto relative = [&](float x, int) {
      return is_adaptive ? relative_of(rules, rounded_bits(adaptive, x)) : x;
    };
    const auto write = [&](int id, float, uint64_t total) {
      const float value = this->edited_value(row, id);
      float logit = value;
      if (is_adaptive) logit = adaptive.logit(value);
      if (rules.weights == Weights::kSmoothed) logit = rules.smoothing.logit(value);
      const float observation = is_adaptive ? adaptive.probability(value) : contract::quiet_nan();
      this->write({id, rules.drawn, logit, total, observation}, row.value(id), given, count);
    };
    this->template find_drawn<false>(row, own, this->random_word(kept), relative, write);
  }

  SAMPLER_DEVICE Kept find_kept(uint32_t max_key) const {
    const float temperature = shared.parameters.temperature, min_p = shared.parameters.min_p;
    if (this->is_greedy()) return {this->just_below(max_key), 1.0f, true};
    float below = contract::negative_infinity();
    if (contract::min_p_is_on(min_p)) {
      const contract::RowScale scale = contract::logits_row_scale(
          contract::value_of_key(max_key), min_p_is_at_one() ? 1.0f : temperature);
      const uint32_t lowest = this->lowest_weighed(scale, max_key, min_p);
      below = contract::previous_value(contract::value_of_key(lowest));
    }
    return {below, temperature, false};
  }
  // Whether min-p comes before the temperature.
  SAMPLER_DEVICE bool min_p_is_at_one() const {
    for (const sampler_stage stage : request.stages.windows) {
      if (stage == SAMPLER_STAGE_TEMPERATURE) return false;
      if (stage == SAMPLER_STAGE_MIN_P) return true;
    }
    return false;
  }

  // Replaces each value of the row by what weighs it: its relative probability; or that of the row
  // before adaptive-p, kDropped where it is not kept.
  SAMPLER_DEVICE Rules find_weights(const Row &row, float max, const Kept &kept) {
    const contract::RowScale seen = contract::logits_row_scale(max, kept.temperature);
    const float below = kept.below;
    Rules rules = {};
    rules.drawn = seen;
    if (kept.is_first || !shared.adaptive.reweighs()) {
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

  // Replaces each element by make(x). Returns the weight of the thread's new ones but for negative
  // ones.
  template <class Make>
  SAMPLER_DEVICE uint64_t replace(const Row &row, const Make &make) const {
    uint64_t own = 0;
    this->for_each_tile(row, [&](int tile) {
      contract::WeightSum weights;
      this->for_each_quad(tile, [&](int slot, Vector quad) {
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) {
          const float made = make(contract::float_of(quad.word[j]));
          weights.add(contract::larger_of(made, 0.0f));
          quad.word[j] = contract::bits_of(made);
        }
        ctx.store_vector(this->place(tile, slot), quad);
      });
      own += weights.of(kGroup);
    });
    return own;
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
    this->for_each_element(row, [&](float x) {
      const uint32_t distance = rounded_bits(stage, x) - wanted;
      above = distance < above ? distance : above;
      below = distance > below ? distance : below;
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
      this->for_each_quad(tile, [&](int, const Vector &quad) {
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) {
          const uint32_t rounded = rounded_bits(stage, contract::float_of(quad.word[j]));
          weight += shared.table[rounded < kWeighedByTable ? rounded : kWeighedByTable];
          if (int32_t(rounded) >= int32_t(kWeighedByTable)) others |= 1u << j;
        }
        others <<= kQuad;
      });
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
};

}  // namespace sampler::kernels
