// The row passes over vectors of 16. Included once by each unit that is compiled for an instruction
// set, behind that set's vectors.
//
// The arithmetic is the contract's, operation by operation; see src/contract for what it computes.
// Everything has internal linkage (inline.h says why).
#pragma once

#include "contract/log2.h"
#include "contract/philox.h"
#include "contract/request.h"
#include "contract/weight.h"
#include "cpu/simd/inline.h"
#include "cpu/simd/passes.h"

namespace {

namespace contract = sampler::contract;
using contract::Dtype;
using contract::InputKind;
using contract::RowView;
using sampler::cpu::GumbelBest;
using sampler::cpu::Listed;
using sampler::cpu::ListRange;
using sampler::cpu::Passes;
using sampler::cpu::RowScan;
using sampler::cpu::Scaling;

constexpr int64_t kGroupElements = sampler::cpu::kGroupElements;
constexpr int64_t kGroupBlock = sampler::cpu::kGroupBlock;
constexpr int64_t kWeightBlock = sampler::cpu::kWeightBlock;
static_assert(sampler::cpu::kVectorElements == kWidth, "a vector of the passes");

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
// Lane by lane; its own index in each lane.
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

// ---- Elements by their type

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
  static constexpr uint16_t kFirstNaN = 0x7C01;  // bits above it, up to the sign, are NaNs too
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
  static SAMPLER_INLINE float value(uint16_t x) {
    const uint32_t raw = uint32_t(x) << 16;
    float result;
    __builtin_memcpy(&result, &raw, sizeof result);
    return result;
  }

 private:
  // To nearest even, in the upper half. There is no NaN among what is written.
  static SAMPLER_INLINE Ints rounded(Floats x) {
    const Ints raw = as_ints(x);
    const Ints odd = bit_and(shift_right<16>(raw), splat(int32_t(1)));
    return add(add(raw, splat(int32_t(0x7FFF))), odd);
  }
};

// f(type) for the type of these elements.
template <class F>
SAMPLER_INLINE auto with_type(Dtype dtype, const F &f) {
  switch (dtype) {
    case Dtype::kF16:
      return f(F16());
    case Dtype::kBf16:
      return f(Bf16());
    default:
      return f(F32());
  }
}

template <class Type>
SAMPLER_INLINE const typename Type::Element *elements(const void *values) {
  return static_cast<const typename Type::Element *>(values);
}

// Of a list; null: a row's.
SAMPLER_INLINE const int32_t *ids_of(const RowView &source) {
  return static_cast<const int32_t *>(source.ids);
}

// The first `count` elements, `filler` (an infinity, 0 or NaN) in the other lanes.
template <class Type>
SAMPLER_INLINE Floats read_some(const typename Type::Element *p, int64_t count, float filler) {
  typename Type::Element lanes[kWidth];
  for (int i = 0; i < kWidth; ++i) lanes[i] = Type::from(filler);
  __builtin_memcpy(lanes, p, size_t(count) * sizeof *p);
  return Type::read(lanes);
}

template <class Type>
SAMPLER_INLINE void write_some(typename Type::Element *p, int64_t count, Floats x) {
  typename Type::Element lanes[kWidth];
  Type::write(lanes, x);
  __builtin_memcpy(p, lanes, size_t(count) * sizeof *p);
}

// f(x, index, lanes) for the vectors of elements [begin, end). The last one may have fewer lanes
// than kWidth: those behind them hold NaN, which is neither above nor below anything.
template <class Type, class F>
SAMPLER_INLINE void for_each_vector(const typename Type::Element *p, int64_t begin, int64_t end,
                                    const F &f) {
  int64_t i = begin;
  for (; i + kWidth <= end; i += kWidth) f(Type::read(p + i), i, int64_t(kWidth));
  if (i < end) f(read_some<Type>(p + i, end - i, kNaN), i, end - i);
}

// ---- Weights

// How many vectors the weight pass works on at once: as many as there are registers for.
constexpr int kVectorsAtOnce = native::kLanes == kWidth ? 4 : 2;

// Relative probabilities are made of values in two steps, with something in between.
template <int kCount>
struct Halfway {
  Floats x[kCount], shifted[kCount];
  Mask nonzero[kCount];
};

// exp2_plus_1(log2_ratio_minus_1(x)).
struct RelativeToMax {
  static constexpr float kNothing = -kInfinity, kLowest = -__FLT_MAX__;
  Floats max, scale;

  explicit SAMPLER_INLINE RelativeToMax(const contract::RowScale &row)
      : max(splat(row.max)), scale(splat(row.scale)) {}

