/* A chain of samplers, as llama.cpp has it: it owns those that were added. */
#include <assert.h>
#include <stdlib.h>

#include "llama.h"

enum { MAX_SAMPLERS = 8 };

typedef struct chain {
  struct llama_sampler *samplers[MAX_SAMPLERS];
  int count;
} chain;

static const char *name(const struct llama_sampler *smpl) {
  return (void)smpl, "chain";
}

static void accept(struct llama_sampler *smpl, llama_token token) {
  chain *const all = smpl->ctx;
  for (int i = 0; i < all->count; ++i) llama_sampler_accept(all->samplers[i], token);
}

static void apply(struct llama_sampler *smpl, llama_token_data_array *cur_p) {
  chain *const all = smpl->ctx;
  for (int i = 0; i < all->count; ++i) llama_sampler_apply(all->samplers[i], cur_p);
}

static void reset(struct llama_sampler *smpl) {
  chain *const all = smpl->ctx;
  for (int i = 0; i < all->count; ++i) llama_sampler_reset(all->samplers[i]);
}

static struct llama_sampler *clone(const struct llama_sampler *smpl) {
  const chain *const all = smpl->ctx;
  struct llama_sampler *const made =
      llama_sampler_chain_init((struct llama_sampler_chain_params){true});
  for (int i = 0; i < all->count; ++i)
    llama_sampler_chain_add(made, llama_sampler_clone(all->samplers[i]));
  return made;
}

static void release(struct llama_sampler *smpl) {
  chain *const all = smpl->ctx;
  for (int i = 0; i < all->count; ++i) llama_sampler_free(all->samplers[i]);
  free(all);
}

struct llama_sampler_chain_params llama_sampler_chain_default_params(void) {
  return (struct llama_sampler_chain_params){true};
}

struct llama_sampler *llama_sampler_chain_init(struct llama_sampler_chain_params params) {
  static struct llama_sampler_i chain_i = {
      name, accept, apply, reset, clone, release, .copy_state = NULL};
  (void)params;
  return llama_sampler_init(&chain_i, calloc(1, sizeof(chain)));
}

void llama_sampler_chain_add(struct llama_sampler *chain_, struct llama_sampler *smpl) {
  chain *const all = chain_->ctx;
  assert(all->count < MAX_SAMPLERS);
  all->samplers[all->count++] = smpl;
}

int32_t llama_sampler_chain_n(const struct llama_sampler *chain_) {
  return ((const chain *)chain_->ctx)->count;
}
