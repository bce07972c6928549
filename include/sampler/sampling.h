/* Sampling from logits or probabilities, filters, softmax, renormalisation, masks and selection.
 *
 * One draw per row from the 50 most likely tokens, cut to the nucleus of 0.95:
 *
 *   sampler_top_k_top_p_args args = SAMPLER_TOP_K_TOP_P_ARGS_INIT;
 *   args.input = logits;             f32, [num_rows, num_cols]
 *   args.num_rows = num_rows;
 *   args.num_cols = num_cols;
 *   args.temperature = 0.8f;
 *   args.top_k = 50;
 *   args.top_p = 0.95f;
 *   args.seed = seed;
 *   args.offset = step;              another value at every step
 *   args.out_token_ids = token_ids;  int32_t, [num_rows]
 *   status = sampler_top_k_top_p(sampler, &args);
 *
 * sampler_sample_args documents every member. The other structs hold those of its members that
 * their operation needs, with the same names, meanings and defaults; only what is new is explained.
 *
 * Rank order, below, sorts a row's tokens by value descending, then by id ascending (-0 equals +0).
 * Tokens of value -inf, or of probability 0, are never kept and never drawn.
 *
 * All return SAMPLER_OK, or: INVALID_ARGUMENT, WORKSPACE_TOO_SMALL, CALLBACK (a broken
 * parallel_for), CUDA, INTERNAL. Work is enqueued on `stream` and the call returns at once; a CPU
 * handle has done it when the call returns. */
#ifndef SAMPLER_SAMPLING_H
#define SAMPLER_SAMPLING_H

#include <stddef.h>
#include <stdint.h>

#include <sampler/export.h>
#include <sampler/handle.h>
#include <sampler/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Drawing tokens ------------------------------------------------------------------------- */