  // Of several vectors at once, step by step, so that none waits for its own last result. What is
  // not `nonzero` comes out so small that it weighs nothing.
  template <int kCount>
  SAMPLER_INLINE void begin(Halfway<kCount> &v) const {
    const Floats shift = splat(0x1.8p23f);
    for (Floats &x : v.x) x = sub(x, max);
    for (Floats &x : v.x) x = ::fma(x, scale, splat(-1.0f));
    for (int i = 0; i < kCount; ++i) v.nonzero[i] = ge(v.x[i], splat(contract::kLowestLog2));
    for (Floats &x : v.x) x = ::max(x, splat(contract::kLowestLog2));
    for (int i = 0; i < kCount; ++i) v.shifted[i] = add(v.x[i], shift);
    for (Floats &x : v.x) x = minus_nearest(x);
  }
  // All coefficients are doubled, which is exact, for 2^(t + 1). The low bits of t + shift are the
  // integer's: moved to the exponent they multiply by its power of two.
  template <int kCount>
  SAMPLER_INLINE void finish(Halfway<kCount> &v) const {
    Floats p[kCount];
    for (int i = 0; i < kCount; ++i) {
      p[i] = ::fma(splat(2 * contract::kExp2C5), v.x[i], splat(2 * contract::kExp2C4));
    }
    for (int i = 0; i < kCount; ++i) p[i] = ::fma(p[i], v.x[i], splat(2 * contract::kExp2C3));
    for (int i = 0; i < kCount; ++i) p[i] = ::fma(p[i], v.x[i], splat(2 * contract::kExp2C2));
    for (int i = 0; i < kCount; ++i) p[i] = ::fma(p[i], v.x[i], splat(2 * contract::kExp2C1));
    for (int i = 0; i < kCount; ++i) p[i] = ::fma(p[i], v.x[i], splat(2 * contract::kExp2C0));
    for (int i = 0; i < kCount; ++i) {
      v.x[i] = as_floats(add(as_ints(p[i]), shift_left<23>(as_ints(v.shifted[i]))));
    }
  }
  SAMPLER_INLINE Floats operator()(Floats x) const {
    Halfway<1> v;
    v.x[0] = x;
    begin(v);
    finish(v);
    return zero_unless(v.nonzero[0], v.x[0]);
  }
};

// x * 2^exponent, rounded once: the second factor is 1, or both products are exact.
struct RelativeByPower {
  static constexpr float kNothing = 0.0f, kLowest = __FLT_DENORM_MIN__;
  Floats first, second;

  explicit SAMPLER_INLINE RelativeByPower(const contract::RowScale &row) {
    const int part = row.exponent < 127 ? row.exponent : 127;
    first = splat(power_of_two(part));
    second = splat(power_of_two(row.exponent - part));
  }
  template <int kCount>
  SAMPLER_INLINE void begin(Halfway<kCount> &v) const {
    for (int i = 0; i < kCount; ++i) v.nonzero[i] = ge(v.x[i], splat(0.0f));
    for (Floats &x : v.x) x = (*this)(x);
  }
  template <int kCount>
  SAMPLER_INLINE void finish(Halfway<kCount> &) const {}
  SAMPLER_INLINE Floats operator()(Floats x) const { return mul(mul(x, first), second); }

 private:
  // For n in [-149, 127].
  static SAMPLER_INLINE float power_of_two(int n) {
    const uint32_t raw = n >= -126 ? uint32_t(n + 127) << 23 : uint32_t(1) << (n + 149);
    float result;
    __builtin_memcpy(&result, &raw, sizeof result);
    return result;
  }
};

struct AsGiven {
  SAMPLER_INLINE Floats operator()(Floats x) const { return x; }
};

// f(relative) for what makes a row's values relative probabilities.
template <class F>
SAMPLER_INLINE auto with_relative(const contract::RowScale &row, const F &f) {
  return row.kind == InputKind::kLogits ? f(RelativeToMax(row)) : f(RelativeByPower(row));
}
template <class F>
SAMPLER_INLINE auto with_relative(const Scaling &scaling, const F &f) {
  return scaling.as_given ? f(AsGiven()) : with_relative(scaling.row, f);
}

// Sum of the weights of up to kWeightBlock relative probabilities: weight_of(), its limbs apart.
class WeightSum {
 public:
  template <int kCount>
  SAMPLER_INLINE void add(const Floats (&relative)[kCount]) {
    Floats sum[kCount], rest[kCount];
    for (int i = 0; i < kCount; ++i) sum[i] = ::add(relative[i], splat(contract::kHighLimb));
    for (int i = 0; i < kCount; ++i) rest[i] = sub(sum[i], splat(contract::kHighLimb));
    for (int i = 0; i < kCount; ++i) high_ = ::add(high_, as_ints(sum[i]));
    for (int i = 0; i < kCount; ++i) rest[i] = sub(relative[i], rest[i]);
    for (int i = 0; i < kCount; ++i) rest[i] = ::add(rest[i], splat(contract::kLowLimb));
    for (int i = 0; i < kCount; ++i) low_ = ::add(low_, as_ints(rest[i]));
    vectors_ += kCount;
  }
  SAMPLER_INLINE void add(Floats relative) {
    const Floats one[] = {relative};
    add(one);
  }
  // The limbs' constants are subtracted modulo 2^32, in which the lanes' sums are small.
  SAMPLER_INLINE uint64_t total() const {
    const uint32_t high_offset = vectors_ * uint32_t(raw_bits(contract::kHighLimb));
    const uint32_t low_offset = vectors_ * uint32_t(raw_bits(contract::kLowLimb));
    const int64_t high = sum(sub(high_, splat(int32_t(high_offset))));
    const int64_t low = sum(sub(low_, splat(int32_t(low_offset))));
    return uint64_t(high * (int64_t(1) << contract::kLowLimbBits) + low);
  }

