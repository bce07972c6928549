// sampler_create as the suites written for the CPU get it here, by the linker's --wrap: where they
// ask for the CPU they get the first device, which reaches their arrays.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include "runtime.h"

extern "C" {

sampler_status __real_sampler_create(const sampler_options *options, sampler_t *out_sampler);

sampler_status __wrap_sampler_create(const sampler_options *options, sampler_t *out_sampler) {
  simt::runtime::adopt_host_memory(0);
  sampler_options on_device = sampler_options_default();
  if (options) {
    // Structs of other sizes are for the library to judge.
    if (options->struct_size != sizeof *options) return __real_sampler_create(options, out_sampler);
    on_device = *options;
  }
  if (on_device.device_type == SAMPLER_DEVICE_CPU) on_device.device_type = SAMPLER_DEVICE_CUDA;
  return __real_sampler_create(&on_device, out_sampler);
}

}  // extern "C"

namespace {

TEST(Suite, RunsOnADevice) {
  sampler_t sampler = nullptr;
  ASSERT_EQ(SAMPLER_OK, sampler_create(nullptr, &sampler)) << sampler_last_error();
  const float values[] = {0.0f, 3.0f, 1.0f};
  sampler_rows logits = {};
  logits.values = values;
  logits.num_rows = 1;
  logits.num_cols = 3;
  int32_t token_id = -1;
  EXPECT_EQ(SAMPLER_OK, sampler_argmax(sampler, &logits, &token_id, nullptr))
      << sampler_last_error();
  EXPECT_EQ(1, token_id);
  EXPECT_FALSE(simt::runtime::launches().empty());
  sampler_destroy(sampler);
}

}  // namespace
