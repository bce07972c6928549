// Handles of the instruction sets that the machine has.
#ifndef SAMPLER_TESTS_PIPELINE_HANDLES_H_
#define SAMPLER_TESTS_PIPELINE_HANDLES_H_

#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pipeline_test {

struct Destroy {
  void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
};
using Handle = std::unique_ptr<sampler_handle, Destroy>;

// `isa` null: the fastest that the machine has. A null handle: it does not have this one.
inline Handle make_handle(const char *isa, std::int32_t num_threads) {
  const char *const before = std::getenv("SAMPLER_ISA");
  const std::string kept = before ? before : "";
  if (isa) setenv("SAMPLER_ISA", isa, 1);
  sampler_options options = sampler_options_default();
  options.num_threads = num_threads;
  sampler_t sampler = nullptr;
  const sampler_status status = sampler_create(&options, &sampler);
  const bool is_always_there = !isa || std::string(isa) == "scalar";
  EXPECT_TRUE(status == SAMPLER_OK || !is_always_there) << sampler_last_error();
  if (before) {
    setenv("SAMPLER_ISA", kept.c_str(), 1);
  } else {
    unsetenv("SAMPLER_ISA");
  }
  return Handle(status == SAMPLER_OK ? sampler : nullptr);
}

// What a test runs on: the row passes, and the scalar reference.
struct Handles {
  Handle simd = make_handle(nullptr, 1), reference = make_handle("scalar", 3);
};

// One for each instruction set, the fastest first.
inline std::vector<Handle> handles_of_all_isas() {
  std::vector<Handle> all;
  all.push_back(make_handle(nullptr, 1));
  for (const char *isa : {"scalar", "avx2", "neon"}) {
    if (Handle handle = make_handle(isa, 2)) all.push_back(std::move(handle));
  }
  return all;
}

}  // namespace pipeline_test

#endif  // SAMPLER_TESTS_PIPELINE_HANDLES_H_
