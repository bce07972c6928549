// Handles of the CPU and of a device whose kernels reach the tests' own arrays.
#pragma once

#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <memory>

#include "runtime.h"

namespace simt_test {

struct Destroy {
  void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
};
using Handle = std::unique_ptr<sampler_handle, Destroy>;

inline Handle make_handle(sampler_device_type type, bool host_parameters = false,
                          bool check_pointers = false, int64_t fallback_token = -1) {
  sampler_options options = sampler_options_default();
  options.device_type = type;
  options.host_parameters = host_parameters;
  options.check_pointers = check_pointers;
  options.use_fallback_token = fallback_token >= 0;
  options.fallback_token_id = fallback_token;
  sampler_t sampler = nullptr;
  EXPECT_EQ(sampler_create(&options, &sampler), SAMPLER_OK) << sampler_last_error();
  return Handle(sampler);
}

// What a fixture has to compare them.
class Handles {
 protected:
  Handles() {
    simt::runtime::reset({simt::runtime::kHopper});
    simt::runtime::adopt_host_memory(0);
    cpu_ = make_handle(SAMPLER_DEVICE_CPU);
    device_ = make_handle(SAMPLER_DEVICE_CUDA);
    reads_host_ = make_handle(SAMPLER_DEVICE_CUDA, true);
  }

  Handle cpu_, device_, reads_host_;
};

}  // namespace simt_test
