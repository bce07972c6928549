// Exact floating-point operations: bit casts, 16-bit formats, fma, scaling.
//
// They assume IEEE arithmetic: round to nearest even, subnormals kept, no contraction.
#pragma once

#include <cstdint>
#include <cstring>

#include "contract/host_device.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace sampler::contract {

SAMPLER_HD inline uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

SAMPLER_HD inline uint64_t bits_of(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

SAMPLER_HD inline float float_of(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

SAMPLER_HD inline double double_of(uint64_t bits) {
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

constexpr uint32_t kSignBit = 0x80000000u;
constexpr uint32_t kInfinityBits = 0x7F800000u;
constexpr uint32_t kQuietNaNBits = 0x7FC00000u;

SAMPLER_HD inline float negative_infinity() {
  return float_of(kSignBit | kInfinityBits);
}
SAMPLER_HD inline float quiet_nan() {
  return float_of(kQuietNaNBits);
}
SAMPLER_HD inline bool is_nan(float x) {
  return (bits_of(x) & ~kSignBit) > kInfinityBits;
}
SAMPLER_HD inline bool is_finite(float x) {
  return (bits_of(x) & ~kSignBit) < kInfinityBits;
}
SAMPLER_HD inline bool is_finite(double x) {
  return ((bits_of(x) >> 52) & 0x7FF) != 0x7FF;
}

// The larger of two; `b` if `a` is NaN. `b` is not NaN.
SAMPLER_HD inline float larger_of(float a, float b) {
#if defined(__CUDA_ARCH__)
  return fmaxf(a, b);
#else
  return a > b ? a : b;
#endif
}

// 2^n for n in [-126, 127].
SAMPLER_HD inline float power_of_two(int n) {
  return float_of(uint32_t(n + 127) << 23);
}

// x * 2^n, rounded once, for n in [-190, 254].
SAMPLER_HD inline float times_power_of_two(float x, int n) {
  // Two f32 factors: the second is 1, or the first product is exact, or the result is 0.
  const int first = n < -126 ? -64 : n > 127 ? 127 : n;
  return x * power_of_two(first) * power_of_two(n - first);
}

// Square root of x >= 0, rounded to nearest. sqrt() may set errno, so the compiler would emit a
// call.
SAMPLER_HD inline double square_root(double x) {
#if defined(__CUDA_ARCH__)
  return __dsqrt_rn(x);
#elif defined(__SSE2__)
  return _mm_cvtsd_f64(_mm_sqrt_pd(_mm_set1_pd(x)));
#elif defined(__aarch64__)
  return vget_lane_f64(vsqrt_f64(vdup_n_f64(x)), 0);
#else
  return __builtin_sqrt(x);
#endif
}

// Double rounding is harmless: f64's significand has more than 2 * 24 + 2 bits.
SAMPLER_HD inline float square_root(float x) {
  return float(square_root(double(x)));
}

SAMPLER_HD inline float widen_bf16(uint16_t half) {
  return float_of(uint32_t(half) << 16);
}

SAMPLER_HD inline float widen_f16(uint16_t half) {
  const uint32_t sign = uint32_t(half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7FFFu;
  if (magnitude >= 0x7C00u) return float_of(sign | kInfinityBits | (magnitude & 0x3FFu) << 13);
#if defined(__CUDA_ARCH__)
  float widened;  // differs from the host code only in NaN payloads
  asm("cvt.f32.f16 %0, %1;" : "=f"(widened) : "h"(half));
  return widened;
#else
  // Normal: rebias the exponent by 127 - 15 = 112. Subnormal: a multiple of 2^-24.
  if (magnitude >= 0x0400u) return float_of(sign | ((magnitude << 13) + (112u << 23)));
  return float_of(sign | bits_of(float(magnitude) * power_of_two(-24)));
#endif
}

// As widen_f16, except that a NaN may get any payload.
SAMPLER_HD inline float widen_f16_number(uint16_t half) {
#if defined(__CUDA_ARCH__)
  float widened;
  asm("cvt.f32.f16 %0, %1;" : "=f"(widened) : "h"(half));
  return widened;
#else
  return widen_f16(half);
#endif
}

// Rounds to nearest even; overflows to infinity. A NaN keeps its upper payload bits.
SAMPLER_HD inline uint16_t narrow_bf16(float x) {
  const uint32_t bits = bits_of(x);
  if (is_nan(x)) return uint16_t((bits >> 16) | ((bits & 0x007F0000u) ? 0u : 0x40u));
  return uint16_t((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

SAMPLER_HD inline uint16_t narrow_f16(float x) {
  const uint32_t sign = (bits_of(x) >> 16) & 0x8000u;
  const uint32_t magnitude = bits_of(x) & ~kSignBit;
  if (magnitude > kInfinityBits) {
    const uint32_t payload = (magnitude >> 13) & 0x3FFu;
    return uint16_t(sign | 0x7C00u | (payload ? payload : 0x200u));
  }
#if defined(__CUDA_ARCH__)
  uint16_t narrowed;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrowed) : "f"(x));
  return narrowed;
#else
  if (magnitude >= 0x477FF000u) return uint16_t(sign | 0x7C00u);  // >= 65520
  if (magnitude < 0x38800000u) {  // < 2^-14: adding 0.5 rounds to a multiple of 2^-24
    return uint16_t(sign | (bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f)));
  }
  const uint32_t rounded = magnitude - (112u << 23) + 0xFFFu + ((magnitude >> 13) & 1u);
  return uint16_t(sign | (rounded >> 13));
#endif
}

// a * b + c, rounded once.
SAMPLER_HD inline float fma32(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#elif defined(__FMA__) || defined(__aarch64__)
  return __builtin_fmaf(a, b, c);
#else
  // The product is exact in f64. The sum is rounded to odd (the last bit is set if it is inexact),
  // which makes the second rounding, to f32, correct (Boldo, Melquiond 2008).
  const double product = double(a) * double(b);
  const double sum = product + double(c);
  const double shifted = sum - product;
  const double lost = (product - (sum - shifted)) + (double(c) - shifted);
  uint64_t bits = bits_of(sum);
  if (lost != 0 && is_finite(sum) && (bits & 1) == 0) {
    bits += ((lost > 0) == (sum > 0)) ? uint64_t(1) : ~uint64_t(0);
  }
  return float(double_of(bits));
#endif
}

// An integer n as the f32 kShift + n. One ulp is 1 there, so the addition rounds to an integer,
// which the bits hold.
struct ShiftedInteger {
  static constexpr float kShift = 0x1.8p23f;
  float shifted;

  SAMPLER_HD float value() const { return shifted - kShift; }
  SAMPLER_HD int integer() const { return int(bits_of(shifted) - bits_of(kShift)); }

  // x * 2^n for normal x and result: n is added to the exponent; the bits of kShift are shifted
  // out.
  SAMPLER_HD float times_power_of_two(float x) const {
    return float_of(bits_of(x) + (bits_of(shifted) << 23));
  }
};

// Nearest integer, ties to even, for |x| < 2^22.
SAMPLER_HD inline ShiftedInteger nearest_integer(float x) {
  return {x + ShiftedInteger::kShift};
}

// High and low half of a * b.
struct Product64 {
  uint32_t high;
  uint32_t low;
};

SAMPLER_HD inline Product64 multiply_64(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__)
  Product64 product;  // a 64-bit shift compiles to one addition more
  asm("{.reg .b64 wide; mul.wide.u32 wide, %2, %3; mov.b64 {%0, %1}, wide;}"
      : "=r"(product.low), "=r"(product.high)
      : "r"(a), "r"(b));
  return product;
#else
  const uint64_t product = uint64_t(a) * b;
  return {uint32_t(product >> 32), uint32_t(product)};
#endif
}

struct Product128 {
  uint64_t high;
  uint64_t low;
};

SAMPLER_HD inline Product128 multiply_128(uint64_t a, uint64_t b) {
#if defined(__CUDA_ARCH__)
  return {__umul64hi(a, b), a * b};
#else
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide(a) * b;
  return {uint64_t(product >> 64), uint64_t(product)};
#endif
}

SAMPLER_HD inline bool is_less_128(const Product128 &a, const Product128 &b) {
  return a.high < b.high || (a.high == b.high && a.low < b.low);
}
SAMPLER_HD inline Product128 plus_128(const Product128 &a, const Product128 &b) {
  const uint64_t low = a.low + b.low;
  return {a.high + b.high + (low < a.low ? 1 : 0), low};
}
SAMPLER_HD inline Product128 minus_128(const Product128 &a, const Product128 &b) {
  return {a.high - b.high - (a.low < b.low ? 1 : 0), a.low - b.low};
}
// value * 2^bits for bits in [1, 63].
SAMPLER_HD inline Product128 shifted_128(uint64_t value, int bits) {
  return {value >> (64 - bits), value << bits};
}

}  // namespace sampler::contract
