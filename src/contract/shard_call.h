// A call of which a rank has some of the columns: what it asks for, and what the ranks exchange for
// it. Section 17 of docs/contract.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/host_device.h"
#include "contract/pipeline.h"
#include "contract/rank.h"
#include "contract/reports.h"
#include "contract/request.h"
#include "contract/shards.h"

namespace sampler::contract {

// The request's input has the whole row's num_cols, and this rank's values.
struct ShardCall {
  const SampleRequest *sample = nullptr;  // one of them
  const RowsRequest *filter = nullptr;
  const SelectRequest *select = nullptr;
  const ResidualRequest *residual = nullptr;
  const ChainRequest *verify = nullptr;  // dense chains by the standard rule
  const Pipeline *pipeline = nullptr;    // of a sample or a filter
  const Reports *reports = nullptr;      // of a sample
  int64_t first_id = 0;
  int64_t num_cols = 0;
  int64_t rank = 0;
  int64_t num_ranks = 1;
  int64_t max_top_k = 0;  // 0: all columns

  SAMPLER_HD const Rows &input() const {
    if (residual) return residual->target;
    if (verify) return verify->target;
    return sample ? sample->input : filter ? filter->input : select->input;
  }
  SAMPLER_HD int64_t total_cols() const { return input().num_cols; }
  // Of output.
  SAMPLER_HD int64_t num_rows() const {
    return sample ? sample->num_rows : verify ? verify->num_rows : input().num_rows;
  }

  // Of a sample, a filter or a verification.
  SAMPLER_HD const Parameters &parameters() const {
    return sample ? sample->parameters : verify ? verify->parameters : filter->parameters;
  }
  SAMPLER_HD const Slots &slots() const {
    return sample ? sample->slots : verify ? verify->slots : filter->slots;
  }

  SAMPLER_HD bool has_edits() const { return pipeline && pipeline->has_edits(); }
  // Whether what is worked on is not what is given.
  SAMPLER_HD bool has_own_values() const { return has_edits() || residual || verify; }

  SAMPLER_HD bool draws_by_score() const {
    return sample && sample->draw_method == SAMPLER_DRAW_GUMBEL;
  }
  SAMPLER_HD bool wants_entropies() const { return reports && reports->out_entropies; }
  SAMPLER_HD bool wants_ranks() const { return reports && reports->out_ranks; }
  // Of a sample: what it reports of a distribution that is not what was drawn from; and of that.
  SAMPLER_HD bool reports_shares() const {
    const bool has_top = reports && reports->num_top && reports->out_top_logprobs;
    return sample->out_logprobs || wants_entropies() || has_top;
  }
  SAMPLER_HD bool reports_row() const {
    return sample && sample->logprob_kind != SAMPLER_LOGPROB_PROCESSED && reports_shares();
  }
  SAMPLER_HD bool reports_kept() const {
    return sample->out_kept_counts ||
           (sample->logprob_kind == SAMPLER_LOGPROB_PROCESSED && reports_shares());
  }
  // Whether reports are of the row as it was before its edits.
  SAMPLER_HD bool reports_given() const {
    return has_edits() && sample && sample->logprob_kind == SAMPLER_LOGPROB_RAW;
  }

  // Whether the first tokens of a row that has this top_k decide it.
  SAMPLER_HD bool has_top_k(int32_t top_k) const {
    return top_k_is_on(top_k) && top_k < total_cols();
  }
};

// ---- Messages: a header, and then a part for each row. All sizes are multiples of 8 ----

// Of arguments that every rank must have the same, by group; errors name it.
struct ShardDigests {
  static constexpr int kNumGroups = 4;

