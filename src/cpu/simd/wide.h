// Vectors of 16 elements on any instruction set, made of as many native ones as needed.
//
// All instruction sets see a row as the same vectors, blocks and groups, so that the passes exist
// once and the workspace does not depend on the machine.
#pragma once

namespace sampler::cpu::SAMPLER_ISA {
namespace {

constexpr int kWidth = 16;
constexpr int kPieces = kWidth / native::kLanes;

struct Floats {
  native::Floats piece[kPieces];
};
struct Ints {
  native::Ints piece[kPieces];
};
struct Mask {
  native::Mask piece[kPieces];
};

SAMPLER_INLINE Floats splat(float x) {
  Floats result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::splat(x);
  return result;
}
SAMPLER_INLINE Ints splat(int32_t x) {
  Ints result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::splat(x);
  return result;
}
SAMPLER_INLINE Floats load(const float *p) {
  Floats result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::load(p + i * native::kLanes);
  return result;
}
SAMPLER_INLINE Ints load(const int32_t *p) {
  Ints result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::load(p + i * native::kLanes);
  return result;
}
SAMPLER_INLINE Floats load_f16(const uint16_t *p) {
  Floats result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::load_f16(p + i * native::kLanes);
  return result;
}
SAMPLER_INLINE Floats load_bf16(const uint16_t *p) {
  Floats result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::load_bf16(p + i * native::kLanes);
  return result;
}
SAMPLER_INLINE Floats held(Floats x) {
  for (int i = 0; i < kPieces; ++i) native::hold(x.piece[i]);
  return x;
}
SAMPLER_INLINE Floats add(Floats a, Floats b) {
  Floats result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::add(a.piece[i], b.piece[i]);
  return result;
}
SAMPLER_INLINE Floats sub(Floats a, Floats b) {
  Floats result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::sub(a.piece[i], b.piece[i]);
  return result;
}
SAMPLER_INLINE Floats mul(Floats a, Floats b) {
  Floats result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::mul(a.piece[i], b.piece[i]);
  return result;
}
SAMPLER_INLINE Floats max(Floats a, Floats b) {
  Floats result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::max(a.piece[i], b.piece[i]);
  return result;
}
SAMPLER_INLINE Floats min(Floats a, Floats b) {
  Floats result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::min(a.piece[i], b.piece[i]);
  return result;
}
SAMPLER_INLINE Floats fma(Floats a, Floats b, Floats c) {
  Floats result;
  for (int i = 0; i < kPieces; ++i)
    result.piece[i] = native::fma(a.piece[i], b.piece[i], c.piece[i]);
  return result;
}
// x less the integer that is nearest to it, the even one of two, for |x| <= 2^22.
SAMPLER_INLINE Floats minus_nearest(Floats x) {
  for (int i = 0; i < kPieces; ++i) x.piece[i] = native::minus_nearest(x.piece[i]);
  return x;
}
SAMPLER_INLINE Mask ge(Floats a, Floats b) {
  Mask result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::ge(a.piece[i], b.piece[i]);
  return result;
}
SAMPLER_INLINE Mask gt(Floats a, Floats b) {
  Mask result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::gt(a.piece[i], b.piece[i]);
  return result;
}
SAMPLER_INLINE Mask unordered(Floats a, Floats b) {
  Mask result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::unordered(a.piece[i], b.piece[i]);
  return result;
}
SAMPLER_INLINE Mask both(Mask a, Mask b) {
  Mask result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::both(a.piece[i], b.piece[i]);
  return result;
}
SAMPLER_INLINE Mask either(Mask a, Mask b) {
  Mask result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::either(a.piece[i], b.piece[i]);
  return result;
}
SAMPLER_INLINE Floats choose(Mask mask, Floats a, Floats b) {
  Floats result;
  for (int i = 0; i < kPieces; ++i)
    result.piece[i] = native::choose(mask.piece[i], a.piece[i], b.piece[i]);
  return result;
}
SAMPLER_INLINE Floats zero_unless(Mask mask, Floats a) {
  Floats result;
  for (int i = 0; i < kPieces; ++i)
    result.piece[i] = native::zero_unless(mask.piece[i], a.piece[i]);
  return result;
}
SAMPLER_INLINE Ints as_ints(Floats x) {
  Ints result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::as_ints(x.piece[i]);
  return result;
}
SAMPLER_INLINE Floats as_floats(Ints x) {
  Floats result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::as_floats(x.piece[i]);
  return result;
}
SAMPLER_INLINE Ints add(Ints a, Ints b) {
  Ints result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::add(a.piece[i], b.piece[i]);
  return result;
}
SAMPLER_INLINE Ints sub(Ints a, Ints b) {
  Ints result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::sub(a.piece[i], b.piece[i]);
  return result;
}
SAMPLER_INLINE Ints bit_and(Ints a, Ints b) {
  Ints result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::bit_and(a.piece[i], b.piece[i]);
  return result;
}
SAMPLER_INLINE Ints bit_xor(Ints a, Ints b) {
  Ints result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::bit_xor(a.piece[i], b.piece[i]);
  return result;
}
template <int kBits>
SAMPLER_INLINE Ints shift_left(Ints x) {
  Ints result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::shift_left<kBits>(x.piece[i]);
  return result;
}
template <int kBits>
SAMPLER_INLINE Ints shift_right(Ints x) {
  Ints result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::shift_right<kBits>(x.piece[i]);
  return result;
}
template <int kBits>
SAMPLER_INLINE Ints shift_right_signed(Ints x) {
  Ints result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::shift_right_signed<kBits>(x.piece[i]);
  return result;
}
SAMPLER_INLINE Floats float_of_signed(Ints x) {
  Floats result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::float_of_signed(x.piece[i]);
  return result;
}
SAMPLER_INLINE Floats float_of_unsigned(Ints x) {
  Floats result;
  for (int i = 0; i < kPieces; ++i) result.piece[i] = native::float_of_unsigned(x.piece[i]);
  return result;
}

SAMPLER_INLINE void multiply(Ints a, Ints b, Ints *high, Ints *low) {
  for (int i = 0; i < kPieces; ++i) {
    native::multiply(a.piece[i], b.piece[i], &high->piece[i], &low->piece[i]);
  }
}
SAMPLER_INLINE int64_t sum(Ints x) {
  int64_t result = 0;
  for (int i = 0; i < kPieces; ++i) result += native::sum(x.piece[i]);
  return result;
}
SAMPLER_INLINE uint32_t bits(Mask mask) {
  uint32_t result = 0;
  for (int i = 0; i < kPieces; ++i) result |= native::bits(mask.piece[i]) << (i * native::kLanes);
  return result;
}
SAMPLER_INLINE void store(float *p, Floats x) {
  for (int i = 0; i < kPieces; ++i) native::store(p + i * native::kLanes, x.piece[i]);
}
SAMPLER_INLINE void store(int32_t *p, Ints x) {
  for (int i = 0; i < kPieces; ++i) native::store(p + i * native::kLanes, x.piece[i]);
}
SAMPLER_INLINE void store_f16(uint16_t *p, Floats x) {
  for (int i = 0; i < kPieces; ++i) native::store_f16(p + i * native::kLanes, x.piece[i]);
}
SAMPLER_INLINE void store_low_halves(uint16_t *p, Ints x) {
  for (int i = 0; i < kPieces; ++i) native::store_low_halves(p + i * native::kLanes, x.piece[i]);
}
// Stores the high halves of two vectors, one vector after the other.
SAMPLER_INLINE void store_high_halves(uint16_t *p, Ints a, Ints b) {
  if (kPieces == 1) {
    native::store_high_halves(p, a.piece[0], b.piece[0]);
    return;
  }
  for (int i = 0; i + 1 < kPieces; i += 2) {
    native::store_high_halves(p + i * native::kLanes, a.piece[i], a.piece[i + 1]);
    native::store_high_halves(p + kWidth + i * native::kLanes, b.piece[i], b.piece[i + 1]);
  }
}
// Stores the lanes of the mask side by side. What follows them, up to kWidth, is overwritten.
SAMPLER_INLINE void store_packed(float *p, Mask mask, Floats x) {
  for (int i = 0; i < kPieces; ++i) {
    native::store_packed(p, mask.piece[i], x.piece[i]);
    p += __builtin_popcount(native::bits(mask.piece[i]));
  }
}

// ---- Two vectors of raw 16-bit floats

constexpr int kHalfPieces = 2 * kWidth / native::kHalfLanes;

struct Halves {
  native::Halves piece[kHalfPieces];
};

SAMPLER_INLINE Halves load_halves(const uint16_t *p) {
  Halves result;
  for (int i = 0; i < kHalfPieces; ++i)
    result.piece[i] = native::load_halves(p + i * native::kHalfLanes);
  return result;
}
SAMPLER_INLINE void store_halves(uint16_t *p, Halves x) {
  for (int i = 0; i < kHalfPieces; ++i)
    native::store_halves(p + i * native::kHalfLanes, x.piece[i]);
}
SAMPLER_INLINE Halves max_signed(Halves a, Halves b) {
  for (int i = 0; i < kHalfPieces; ++i) a.piece[i] = native::max_signed(a.piece[i], b.piece[i]);
  return a;
}
SAMPLER_INLINE Halves max_unsigned(Halves a, Halves b) {
  for (int i = 0; i < kHalfPieces; ++i) a.piece[i] = native::max_unsigned(a.piece[i], b.piece[i]);
  return a;
}
SAMPLER_INLINE Halves min_unsigned(Halves a, Halves b) {
  for (int i = 0; i < kHalfPieces; ++i) a.piece[i] = native::min_unsigned(a.piece[i], b.piece[i]);
  return a;
}
SAMPLER_INLINE Halves splat_halves(uint16_t x) {
  Halves result;
  for (int i = 0; i < kHalfPieces; ++i) result.piece[i] = native::splat_halves(x);
  return result;
}
// The bits of `seen`, and those of x that adding `addend` to it changes.
SAMPLER_INLINE Halves or_changes(Halves seen, Halves x, Halves addend) {
  for (int i = 0; i < kHalfPieces; ++i)
    seen.piece[i] = native::or_changes(seen.piece[i], x.piece[i], addend.piece[i]);
  return seen;
}
// x where its sign bit is clear, else the other.
SAMPLER_INLINE Halves if_positive(Halves x, Halves other) {
  for (int i = 0; i < kHalfPieces; ++i)
    x.piece[i] = native::if_positive(x.piece[i], other.piece[i]);
  return x;
}

}  // namespace
}  // namespace sampler::cpu::SAMPLER_ISA
