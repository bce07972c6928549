// The row passes for AVX2.
#include "cpu/simd/vector_avx2.h"
// Behind the vectors.
#include "cpu/simd/wide.h"
// Behind both.
#include "cpu/simd/isa.h"
#include "cpu/simd/passes_impl.h"

namespace sampler::cpu {

extern const Passes kAvx2Passes;
const Passes kAvx2Passes = passes_of("avx2", kIsaAvx2);

}  // namespace sampler::cpu