/* Arguments of sampler_sample. */
typedef struct sampler_sample_args {
  /* sizeof(sampler_sample_args). */
  size_t struct_size;

  /* Where the work is enqueued. Ignored by a CPU handle. */
  sampler_stream stream;

  /* [num_input_rows, num_cols] Logits or probabilities, one row `row_stride` elements after the
   * other. Never written. */
  const void *input;

  /* Rows of output: tokens to draw. In [0, 2^31); with 0 the call does nothing. */
  int64_t num_rows;

  /* Columns of the input: the vocabulary, or the room for candidates. In [1, 2^20). */
  int64_t num_cols;

  /* Distance of two input rows in elements, at least num_cols. 0: num_cols. */
  int64_t row_stride;

  /* Element type and meaning of the input. */
  sampler_dtype input_dtype;
  sampler_input_kind input_kind;

  /* [num_rows] The input row that each output row draws from, in [0, num_input_rows); any other
   * value makes the output row bad. The work of preparing a row is shared by the outputs that draw
   * from it with equal parameters. NULL: output row i draws from input row i. */
  const int32_t *row_indices;

  /* Rows of the input, in [0, 2^31). 0: num_rows. Without row_indices it must be 0 or num_rows. */
  int64_t num_input_rows;

  /* Candidate lists, for engines that hold (id, logit) pairs rather than rows.
   * [num_input_rows, num_cols], laid out like the input: the token id of each element, in
   * [0, 2^20), in any order, none twice in a row. A list of all ids gives the same token as the
   * row. NULL: the id of an element is its column. */
  const void *candidate_ids;

  /* [num_input_rows] How many elements of each row there are, in [0, num_cols]; what is behind them
   * is not read. Needs candidate_ids. NULL: num_cols. */
  const int32_t *candidate_counts;

  /* Type of candidate_ids. */
  sampler_id_type candidate_id_type;

  /* Type of out_token_ids. */
  sampler_id_type token_id_type;

  /* Logits are divided by the temperature. At most 1e-5 (0 and negative ones too): greedy, the
   * first token in rank order whatever the filters say. Above 2^64: 2^64. Probabilities are taken
   * as they are: there it must be 1, or at most 1e-5. Not NaN. Default 1. */
  float temperature;

  /* Keeps the first top_k tokens in rank order. <= 0 or >= num_cols: off. Default 0. */
  int32_t top_k;

  /* Keeps the shortest prefix of rank order whose probability, relative to what the filter sees,
   * is at least top_p (nucleus sampling, Holtzman et al. 2020). >= 1: off; <= 0: one token.
   * Not NaN. Default 1. */
  float top_p;

  /* Keeps the tokens at least min_p times as likely as the likeliest one (Nguyen et al. 2024).
   * <= 0: off; above 1: 1. Not NaN. Default 0. */
  float min_p;

  /* [num_rows] The same per output row. NULL: the value above for all. Every value has the meaning
   * above; NaN, or a temperature that probabilities cannot have, makes the row bad. */
  const float *temperatures;
  const int32_t *top_ks;
  const float *top_ps;
  const float *min_ps;

  /* How the filters combine. All default to 0, the first constant of their enumeration. */
  sampler_tie_rule top_k_ties;
  sampler_tie_rule top_p_ties;
  sampler_filter_order filter_order;
  sampler_temperature_order temperature_order;

  /* How the token is drawn. */
  sampler_draw_method draw_method;

  /* Of which distribution out_logprobs is. */
  sampler_logprob_kind logprob_kind;

  /* Randomness: Philox4x32-10 (Salmon et al. 2011) of (seed, offset, stream). Use each pair of seed
   * and offset once: a sequence takes a seed, and its position as the offset.
   * With one seed for all rows the stream is the output row, so rows draw independently. With a
   * seed per row the stream is 0, and a row's token depends on its own seed and offset alone, not
   * on its slot in the batch. */
  uint64_t seed;
  uint64_t offset;

  /* [num_seeds], [num_offsets] Seeds and offsets in the handle's memory, read when the work runs.
   * num_seeds is 1 (one for all rows) or num_rows (one each). NULL and 0: `seed`, `offset`. */
  const uint64_t *seeds;
  const uint64_t *offsets;
  int64_t num_seeds;
  int64_t num_offsets;

  /* [num_rows] The tokens, of type token_id_type: column numbers, or candidate ids. -1 or the
   * handle's fallback token for a bad row. Required. */
  void *out_token_ids;

  /* [num_rows] How many tokens the filters kept; 1 for a greedy row, 0 for a bad one. NULL: not
   * wanted. */
  int32_t *out_kept_counts;

  /* [num_rows] Natural logarithm of the probability of the drawn token; NaN for a bad row. A
   * probability row's logprob is relative to its sum. NULL: not wanted. */
  float *out_logprobs;

  /* [num_rows] SAMPLER_ROW_ bits. NULL: not wanted. */
  sampler_row_status *out_row_status;

  /* Memory for the call, of sampler_workspace_size() bytes or more, any alignment. NULL and 0: the
   * handle's. */
  void *workspace;
  size_t workspace_bytes;
} sampler_sample_args;

#define SAMPLER_SAMPLE_ARGS_INIT                                                                   \
  {                                                                                                \
    sizeof(sampler_sample_args), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1.0f, 0, 1.0f, 0.0f, 0, 0, \
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                 \
  }

SAMPLER_API sampler_status sampler_sample_args_init(sampler_sample_args *args, size_t struct_size);

/* Draws one token per row from what top-k, top-p and min-p keep of it: every option in one call. */
SAMPLER_API sampler_status sampler_sample(sampler_t sampler, const sampler_sample_args *args);

