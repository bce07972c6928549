/* A watermark of texts: Gumbel draws (Aaronson 2022) whose random words follow from a secret key
 * and the tokens before, as vLLM 0.33 has them (Philox, philox4x32-10-v1). The texts follow the
 * model's distribution as ever; who has the key can tell them from others. vLLM's detector finds
 * texts of this library, and this one vLLM's.
 *
 *   uint64_t seed, offset;                    before each draw, for each slot
 *   uint32_t stream;
 *   sampler_watermark_random(key, context, 4, &seed, &offset, &stream);
 *   args.random.seeds = ..., args.random.offsets = ..., args.random.streams = ...;
 *   args.draw_method = SAMPLER_DRAW_WATERMARK;
 *   status = sampler_sample(sampler, &args);
 *
 *   sampler_watermark_detect(key, token_ids, num_token_ids, 4, 0, &score, &num_scored, &p_value);
 *
 * A context draws the same noise each time. Where it comes again in a text, draw without the
 * watermark: give that slot of the call a seed and an offset of the request's own. Greedy rows have
 * no watermark. */
#ifndef SAMPLER_WATERMARK_H
#define SAMPLER_WATERMARK_H

#include <stddef.h>
#include <stdint.h>

#include <sampler/export.h>
#include <sampler/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The random numbers of a slot that SAMPLER_DRAW_WATERMARK draws with, for sampler_random.
 *
 * `context` has the `context_length` last tokens of the output before the one drawn, in [1, 64],
 * oldest first, and -1 where the output has fewer. vLLM's default is 4. Host memory.
 *
 * INVALID_ARGUMENT: a pointer is NULL, or the length is not in its range. */
SAMPLER_API sampler_status sampler_watermark_random(uint64_t key, const int64_t *context,
                                                    int64_t context_length, uint64_t *out_seed,
                                                    uint64_t *out_offset, uint32_t *out_stream);

/* Looks for the watermark of `key` in an output, token_ids[num_token_ids], in [0, 2^31): host
 * memory; without the prompt.
 *
 * out_score: the sum of -ln(1 - u) over the tokens scored, u a token's uniform number by its
 * context: about 1 each without the watermark, more with it. out_num_scored: the tokens scored. A
 * token is left out where its context came before, unless `keeps_repeated` is not 0. out_p_value:
 * the chance that a text without the watermark scores as much (a Gamma distribution's): below 0.01,
 * say, it is watermarked. With keeps_repeated it is too small where contexts repeat. If no token is
 * scored, the score is 0 and the p-value 1. All come from the C library's logarithm: their last
 * digits may differ between machines.
 *
 * INVALID_ARGUMENT: a pointer is NULL (token_ids may be, of no tokens), a number is not in its
 * range. OUT_OF_MEMORY: it takes 24 bytes a token while it runs. */
SAMPLER_API sampler_status sampler_watermark_detect(uint64_t key, const int64_t *token_ids,
                                                    int64_t num_token_ids, int64_t context_length,
                                                    int32_t keeps_repeated, double *out_score,
                                                    int64_t *out_num_scored, double *out_p_value);

/* ---- Hugging Face's schemes ------------------------------------------------------------------
 *
 * Green lists (Kirchenbauer et al. 2023) add a bias to a share of the tokens, which follows from
 * the tokens before; a tournament (SynthID-Text, Dathathri et al. 2024) makes tokens likelier whose
 * bits are 1 in each of its layers. Their hashes are those of transformers on the CPU: a text of
 * one is found by the other. All memory is host memory; no call allocates but
 * sampler_watermark_score. Arithmetic: sections 8.5 and 8.6 of docs/contract.md. */

typedef int32_t sampler_watermark_scheme;
enum {
  SAMPLER_WATERMARK_LEFTHASH = 0,  /* green lists by the last token */
  SAMPLER_WATERMARK_SELFHASH = 1,  /* green lists by the last tokens, the drawn one among them */
  SAMPLER_WATERMARK_TOURNAMENT = 2 /* SynthID-Text */
};

