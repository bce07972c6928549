#include "sampler_llama.h"

#include <stdlib.h>

typedef struct context {
  sampler_dl lib;
  sampler_llama_options options; /* whose params are these */
  sampler_params params;
  sampler_t sampler;
  sampler_state_t state;  /* the text, in its only slot */
  uint64_t offset;        /* how many tokens it has */
  sampler_status failure; /* of something that returns nothing: no token is drawn any more */
  int32_t drawn;          /* the last token that was drawn; -1: none */
  float observation;      /* of it, for mirostat and its like */
  float *logits;          /* [num_vocab] of candidates */
  int32_t *ids;           /* [num_vocab] theirs */
  void *workspace;
  size_t workspace_bytes;
} context;

static sampler_status draw(context *ctx, const float *logits, const int32_t *ids, int64_t count,
                           size_t *out_workspace_bytes) {
  const sampler_pipeline pipeline = {.struct_size = sizeof pipeline,
                                     .dry_breakers = ctx->options.dry_breakers,
                                     .state = ctx->state};
  const sampler_sample_args args = {
      .struct_size = sizeof args,
      .exec = {.workspace = ctx->workspace, .workspace_bytes = ctx->workspace_bytes},
      .input = {.values = logits, .candidate_ids = ids, .num_rows = 1, .num_cols = count},
      .params = &ctx->params,
      .pipeline = &pipeline,
      .random = {.seed = ctx->options.seed, .offset = ctx->offset},
      .out_token_ids = &ctx->drawn,
      .reports = &(sampler_report_args){.struct_size = sizeof(sampler_report_args),
                                        .out_observations = &ctx->observation},
  };
  if (out_workspace_bytes)
    return ctx->lib.sample_workspace_size(ctx->sampler, &args, out_workspace_bytes);
  ctx->drawn = -1;
  return count > 0 && !ctx->failure ? ctx->lib.sample(ctx->sampler, &args) : SAMPLER_OK;
}

llama_token sampler_llama_sample(struct llama_sampler *smpl, const float *logits) {
  context *const ctx = smpl->ctx;
  draw(ctx, logits, NULL, ctx->options.num_vocab, NULL);
  return ctx->drawn;
}

static void apply(struct llama_sampler *smpl, llama_token_data_array *candidates) {
  context *const ctx = smpl->ctx;
  const llama_token_data *const data = candidates->data;
  int64_t place = 0, count = (int64_t)candidates->size;
  candidates->selected = -1;
  if (count > ctx->options.num_vocab) return;
  for (; place < count && data[place].id == place; ++place) ctx->logits[place] = data[place].logit;
  const int is_row = place == ctx->options.num_vocab;
  for (int64_t i = place; i < count; ++i) ctx->logits[i] = data[i].logit;
  for (int64_t i = 0; !is_row && i < count; ++i) ctx->ids[i] = data[i].id;
  draw(ctx, ctx->logits, is_row ? NULL : ctx->ids, count, NULL);
  for (place = is_row ? ctx->drawn : 0; ctx->drawn >= 0 && candidates->selected < 0; ++place)
    if (data[place].id == ctx->drawn) candidates->selected = place;
}

