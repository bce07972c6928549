// Reports of a call besides the tokens: section 15 of docs/contract.md.
#pragma once

#include <cstdint>

#include "contract/adaptive.h"
#include "contract/host_device.h"
#include "contract/pipeline.h"
#include "contract/rank.h"
#include "contract/request.h"
#include "contract/weight.h"

namespace sampler::contract {

// Destinations of a SampleRequest's reports; null: not wanted.
struct Reports {
  int64_t num_top = 0;
  TokenIds out_top_token_ids;
  float *out_top_logprobs = nullptr;

  int64_t num_chosen = 0;
  const void *chosen_token_ids = nullptr;  // of the tokens' type
  float *out_chosen_logprobs = nullptr;

  int32_t *out_ranks = nullptr;
  float *out_entropies = nullptr;

  uint32_t *out_kept_bitmask = nullptr;
  int64_t kept_bitmask_stride = 0;  // words
  int64_t kept_capacity = 0;        // entries of each list, or of all lists if packed
  TokenIds out_kept_token_ids;
  float *out_kept_probabilities = nullptr;
  int64_t *out_kept_offsets = nullptr;  // null: not packed

  uint8_t *out_removed_by = nullptr;

  SAMPLER_HD bool wants_top() const {
    return num_top > 0 && (out_top_token_ids.data || out_top_logprobs);
  }
  SAMPLER_HD bool wants_chosen() const { return num_chosen > 0; }
  SAMPLER_HD bool are_lists_packed() const { return out_kept_offsets != nullptr; }
  SAMPLER_HD bool wants_kept_list() const {
    return are_lists_packed() ||
           (kept_capacity > 0 && (out_kept_token_ids.data || out_kept_probabilities));
  }
};

// For tokens that no stage removed: kept, or without probability in the input.
constexpr uint8_t kNotRemoved = 0;
constexpr uint8_t kNeverThere = 255;

// The distribution that is reported: some tokens of a row, with their weights.
struct Reported {
  RowScale scale;
  Rank cut;               // lowest rank; all its tokens have a probability above 0
  uint64_t weight;        // total weight
  bool greedy;            // a single token
  Rank first = ~Rank(0);  // highest rank

  SAMPLER_HD bool has(float x, uint32_t id) const {
    const Rank rank = rank_of(x, id);
    return rank >= cut && rank <= first;
  }

  // Log-probability of any token; -inf outside the distribution.
  SAMPLER_HD float log_probability(float x, uint32_t id) const {
    const bool is_one = has(x, id);
    return greedy && is_one ? 0.0f : forced_log_probability(scale, x, is_one, weight);
  }
};

// All tokens of a row, at temperature 1.
SAMPLER_HD inline Reported reported_row(sampler_input_kind kind, float max) {
  return {row_scale(kind, max, 1.0f), lowest_cut(kind), 0, false, ~Rank(0)};
}

// The stage order with which StageRunner keeps the same tokens as filtered_prefix().
SAMPLER_HD inline StageOrder order_of(const FilterRules &rules) {
  const bool is_last = rules.temperature_order == SAMPLER_TEMPERATURE_LAST;
  const bool min_p_is_first = rules.order == SAMPLER_FILTERS_MIN_P_FIRST;
  StageOrder order;
  if (!is_last) order.add(SAMPLER_STAGE_TEMPERATURE);
  if (min_p_is_first) order.add(SAMPLER_STAGE_MIN_P);
  order.add(SAMPLER_STAGE_TOP_K);
  order.add(SAMPLER_STAGE_TOP_P);
  if (!min_p_is_first) order.add(SAMPLER_STAGE_MIN_P);
  if (is_last) order.add(SAMPLER_STAGE_TEMPERATURE);
  return order;
}

}  // namespace sampler::contract
