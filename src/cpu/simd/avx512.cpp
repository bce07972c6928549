// The row passes for AVX-512.
#include "cpu/simd/vector_avx512.h"
// Behind the vectors.
#include "cpu/simd/wide.h"
// Behind both.
#include "cpu/simd/isa.h"
#include "cpu/simd/passes_impl.h"

namespace sampler::cpu {

extern const Passes kAvx512Passes;
const Passes kAvx512Passes = passes_of("avx512", kIsaAvx512);

}  // namespace sampler::cpu
