/* A rollout, and its replay: tokens are drawn with the lists of what was kept; then the same call's
 * scores are equal to the bit, and those of other logits, as of a model trained since, give the
 * ratio of probabilities that a policy gradient needs. */
#include <inttypes.h>
#include <math.h>
#include <sampler/sampler.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 3, VOCABULARY = 8, CAPACITY = ROWS * VOCABULARY };

static int failed(sampler_status status) {
  if (status == SAMPLER_OK) return 0;
  fprintf(stderr, "%s: %s\n", sampler_status_string(status), sampler_last_error());
  return 1;
}

int main(void) {
  const float logits[ROWS][VOCABULARY] = {{2.0f, 1.5f, 3.0f, 0.5f, 1.0f, -1.0f, 0.0f, 2.5f},
                                          {1.0f, 4.0f, 0.0f, 3.5f, 2.0f, -2.0f, 1.0f, 0.5f},
                                          {0.0f, 0.5f, 1.0f, 0.5f, 0.0f, 0.5f, 1.0f, 0.5f}};
  float trained[ROWS][VOCABULARY];
  for (int i = 0; i < ROWS * VOCABULARY; ++i) {
    trained[i / VOCABULARY][i % VOCABULARY] =
        logits[i / VOCABULARY][i % VOCABULARY] + 0.125f * (float)(i % 3);
  }
  sampler_params params = sampler_params_default();
  params.temperature = 0.8f;
  params.top_p = 0.9f;

  sampler_options options = sampler_options_default();
  options.max_rows = ROWS;
  options.max_cols = VOCABULARY;
  static unsigned char workspace[1 << 16];
  sampler_t sampler = NULL;
  if (failed(sampler_create(&options, &sampler))) return 1;

  /* The rollout. */
  int32_t tokens[ROWS], kept[CAPACITY];
  int64_t offsets[ROWS + 1];
  float logprobs[ROWS], replayed[ROWS], now[ROWS];
  sampler_report_args reports = {0};
  reports.struct_size = sizeof reports;
  reports.logprob_kind = SAMPLER_LOGPROB_PROCESSED;
  reports.out_logprobs = logprobs;
  reports.kept_capacity = CAPACITY;
  reports.out_kept_token_ids = kept;
  reports.out_kept_offsets = offsets;
  sampler_sample_args sample = {0};
  sample.struct_size = sizeof sample;
  sample.exec.workspace = workspace;
  sample.exec.workspace_bytes = sizeof workspace;
  sample.input.values = logits;
  sample.input.num_rows = ROWS;
  sample.input.num_cols = VOCABULARY;
  sample.params = &params;
  sample.random.seed = 7;
  sample.out_token_ids = tokens;
  sample.reports = &reports;
  if (failed(sampler_sample(sampler, &sample))) return 1;

  /* The replay: the tokens and the lists as they are. */
  sampler_report_args scores = {0};
  scores.struct_size = sizeof scores;
  scores.logprob_kind = SAMPLER_LOGPROB_PROCESSED;
  scores.out_logprobs = replayed;
  sampler_score_args score = {0};
  score.struct_size = sizeof score;
  score.exec = sample.exec;
  score.input = sample.input;
  score.params = &params;
  score.token_ids = tokens;
  score.kept.offsets = offsets;
  score.kept.token_ids = kept;
  score.kept.num_lists = ROWS;
  score.kept.num_token_ids = CAPACITY;
  score.reports = &scores;
  if (failed(sampler_score(sampler, &score))) return 1;
  if (memcmp(replayed, logprobs, sizeof logprobs) != 0) return 1;

  /* The model since. */
  score.input.values = trained;
  scores.out_logprobs = now;
  if (failed(sampler_score(sampler, &score))) return 1;
  for (int i = 0; i < ROWS; ++i) {
    printf("row %d: token %" PRId32 " of %" PRId64 " kept, log-probability %.4f, ratio %.4f\n", i,
           tokens[i], offsets[i + 1] - offsets[i], (double)logprobs[i],
           exp((double)now[i] - (double)logprobs[i]));
  }
  sampler_destroy(sampler);
  return 0;
}
