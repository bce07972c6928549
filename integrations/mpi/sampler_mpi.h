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

/* Bytes of `memory` that sampler_mpi_run needs for a plan of num_ranks ranks. */
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

/* Part of sampler_mpi_run: what all ranks must have the same before they exchange messages, as the
 * least of all ranks' words: sizes, each beside its complement, and the first rank that has
 * failed. */
enum { SAMPLER_MPI_AGREED_WORDS = 2 * SAMPLER_MAX_SHARD_EXCHANGES + 1 };

/* Part of sampler_mpi_run: the library's next round, which never succeeds, reports why it cannot go
 * on with the messages of `round`. */
static inline sampler_status sampler_mpi_refuse(sampler_t sampler, const sampler_shard_args *own,
                                                int64_t round, const char **error) {
  const sampler_status status = sampler_shard_round(sampler, own, round + 1);
  *error = sampler_last_error();
  if (status != SAMPLER_OK) return status;
  *error = "a rank has failed, or has other arguments";
  return SAMPLER_ERROR_INVALID_ARGUMENT;
}

/* Part of sampler_mpi_run: the plan, the memory of messages and round 0. */
static inline sampler_status sampler_mpi_begin(sampler_t sampler, sampler_shard_args *own,
                                               sampler_shard_plan_info *plan, void *memory,
                                               size_t memory_bytes, const char **error) {
  sampler_status status = sampler_shard_plan(sampler, own, plan);
  *error = sampler_last_error();
  if (status != SAMPLER_OK) return status;
  if (memory_bytes < sampler_mpi_memory_bytes(plan, (int)own->num_ranks)) {
    *error = "memory_bytes is less than sampler_mpi_memory_bytes";
    return SAMPLER_ERROR_INVALID_ARGUMENT;
  }
  own->send = memory;
  own->send_bytes = plan->max_message_bytes;
  own->received = own->send_bytes ? (char *)memory + own->send_bytes : NULL;
  own->received_bytes = memory_bytes - own->send_bytes;
  status = sampler_shard_round(sampler, own, 0);
  *error = sampler_last_error();
  return status;
}

/* Part of sampler_mpi_run, for messages of different sizes: compares the first least_bytes of each,
 * the shortest one's size, which is enough to tell whose arguments differ. */
static inline sampler_status sampler_mpi_compare(sampler_t sampler, const sampler_shard_args *own,
                                                 const sampler_shard_plan_info *plan,
                                                 MPI_Comm communicator, size_t least_bytes,
                                                 const char **error) {
  const int words = (int)(least_bytes / sizeof(uint64_t));
  char *const received = (char *)own->received;
  int64_t rank;
  if (words == 0) {
    *error = "a rank has no rows, and another one has";
    return SAMPLER_ERROR_INVALID_ARGUMENT;
  }
  if (MPI_Allgather(own->send, words, MPI_UINT64_T, received, words, MPI_UINT64_T, communicator) !=
      MPI_SUCCESS) {
    *error = "MPI reported an error";
    return SAMPLER_ERROR_SYSTEM;
  }
  for (rank = own->num_ranks - 1; rank > 0; --rank) {
    memmove(received + (size_t)rank * plan->message_bytes[0], received + (size_t)rank * least_bytes,
            least_bytes);
  }
  return sampler_mpi_refuse(sampler, own, 0, error);
}

/* Part of sampler_mpi_run: whether all ranks have come through round 0, with messages of the same
 * sizes. `status` and *error are this rank's. */
static inline sampler_status sampler_mpi_agree(sampler_t sampler, const sampler_shard_args *own,
                                               const sampler_shard_plan_info *plan,
                                               MPI_Comm communicator, sampler_status status,
                                               const char **error) {
  uint64_t words[SAMPLER_MPI_AGREED_WORDS], least[SAMPLER_MPI_AGREED_WORDS];
  const int last = SAMPLER_MPI_AGREED_WORDS - 1;
  int are_alike = 1, i;
  int64_t rank;
  for (i = 0; i < last; ++i) {
    const uint64_t bytes = plan->message_bytes[i / 2];
    words[i] = i % 2 ? ~bytes : bytes;
  }
  words[last] = status == SAMPLER_OK ? UINT64_MAX : (uint64_t)own->rank;
  if (MPI_Allreduce(words, least, SAMPLER_MPI_AGREED_WORDS, MPI_UINT64_T, MPI_MIN, communicator) !=
      MPI_SUCCESS) {
    *error = "MPI reported an error";
    return SAMPLER_ERROR_SYSTEM;
  }
  if (status != SAMPLER_OK) return status;
  if (least[last] != UINT64_MAX) {
    if (plan->num_exchanges == 0) {
      *error = "a rank has failed; its own error says why";
      return SAMPLER_ERROR_INVALID_ARGUMENT;
    }
    for (rank = 0; rank < own->num_ranks; ++rank) {
      const uint64_t first_word = (uint64_t)rank != least[last];
      memcpy((char *)own->received + (size_t)rank * plan->message_bytes[0], &first_word,
             sizeof first_word);
    }
    return sampler_mpi_refuse(sampler, own, 0, error);
  }
  for (i = 0; i < last; ++i) are_alike &= words[i] == least[i];
  /* A rank with a larger size has a smaller complement: its words are all the least only if the
   * sizes are equal. */
  if (are_alike) return SAMPLER_OK;
  return sampler_mpi_compare(sampler, own, plan, communicator, (size_t)least[0], error);
}

