/* Draws a token from each row of a file of f16 logits and prints the ids, 16 to a line.
 *
 *   recorded_logits logits.f16 */
#include <sampler/sampler.h>
#include <stdio.h>

#define NUM_COLS 2048
#define IDS_PER_LINE 16

static int print_tokens(FILE *file, sampler_t sampler) {
  uint16_t logits[NUM_COLS];
  int32_t token_id;
  sampler_top_k_top_p_args args = SAMPLER_TOP_K_TOP_P_ARGS_INIT;
  args.input = logits;
  args.input_dtype = SAMPLER_F16;
  args.num_rows = 1;
  args.num_cols = NUM_COLS;
  args.temperature = 0.8f;
  args.top_k = 50;
  args.top_p = 0.95f;
  args.seed = 1;
  args.out_token_ids = &token_id;
  for (; fread(logits, sizeof logits, 1, file) == 1; ++args.offset) { /* one offset a step */
    if (sampler_top_k_top_p(sampler, &args) != SAMPLER_OK) {
      fprintf(stderr, "%s\n", sampler_last_error());
      return 1;
    }
    if (args.offset > 0) putchar(args.offset % IDS_PER_LINE == 0 ? '\n' : ' ');
    printf("%d", (int)token_id);
  }
  putchar('\n');
  return 0;
}

int main(int argc, char **argv) {
  FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  sampler_t sampler = NULL;
  sampler_options options = SAMPLER_OPTIONS_INIT;
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