  uint64_t groups[kNumGroups];
};

struct ShardHeader {
  uint64_t round;  // shard_stamp()
  ShardDigests digests;
  int32_t rank;
  int32_t num_ranks;
  int32_t first_id;
  int32_t num_cols;
  uint64_t reserved;
};
SAMPLER_HD constexpr uint64_t shard_stamp(int64_t round) {
  return uint64_t(0x73686172645F3102) << 8 | uint64_t(round);
}

// What messages say of a row.
enum class ShardPart { kStart, kDigit, kSums, kToken, kRank };

// Candidates follow, as ranks, and then their elements.
struct ShardStart {
  uint32_t given_status;
  uint32_t edited_status;
  uint64_t digest;
  int32_t num_tokens;
  int32_t ties;      // those that have the value of its last candidate, where top-k keeps ties
  Rank given_first;  // in rank order, of the row before its edits
};

// Of a verification in the place of ShardStart. Positions follow.
struct ShardChain {
  uint32_t status;
  uint32_t reserved;
  uint64_t digest;
};
struct ShardPosition {
  uint32_t target_status, draft_status;  // of the rank's columns of both rows
  uint32_t verdict, verdict_status;      // on a draft that the rank has
  Rank target_first, residual_first;     // in rank order; 0: none
};

struct ShardDigit {
  uint64_t weights[kNumDigitValues];
};
struct ShardSums {
  uint64_t reported_weight, reported_surprise;  // of the whole row, at temperature 1
  uint64_t seen_weight;                         // of what JOINT's top-p sees
  uint64_t kept_weight, kept_surprise, kept_count;
};
struct ShardToken {
  float score;  // by GUMBEL
  int32_t id;   // -1: none
  float value, given_value;
};
struct ShardNumBefore {
  uint64_t num_before;
};

// ---- What the ranks exchange, which depends on host arguments only ----

struct ShardPlan {
  int64_t num_rows;
  int64_t num_candidates;  // of each row, that a rank sends
  bool has_values;         // the candidates' elements, too
  bool has_ties;           // of the last candidate
  bool has_digits, has_sums, has_token, has_rank;
  bool has_late_sums;     // sums that nothing waits for: with the last exchange
  bool has_early_token;   // which is told with the sums that say whether it counts
  bool has_token_rank;    // which is told with the token
  int64_t num_positions;  // of each row of a verification

  // The part that brings the sums.
  SAMPLER_HD ShardPart sums_part() const {
    if (has_early_token) return ShardPart::kToken;
    if (!has_late_sums) return ShardPart::kSums;
    return has_rank ? ShardPart::kRank : ShardPart::kToken;
  }

  SAMPLER_HD int num_exchanges() const {
    if (num_rows == 0) return 0;
    return 1 + (has_digits ? kNumDigits : 0) + has_sums + has_token + has_rank;
  }

  SAMPLER_HD ShardPart part(int round) const {
    if (round == 0) return ShardPart::kStart;
    int left = round - 1;
    if (has_digits && left < kNumDigits) return ShardPart::kDigit;
    left -= has_digits ? kNumDigits : 0;
    if (has_sums && left-- == 0) return ShardPart::kSums;
    if (has_token && left-- == 0) return ShardPart::kToken;
    return ShardPart::kRank;
  }

  // Whether sums follow what a part has itself.
  SAMPLER_HD bool brings_sums(ShardPart part) const {
    return (has_late_sums || has_early_token) && part == sums_part();
  }
  SAMPLER_HD size_t row_bytes(ShardPart part) const {
    return own_bytes(part) + (brings_sums(part) ? sizeof(ShardSums) : 0);
  }
  SAMPLER_HD size_t own_bytes(ShardPart part) const {
    switch (part) {
      case ShardPart::kStart: {
        if (num_positions > 0) {
          return sizeof(ShardChain) + size_t(num_positions) * sizeof(ShardPosition);
        }
        const size_t value_bytes = has_values ? size_t(num_candidates) * sizeof(float) : 0;
        return sizeof(ShardStart) + size_t(num_candidates) * sizeof(Rank) +
               (value_bytes + 7) / 8 * 8;
      }
      case ShardPart::kDigit:
        return sizeof(ShardDigit);
      case ShardPart::kSums:
        return sizeof(ShardSums);
      case ShardPart::kToken:
        return sizeof(ShardToken) + (has_token_rank ? sizeof(ShardNumBefore) : 0);
      default:
        return sizeof(ShardNumBefore);
    }
  }