typedef struct sampler_watermark_params {
  /* sizeof(sampler_watermark_params). */
  size_t struct_size;

  sampler_watermark_scheme scheme;

  /* Tokens that a token's hash depends on besides it, in [1, 64]: transformers' context_width, of
   * SELFHASH less 1, so that it may be 0; of TOURNAMENT ngram_len - 1. */
  int32_t context_length;

  /* Token ids lie in [0, vocabulary_size). In [2, 2^20). */
  int64_t vocabulary_size;

  /* Green lists: transformers' hashing_key, 15485863 there; and the share of green tokens,
   * greenlist_ratio, in (0, 1), 0.25 there. TOURNAMENT: 0. */
  int64_t key;
  double green_share;

  /* Added to the logits of green tokens, finite: 2 there. TOURNAMENT: 0. */
  float bias;

  /* For sampler_watermark_score. 1: tokens count whose context (of green lists with the token) came
   * before. 0: only the first of them. */
  int32_t keeps_repeated;

  /* [num_keys] TOURNAMENT: a key for each layer, in [1, 64]. Green lists: 0, not read. */
  const int64_t *keys;
  int64_t num_keys;

  /* [table_size] What sampler_watermark_table wrote, for SELFHASH and TOURNAMENT; else not
   * read, and 0. In [1, 2^24]; 0: 1000003 for SELFHASH, 65536 for TOURNAMENT, transformers' own. */
  const int32_t *table;
  int64_t table_size;

  /* Seed of the table of TOURNAMENT, sampling_table_seed; else 0. */
  uint64_t table_seed;
} sampler_watermark_params;

/* Writes the table of the scheme: [table_size] numbers, which may serve any number of calls.
 * `table` of the params is not read. SELFHASH takes some 10 ms. INVALID_ARGUMENT. */
SAMPLER_API sampler_status sampler_watermark_table(const sampler_watermark_params *params,
                                                   int32_t *out_table);

/* Writes the biases of green lists, for sampler_pipeline: `bias` for green tokens, 0 for the
 * others. `context` has the context_length last tokens, the prompt's too, oldest first.
 *
 * LEFTHASH: out_biases has a number for each token, [vocabulary_size], as of a dense bias;
 * candidate_token_ids is NULL, num_candidates 0. About 0.6 ms for 128,256 tokens.
 * SELFHASH: a number for each candidate, [num_candidates], in [0, 1024]: transformers takes the 40
 * likeliest tokens. About 0.15 ms a candidate.
 *
 * INVALID_ARGUMENT: also for TOURNAMENT, and an id outside the vocabulary. */
SAMPLER_API sampler_status sampler_watermark_bias(const sampler_watermark_params *params,
                                                  const int64_t *context,
                                                  const int32_t *candidate_token_ids,
                                                  int64_t num_candidates, float *out_biases);

/* Holds the tournament of a token's distribution: changes the probabilities of token_ids,
 * [num_tokens], those that the filters keep, into those to draw by (input_kind PROBABILITIES with
 * candidate_ids, draws without filters). They have the same sum. `context` has the context_length
 * last tokens of the output, oldest first, and 0 where it has fewer. After a context that came
 * before in the output transformers leaves the distribution as it is: do not call it then.
 *
 * INVALID_ARGUMENT: also for green lists, an id outside the vocabulary, and a probability that is
 * negative, infinite or NaN, or a sum that is not in (0, 2^127). num_tokens is in
 * [1, vocabulary_size]. */
SAMPLER_API sampler_status sampler_watermark_tournament(const sampler_watermark_params *params,
                                                        const int64_t *context,
                                                        const int32_t *token_ids,
                                                        int64_t num_tokens, float *probabilities);

/* Looks for the watermark in an output, token_ids[num_token_ids], in [0, 2^31). Tokens with fewer
 * than context_length tokens before them are not scored.
 *
 * out_score: for green lists the deviation of the number of green tokens from what is expected by
 * chance, in standard deviations (transformers' z-score); for TOURNAMENT the mean of the bits, 1/2
 * without the watermark. out_num_scored: tokens scored. out_p_value: the chance of such a score
 * without the watermark, by the normal distribution. If no token is scored, the score is 0 (1/2 for
 * TOURNAMENT) and the p-value 1. Their last digits may differ between machines. Green lists take
 * about 0.15 ms a token.
 *
 * INVALID_ARGUMENT: a NULL, an id outside the vocabulary. OUT_OF_MEMORY: it takes 24 bytes a token
 * while it runs. */
SAMPLER_API sampler_status sampler_watermark_score(const sampler_watermark_params *params,
                                                   const int64_t *token_ids, int64_t num_token_ids,
                                                   double *out_score, int64_t *out_num_scored,
                                                   double *out_p_value);

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_WATERMARK_H */
