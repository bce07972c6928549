// Instruction sets of the row passes, and the choice between them.
#pragma once

#include <cstdint>

namespace sampler::cpu {

struct Passes;

// The bits of the C ABI's SAMPLER_ISA_ constants.
constexpr uint32_t kIsaScalar = 1;
constexpr uint32_t kIsaAvx2 = 2;
constexpr uint32_t kIsaAvx512 = 4;
constexpr uint32_t kIsaNeon = 8;

uint32_t compiled_isas();
// The compiled ones that this processor and OS support.
uint32_t usable_isas();

// Writes the names of these bits to `text`: "scalar, avx2".
void write_isa_names(uint32_t isas, char *text, int size);

struct IsaChoice {
  bool valid;            // false: the name is unknown or not usable
  uint32_t isa;          // its bit
  const Passes *passes;  // null: the scalar reference
};

// `name` null or empty: the best usable one.
IsaChoice choose_isa(const char *name);

}  // namespace sampler::cpu
