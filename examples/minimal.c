#include <sampler/sampler.h>
#include <stdio.h>

int main(void) {
  const float logits[5] = {2.0f, 2.5f, 1.5f, -1.0f, 0.0f};
  int32_t token_id;
  sampler_t sampler;
  sampler_options options = SAMPLER_OPTIONS_INIT;
  options.max_rows = 1, options.max_cols = 5; /* the handle brings a workspace for these */
  if (sampler_create(&options, &sampler) != SAMPLER_OK) return puts(sampler_last_error()), 1;
  sampler_top_k_top_p_args args = SAMPLER_TOP_K_TOP_P_ARGS_INIT;
  args.input = logits, args.num_rows = 1, args.num_cols = 5;
  args.temperature = 0.8f, args.top_k = 3, args.top_p = 0.95f;
  args.seed = 1, args.out_token_ids = &token_id;
  for (args.offset = 0; args.offset < 5; ++args.offset) { /* one offset a step */
    if (sampler_top_k_top_p(sampler, &args) != SAMPLER_OK) return puts(sampler_last_error()), 1;
    printf("step %d: token %d\n", (int)args.offset, token_id);
  }
  sampler_destroy(sampler);
  return 0;
}
