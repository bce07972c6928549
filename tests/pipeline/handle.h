// Handles of one instruction set.
#ifndef SAMPLER_TESTS_PIPELINE_HANDLE_H_
#define SAMPLER_TESTS_PIPELINE_HANDLE_H_

#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

namespace pipeline_test {

struct Destroy {
  void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
};
using Handle = std::unique_ptr<sampler_handle, Destroy>;

// `isa` null: the fastest that the machine has. Of another one that it does not have, null.
inline Handle make_handle(const char *isa, std::int32_t num_threads) {
  const char *const before = std::getenv("SAMPLER_ISA");
  const std::string kept = before ? before : "";
  if (isa) setenv("SAMPLER_ISA", isa, 1);
  sampler_options options = sampler_options_default();
  options.num_threads = num_threads;
  sampler_t sampler = nullptr;
  const bool is_made = sampler_create(&options, &sampler) == SAMPLER_OK;
  EXPECT_TRUE(is_made || isa) << sampler_last_error();
  if (before) {
    setenv("SAMPLER_ISA", kept.c_str(), 1);
  } else {
    unsetenv("SAMPLER_ISA");
  }
  return Handle(is_made ? sampler : nullptr);
}

}  // namespace pipeline_test

#endif  // SAMPLER_TESTS_PIPELINE_HANDLE_H_
