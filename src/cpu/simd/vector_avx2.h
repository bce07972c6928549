// AVX2, FMA and F16C primitives for wide.h: vectors of 8.
#pragma once

#include <immintrin.h>

#if !defined(__AVX2__) || !defined(__FMA__) || !defined(__F16C__) || defined(__AVX512F__)
#error "compile this unit with -mavx2 -mfma -mf16c"
#endif

#include <cstdint>

#include "cpu/simd/inline.h"
#include "cpu/simd/passes.h"

#define SAMPLER_ISA avx2

namespace sampler::cpu::SAMPLER_ISA {
namespace {
namespace native {

constexpr int kLanes = 8;
using Floats = __m256;
using Ints = __m256i;
struct Mask {
  __m256 lanes;  // all ones or all zeros
};

SAMPLER_INLINE Floats splat(float x) {
  return _mm256_set1_ps(x);
}
SAMPLER_INLINE Ints splat(int32_t x) {
  return _mm256_set1_epi32(x);
}
SAMPLER_INLINE Floats load(const float *p) {
  return _mm256_loadu_ps(p);
}
SAMPLER_INLINE Ints load(const int32_t *p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p));
}
SAMPLER_INLINE Floats load_f16(const uint16_t *p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p)));
}
SAMPLER_INLINE float float_of_f16(uint16_t x) {
  return _cvtsh_ss(x);
}
SAMPLER_INLINE Floats load_bf16(const uint16_t *p) {
  const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i *>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}
SAMPLER_INLINE void store(float *p, Floats x) {
  _mm256_storeu_ps(p, x);
}
SAMPLER_INLINE void store(int32_t *p, Ints x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), x);
}
SAMPLER_INLINE void store_f16(uint16_t *p, Floats x) {
  _mm_storeu_si128(reinterpret_cast<__m128i *>(p), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
SAMPLER_INLINE void store_low_halves(uint16_t *p, Ints x) {
  const __m256i packed =
      _mm256_packus_epi32(_mm256_and_si256(x, _mm256_set1_epi32(0xFFFF)), _mm256_setzero_si256());
  _mm_storeu_si128(reinterpret_cast<__m128i *>(p),
                   _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08)));
}
// Stores the high halves of a, then those of b.
SAMPLER_INLINE void store_high_halves(uint16_t *p, Ints a, Ints b) {
  const __m256i packed = _mm256_packus_epi32(_mm256_srli_epi32(a, 16), _mm256_srli_epi32(b, 16));
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), _mm256_permute4x64_epi64(packed, 0xD8));
}

// Keeps x in a register: the compiler would reload it from memory for each use.
SAMPLER_INLINE void hold(Floats &x) {
  asm("" : "+x"(x));
}