  SAMPLER_HD size_t message_bytes(int round) const {
    if (round >= num_exchanges()) return 0;
    return sizeof(ShardHeader) + size_t(num_rows) * row_bytes(part(round));
  }
};

inline ShardPlan plan_shards(const ShardCall &call) {
  ShardPlan plan = {};
  plan.num_rows = call.num_rows();
  if (call.select) {
    plan.num_candidates = call.select->num_selected;
    plan.has_values = call.select->out_values;
    return plan;
  }
  plan.num_candidates = 1;
  if (call.residual) {
    plan.has_sums = true;
    return plan;
  }
  const Parameters &parameters = call.parameters();
  const auto is_on_for_all = [](const auto &numbers, bool is_on) {
    return !numbers.array && is_on;
  };
  const bool all_greedy =
      is_on_for_all(parameters.temperature, is_greedy(parameters.temperature.value));
  if (call.verify) {
    plan.num_positions = call.verify->num_drafts + 1;
    plan.has_sums = plan.has_token = !all_greedy;
    return plan;
  }
  const FilterRules &rules = parameters.rules;
  const bool all_top_k = is_on_for_all(parameters.top_k, call.has_top_k(parameters.top_k.value));
  const bool may_top_k = !all_greedy && (all_top_k || parameters.top_k.array);
  const bool may_top_p =
      !all_greedy && (parameters.top_p.array || top_p_is_on(parameters.top_p.value) ||
                      (call.pipeline && call.pipeline->adaptive.may_decay()));
  // Whether a row may keep tokens that are no candidates.
  const bool may_keep_others =
      !all_greedy && !(all_top_k && rules.top_k_ties == SAMPLER_TIES_EXACT);
  // Whether a row's first tokens, of which more may be ties than are known, do not decide it.
  const bool may_be_open = !all_greedy && !all_top_k;
  const bool sums_for_top_p = may_top_k && may_top_p && rules.order == SAMPLER_FILTERS_JOINT;

  if (may_top_k) {
    plan.num_candidates = all_top_k        ? parameters.top_k.value
                          : call.max_top_k ? call.max_top_k
                                           : call.total_cols();
  }
  plan.has_ties = may_top_k && rules.top_k_ties == SAMPLER_TIES_KEEP;
  plan.has_digits = may_top_p && !all_top_k;
  if (call.filter) {
    plan.has_sums = may_be_open || sums_for_top_p;
    return plan;
  }
  plan.has_token = may_keep_others;
  // Of a token that is no candidate, but ties with one, the first tokens tell how many are above
  // it.
  plan.has_rank = call.wants_ranks() && (may_be_open || call.reports_given());
  plan.has_token_rank = call.wants_ranks() && plan.has_token && !plan.has_rank;
  const bool sums_for_draw = sums_for_top_p || (may_be_open && !call.draws_by_score());
  const bool sums_for_reports = call.reports_row() || (may_be_open && call.reports_kept());
  // JOINT's top-p keeps all of top-k's ties or none. With none the first tokens have the token, so
  // the one that all of them would give may be told before it is known which it is.
  plan.has_early_token =
      plan.has_token && all_top_k && sums_for_top_p && rules.top_p_ties == SAMPLER_TIES_KEEP;
  plan.has_late_sums = sums_for_reports && !sums_for_draw && (plan.has_token || plan.has_rank);
  plan.has_sums =
      (sums_for_draw || sums_for_reports) && !plan.has_late_sums && !plan.has_early_token;
  if (call.reports && call.reports->num_top > plan.num_candidates) {
    plan.num_candidates = smaller(call.reports->num_top, call.total_cols());
  }
  plan.has_values = call.sample->out_values ||
                    (call.reports_given() && (call.reports_shares() || call.wants_ranks()));
  return plan;
}

}  // namespace sampler::contract