 private:
  Ints high_ = splat(int32_t(0)), low_ = splat(int32_t(0));
  uint32_t vectors_ = 0;
};

// ---- Passes for the largest values

// What a scan knows of the vectors that it has seen.
template <bool kIsProbability>
struct Scanned {
  Floats top = splat(-kInfinity), bottom = splat(kInfinity);
  Mask bad = unordered(top, top);

  SAMPLER_INLINE void check(Floats a, Floats b) {
    bad = either(bad, unordered(a, b));
    if (kIsProbability) bottom = min(bottom, min(a, b));
  }
  SAMPLER_INLINE RowScan result() const {
    RowScan scan;
    scan.max = largest(top);
    scan.valid = bits(bad) == 0;
    if (kIsProbability) scan.valid = scan.valid && bits(ge(bottom, splat(0.0f))) == 0xFFFFu;
    return scan;
  }
};

template <bool kIsProbability>
SAMPLER_INLINE int64_t scan_blocks(F32, const float *p, int64_t count, float *maxima,
                                   Scanned<kIsProbability> *scanned) {
  int64_t i = 0;
  for (; i + kGroupBlock <= count; i += kGroupBlock, maxima += kWidth) {
    Floats a = F32::read(p + i), b = F32::read(p + i + kWidth);
    scanned->check(a, b);
    for (int64_t j = 2 * kWidth; j < kGroupBlock; j += 2 * kWidth) {
      const Floats x = F32::read(p + i + j), y = F32::read(p + i + j + kWidth);
      scanned->check(x, y);
      a = max(a, x);
      b = max(b, y);
    }
    a = max(a, b);
    store(maxima, a);
    scanned->top = max(scanned->top, a);
  }
  return i;
}

// What there is of bad 16-bit floats among those seen. Of logits the NaNs: adding to one what the
// first NaN lacks to 2^15 changes the sign bit, and no other value's. Of probabilities the values
// with a sign, the lowest of them: as unsigned integers they are the larger the lower they are. (A
// NaN without a sign is above +inf.)
template <class Type, bool kIsProbability>
class BadHalves {
 public:
  SAMPLER_INLINE void check(Halves x) {
    seen_ = kIsProbability ? max_unsigned(seen_, x) : or_changes(seen_, x, to_sign_);
  }
  SAMPLER_INLINE void add_to(Scanned<kIsProbability> *scanned) const {
    uint16_t seen[2 * kWidth];
    store_halves(seen, seen_);
    if (kIsProbability) return scanned->check(Type::read(seen), Type::read(seen + kWidth));
    uint16_t any = 0;
    for (const uint16_t bits : seen) any |= bits;
    if (any >> 15) scanned->check(splat(kNaN), splat(kNaN));
  }

 private:
  Halves seen_ = splat_halves(0), to_sign_ = splat_halves(0x8000 - Type::kFirstNaN);
};

// 16-bit floats are compared as the integers that their bits are. As signed ones the largest is
// that of the values where any is positive. Where all have a sign, the smallest unsigned one is.
template <class Type, bool kIsProbability>
SAMPLER_INLINE int64_t scan_blocks(Type, const uint16_t *p, int64_t count, float *maxima,
                                   Scanned<kIsProbability> *scanned) {
  constexpr int64_t kElements = 2 * kWidth;
  BadHalves<Type, kIsProbability> bad;
  int64_t i = 0;
  for (; i + kGroupBlock <= count; i += kGroupBlock, maxima += kWidth) {
    Halves top = load_halves(p + i), least = top;
    bad.check(top);
    for (int64_t j = kElements; j < kGroupBlock; j += kElements) {
      const Halves x = load_halves(p + i + j);
      top = max_signed(top, x);
      least = min_unsigned(least, x);
      bad.check(x);
    }
    uint16_t elements[kElements];
    store_halves(elements, if_positive(top, least));
    const Floats a = Type::read(elements), b = Type::read(elements + kWidth);
    const Floats larger = max(a, b);
    store(maxima, larger);
    scanned->check(a, b);
    scanned->top = max(scanned->top, larger);
  }
  bad.add_to(scanned);
  return i;
}

template <class Type, bool kIsProbability>
RowScan scan_row(const typename Type::Element *p, int64_t count, float *maxima) {
  Scanned<kIsProbability> scanned;
  int64_t i = scan_blocks(Type(), p, count, maxima, &scanned);
  if (i < count) {
    const float filler = kIsProbability ? 0.0f : -kInfinity;
    float *const last_maxima = maxima + i / kGroupElements;
    Floats rest = splat(filler);
    for (; i < count; i += kWidth) {
      const Floats x =
          count - i >= kWidth ? Type::read(p + i) : read_some<Type>(p + i, count - i, filler);
      scanned.check(x, x);
      rest = max(rest, x);
    }
    store(last_maxima, rest);
    scanned.top = max(scanned.top, rest);
  }
  return scanned.result();
}

