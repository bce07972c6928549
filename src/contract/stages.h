// Runs the windows of a row in order: section 13 of docs/contract.md.
#pragma once

#include <cstdint>

#include "contract/filters.h"
#include "contract/host_device.h"
#include "contract/pipeline.h"
#include "contract/ranked_windows.h"
#include "contract/windows.h"

namespace sampler::contract {

// Result of the stages: the window to draw from, and the temperature.
struct Staged {
  Window window;
  float temperature;
};

// Runs the windows on the `count` >= 1 tokens of a row in rank order.
template <class Tokens>
class StageRunner {
 public:
  // The parameters are valid, and the temperature is not greedy. `num_elements` counts the whole
  // row, including -inf.
  SAMPLER_HD StageRunner(const Tokens &tokens, sampler_input_kind kind,
                         const RowParameters &parameters, const WindowNumbers &numbers,
                         const FilterRules &rules, const WindowRules &window_rules,
                         int64_t num_elements)
      : tokens_(tokens),
        kind_(kind),
        parameters_(parameters),
        numbers_(numbers),
        rules_(rules),
        window_rules_(window_rules),
        num_elements_(num_elements) {}

  // `xtc_word` is the slot's word of Purpose::kXtc. Calls `note(stage, seen, kept)` for each stage
  // that is on, with its input and output windows.
  SAMPLER_HD Staged run(const StageOrder &order, int64_t count, uint32_t xtc_word) const {
    return run(order, count, xtc_word, [](sampler_stage, Window, Window) {});
  }
  template <class Note>
  SAMPLER_HD Staged run(const StageOrder &order, int64_t count, uint32_t xtc_word,
                        const Note &note) const {
    const bool is_joint = rules_.order == SAMPLER_FILTERS_JOINT;
    Window seen = {0, count};
    float in_force = 1.0f;
    Window all_filters_see = {0, 0};  // empty: no filter yet
    for (const sampler_stage stage : order) {
      if (stage == SAMPLER_STAGE_TEMPERATURE) {
        in_force = temperature(seen);
        if (!is_greedy(in_force)) continue;
        note(stage, seen, Window{seen.begin, seen.begin + 1});
        return {{seen.begin, seen.begin + 1}, in_force};
      }
      if (!is_on(stage)) continue;
      const RankedWindows<Tokens> windows(tokens_, kind_, in_force, numbers_.min_keep);
      if (!is_joint || !is_filter(stage)) {
        const Window kept = keep(windows, stage, seen, xtc_word);
        note(stage, seen, kept);
        seen = kept;
        continue;
      }
      if (all_filters_see.count() == 0) all_filters_see = seen;
      const Window kept = keep(windows, stage, all_filters_see, xtc_word);
      note(stage, all_filters_see, kept);
      if (kept.end < seen.end) seen.end = kept.end;
    }
    return {seen, in_force};
  }

  // Whether any stage is on, other than a static temperature.
  SAMPLER_HD bool any_is_on(const StageOrder &order) const {
    for (const sampler_stage stage : order) {
      if (is_on(stage)) return true;
    }
    return false;
  }

  // Whether no other stage is on.
  SAMPLER_HD bool is_alone(const StageOrder &order, sampler_stage only) const {
    for (const sampler_stage stage : order) {
      if (stage != only && is_on(stage)) return false;
    }
    return true;
  }

  // Number of first tokens that determine the result: the size of the first window if it is a plain
  // top-k, otherwise INT64_MAX.
  SAMPLER_HD int64_t num_decisive(const StageOrder &order) const {
    for (const sampler_stage stage : order) {
      if (!is_on(stage)) continue;
      const bool is_plain = stage == SAMPLER_STAGE_TOP_K &&
                            rules_.top_k_ties == SAMPLER_TIES_EXACT &&
                            rules_.order != SAMPLER_FILTERS_JOINT;
      if (!is_plain) break;
      return parameters_.top_k > numbers_.min_keep ? parameters_.top_k : numbers_.min_keep;
    }
    return INT64_MAX;
  }

 private:
  SAMPLER_HD float temperature(Window seen) const {
    if (!is_on(SAMPLER_STAGE_TEMPERATURE)) return parameters_.temperature;
    const RankedWindows<Tokens> at_1(tokens_, kind_, 1.0f, 1);
    return dynamic_temperature(parameters_.temperature, numbers_.dynamic_range,
                               numbers_.dynamic_exponent, at_1.sums(seen), seen.count());
  }

