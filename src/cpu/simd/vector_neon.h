// NEON primitives for wide.h: vectors of 4.
#pragma once

#include <arm_neon.h>

#if !defined(__aarch64__) || !defined(__ARM_NEON)
#error "compile this unit for aarch64"
#endif

#include <cstdint>

#include "cpu/simd/inline.h"
#include "cpu/simd/passes.h"

#define SAMPLER_ISA neon

namespace sampler::cpu::SAMPLER_ISA {
namespace {
namespace native {

constexpr int kLanes = 4;
using Floats = float32x4_t;
using Ints = int32x4_t;
struct Mask {
  uint32x4_t lanes;  // all ones or all zeros
};

SAMPLER_INLINE Floats splat(float x) {
  return vdupq_n_f32(x);
}
SAMPLER_INLINE Ints splat(int32_t x) {
  return vdupq_n_s32(x);
}
SAMPLER_INLINE Floats load(const float *p) {
  return vld1q_f32(p);
}
SAMPLER_INLINE Ints load(const int32_t *p) {
  return vld1q_s32(p);
}
SAMPLER_INLINE Floats load_f16(const uint16_t *p) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
SAMPLER_INLINE float float_of_f16(uint16_t x) {
  return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(x))), 0);
}
SAMPLER_INLINE Floats load_bf16(const uint16_t *p) {
  return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
}
SAMPLER_INLINE void store(float *p, Floats x) {
  vst1q_f32(p, x);
}
SAMPLER_INLINE void store(int32_t *p, Ints x) {
  vst1q_s32(p, x);
}
SAMPLER_INLINE void store_f16(uint16_t *p, Floats x) {
  vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(x)));
}
SAMPLER_INLINE void store_low_halves(uint16_t *p, Ints x) {
  vst1_u16(p, vmovn_u32(vreinterpretq_u32_s32(x)));
}
// Stores the high halves of a, then those of b.
SAMPLER_INLINE void store_high_halves(uint16_t *p, Ints a, Ints b) {
  vst1q_u16(p, vuzp2q_u16(vreinterpretq_u16_s32(a), vreinterpretq_u16_s32(b)));
}

// Keeps x in a register: the compiler would reload it from memory for each use.
SAMPLER_INLINE void hold(Floats &x) {
  asm("" : "+w"(x));
}

SAMPLER_INLINE Floats add(Floats a, Floats b) {
  return vaddq_f32(a, b);
}
SAMPLER_INLINE Floats sub(Floats a, Floats b) {
  return vsubq_f32(a, b);
}
SAMPLER_INLINE Floats mul(Floats a, Floats b) {
  return vmulq_f32(a, b);
}
SAMPLER_INLINE Floats div(Floats a, Floats b) {
  return vdivq_f32(a, b);
}
SAMPLER_INLINE Floats fma(Floats a, Floats b, Floats c) {
  return vfmaq_f32(c, a, b);
}
SAMPLER_INLINE Floats max(Floats a, Floats b) {
  return vmaxq_f32(a, b);
}
SAMPLER_INLINE Floats min(Floats a, Floats b) {
  return vminq_f32(a, b);
}
constexpr bool kHasMasks = false;         // in registers of their own
constexpr bool kIsNearestFinite = false;  // minus_nearest() of infinity is NaN
SAMPLER_INLINE Floats minus_nearest(Floats x) {
  return vsubq_f32(x, vrndnq_f32(x));
}
SAMPLER_INLINE Mask ge(Floats a, Floats b) {
  return {vcgeq_f32(a, b)};
}
SAMPLER_INLINE Mask gt(Floats a, Floats b) {
  return {vcgtq_f32(a, b)};
}
SAMPLER_INLINE Mask negative(Floats x) {
  return {vcltzq_s32(vreinterpretq_s32_f32(x))};
}
SAMPLER_INLINE Mask unordered(Floats a, Floats b) {
  return {vmvnq_u32(vandq_u32(vceqq_f32(a, a), vceqq_f32(b, b)))};
}
SAMPLER_INLINE Mask both(Mask a, Mask b) {
  return {vandq_u32(a.lanes, b.lanes)};
}
SAMPLER_INLINE Mask either(Mask a, Mask b) {
  return {vorrq_u32(a.lanes, b.lanes)};
}
SAMPLER_INLINE uint32_t bits(Mask mask) {
  const uint32x4_t weights = {1, 2, 4, 8};
  return vaddvq_u32(vandq_u32(mask.lanes, weights));
}
SAMPLER_INLINE Mask mask_of_bits(uint32_t bits, int first) {
  const uint32x4_t lanes = {1, 2, 4, 8};
  return {vtstq_u32(vdupq_n_u32(bits >> first), lanes)};
}
SAMPLER_INLINE Mask equal(Ints a, Ints b) {
  return {vceqq_s32(a, b)};
}
SAMPLER_INLINE void mark_id(uint32_t id, IdBits *set) {
  set->few[id / 32 % (kFewIdBits / 32)] |= uint32_t(1) << (id % 32);
}
struct IdTables {
  const uint32_t *words;
};
SAMPLER_INLINE IdTables load_id_tables(const IdBits &bits) {
  return {bits.few};
}
SAMPLER_INLINE uint64_t find_ids(const IdTables &tables, const int32_t *ids) {
  uint64_t result = 0;
  for (int i = 0; i < kIdsInMask; ++i) {
    const uint32_t id = uint32_t(ids[i]);
    result |= uint64_t(tables.words[id / 32 % (kFewIdBits / 32)] >> (id % 32) & 1) << i;
  }
  return result;
}
SAMPLER_INLINE Floats choose(Mask mask, Floats a, Floats b) {
  return vbslq_f32(mask.lanes, a, b);
}
SAMPLER_INLINE Mask within(Floats x, Floats least, Floats most) {
  return both(ge(x, least), ge(most, x));
}
SAMPLER_INLINE Floats zero_unless(Mask mask, Floats a) {
  return vreinterpretq_f32_u32(vandq_u32(mask.lanes, vreinterpretq_u32_f32(a)));
}

