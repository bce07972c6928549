// Vectors of 16 elements, composed of native vectors of any instruction set.
//
// All instruction sets divide a row into the same vectors, blocks and groups, so the passes are
// written once and the workspace does not depend on the machine.
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

// Applies f to each native vector. A loop would be unrolled late and double the compile time.
template <class Wide, class F>
SAMPLER_INLINE Wide each(const F &f) {
  constexpr int kCount = sizeof(Wide::piece) / sizeof(Wide::piece[0]);
  static_assert(kCount == 1 || kCount == 2 || kCount == 4, "written out below");
  if constexpr (kCount == 1) {
    return {{f(0)}};
  } else if constexpr (kCount == 2) {
    return {{f(0), f(1)}};
  } else {
    return {{f(0), f(1), f(2), f(3)}};
  }
}

SAMPLER_INLINE Floats splat(float x) {
  return each<Floats>([&](int) SAMPLER_INLINE_LAMBDA { return native::splat(x); });
}
SAMPLER_INLINE Ints splat(int32_t x) {
  return each<Ints>([&](int) SAMPLER_INLINE_LAMBDA { return native::splat(x); });
}
SAMPLER_INLINE Floats load(const float *p) {
  return each<Floats>([&](int i)
                          SAMPLER_INLINE_LAMBDA { return native::load(p + i * native::kLanes); });
}
SAMPLER_INLINE Ints load(const int32_t *p) {
  return each<Ints>([&](int i)
                        SAMPLER_INLINE_LAMBDA { return native::load(p + i * native::kLanes); });
}
SAMPLER_INLINE Floats load_f16(const uint16_t *p) {
  return each<Floats>(
      [&](int i) SAMPLER_INLINE_LAMBDA { return native::load_f16(p + i * native::kLanes); });
}
SAMPLER_INLINE Floats load_bf16(const uint16_t *p) {
  return each<Floats>(
      [&](int i) SAMPLER_INLINE_LAMBDA { return native::load_bf16(p + i * native::kLanes); });
}
SAMPLER_INLINE Floats held(Floats x) {
  for (int i = 0; i < kPieces; ++i) native::hold(x.piece[i]);
  return x;
}
SAMPLER_INLINE Floats add(Floats a, Floats b) {
  return each<Floats>([&](int i)
                          SAMPLER_INLINE_LAMBDA { return native::add(a.piece[i], b.piece[i]); });
}
SAMPLER_INLINE Floats sub(Floats a, Floats b) {
  return each<Floats>([&](int i)
                          SAMPLER_INLINE_LAMBDA { return native::sub(a.piece[i], b.piece[i]); });
}
SAMPLER_INLINE Floats mul(Floats a, Floats b) {
  return each<Floats>([&](int i)
                          SAMPLER_INLINE_LAMBDA { return native::mul(a.piece[i], b.piece[i]); });
}
SAMPLER_INLINE Floats div(Floats a, Floats b) {
  return each<Floats>([&](int i)
                          SAMPLER_INLINE_LAMBDA { return native::div(a.piece[i], b.piece[i]); });
}
SAMPLER_INLINE Floats max(Floats a, Floats b) {
  return each<Floats>([&](int i)
                          SAMPLER_INLINE_LAMBDA { return native::max(a.piece[i], b.piece[i]); });
}
SAMPLER_INLINE Floats min(Floats a, Floats b) {
  return each<Floats>([&](int i)
                          SAMPLER_INLINE_LAMBDA { return native::min(a.piece[i], b.piece[i]); });
}
SAMPLER_INLINE Floats fma(Floats a, Floats b, Floats c) {
  return each<Floats>(
      [&](int i) SAMPLER_INLINE_LAMBDA { return native::fma(a.piece[i], b.piece[i], c.piece[i]); });
}
// x - nearest integer (ties to even), for |x| <= 2^22.
SAMPLER_INLINE Floats minus_nearest(Floats x) {
  return each<Floats>([&](int i)
                          SAMPLER_INLINE_LAMBDA { return native::minus_nearest(x.piece[i]); });
}
SAMPLER_INLINE Mask ge(Floats a, Floats b) {
  return each<Mask>([&](int i)
                        SAMPLER_INLINE_LAMBDA { return native::ge(a.piece[i], b.piece[i]); });
}
SAMPLER_INLINE Mask gt(Floats a, Floats b) {
  return each<Mask>([&](int i)
                        SAMPLER_INLINE_LAMBDA { return native::gt(a.piece[i], b.piece[i]); });
}
// Whether the sign bit is set.
SAMPLER_INLINE Mask negative(Floats x) {
  return each<Mask>([&](int i) SAMPLER_INLINE_LAMBDA { return native::negative(x.piece[i]); });
}
SAMPLER_INLINE Mask unordered(Floats a, Floats b) {
  return each<Mask>(
      [&](int i) SAMPLER_INLINE_LAMBDA { return native::unordered(a.piece[i], b.piece[i]); });
}
SAMPLER_INLINE Mask both(Mask a, Mask b) {
  return each<Mask>([&](int i)
                        SAMPLER_INLINE_LAMBDA { return native::both(a.piece[i], b.piece[i]); });
}
SAMPLER_INLINE Mask either(Mask a, Mask b) {
  return each<Mask>([&](int i)
                        SAMPLER_INLINE_LAMBDA { return native::either(a.piece[i], b.piece[i]); });
}
SAMPLER_INLINE Mask within(Floats x, Floats least, Floats most) {
  return each<Mask>([&](int i) SAMPLER_INLINE_LAMBDA {
    return native::within(x.piece[i], least.piece[i], most.piece[i]);
  });
}
// Mask from the bits of an integer, one per lane from bit `first` on, for choose() and bits(). Fast
// only where `first` is a constant.
SAMPLER_INLINE Mask mask_of_bits(uint32_t bits, int first) {
  return each<Mask>([&](int i) SAMPLER_INLINE_LAMBDA {
    return native::mask_of_bits(bits, first + i * native::kLanes);
  });
}
SAMPLER_INLINE Mask equal(Ints a, Ints b) {
  return each<Mask>([&](int i)
                        SAMPLER_INLINE_LAMBDA { return native::equal(a.piece[i], b.piece[i]); });
}
SAMPLER_INLINE Floats choose(Mask mask, Floats a, Floats b) {
  return each<Floats>([&](int i) SAMPLER_INLINE_LAMBDA {
    return native::choose(mask.piece[i], a.piece[i], b.piece[i]);
  });
}
SAMPLER_INLINE Floats zero_unless(Mask mask, Floats a) {
  return each<Floats>(
      [&](int i) SAMPLER_INLINE_LAMBDA { return native::zero_unless(mask.piece[i], a.piece[i]); });
}
SAMPLER_INLINE Ints as_ints(Floats x) {
  return each<Ints>([&](int i) SAMPLER_INLINE_LAMBDA { return native::as_ints(x.piece[i]); });
}
SAMPLER_INLINE Floats as_floats(Ints x) {
  return each<Floats>([&](int i) SAMPLER_INLINE_LAMBDA { return native::as_floats(x.piece[i]); });
}
SAMPLER_INLINE Ints add(Ints a, Ints b) {
  return each<Ints>([&](int i)
                        SAMPLER_INLINE_LAMBDA { return native::add(a.piece[i], b.piece[i]); });
}
SAMPLER_INLINE Ints sub(Ints a, Ints b) {
  return each<Ints>([&](int i)
                        SAMPLER_INLINE_LAMBDA { return native::sub(a.piece[i], b.piece[i]); });
}
SAMPLER_INLINE Ints bit_and(Ints a, Ints b) {
  return each<Ints>([&](int i)
                        SAMPLER_INLINE_LAMBDA { return native::bit_and(a.piece[i], b.piece[i]); });
}
SAMPLER_INLINE Ints bit_xor(Ints a, Ints b) {
  return each<Ints>([&](int i)
                        SAMPLER_INLINE_LAMBDA { return native::bit_xor(a.piece[i], b.piece[i]); });
}
template <int kBits>
SAMPLER_INLINE Ints shift_left(Ints x) {
  return each<Ints>([&](int i)
                        SAMPLER_INLINE_LAMBDA { return native::shift_left<kBits>(x.piece[i]); });
}
template <int kBits>
SAMPLER_INLINE Ints shift_right(Ints x) {
  return each<Ints>([&](int i)
                        SAMPLER_INLINE_LAMBDA { return native::shift_right<kBits>(x.piece[i]); });
}
template <int kBits>
SAMPLER_INLINE Ints shift_right_signed(Ints x) {
  return each<Ints>(
      [&](int i) SAMPLER_INLINE_LAMBDA { return native::shift_right_signed<kBits>(x.piece[i]); });
}
// Minimum of unsigned integers.
SAMPLER_INLINE Ints min_words(Ints a, Ints b) {
  return each<Ints>(
      [&](int i) SAMPLER_INLINE_LAMBDA { return native::min_words(a.piece[i], b.piece[i]); });
}
SAMPLER_INLINE Floats float_of_signed(Ints x) {
  return each<Floats>([&](int i)
                          SAMPLER_INLINE_LAMBDA { return native::float_of_signed(x.piece[i]); });
}
SAMPLER_INLINE Floats float_of_unsigned(Ints x) {
  return each<Floats>([&](int i)
                          SAMPLER_INLINE_LAMBDA { return native::float_of_unsigned(x.piece[i]); });
}

