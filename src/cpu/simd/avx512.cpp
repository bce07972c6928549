// The row passes for AVX-512.
#include "cpu/simd/vector_avx512.h"
// After the vectors.
#include "cpu/simd/wide.h"
// After both.
#include "cpu/simd/isa.h"
#include "cpu/simd/passes/passes_of.h"

namespace sampler::cpu {

extern const Passes kAvx512Passes;
const Passes kAvx512Passes = avx512::passes_of("avx512", kIsaAvx512);

}  // namespace sampler::cpu