/* Arguments of sampler_top_k_top_p. Filter order: SEQUENTIAL is FlashInfer's top_k_first. */
typedef struct sampler_top_k_top_p_args {
  size_t struct_size;
  sampler_stream stream;

  const void *input;
  int64_t num_rows;
  int64_t num_cols;
  int64_t row_stride;
  sampler_dtype input_dtype;
  sampler_input_kind input_kind;
  const int32_t *row_indices;
  int64_t num_input_rows;
  const void *candidate_ids;
  const int32_t *candidate_counts;
  sampler_id_type candidate_id_type;
  sampler_id_type token_id_type;

  float temperature;
  int32_t top_k;
  float top_p;
  sampler_tie_rule top_k_ties;
  sampler_tie_rule top_p_ties;
  sampler_filter_order filter_order;
  const float *temperatures;
  const int32_t *top_ks;
  const float *top_ps;
  sampler_temperature_order temperature_order;
  sampler_draw_method draw_method;

  uint64_t seed;
  uint64_t offset;
  const uint64_t *seeds;
  const uint64_t *offsets;
  int64_t num_seeds;
  int64_t num_offsets;

  void *out_token_ids;
  int32_t *out_kept_counts;
  sampler_row_status *out_row_status;
  void *workspace;
  size_t workspace_bytes;
} sampler_top_k_top_p_args;

#define SAMPLER_TOP_K_TOP_P_ARGS_INIT                                                             \
  {                                                                                               \
    sizeof(sampler_top_k_top_p_args), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1.0f, 0, 1.0f, 0, 0, \
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                         \
  }

SAMPLER_API sampler_status sampler_top_k_top_p_args_init(sampler_top_k_top_p_args *args,
                                                         size_t struct_size);

/* Draws one token per row from the top_k most likely tokens whose probability reaches top_p. */
SAMPLER_API sampler_status sampler_top_k_top_p(sampler_t sampler,
                                               const sampler_top_k_top_p_args *args);

/* Arguments of sampler_top_k. */
typedef struct sampler_top_k_args {
  size_t struct_size;
  sampler_stream stream;

  const void *input;
  int64_t num_rows;
  int64_t num_cols;
  int64_t row_stride;
  sampler_dtype input_dtype;
  sampler_input_kind input_kind;
  const int32_t *row_indices;
  int64_t num_input_rows;
  const void *candidate_ids;
  const int32_t *candidate_counts;
  sampler_id_type candidate_id_type;
  sampler_id_type token_id_type;

  float temperature;
  int32_t top_k;
  const float *temperatures;
  const int32_t *top_ks;
  sampler_tie_rule top_k_ties;
  sampler_draw_method draw_method;

  uint64_t seed;
  uint64_t offset;
  const uint64_t *seeds;
  const uint64_t *offsets;
  int64_t num_seeds;
  int64_t num_offsets;

  void *out_token_ids;
  int32_t *out_kept_counts;
  sampler_row_status *out_row_status;
  void *workspace;
  size_t workspace_bytes;
} sampler_top_k_args;

#define SAMPLER_TOP_K_ARGS_INIT                                                                   \
  {                                                                                               \
    sizeof(sampler_top_k_args), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1.0f, 0, 0, 0, 0, 0, 0, 0, \
        0, 0, 0, 0, 0, 0, 0, 0, 0                                                                 \
  }

SAMPLER_API sampler_status sampler_top_k_args_init(sampler_top_k_args *args, size_t struct_size);

/* Draws one token per row from the top_k most likely tokens. */
SAMPLER_API sampler_status sampler_top_k(sampler_t sampler, const sampler_top_k_args *args);

/* Arguments of sampler_top_p. */
typedef struct sampler_top_p_args {
  size_t struct_size;
  sampler_stream stream;

  const void *input;
  int64_t num_rows;
  int64_t num_cols;
  int64_t row_stride;
  sampler_dtype input_dtype;
  sampler_input_kind input_kind;
  const int32_t *row_indices;
  int64_t num_input_rows;
  const void *candidate_ids;
  const int32_t *candidate_counts;
  sampler_id_type candidate_id_type;
  sampler_id_type token_id_type;

  float temperature;
  float top_p;
  const float *temperatures;
  const float *top_ps;
  sampler_tie_rule top_p_ties;
  sampler_temperature_order temperature_order;
  sampler_draw_method draw_method;

  /* Must be 0. */
  int32_t reserved;

  uint64_t seed;
  uint64_t offset;
  const uint64_t *seeds;
  const uint64_t *offsets;
  int64_t num_seeds;
  int64_t num_offsets;

  void *out_token_ids;
  int32_t *out_kept_counts;
  sampler_row_status *out_row_status;
  void *workspace;
  size_t workspace_bytes;
} sampler_top_p_args;

