// AVX-512 primitives for wide.h: one vector of 16.
#pragma once

#include <immintrin.h>

#if !defined(__AVX512F__) || !defined(__AVX512BW__) || !defined(__AVX512DQ__) || \
    !defined(__AVX512VL__)
#error "compile this unit with -mavx512f -mavx512bw -mavx512dq -mavx512vl"
#endif

#include <cstdint>

#include "cpu/simd/inline.h"
#include "cpu/simd/passes.h"

#define SAMPLER_ISA avx512

namespace sampler::cpu::SAMPLER_ISA {
namespace {
namespace native {

constexpr int kLanes = 16;
using Floats = __m512;
using Ints = __m512i;
using Mask = __mmask16;

SAMPLER_INLINE Floats splat(float x) {
  return _mm512_set1_ps(x);
}
SAMPLER_INLINE Ints splat(int32_t x) {
  return _mm512_set1_epi32(x);
}
SAMPLER_INLINE Floats load(const float *p) {
  return _mm512_loadu_ps(p);
}
SAMPLER_INLINE Ints load(const int32_t *p) {
  return _mm512_loadu_si512(p);
}
SAMPLER_INLINE Floats load_f16(const uint16_t *p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)));
}
SAMPLER_INLINE float float_of_f16(uint16_t x) {
  return _cvtsh_ss(x);
}
SAMPLER_INLINE Floats load_bf16(const uint16_t *p) {
  const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}