SAMPLER_INLINE Ints as_ints(Floats x) {
  return vreinterpretq_s32_f32(x);
}
SAMPLER_INLINE Floats as_floats(Ints x) {
  return vreinterpretq_f32_s32(x);
}
SAMPLER_INLINE Ints add(Ints a, Ints b) {
  return vaddq_s32(a, b);
}
SAMPLER_INLINE Ints sub(Ints a, Ints b) {
  return vsubq_s32(a, b);
}
SAMPLER_INLINE Ints bit_and(Ints a, Ints b) {
  return vandq_s32(a, b);
}
SAMPLER_INLINE Ints bit_xor(Ints a, Ints b) {
  return veorq_s32(a, b);
}
template <int kBits>
SAMPLER_INLINE Ints shift_left(Ints x) {
  return vshlq_n_s32(x, kBits);
}
template <int kBits>
SAMPLER_INLINE Ints shift_right(Ints x) {
  return vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(x), kBits));
}
template <int kBits>
SAMPLER_INLINE Ints shift_right_signed(Ints x) {
  return vshrq_n_s32(x, kBits);
}
SAMPLER_INLINE Floats float_of_signed(Ints x) {
  return vcvtq_f32_s32(x);
}
SAMPLER_INLINE Ints min_words(Ints a, Ints b) {
  return vreinterpretq_s32_u32(vminq_u32(vreinterpretq_u32_s32(a), vreinterpretq_u32_s32(b)));
}
SAMPLER_INLINE Floats float_of_unsigned(Ints x) {
  return vcvtq_f32_u32(vreinterpretq_u32_s32(x));
}
// High and low words of the unsigned products.
SAMPLER_INLINE void multiply(Ints a, Ints b, Ints *high, Ints *low) {
  const uint32x4_t x = vreinterpretq_u32_s32(a), y = vreinterpretq_u32_s32(b);
  const int32x4_t first = vreinterpretq_s32_u64(vmull_u32(vget_low_u32(x), vget_low_u32(y)));
  const int32x4_t second = vreinterpretq_s32_u64(vmull_high_u32(x, y));
  *low = vuzp1q_s32(first, second);
  *high = vuzp2q_s32(first, second);
}
// Sums of signed products, in lanes of 64 bits.
SAMPLER_INLINE Ints add_products(Ints a, Ints b, Ints sums) {
  const int64x2_t low = vmlal_s32(vreinterpretq_s64_s32(sums), vget_low_s32(a), vget_low_s32(b));
  return vreinterpretq_s32_s64(vmlal_high_s32(low, a, b));
}
SAMPLER_INLINE int64_t sum_of_products(Ints sums) {
  return vaddvq_s64(vreinterpretq_s64_s32(sums));
}
// Each lane becomes the sum of the lanes up to it.
SAMPLER_INLINE Ints running_sum(Ints x) {
  const Ints zero = vdupq_n_s32(0);
  x = vaddq_s32(x, vextq_s32(zero, x, 3));
  return vaddq_s32(x, vextq_s32(zero, x, 2));
}
// A sum of weights, in both lanes.
using Sum = uint64x2_t;
SAMPLER_INLINE Sum sum_from(uint64_t x) {
  return vdupq_n_u64(x);
}
SAMPLER_INLINE uint64_t value_of(Sum sum) {
  return vgetq_lane_u64(sum, 0);
}
// Stores the sums up to each lane, given the limbs, and returns the last.
SAMPLER_INLINE Sum store_sums(uint64_t *p, Ints high, Ints low, Sum sum) {
  high = running_sum(high);
  low = running_sum(low);
  const auto add_limbs = [](int32x2_t h, int32x2_t l) SAMPLER_INLINE_LAMBDA {
    const int64x2_t units = vshlq_n_s64(vmovl_s32(h), contract::kLowLimbBits);
    return vreinterpretq_u64_s64(vaddq_s64(units, vmovl_s32(l)));
  };
  const uint64x2_t first = add_limbs(vget_low_s32(high), vget_low_s32(low));
  const uint64x2_t last = add_limbs(vget_high_s32(high), vget_high_s32(low));
  vst1q_u64(p, vaddq_u64(sum, first));
  vst1q_u64(p + kLanes / 2, vaddq_u64(sum, last));
  return vaddq_u64(sum, vdupq_laneq_u64(last, 1));
}
// The sum of signed lanes.
SAMPLER_INLINE int64_t sum(Ints x) {
  return vaddlvq_s32(x);
}