#define SAMPLER_TOP_P_ARGS_INIT                                                                   \
  {                                                                                               \
    sizeof(sampler_top_p_args), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1.0f, 1.0f, 0, 0, 0, 0, 0, \
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                                        \
  }

SAMPLER_API sampler_status sampler_top_p_args_init(sampler_top_p_args *args, size_t struct_size);

/* Draws one token per row from the nucleus: the likeliest tokens whose probability reaches top_p.
 */
SAMPLER_API sampler_status sampler_top_p(sampler_t sampler, const sampler_top_p_args *args);

/* Arguments of sampler_min_p. */
typedef struct sampler_min_p_args {
  size_t struct_size;
  sampler_stream stream;

  const void *input;
  int64_t num_rows;
  int64_t num_cols;
  int64_t row_stride;
  sampler_dtype input_dtype;
  sampler_input_kind input_kind;
  const int32_t *row_indices;
  int64_t num_input_rows;
  const void *candidate_ids;
  const int32_t *candidate_counts;
  sampler_id_type candidate_id_type;
  sampler_id_type token_id_type;

  float temperature;
  float min_p;
  const float *temperatures;
  const float *min_ps;
  sampler_temperature_order temperature_order;
  sampler_draw_method draw_method;

  uint64_t seed;
  uint64_t offset;
  const uint64_t *seeds;
  const uint64_t *offsets;
  int64_t num_seeds;
  int64_t num_offsets;

  void *out_token_ids;
  int32_t *out_kept_counts;
  sampler_row_status *out_row_status;
  void *workspace;
  size_t workspace_bytes;
} sampler_min_p_args;

#define SAMPLER_MIN_P_ARGS_INIT                                                                   \
  {                                                                                               \
    sizeof(sampler_min_p_args), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1.0f, 0.0f, 0, 0, 0, 0, 0, \
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                                              \
  }

SAMPLER_API sampler_status sampler_min_p_args_init(sampler_min_p_args *args, size_t struct_size);

/* Draws one token per row from those at least min_p times as likely as the likeliest. */
SAMPLER_API sampler_status sampler_min_p(sampler_t sampler, const sampler_min_p_args *args);

/* Arguments of sampler_argmax. */
typedef struct sampler_argmax_args {
  size_t struct_size;
  sampler_stream stream;

  const void *input;
  int64_t num_rows;
  int64_t num_cols;
  int64_t row_stride;
  sampler_dtype input_dtype;
  sampler_input_kind input_kind;
  const void *candidate_ids;
  const int32_t *candidate_counts;
  sampler_id_type candidate_id_type;
  sampler_id_type token_id_type;

  void *out_token_ids;

  /* [num_rows] The value of each token, widened to f32; NaN for a bad row. NULL: not wanted. */
  float *out_values;

  sampler_row_status *out_row_status;
  void *workspace;
  size_t workspace_bytes;
} sampler_argmax_args;

