/* A diffusion language model writes a block: all masked positions are predicted at once, and in
 * each step the predictions that the model is sure of stand. The model here is a toy that knows one
 * sentence, and is the surer of a letter the more of its neighbours it sees. */
#include <math.h>
#include <sampler/sampler.h>
#include <stdio.h>
#include <string.h>

#define ROWS 32
#define COLS 128
#define MASK '_'

static const char sentence[ROWS + 1] = "the quick fox jumps over the dog";

/* The model: logits for every position of the block as it is. */
static void predict(const int32_t *tokens, float logits[ROWS][COLS]) {
  for (int row = 0; row < ROWS; ++row) {
    int num_seen = 0;
    for (int near = row - 2; near <= row + 2; ++near) {
      num_seen += near >= 0 && near < ROWS && tokens[near] != MASK;
    }
    for (int id = 0; id < COLS; ++id) logits[row][id] = (float)((row * 7 + id * 13) % 11) * 0.2f;
    logits[row][MASK] = -INFINITY; /* never a candidate */
    logits[row][(int)sentence[row]] += 4.0f + 1.5f * (float)num_seen;
  }
}

int main(void) {
  static float logits[ROWS][COLS];
  int32_t tokens[ROWS], candidates[ROWS], num_masked = ROWS, num_committed;
  float logprobs[ROWS];
  sampler_row_status status[ROWS];
  sampler_options options = sampler_options_default();
  options.max_rows = ROWS, options.max_cols = COLS;
  sampler_t sampler;
  if (sampler_create(&options, &sampler) != SAMPLER_OK) return 1;

  sampler_params params = sampler_params_default();
  params.temperature = 0.7f, params.top_p = 0.95f;
  sampler_report_args reports = {0};
  reports.struct_size = sizeof reports;
  reports.logprob_kind = SAMPLER_LOGPROB_PROCESSED;
  reports.out_logprobs = logprobs;
  sampler_sample_args sample = {0};
  sample.struct_size = sizeof sample;
  sample.input.values = logits, sample.input.num_rows = ROWS, sample.input.num_cols = COLS;
  sample.params = &params;
  sample.random.seed = 8; /* each row has a slot, so a stream, of its own */
  sample.out_token_ids = candidates;
  sample.out_row_status = status;
  sample.reports = &reports;

  sampler_unmask_params rules = {0};
  rules.struct_size = sizeof rules;
  rules.mask_token_id = MASK;
  rules.num_committed = 1; /* the surest, */
  rules.threshold = 0.95f; /* and all that are sure enough */
  sampler_unmask_args unmask = {0};
  unmask.struct_size = sizeof unmask;
  unmask.num_rows = ROWS, unmask.num_blocks = 1;
  unmask.candidate_token_ids = candidates;
  unmask.candidate_status = status;
  unmask.scores = logprobs;
  unmask.token_ids = tokens;
  unmask.params = &rules;
  unmask.out_committed_counts = &num_committed;
  unmask.out_masked_counts = &num_masked;

  for (int row = 0; row < ROWS; ++row) tokens[row] = MASK;
  for (int step = 1; num_masked > 0 && step <= ROWS; ++step) {
    predict(tokens, logits);
    sample.random.offset = (uint64_t)step;
    if (sampler_sample(sampler, &sample) != SAMPLER_OK ||
        sampler_unmask(sampler, &unmask) != SAMPLER_OK) {
      fprintf(stderr, "%s\n", sampler_last_error());
      return 1;
    }
    printf("step %2d: ", step);
    for (int row = 0; row < ROWS; ++row) putchar(tokens[row]);
    printf("  %d committed\n", (int)num_committed);
  }
  sampler_destroy(sampler);
  return num_masked > 0;
}
