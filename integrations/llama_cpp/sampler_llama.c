#include "sampler_llama.h"

#include <stdlib.h>

typedef struct context {
  sampler_dl lib;
  sampler_t sampler;
  sampler_state_t state; /* the text, in its only slot */
  int64_t max_tokens;    /* that it has room for */
  sampler_llama_options options;
  sampler_params params;
  uint64_t offset;   /* tokens that were accepted */
  int32_t drawn;     /* the last token that was drawn; -1: none */
  float observation; /* of it, for mirostat and its like */
  float *logits;     /* [num_vocab] of candidates, and their ids */
  int32_t *ids;
  void *workspace;
  size_t workspace_bytes;
} context;

static sampler_status draw(context *ctx, const float *logits, const int32_t *ids, int64_t count,
                           size_t *out_workspace_bytes) {
  const sampler_pipeline pipeline = {.struct_size = sizeof pipeline, .state = ctx->state};
  const sampler_sample_args args = {
      .struct_size = sizeof args,
      .exec = {.workspace = ctx->workspace, .workspace_bytes = ctx->workspace_bytes},
      .input = {.values = logits, .candidate_ids = ids, .num_rows = 1, .num_cols = count},
      .params = &ctx->params,
      .pipeline = &pipeline,
      .random = {.seed = ctx->options.seed, .offset = ctx->offset},
      .out_token_ids = &ctx->drawn,
      .out_observations = &ctx->observation,
  };
  if (out_workspace_bytes)
    return ctx->lib.sample_workspace_size(ctx->sampler, &args, out_workspace_bytes);
  ctx->drawn = -1;
  return count > 0 ? ctx->lib.sample(ctx->sampler, &args) : SAMPLER_OK;
}

llama_token sampler_llama_sample(struct llama_sampler *smpl, const float *logits) {
  context *const ctx = smpl->ctx;
  draw(ctx, logits, NULL, ctx->options.num_vocab, NULL);
  return ctx->drawn;
}

static void apply(struct llama_sampler *smpl, llama_token_data_array *candidates) {
  context *const ctx = smpl->ctx;
  const int64_t count = (int64_t)candidates->size;
  int is_whole = count == ctx->options.num_vocab;
  candidates->selected = -1; /* which llama.cpp tells of */
  if (count > ctx->options.num_vocab) return;
  for (int64_t i = 0; i < count; ++i) {
    ctx->logits[i] = candidates->data[i].logit;
    ctx->ids[i] = candidates->data[i].id;
    is_whole &= ctx->ids[i] == i;
  }
  draw(ctx, ctx->logits, is_whole ? NULL : ctx->ids, count, NULL);
  for (int64_t i = is_whole ? ctx->drawn : 0; ctx->drawn >= 0 && i < count; ++i) {
    if (ctx->ids[i] != ctx->drawn) continue;
    candidates->selected = i;
    return;
  }
}

/* A state for texts of so many tokens in place of the one there is, with its text. */
static sampler_status make_room(context *ctx, int64_t max_tokens) {
  const sampler_state_options options = {
      .struct_size = sizeof options, .num_slots = 1, .max_tokens = max_tokens};
  const int32_t slot = 0;
  sampler_state_t old = ctx->state, made = NULL;
  sampler_status status = ctx->lib.state_create(ctx->sampler, &options, &made);
  if (status != SAMPLER_OK) return status;
  const sampler_state_copy_args copy = {.struct_size = sizeof copy,
                                        .source = old,
                                        .destination = made,
                                        .source_slots = &slot,
                                        .destination_slots = &slot,
                                        .num_rows = 1};
  if (old) status = ctx->lib.state_copy(ctx->sampler, &copy);
  ctx->lib.state_destroy(old);
  ctx->state = made;
  ctx->max_tokens = max_tokens;
  if (!status)
    status = draw(ctx, ctx->logits, ctx->ids, ctx->options.num_vocab, &ctx->workspace_bytes);
  free(ctx->workspace);
  ctx->workspace = status ? NULL : malloc(ctx->workspace_bytes);
  return ctx->workspace || status ? status : SAMPLER_ERROR_OUT_OF_MEMORY;
}

