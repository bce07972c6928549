// A handle of the CPU.
#pragma once

#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <cstdint>
#include <cstdlib>

namespace shards_test {

class Handle {
 public:
  // `isa` as SAMPLER_ISA names it; null: the best of the machine.
  explicit Handle(const char *isa = nullptr, int32_t num_threads = 1, int64_t fallback = -1) {
    sampler_options options = sampler_options_default();
    options.num_threads = num_threads;
    options.fallback_token_id = fallback;
    if (isa) setenv("SAMPLER_ISA", isa, 1);
    EXPECT_EQ(sampler_create(&options, &sampler_), SAMPLER_OK);
    if (isa) unsetenv("SAMPLER_ISA");
  }
  ~Handle() { sampler_destroy(sampler_); }
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;
  operator sampler_t() const { return sampler_; }

 private:
  sampler_t sampler_ = nullptr;
};

}  // namespace shards_test
