/* The heart of a batch server: requests of their own temperature, top-k and seed come and go, and
 * each step draws one token for those that are running. docs/tutorial.md walks through it. */
#include <sampler/sampler.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_REQUESTS = 4, VOCABULARY = 8, END_TOKEN = 0 };

/* What the server knows of a request stays in its slot from the first step to the last. */
static float temperature[MAX_REQUESTS], top_p[MAX_REQUESTS];
static int32_t top_k[MAX_REQUESTS];
static uint64_t seed[MAX_REQUESTS], position[MAX_REQUESTS];
static int is_running[MAX_REQUESTS], last_token[MAX_REQUESTS];

static void start_request(int slot, float its_temperature, int its_top_k, uint64_t its_seed) {
  temperature[slot] = its_temperature, top_k[slot] = its_top_k, top_p[slot] = 0.95f;
  seed[slot] = its_seed, position[slot] = 0;
  is_running[slot] = 1, last_token[slot] = 1;
}

/* Stands for the model: logits that depend on the last token. */
static void forward(int token, float *logits) {
  for (int id = 0; id < VOCABULARY; ++id) logits[id] = (float)((id * 5 + token * 3) % 8) * 0.5f;
}

static void check(sampler_status status) {
  if (status == SAMPLER_OK) return;
  fprintf(stderr, "%s\n", sampler_last_error());
  exit(1);
}

int main(void) {
  float logits[MAX_REQUESTS * VOCABULARY];
  int32_t slots[MAX_REQUESTS], token_ids[MAX_REQUESTS];
  sampler_row_status row_status[MAX_REQUESTS];

  sampler_t sampler;
  sampler_options options = sampler_options_default();
  options.max_rows = MAX_REQUESTS, options.max_cols = VOCABULARY;
  check(sampler_create(&options, &sampler));

  /* Set up once: nothing here changes from step to step but the number of rows. */
  sampler_row_params row_params = {0};
  row_params.struct_size = sizeof row_params;
  row_params.temperature = temperature, row_params.top_k = top_k, row_params.top_p = top_p;
  sampler_sample_args args = {0};
  args.struct_size = sizeof args;
  args.input.values = logits, args.input.num_cols = VOCABULARY;
  args.slots = slots, args.num_slots = MAX_REQUESTS;
  args.row_params = &row_params;
  args.random.seeds = seed, args.random.num_seeds = MAX_REQUESTS;
  args.random.offsets = position, args.random.num_offsets = MAX_REQUESTS;
  args.out_token_ids = token_ids, args.out_row_status = row_status;

  start_request(0, 0.7f, 5, 1);
  start_request(2, 0.0f, 0, 2); /* greedy */
  for (int step = 0; step < 6; ++step) {
    if (step == 2) start_request(1, 1.0f, 0, 3); /* joins a running batch */
    int64_t num_rows = 0;
    for (int slot = 0; slot < MAX_REQUESTS; ++slot) {
      if (!is_running[slot]) continue;
      forward(last_token[slot], &logits[num_rows * VOCABULARY]);
      slots[num_rows++] = slot;
    }
    args.input.num_rows = num_rows;
    check(sampler_sample(sampler, &args));

    printf("step %d:", step);
    for (int64_t row = 0; row < num_rows; ++row) {
      const int slot = slots[row];
      if (row_status[row] != SAMPLER_ROW_OK) { /* the model wrote a NaN, say */
        is_running[slot] = 0;
        continue;
      }
      printf(" request %d token %d;", slot, token_ids[row]);
      last_token[slot] = token_ids[row], ++position[slot];
      is_running[slot] = token_ids[row] != END_TOKEN;
    }
    printf("\n");
  }
  sampler_destroy(sampler);
  return 0;
}
