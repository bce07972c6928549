/* libsampler as a sampler of llama.cpp: a whole chain, from the penalties to the draw, in one call.
 * Compile sampler_llama.c with the engine; the library is opened at run time. */
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
  sampler_token_lists dry_breakers; /* as of sampler_pipeline, ids of 32 bits; not copied */
} sampler_llama_options;

/* Accepted tokens are the text that penalties look at, and their number chooses the random numbers:
 * equal texts and seeds give equal tokens. llama_sampler_free() ends it. NULL: the reason is in
 * error[SAMPLER_DL_ERROR_SIZE]. */
struct llama_sampler *sampler_llama_init(const sampler_llama_options *options, char *error);

/* Draws from logits as of llama_get_logits_ith(), without the array of candidates of
 * llama_sampler_sample(), and accepts nothing. -1: a NaN, all -inf, bad breakers, no memory. */
llama_token sampler_llama_sample(struct llama_sampler *smpl, const float *logits);

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_LLAMA_H */
