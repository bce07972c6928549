/* The part of llama.cpp's interface for samplers that the adapter uses, as llama.h of 2024 and
 * newer declares it: names, members and what they mean are llama.cpp's. */
#ifndef LLAMA_H
#define LLAMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t llama_token;

typedef struct llama_token_data {
  llama_token id;
  float logit;
  float p;
} llama_token_data;

typedef struct llama_token_data_array {
  llama_token_data *data;
  size_t size;
  int64_t selected; /* an index of data, not an id */
  bool sorted;
} llama_token_data_array;

struct llama_sampler;

struct llama_sampler_i {
  const char *(*name)(const struct llama_sampler *smpl);
  void (*accept)(struct llama_sampler *smpl, llama_token token);
  void (*apply)(struct llama_sampler *smpl, llama_token_data_array *cur_p);
  void (*reset)(struct llama_sampler *smpl);
  struct llama_sampler *(*clone)(const struct llama_sampler *smpl);
  void (*free)(struct llama_sampler *smpl);
};

struct llama_sampler {
  struct llama_sampler_i *iface;
  void *ctx;
};

struct llama_sampler *llama_sampler_init(struct llama_sampler_i *iface, void *ctx);
void llama_sampler_free(struct llama_sampler *smpl);

#ifdef __cplusplus
}
#endif

#endif /* LLAMA_H */