SAMPLER_INLINE void store(float *p, Floats x) {
  _mm512_storeu_ps(p, x);
}
SAMPLER_INLINE void store(int32_t *p, Ints x) {
  _mm512_storeu_si512(p, x);
}
SAMPLER_INLINE void store_f16(uint16_t *p, Floats x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(p),
                      _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
SAMPLER_INLINE void store_low_halves(uint16_t *p, Ints x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), _mm512_cvtepi32_epi16(x));
}
// Stores the high halves of a, then those of b.
SAMPLER_INLINE void store_high_halves(uint16_t *p, Ints a, Ints b) {
  alignas(64) static const uint16_t odd[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21,
                                               23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43,
                                               45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
  _mm512_storeu_si512(p, _mm512_permutex2var_epi16(a, _mm512_load_si512(odd), b));
}

// Keeps x in a register: the compiler would reload it from memory for each use.
SAMPLER_INLINE void hold(Floats &x) {
  asm("" : "+v"(x));
}

SAMPLER_INLINE Floats add(Floats a, Floats b) {
  return _mm512_add_ps(a, b);
}
SAMPLER_INLINE Floats sub(Floats a, Floats b) {
  return _mm512_sub_ps(a, b);
}
SAMPLER_INLINE Floats mul(Floats a, Floats b) {
  return _mm512_mul_ps(a, b);
}
SAMPLER_INLINE Floats div(Floats a, Floats b) {
  return _mm512_div_ps(a, b);
}
SAMPLER_INLINE Floats fma(Floats a, Floats b, Floats c) {
  return _mm512_fmadd_ps(a, b, c);
}
SAMPLER_INLINE Floats max(Floats a, Floats b) {
  return _mm512_max_ps(a, b);
}
SAMPLER_INLINE Floats min(Floats a, Floats b) {
  return _mm512_min_ps(a, b);
}
constexpr bool kHasMasks = true;         // in registers of their own
constexpr bool kIsNearestFinite = true;  // minus_nearest() of infinity is 0
SAMPLER_INLINE Floats minus_nearest(Floats x) {
  return _mm512_reduce_ps(x, _MM_FROUND_TO_NEAREST_INT);
}
SAMPLER_INLINE Mask ge(Floats a, Floats b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ);
}
SAMPLER_INLINE Mask gt(Floats a, Floats b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
}
SAMPLER_INLINE Mask negative(Floats x) {
  return _mm512_movepi32_mask(_mm512_castps_si512(x));
}
SAMPLER_INLINE Mask unordered(Floats a, Floats b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q);
}
SAMPLER_INLINE Mask both(Mask a, Mask b) {
  return _kand_mask16(a, b);
}
SAMPLER_INLINE Mask either(Mask a, Mask b) {
  return _kor_mask16(a, b);
}
SAMPLER_INLINE uint32_t bits(Mask mask) {
  return mask;
}
// Tests lanes: moves from general registers take turns.
SAMPLER_INLINE Mask mask_of_bits(uint32_t bits, int first) {
  const Ints lanes =
      _mm512_sllv_epi32(_mm512_set1_epi32(1 << first),
                        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  return _mm512_test_epi32_mask(_mm512_set1_epi32(int32_t(bits)), lanes);
}
SAMPLER_INLINE Mask equal(Ints a, Ints b) {
  return _mm512_cmpeq_epi32_mask(a, b);
}
// The tables stay in registers. Looks up two tables, which is cheap: each false positive costs a
// branch misprediction.
SAMPLER_INLINE void mark_id(uint32_t id, IdBits *set) {
  set->few[id / 32 % (kFewIdBits / 32)] |= uint32_t(1) << (id % 32);
  const uint32_t shifted = id >> kIdShift;
  set->shifted[shifted / 32 % (kFewIdBits / 32)] |= uint32_t(1) << (shifted % 32);
}
struct BitTable {
  __m512i low, high;
};
struct IdTables {
  BitTable few, shifted;
};
SAMPLER_INLINE BitTable load_bit_table(const uint32_t *words) {
  return {_mm512_loadu_si512(words), _mm512_loadu_si512(words + 16)};
}
SAMPLER_INLINE IdTables load_id_tables(const IdBits &bits) {
  return {load_bit_table(bits.few), load_bit_table(bits.shifted)};
}
SAMPLER_INLINE __mmask16 is_set(const BitTable &table, Ints x) {
  const __m512i word = _mm512_permutex2var_epi32(table.low, _mm512_srli_epi32(x, 5), table.high);
  return _mm512_test_epi32_mask(_mm512_rorv_epi32(word, x), _mm512_set1_epi32(1));
}
SAMPLER_INLINE uint64_t find_ids(const IdTables &tables, const int32_t *ids) {
  uint64_t result = 0;
  for (int i = 0; i < kIdsInMask; i += kLanes) {
    const Ints x = load(ids + i);
    const uint32_t found =
        is_set(tables.few, x) & is_set(tables.shifted, _mm512_srli_epi32(x, kIdShift));
    result |= uint64_t(found) << i;
  }
  return result;
}
SAMPLER_INLINE Mask within(Floats x, Floats least, Floats most) {
  return _mm512_mask_cmp_ps_mask(ge(x, least), x, most, _CMP_LE_OQ);
}
SAMPLER_INLINE Floats choose(Mask mask, Floats a, Floats b) {
  return _mm512_mask_blend_ps(mask, b, a);
}
SAMPLER_INLINE Floats zero_unless(Mask mask, Floats a) {
  return _mm512_maskz_mov_ps(mask, a);
}

SAMPLER_INLINE Ints as_ints(Floats x) {
  return _mm512_castps_si512(x);
}
SAMPLER_INLINE Floats as_floats(Ints x) {
  return _mm512_castsi512_ps(x);
}
SAMPLER_INLINE Ints add(Ints a, Ints b) {
  return _mm512_add_epi32(a, b);
}
SAMPLER_INLINE Ints sub(Ints a, Ints b) {
  return _mm512_sub_epi32(a, b);
}
SAMPLER_INLINE Ints bit_and(Ints a, Ints b) {
  return _mm512_and_si512(a, b);
}
SAMPLER_INLINE Ints bit_xor(Ints a, Ints b) {
  return _mm512_xor_si512(a, b);
}
template <int kBits>
SAMPLER_INLINE Ints shift_left(Ints x) {
  return _mm512_slli_epi32(x, kBits);
}
template <int kBits>
SAMPLER_INLINE Ints shift_right(Ints x) {
  return _mm512_srli_epi32(x, kBits);
}
template <int kBits>
SAMPLER_INLINE Ints shift_right_signed(Ints x) {
  return _mm512_srai_epi32(x, kBits);
}
SAMPLER_INLINE Floats float_of_signed(Ints x) {
  return _mm512_cvtepi32_ps(x);
}
SAMPLER_INLINE Ints min_words(Ints a, Ints b) {
  return _mm512_min_epu32(a, b);
}
SAMPLER_INLINE Floats float_of_unsigned(Ints x) {
  return _mm512_cvtepu32_ps(x);
}
// High and low words of the unsigned products.
SAMPLER_INLINE void multiply(Ints a, Ints b, Ints *high, Ints *low) {
  const __m512i even = _mm512_mul_epu32(a, b);
  const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), b);
  *high = _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 32), odd);
  *low = _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32));
}
// Sums of signed products, in lanes of 64 bits.
SAMPLER_INLINE Ints add_products(Ints a, Ints b, Ints sums) {
  const __m512i even = _mm512_mul_epi32(a, b);
  const __m512i odd = _mm512_mul_epi32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(b, 32));
  return _mm512_add_epi64(sums, _mm512_add_epi64(even, odd));
}
SAMPLER_INLINE int64_t sum_of_products(Ints sums) {
  return _mm512_reduce_add_epi64(sums);
}
// A sum of weights, in all lanes.
using Sum = __m512i;
SAMPLER_INLINE Sum sum_from(uint64_t x) {
  return _mm512_set1_epi64(int64_t(x));
}
SAMPLER_INLINE uint64_t value_of(Sum sum) {
  return uint64_t(_mm_cvtsi128_si64(_mm512_castsi512_si128(sum)));
}
// Stores the sums up to each lane, given the limbs, and returns the last. Sums pairs of lanes
// first: moves between lanes are few.
SAMPLER_INLINE Sum store_sums(uint64_t *p, Ints high, Ints low, Sum sum) {
  // Added to each weight, so that no low limb is negative.
  constexpr int64_t kBias = int64_t(1) << (contract::kLowLimbBits - 1);
  const __m512i lower = _mm512_set1_epi64(0xFFFFFFFF), zero = _mm512_setzero_si512();
  low = _mm512_add_epi32(low, _mm512_set1_epi32(int32_t(kBias)));
  const __m512i even =
      _mm512_add_epi64(_mm512_slli_epi64(_mm512_and_si512(high, lower), contract::kLowLimbBits),
                       _mm512_and_si512(low, lower));
  const __m512i odd = _mm512_add_epi64(
      _mm512_srli_epi64(_mm512_andnot_si512(lower, high), 32 - contract::kLowLimbBits),
      _mm512_srli_epi64(low, 32));
  __m512i pairs = _mm512_add_epi64(even, odd);
  pairs = _mm512_add_epi64(pairs, _mm512_alignr_epi64(pairs, zero, 7));
  pairs = _mm512_add_epi64(pairs, _mm512_alignr_epi64(pairs, zero, 6));
  pairs = _mm512_add_epi64(pairs, _mm512_alignr_epi64(pairs, zero, 4));
  const __m512i biases =
      _mm512_mullo_epi64(_mm512_setr_epi64(2, 4, 6, 8, 10, 12, 14, 16), _mm512_set1_epi64(kBias));
  const __m512i through_odd = _mm512_add_epi64(pairs, _mm512_sub_epi64(sum, biases));
  const __m512i through_even =
      _mm512_sub_epi64(through_odd, _mm512_sub_epi64(odd, _mm512_set1_epi64(kBias)));
  const __m512i first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
  const __m512i last = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
  _mm512_storeu_si512(p, _mm512_permutex2var_epi64(through_even, first, through_odd));
  _mm512_storeu_si512(p + kLanes / 2, _mm512_permutex2var_epi64(through_even, last, through_odd));
  return _mm512_permutexvar_epi64(_mm512_set1_epi64(7), through_odd);
}
// The sum of signed lanes.
SAMPLER_INLINE int64_t sum(Ints x) {
  const __m512i low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(x));
  const __m512i high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(x, 1));
  return _mm512_reduce_add_epi64(_mm512_add_epi64(low, high));
}

