/* integrations/nccl with NCCL's own header and library: it compiles as C99, it links, and what NCCL
 * says of a communicator that is none comes through. That takes no GPU; a communicator would. */
#include <sampler_nccl.h>
#include <stdio.h>
#include <string.h>

static sampler_status run(sampler_t sampler, const char **error) {
  const float logits[4] = {1.0f, 3.0f, 2.0f, 0.0f};
  uint64_t memory[64];
  int32_t token_id = -1;
  sampler_sample_args sample = {0};
  sampler_shard_args shard = {0};
  sample.struct_size = sizeof sample;
  sample.input.values = logits;
  sample.input.num_rows = 1;
  sample.input.num_cols = 4;
  sample.out_token_ids = &token_id;
  shard.struct_size = sizeof shard;
  shard.sample = &sample;
  shard.total_cols = 4;
  return sampler_nccl_run(sampler, &shard, NULL, NULL, NULL, memory, sizeof memory, error);
}

int main(void) {
  sampler_t sampler = NULL;
  const char *error = "";
  int version = 0, failed;
  sampler_status status;
  if (ncclGetVersion(&version) != ncclSuccess) return puts("NCCL has no version"), 1;
  if (sampler_create(NULL, &sampler) != SAMPLER_OK) return puts(sampler_last_error()), 1;
  status = run(sampler, &error);
  sampler_destroy(sampler);
  failed =
      status != SAMPLER_ERROR_SYSTEM || strcmp(error, ncclGetErrorString(ncclInvalidArgument)) != 0;
  printf("NCCL %d: \"%s\"%s\n", version, error, failed ? ", which is not what it says of it" : "");
  return failed;
}
