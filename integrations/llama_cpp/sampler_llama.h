/* libsampler as a sampler of llama.cpp: a whole chain, from the penalties to the draw, in one call.
 * The library is opened at run time, so that nothing is linked. Compile sampler_llama.c with the
 * engine. */
#ifndef SAMPLER_LLAMA_H
#define SAMPLER_LLAMA_H

#include <llama.h>
#include <sampler_dl.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sampler_llama_options {
  const char *library;          /* the path, for clones too; NULL: where the loader finds it */
  const sampler_params *params; /* copied; NULL: those of the preset "llama.cpp" */
  int64_t num_vocab;            /* llama_vocab_n_tokens() */
  uint64_t seed;
} sampler_llama_options;

/* What was accepted is the text that penalties look at, and its length says which random numbers
 * are drawn: equal texts and seeds give equal tokens. Without an accept in between the same token
 * is drawn again. A clone has a text of its own. llama_sampler_free() ends it. NULL: the reason is
 * in error[SAMPLER_DL_ERROR_SIZE]. */
struct llama_sampler *sampler_llama_init(const sampler_llama_options *options, char *error);

/* The token of a row of logits, as of llama_get_logits_ith(): without the array of candidates that
 * llama_sampler_sample() makes. -1: all logits are -inf, or one is NaN. */
llama_token sampler_llama_sample(struct llama_sampler *smpl, const float *logits);

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_LLAMA_H */
