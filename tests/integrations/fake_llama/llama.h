/* The part of llama.cpp's interface for samplers that the adapter and its test use, as llama.h of
 * llama.cpp 0.5.0 declares it: names, members and what they mean are llama.cpp's.
 * `./run peers llama` compares it with that header, by tests/tools/peers/llama/interface.cpp. */
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

/* ggml's. */
struct ggml_context;
struct ggml_cgraph;
struct ggml_tensor;
typedef struct ggml_backend_buffer_type *ggml_backend_buffer_type_t;

typedef void *llama_sampler_context_t;
struct llama_sampler;
struct llama_sampler_data;

struct llama_sampler_i {
  const char *(*name)(const struct llama_sampler *smpl);
  void (*accept)(struct llama_sampler *smpl, llama_token token);
  void (*apply)(struct llama_sampler *smpl, llama_token_data_array *cur_p);
  void (*reset)(struct llama_sampler *smpl);
  struct llama_sampler *(*clone)(const struct llama_sampler *smpl);
  void (*free)(struct llama_sampler *smpl);

  /* Sampling in the graph of the model: NULL where a sampler has none. */
  bool (*backend_init)(struct llama_sampler *smpl, ggml_backend_buffer_type_t buft,
                       uint32_t n_outputs_max_per_seq);
  void (*backend_accept)(struct llama_sampler *smpl, struct ggml_context *ctx,
                         struct ggml_cgraph *gf, struct ggml_tensor *selected_token);
  void (*backend_apply)(struct llama_sampler *smpl, struct ggml_context *ctx,
                        struct ggml_cgraph *gf, struct llama_sampler_data *data);
  void (*backend_set_input)(struct llama_sampler *smpl);
  void (*backend_reset)(struct llama_sampler *smpl);

  /* What has changed of one since it was made, to another of the same kind. NULL: by clone. */
  void (*copy_state)(const struct llama_sampler *src, struct llama_sampler *dst);
};

struct llama_sampler {
  struct llama_sampler_i *iface;
  llama_sampler_context_t ctx;
};

struct llama_sampler *llama_sampler_init(struct llama_sampler_i *iface,
                                         llama_sampler_context_t ctx);
const char *llama_sampler_name(const struct llama_sampler *smpl);
void llama_sampler_accept(struct llama_sampler *smpl, llama_token token);
void llama_sampler_apply(struct llama_sampler *smpl, llama_token_data_array *cur_p);
void llama_sampler_reset(struct llama_sampler *smpl);
struct llama_sampler *llama_sampler_clone(const struct llama_sampler *smpl);
void llama_sampler_copy(const struct llama_sampler *src, struct llama_sampler *dst);
void llama_sampler_free(struct llama_sampler *smpl);

/* For integrations/yzma, whose test loads them from a shared library. */
struct llama_sampler_chain_params {
  bool no_perf;
};
struct llama_sampler_chain_params llama_sampler_chain_default_params(void);
struct llama_sampler *llama_sampler_chain_init(struct llama_sampler_chain_params params);
void llama_sampler_chain_add(struct llama_sampler *chain, struct llama_sampler *smpl);
int32_t llama_sampler_chain_n(const struct llama_sampler *chain);

#ifdef __cplusplus
}
#endif

#endif /* LLAMA_H */
