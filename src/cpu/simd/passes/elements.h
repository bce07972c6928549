// Access to a row's elements, of any type, as vectors of f32.
#pragma once

#include "contract/row_view.h"
#include "cpu/simd/inline.h"
#include "cpu/simd/passes.h"

namespace sampler::cpu::SAMPLER_ISA {
namespace {

using contract::RowView;

static_assert(kVectorElements == kWidth, "a vector of the passes");

constexpr float kInfinity = __builtin_inff();
constexpr float kNaN = __builtin_nanf("");

SAMPLER_INLINE int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}
SAMPLER_INLINE int64_t count_of(Mask mask) {
  return __builtin_popcount(bits(mask));
}
SAMPLER_INLINE int32_t raw_bits(float x) {
  int32_t raw;
  __builtin_memcpy(&raw, &x, sizeof raw);
  return raw;
}
SAMPLER_INLINE float raw_float(uint32_t raw) {
  float x;
  __builtin_memcpy(&x, &raw, sizeof x);
  return x;
}
// Each lane's own index.
SAMPLER_INLINE Ints lane_indices() {
  static const int32_t indices[kWidth] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return load(indices);
}
SAMPLER_INLINE float largest(Floats x) {
  float lanes[kWidth];
  store(lanes, x);
  float result = lanes[0];
  for (int i = 1; i < kWidth; ++i) result = lanes[i] > result ? lanes[i] : result;
  return result;
}

struct F32 {
  using Element = float;
  static SAMPLER_INLINE Floats read(const float *p) { return held(load(p)); }
  static SAMPLER_INLINE void write(float *p, Floats x) { store(p, x); }
  static SAMPLER_INLINE void write_two(float *p, Floats x, Floats y) {
    write(p, x);
    write(p + kWidth, y);
  }
  static SAMPLER_INLINE float from(float x) { return x; }
  static SAMPLER_INLINE float value(float x) { return x; }
};

struct F16 {
  using Element = uint16_t;
  static constexpr uint16_t kFirstNaN = 0x7C01;  // the last is 0x7FFF, apart from the sign
  static SAMPLER_INLINE Floats read(const uint16_t *p) { return load_f16(p); }
  static SAMPLER_INLINE void write(uint16_t *p, Floats x) { store_f16(p, x); }
  static SAMPLER_INLINE void write_two(uint16_t *p, Floats x, Floats y) {
    write(p, x);
    write(p + kWidth, y);
  }
  static SAMPLER_INLINE uint16_t from(float x) {
    return x == kInfinity ? 0x7C00 : x == -kInfinity ? 0xFC00 : x == 0.0f ? 0 : 0x7E00;
  }
  static SAMPLER_INLINE float value(uint16_t x) { return native::float_of_f16(x); }
};

struct Bf16 {
  using Element = uint16_t;
  static constexpr uint16_t kFirstNaN = 0x7F81;
  static SAMPLER_INLINE Floats read(const uint16_t *p) { return load_bf16(p); }
  static SAMPLER_INLINE void write(uint16_t *p, Floats x) {
    store_low_halves(p, shift_right<16>(rounded(x)));
  }
  static SAMPLER_INLINE void write_two(uint16_t *p, Floats x, Floats y) {
    store_high_halves(p, rounded(x), rounded(y));
  }
  static SAMPLER_INLINE uint16_t from(float x) { return uint16_t(uint32_t(raw_bits(x)) >> 16); }
  static SAMPLER_INLINE float value(uint16_t x) { return raw_float(uint32_t(x) << 16); }

