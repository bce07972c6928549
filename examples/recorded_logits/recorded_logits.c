/* Draws a token from each row of a file of f16 logits and prints the ids, 16 to a line.
 *
 *   recorded_logits logits.f16 */
#include <sampler/sampler.h>
#include <stdio.h>

#define NUM_COLS 2048
#define IDS_PER_LINE 16

static int print_tokens(FILE *file, sampler_t sampler) {
  uint16_t values[NUM_COLS];
  const sampler_rows logits = {
      .values = values, .num_rows = 1, .num_cols = NUM_COLS, .dtype = SAMPLER_F16};
  int32_t token_id;
  for (uint64_t step = 0; fread(values, sizeof values, 1, file) == 1; ++step) {
    if (sampler_top_k_top_p(sampler, &logits, 50, 0.95f, 0.8f, 1, step, &token_id, NULL) !=
        SAMPLER_OK) {
      fprintf(stderr, "%s\n", sampler_last_error());
      return 1;
    }
    if (step > 0) putchar(step % IDS_PER_LINE == 0 ? '\n' : ' ');
    printf("%d", (int)token_id);
  }
  putchar('\n');
  return 0;
}

int main(int argc, char **argv) {
  FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  sampler_t sampler = NULL;
  sampler_options options = sampler_options_default();
  int status = 1;
  if (!file) {
    fprintf(stderr, "usage: recorded_logits FILE, a file that can be read\n");
    return 2;
  }
  options.max_rows = 1;
  options.max_cols = NUM_COLS;
  if (sampler_create(&options, &sampler) == SAMPLER_OK) {
    status = print_tokens(file, sampler);
  } else {
    fprintf(stderr, "%s\n", sampler_last_error());
  }
  sampler_destroy(sampler);
  fclose(file);
  return status;
}
