// The row passes for NEON.
#include "cpu/simd/vector_neon.h"
// Behind the vectors.
#include "cpu/simd/wide.h"
// Behind both.
#include "cpu/simd/isa.h"
#include "cpu/simd/passes_impl.h"

namespace sampler::cpu {

extern const Passes kNeonPasses;
const Passes kNeonPasses = passes_of("neon", kIsaNeon);

}  // namespace sampler::cpu