RowScan scan(const RowView &row, float *maxima) {
  return with_type(row.dtype, [&](auto type) {
    using Type = decltype(type);
    const auto *p = elements<Type>(row.values);
    return row.kind == InputKind::kProbabilities ? scan_row<Type, true>(p, row.count, maxima)
                                                 : scan_row<Type, false>(p, row.count, maxima);
  });
}

int64_t find_first(const RowView &row, const float *maxima, float max) {
  const Floats wanted = splat(max);
  int64_t block = 0;
  while (bits(ge(load(maxima + block * kWidth), wanted)) == 0) ++block;
  return with_type(row.dtype, [&](auto type) {
    using Type = decltype(type);
    const auto *p = elements<Type>(row.values);
    int64_t i = block * kGroupBlock;
    for (;; i += kWidth) {
      const Floats x =
          row.count - i >= kWidth ? Type::read(p + i) : read_some<Type>(p + i, row.count - i, kNaN);
      const uint32_t found = bits(ge(x, wanted));
      if (found != 0) return i + __builtin_ctz(found);
    }
  });
}

int64_t find_nth(const RowView &row, float value, int64_t n) {
  const Floats wanted = splat(value);
  return with_type(row.dtype, [&](auto type) {
    using Type = decltype(type);
    const auto *p = elements<Type>(row.values);
    for (int64_t i = 0; i < row.count; i += kWidth) {
      const Floats x =
          row.count - i >= kWidth ? Type::read(p + i) : read_some<Type>(p + i, row.count - i, kNaN);
      uint32_t equal = bits(both(ge(x, wanted), ge(wanted, x)));
      const int64_t found = __builtin_popcount(equal);
      if (found < n) {
        n -= found;
        continue;
      }
      for (; n > 1; --n) equal &= equal - 1;
      return i + __builtin_ctz(equal);
    }
    return int64_t(-1);
  });
}

int64_t count(const RowView &source, int64_t begin, int64_t end, float at_least) {
  const Floats least = splat(at_least);
  return with_type(source.dtype, [&](auto type) {
    using Type = decltype(type);
    int64_t result = 0;
    for_each_vector<Type>(elements<Type>(source.values), begin, end,
                          [&](Floats x, int64_t, int64_t)
                              SAMPLER_INLINE_LAMBDA { result += count_of(ge(x, least)); });
    return result;
  });
}

int64_t fold_maxima(const float *maxima, int64_t count, int64_t factor, float *out) {
  int64_t written = 0;
  for (int64_t i = 0; i < count; written += kWidth) {
    const int64_t end = smaller(i + factor * kWidth, count);
    Floats top = load(maxima + i);
    for (i += kWidth; i < end; i += kWidth) top = max(top, load(maxima + i));
    store(out + written, top);
  }
  return written;
}

// ---- Lists

// Positions of elements, written behind each other.
struct PositionWriter {
  static constexpr int kVectors = 4;
  static constexpr int64_t kElements = kVectors * kWidth;
  int32_t *positions;
  int64_t count = 0;

  // Those in the masks of so many vectors from element `first` on. Mostly there are two at most:
  // these are written without a jump that the processor would have to guess.
  SAMPLER_INLINE void add(const Mask (&wanted)[kVectors], int64_t first) {
    uint64_t all = 0;
    for (int i = 0; i < kVectors; ++i) all |= uint64_t(bits(wanted[i])) << (i * kWidth);
    if (all == 0) return;
    const int num_wanted = __builtin_popcountll(all);
    if (num_wanted <= 2) {
      positions[count] = int32_t(first) + lowest_bit(all);
      positions[count + 1] = int32_t(first) + lowest_bit(all & (all - 1));
      count += num_wanted;
      return;
    }
    for (int i = 0; i < kVectors; ++i) add(wanted[i], first + i * kWidth);
  }
  SAMPLER_INLINE void add(Mask wanted, int64_t first) {
    const Ints position = ::add(lane_indices(), splat(int32_t(first)));
    store_packed(reinterpret_cast<float *>(positions + count), wanted, as_floats(position));
    count += count_of(wanted);
  }

 private:
  static SAMPLER_INLINE int lowest_bit(uint64_t x) {
    return __builtin_ctzll(x | uint64_t(1) << 63);
  }
};