// For each mask, the byte indices of its lanes, compacted.
struct PackTable {
  uint8_t bytes[16][16];
};
constexpr PackTable make_pack_table() {
  PackTable table = {};
  for (int mask = 0; mask < 16; ++mask) {
    int place = 0;
    for (int lane = 0; lane < 4; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      for (int i = 0; i < 4; ++i) table.bytes[mask][place++] = uint8_t(4 * lane + i);
    }
  }
  return table;
}
constexpr PackTable kPackTable = make_pack_table();

// Compacts and stores the lanes of the mask. Overwrites up to kLanes elements.
SAMPLER_INLINE void store_packed(float *p, Mask mask, Floats x) {
  const uint8x16_t bytes = vld1q_u8(kPackTable.bytes[bits(mask)]);
  store(p, vreinterpretq_f32_u8(vqtbl1q_u8(vreinterpretq_u8_f32(x), bytes)));
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
// Stores the indices of four vectors. Returns whether some are beyond; negative ones only with
// kAnySign.
using TableIndex = uint8_t;
constexpr int kIndexVectors = 4;
template <bool kAnySign>
SAMPLER_INLINE bool store_indices(TableIndex *p, const Ints *indices, int last) {
  const int16x8_t low = vqmovn_high_s32(vqmovn_s32(indices[0]), indices[1]);
  const int16x8_t high = vqmovn_high_s32(vqmovn_s32(indices[2]), indices[3]);
  const int8x16_t bytes = vqmovn_high_s16(vqmovn_s16(low), high);
  const uint8x16_t index = vminq_u8(vreinterpretq_u8_s8(bytes), vdupq_n_u8(uint8_t(last)));
  vst1q_u8(p, index);
  return kAnySign ? vmaxvq_u8(index) == last : vmaxvq_s8(bytes) >= last;
}
// The sum of the weights at up to kWeightBlock indices, a multiple of 64.
SAMPLER_INLINE uint64_t sum_of_weights(const WeightTable &table, const TableIndex *indices,
                                       int64_t count) {
  static_assert(kWeightBlock / 8 * 255 < 1 << 16, "a block's sums of bytes fit 16 bits");
  uint8x16x2_t bytes[6];
  uint16x8_t sums[6];
  for (int part = 0; part < 6; ++part) {
    bytes[part] = {{vld1q_u8(table.bytes[part]), vld1q_u8(table.bytes[part] + 16)}};
    sums[part] = vdupq_n_u16(0);
  }
  for (int64_t i = 0; i < count; i += 16) {
    const uint8x16_t index = vld1q_u8(indices + i);
    for (int part = 0; part < 6; ++part) {
      sums[part] = vpadalq_u8(sums[part], vqtbl2q_u8(bytes[part], index));
    }
  }
  uint64_t result = 0;
  for (int part = 0; part < 6; ++part) result += uint64_t(vaddlvq_u16(sums[part])) << (8 * part);
  return result;
}

// Raw 16-bit floats.
using Halves = uint16x8_t;
constexpr int kHalfLanes = 8;

SAMPLER_INLINE Halves load_halves(const uint16_t *p) {
  return vld1q_u16(p);
}
SAMPLER_INLINE void store_halves(uint16_t *p, Halves x) {
  vst1q_u16(p, x);
}
SAMPLER_INLINE Halves max_signed(Halves a, Halves b) {
  return vreinterpretq_u16_s16(vmaxq_s16(vreinterpretq_s16_u16(a), vreinterpretq_s16_u16(b)));
}
SAMPLER_INLINE Halves max_unsigned(Halves a, Halves b) {
  return vmaxq_u16(a, b);
}
SAMPLER_INLINE Halves min_unsigned(Halves a, Halves b) {
  return vminq_u16(a, b);
}
SAMPLER_INLINE Halves splat_halves(uint16_t x) {
  return vdupq_n_u16(x);
}
SAMPLER_INLINE Halves or_changes(Halves seen, Halves x, Halves addend) {
  return vorrq_u16(seen, veorq_u16(x, vaddq_u16(x, addend)));
}
SAMPLER_INLINE Halves if_positive(Halves x, Halves other) {
  return vbslq_u16(vcgezq_s16(vreinterpretq_s16_u16(x)), x, other);
}

}  // namespace native
}  // namespace
}  // namespace sampler::cpu::SAMPLER_ISA
