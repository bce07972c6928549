// Random ways to put and run the same problem.
#ifndef SAMPLER_TESTS_INVARIANCE_VARIATIONS_H_
#define SAMPLER_TESTS_INVARIANCE_VARIATIONS_H_

#include <algorithm>
#include <vector>

#include "problem.h"
#include "run.h"

namespace invariance_test {

struct Variation {
  Problem problem;
  Setting setting;
  std::vector<std::size_t> order;  // the row of the original that each row is
};

inline Setting random_setting(Random *random) {
  const std::vector<std::int64_t> paddings = {0, 1, 5, 64};
  const std::vector<std::size_t> misalignments = {0, 1, 3, 15}, bytes = {0, 1, 8, 33};
  const std::vector<unsigned char> fills = {0x00, 0xFF, 0x7F, 0x80};
  Setting setting;
  setting.padding = random->pick(paddings);
  setting.misalignment = random->pick(misalignments);
  setting.workspace_misalignment = random->pick(bytes);
  setting.fill = random->pick(fills);
  setting.token_id_type = static_cast<sampler_id_type>(random->below(2));
  setting.candidate_id_type = static_cast<sampler_id_type>(random->below(2));
  setting.has_row_indices = random->below(2) == 0;
  setting.fp_mode = random->pick(fp_modes());
  return setting;
}

inline bool draw_alike(const RowInput &a, const RowInput &b) {
  return a.temperature == b.temperature && a.top_k == b.top_k && a.top_p == b.top_p &&
         a.min_p == b.min_p && a.seed == b.seed && a.offset == b.offset && a.stream == b.stream;
}

// Slots in any order, as many as rows or more. Rows that draw alike share one now and then.
inline void give_slots(const Problem &problem, Random *random, Setting *setting) {
  const std::size_t num_slots = problem.rows.size() + random->below(2 * problem.rows.size() + 1);
  const std::vector<std::size_t> order = random_order(num_slots, random);
  setting->num_slots = static_cast<std::int64_t>(num_slots);
  setting->slots.clear();
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    setting->slots.push_back(static_cast<std::int32_t>(order[i]));
    for (std::size_t j = 0; j < i; ++j) {
      const bool may_share = draw_alike(problem.rows[i], problem.rows[j]);
      if (may_share && random->below(2) == 0) setting->slots[i] = setting->slots[j];
    }
  }
}

inline void keep_only(const std::vector<std::size_t> &rows, std::vector<std::size_t> *order) {
  const auto is_left_out = [&](std::size_t i) {
    return !std::binary_search(rows.begin(), rows.end(), i);
  };
  order->erase(std::remove_if(order->begin(), order->end(), is_left_out), order->end());
}

// Rows in another order, some twice, some not at all; as they are, as lists, with columns more, in
// slots.
inline Variation random_variation(const Problem &problem, Random *random) {
  Variation variation;
  variation.setting = random_setting(random);
  const bool as_lists = random->below(2) == 0;
  variation.order = random_order(problem.rows.size(), random);
  for (std::size_t i = random->below(4); i > 0; --i) {
    variation.order.push_back(random->below(problem.rows.size()));
  }
  if (as_lists) keep_only(rows_equal_as_lists(problem), &variation.order);
  variation.order.resize(1 + random->below(variation.order.size()));
  variation.problem = with_rows(problem, variation.order);
  if (random->below(2) == 0) {
    variation.problem = widened(variation.problem, static_cast<std::int64_t>(random->below(70)));
  }
  if (as_lists) {
    variation.problem = as_candidates(variation.problem, random->below(2) == 0, random);
  } else if (problem.operation != Operation::kResidual) {
    variation.problem.num_cols += static_cast<std::int64_t>(random->below(70));  // not counted
  }
  variation.setting.has_streams = random->below(2) == 0;
  if (random->below(2) == 0) give_slots(variation.problem, random, &variation.setting);
  return variation;
}

}  // namespace invariance_test

#endif  // SAMPLER_TESTS_INVARIANCE_VARIATIONS_H_