SAMPLER_INLINE Floats add(Floats a, Floats b) {
  return _mm256_add_ps(a, b);
}
SAMPLER_INLINE Floats sub(Floats a, Floats b) {
  return _mm256_sub_ps(a, b);
}
SAMPLER_INLINE Floats mul(Floats a, Floats b) {
  return _mm256_mul_ps(a, b);
}
SAMPLER_INLINE Floats div(Floats a, Floats b) {
  return _mm256_div_ps(a, b);
}
SAMPLER_INLINE Floats fma(Floats a, Floats b, Floats c) {
  return _mm256_fmadd_ps(a, b, c);
}
SAMPLER_INLINE Floats max(Floats a, Floats b) {
  return _mm256_max_ps(a, b);
}
SAMPLER_INLINE Floats min(Floats a, Floats b) {
  return _mm256_min_ps(a, b);
}
constexpr bool kHasMasks = false;         // in registers of their own
constexpr bool kIsNearestFinite = false;  // minus_nearest() of infinity is NaN
SAMPLER_INLINE Floats minus_nearest(Floats x) {
  return _mm256_sub_ps(x, _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT));
}
SAMPLER_INLINE Mask ge(Floats a, Floats b) {
  return {_mm256_cmp_ps(a, b, _CMP_GE_OQ)};
}
SAMPLER_INLINE Mask gt(Floats a, Floats b) {
  return {_mm256_cmp_ps(a, b, _CMP_GT_OQ)};
}
// Sets the lanes' sign bits only, as mask_of_bits().
SAMPLER_INLINE Mask negative(Floats x) {
  return {x};
}
SAMPLER_INLINE Mask unordered(Floats a, Floats b) {
  return {_mm256_cmp_ps(a, b, _CMP_UNORD_Q)};
}
SAMPLER_INLINE Mask both(Mask a, Mask b) {
  return {_mm256_and_ps(a.lanes, b.lanes)};
}
SAMPLER_INLINE Mask either(Mask a, Mask b) {
  return {_mm256_or_ps(a.lanes, b.lanes)};
}
SAMPLER_INLINE uint32_t bits(Mask mask) {
  return uint32_t(_mm256_movemask_ps(mask.lanes));
}
// Sets the lanes' sign bits only, which is all that choose() and bits() use.
SAMPLER_INLINE Mask mask_of_bits(uint32_t bits, int first) {
  const __m256i to_sign =
      _mm256_sub_epi32(_mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24), _mm256_set1_epi32(first));
  const __m256i all = _mm256_set1_epi32(int32_t(bits));
  return {_mm256_castsi256_ps(_mm256_sllv_epi32(all, to_sign))};
}
SAMPLER_INLINE Mask equal(Ints a, Ints b) {
  return {_mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b))};
}
// Nibble tables for byte shuffles: a gather would take 8 loads.
SAMPLER_INLINE void mark_id(uint32_t id, IdBits *set) {
  for (int i = 0; i < kIdNibbles; ++i) {
    set->nibbles[i][id >> (4 * i) & 15] |= uint8_t(1u << (id % 8));
  }
}
struct IdTables {
  __m256i nibbles[kIdNibbles];
};
SAMPLER_INLINE IdTables load_id_tables(const IdBits &bits) {
  IdTables tables;
  for (int i = 0; i < kIdNibbles; ++i) {
    const auto *const bytes = reinterpret_cast<const __m128i *>(bits.nibbles[i]);
    tables.nibbles[i] = _mm256_broadcastsi128_si256(_mm_loadu_si128(bytes));
  }
  return tables;
}
SAMPLER_INLINE uint32_t find_32_ids(const IdTables &tables, const int32_t *ids) {
  const auto lower = [&](int i) SAMPLER_INLINE_LAMBDA {
    return _mm256_and_si256(load(ids + i * kLanes), _mm256_set1_epi32(0xFFFF));
  };
  const __m256i first = _mm256_packus_epi32(lower(0), lower(1));
  const __m256i last = _mm256_packus_epi32(lower(2), lower(3));
  const __m256i byte = _mm256_set1_epi16(0xFF), nibble = _mm256_set1_epi8(15);
  const __m256i bytes[] = {
      _mm256_packus_epi16(_mm256_and_si256(first, byte), _mm256_and_si256(last, byte)),
      _mm256_packus_epi16(_mm256_srli_epi16(first, 8), _mm256_srli_epi16(last, 8))};
  __m256i found = _mm256_set1_epi8(-1);
  for (int i = 0; i < kIdNibbles; ++i) {
    const __m256i shifted = i % 2 == 0 ? bytes[i / 2] : _mm256_srli_epi16(bytes[i / 2], 4);
    const __m256i place = _mm256_and_si256(shifted, nibble);
    found = _mm256_and_si256(found, _mm256_shuffle_epi8(tables.nibbles[i], place));
  }
  // Packing has moved each group of four ids to another half.
  const __m256i none = _mm256_permutevar8x32_epi32(_mm256_cmpeq_epi8(found, _mm256_setzero_si256()),
                                                   _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  return ~uint32_t(_mm256_movemask_epi8(none));
}
SAMPLER_INLINE uint64_t find_ids(const IdTables &tables, const int32_t *ids) {
  return find_32_ids(tables, ids) | uint64_t(find_32_ids(tables, ids + 32)) << 32;
}
SAMPLER_INLINE Floats choose(Mask mask, Floats a, Floats b) {
  return _mm256_blendv_ps(b, a, mask.lanes);
}
SAMPLER_INLINE Mask within(Floats x, Floats least, Floats most) {
  return both(ge(x, least), ge(most, x));
}
SAMPLER_INLINE Floats zero_unless(Mask mask, Floats a) {
  return _mm256_and_ps(mask.lanes, a);
}

SAMPLER_INLINE Ints as_ints(Floats x) {
  return _mm256_castps_si256(x);
}
SAMPLER_INLINE Floats as_floats(Ints x) {
  return _mm256_castsi256_ps(x);
}
SAMPLER_INLINE Ints add(Ints a, Ints b) {
  return _mm256_add_epi32(a, b);
}
SAMPLER_INLINE Ints sub(Ints a, Ints b) {
  return _mm256_sub_epi32(a, b);
}
SAMPLER_INLINE Ints bit_and(Ints a, Ints b) {
  return _mm256_and_si256(a, b);
}
SAMPLER_INLINE Ints bit_xor(Ints a, Ints b) {
  return _mm256_xor_si256(a, b);
}
template <int kBits>
SAMPLER_INLINE Ints shift_left(Ints x) {
  return _mm256_slli_epi32(x, kBits);
}
template <int kBits>
SAMPLER_INLINE Ints shift_right(Ints x) {
  return _mm256_srli_epi32(x, kBits);
}
template <int kBits>
SAMPLER_INLINE Ints shift_right_signed(Ints x) {
  return _mm256_srai_epi32(x, kBits);
}
SAMPLER_INLINE Floats float_of_signed(Ints x) {
  return _mm256_cvtepi32_ps(x);
}
SAMPLER_INLINE Ints min_words(Ints a, Ints b) {
  return _mm256_min_epu32(a, b);
}
// Both halves are exact; only the sum rounds.
SAMPLER_INLINE Floats float_of_unsigned(Ints x) {
  const Floats high = float_of_signed(shift_right<16>(x));
  const Floats low = float_of_signed(bit_and(x, splat(int32_t(0xFFFF))));
  return fma(high, splat(65536.0f), low);
}
// High and low words of the unsigned products.
SAMPLER_INLINE void multiply(Ints a, Ints b, Ints *high, Ints *low) {
  const __m256i even = _mm256_mul_epu32(a, b);
  const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), b);
  *high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
  *low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
}
// Sums of signed products, in lanes of 64 bits.
SAMPLER_INLINE Ints add_products(Ints a, Ints b, Ints sums) {
  const __m256i even = _mm256_mul_epi32(a, b);
  const __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));
  return _mm256_add_epi64(sums, _mm256_add_epi64(even, odd));
}
SAMPLER_INLINE int64_t sum_of_products(Ints sums) {
  const __m128i pair =
      _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  return int64_t(uint64_t(_mm_extract_epi64(pair, 0)) + uint64_t(_mm_extract_epi64(pair, 1)));
}
// Each lane becomes the sum of the lanes up to it.
SAMPLER_INLINE Ints running_sum(Ints x) {
  x = _mm256_add_epi32(x, _mm256_slli_si256(x, 4));
  x = _mm256_add_epi32(x, _mm256_slli_si256(x, 8));
  const __m256i lower = _mm256_permute2x128_si256(x, x, 0x08);  // in the upper half; else 0
  return _mm256_add_epi32(x, _mm256_shuffle_epi32(lower, 0xFF));
}
// A sum of weights, in all lanes.
using Sum = __m256i;
SAMPLER_INLINE Sum sum_from(uint64_t x) {
  return _mm256_set1_epi64x(int64_t(x));
}
SAMPLER_INLINE uint64_t value_of(Sum sum) {
  return uint64_t(_mm_cvtsi128_si64(_mm256_castsi256_si128(sum)));
}
// Stores the sums up to each lane, given the limbs, and returns the last.
SAMPLER_INLINE Sum store_sums(uint64_t *p, Ints high, Ints low, Sum sum) {
  high = running_sum(high);
  low = running_sum(low);
  const auto add_limbs = [](__m128i h, __m128i l) SAMPLER_INLINE_LAMBDA {
    const __m256i units = _mm256_slli_epi64(_mm256_cvtepi32_epi64(h), contract::kLowLimbBits);
    return _mm256_add_epi64(units, _mm256_cvtepi32_epi64(l));
  };
  const __m256i first = add_limbs(_mm256_castsi256_si128(high), _mm256_castsi256_si128(low));
  const __m256i last =
      add_limbs(_mm256_extracti128_si256(high, 1), _mm256_extracti128_si256(low, 1));
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), _mm256_add_epi64(sum, first));
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(p + kLanes / 2), _mm256_add_epi64(sum, last));
  return _mm256_add_epi64(sum, _mm256_permute4x64_epi64(last, 0xFF));
}
// The sum of signed lanes.
SAMPLER_INLINE int64_t sum(Ints x) {
  const __m256i pairs = _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(x)),
                                         _mm256_cvtepi32_epi64(_mm256_extracti128_si256(x, 1)));
  const __m128i pair =
      _mm_add_epi64(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
  return _mm_extract_epi64(pair, 0) + _mm_extract_epi64(pair, 1);
}

