// State of split rows between rounds, and access to a round's messages. Section 17 of
// docs/contract.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/host_device.h"
#include "contract/rank.h"
#include "contract/request.h"
#include "shards/call.h"
#include "shards/filters.h"

namespace sampler::shards {

using namespace contract;

enum class ShardFound : int32_t {
  kNothing,  // the row is bad
  kListed,   // decided by its first tokens
  kOpen,     // decided by its first token
  kSearched  // top-p's cut is searched digit by digit
};

// State of an output row between rounds.
struct ShardRow {
  uint64_t stamp;  // shard_stamp() of the next round
  uint32_t status;
  ShardFound found;
  RowParameters parameters;
  bool greedy;
  bool is_owner;    // owns the drawn token
  bool uses_given;  // the residual is 0 everywhere, or there is none
  bool is_settled;  // the token was drawn from the list
  bool has_list_cut;
  Rank first, given_first;
  int64_t num_tokens;
  int64_t num_listed;
  DigitSearch search;
  SharedCut cut;  // `ties` counts this rank's own
  Rank list_cut;  // if has_list_cut
  // Tokens that tie with top-k's last one: on all ranks, on the ranks before this one, on this one.
  uint64_t ties, ties_before, own_ties;
  int64_t kept_count;
  uint64_t kept_weight, kept_surprise;
  uint64_t reported_weight, reported_surprise;
  uint64_t target;  // within the owner's weights
  int64_t token, token_place;
  int32_t emitted, accepted;  // number of drafts, in a verification
  float value, given_value;
  uint64_t num_before;
};

// First tokens of a row: their ranks, and their values if messages carry them.
struct ShardList {
  Rank *ranks;
  float *values;
};

// State of all output rows between rounds, and the scratch memory of one row.
struct ShardMemory {
  ShardRow *rows;
  ShardList listed;       // [rows, candidates]
  float *edited;          // [rows, edited_stride]: edited values, or the residual; null: none
  int64_t edited_stride;  // rows are aligned for vectors

  ShardList merged[2];  // for one row, min(ranks * candidates, columns) each
  int32_t *sizes[2];    // [ranks]
  uint64_t *digits;     // [kNumDigitValues]

  // Maximum number of tokens in the lists of all ranks.
  SAMPLER_HD static int64_t num_merged(const ShardCall &call, const ShardPlan &plan) {
    return smaller(call.num_ranks * plan.num_candidates, call.total_cols());
  }
};

// A round: the messages of the previous one, and the message to write.
struct ShardRound {
  int number;
  const char *received;
  char *send;
  bool is_agreed;  // all headers are valid
};

// Checks of a rank's header: it belongs to the exchange and the rank; its digests equal rank 0's;
// its range begins where the previous rank's ends.
struct ShardVerdict {
  bool has_message, are_alike, follows;
};
SAMPLER_HD inline ShardVerdict judge_header(const ShardHeader &header, const ShardHeader &first,
                                            const ShardHeader *before, int64_t exchange,
                                            int64_t rank) {
  ShardVerdict verdict = {header.round == shard_stamp(exchange) && header.rank == rank, true, true};
  for (int group = 0; group < ShardDigests::kNumGroups; ++group) {
    const uint64_t own = header.digests.groups[group];
    verdict.are_alike = verdict.are_alike && own == first.digests.groups[group];
  }
  const int64_t begin = before ? int64_t(before->first_id) + before->num_cols : 0;
  verdict.follows = header.first_id == begin && header.num_cols >= 0;
  return verdict;
}

SAMPLER_HD inline ShardHeader shard_header(const ShardCall &call, const ShardDigests &digests,
                                           int round) {
  return {shard_stamp(round),
          digests,
          int32_t(call.rank),
          int32_t(call.num_ranks),
          int32_t(call.first_id),
          int32_t(call.num_cols),
          0};
}

// The candidates in a row's part of a message.
SAMPLER_HD inline ShardList candidates_at(char *row, int64_t num_candidates) {
  char *const ranks = row + sizeof(ShardStart);
  return {reinterpret_cast<Rank *>(ranks),
          reinterpret_cast<float *>(ranks + size_t(num_candidates) * sizeof(Rank))};
}

// The messages of all ranks for one row.
struct ShardMessages {
  const char *received = nullptr;
  size_t message_bytes = 0, row_at = 0;
  int64_t num_ranks = 0;
  int64_t num_candidates = 0;  // in a ShardStart

  SAMPLER_HD static ShardMessages of(const ShardCall &call, const ShardPlan &plan,
                                     const ShardRound &round, int64_t output) {
    const int exchange = round.number - 1;
    const size_t row_bytes = plan.row_bytes(plan.part(exchange));
    return {round.received, plan.message_bytes(exchange),
            sizeof(ShardHeader) + size_t(output) * row_bytes, call.num_ranks, plan.num_candidates};
  }

  SAMPLER_HD const char *message(int64_t rank) const {
    return received + size_t(rank) * message_bytes;
  }
  SAMPLER_HD const ShardHeader &header(int64_t rank) const {
    return *reinterpret_cast<const ShardHeader *>(message(rank));
  }
  template <class Part>
  SAMPLER_HD const Part &row(int64_t rank, size_t offset = 0) const {
    return *reinterpret_cast<const Part *>(message(rank) + row_at + offset);
  }
  // Calls f(rank, part) in rank order.
  template <class Part, class F>
  SAMPLER_HD void for_each(const F &f) const {
    for (int64_t rank = 0; rank < num_ranks; ++rank) f(rank, row<Part>(rank));
  }

  SAMPLER_HD bool owns(int64_t rank, int64_t id) const {
    const ShardHeader &of_rank = header(rank);
    return id >= of_rank.first_id && id < int64_t(of_rank.first_id) + of_rank.num_cols;
  }

  // The rank that owns an id. Ranges are consecutive.
  SAMPLER_HD int64_t owner_of(int64_t id) const {
    int64_t owner = 0;
    for (int64_t end = num_ranks; end - owner > 1;) {
      const int64_t middle = owner + (end - owner) / 2;
      if (header(middle).first_id <= id) {
        owner = middle;
      } else {
        end = middle;
      }
    }
    return owner;
  }

  SAMPLER_HD int64_t num_candidates_of(int64_t rank) const {
    return smaller(row<ShardStart>(rank).num_tokens, num_candidates);
  }
  SAMPLER_HD ShardList candidates_of(int64_t rank) const {
    return candidates_at(const_cast<char *>(message(rank) + row_at), num_candidates);
  }
};

}  // namespace sampler::shards
