// Rounds of sampler/shard.h on the CPU. shards/rounds.h decides.
#pragma once

#include <cstddef>

#include "cpu/executor.h"
#include "shards/call.h"

namespace sampler::cpu {

size_t shard_workspace_bytes(const shards::ShardCall &call, int num_threads);

// Error in the messages, or in the order of rounds.
struct ShardFault {
  char text[160];
};

// False, with *fault set, if no output was written.
bool run_shard_round(const shards::ShardCall &call, int round, const Executor &executor,
                     void *workspace, const void *received, void *send, Misuse *misuse,
                     ShardFault *fault);

}  // namespace sampler::cpu
