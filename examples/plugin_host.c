/* A host that knows libsampler only at run time: opens it with dlopen, samples, closes it and opens
 * it again.
 *
 *   plugin_host [PATH]     PATH of the library, "libsampler.so.1" by default */
#include <sampler_dl.h>
#include <stdio.h>

static int sample_once(const sampler_dl *lib, int32_t *out_token_id) {
  const float values[4] = {0.0f, 2.0f, 1.0f, -1.0f};
  const sampler_rows logits = {.values = values, .num_rows = 1, .num_cols = 4};
  sampler_options options = sampler_options_default();
  options.max_rows = 1;
  options.max_cols = 4;
  sampler_t sampler;
  if (lib->create(&options, &sampler) != SAMPLER_OK) return 0;

  const sampler_status status = lib->min_p(sampler, &logits, 0.1f, 1.0f, 7, 0, out_token_id, NULL);
  lib->destroy(sampler);
  return status == SAMPLER_OK;
}

int main(int argc, char **argv) {
  int32_t token_ids[2];
  for (int round = 0; round < 2; ++round) {
    sampler_dl lib;
    char error[SAMPLER_DL_ERROR_SIZE];
    if (!sampler_dl_open(&lib, argc > 1 ? argv[1] : NULL, error)) {
      return fprintf(stderr, "%s\n", error), 1;
    }
    if (!sample_once(&lib, &token_ids[round])) return fprintf(stderr, "%s\n", lib.last_error()), 1;
    sampler_dl_close(&lib);
    printf("round %d: token %d\n", round, token_ids[round]);
  }
  return token_ids[0] == token_ids[1] ? 0 : 1;
}
