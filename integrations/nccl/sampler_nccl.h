/* A call of sampler/shard.h over an NCCL communicator: all of its rounds in one call. C99, to be
 * included where it is used; NCCL 2.
 *
 * With a sampler of the communicator's device all is enqueued on one stream, rounds and
 * collectives, and nothing is waited for: a stream that is being captured takes it, too. args'
 * exec.stream is that stream, and `memory` and the workspace are device memory. With a CPU sampler
 * `memory` is managed or mapped memory, and the stream is waited for before each round by the
 * caller's `wait`.
 *
 * Engines compare plans once, when a call is set up (sampler_shard_plan_info.digest): NCCL hangs
 * where ranks send messages of different sizes.
 *
 * A rank that fails. Nothing is compared here before the first exchange, and a stream's host cannot
 * look at messages. So
 * - where the plan, or the size of `memory`, is an error, no collective is enqueued, and the
 * others' streams wait for this rank until ncclCommAbort;
 * - where a round is an error, for arguments or a launch, or `wait` is, the rank still enqueues all
 *   collectives, with messages that are none, and returns the error in the end. No stream waits for
 *   ever: CUDA samplers of the other ranks make every row bad, INVALID_SHARD, and CPU samplers fail
 *   in the next round, with a text that names the rank;
 * - in the last round, which nobody waits for, a rank fails alone;
 * - where an ncclAllGather is an error, the call returns it at once, and the communicator is of no
 *   use any more. */
#ifndef SAMPLER_NCCL_H
#define SAMPLER_NCCL_H

#include <nccl.h>
#include <sampler/shard.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of `memory` that sampler_nccl_run needs for a plan of num_ranks ranks. */
static inline size_t sampler_nccl_memory_bytes(const sampler_shard_plan_info *plan, int num_ranks) {
  return plan->max_message_bytes * ((size_t)num_ranks + 1);
}

/* Runs all rounds. `memory`, of sampler_nccl_memory_bytes and aligned to 8 bytes, is for the
 * messages. `wait(stream)` returns 0 when the stream's work has finished; NULL for a sampler of the
 * same device, whose work follows it in the stream. *out_error (may be NULL) says what failed: it
 * is static, or sampler_last_error(). */
static inline sampler_status sampler_nccl_run(sampler_t sampler, const sampler_shard_args *args,
                                              ncclComm_t communicator, cudaStream_t stream,
                                              int (*wait)(cudaStream_t stream), void *memory,
                                              size_t memory_bytes, const char **out_error) {
  const char *unused;
  const char **error = out_error ? out_error : &unused;
  sampler_shard_args own = *args;
  sampler_shard_plan_info plan;
  sampler_status status;
  ncclResult_t result;
  const char *send;
  int64_t round;
  int rank = 0, num_ranks = 0;

  result = ncclCommUserRank(communicator, &rank);
  if (result == ncclSuccess) result = ncclCommCount(communicator, &num_ranks);
  if (result != ncclSuccess) {
    *error = ncclGetErrorString(result);
    return SAMPLER_ERROR_SYSTEM;
  }
  own.rank = rank;
  own.num_ranks = num_ranks;
  memset(&plan, 0, sizeof plan);
  plan.struct_size = sizeof plan;
  status = sampler_shard_plan(sampler, &own, &plan);
  *error = sampler_last_error();
  if (status != SAMPLER_OK) return status;
  if (memory_bytes < sampler_nccl_memory_bytes(&plan, num_ranks)) {
    *error = "memory_bytes is less than sampler_nccl_memory_bytes";
    return SAMPLER_ERROR_INVALID_ARGUMENT;
  }
  own.send = memory;
  own.send_bytes = plan.max_message_bytes;
  own.received = plan.max_message_bytes ? (char *)memory + plan.max_message_bytes : NULL;
  own.received_bytes = memory_bytes - plan.max_message_bytes;

  for (round = 0;; ++round) {
    if (status == SAMPLER_OK) {
      status = sampler_shard_round(sampler, &own, round);
      *error = sampler_last_error();
    }
    if (round == plan.num_exchanges) break;
    if (status != SAMPLER_OK && wait) memset(own.send, 0, sizeof(uint64_t));
    /* Where the host cannot write zeros, a failed rank sends bytes that no message begins with. */
    send = (const char *)own.send + (status == SAMPLER_OK || wait ? 0 : sizeof(uint64_t));
    result = ncclAllGather(send, (void *)own.received, plan.message_bytes[round] / 8, ncclUint64,
                           communicator, stream);
    if (result != ncclSuccess) {
      *error = ncclGetErrorString(result);
      return SAMPLER_ERROR_SYSTEM;
    }
    if (wait && wait(stream) != 0 && status == SAMPLER_OK) {
      *error = "wait failed";
      status = SAMPLER_ERROR_SYSTEM;
    }
  }
  if (status == SAMPLER_OK) *error = "";
  return status;
}

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_NCCL_H */