  SAMPLER_HD bool is_on(sampler_stage stage) const {
    switch (stage) {
      case SAMPLER_STAGE_TEMPERATURE:
        return dynamic_temperature_is_on(parameters_.temperature, numbers_.dynamic_range);
      case SAMPLER_STAGE_TYPICAL_P:
        return fraction_is_on(numbers_.typical_p);
      case SAMPLER_STAGE_TOP_N_SIGMA:
        return top_n_sigma_is_on(numbers_.top_n_sigma);
      case SAMPLER_STAGE_EPSILON:
        return fraction_is_on(numbers_.epsilon);
      case SAMPLER_STAGE_ETA:
        return fraction_is_on(numbers_.eta);
      case SAMPLER_STAGE_TOP_H:
        return fraction_is_on(numbers_.top_h);
      case SAMPLER_STAGE_P_LESS:
        return numbers_.p_less != SAMPLER_P_LESS_NONE;
      case SAMPLER_STAGE_MIN_K:
        return min_k_is_on(numbers_.min_k);
      case SAMPLER_STAGE_TOP_A:
        return top_a_is_on(numbers_.top_a);
      case SAMPLER_STAGE_XTC:
        return xtc_is_on(numbers_.xtc_probability, numbers_.xtc_threshold);
      case SAMPLER_STAGE_TOP_K:
        return top_k_is_on(parameters_.top_k);
      case SAMPLER_STAGE_TOP_P:
        return top_p_is_on(parameters_.top_p);
      case SAMPLER_STAGE_ADAPTIVE:
        return numbers_.mirostat != SAMPLER_ADAPTIVE_NONE;
      default:
        return min_p_is_on(parameters_.min_p);
    }
  }

  // The window that a stage keeps.
  SAMPLER_HD Window keep(const RankedWindows<Tokens> &windows, sampler_stage stage, Window seen,
                         uint32_t xtc_word) const {
    switch (stage) {
      case SAMPLER_STAGE_TYPICAL_P:
        return windows.typical_p({numbers_.typical_p, window_rules_.typical_p_sum},
                                 window_rules_.typical_p_ties, seen);
      case SAMPLER_STAGE_TOP_N_SIGMA:
        return windows.top_n_sigma(numbers_.top_n_sigma, seen);
      case SAMPLER_STAGE_EPSILON:
        return windows.epsilon(numbers_.epsilon, window_rules_.cutoff_ties, seen);
      case SAMPLER_STAGE_ETA:
        return windows.eta(numbers_.eta, window_rules_.cutoff_ties, seen);
      case SAMPLER_STAGE_TOP_H:
        return windows.top_h(numbers_.top_h, seen);
      case SAMPLER_STAGE_P_LESS:
        return windows.p_less(numbers_.p_less == SAMPLER_P_LESS_NORM, seen);
      case SAMPLER_STAGE_MIN_K:
        return windows.min_k(numbers_.min_k, seen);
      case SAMPLER_STAGE_TOP_A:
        return windows.top_a(numbers_.top_a, seen);
      case SAMPLER_STAGE_XTC:
        return xtc_coin(xtc_word, numbers_.xtc_probability)
                   ? windows.xtc(numbers_.xtc_threshold, seen)
                   : seen;
      case SAMPLER_STAGE_TOP_K:
        return windows.top_k(parameters_.top_k, rules_.top_k_ties, seen);
      case SAMPLER_STAGE_TOP_P:
        return windows.top_p({parameters_.top_p, rules_.top_p_sum}, rules_.top_p_ties, seen);
      case SAMPLER_STAGE_ADAPTIVE:
        return numbers_.mirostat == SAMPLER_ADAPTIVE_MIROSTAT_V1
                   ? windows.mirostat_v1(numbers_.mu, num_elements_, seen)
                   : windows.mirostat_v2(numbers_.mu, seen);
      default:
        return windows.min_p(parameters_.min_p, seen);
    }
  }

  const Tokens &tokens_;
  sampler_input_kind kind_;
  RowParameters parameters_;
  WindowNumbers numbers_;
  FilterRules rules_;
  WindowRules window_rules_;
  int64_t num_elements_;
};

}  // namespace sampler::contract
