// A call over rows whose columns are split among ranks: its request, and the messages that the
// ranks exchange. Section 17 of docs/contract.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/host_device.h"
#include "contract/pipeline.h"
#include "contract/rank.h"
#include "contract/reports.h"
#include "contract/request.h"
#include "shards/filters.h"

namespace sampler::shards {

using namespace contract;

// The request's input has num_cols of the whole row, and this rank's values.
struct ShardCall {
  const SampleRequest *sample = nullptr;  // exactly one of the requests is set
  const FilterRequest *filter = nullptr;
  const SelectRequest *select = nullptr;
  const ResidualRequest *residual = nullptr;
  const VerifyRequest *verify = nullptr;  // dense chains, standard rule
  const Pipeline *pipeline = nullptr;     // for a sample or a filter
  const Reports *reports = nullptr;       // for a sample
  int64_t first_id = 0;
  int64_t num_cols = 0;
  int64_t rank = 0;
  int64_t num_ranks = 1;
  int64_t max_top_k = 0;  // 0: all columns

  SAMPLER_HD_CALL const Rows &input() const {
    if (residual) return residual->target;
    if (verify) return verify->target;
    return sample ? sample->input : filter ? filter->input : select->input;
  }
  SAMPLER_HD int64_t total_cols() const { return input().num_cols; }
  // Number of output rows.
  SAMPLER_HD_CALL int64_t num_rows() const {
    return sample ? sample->num_rows : verify ? verify->num_rows : input().num_rows;
  }

  // For a sample, a filter or a verification.
  SAMPLER_HD_CALL const Parameters &parameters() const {
    return sample ? sample->parameters : verify ? verify->parameters : filter->parameters;
  }
  SAMPLER_HD_CALL const Slots &slots() const {
    return sample ? sample->slots : verify ? verify->slots : filter->slots;
  }

  SAMPLER_HD bool has_edits() const { return pipeline && pipeline->has_edits(); }
  // Whether the library works on its own copy of the values.
  SAMPLER_HD bool has_own_values() const { return has_edits() || residual || verify; }

  SAMPLER_HD bool draws_by_score() const {
    return sample && sample->draw_method == SAMPLER_DRAW_GUMBEL;
  }
  SAMPLER_HD bool wants_entropies() const { return reports && reports->out_entropies; }
  SAMPLER_HD bool wants_ranks() const { return reports && reports->out_ranks; }
  // For a sample: whether it reports shares of a distribution; of the whole row; of the kept
  // tokens.
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
  // Whether reports refer to the row before its edits.
  SAMPLER_HD bool reports_given() const {
    return has_edits() && sample && sample->logprob_kind == SAMPLER_LOGPROB_RAW;
  }

  // Whether top-k truncates the row.
  SAMPLER_HD bool has_top_k(int32_t top_k) const {
    return top_k_is_on(top_k) && top_k < total_cols();
  }
};

// ---- Messages: a header, and then a part for each row. All sizes are multiples of 8 ----

// Digests of the arguments that must agree on all ranks, by group. Errors name the group.
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

// Kinds of a row's part of a message.
enum class ShardPart { kStart, kDigit, kSums, kToken, kRank };

// Followed by the candidates: their ranks, then their values.
struct ShardStart {
  uint32_t given_status;
  uint32_t edited_status;
  uint64_t digest;
  int32_t num_tokens;
  int32_t ties;      // tokens with the value of the last candidate, if top-k keeps ties
  Rank given_first;  // first rank of the row before its edits
};

// Replaces ShardStart in a verification. Followed by the positions.
struct ShardChain {
  uint32_t status;
  uint32_t reserved;
  uint64_t digest;
};
struct ShardPosition {
  uint32_t target_status, draft_status;  // of the rank's part of both rows
  uint32_t verdict, verdict_status;      // on a draft whose id the rank owns
  Rank target_first, residual_first;     // first rank in each; 0: none
};

struct ShardDigit {
  uint64_t weights[kNumDigitValues];
};
struct ShardSums {
  uint64_t reported_weight, reported_surprise;  // whole row, at temperature 1
  uint64_t seen_weight;                         // input of JOINT's top-p
  uint64_t kept_weight, kept_surprise, kept_count;
};
struct ShardToken {
  float score;  // Gumbel score
  int32_t id;   // -1: none
  float value, given_value;
};
struct ShardNumBefore {
  uint64_t num_before;
};

// ---- The exchanges, which depend on host arguments only ----

struct ShardPlan {
  int64_t num_rows;
  int64_t num_candidates;  // per row and rank
  bool has_values;         // candidates are sent with their values
  bool has_ties;           // ties of the last candidate are counted
  bool has_digits, has_sums, has_token, has_rank;
  bool has_late_sums;     // sums that no decision needs travel with the last exchange
  bool has_early_token;   // the token travels with the sums that decide whether it is used
  bool has_token_rank;    // the token's rank travels with the token
  int64_t num_positions;  // per row of a verification

  // The part that carries the sums.
  SAMPLER_HD ShardPart sums_part() const {
    if (has_early_token) return ShardPart::kToken;
    if (!has_late_sums) return ShardPart::kSums;
    return has_rank ? ShardPart::kRank : ShardPart::kToken;
  }

  SAMPLER_HD int num_exchanges() const {
    if (num_rows == 0) return 0;
    return 1 + (has_digits ? kNumDigits : 0) + has_sums + has_token + has_rank;
  }

  SAMPLER_HD_CALL ShardPart part(int round) const {
    if (round == 0) return ShardPart::kStart;
    int left = round - 1;
    if (has_digits && left < kNumDigits) return ShardPart::kDigit;
    left -= has_digits ? kNumDigits : 0;
    if (has_sums && left-- == 0) return ShardPart::kSums;
    if (has_token && left-- == 0) return ShardPart::kToken;
    return ShardPart::kRank;
  }

  // Whether sums are appended to a part.
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

  SAMPLER_HD_CALL size_t message_bytes(int round) const {
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
  // Whether a row may keep tokens that are not candidates.
  const bool may_keep_others =
      !all_greedy && !(all_top_k && rules.top_k_ties == SAMPLER_TIES_EXACT);
  // Whether a row may be undecided by its first tokens and the number of their ties.
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
  // For a token that is not a candidate but ties with one, the candidates give the number of tokens
  // above it.
  plan.has_rank = call.wants_ranks() && (may_be_open || call.reports_given());
  plan.has_token_rank = call.wants_ranks() && plan.has_token && !plan.has_rank;
  const bool sums_for_draw = sums_for_top_p || (may_be_open && !call.draws_by_score());
  const bool sums_for_reports = call.reports_row() || (may_be_open && call.reports_kept());
  // JOINT's top-p keeps all of top-k's ties or none. If none, the token is among the candidates. So
  // the token drawn with all ties can be sent before the outcome is known.
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

}  // namespace sampler::shards
