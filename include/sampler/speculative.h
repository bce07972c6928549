/* Speculative decoding: verification of draft tokens against the target model's distribution, and
 * the distribution that a rejection leaves.
 *
 * A drafter proposed up to num_drafts tokens per row. Each is accepted with the probability that
 * makes the emitted tokens follow the target's distribution exactly (Leviathan et al. 2023,
 * Chen et al. 2023): draft x is accepted when u * q(x) < p(x), u uniform in [0, 1). At the first
 * rejection a token is drawn from the residual max(p - q, 0); when all drafts were accepted a bonus
 * token is drawn from p at the last position. */
#ifndef SAMPLER_SPECULATIVE_H
#define SAMPLER_SPECULATIVE_H

#include <stddef.h>
#include <stdint.h>

#include <sampler/export.h>
#include <sampler/handle.h>
#include <sampler/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Arguments of sampler_chain_speculative. Members that sampler_sample_args has too mean the same.
 *
 * Probabilities are taken as given, so they should sum to 1. Rows of logits become probabilities
 * first: temperature and filters, then softmax in f32, exactly what the renorm operations write. */
typedef struct sampler_chain_speculative_args {
  size_t struct_size;
  sampler_stream stream;

  /* [num_rows, num_drafts + 1, num_cols] The target's row at each draft position, and the one
   * behind the last. Strides in elements: of rows, at least what num_drafts + 1 positions take, and
   * of positions, at least num_cols. 0: contiguous. */
  const void *target;
  int64_t num_rows;
  int64_t num_drafts; /* in [0, 65535] */
  int64_t num_cols;
  int64_t target_row_stride;
  int64_t target_position_stride;
  sampler_dtype target_dtype;
  sampler_input_kind target_kind;

  /* [num_rows, num_drafts, num_cols] The rows that the drafts were drawn from. NULL: the drafter
   * was deterministic (its draft has probability 1), as with n-gram drafts. */
  const void *draft;
  int64_t draft_row_stride;
  int64_t draft_position_stride;
  sampler_dtype draft_dtype;
  sampler_input_kind draft_kind;

  /* Candidate lists, laid out like `target` and `draft`: the ids of the elements, and how many
   * there are, [num_rows, num_drafts + 1] and [num_rows, num_drafts]. NULL: an element's id is its
   * column; all num_cols. A token that is not in a list has probability 0 there. Of rows of given
   * probabilities only the drafts' elements are looked at before the first rejection; a list is
   * read whole, so that a bad element anywhere in it makes the row bad. */
  const void *target_candidate_ids;
  const int32_t *target_candidate_counts;
  const void *draft_candidate_ids;
  const int32_t *draft_candidate_counts;

  /* [num_rows, num_drafts] The draft tokens, of type token_id_type. One outside the vocabulary,
   * [0, num_cols) (candidate lists: [0, 2^20)), is rejected, and the residual there is p. */
  const void *draft_token_ids;

  /* [num_rows] How many drafts each row has, in [0, num_drafts]; values outside are clamped and
   * set a status. NULL: num_drafts. */
  const int32_t *draft_lengths;

  /* Types of all candidate ids; of draft_token_ids and out_token_ids. */
  sampler_id_type candidate_id_type;
  sampler_id_type token_id_type;

  /* Temperature and filters of the rows that are logits, target and draft alike. When the target is
   * probabilities the temperature must be 1 or greedy; when the draft is too (or NULL), the filters
   * must be off. A value that is not makes the call fail, an element of an array its row:
   * SAMPLER_ROW_INVALID_PARAMETER. At most 1e-5: greedy. Then a draft is accepted while it is the target's argmax,
   * and the token behind is the argmax too. */
  float temperature;
  int32_t top_k;
  float top_p;
  float min_p;
  const float *temperatures;
  const int32_t *top_ks;
  const float *top_ps;
  const float *min_ps;
  sampler_tie_rule top_k_ties;
  sampler_tie_rule top_p_ties;
  sampler_filter_order filter_order;
  sampler_temperature_order temperature_order;

  /* As in sampler_sample_args. One offset serves all positions of a row. */
  uint64_t seed;
  uint64_t offset;
  const uint64_t *seeds;
  const uint64_t *offsets;
  int64_t num_seeds;
  int64_t num_offsets;

  /* [num_rows, num_drafts + 1] The accepted drafts, then one token of the target, then -1. For a
   * bad row -1 throughout (the handle's fallback token first, if it has one). Required. */
  void *out_token_ids;

  /* [num_rows] Drafts that would be accepted each on its own, wherever they stand. Positions behind
   * the first rejection count only here: nothing there changes a token or, draft ids apart, a
   * status. NULL: not wanted. */
  int32_t *out_accepted_counts;

  /* [num_rows] Drafts kept before the first rejection: out_token_ids has one token more. NULL: not
   * wanted. */
  int32_t *out_emitted_counts;

  sampler_row_status *out_row_status;

  /* 1: the counts are added to what the two arrays hold. 0: they overwrite it. */
  int32_t accumulate_counts;

  /* Must be 0. */
  int32_t reserved;

  void *workspace;
  size_t workspace_bytes;
} sampler_chain_speculative_args;

