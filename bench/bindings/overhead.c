/* Overhead of a call: the row is so short that only the way to the library counts.
 *
 * The call is that of examples/minimal.c. Prints one line of JSON, like the same programs in other
 * languages. */
#define _POSIX_C_SOURCE 199309L

#include <sampler/sampler.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NUM_CALLS 200000
#define NUM_REPEATS 5

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void check(sampler_status status) {
  if (status == SAMPLER_OK) return;
  fprintf(stderr, "overhead: %s\n", sampler_last_error());
  exit(1);
}

static double ns_per_call(sampler_t sampler, const sampler_rows *logits) {
  const double start = now_ns();
  int32_t token_id;
  for (uint64_t step = 0; step < NUM_CALLS; ++step) {
    check(sampler_top_k_top_p(sampler, logits, 3, 0.95f, 0.8f, 1, step, &token_id, NULL));
  }
  return (now_ns() - start) / NUM_CALLS;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void print(const double *repeats) {
  double sorted[NUM_REPEATS];
  for (int i = 0; i < NUM_REPEATS; ++i) sorted[i] = repeats[i];
  qsort(sorted, NUM_REPEATS, sizeof sorted[0], compare);
  printf("{\"language\": \"c\", \"ns_per_call\": %.1f, \"repeats\": [", sorted[NUM_REPEATS / 2]);
  for (int i = 0; i < NUM_REPEATS; ++i) printf("%s%.1f", i ? ", " : "", repeats[i]);
  printf("]}\n");
}

int main(void) {
  const float values[5] = {2.0f, 2.5f, 1.5f, -1.0f, 0.0f};
  const sampler_rows logits = {.values = values, .num_rows = 1, .num_cols = 5};
  double repeats[NUM_REPEATS];
  sampler_t sampler;
  sampler_options options = sampler_options_default();
  options.max_rows = 1, options.max_cols = 5;
  check(sampler_create(&options, &sampler));
  ns_per_call(sampler, &logits); /* warms up */
  for (int i = 0; i < NUM_REPEATS; ++i) repeats[i] = ns_per_call(sampler, &logits);
  sampler_destroy(sampler);
  print(repeats);
  return 0;
}
