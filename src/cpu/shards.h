// One row over many ranks: the rounds of sampler/shard.h. What is decided is in
// contract/shard_rounds.h.
#pragma once

#include <cstddef>

#include "contract/shard_call.h"
#include "cpu/executor.h"

namespace sampler::cpu {

size_t shard_workspace_bytes(const contract::ShardCall &call, int num_threads);

// Where a round cannot be computed: what is wrong with the messages, or with the order of rounds.
struct ShardFault {
  char text[160];
};

// False, and *fault, where no output was written.
bool run_shard_round(const contract::ShardCall &call, int round, const Executor &executor,
                     void *workspace, const void *received, void *send, Misuse *misuse,
                     ShardFault *fault);

}  // namespace sampler::cpu
