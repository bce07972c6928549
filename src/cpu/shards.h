// One row over many ranks: the rounds of sampler/shard.h. What is decided is in contract/shards.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/request.h"
#include "cpu/executor.h"

namespace sampler::cpu {

// A call of which this rank has some columns. The request's input has the whole row's num_cols.
struct ShardCall {
  const contract::SampleRequest *sample = nullptr;  // one of them
  const contract::RowsRequest *filter = nullptr;
  const contract::SelectRequest *select = nullptr;
  const contract::ResidualRequest *residual = nullptr;
  int64_t first_id = 0;
  int64_t num_cols = 0;
  int64_t rank = 0;
  int64_t num_ranks = 1;
  int64_t max_top_k = 0;  // 0: total_cols

  const contract::Rows &input() const;
  const contract::Pipeline *pipeline() const;
  int64_t num_rows() const;
};

// What messages say of a row.
enum class ShardPart { kStart, kDigit, kSums, kToken, kRank };

// What the ranks exchange, which depends on host arguments only.
struct ShardPlan {
  int64_t num_rows;
  int64_t num_candidates;  // of each row, that a rank sends
  bool has_values;         // the candidates' elements, too
  bool has_digits, has_sums, has_token, has_rank;

  int num_exchanges() const;
  ShardPart part(int round) const;
  size_t row_bytes(ShardPart part) const;
  size_t message_bytes(int round) const;
};
ShardPlan plan_shards(const ShardCall &call);

// Of arguments that every rank must have the same; errors name the group.
struct ShardDigests {
  static constexpr int kNumGroups = 4;
  static const char *name(int group);

  uint64_t groups[kNumGroups];
  uint64_t all() const;
};
ShardDigests digest_arguments(const ShardCall &call);

size_t shard_workspace_bytes(const ShardCall &call, int num_threads);

// Where a round cannot be computed: what is wrong with the messages, or with the order of rounds.
struct ShardFault {
  char text[160];
};

// False, and *fault, where no output was written.
bool run_shard_round(const ShardCall &call, int round, const Executor &executor, void *workspace,
                     const void *received, void *send, Misuse *misuse, ShardFault *fault);

}  // namespace sampler::cpu
