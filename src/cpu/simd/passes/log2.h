// Logarithms of vectors, with the operations of contract/log2.h.
#pragma once

#include "contract/log2.h"
#include "cpu/simd/passes/elements.h"

namespace sampler::cpu::SAMPLER_ISA {
namespace {

SAMPLER_INLINE Floats log2_quotient(Floats z) {
  Floats q = splat(contract::kLog2C8);
  q = fma(q, z, splat(contract::kLog2C7));
  q = fma(q, z, splat(contract::kLog2C6));
  q = fma(q, z, splat(contract::kLog2C5));
  q = fma(q, z, splat(contract::kLog2C4));
  q = fma(q, z, splat(contract::kLog2C3));
  q = fma(q, z, splat(contract::kLog2C2));
  q = fma(q, z, splat(contract::kLog2C1));
  return fma(q, z, splat(contract::kLog2E));
}

SAMPLER_INLINE Floats negate(Floats x) {
  return as_floats(bit_xor(as_ints(x), splat(INT32_MIN)));
}

SAMPLER_INLINE Ints exponent_for_log2(Floats y) {
  return shift_right_signed<23>(sub(as_ints(y), splat(int32_t(contract::kSqrtHalfBits))));
}

// log2(y) = exponent + z * log2_quotient(z).
SAMPLER_INLINE Floats split_for_log2(Floats y, Floats *exponent) {
  const Ints integer = exponent_for_log2(y);
  *exponent = float_of_signed(integer);
  return sub(as_floats(sub(as_ints(y), shift_left<23>(integer))), splat(1.0f));
}

// log2(y) + shift for y > 0, subnormals included.
SAMPLER_INLINE Floats log2_shifted(Floats y, int shift) {
  const Mask normal = ge(y, splat(contract::kSmallestNormal));
  Floats exponent;
  const Floats z = split_for_log2(choose(normal, y, mul(y, splat(0x1p24f))), &exponent);
  const Floats added = choose(normal, splat(float(shift)), splat(float(shift - 24)));
  return fma(z, log2_quotient(z), add(exponent, added));
}

}  // namespace
}  // namespace sampler::cpu::SAMPLER_ISA