// For each mask, the indices of its lanes, compacted, as bytes.
struct PackTable {
  uint64_t lanes[256];
};
constexpr PackTable make_pack_table() {
  PackTable table = {};
  for (int mask = 0; mask < 256; ++mask) {
    int place = 0;
    for (int lane = 0; lane < 8; ++lane) {
      if (mask >> lane & 1) table.lanes[mask] |= uint64_t(lane) << (8 * place++);
    }
  }
  return table;
}
constexpr PackTable kPackTable = make_pack_table();

// Compacts and stores the lanes of the mask. Overwrites up to kLanes elements.
SAMPLER_INLINE void store_packed(float *p, Mask mask, Floats x) {
  const __m128i lanes = _mm_cvtsi64_si128(int64_t(kPackTable.lanes[bits(mask)]));
  store(p, _mm256_permutevar8x32_ps(x, _mm256_cvtepu8_epi32(lanes)));
}

// Tables of weights. The last one is 0, and stands for all indices beyond. They are kept as bytes.
constexpr int kSmallTable = 32, kLargeTable = kSmallTable;
struct WeightTable {
  int size;
  uint8_t bytes[6][kLargeTable];
};
SAMPLER_INLINE void set_weight(WeightTable *table, int i, uint64_t weight) {
  for (int part = 0; part < 6; ++part) table->bytes[part][i] = uint8_t(weight >> (8 * part));
}
// Stores the indices of four vectors, in any order. Returns whether some are beyond; negative ones
// only with kAnySign.
using TableIndex = uint8_t;
constexpr int kIndexVectors = 4;
template <bool kAnySign>
SAMPLER_INLINE bool store_indices(TableIndex *p, const Ints *indices, int last) {
  const __m256i most = _mm256_set1_epi8(int8_t(last));
  const __m256i low = _mm256_packs_epi32(indices[0], indices[1]);
  const __m256i high = _mm256_packs_epi32(indices[2], indices[3]);
  const __m256i packed = _mm256_packs_epi16(low, high);
  const __m256i index = _mm256_min_epu8(packed, most);
  const __m256i low_index = _mm256_add_epi8(index, _mm256_set1_epi8(0x70));
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), low_index);
  const __m256i below = _mm256_set1_epi8(int8_t(last - 1));
  return _mm256_movemask_epi8(_mm256_cmpgt_epi8(kAnySign ? index : packed, below)) != 0;
}
// The sum of the weights at up to kWeightBlock indices, a multiple of 64. Takes two bytes at a
// time: their tables stay in registers.
SAMPLER_INLINE uint64_t sum_of_weights(const WeightTable &table, const TableIndex *indices,
                                       int64_t count) {
  uint64_t result = 0;
  for (int first = 0; first < 6; first += 2) {
    __m256i bytes[2][2], sums[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    for (int i = 0; i < 4; ++i) {
      bytes[i / 2][i % 2] = _mm256_broadcastsi128_si256(_mm_loadu_si128(
          reinterpret_cast<const __m128i *>(table.bytes[first + i / 2] + i % 2 * 16)));
    }
    for (int64_t i = 0; i < count; i += 32) {
      // An index of at least 128 looks up a 0: one of the two.
      const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(indices + i));
      const __m256i high = _mm256_xor_si256(low, _mm256_set1_epi8(int8_t(0x80)));
      for (int part = 0; part < 2; ++part) {
        const __m256i x = _mm256_or_si256(_mm256_shuffle_epi8(bytes[part][0], low),
                                          _mm256_shuffle_epi8(bytes[part][1], high));
        sums[part] = _mm256_add_epi64(sums[part], _mm256_sad_epu8(x, _mm256_setzero_si256()));
      }
    }
    for (int part = 0; part < 2; ++part) {
      result += uint64_t(sum_of_products(sums[part])) << (8 * (first + part));
    }
  }
  return result;
}

