// The row passes that this machine can run.
#pragma once

#include <vector>

#include "cpu/simd/isa.h"
#include "cpu/simd/passes.h"

inline std::vector<const sampler::cpu::Passes *> usable_passes() {
  std::vector<const sampler::cpu::Passes *> result;
  for (const char *name : {"avx2", "avx512", "neon"}) {
    const sampler::cpu::IsaChoice choice = sampler::cpu::choose_isa(name);
    if (choice.valid) result.push_back(choice.passes);
  }
  return result;
}