// Compacts and stores the lanes of the mask. Overwrites up to kLanes elements.
SAMPLER_INLINE void store_packed(float *p, Mask mask, Floats x) {
  _mm512_storeu_ps(p, _mm512_maskz_compress_ps(mask, x));
}

// Tables of weights, of either size. The last one is 0, and stands for all indices beyond. They are
// kept as three words of 15 bits each.
constexpr int kSmallTable = 64, kLargeTable = 128;
struct WeightTable {
  int size;
  uint16_t words[3][kLargeTable];
};
SAMPLER_INLINE void set_weight(WeightTable *table, int i, uint64_t weight) {
  for (int part = 0; part < 3; ++part) {
    table->words[part][i] = uint16_t(weight >> (15 * part) & 0x7FFF);
  }
}
// Stores the indices of two vectors, in any order. Returns whether some are beyond; negative ones
// only with kAnySign.
using TableIndex = uint16_t;
constexpr int kIndexVectors = 2;
template <bool kAnySign>
SAMPLER_INLINE bool store_indices(TableIndex *p, const Ints *indices, int last) {
  const __m512i most = _mm512_set1_epi16(int16_t(last));
  const __m512i packed = _mm512_packs_epi32(indices[0], indices[1]);
  const __m512i index = _mm512_min_epu16(packed, most);
  _mm512_storeu_si512(p, index);
  return _mm512_cmpge_epi16_mask(kAnySign ? index : packed, most) != 0;
}
template <int kSize>
SAMPLER_INLINE uint64_t sum_of_weights(const WeightTable &table, const TableIndex *indices,
                                       int64_t count) {
  __m512i words[3][kSize / 32], sums[3];
  for (int part = 0; part < 3; ++part) {
    for (int i = 0; i < kSize / 32; ++i) {
      words[part][i] = _mm512_loadu_si512(table.words[part] + 32 * i);
    }
    sums[part] = _mm512_setzero_si512();
  }
  for (int64_t i = 0; i < count; i += 32) {
    const __m512i index = _mm512_loadu_si512(indices + i);
    for (int part = 0; part < 3; ++part) {
      __m512i x = _mm512_permutex2var_epi16(words[part][0], index, words[part][1]);
      if constexpr (kSize > 64) {
        const __mmask32 is_high = _mm512_test_epi16_mask(index, _mm512_set1_epi16(64));
        x = _mm512_mask_blend_epi16(
            is_high, x, _mm512_permutex2var_epi16(words[part][2], index, words[part][3]));
      }
      sums[part] = _mm512_add_epi32(sums[part], _mm512_madd_epi16(x, _mm512_set1_epi16(1)));
    }
  }
  uint64_t result = 0;
  for (int part = 0; part < 3; ++part) result += uint64_t(sum(sums[part])) << (15 * part);
  return result;
}
// The sum of the weights at up to kWeightBlock indices, a multiple of 64.
SAMPLER_INLINE uint64_t sum_of_weights(const WeightTable &table, const TableIndex *indices,
                                       int64_t count) {
  return table.size == kSmallTable ? sum_of_weights<kSmallTable>(table, indices, count)
                                   : sum_of_weights<kLargeTable>(table, indices, count);
}