// Raw 16-bit floats.
using Halves = __m256i;
constexpr int kHalfLanes = 16;

SAMPLER_INLINE Halves load_halves(const uint16_t *p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p));
}
SAMPLER_INLINE void store_halves(uint16_t *p, Halves x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), x);
}
SAMPLER_INLINE Halves max_signed(Halves a, Halves b) {
  return _mm256_max_epi16(a, b);
}
SAMPLER_INLINE Halves max_unsigned(Halves a, Halves b) {
  return _mm256_max_epu16(a, b);
}
SAMPLER_INLINE Halves min_unsigned(Halves a, Halves b) {
  return _mm256_min_epu16(a, b);
}
SAMPLER_INLINE Halves splat_halves(uint16_t x) {
  return _mm256_set1_epi16(int16_t(x));
}
SAMPLER_INLINE Halves or_changes(Halves seen, Halves x, Halves addend) {
  return _mm256_or_si256(seen, _mm256_xor_si256(x, _mm256_add_epi16(x, addend)));
}
SAMPLER_INLINE Halves if_positive(Halves x, Halves other) {
  return _mm256_blendv_epi8(x, other, _mm256_srai_epi16(x, 15));
}

}  // namespace native
}  // namespace
}  // namespace sampler::cpu::SAMPLER_ISA
