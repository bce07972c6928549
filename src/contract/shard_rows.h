// What is known of rows that lie on many ranks from one round to the next, and a round's messages.
// Section 17 of docs/contract.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/host_device.h"
#include "contract/rank.h"
#include "contract/request.h"
#include "contract/shard_call.h"
#include "contract/shards.h"

namespace sampler::contract {

enum class ShardFound : int32_t {
  kNothing,  // the row is bad
  kListed,   // its first tokens decide
  kOpen,     // so does its first token alone
  kSearched  // top-p's cut is looked for digit by digit
};

// What is known of a row of output, from round to round.
struct ShardRow {
  uint64_t stamp;  // shard_stamp() of the round that comes next
  uint32_t status;
  ShardFound found;
  RowParameters parameters;
  bool greedy;
  bool is_owner;    // of the token that is drawn
  bool uses_given;  // where a residual is 0 everywhere, or there is none
  bool is_settled;  // the token is known: it was drawn from the list
  bool has_list_cut;
  Rank first, given_first;
  int64_t num_tokens;
  int64_t num_listed;
  DigitSearch search;
  SharedCut cut;  // the ties are this rank's own
  Rank list_cut;  // where the cut is one of the list
  // Of the tokens that have the value of the last one of top-k: those of all ranks, of the ranks
  // before this one, and its own.
  uint64_t ties, ties_before, own_ties;
  int64_t kept_count;
  uint64_t kept_weight, kept_surprise;
  uint64_t reported_weight, reported_surprise;
  uint64_t target;  // of the owner's own weights
  int64_t token, token_place;
  int32_t emitted, accepted;  // drafts of a verification
  float value, given_value;
  uint64_t num_before;
};

// Some of the first tokens of a row: their ranks, and where messages have them their elements.
struct ShardList {
  Rank *ranks;
  float *values;
};

// What lasts from round to round, for each row of output; and what those who work on a row need in
// one.
struct ShardMemory {
  ShardRow *rows;
  ShardList listed;  // [rows, candidates]
  float *edited;     // [rows, edited_stride], where there are edits; of a residual its elements
  int64_t edited_stride;  // from a first element that is aligned for vectors

  ShardList merged[2];  // min(ranks * candidates, columns) each, of a row
  int32_t *sizes[2];    // [ranks]
  uint64_t *digits;     // [kNumDigitValues]

  // How many tokens lists of all ranks have together at most.
  SAMPLER_HD static int64_t num_merged(const ShardCall &call, const ShardPlan &plan) {
    return smaller(call.num_ranks * plan.num_candidates, call.total_cols());
  }
};

// A round: the messages of the one before it, whose headers are good or not, and the one it writes.
struct ShardRound {
  int number;
  const char *received;
  char *send;
  bool is_agreed;  // by the headers
};

// Whether the header of the message of a rank is one of the exchange, and tells the same as that of
// rank 0, whose range begins where the one before it ends.
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

// Where the candidates of a message's row are.
SAMPLER_HD inline ShardList candidates_at(char *row, int64_t num_candidates) {
  char *const ranks = row + sizeof(ShardStart);
  return {reinterpret_cast<Rank *>(ranks),
          reinterpret_cast<float *>(ranks + size_t(num_candidates) * sizeof(Rank))};
}

// What all ranks have sent of a row.
struct ShardMessages {
  const char *received = nullptr;
  size_t message_bytes = 0, row_at = 0;
  int64_t num_ranks = 0;
  int64_t num_candidates = 0;  // of a start

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
  // f(rank, part) in their order.
  template <class Part, class F>
  SAMPLER_HD void for_each(const F &f) const {
    for (int64_t rank = 0; rank < num_ranks; ++rank) f(rank, row<Part>(rank));
  }

  SAMPLER_HD bool owns(int64_t rank, int64_t id) const {
    const ShardHeader &of_rank = header(rank);
    return id >= of_rank.first_id && id < int64_t(of_rank.first_id) + of_rank.num_cols;
  }

  // The rank that owns an id of the row, of ranges that follow one another.
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

}  // namespace sampler::contract
