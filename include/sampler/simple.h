/* The common operations, one function each.
 *
 *   sampler_rows logits = {0};
 *   logits.values = d_logits, logits.dtype = SAMPLER_BF16;
 *   logits.num_rows = batch, logits.num_cols = vocabulary;
 *   status = sampler_top_k_top_p(sampler, &logits, 50, 0.95f, 0.8f, seed, step, token_ids, stream);
 *
 * All take the rows by address and write one result per row. Logits may be f32, f16 or bf16. Rows
 * may be probabilities unless a call says otherwise; the temperature must then be 1 or greedy.
 * Arrays are in the memory of the handle's device and must stay valid until the work on `stream`
 * has finished; a CPU handle ignores the stream and finishes before the call returns. A row without
 * a token (NaN, +inf, all -inf) yields -1, or the handle's fallback token, and never
 * changes another.
 *
 * temperature  divides the logits; at most 1e-5: greedy, the likeliest token
 * top_k        keeps the top_k likeliest tokens; <= 0: all
 * top_p        keeps the likeliest tokens whose total probability reaches it; >= 1: all
 * min_p        keeps tokens at least min_p times as likely as the likeliest; <= 0: all
 * seed, offset of the random numbers: use each pair once, a new offset in each step. Row i draws
 *              from stream i. The same pair gives the same token on every machine.
 *
 * Equal values rank by ascending id. top_k_top_p applies top-k, then top-p to the kept tokens.
 *
 * These use the handle's workspace: create it with max_rows and max_cols. Errors are those of the
 * full calls (sampling.h, speculative.h), which also have row statuses, log-probabilities, kept
 * counts, parameters and seeds by row or slot, 64-bit ids, rules for ties and order, and other
 * output types. */
#ifndef SAMPLER_SIMPLE_H
#define SAMPLER_SIMPLE_H

#include <stdint.h>

#include <sampler/export.h>
#include <sampler/handle.h>
#include <sampler/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Tokens: out_token_ids is [num_rows] ---------------------------------------------------- */

/* The token with the largest value. */
SAMPLER_API sampler_status sampler_argmax(sampler_t sampler, const sampler_rows *input,
                                          int32_t *out_token_ids, sampler_stream stream);

/* Draws from the whole row. */
SAMPLER_API sampler_status sampler_categorical(sampler_t sampler, const sampler_rows *input,
                                               float temperature, uint64_t seed, uint64_t offset,
                                               int32_t *out_token_ids, sampler_stream stream);

SAMPLER_API sampler_status sampler_top_k(sampler_t sampler, const sampler_rows *input,
                                         int32_t top_k, float temperature, uint64_t seed,
                                         uint64_t offset, int32_t *out_token_ids,
                                         sampler_stream stream);

/* Nucleus sampling (Holtzman et al. 2020). */
SAMPLER_API sampler_status sampler_top_p(sampler_t sampler, const sampler_rows *input, float top_p,
                                         float temperature, uint64_t seed, uint64_t offset,
                                         int32_t *out_token_ids, sampler_stream stream);

/* Nguyen et al. 2024. */
SAMPLER_API sampler_status sampler_min_p(sampler_t sampler, const sampler_rows *input, float min_p,
                                         float temperature, uint64_t seed, uint64_t offset,
                                         int32_t *out_token_ids, sampler_stream stream);

SAMPLER_API sampler_status sampler_top_k_top_p(sampler_t sampler, const sampler_rows *input,
                                               int32_t top_k, float top_p, float temperature,
                                               uint64_t seed, uint64_t offset,
                                               int32_t *out_token_ids, sampler_stream stream);

/* ---- Rows: output is f32, [num_rows, num_cols] ---------------------------------------------- */

/* Softmax of logits at the temperature. A bad row is written as 0. */
SAMPLER_API sampler_status sampler_softmax(sampler_t sampler, const sampler_rows *input,
                                           float temperature, float *output, sampler_stream stream);

/* Probabilities, of logits or of probabilities: kept tokens renormalised, 0 elsewhere and in
 * bad rows. */
SAMPLER_API sampler_status sampler_top_k_renorm(sampler_t sampler, const sampler_rows *input,
                                                int32_t top_k, float *output,
                                                sampler_stream stream);
SAMPLER_API sampler_status sampler_top_p_renorm(sampler_t sampler, const sampler_rows *input,
                                                float top_p, float *output, sampler_stream stream);

/* Logits with removed tokens set to -inf. A bad row is copied. */
SAMPLER_API sampler_status sampler_top_k_mask(sampler_t sampler, const sampler_rows *input,
                                              int32_t top_k, float *output, sampler_stream stream);

/* ---- Lists ---------------------------------------------------------------------------------- */

/* [num_rows, num_selected] The first num_selected values and ids of each row, largest value first;
 * either array may be NULL, not both. num_selected is in [1, num_cols]. Missing tokens are -inf
 * (probabilities: 0) and -1. +inf is an ordinary value. */
SAMPLER_API sampler_status sampler_top_k_select(sampler_t sampler, const sampler_rows *input,
                                                int64_t num_selected, float *out_values,
                                                int32_t *out_token_ids, sampler_stream stream);

/* ---- Drafts --------------------------------------------------------------------------------- */

/* Verifies a chain of num_drafts draft tokens for each of num_sequences sequences; emitted tokens
 * follow the target's distribution (Leviathan et al. 2023).
 *
 * target               [num_sequences, num_drafts + 1, num_cols], its num_rows the product of the
 *                      first two
 * draft                [num_sequences, num_drafts, num_cols] the drafts' distributions; NULL: a
 *                      deterministic drafter
 * draft_token_ids      [num_sequences, num_drafts]
 * out_token_ids        [num_sequences, num_drafts + 1] accepted drafts, one more token, then -1
 * out_accepted_counts  [num_sequences] drafts that would be accepted each on its own; may be NULL
 * out_emitted_counts   [num_sequences] drafts before the first rejection; may be NULL */
SAMPLER_API sampler_status
sampler_chain_speculative(sampler_t sampler, const sampler_rows *target, const sampler_rows *draft,
                          const int32_t *draft_token_ids, int64_t num_drafts, uint64_t seed,
                          uint64_t offset, int32_t *out_token_ids, int32_t *out_accepted_counts,
                          int32_t *out_emitted_counts, sampler_stream stream);

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_SIMPLE_H */
