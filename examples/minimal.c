#include <sampler/sampler.h>
#include <stdio.h>

int main(void) {
  const float values[5] = {2.0f, 2.5f, 1.5f, -1.0f, 0.0f};
  const sampler_rows logits = {.values = values, .num_rows = 1, .num_cols = 5};
  sampler_options options = sampler_options_default();
  sampler_t sampler;
  int32_t token_id;
  options.max_rows = 1, options.max_cols = 5; /* the handle brings a workspace for these */
  if (sampler_create(&options, &sampler) != SAMPLER_OK) return puts(sampler_last_error()), 1;
  for (uint64_t step = 0; step < 5; ++step) { /* top-k 3, top-p 0.95, temperature 0.8, seed 1 */
    if (sampler_top_k_top_p(sampler, &logits, 3, 0.95f, 0.8f, 1, step, &token_id, NULL)) {
      return puts(sampler_last_error()), 1;
    }
    printf("step %d: token %d\n", (int)step, token_id);
  }
  sampler_destroy(sampler);
  return 0;
}
