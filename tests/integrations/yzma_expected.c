/* Prints what yzma/yzma_test.go must draw: what sampler_sample draws of the same logits and texts.
 * A line for each of its chains. */
#include <sampler/sampler.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUM_VOCAB = 1000, NUM_PROMPT = 5, NUM_STEPS = 60 };

static void fill(float *logits, int step) {
  uint64_t x = 88172645463325252u + (uint64_t)(step % 7);
  for (int i = 0; i < NUM_VOCAB; ++i) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    logits[i] = (float)((int64_t)(x >> 40) - (1 << 23)) / (1 << 20);
  }
}

static int check(sampler_status status) {
  if (status) fprintf(stderr, "%s\n", sampler_last_error());
  return status == SAMPLER_OK;
}

static int print_tokens(sampler_t sampler, const sampler_params *params) {
  int32_t text[NUM_PROMPT + NUM_STEPS] = {5, 6, 7, 5, 6};
  float logits[NUM_VOCAB];
  for (int step = 0; step < NUM_STEPS; ++step) {
    const int64_t length = NUM_PROMPT + step, offsets[2] = {0, length};
    const sampler_pipeline pipeline = {.struct_size = sizeof pipeline,
                                       .history = {offsets, text, 1, length}};
    sampler_sample_args args = {
        .struct_size = sizeof args,
        .input = {.values = logits, .num_rows = 1, .num_cols = NUM_VOCAB},
        .params = params,
        .pipeline = &pipeline,
        .random = {.seed = 11, .offset = (uint64_t)length},
        .out_token_ids = &text[length],
    };
    fill(logits, step);
    if (!check(sampler_sample_workspace_size(sampler, &args, &args.exec.workspace_bytes))) return 0;
    args.exec.workspace = malloc(args.exec.workspace_bytes);
    const int is_drawn = check(sampler_sample(sampler, &args));
    free(args.exec.workspace);
    if (!is_drawn) return 0;
    printf("%d%c", text[length], step + 1 < NUM_STEPS ? ' ' : '\n');
  }
  return 1;
}

int main(void) {
  sampler_params preset, chain = sampler_params_default();
  const sampler_stage stages[] = {SAMPLER_STAGE_PENALTIES, SAMPLER_STAGE_DRY,
                                  SAMPLER_STAGE_TOP_K,     SAMPLER_STAGE_TEMPERATURE,
                                  SAMPLER_STAGE_XTC,       SAMPLER_STAGE_TYPICAL_P,
                                  SAMPLER_STAGE_TOP_P,     SAMPLER_STAGE_MIN_P};
  sampler_t sampler = NULL;
  chain.repetition_penalty = 1.3f, chain.frequency_penalty = 0.4f, chain.penalty_window = 64;
  chain.penalty_scope = SAMPLER_PENALTY_SCOPE_ALL;
  chain.dry_multiplier = 0.8f, chain.dry_base = 1.5f, chain.dry_allowed_length = 1;
  chain.temperature = 1.8f, chain.top_k = 100, chain.top_p = 0.9f, chain.min_p = 0.05f;
  chain.typical_p = 0.95f, chain.xtc_probability = 0.5f, chain.xtc_threshold = 0.05f;
  chain.min_keep = 3, chain.cutoff_ties = SAMPLER_TIES_KEEP;
  memcpy(chain.stages, stages, sizeof stages);
  const int is_printed = check(sampler_params_preset(&preset, sizeof preset, "llama.cpp")) &&
                         check(sampler_create(NULL, &sampler)) && print_tokens(sampler, &preset) &&
                         print_tokens(sampler, &chain);
  sampler_destroy(sampler);
  return !is_printed;
}
