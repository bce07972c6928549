/* One row over many ranks: shards of the vocabulary.
 *
 * Tensor-parallel engines hold [num_rows, V / n] logits on each of n ranks. Here every rank ends
 * with the token of the whole row, bit for bit, after a few small messages. The library computes; a
 * communicator that the caller has (MPI, NCCL, gloo, shared memory) carries: there is one
 * collective, an all-gather of as many bytes from every rank. integrations/mpi and
 * integrations/nccl do all of it in one call, docs/sharding.md tells how, and what it costs.
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
 * With a CUDA handle rounds are enqueued on exec.stream: nothing is waited for, allocated or looked
 * at by the host, so a CUDA graph may have them, with the collectives in between. Messages are the
 * same bytes, so ranks of both kinds may share a row.
 *
 * A shard is a candidate list of its ids, and the whole row the list of all of them, so that what
 * sampling.h says of a row holds of the whole row: parameters, edits, statuses, temperature, ties.
 * Ids are global, in and out. */
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

/* How many ranks a row may lie on, and how many exchanges a call may take. */
enum { SAMPLER_MAX_RANKS = 1024, SAMPLER_MAX_SHARD_EXCHANGES = 8 };

typedef struct sampler_shard_args {
  /* sizeof(sampler_shard_args). */
  size_t struct_size;

  /* The call: one of them, the others NULL. Its input has this rank's columns, input.num_cols of
   * them from first_token_id on; 0 is fine, and then the values may be NULL. candidate_ids and
   * candidate_counts are NULL. All else is that of the whole row: token ids, and the widths of
   * dense biases and bitmasks, are those of total_cols columns. sampler_filter and
   * sampler_residual write this rank's columns. Of a residual, and of `verify` below, `target` is
   * the input, and `draft` has as many columns.
   *
   * Numbers of rows, parameters, slots, lists, histories, randomness and reports must be the same
   * on every rank; of dense biases and bitmasks a rank reads what is for its own columns. Element
   * types may differ. exec.workspace, or the handle's, carries the call from round to round: until
   * the last one nothing else may use it. */
  const sampler_sample_args *sample;
  const sampler_filter_args *filter;
  const sampler_select_args *select;
  const sampler_residual_args *residual;

  /* The first of this rank's ids. The ranks' ranges follow one another in the order of their
   * numbers, and together are [0, total_cols). */
  int64_t first_token_id;

  /* The whole row's columns, in [1, 2^20). */
  int64_t total_cols;

  /* In [0, num_ranks); in [1, 1024]. */
  int64_t rank;
  int64_t num_ranks;

  /* With row_params->top_k: none of its numbers below total_cols is larger. Messages have room for
   * so many tokens of each row; one that is larger makes its rows bad (INVALID_SHARD). In
   * [0, total_cols]; 0: total_cols, which makes them large. Ignored without such an array. */
  int64_t max_top_k;

  /* [message_bytes] What a round writes, of plan.message_bytes[round] bytes.
   * [num_ranks, message_bytes] What the round after it reads: the messages of all ranks, in their
   * order. Round 0 reads, and the last round writes, none. Both on the handle's device, aligned to
   * 8 bytes. The sizes are those of the memory: plan.max_message_bytes and num_ranks times that are
   * enough for all rounds. */
  void *send;
  const void *received;
  size_t send_bytes;
  size_t received_bytes;

  /* A call, too, in the place of the four above: chains of drafts by SAMPLER_ACCEPT_STANDARD, in
   * dense arrays, whose rows are SAMPLER_PROBABILITIES, as sampler_filter writes a shard's, or
   * greedy by params->temperature. Every rank has all draft tokens, and its own columns of `target`
   * and `draft`; all have the tokens, counts and statuses of sampler_verify. Other verification is
   * UNSUPPORTED. */
  const sampler_verify_args *verify;
} sampler_shard_args;

typedef struct sampler_shard_plan_info {
  /* sizeof(sampler_shard_plan_info), set by the caller. */
  size_t struct_size;

  /* Bytes of workspace for all rounds: exactly, as with the _workspace_size functions. It depends
   * on the rank's columns; all else is the same on every rank. */
  size_t workspace_bytes;

  /* Exchanges, and what each rank sends in each: a multiple of 8. 0 after the last one. */
  int64_t num_exchanges;
  size_t message_bytes[SAMPLER_MAX_SHARD_EXCHANGES];
  size_t max_message_bytes;

  /* Of the arguments that all ranks must have the same. Where the digests differ so may the sizes
   * of messages, which a collective may not survive: compare them once, when a call is set up, if
   * its arguments are not known to be the same. */
  uint64_t digest;
} sampler_shard_plan_info;

/* What the call will exchange. It reads no array, and `send` and `received` may be NULL.
 *
 * Errors: INVALID_ARGUMENT; UNSUPPORTED, for what has no sharded form, which the text names: stages
 * that keep windows (typical-p, XTC ...), adaptive kinds, forced tokens, out_observations, chosen
 * tokens, the kept set and out_removed_by as reports, RAW top log-probabilities beside edits, and
 * verification but what `verify` says. docs/sharding.md has the list. */
SAMPLER_API sampler_status sampler_shard_plan(sampler_t sampler, const sampler_shard_args *args,
                                              sampler_shard_plan_info *out_plan);

/* Computes a round, in [0, num_exchanges]: reads `received` of the exchange before it, writes
 * `send` for the one that follows it, or in the last round the call's outputs. Rounds come in
 * order, with the same arguments.
 *
 * A rank whose arguments differ, or whose range overlaps the next one's or leaves a gap, makes
 * round 1 fail on every rank: INVALID_ARGUMENT, and the text names the rank and what differs. A
 * CUDA handle's calls are enqueued before that is known, and do not fail: there every row is bad,
 * INVALID_SHARD, on every rank, and so it is where rounds do not come in order. Where only what
 * arrays hold differs, seeds by slot, say, the row is bad on every rank: INVALID_SHARD. Other bad
 * rows are what they are where the row is whole.
 *
 * Others wait for the message of a rank that fails. It sends zeros in its place: the round that
 * reads them fails on every rank, as above, and the text names the one that failed. */
SAMPLER_API sampler_status sampler_shard_round(sampler_t sampler, const sampler_shard_args *args,
                                               int64_t round);

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_SHARD_H */