// Lists the positions of elements first, and then what is there.
template <class Type>
Listed list_tokens(const RowView &source, const float *maxima, int64_t begin, int64_t end,
                   const ListRange &range, float *out_values, int32_t *out_ids) {
  const auto *p = elements<Type>(source.values);
  const Floats at_least = splat(range.at_least);
  int64_t end_of_ties = end;
  PositionWriter list = {out_ids};
  for (int64_t i = begin; i < end;) {
    const int64_t block = i / kGroupBlock;
    const int64_t block_end = smaller((block + 1) * kGroupBlock, end);
    if (list.count >= range.enough && end_of_ties == end) end_of_ties = i;
    const bool no_ties = end_of_ties < end;
    const auto reaches = [&](Floats x) SAMPLER_INLINE_LAMBDA {
      return no_ties ? gt(x, at_least) : ge(x, at_least);
    };
    if (!maxima || bits(reaches(load(maxima + block * kWidth))) != 0) {
      int64_t j = i;
      for (; j + list.kElements <= block_end; j += list.kElements) {
        const Mask masks[] = {reaches(Type::read(p + j)), reaches(Type::read(p + j + kWidth)),
                              reaches(Type::read(p + j + 2 * kWidth)),
                              reaches(Type::read(p + j + 3 * kWidth))};
        list.add(masks, j);
      }
      for_each_vector<Type>(p, j, block_end,
                            [&](Floats x, int64_t k, int64_t)
                                SAMPLER_INLINE_LAMBDA { list.add(reaches(x), k); });
    }
    i = block_end;
  }
  const int32_t *const ids = ids_of(source);
  for (int64_t i = 0; i < list.count; ++i) {
    const int32_t position = out_ids[i];
    out_values[i] = Type::value(p[position]);
    if (ids) out_ids[i] = ids[position];
  }
  return {list.count, end_of_ties};
}

Listed list(const RowView &source, const float *maxima, int64_t begin, int64_t end,
            const ListRange &range, float *out_values, int32_t *out_ids) {
  return with_type(source.dtype, [&](auto type) {
    return list_tokens<decltype(type)>(source, maxima, begin, end, range, out_values, out_ids);
  });
}

// Values of elements, side by side.
struct ValueWriter {
  float *values;
  int64_t count = 0;

  SAMPLER_INLINE void add(Mask wanted, Floats x) {
    store_packed(values + count, wanted, x);
    count += count_of(wanted);
  }
};

int64_t pack(const RowView &source, float at_least, float at_most, float *out) {
  const Floats least = splat(at_least), most = splat(at_most);
  return with_type(source.dtype, [&](auto type) {
    using Type = decltype(type);
    ValueWriter packed = {out};
    for_each_vector<Type>(elements<Type>(source.values), 0, source.count,
                          [&](Floats x, int64_t, int64_t) SAMPLER_INLINE_LAMBDA {
                            packed.add(both(ge(x, least), ge(most, x)), x);
                          });
    return packed.count;
  });
}

// The places are a linear congruential generator's upper bits.
int64_t sample(const RowView &row, float at_least, uint64_t key, float *out) {
  static_assert(sampler::cpu::kSampleStep == 32, "the five upper bits");
  constexpr int64_t kStep = sampler::cpu::kSampleStep * kWidth;
  const Floats least = splat(at_least);
  return with_type(row.dtype, [&](auto type) {
    using Type = decltype(type);
    const auto *p = elements<Type>(row.values);
    ValueWriter sampled = {out};
    const int64_t count = row.count;
    for (int64_t i = 0; i < count; i += kStep) {
      key = key * 0x5851F42D4C957F2Du + 0x14057B7EF767814Fu;
      const int64_t place = i + int64_t(key >> 59) * kWidth;
      if (place + kWidth > count) continue;
      const Floats x = Type::read(p + place);
      sampled.add(ge(x, least), x);
    }
    return sampled.count;
  });
}

// ---- Weights and outputs

// use(vectors, index, lanes) for the relative probabilities of elements [begin, end), of which
// kMasked leaves out those below `least`. The next vectors are begun before these are finished: the
// steps of both fill each other's waits.
template <class Type, bool kMasked, class Relative, class Use>
SAMPLER_INLINE void for_each_relative(const typename Type::Element *p, const Relative &relative,
                                      int64_t begin, int64_t end, Floats least, const Use &use) {
  constexpr int64_t kStep = kVectorsAtOnce * kWidth;
  const auto kept = [&](Floats x) SAMPLER_INLINE_LAMBDA {
    return kMasked ? choose(ge(x, least), x, splat(Relative::kNothing)) : x;
  };
  const auto start = [&](Halfway<kVectorsAtOnce> &v, int64_t i) SAMPLER_INLINE_LAMBDA {
    for (int j = 0; j < kVectorsAtOnce; ++j) v.x[j] = kept(Type::read(p + i + j * kWidth));
    relative.begin(v);
  };
  int64_t i = begin;
  if (i + kStep <= end) {
    Halfway<kVectorsAtOnce> current;
    start(current, i);
    for (; i + 2 * kStep <= end; i += kStep) {
      Halfway<kVectorsAtOnce> next;
      start(next, i + kStep);
      relative.finish(current);
      use(current, i, kStep);
      current = next;
    }
    relative.finish(current);
    use(current, i, kStep);
    i += kStep;
  }
  for (; i < end; i += kWidth) {
    const int64_t lanes = smaller(end - i, kWidth);
    Halfway<1> last;
    last.x[0] = kept(lanes == kWidth ? Type::read(p + i)
                                     : read_some<Type>(p + i, lanes, Relative::kNothing));
    relative.begin(last);
    relative.finish(last);
    use(last, i, lanes);
  }
}

