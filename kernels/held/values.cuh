// Draws from held rows of what windows keep of them that cut a row at a value: min-p, top-n-sigma,
// epsilon, eta, p-less, top-a, mirostat v2; also at a dynamic temperature.
#pragma once

#include <cstdint>

#include "contract/adaptive.h"
#include "contract/collision.h"
#include "contract/deviation.h"
#include "contract/entropy.h"
#include "contract/filters.h"
#include "contract/windows.h"
#include "held/weighed.cuh"

namespace sampler::kernels {

// Other rows' windows: contract::RankedWindows.
template <class Context>
class ValueBlock : WeighedBlock<Context, HeldValues> {
 public:
  using Base = WeighedBlock<Context, HeldValues>;
  using Base::Base;

  SAMPLER_DEVICE void run() {
    this->run_row(
        [this](int64_t slot, const contract::AdaptiveValues &values) {
          const contract::WindowNumbers numbers = request.stages.window_numbers(slot, values);
          shared.numbers = {numbers.dynamic_range,
                            numbers.dynamic_exponent,
                            numbers.top_n_sigma,
                            numbers.epsilon,
                            numbers.eta,
                            numbers.top_a,
                            numbers.p_less,
                            numbers.mirostat,
                            numbers.mu};
          return shared.numbers.are_valid();
        },
        [this](const Row &row, uint32_t max_key, const Given &given) {
          draw(row, max_key, given);
        });
  }

 private:
  using Base::ctx;
  using Base::request;
  using Base::shared;
  using Given = typename Base::Given;
  using Kept = typename Base::Kept;
  using Row = typename Base::Row;

  SAMPLER_DEVICE void draw(const Row &row, uint32_t max_key, const Given &given) {
    const float max = contract::value_of_key(max_key);
    bool greedy = this->is_greedy();
    Kept kept = {this->just_below(max_key), 1.0f, true};
    if (!greedy) kept = run_windows(row, max_key, &greedy);
    const int32_t count = this->kept_count(row, kept);
    const contract::RowScale scale = contract::logits_row_scale(max, kept.temperature);
    const float below = kept.below;
    const auto relative = [=](float x, int) {
      return x > below ? contract::relative_for_weight(scale, x) : 0.0f;
    };
    const uint64_t own = this->template weigh_tiles<false>(row, relative);
    const auto write = [&](int id, float x, uint64_t total) {
      const uint64_t weight = kept.is_first ? contract::weight(scale, max) : total;
      const float observation = shared.numbers.is_mirostat() && !greedy
                                    ? contract::surprise(contract::relative_log2(scale, x), weight)
                                    : contract::quiet_nan();
      this->write({id, scale, x, weight, observation}, row.value(id), given, count);
    };
    this->template find_drawn<false>(row, own, this->random_word(kept), relative, write);
  }

  // What a stage needs of the tokens that it sees.
  struct Seen {
    contract::RowScale scale;
    uint64_t first;  // the weight of the largest value
    uint64_t count;
    float last;  // the lowest value
    contract::EntropySums entropy;
  };

  SAMPLER_DEVICE Kept run_windows(const Row &row, uint32_t max_key, bool *greedy) {
    const HeldValues::Numbers &numbers = shared.numbers;
    const float max = contract::value_of_key(max_key);
    Kept kept = {contract::negative_infinity(), 1.0f, false};
    SAMPLER_KEEP_ROLLED
    for (const sampler_stage stage : request.stages.windows) {
      const bool is_temperature = stage == SAMPLER_STAGE_TEMPERATURE;
      const bool is_dynamic =
          is_temperature &&
          contract::dynamic_temperature_is_on(shared.parameters.temperature, numbers.dynamic_range);
      if (is_temperature && !is_dynamic) {
        kept.temperature = shared.parameters.temperature;
        continue;
      }
      if (!is_dynamic && (kept.is_first || !is_on(stage))) continue;
      Seen seen;
      seen.scale = contract::logits_row_scale(max, is_dynamic ? 1.0f : kept.temperature);
      seen.first = contract::weight(seen.scale, max);
      seen.entropy = {seen.first, 0};
      seen.count = 1;
      if (!kept.is_first) look(row, stage, kept, &seen);
      if (is_dynamic) {
        kept.temperature = contract::dynamic_temperature(
            shared.parameters.temperature, numbers.dynamic_range, numbers.dynamic_exponent,
            seen.entropy, int64_t(seen.count));
        *greedy = contract::is_greedy(kept.temperature);
        if (*greedy) return {this->just_below(max_key), 1.0f, true};
        continue;
      }
      cut(row, stage, seen, max_key, &kept);
    }
    return kept;
  }

  SAMPLER_DEVICE bool is_on(sampler_stage stage) const {
    const HeldValues::Numbers &numbers = shared.numbers;
    switch (stage) {
      case SAMPLER_STAGE_TOP_N_SIGMA:
        return contract::top_n_sigma_is_on(numbers.top_n_sigma);
      case SAMPLER_STAGE_EPSILON:
        return contract::fraction_is_on(numbers.epsilon);
      case SAMPLER_STAGE_ETA:
        return contract::fraction_is_on(numbers.eta);
      case SAMPLER_STAGE_P_LESS:
        return numbers.p_less != SAMPLER_P_LESS_NONE;
      case SAMPLER_STAGE_TOP_A:
        return contract::top_a_is_on(numbers.top_a);
      case SAMPLER_STAGE_ADAPTIVE:
        return numbers.is_mirostat();
      default:
        return contract::min_p_is_on(shared.parameters.min_p);
    }
  }