static void take(struct llama_sampler *smpl, llama_token token) {
  context *const ctx = smpl->ctx;
  sampler_row_status status = SAMPLER_ROW_OK;
  const sampler_accept_args args = {
      .struct_size = sizeof args,
      .state = ctx->state,
      .num_rows = 1,
      .token_ids = &token,
      .num_tokens = 1,
      .observations = token == ctx->drawn ? &ctx->observation : NULL,
      .params = &ctx->params,
      .offsets = &ctx->offset,
      .out_row_status = &status,
  };
  ctx->lib.accept(ctx->sampler, &args);
  if (status != SAMPLER_ROW_STATE_FULL) return;
  if (make_room(ctx, 2 * ctx->max_tokens) == SAMPLER_OK) take(smpl, token);
}

static void reset(struct llama_sampler *smpl) {
  context *const ctx = smpl->ctx;
  const sampler_state_reset_args args = {.struct_size = sizeof args, .state = ctx->state};
  ctx->lib.state_reset(ctx->sampler, &args);
  ctx->offset = 0;
}

static void free_context(context *ctx) {
  if (ctx->lib.library) {
    ctx->lib.state_destroy(ctx->state);
    ctx->lib.destroy(ctx->sampler);
  }
  sampler_dl_close(&ctx->lib);
  free(ctx->workspace);
  free(ctx->ids);
  free(ctx->logits);
  free(ctx);
}

static void release(struct llama_sampler *smpl) {
  free_context(smpl->ctx);
}

static const char *name(const struct llama_sampler *smpl) {
  return (void)smpl, "libsampler";
}

/* With a handle of its own, so that threads may use both side by side. */
static struct llama_sampler *clone(const struct llama_sampler *smpl) {
  context *const from = smpl->ctx;
  char error[SAMPLER_DL_ERROR_SIZE];
  sampler_llama_options options = from->options;
  options.params = &from->params;
  struct llama_sampler *const made = sampler_llama_init(&options, error);
  if (!made) return NULL;
  context *const to = made->ctx;
  size_t size = 0;
  to->offset = from->offset;
  to->drawn = from->drawn;
  to->observation = from->observation;
  from->lib.state_serialize(from->sampler, from->state, 0, 1, NULL, 0, &size);
  void *const bytes = malloc(size);
  const int is_copied =
      bytes && make_room(to, from->max_tokens) == SAMPLER_OK &&
      !from->lib.state_serialize(from->sampler, from->state, 0, 1, bytes, size, &size) &&
      !to->lib.state_deserialize(to->sampler, to->state, 0, bytes, size, NULL);
  free(bytes);
  if (is_copied) return made;
  llama_sampler_free(made);
  return NULL;
}

struct llama_sampler *sampler_llama_init(const sampler_llama_options *options, char *error) {
  static struct llama_sampler_i sampler_i = {.name = name,
                                             .accept = take,
                                             .apply = apply,
                                             .reset = reset,
                                             .clone = clone,
                                             .free = release};
  context *const ctx = calloc(1, sizeof *ctx);
  const size_t count = options->num_vocab > 0 ? (size_t)options->num_vocab : 1;
  snprintf(error, SAMPLER_DL_ERROR_SIZE, "out of memory");
  if (!ctx) return NULL;
  ctx->drawn = -1;
  ctx->options = *options;
  ctx->options.params = NULL;
  if (!sampler_dl_open(&ctx->lib, options->library, error)) return free_context(ctx), NULL;
  const sampler_options handle = sampler_options_default();
  sampler_status status = SAMPLER_OK;
  if (options->params) ctx->params = *options->params;
  if (!options->params)
    status = ctx->lib.params_preset(&ctx->params, sizeof ctx->params, "llama.cpp");
  ctx->logits = malloc(count * sizeof *ctx->logits);
  ctx->ids = malloc(count * sizeof *ctx->ids);
  if (!status) status = ctx->lib.create(&handle, &ctx->sampler);
  if (!status) status = make_room(ctx, 4096);
  if (!status && ctx->logits && ctx->ids) return llama_sampler_init(&sampler_i, ctx);
  if (status) snprintf(error, SAMPLER_DL_ERROR_SIZE, "%s", ctx->lib.last_error());
  return free_context(ctx), NULL;
}
