/* Rows sharded by vocabulary over many ranks.
 *
 * Tensor-parallel engines hold [num_rows, V / n] logits on each of n ranks. Here every rank ends
 * with the token of the whole row, bit for bit, after a few small messages. The library computes;
 * the caller's communicator (MPI, NCCL, gloo, shared memory) carries them, with one collective: an
 * all-gather of equal byte counts. integrations/mpi and integrations/nccl do all of it in one call;
 * docs/sharding.md explains the method and its cost.
 *
 *   sampler_shard_args shard = {0};
 *   shard.struct_size = sizeof shard;
 *   shard.sample = &args;                 as in sampling.h, with this rank's columns
 *   shard.first_token_id = rank * V / n;
 *   shard.total_cols = V;
 *   shard.rank = rank;
 *   shard.num_ranks = n;
 *   sampler_shard_plan(sampler, &shard, &plan);     once: it depends on host arguments only
 *
 *   for (round = 0; round <= plan.num_exchanges; ++round) {
 *     sampler_shard_round(sampler, &shard, round);
 *     if (round < plan.num_exchanges) all_gather(send, plan.message_bytes[round], received);
 *   }
 *
 * With a CUDA handle rounds are enqueued on exec.stream: no wait, allocation or host read, so a
 * CUDA graph may capture them with their collectives. CPU and CUDA handles send the same bytes, so
 * both may share a row.
 *
 * A shard acts as a candidate list of its ids, and the whole row as the list of all of them, so
 * sampling.h applies to the whole row: parameters, edits, statuses, temperature, ties. Ids are
 * global, in and out. */
#ifndef SAMPLER_SHARD_H
#define SAMPLER_SHARD_H

#include <stddef.h>
#include <stdint.h>

#include <sampler/export.h>
#include <sampler/handle.h>
#include <sampler/sampling.h>
#include <sampler/speculative.h>
#include <sampler/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Maximum ranks per row, and exchanges per call. */
enum { SAMPLER_MAX_RANKS = 1024, SAMPLER_MAX_SHARD_EXCHANGES = 8 };

typedef struct sampler_shard_args {
  /* sizeof(sampler_shard_args). */
  size_t struct_size;

  /* The call: one of these, the others NULL. Its input, and pipeline.guidance_logits, have this
   * rank's columns, input.num_cols of them from first_token_id on; 0 is allowed, and then the
   * values of the input may be NULL. candidate_ids and candidate_counts are NULL. All else
   * describes the whole row: token ids, and the widths of dense biases and bitmasks, are those of
   * total_cols columns. sampler_filter and sampler_residual write this rank's columns. For a
   * residual, and `verify` below, `target` is the input, and `draft` has as many columns.
   *
   * Row counts, parameters, slots, lists, histories, randomness and reports must be the same on
   * every rank; a rank reads only its own columns of dense biases and bitmasks. Element types may
   * differ. exec.workspace, or the handle's, carries the call from round to round: nothing else may
   * use it until the last one. */
  const sampler_sample_args *sample;
  const sampler_filter_args *filter;
  const sampler_select_args *select;
  const sampler_residual_args *residual;

  /* The first of this rank's ids. The ranks' ranges are consecutive in rank order, and together
   * are [0, total_cols). */
  int64_t first_token_id;

  /* The whole row's columns, in [1, 2^20). */
  int64_t total_cols;

  /* rank in [0, num_ranks), num_ranks in [1, 1024]. */
  int64_t rank;
  int64_t num_ranks;

  /* With row_params->top_k: upper bound of its values below total_cols. Messages have room for
   * max_top_k tokens per row; a larger value makes its rows bad (INVALID_SHARD). In
   * [0, total_cols]; 0: total_cols, which makes messages large. Ignored without such an array. */
  int64_t max_top_k;

  /* [message_bytes] Output of a round, of plan.message_bytes[round] bytes.
   * [num_ranks, message_bytes] Input of the next round: the messages of all ranks, in rank order.
   * Round 0 reads, and the last round writes, none. Both on the handle's device, aligned to 8
   * bytes. The sizes are those of the memory: plan.max_message_bytes and num_ranks times that
   * suffice for all rounds. */
  void *send;
  const void *received;
  size_t send_bytes;
  size_t received_bytes;

  /* Alternative to the four calls above: chains of drafts by SAMPLER_ACCEPT_STANDARD, in dense
   * arrays, with rows of SAMPLER_PROBABILITIES, such as sampler_filter's shards, or greedy by
   * params->temperature. Every rank has all draft tokens, and its own columns of `target` and
   * `draft`; all get the tokens, counts and statuses of sampler_verify. Other verification
   * is UNSUPPORTED. */
  const sampler_verify_args *verify;
} sampler_shard_args;

typedef struct sampler_shard_plan_info {
  /* sizeof(sampler_shard_plan_info), set by the caller. */
  size_t struct_size;

  /* Exact workspace bytes for all rounds, as from the _workspace_size functions. Depends on the
   * rank's columns; all else is the same on every rank. */
  size_t workspace_bytes;

  /* Exchanges, and bytes that each rank sends in each: a multiple of 8. 0 after the last one. */
  int64_t num_exchanges;
  size_t message_bytes[SAMPLER_MAX_SHARD_EXCHANGES];
  size_t max_message_bytes;

  /* Digest of the arguments that must be the same on all ranks. Different digests may mean
   * different message sizes, which a collective may not survive: compare them once, when a call is
   * set up, unless its arguments are known to be the same. */
  uint64_t digest;
} sampler_shard_plan_info;

/* Plans the exchanges. It reads no array, and `send` and `received` may be NULL.
 *
 * Errors: INVALID_ARGUMENT; UNSUPPORTED, for calls without a sharded form, which the text names:
 * stages with windows (typical-p, XTC ...), adaptive kinds, forced tokens, out_observations, chosen
 * tokens, the kept set and out_removed_by as reports, RAW top log-probabilities beside edits, and
 * verification except as in `verify`. docs/sharding.md has the list. */
SAMPLER_API sampler_status sampler_shard_plan(sampler_t sampler, const sampler_shard_args *args,
                                              sampler_shard_plan_info *out_plan);

/* Computes a round, in [0, num_exchanges]: reads `received` of the previous exchange, writes `send`
 * for the next one, or in the last round the call's outputs. Rounds come in order, with the
 * same arguments.
 *
 * A rank whose arguments differ, or whose range overlaps the next one's or leaves a gap, makes
 * round 1 fail on every rank: INVALID_ARGUMENT, and the text names the rank and the difference. A
 * CUDA handle's calls are enqueued before that is known, and do not fail: instead every row is bad,
 * INVALID_SHARD, on every rank, also if rounds come out of order. If only array contents differ,
 * such as seeds by slot, the row is bad on every rank: INVALID_SHARD. Other bad rows are the same
 * as for whole rows.
 *
 * If a rank fails, others wait for its message. It sends zeros instead: the round that reads them
 * fails on every rank, as above, and the text names the failed rank. */
SAMPLER_API sampler_status sampler_shard_round(sampler_t sampler, const sampler_shard_args *args,
                                               int64_t round);

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_SHARD_H */
