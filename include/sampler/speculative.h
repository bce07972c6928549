/* Speculative decoding: verification of draft tokens against the target model's distribution, and
 * the distribution that a rejection leaves. simple.h has sampler_chain_speculative in one line.
 *
 * A drafter proposed up to num_drafts tokens per sequence. Each is accepted with the probability
 * that makes the emitted tokens follow the target's distribution exactly (Leviathan et al. 2023,
 * Chen et al. 2023): draft x is accepted when u * q(x) < p(x), u uniform in [0, 1). At the first
 * rejection a token is drawn from the residual max(p - q, 0); when all drafts were accepted a bonus
 * token is drawn from p at the last position. */
#ifndef SAMPLER_SPECULATIVE_H
#define SAMPLER_SPECULATIVE_H

#include <stddef.h>
#include <stdint.h>

#include <sampler/export.h>
#include <sampler/handle.h>
#include <sampler/sampling.h>
#include <sampler/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Verification --------------------------------------------------------------------------- */

/* Members that sampler_sample_args has too mean the same.
 *
 * Probabilities are taken as given, so they should sum to 1. Rows of logits become probabilities
 * first: temperature and filters, then softmax in f32, exactly what sampler_filter writes. */
typedef struct sampler_verify_args {
  /* sizeof(sampler_verify_args). */
  size_t struct_size;

  sampler_exec exec;

  /* [num_sequences, num_drafts + 1, num_cols] The target's row at each draft position, then the one
   * that follows the last draft. target.num_rows is num_sequences * (num_drafts + 1), whatever
   * target_sequence_stride is, and tells num_sequences. Of rows of given probabilities only the
   * drafts' elements are looked at before the first rejection; a candidate list is read whole, so
   * that a bad element anywhere in it makes the sequence bad. */
  sampler_rows target;

  /* [num_sequences, num_drafts, num_cols] The rows that the drafts were drawn from. Its num_cols is
   * the target's. All 0: the drafter was deterministic (its draft has probability 1), as with
   * n-gram drafts. A token that is not in a candidate list has probability 0 there. */
  sampler_rows draft;

  /* Distance in elements from one sequence's first row to the next one's, at least what the rows
   * of one take. 0: they are contiguous, or there is no draft. */
  int64_t target_sequence_stride;
  int64_t draft_sequence_stride;

  /* [num_sequences, num_drafts] The draft tokens, of type token_id_type. One outside the
   * vocabulary, [0, num_cols) (candidate lists: [0, 2^20)), is rejected, and the residual there is
   * p. Required, unless num_drafts is 0. num_drafts is in [0, 65535]. */
  const void *draft_token_ids;
  int64_t num_drafts;

  /* [num_sequences] How many drafts each sequence has, in [0, num_drafts]; values outside are
   * clamped and set a status. NULL: num_drafts. */
  const int32_t *draft_counts;

  /* [num_sequences] */
  const int32_t *slots;
  int64_t num_slots;

  /* Temperature and filters of the rows that are logits, target and draft alike. When the target is
   * probabilities the temperature must be 1 or greedy; when the draft is too (or there is none),
   * the filters must be off. A value that is not makes the call fail, an element of an array its
   * sequence: SAMPLER_ROW_INVALID_PARAMETER. Greedy: a draft is accepted while it is the target's
   * argmax, and the token that follows is the argmax too. */
  const sampler_params *params;
  const sampler_row_params *row_params;

  /* One offset serves all positions of a sequence. */
  sampler_random random;

  /* Type of draft_token_ids and out_token_ids. */
  sampler_id_type token_id_type;

  /* 1: the counts are added to what the two arrays hold. 0: they overwrite it. */
  int32_t accumulate_counts;

  /* [num_sequences, num_drafts + 1] The accepted drafts, then one token of the target, then -1. For
   * a bad sequence -1 throughout (the handle's fallback token first, if it has one). Required. */
  void *out_token_ids;

  /* [num_sequences] each; NULL: not wanted. Drafts that would be accepted each on its own, wherever
   * they stand. Positions after the first rejection count only here: nothing there changes a token
   * or, draft ids apart, a status. */
  int32_t *out_accepted_counts;

  /* Drafts kept before the first rejection: out_token_ids has one token more. */
  int32_t *out_emitted_counts;

  sampler_row_status *out_row_status;
} sampler_verify_args;

/* Verifies each sequence's chain of drafts and emits between 1 and num_drafts + 1 tokens. */
SAMPLER_API sampler_status sampler_verify(sampler_t sampler, const sampler_verify_args *args);

/* As sampler_sample_workspace_size. */
SAMPLER_API sampler_status sampler_verify_workspace_size(sampler_t sampler,
                                                         const sampler_verify_args *args,
                                                         size_t *out_bytes);

/* ---- Residual ------------------------------------------------------------------------------- */

typedef struct sampler_residual_args {
  /* sizeof(sampler_residual_args). */
  size_t struct_size;

  sampler_exec exec;

  /* [num_rows, num_cols] The target's rows of probabilities, p. Taken as given, so they should sum
   * to 1. Not candidate lists. */
  sampler_rows target;

  /* [num_rows, num_cols] The rows of probabilities that the drafts were drawn from, q, of as many
   * rows and columns, taken as given. All 0: the drafter was deterministic, and draft_token_ids
   * says what it proposed. */
  sampler_rows draft;

  /* [num_rows] The tokens of a deterministic drafter, of type token_id_type: q is 1 for them. Of a
   * row whose id lies outside [0, num_cols) the residual is p, and a status tells. Required where
   * draft is all 0; NULL where it is not. */
  const void *draft_token_ids;
  sampler_id_type token_id_type;

  /* SAMPLER_F32, or target.dtype. */
  sampler_dtype output_dtype;

  /* [num_rows, num_cols] Probabilities, which sum to 1 up to rounding, exactly 0 where nothing is
   * left; 0 in every element of a bad row. Rows start output_stride elements apart, at least
   * num_cols; 0: num_cols. Required. */
  void *output;
  int64_t output_stride;

  /* [num_rows] NULL: not wanted. A row of p or q with an element that is negative, NaN or infinite
   * is bad, and a p that is 0 throughout is empty. A q that is 0 throughout takes nothing off p. */
  sampler_row_status *out_row_status;
} sampler_residual_args;

/* Writes what sampler_verify draws from after a rejection: max(p - q, 0) of each row, renormalised,
 * or p where that is 0 everywhere. */
SAMPLER_API sampler_status sampler_residual(sampler_t sampler, const sampler_residual_args *args);

/* As sampler_sample_workspace_size. */
SAMPLER_API sampler_status sampler_residual_workspace_size(sampler_t sampler,
                                                           const sampler_residual_args *args,
                                                           size_t *out_bytes);

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_SPECULATIVE_H */