/* Part of sampler_mpi_run: whether the first word of a message, of `words` words, marks its rank as
 * failed. */
static inline int sampler_mpi_one_failed(const sampler_shard_args *own, int words) {
  const uint64_t *const received = (const uint64_t *)own->received;
  int64_t rank;
  for (rank = 0; rank < own->num_ranks; ++rank) {
    if (received[rank * words] == 0) return 1;
  }
  return 0;
}

/* Runs all rounds, of a CPU sampler. `memory`, of sampler_mpi_memory_bytes and aligned to 8 bytes,
 * is for the messages.
 *
 * No rank waits for one that does not come, nor for a message of another size. Before the first
 * exchange an MPI_Allreduce of 136 bytes establishes whether all ranks have come through round 0,
 * with messages of the same sizes. A rank that fails later still sends a message, of zeros, in the
 * next exchange. All ranks fail then, and none has written an output. *out_error (may be NULL) says
 * why on the rank that failed, and on the others which rank that is: INVALID_ARGUMENT, "rank 2 has
 * failed in round 1 ...". Where arguments differ it names them and a rank, on all ranks alike. It
 * is static, or sampler_last_error().
 *
 * After the last exchange nothing waits for anybody: a rank that fails in the last round fails
 * alone, and the others have their tokens. sampler_mpi_confirm reports it to them. */
static inline sampler_status sampler_mpi_run(sampler_t sampler, const sampler_shard_args *args,
                                             MPI_Comm communicator, void *memory,
                                             size_t memory_bytes, const char **out_error) {
  const char *unused;
  const char **error = out_error ? out_error : &unused;
  sampler_shard_args own = *args;
  sampler_shard_plan_info plan;
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
  status = sampler_mpi_begin(sampler, &own, &plan, memory, memory_bytes, error);
  status = sampler_mpi_agree(sampler, &own, &plan, communicator, status, error);
  if (status != SAMPLER_OK) return status;

  for (round = 0; round < plan.num_exchanges; ++round) {
    const int words = (int)(plan.message_bytes[round] / sizeof(uint64_t));
    if (status != SAMPLER_OK) memset(own.send, 0, plan.message_bytes[round]);
    if (MPI_Allgather(own.send, words, MPI_UINT64_T, (void *)own.received, words, MPI_UINT64_T,
                      communicator) != MPI_SUCCESS) {
      *error = "MPI reported an error";
      return SAMPLER_ERROR_SYSTEM;
    }
    if (status != SAMPLER_OK) return status;
    if (sampler_mpi_one_failed(&own, words)) {
      return sampler_mpi_refuse(sampler, &own, round, error);
    }
    status = sampler_shard_round(sampler, &own, round + 1);
    *error = sampler_last_error();
  }
  if (status == SAMPLER_OK) *error = "";
  return status;
}

/* Whether every rank has come through sampler_mpi_run, its last round, too: one MPI_Allreduce of 8
 * bytes, for programs that can go on without a rank and must not go on with other tokens than it.
 * Every rank makes the call, with the status that sampler_mpi_run has given it, whatever that is.
 *
 * OK: on every rank. Where `status` is an error the result is that, and *out_error (may be NULL)
 * stays as it is. INVALID_ARGUMENT: another rank has failed; this one's outputs are written, and
 * may be of no use. *out_failed_rank (may be NULL) is the first rank that has failed, or -1. */
static inline sampler_status sampler_mpi_confirm(sampler_status status, MPI_Comm communicator,
                                                 int *out_failed_rank, const char **out_error) {
  const char *unused_text;
  int unused_rank;
  const char **const error = out_error && status == SAMPLER_OK ? out_error : &unused_text;
  int *const failed_rank = out_failed_rank ? out_failed_rank : &unused_rank;
  uint64_t own = UINT64_MAX, first = UINT64_MAX;
  int rank = 0, result;

  *failed_rank = -1;
  *error = "MPI reported an error";
  result = MPI_Comm_rank(communicator, &rank);
  if (status != SAMPLER_OK) own = (uint64_t)rank;
  if (result == MPI_SUCCESS) {
    result = MPI_Allreduce(&own, &first, 1, MPI_UINT64_T, MPI_MIN, communicator);
  }
  if (result != MPI_SUCCESS) return status == SAMPLER_OK ? SAMPLER_ERROR_SYSTEM : status;
  if (first != UINT64_MAX) *failed_rank = (int)first;
  *error = "";
  if (status != SAMPLER_OK || first == UINT64_MAX) return status;
  *error = "a rank has failed in the last round; its own error says why";
  return SAMPLER_ERROR_INVALID_ARGUMENT;
}

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_MPI_H */
