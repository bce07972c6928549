// The library built with CUDA, on a machine that may have no device and no driver.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <cstring>
#include <string>

namespace {

uint32_t num_devices() {
  sampler_capabilities capabilities = {};
  capabilities.struct_size = sizeof capabilities;
  EXPECT_EQ(SAMPLER_OK, sampler_get_capabilities(&capabilities));
  EXPECT_EQ(1u, capabilities.cuda_compiled);
  return capabilities.num_cuda_devices;
}

sampler_status create(int32_t device_id, sampler_t *sampler) {
  sampler_options options = sampler_options_default();
  options.device_type = SAMPLER_DEVICE_CUDA;
  options.device_id = device_id;
  return sampler_create(&options, sampler);
}

TEST(WithoutDevice, CreatingSaysSoInOneLine) {
  if (num_devices() != 0) GTEST_SKIP() << "this machine has a CUDA device";
  sampler_t sampler = nullptr;
  EXPECT_EQ(SAMPLER_ERROR_UNSUPPORTED, create(0, &sampler));
  EXPECT_EQ(nullptr, sampler);
  EXPECT_STREQ("device_type is SAMPLER_DEVICE_CUDA; this machine has no CUDA device or no driver",
               sampler_last_error());
}

TEST(WithDevice, DeviceIdsAreChecked) {
  const uint32_t count = num_devices();
  if (count == 0) GTEST_SKIP() << "this machine has no CUDA device";
  sampler_t sampler = nullptr;
  EXPECT_EQ(SAMPLER_ERROR_INVALID_ARGUMENT, create(-1, &sampler));
  EXPECT_STREQ("device_id is -1; it must be at least 0", sampler_last_error());
  EXPECT_EQ(SAMPLER_ERROR_INVALID_ARGUMENT, create(int32_t(count), &sampler));
  EXPECT_EQ(SAMPLER_OK, create(0, &sampler));
  sampler_destroy(sampler);
}

TEST(WithoutDevice, RowsOnTheCpuWork) {
  sampler_options options = sampler_options_default();
  options.max_rows = 1;
  options.max_cols = 4;
  sampler_t sampler = nullptr;
  ASSERT_EQ(SAMPLER_OK, sampler_create(&options, &sampler));
  const float values[] = {0.0f, 1.0f, 3.0f, 2.0f};
  sampler_rows logits = {};
  logits.values = values;
  logits.num_rows = 1;
  logits.num_cols = 4;
  int32_t token_id = -1;
  EXPECT_EQ(SAMPLER_OK, sampler_argmax(sampler, &logits, &token_id, nullptr));
  EXPECT_EQ(2, token_id);
  sampler_destroy(sampler);
}

}  // namespace