template <bool kMasked, class Type, class Relative>
SAMPLER_INLINE uint64_t weigh_block(const typename Type::Element *p, const Relative &relative,
                                    int64_t begin, int64_t end, Floats least) {
  WeightSum weights;
  for_each_relative<Type, kMasked>(p, relative, begin, end, least,
                                   [&](const auto &vectors, int64_t, int64_t)
                                       SAMPLER_INLINE_LAMBDA { weights.add(vectors.x); });
  return weights.total();
}

uint64_t weigh(const RowView &source, const Scaling &scaling, int64_t begin, int64_t end,
               float at_least, uint64_t *block_weights) {
  const Floats least = splat(at_least);
  return with_relative(scaling.row, [&](auto relative) {
    // What is below the lowest value weighs nothing.
    const bool masked = at_least > decltype(relative)::kLowest;
    return with_type(source.dtype, [&](auto type) {
      using Type = decltype(type);
      const auto *p = elements<Type>(source.values);
      uint64_t result = 0;
      for (int64_t i = begin; i < end;) {
        const int64_t block = i / kWeightBlock;
        const int64_t block_end = smaller((block + 1) * kWeightBlock, end);
        const uint64_t weight = masked ? weigh_block<true, Type>(p, relative, i, block_end, least)
                                       : weigh_block<false, Type>(p, relative, i, block_end, least);
        result += weight;
        if (block_weights) block_weights[block] += weight;
        i = block_end;
      }
      return result;
    });
  });
}

template <class Type>
SAMPLER_INLINE void write_vector(void *out, int64_t index, int64_t lanes, Floats x) {
  auto *p = static_cast<typename Type::Element *>(out) + index;
  if (lanes == kWidth) {
    Type::write(p, x);
  } else {
    write_some<Type>(p, lanes, x);
  }
}
template <class Type>
SAMPLER_INLINE void write_vectors(void *out, int64_t index, int64_t lanes, const Floats (&x)[1]) {
  write_vector<Type>(out, index, lanes, x[0]);
}
template <class Type, int kCount>
SAMPLER_INLINE void write_vectors(void *out, int64_t index, int64_t, const Floats (&x)[kCount]) {
  auto *p = static_cast<typename Type::Element *>(out) + index;
  for (int i = 0; i < kCount; i += 2) Type::write_two(p + i * kWidth, x[i], x[i + 1]);
}

void write_probabilities(const RowView &source, const Scaling &scaling, float normalizer,
                         int64_t begin, int64_t end, float at_least, void *out, Dtype out_dtype) {
  const Floats least = splat(at_least), factor = splat(normalizer);
  with_relative(scaling.row, [&](auto relative) {
    with_type(out_dtype, [&](auto out_type) {
      with_type(source.dtype, [&](auto type) {
        using Type = decltype(type);
        for_each_relative<Type, true>(
            elements<Type>(source.values), relative, begin, end, least,
            [&](auto &vectors, int64_t index, int64_t lanes) SAMPLER_INLINE_LAMBDA {
              int i = 0;
              for (Floats &x : vectors.x) x = zero_unless(vectors.nonzero[i++], mul(x, factor));
              write_vectors<decltype(out_type)>(out, index, lanes, vectors.x);
            });
      });
    });
  });
}

void write_values(const RowView &source, int64_t begin, int64_t end, float at_least, void *out,
                  Dtype out_dtype) {
  const Floats least = splat(at_least), nothing = splat(-kInfinity);
  with_type(out_dtype, [&](auto out_type) {
    with_type(source.dtype, [&](auto type) {
      using Type = decltype(type);
      for_each_vector<Type>(elements<Type>(source.values), begin, end,
                            [&](Floats x, int64_t index, int64_t lanes) SAMPLER_INLINE_LAMBDA {
                              const Floats y = choose(ge(x, least), x, nothing);
                              write_vector<decltype(out_type)>(out, index, lanes, y);
                            });
    });
  });
}

void subtract(const RowView &source, const Scaling &scaling, float normalizer, int64_t begin,
              int64_t end, float at_least, float *residual) {
  const Floats least = splat(at_least), factor = splat(normalizer), zero = splat(0.0f);
  with_relative(scaling, [&](auto relative) {
    with_type(source.dtype, [&](auto type) {
      using Type = decltype(type);
      for_each_vector<Type>(elements<Type>(source.values), begin, end,
                            [&](Floats x, int64_t index, int64_t lanes) SAMPLER_INLINE_LAMBDA {
                              const Floats q = zero_unless(ge(x, least), mul(relative(x), factor));
                              const Floats p = lanes == kWidth
                                                   ? load(residual + index)
                                                   : read_some<F32>(residual + index, lanes, 0.0f);
                              const Floats difference = sub(p, q);
                              write_vector<F32>(residual, index, lanes,
                                                zero_unless(gt(difference, zero), difference));
                            });
    });
  });
}

