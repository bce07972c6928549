// The row passes for AVX2.
#include "cpu/simd/vector_avx2.h"
// After the vectors.
#include "cpu/simd/wide.h"
// After both.
#include "cpu/simd/isa.h"
#include "cpu/simd/passes/passes_of.h"

namespace sampler::cpu {

extern const Passes kAvx2Passes;
const Passes kAvx2Passes = avx2::passes_of("avx2", kIsaAvx2);

}  // namespace sampler::cpu