// Raw 16-bit floats.
using Halves = __m512i;
constexpr int kHalfLanes = 32;

SAMPLER_INLINE Halves load_halves(const uint16_t *p) {
  return _mm512_loadu_si512(p);
}
SAMPLER_INLINE void store_halves(uint16_t *p, Halves x) {
  _mm512_storeu_si512(p, x);
}
SAMPLER_INLINE Halves max_signed(Halves a, Halves b) {
  return _mm512_max_epi16(a, b);
}
SAMPLER_INLINE Halves max_unsigned(Halves a, Halves b) {
  return _mm512_max_epu16(a, b);
}
SAMPLER_INLINE Halves min_unsigned(Halves a, Halves b) {
  return _mm512_min_epu16(a, b);
}
SAMPLER_INLINE Halves splat_halves(uint16_t x) {
  return _mm512_set1_epi16(int16_t(x));
}
SAMPLER_INLINE Halves or_changes(Halves seen, Halves x, Halves addend) {
  return _mm512_ternarylogic_epi32(seen, x, _mm512_add_epi16(x, addend), 0xF6);
}
SAMPLER_INLINE Halves if_positive(Halves x, Halves other) {
  return _mm512_mask_blend_epi16(_mm512_movepi16_mask(x), x, other);
}

}  // namespace native
}  // namespace
}  // namespace sampler::cpu::SAMPLER_ISA