#define SAMPLER_CHAIN_SPECULATIVE_ARGS_INIT                                                       \
  {                                                                                               \
    sizeof(sampler_chain_speculative_args), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
        0, 0, 0, 0, 1.0f, 0, 1.0f, 0.0f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
        0, 0, 0                                                                                   \
  }

SAMPLER_API sampler_status sampler_chain_speculative_args_init(sampler_chain_speculative_args *args,
                                                               size_t struct_size);

/* Verifies each row's chain of drafts and emits between 1 and num_drafts + 1 tokens. */
SAMPLER_API sampler_status sampler_chain_speculative(sampler_t sampler,
                                                     const sampler_chain_speculative_args *args);

/* Arguments of sampler_residual. Members that sampler_sample_args has too mean the same. */
typedef struct sampler_residual_args {
  size_t struct_size;
  sampler_stream stream;

  /* [num_rows, num_cols] The target's rows of probabilities, p. Taken as given, so they should sum
   * to 1. */
  const void *target;

  /* [num_rows, num_cols] The rows of probabilities that the drafts were drawn from, q, taken as
   * given. NULL: the drafter was deterministic, and draft_token_ids says what it proposed. */
  const void *draft;

  /* [num_rows] The tokens of a deterministic drafter, of type token_id_type: q is 1 for them. Of a
   * row whose id lies outside [0, num_cols) the residual is p, and a status tells. Required where
   * draft is NULL; NULL where it is not. */
  const void *draft_token_ids;

  int64_t num_rows;
  int64_t num_cols;

  /* Elements from one row's start to the next, at least num_cols. 0: num_cols. */
  int64_t target_row_stride;
  int64_t draft_row_stride;

  sampler_dtype target_dtype;
  sampler_dtype draft_dtype;
  sampler_id_type token_id_type;

  /* SAMPLER_F32, or target_dtype. */
  sampler_dtype output_dtype;

  /* [num_rows, num_cols] Probabilities, which sum to 1 but for rounding, exactly 0 where nothing is
   * left; 0 in every element of a bad row. Rows start output_stride elements apart, at least
   * num_cols; 0: num_cols. Required. */
  void *output;
  int64_t output_stride;

  /* [num_rows] NULL: not wanted. A row of p or q with an element that is negative, NaN or infinite
   * is bad, and a p that is 0 throughout is empty. A q that is 0 throughout takes nothing off p. */
  sampler_row_status *out_row_status;

  void *workspace;
  size_t workspace_bytes;
} sampler_residual_args;

#define SAMPLER_RESIDUAL_ARGS_INIT \
  { sizeof(sampler_residual_args), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

SAMPLER_API sampler_status sampler_residual_args_init(sampler_residual_args *args,
                                                      size_t struct_size);

/* Writes what sampler_chain_speculative draws from after a rejection: max(p - q, 0) of each row,
 * renormalised, or p where that is 0 everywhere. */
SAMPLER_API sampler_status sampler_residual(sampler_t sampler, const sampler_residual_args *args);

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_SPECULATIVE_H */