#define SAMPLER_ARGMAX_ARGS_INIT \
  { sizeof(sampler_argmax_args), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

SAMPLER_API sampler_status sampler_argmax_args_init(sampler_argmax_args *args, size_t struct_size);

/* Gives the first token of each row in rank order: the largest value, the lowest id among equals.
 * The same token as sampling at temperature 0. */
SAMPLER_API sampler_status sampler_argmax(sampler_t sampler, const sampler_argmax_args *args);

/* ---- Whole rows ------------------------------------------------------------------------------
 *
 * `output` is [num_rows, num_cols], row by row `output_stride` elements apart (0: num_cols), of
 * type f32 or the input's. With candidate lists an output element belongs to the candidate at the
 * same place, and those behind a row's last candidate are written as if they were not kept. */

/* Arguments of sampler_softmax. */
typedef struct sampler_softmax_args {
  size_t struct_size;
  sampler_stream stream;

  /* [num_rows, num_cols] Logits. */
  const void *input;
  int64_t num_rows;
  int64_t num_cols;
  int64_t row_stride;
  sampler_dtype input_dtype;
  sampler_id_type candidate_id_type;
  const void *candidate_ids;
  const int32_t *candidate_counts;

  float temperature;

  /* SAMPLER_F32 or the input's. */
  sampler_dtype output_dtype;

  const float *temperatures;

  /* [num_rows, num_cols] Probabilities; 0 in every element of a bad row. Required. */
  void *output;
  int64_t output_stride;

  sampler_row_status *out_row_status;
  void *workspace;
  size_t workspace_bytes;
} sampler_softmax_args;

#define SAMPLER_SOFTMAX_ARGS_INIT \
  { sizeof(sampler_softmax_args), 0, 0, 0, 0, 0, 0, 0, 0, 0, 1.0f, 0, 0, 0, 0, 0, 0, 0 }

SAMPLER_API sampler_status sampler_softmax_args_init(sampler_softmax_args *args,
                                                     size_t struct_size);

/* Writes the probabilities of each row of logits at the temperature; one-hot when greedy. */
SAMPLER_API sampler_status sampler_softmax(sampler_t sampler, const sampler_softmax_args *args);

/* Arguments of sampler_top_k_renorm. The input is probabilities by default. */
typedef struct sampler_top_k_renorm_args {
  size_t struct_size;
  sampler_stream stream;

  const void *input;
  int64_t num_rows;
  int64_t num_cols;
  int64_t row_stride;
  sampler_dtype input_dtype;
  sampler_input_kind input_kind;
  const void *candidate_ids;
  const int32_t *candidate_counts;
  sampler_id_type candidate_id_type;

  sampler_dtype output_dtype;
  float temperature;
  int32_t top_k;
  const float *temperatures;
  const int32_t *top_ks;
  sampler_tie_rule top_k_ties;

  /* Must be 0. */
  int32_t reserved;

  /* [num_rows, num_cols] Kept tokens' probabilities, which sum to 1 but for rounding; exactly 0
   * elsewhere and in bad rows. Required. */
  void *output;
  int64_t output_stride;

  /* [num_rows] As in sampler_sample_args. NULL: not wanted. */
  int32_t *out_kept_counts;
  sampler_row_status *out_row_status;
  void *workspace;
  size_t workspace_bytes;
} sampler_top_k_renorm_args;

#define SAMPLER_TOP_K_RENORM_ARGS_INIT                                                            \
  {                                                                                               \
    sizeof(sampler_top_k_renorm_args), 0, 0, 0, 0, 0, 0, SAMPLER_PROBABILITIES, 0, 0, 0, 0, 1.0f, \
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                                           \
  }

SAMPLER_API sampler_status sampler_top_k_renorm_args_init(sampler_top_k_renorm_args *args,
                                                          size_t struct_size);

/* Writes each row's probabilities with all but the top_k largest set to 0, renormalised. */
SAMPLER_API sampler_status sampler_top_k_renorm(sampler_t sampler,
                                                const sampler_top_k_renorm_args *args);

/* Arguments of sampler_top_p_renorm. The input is probabilities by default. */
typedef struct sampler_top_p_renorm_args {
  size_t struct_size;
  sampler_stream stream;

  const void *input;
  int64_t num_rows;
  int64_t num_cols;
  int64_t row_stride;
  sampler_dtype input_dtype;
  sampler_input_kind input_kind;
  const void *candidate_ids;
  const int32_t *candidate_counts;
  sampler_id_type candidate_id_type;

  sampler_dtype output_dtype;
  float temperature;
  float top_p;
  const float *temperatures;
  const float *top_ps;
  sampler_tie_rule top_p_ties;
  sampler_temperature_order temperature_order;

  void *output;
  int64_t output_stride;
  int32_t *out_kept_counts;
  sampler_row_status *out_row_status;
  void *workspace;
  size_t workspace_bytes;
} sampler_top_p_renorm_args;

#define SAMPLER_TOP_P_RENORM_ARGS_INIT                                                            \
  {                                                                                               \
    sizeof(sampler_top_p_renorm_args), 0, 0, 0, 0, 0, 0, SAMPLER_PROBABILITIES, 0, 0, 0, 0, 1.0f, \
        1.0f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                                        \
  }

SAMPLER_API sampler_status sampler_top_p_renorm_args_init(sampler_top_p_renorm_args *args,
                                                          size_t struct_size);

/* Writes each row's probabilities with all outside the nucleus set to 0, renormalised. */
SAMPLER_API sampler_status sampler_top_p_renorm(sampler_t sampler,
                                                const sampler_top_p_renorm_args *args);

/* Arguments of sampler_top_k_mask. */
typedef struct sampler_top_k_mask_args {
  size_t struct_size;
  sampler_stream stream;

  /* [num_rows, num_cols] Logits. */
  const void *input;
  int64_t num_rows;
  int64_t num_cols;
  int64_t row_stride;
  sampler_dtype input_dtype;
  sampler_id_type candidate_id_type;
  const void *candidate_ids;
  const int32_t *candidate_counts;

  int32_t top_k;
  sampler_tie_rule top_k_ties;
  const int32_t *top_ks;

  sampler_dtype output_dtype;

  /* Must be 0. */
  int32_t reserved;

  /* [num_rows, num_cols] Kept logits, unchanged, and -inf elsewhere. A bad row is copied as it
   * is. Required. */
  void *output;
  int64_t output_stride;

  int32_t *out_kept_counts;
  sampler_row_status *out_row_status;
  void *workspace;
  size_t workspace_bytes;
} sampler_top_k_mask_args;

#define SAMPLER_TOP_K_MASK_ARGS_INIT \
  { sizeof(sampler_top_k_mask_args), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

SAMPLER_API sampler_status sampler_top_k_mask_args_init(sampler_top_k_mask_args *args,
                                                        size_t struct_size);

/* Writes each row of logits with all but the top_k largest set to -inf. */
SAMPLER_API sampler_status sampler_top_k_mask(sampler_t sampler,
                                              const sampler_top_k_mask_args *args);

/* ---- Selection ------------------------------------------------------------------------------ */

/* Arguments of sampler_top_k_select. */
typedef struct sampler_top_k_select_args {
  size_t struct_size;
  sampler_stream stream;

  const void *input;
  int64_t num_rows;
  int64_t num_cols;
  int64_t row_stride;
  sampler_dtype input_dtype;
  sampler_input_kind input_kind;
  const void *candidate_ids;
  const int32_t *candidate_counts;
  sampler_id_type candidate_id_type;
  sampler_id_type token_id_type;

  /* How many tokens a row yields at most: columns of the outputs, in [1, num_cols]. */
  int64_t num_selected;

  /* [num_rows] How many each row yields. <= 0 or >= num_selected: num_selected. NULL: that for
   * all. */
  const int32_t *top_ks;

  /* [num_rows, num_selected] Values, of type f32 or the input's, and ids, both in rank order and
   * contiguous. Where a row has fewer tokens to give, the rest is -inf (probabilities: 0) and -1;
   * so is all of a bad row. Either may be NULL, not both. */
  void *out_values;
  void *out_token_ids;

  /* Type of out_values. */
  sampler_dtype output_dtype;

  /* Must be 0. */
  int32_t reserved;

  /* [num_rows] How many tokens each row yielded; 0 for a bad row. NULL: not wanted. */
  int32_t *out_counts;

  sampler_row_status *out_row_status;
  void *workspace;
  size_t workspace_bytes;
} sampler_top_k_select_args;

#define SAMPLER_TOP_K_SELECT_ARGS_INIT                                                             \
  {                                                                                                \
    sizeof(sampler_top_k_select_args), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
        0                                                                                          \
  }

SAMPLER_API sampler_status sampler_top_k_select_args_init(sampler_top_k_select_args *args,
                                                          size_t struct_size);

/* Writes the first num_selected tokens of each row in rank order: their values and ids. */
SAMPLER_API sampler_status sampler_top_k_select(sampler_t sampler,
                                                const sampler_top_k_select_args *args);

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_SAMPLING_H */
