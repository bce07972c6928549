/* One step of an engine's sampler for two requests: penalties over each one's tokens, a token that
 * must not be drawn, a bias, DRY, and filters in llama.cpp's order. */
#include <inttypes.h>
#include <sampler/sampler.h>
#include <stdio.h>
#include <stdlib.h>

enum { REQUESTS = 2, VOCABULARY = 8 };

int main(void) {
  const float logits[REQUESTS][VOCABULARY] = {{2.0f, 1.5f, 3.0f, 0.5f, 1.0f, -1.0f, 0.0f, 2.5f},
                                              {1.0f, 4.0f, 0.0f, 3.5f, 2.0f, -2.0f, 1.0f, 0.5f}};

  /* The tokens of the requests, one after the other: request i has those from offsets[i] on. */
  const int64_t offsets[REQUESTS + 1] = {0, 3, 9};
  const int32_t said[] = {2, 7, 2, 1, 3, 4, 6, 1, 3};

  /* Neither may draw token 5; the first one's token 0 is made likelier. */
  const int64_t one_list[] = {0, 1}, biased_offsets[REQUESTS + 1] = {0, 1, 1};
  const int32_t banned[] = {5}, biased[] = {0};
  const float biases[] = {0.5f};

  sampler_pipeline pipeline = {0};
  pipeline.struct_size = sizeof pipeline;
  pipeline.history = (sampler_token_lists){offsets, said, REQUESTS, 9};
  pipeline.banned = (sampler_token_lists){one_list, banned, 1, 1};
  pipeline.biased = (sampler_token_lists){biased_offsets, biased, REQUESTS, 1};
  pipeline.biases = biases;

  const sampler_stage order[] = {
      SAMPLER_STAGE_BIAS,  SAMPLER_STAGE_MASK,  SAMPLER_STAGE_PENALTIES,  SAMPLER_STAGE_DRY,
      SAMPLER_STAGE_TOP_K, SAMPLER_STAGE_MIN_P, SAMPLER_STAGE_TEMPERATURE};
  sampler_params params = sampler_params_default();
  params.repetition_penalty = 1.1f;
  params.penalty_scope = SAMPLER_PENALTY_SCOPE_ALL;
  params.dry_multiplier = 0.8f;
  params.top_k = 5;
  params.min_p = 0.05f;
  params.temperature = 0.8f;
  for (int i = 0; i < (int)(sizeof order / sizeof *order); ++i) params.stages[i] = order[i];

  sampler_options options = sampler_options_default();
  sampler_t sampler = NULL;
  if (sampler_create(&options, &sampler) != SAMPLER_OK) {
    fprintf(stderr, "%s\n", sampler_last_error());
    return 1;
  }

  int32_t tokens[REQUESTS], kept[REQUESTS];
  sampler_sample_args args = {0};
  args.struct_size = sizeof args;
  args.input.values = logits;
  args.input.num_rows = REQUESTS;
  args.input.num_cols = VOCABULARY;
  args.params = &params;
  args.pipeline = &pipeline;
  args.random.seed = 1;
  args.out_token_ids = tokens;

  sampler_report_args reports = {0};
  reports.struct_size = sizeof reports;
  reports.out_kept_counts = kept;
  args.reports = &reports;

  /* Stages take more workspace than the handle has: as much as the call says. */
  sampler_status status = sampler_sample_workspace_size(sampler, &args, &args.exec.workspace_bytes);
  args.exec.workspace = malloc(args.exec.workspace_bytes);
  if (status == SAMPLER_OK) status = sampler_sample(sampler, &args);
  if (status != SAMPLER_OK) {
    fprintf(stderr, "%s: %s\n", sampler_status_string(status), sampler_last_error());
  } else {
    for (int i = 0; i < REQUESTS; ++i) {
      printf("request %d: token %" PRId32 " of %" PRId32 " kept\n", i, tokens[i], kept[i]);
    }
  }
  free(args.exec.workspace);
  sampler_destroy(sampler);
  return status != SAMPLER_OK;
}