 private:
  // Rounds to nearest even, in the upper half. Not for NaN.
  static SAMPLER_INLINE Ints rounded(Floats x) {
    const Ints raw = as_ints(x);
    const Ints odd = bit_and(shift_right<16>(raw), splat(int32_t(1)));
    return add(add(raw, splat(int32_t(0x7FFF))), odd);
  }
};

// Calls f(type) with the type of the elements.
template <class F>
SAMPLER_INLINE auto with_type(sampler_dtype dtype, const F &f) {
  switch (dtype) {
    case SAMPLER_F16:
      return f(F16());
    case SAMPLER_BF16:
      return f(Bf16());
    default:
      return f(F32());
  }
}

template <class Type>
SAMPLER_INLINE const typename Type::Element *elements(const void *values) {
  return static_cast<const typename Type::Element *>(values);
}

// The ids of a list; null for a row, whose ids are its columns.
SAMPLER_INLINE const int32_t *ids_of(const RowView &source) {
  return static_cast<const int32_t *>(source.ids);
}

// The first `count` elements, with `filler` (an infinity, 0 or NaN) in the other lanes.
template <class Type>
SAMPLER_INLINE Floats read_some(const typename Type::Element *p, int64_t count, float filler) {
  typename Type::Element lanes[kWidth];
  for (int i = 0; i < kWidth; ++i) lanes[i] = Type::from(filler);
  // Callers have fewer than kWidth: without optimisation GCC warns of branches that are never
  // taken.
  __builtin_memcpy(lanes, p, size_t(smaller(count, kWidth)) * sizeof *p);
  return Type::read(lanes);
}

// The first `lanes` values, which may be all, with `filler` in the other lanes.
SAMPLER_INLINE Floats read_up_to(const float *p, int64_t lanes, float filler) {
  return lanes == kWidth ? F32::read(p) : read_some<F32>(p, lanes, filler);
}

template <class Type>
SAMPLER_INLINE void write_some(typename Type::Element *p, int64_t count, Floats x) {
  typename Type::Element lanes[kWidth];
  Type::write(lanes, x);
  __builtin_memcpy(p, lanes, size_t(count) * sizeof *p);
}

// The part of a bitmask from element `begin` on, a multiple of kWidth: 16 bits per vector. Words
// are little-endian.
SAMPLER_INLINE const uint16_t *bits_from(const uint32_t *words, int64_t begin) {
  return reinterpret_cast<const uint16_t *>(words) + begin / kWidth;
}
// Which elements of a vector it allows.
SAMPLER_INLINE Mask allowed_by(const uint16_t *vector_bits) {
  uint16_t bits;
  __builtin_memcpy(&bits, vector_bits, sizeof bits);
  return mask_of_bits(bits, 0);
}

// Calls f(x, index, lanes) for the vectors of elements [begin, end). The last may have fewer than
// kWidth lanes: the others hold NaN, for which all comparisons are false.
template <class Type, class F>
SAMPLER_INLINE void for_each_vector(const typename Type::Element *p, int64_t begin, int64_t end,
                                    const F &f) {
  int64_t i = begin;
  for (; i + kWidth <= end; i += kWidth) f(Type::read(p + i), i, int64_t(kWidth));
  if (i < end) f(read_some<Type>(p + i, end - i, kNaN), i, end - i);
}

// Maximum number of elements widened at once.
constexpr int64_t kWidened = kWeightBlock;

// Not inlined: the passes would be larger by a fifth.
[[gnu::noinline]] void widen(const RowView &source, int64_t begin, int64_t end, float *memory) {
  with_type(source.dtype, [&](auto type) {
    using Type = decltype(type);
    const auto *const p = elements<Type>(source.values) + begin;
    for_each_vector<Type>(p, 0, end - begin,
                          [&](Floats x, int64_t index, int64_t lanes) SAMPLER_INLINE_LAMBDA {
                            if (lanes == kWidth) {
                              store(memory + index, x);
                            } else {
                              write_some<F32>(memory + index, lanes, x);
                            }
                          });
  });
}

// Elements [begin, end) as f32, in `memory` unless they are f32. For passes with much arithmetic,
// which are compiled once for all types.
SAMPLER_INLINE const float *widened(const RowView &source, int64_t begin, int64_t end,
                                    float (&memory)[kWidened]) {
  if (source.dtype == SAMPLER_F32) return elements<F32>(source.values) + begin;
  widen(source, begin, end, memory);
  return memory;
}

}  // namespace
}  // namespace sampler::cpu::SAMPLER_ISA
