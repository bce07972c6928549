#include "llama.h"

#include <assert.h>
#include <stdlib.h>

struct llama_sampler *llama_sampler_init(struct llama_sampler_i *iface,
                                         llama_sampler_context_t ctx) {
  struct llama_sampler *const made = malloc(sizeof *made);
  assert(made);
  made->iface = iface;
  made->ctx = ctx;
  return made;
}

const char *llama_sampler_name(const struct llama_sampler *smpl) {
  return smpl->iface ? smpl->iface->name(smpl) : "(null)";
}

void llama_sampler_accept(struct llama_sampler *smpl, llama_token token) {
  if (smpl && smpl->iface->accept) smpl->iface->accept(smpl, token);
}

void llama_sampler_apply(struct llama_sampler *smpl, llama_token_data_array *cur_p) {
  if (smpl) smpl->iface->apply(smpl, cur_p);
}

void llama_sampler_reset(struct llama_sampler *smpl) {
  if (smpl && smpl->iface->reset) smpl->iface->reset(smpl);
}

struct llama_sampler *llama_sampler_clone(const struct llama_sampler *smpl) {
  if (!smpl) return NULL;
  if (smpl->iface->clone) return smpl->iface->clone(smpl);
  assert(!smpl->ctx);
  return llama_sampler_init(smpl->iface, NULL);
}

void llama_sampler_copy(const struct llama_sampler *src, struct llama_sampler *dst) {
  if (!src || !dst || src == dst) return;
  assert(src->iface == dst->iface);
  if (dst->iface->copy_state) {
    dst->iface->copy_state(src, dst);
    return;
  }
  struct llama_sampler *const made = llama_sampler_clone(src);
  if (dst->iface->free) dst->iface->free(dst);
  dst->ctx = made->ctx;
  free(made);
}

void llama_sampler_free(struct llama_sampler *smpl) {
  if (!smpl) return;
  if (smpl->iface->free) smpl->iface->free(smpl);
  free(smpl);
}
