// The yardstick: the fastest pass that reads every element of a row and does something with it.
#pragma once

#include <sampler/sampler.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cpu_bench {

struct MaxPass {
  const char *instructions;

  // The largest of `count` values, none of which is NaN; -inf for none.
  float (*of_f32)(const float *values, size_t count);

  // The largest of `count` 16-bit patterns as signed integers; -32768 for none. Reads rows of f16
  // and bf16 as a maximum would, without the steps that would make it correct.
  int16_t (*of_i16)(const int16_t *values, size_t count);
};

// The passes that this machine supports, widest first.
std::vector<MaxPass> usable_max_passes();

// Runs the pass for rows of this type.
void run_max_pass(const MaxPass &pass, const void *values, size_t count, sampler_dtype dtype);

}  // namespace cpu_bench
