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
 * say, it is watermarked. With keeps_repeated it is too small where contexts repeat. Of no tokens
 * the score is 0, the p-value 1. All come from the C library's logarithm: their last digits may
 * differ between machines.
 *
 * INVALID_ARGUMENT: a pointer is NULL (token_ids may be, of no tokens), a number is not in its
 * range. OUT_OF_MEMORY: it takes 24 bytes a token while it runs. */
SAMPLER_API sampler_status sampler_watermark_detect(uint64_t key, const int64_t *token_ids,
                                                    int64_t num_token_ids, int64_t context_length,
                                                    int32_t keeps_repeated, double *out_score,
                                                    int64_t *out_num_scored, double *out_p_value);

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_WATERMARK_H */