SAMPLER_INLINE void multiply(Ints a, Ints b, Ints *high, Ints *low) {
  for (int i = 0; i < kPieces; ++i) {
    native::multiply(a.piece[i], b.piece[i], &high->piece[i], &low->piece[i]);
  }
}
// Sums of signed products; only for add_products() and sum_of_products().
SAMPLER_INLINE Ints add_products(Ints a, Ints b, Ints sums) {
  return each<Ints>([&](int i) SAMPLER_INLINE_LAMBDA {
    return native::add_products(a.piece[i], b.piece[i], sums.piece[i]);
  });
}
SAMPLER_INLINE int64_t sum_of_products(Ints sums) {
  uint64_t result = 0;
  for (int i = 0; i < kPieces; ++i) result += uint64_t(native::sum_of_products(sums.piece[i]));
  return int64_t(result);
}
// Stores the sums of `sum` and the weights up to each lane, given the weights' limbs, and returns
// the last. Sums of a native vector's limbs fit 32 bits.
SAMPLER_INLINE native::Sum store_sums(uint64_t *p, Ints high, Ints low, native::Sum sum) {
  for (int i = 0; i < kPieces; ++i) {
    sum = native::store_sums(p + i * native::kLanes, high.piece[i], low.piece[i], sum);
  }
  return sum;
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
// Compacts and stores the lanes of the mask; returns their number. Overwrites up to kWidth
// elements.
SAMPLER_INLINE int64_t store_packed(float *p, Mask mask, Floats x) {
  int64_t count = 0;
  const auto store_piece = [&](int i) SAMPLER_INLINE_LAMBDA {
    native::store_packed(p + count, mask.piece[i], x.piece[i]);
    count += __builtin_popcount(native::bits(mask.piece[i]));
  };
  // Not a loop, which would spill x to memory.
  store_piece(0);
  if constexpr (kPieces > 1) store_piece(1);
  if constexpr (kPieces > 2) {
    store_piece(2);
    store_piece(3);
  }
  return count;
}

// Stores the table indices of four vectors, in any order. Returns whether some are not below the
// last; negative ones, which are beyond, only with kAnySign.
template <bool kAnySign>
SAMPLER_INLINE bool store_indices(native::TableIndex *p, const Ints (&indices)[4], int last) {
  constexpr int kStep = native::kIndexVectors;
  native::Ints all[4 * kPieces];
  for (int i = 0; i < 4 * kPieces; ++i) all[i] = indices[i / kPieces].piece[i % kPieces];
  bool is_beyond = false;
  for (int i = 0; i < 4 * kPieces; i += kStep) {
    is_beyond |= native::store_indices<kAnySign>(p + i * native::kLanes, all + i, last);
  }
  return is_beyond;
}

// ---- Two vectors of raw 16-bit floats

constexpr int kHalfPieces = 2 * kWidth / native::kHalfLanes;

struct Halves {
  native::Halves piece[kHalfPieces];
};

SAMPLER_INLINE Halves load_halves(const uint16_t *p) {
  return each<Halves>(
      [&](int i) SAMPLER_INLINE_LAMBDA { return native::load_halves(p + i * native::kHalfLanes); });
}
SAMPLER_INLINE void store_halves(uint16_t *p, Halves x) {
  for (int i = 0; i < kHalfPieces; ++i)
    native::store_halves(p + i * native::kHalfLanes, x.piece[i]);
}
SAMPLER_INLINE Halves max_signed(Halves a, Halves b) {
  return each<Halves>(
      [&](int i) SAMPLER_INLINE_LAMBDA { return native::max_signed(a.piece[i], b.piece[i]); });
}
SAMPLER_INLINE Halves max_unsigned(Halves a, Halves b) {
  return each<Halves>(
      [&](int i) SAMPLER_INLINE_LAMBDA { return native::max_unsigned(a.piece[i], b.piece[i]); });
}
SAMPLER_INLINE Halves min_unsigned(Halves a, Halves b) {
  return each<Halves>(
      [&](int i) SAMPLER_INLINE_LAMBDA { return native::min_unsigned(a.piece[i], b.piece[i]); });
}
SAMPLER_INLINE Halves splat_halves(uint16_t x) {
  return each<Halves>([&](int) SAMPLER_INLINE_LAMBDA { return native::splat_halves(x); });
}
// seen | (x ^ (x + addend)).
SAMPLER_INLINE Halves or_changes(Halves seen, Halves x, Halves addend) {
  return each<Halves>([&](int i) SAMPLER_INLINE_LAMBDA {
    return native::or_changes(seen.piece[i], x.piece[i], addend.piece[i]);
  });
}
// x where its sign bit is clear, else `other`.
SAMPLER_INLINE Halves if_positive(Halves x, Halves other) {
  return each<Halves>(
      [&](int i) SAMPLER_INLINE_LAMBDA { return native::if_positive(x.piece[i], other.piece[i]); });
}

}  // namespace
}  // namespace sampler::cpu::SAMPLER_ISA
