/* A call of sampler/shard.h over an MPI communicator: all of its rounds in one call. C99, to be
 * included where it is used; MPI 2.2 or newer.
 *
 *   sampler_shard_args shard = {0};
 *   shard.struct_size = sizeof shard;
 *   shard.sample = &args;
 *   shard.first_token_id = first;
 *   shard.total_cols = vocabulary_size;
 *   status = sampler_mpi_run(sampler, &shard, communicator, memory, memory_bytes, &error);
 *
 * Every rank of the communicator makes the call. `rank`, `num_ranks` and the messages' memory of
 * the struct are set here. MPI_THREAD_FUNNELED is enough. */
#ifndef SAMPLER_MPI_H
#define SAMPLER_MPI_H

#include <mpi.h>
#include <sampler/shard.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What sampler_mpi_run needs of `memory`, for a plan of so many ranks. */
static inline size_t sampler_mpi_memory_bytes(const sampler_shard_plan_info *plan, int num_ranks) {
  return plan->max_message_bytes * ((size_t)num_ranks + 1);
}

/* The plan of the call over this communicator. */
static inline sampler_status sampler_mpi_plan(sampler_t sampler, const sampler_shard_args *args,
                                              MPI_Comm communicator,
                                              sampler_shard_plan_info *out_plan) {
  sampler_shard_args own = *args;
  int rank = 0, num_ranks = 0;
  if (MPI_Comm_rank(communicator, &rank) != MPI_SUCCESS ||
      MPI_Comm_size(communicator, &num_ranks) != MPI_SUCCESS) {
    return SAMPLER_ERROR_SYSTEM;
  }
  own.rank = rank;
  own.num_ranks = num_ranks;
  return sampler_shard_plan(sampler, &own, out_plan);
}

/* Runs all rounds. `memory`, of sampler_mpi_memory_bytes and aligned to 8 bytes, is for the
 * messages.
 *
 * Before the first exchange an MPI_Allreduce of 16 bytes tells whether all ranks have come with the
 * same arguments, and none has failed: no rank waits for one that does not come, nor for a message
 * of another size. All ranks fail then; *out_error (may be NULL) tells why on the rank that did, as
 * far as it is known. It is static, or sampler_last_error(). */
static inline sampler_status sampler_mpi_run(sampler_t sampler, const sampler_shard_args *args,
                                             MPI_Comm communicator, void *memory,
                                             size_t memory_bytes, const char **out_error) {
  const char *unused;
  const char **error = out_error ? out_error : &unused;
  sampler_shard_args own = *args;
  sampler_shard_plan_info plan;
  uint64_t agreed[2], agreeing[2] = {0, 0};
  sampler_status status;
  int64_t round;
  int rank = 0, num_ranks = 0;

  *error = "MPI reported an error";
  if (MPI_Comm_rank(communicator, &rank) != MPI_SUCCESS ||
      MPI_Comm_size(communicator, &num_ranks) != MPI_SUCCESS) {
    return SAMPLER_ERROR_SYSTEM;
  }
  own.rank = rank;
  own.num_ranks = num_ranks;
  memset(&plan, 0, sizeof plan);
  plan.struct_size = sizeof plan;
  status = sampler_shard_plan(sampler, &own, &plan);
  if (status == SAMPLER_OK) {
    own.send = memory;
    own.send_bytes = plan.max_message_bytes <= memory_bytes ? plan.max_message_bytes : memory_bytes;
    own.received = own.send_bytes ? (char *)memory + own.send_bytes : NULL;
    own.received_bytes = memory_bytes - own.send_bytes;
    if (memory_bytes < sampler_mpi_memory_bytes(&plan, num_ranks)) {
      *error = "memory_bytes is less than sampler_mpi_memory_bytes";
      status = SAMPLER_ERROR_INVALID_ARGUMENT;
    } else {
      status = sampler_shard_round(sampler, &own, 0);
      *error = sampler_last_error();
    }
  } else {
    *error = sampler_last_error();
  }

  /* A rank that has failed sends 0 and 0, which no digest and its complement are. */
  if (status == SAMPLER_OK) {
    agreeing[0] = plan.digest;
    agreeing[1] = ~plan.digest;
  }
  if (MPI_Allreduce(agreeing, agreed, 2, MPI_UINT64_T, MPI_MIN, communicator) != MPI_SUCCESS) {
    *error = "MPI reported an error";
    return SAMPLER_ERROR_SYSTEM;
  }
  if (status != SAMPLER_OK) return status;
  if (agreed[0] != plan.digest || agreed[1] != ~plan.digest) {
    *error = "a rank has other arguments, or has failed";
    return SAMPLER_ERROR_INVALID_ARGUMENT;
  }

  for (round = 0; round < plan.num_exchanges; ++round) {
    const int words = (int)(plan.message_bytes[round] / sizeof(uint64_t));
    if (MPI_Allgather(own.send, words, MPI_UINT64_T, (void *)own.received, words, MPI_UINT64_T,
                      communicator) != MPI_SUCCESS) {
      *error = "MPI reported an error";
      return SAMPLER_ERROR_SYSTEM;
    }
    status = sampler_shard_round(sampler, &own, round + 1);
    if (status != SAMPLER_OK) {
      *error = sampler_last_error();
      return status;
    }
  }
  *error = "";
  return SAMPLER_OK;
}

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_MPI_H */