// ---- Random words

// A block of four words in each lane.
struct Words {
  Ints word[4];
};

// contract::philox4x32_10.
SAMPLER_INLINE Words philox(Words counter, Ints key0, Ints key1) {
  const Ints factor0 = splat(int32_t(contract::kPhiloxFactor0));
  const Ints factor1 = splat(int32_t(contract::kPhiloxFactor1));
  for (int round = 0; round < contract::kPhiloxRounds; ++round) {
    Ints high0, low0, high1, low1;
    multiply(counter.word[0], factor0, &high0, &low0);
    multiply(counter.word[2], factor1, &high1, &low1);
    counter = {{bit_xor(bit_xor(high1, counter.word[1]), key0), low1,
                bit_xor(bit_xor(high0, counter.word[3]), key1), low0}};
    key0 = add(key0, splat(int32_t(contract::kPhiloxKeyStep0)));
    key1 = add(key1, splat(int32_t(contract::kPhiloxKeyStep1)));
  }
  return counter;
}

void sample_words(const contract::RandomStream *streams, int64_t count, uint64_t *out) {
  static_assert(uint32_t(contract::Purpose::kSample) == 0, "the counter's last word is 0");
  for (int64_t begin = 0; begin < count; begin += kWidth) {
    const int lanes = int(smaller(count - begin, kWidth));
    int32_t low[kWidth] = {}, high[kWidth] = {}, stream[kWidth] = {};
    int32_t key_low[kWidth] = {}, key_high[kWidth] = {};
    for (int i = 0; i < lanes; ++i) {
      const contract::RandomStream &random = streams[begin + i];
      low[i] = int32_t(uint32_t(random.offset));
      high[i] = int32_t(uint32_t(random.offset >> 32));
      stream[i] = int32_t(random.stream);
      key_low[i] = int32_t(uint32_t(random.seed));
      key_high[i] = int32_t(uint32_t(random.seed >> 32));
    }
    const Words counter = {{load(low), load(high), load(stream), splat(int32_t(0))}};
    const Words block = philox(counter, load(key_low), load(key_high));
    store(low, block.word[0]);
    store(high, block.word[1]);
    for (int i = 0; i < lanes; ++i) {
      out[begin + i] = uint32_t(low[i]) | uint64_t(uint32_t(high[i])) << 32;
    }
  }
}

// ---- Gumbel

// Of the blocks with these indices: word w is that of id 4 i + w for index i.
SAMPLER_INLINE Words gumbel_blocks(const contract::RandomStream &random, Ints index) {
  const uint32_t purpose = uint32_t(contract::Purpose::kGumbel) << contract::kPurposeShift;
  const Words counter = {{splat(int32_t(uint32_t(random.offset))),
                          splat(int32_t(uint32_t(random.offset >> 32))),
                          splat(int32_t(random.stream)), add(index, splat(int32_t(purpose)))}};
  return philox(counter, splat(int32_t(uint32_t(random.seed))),
                splat(int32_t(uint32_t(random.seed >> 32))));
}

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

SAMPLER_INLINE Floats gumbel_noise(Ints word) {
  const Floats scaled = fma(float_of_unsigned(word), splat(0x1p-32f), splat(0x1p-33f));
  const Floats v = min(scaled, splat(contract::kLargestUniform));
  const Ints exponent = exponent_for_log2(sub(splat(1.0f), v));
  const Floats scale = as_floats(shift_left<23>(sub(splat(int32_t(127)), exponent)));
  const Floats z = fma(negate(v), scale, sub(scale, splat(1.0f)));
  const Floats minus_log2 = negate(fma(z, log2_quotient(z), float_of_signed(exponent)));
  Floats outer_exponent;
  const Floats outer = split_for_log2(minus_log2, &outer_exponent);
  return sub(fma(negate(outer), log2_quotient(outer), splat(contract::kMinusLog2Ln2)),
             outer_exponent);
}

struct LogitScore {
  Floats scale;

  SAMPLER_INLINE Floats operator()(Floats x, Floats noise) const { return fma(x, scale, noise); }
};

struct ProbabilityScore {
  SAMPLER_INLINE Floats operator()(Floats x, Floats noise) const {
    const Mask normal = ge(x, splat(contract::kSmallestNormal));
    Floats exponent;
    const Floats z = split_for_log2(choose(normal, x, mul(x, splat(0x1p24f))), &exponent);
    const Floats shift = choose(normal, splat(0.0f), splat(-24.0f));
    return add(fma(z, log2_quotient(z), add(exponent, shift)), noise);
  }
};

// The words of kWordElements ids from a multiple of 4 on.
constexpr int64_t kWordElements = 4 * kWidth;

