// The row passes for NEON.
#include "cpu/simd/vector_neon.h"
// After the vectors.
#include "cpu/simd/wide.h"
// After both.
#include "cpu/simd/isa.h"
#include "cpu/simd/passes/passes_of.h"

namespace sampler::cpu {

extern const Passes kNeonPasses;
const Passes kNeonPasses = neon::passes_of("neon", kIsaNeon);

}  // namespace sampler::cpu