/* Gives it the text of `from`, which may be itself, and room for more. */
static void set_text(context *ctx, const context *from) {
  const sampler_state_options options = {.struct_size = sizeof options,
                                         .num_slots = 1,
                                         .max_tokens = 2 * (int64_t)from->offset + 4096};
  sampler_state_t made = NULL;
  sampler_status status = from->failure;
  size_t size = 0;
  if (from->state) from->lib.state_serialize(from->sampler, from->state, 0, 1, NULL, 0, &size);
  void *const bytes = malloc(size); /* NULL fails below */
  if (!status) status = ctx->lib.state_create(ctx->sampler, &options, &made);
  if (!status && size)
    status = from->lib.state_serialize(from->sampler, from->state, 0, 1, bytes, size, &size);
  if (!status && size)
    status = ctx->lib.state_deserialize(ctx->sampler, made, 0, bytes, size, NULL);
  free(bytes);
  ctx->lib.state_destroy(ctx->state);
  ctx->state = made;
  ctx->offset = from->offset;
  ctx->drawn = from->drawn;
  ctx->observation = from->observation;
  if (!status)
    status = draw(ctx, ctx->logits, ctx->ids, ctx->options.num_vocab, &ctx->workspace_bytes);
  free(ctx->workspace);
  ctx->workspace = malloc(ctx->workspace_bytes);
  ctx->failure = status || ctx->workspace ? status : SAMPLER_ERROR_OUT_OF_MEMORY;
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
  if (!ctx->failure) ctx->failure = ctx->lib.accept(ctx->sampler, &args);
  if (status != SAMPLER_ROW_STATE_FULL) return;
  set_text(ctx, ctx);
  take(smpl, token);
}

static void reset(struct llama_sampler *smpl) {
  context *const ctx = smpl->ctx;
  const sampler_state_reset_args args = {.struct_size = sizeof args, .state = ctx->state};
  if (!ctx->failure) ctx->failure = ctx->lib.state_reset(ctx->sampler, &args);
  ctx->offset = 0;
}

static void release(struct llama_sampler *smpl) {
  context *const ctx = smpl->ctx;
  if (ctx->lib.library) ctx->lib.state_destroy(ctx->state), ctx->lib.destroy(ctx->sampler);
  sampler_dl_close(&ctx->lib);
  free(ctx->workspace), free(ctx->ids), free(ctx->logits), free(ctx);
}

/* For llama_sampler_copy(), by which llama.cpp takes drafts back. */
static void copy_state(const struct llama_sampler *source, struct llama_sampler *destination) {
  set_text(destination->ctx, source->ctx);
}

/* With a handle of its own, so that threads may use both side by side. */
static struct llama_sampler *clone(const struct llama_sampler *smpl) {
  char error[SAMPLER_DL_ERROR_SIZE];
  const sampler_llama_options *const options = &((const context *)smpl->ctx)->options;
  struct llama_sampler *const made = sampler_llama_init(options, error);
  if (made) copy_state(smpl, made);
  return made;
}

static const char *name(const struct llama_sampler *smpl) {
  return (void)smpl, "libsampler";
}

struct llama_sampler *sampler_llama_init(const sampler_llama_options *options, char *error) {
  static struct llama_sampler_i sampler_i = {
      name, take, apply, reset, clone, release, .copy_state = copy_state};
  context *const ctx = calloc(1, sizeof *ctx);
  struct llama_sampler *const made = ctx ? llama_sampler_init(&sampler_i, ctx) : NULL;
  snprintf(error, SAMPLER_DL_ERROR_SIZE, "out of memory");
  if (!made || !sampler_dl_open(&ctx->lib, options->library, error))
    return llama_sampler_free(made), NULL;
  ctx->drawn = -1;
  ctx->options = *options;
  ctx->options.params = &ctx->params;
  ctx->logits = calloc((size_t)options->num_vocab, sizeof *ctx->logits);
  ctx->ids = calloc((size_t)options->num_vocab, sizeof *ctx->ids);
  if (options->params) ctx->params = *options->params;
  if (!options->params)
    ctx->failure = ctx->lib.params_preset(&ctx->params, sizeof ctx->params, "llama.cpp");
  if (!ctx->failure) ctx->failure = ctx->lib.create(NULL, &ctx->sampler);
  if (!ctx->failure) set_text(ctx, ctx);
  if (!ctx->failure && ctx->logits && ctx->ids) return made;
  if (ctx->failure) snprintf(error, SAMPLER_DL_ERROR_SIZE, "%s", ctx->lib.last_error());
  return llama_sampler_free(made), NULL;
}