  // Passes over the row for what the stage needs.
  SAMPLER_DEVICE void look(const Row &row, sampler_stage stage, const Kept &kept, Seen *seen) {
    const contract::RowScale scale = seen->scale;
    const float below = kept.below;
    const bool is_sigma = stage == SAMPLER_STAGE_TOP_N_SIGMA,
               is_p_less = stage == SAMPLER_STAGE_P_LESS;
    if (stage == SAMPLER_STAGE_TEMPERATURE || is_sigma || is_p_less) {
      uint32_t count = 0;
      float last = contract::float_of(contract::kInfinityBits);
      this->for_each_element(row, [&](float x) {
        count += x > below ? 1 : 0;
        last = x > below ? Context::smaller(last, x) : last;
      });
      seen->count = this->weight_of_team(count);
      seen->last = contract::value_of_key(~this->max_of_team(~contract::value_key(last)));
    }
    if (stage == SAMPLER_STAGE_TEMPERATURE || stage == SAMPLER_STAGE_ETA) {
      seen->entropy = this->entropies(row, scale, below);
    } else if (stage != SAMPLER_STAGE_MIN_P && !is_sigma && !is_p_less) {
      seen->entropy.weight = this->weight_of(row, [=](float x) {
        const float relative = contract::relative_for_weight(scale, x);
        return x > below ? relative : 0.0f;
      });
    }
  }

  // Cuts what is kept by the stage's threshold.
  SAMPLER_DEVICE void cut(const Row &row, sampler_stage stage, const Seen &seen, uint32_t max_key,
                          Kept *kept) {
    const HeldValues::Numbers &numbers = shared.numbers;
    const contract::RowScale scale = seen.scale;
    const bool is_sigma = stage == SAMPLER_STAGE_TOP_N_SIGMA;
    uint64_t least = 0;
    float bound = contract::negative_infinity();
    sampler_tie_rule ties = SAMPLER_TIES_EXACT;
    switch (stage) {
      case SAMPLER_STAGE_TOP_N_SIGMA:
        bound = contract::top_n_sigma_bound(scale.max, numbers.top_n_sigma,
                                            sigma(row, seen, kept->below));
        break;
      case SAMPLER_STAGE_EPSILON:
        least = contract::epsilon_threshold(numbers.epsilon, seen.entropy.weight);
        ties = request.stages.window_rules.cutoff_ties;
        break;
      case SAMPLER_STAGE_ETA:
        least = contract::eta_threshold(numbers.eta, seen.entropy);
        ties = request.stages.window_rules.cutoff_ties;
        break;
      case SAMPLER_STAGE_P_LESS:
        least = p_less(row, seen, kept->below);
        break;
      case SAMPLER_STAGE_TOP_A:
        least = contract::top_a_threshold(numbers.top_a, seen.first, seen.entropy.weight);
        break;
      case SAMPLER_STAGE_ADAPTIVE:
        least = contract::mirostat_threshold(numbers.mu, seen.entropy.weight);
        break;
      default:
        least = contract::min_p_threshold(shared.parameters.min_p, seen.first);
    }
    const auto holds = [=](float x) {
      return is_sigma ? x >= bound : contract::weight(scale, x) >= least;
    };
    uint32_t lowest = max_key;
    if (holds(scale.max)) {
      lowest = this->lowest_with(contract::value_key(kept->below) + 1, max_key, holds);
    } else {
      kept->is_first = ties == SAMPLER_TIES_EXACT;  // no token reaches the threshold
    }
    kept->below = contract::previous_value(contract::value_of_key(lowest));
  }

  // ---- Sums over the tokens above a value

  SAMPLER_DEVICE float sigma(const Row &row, const Seen &seen, float below) {
    const float first = seen.scale.max;
    if (first == seen.last) return 0.0f;
    const contract::DeviationScale unit = contract::deviation_scale(first, seen.last);
    contract::DeviationSums own;
    this->for_each_element(row, [&](float x) {
      own.add(contract::deviation(unit, x > below ? x : first));  // that of the first is 0
    });
    contract::DeviationSums sums;
    sums.sum = this->weight_of_team(own.sum);
    sums.squares = this->weight_of_team(own.squares);
    return contract::standard_deviation(unit, sums, seen.count);
  }

  SAMPLER_DEVICE uint64_t p_less(const Row &row, const Seen &seen, float below) {
    const contract::RowScale scale = seen.scale;
    contract::CollisionSums own;
    this->for_each_element(row, [&](float x) {
      const float relative = contract::relative_probability(scale, x);
      own.add(x > below ? relative : 0.0f);
    });
    contract::CollisionSums sums;
    sums.weight = this->weight_of_team(own.weight);
    sums.high = this->weight_of_team(own.high);
    sums.cross = int64_t(this->weight_of_team(uint64_t(own.cross)));
    sums.low = this->weight_of_team(own.low);
    const uint64_t least = contract::p_less_threshold(sums);
    return shared.numbers.p_less == SAMPLER_P_LESS_NORM
               ? contract::p_less_norm_threshold(least, sums.weight, int64_t(seen.count))
               : least;
  }
};

}  // namespace sampler::kernels