SAMPLER_INLINE void random_words(const contract::RandomStream &random, int64_t first_id,
                                 uint32_t *words) {
  const Ints index = add(lane_indices(), splat(int32_t(first_id >> 2)));
  const Words blocks = gumbel_blocks(random, index);
  int32_t block[4][kWidth];
  for (int w = 0; w < 4; ++w) store(block[w], blocks.word[w]);
  for (int j = 0; j < kWidth; ++j) {
    for (int w = 0; w < 4; ++w) words[4 * j + w] = uint32_t(block[w][j]);
  }
}

// The words of any ids.
SAMPLER_INLINE Ints words_of(const contract::RandomStream &random, Ints ids) {
  const Words blocks = gumbel_blocks(random, shift_right<2>(ids));
  const Floats place = float_of_signed(bit_and(ids, splat(int32_t(3))));
  Floats word = as_floats(blocks.word[0]);
  for (int w = 1; w < 4; ++w) {
    word = choose(ge(place, splat(float(w))), as_floats(blocks.word[w]), word);
  }
  return as_ints(word);
}

// The best element of those seen, lane by lane.
template <class Score>
class GumbelScan {
 public:
  GumbelScan(const Score &score_of, float at_least)
      : score_of_(score_of), least_(splat(at_least)) {}

  SAMPLER_INLINE void add(Floats x, Ints words, int64_t index) {
    const Floats bound = splat(contract::kScoreBound);
    Floats score = score_of_(x, gumbel_noise(words));
    score = max(min(score, bound), negate(bound));
    const Mask better = both(ge(x, least_), gt(score, best_));
    best_ = choose(better, score, best_);
    best_index_ =
        choose(better, as_floats(::add(lane_indices(), splat(int32_t(index)))), best_index_);
  }
  SAMPLER_INLINE GumbelBest result() const {
    float scores[kWidth];
    int32_t indices[kWidth];
    store(scores, best_);
    store(indices, as_ints(best_index_));
    GumbelBest result = {-kInfinity, -1};
    for (int i = 0; i < kWidth; ++i) {
      const bool better =
          scores[i] > result.score || (scores[i] == result.score && indices[i] < result.index);
      if (indices[i] >= 0 && better) result = {scores[i], indices[i]};
    }
    return result;
  }

 private:
  const Score &score_of_;
  const Floats least_;
  // No score is as low, so the first element is better.
  Floats best_ = splat(-kInfinity);
  Floats best_index_ = as_floats(splat(int32_t(-1)));
};

// Of a row, whose ids are its indices: 64 neighbours share the making of their words.
template <class Type, class Score>
GumbelBest gumbel_row(const RowView &row, const Score &score_of,
                      const contract::RandomStream &random, int64_t begin, int64_t end,
                      float at_least) {
  GumbelScan<Score> scan(score_of, at_least);
  for (int64_t first = begin; first < end;) {
    const int64_t words_first = first / kWordElements * kWordElements;
    const int64_t words_end = smaller(words_first + kWordElements, end);
    uint32_t words[kWordElements + kWidth];  // a vector may reach beyond the last
    random_words(random, words_first, words);
    for (int i = 0; i < kWidth; ++i) words[kWordElements + i] = 0;
    for_each_vector<Type>(elements<Type>(row.values), first, words_end,
                          [&](Floats x, int64_t index, int64_t) SAMPLER_INLINE_LAMBDA {
                            const uint32_t *word = words + (index - words_first);
                            scan.add(x, load(reinterpret_cast<const int32_t *>(word)), index);
                          });
    first = words_end;
  }
  return scan.result();
}

// Of a list, which has room for a vector beyond its last element.
template <class Type, class Score>
GumbelBest gumbel_list(const RowView &list, const Score &score_of,
                       const contract::RandomStream &random, int64_t begin, int64_t end,
                       float at_least) {
  GumbelScan<Score> scan(score_of, at_least);
  for_each_vector<Type>(elements<Type>(list.values), begin, end,
                        [&](Floats x, int64_t index, int64_t) SAMPLER_INLINE_LAMBDA {
                          scan.add(x, words_of(random, load(ids_of(list) + index)), index);
                        });
  return scan.result();
}

GumbelBest gumbel(const RowView &source, const contract::RowScale &scale,
                  const contract::RandomStream &random, int64_t begin, int64_t end,
                  float at_least) {
  return with_type(source.dtype, [&](auto type) {
    using Type = decltype(type);
    const auto best = [&](const auto &score_of) {
      return source.ids ? gumbel_list<Type>(source, score_of, random, begin, end, at_least)
                        : gumbel_row<Type>(source, score_of, random, begin, end, at_least);
    };
    if (scale.kind == InputKind::kLogits) return best(LogitScore{splat(scale.scale)});
    return best(ProbabilityScore());
  });
}

constexpr Passes passes_of(const char *name, uint32_t isa) {
  return {name, isa,    scan,  find_first,          find_nth,     count,    fold_maxima,  list,
          pack, sample, weigh, write_probabilities, write_values, subtract, sample_words, gumbel};
}

}  // namespace
