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
using sampler::cpu::GumbelBest;
using sampler::cpu::KeptWeight;
using sampler::cpu::Listed;
using sampler::cpu::ListRange;
using sampler::cpu::Passes;
using sampler::cpu::PivotMeasure;
using sampler::cpu::RowScan;
using sampler::cpu::Scaling;
using sampler::cpu::Source;

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
  static SAMPLER_INLINE float from(float x) { return x; }
};

struct F16 {
  using Element = uint16_t;
  static SAMPLER_INLINE Floats read(const uint16_t *p) { return load_f16(p); }
  static SAMPLER_INLINE void write(uint16_t *p, Floats x) { store_f16(p, x); }
  static SAMPLER_INLINE uint16_t from(float x) {
    return x == kInfinity ? 0x7C00 : x == -kInfinity ? 0xFC00 : x == 0.0f ? 0 : 0x7E00;
  }
};

struct Bf16 {
  using Element = uint16_t;
  static SAMPLER_INLINE Floats read(const uint16_t *p) { return load_bf16(p); }
  // Rounds to nearest even. There is no NaN among what is written.
  static SAMPLER_INLINE void write(uint16_t *p, Floats x) {
    const Ints raw = as_ints(x);
    const Ints odd = bit_and(shift_right<16>(raw), splat(int32_t(1)));
    store_low_halves(p, shift_right<16>(add(add(raw, splat(int32_t(0x7FFF))), odd)));
  }
  static SAMPLER_INLINE uint16_t from(float x) { return uint16_t(uint32_t(raw_bits(x)) >> 16); }
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
constexpr int kVectorsAtOnce = native::kLanes == kWidth ? 4 : 1;

// exp2_plus_1(log2_ratio_minus_1(x)).
struct RelativeToMax {
  Floats max, scale;

  explicit SAMPLER_INLINE RelativeToMax(const contract::RowScale &row)
      : max(splat(row.max)), scale(splat(row.scale)) {}

  // Of several vectors at once, step by step, so that none waits for its own last result. Not 0
  // below kLowestLog2, but so little that it weighs nothing.
  template <int kCount>
  SAMPLER_INLINE void for_weights(Floats (&x)[kCount]) const {
    for (Floats &each : x) each = clamped(log2_minus_1(each));
    exp2_plus_1(x);
  }
  SAMPLER_INLINE Floats operator()(Floats x) const {
    const Floats t = log2_minus_1(x);
    Floats result[] = {clamped(t)};
    exp2_plus_1(result);
    return zero_unless(ge(t, splat(contract::kLowestLog2)), result[0]);
  }

 private:
  SAMPLER_INLINE Floats log2_minus_1(Floats x) const {
    return ::fma(sub(x, max), scale, splat(-1.0f));
  }
  static SAMPLER_INLINE Floats clamped(Floats t) { return ::max(t, splat(contract::kLowestLog2)); }
  // All coefficients are doubled, which is exact, for 2^(t + 1). The low bits of t + kShift are the
  // integer's: moved to the exponent they multiply by its power of two.
  template <int kCount>
  static SAMPLER_INLINE void exp2_plus_1(Floats (&t)[kCount]) {
    const Floats shift = splat(0x1.8p23f);
    Floats shifted[kCount], p[kCount];
    for (int i = 0; i < kCount; ++i) shifted[i] = add(t[i], shift);
    for (int i = 0; i < kCount; ++i) t[i] = sub(t[i], sub(shifted[i], shift));
    for (int i = 0; i < kCount; ++i) {
      p[i] = ::fma(splat(2 * contract::kExp2C5), t[i], splat(2 * contract::kExp2C4));
    }
    for (int i = 0; i < kCount; ++i) p[i] = ::fma(p[i], t[i], splat(2 * contract::kExp2C3));
    for (int i = 0; i < kCount; ++i) p[i] = ::fma(p[i], t[i], splat(2 * contract::kExp2C2));
    for (int i = 0; i < kCount; ++i) p[i] = ::fma(p[i], t[i], splat(2 * contract::kExp2C1));
    for (int i = 0; i < kCount; ++i) p[i] = ::fma(p[i], t[i], splat(2 * contract::kExp2C0));
    for (int i = 0; i < kCount; ++i) {
      t[i] = as_floats(add(as_ints(p[i]), shift_left<23>(as_ints(shifted[i]))));
    }
  }
};

// x * 2^exponent, rounded once: the second factor is 1, or both products are exact.
struct RelativeByPower {
  Floats first, second;

  explicit SAMPLER_INLINE RelativeByPower(const contract::RowScale &row) {
    const int part = row.exponent < 127 ? row.exponent : 127;
    first = splat(power_of_two(part));
    second = splat(power_of_two(row.exponent - part));
  }
  template <int kCount>
  SAMPLER_INLINE void for_weights(Floats (&x)[kCount]) const {
    for (Floats &each : x) each = (*this)(each);
  }
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
  template <int kCount>
  SAMPLER_INLINE void for_weights(Floats (&)[kCount]) const {}
  SAMPLER_INLINE Floats operator()(Floats x) const { return x; }
};

// f(relative) for what makes a row's values relative probabilities.
template <class F>
SAMPLER_INLINE auto with_relative(const Scaling &scaling, const F &f) {
  if (scaling.as_given) return f(AsGiven());
  if (scaling.row.kind == InputKind::kLogits) return f(RelativeToMax(scaling.row));
  return f(RelativeByPower(scaling.row));
}

// Sum of the weights of up to kWeightBlock relative probabilities: weight_of(), its limbs apart.
class WeightSum {
 public:
  SAMPLER_INLINE void add(Floats relative) {
    const Floats sum = ::add(relative, splat(contract::kHighLimb));
    const Floats rest = sub(relative, sub(sum, splat(contract::kHighLimb)));
    high_ = ::add(high_, as_ints(sum));
    low_ = ::add(low_, as_ints(::add(rest, splat(contract::kLowLimb))));
    ++vectors_;
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

template <class Type, bool kIsProbability>
RowScan scan_row(const typename Type::Element *p, int64_t count, float *maxima) {
  Floats top = splat(-kInfinity), bottom = splat(kInfinity);
  Mask bad = unordered(top, top);
  const auto check = [&](Floats a, Floats b) SAMPLER_INLINE_LAMBDA {
    bad = either(bad, unordered(a, b));
    if (kIsProbability) bottom = min(bottom, min(a, b));
  };
  int64_t i = 0;
  for (; i + kGroupBlock <= count; i += kGroupBlock, maxima += kWidth) {
    Floats a = Type::read(p + i), b = Type::read(p + i + kWidth);
    check(a, b);
    for (int64_t j = 2 * kWidth; j < kGroupBlock; j += 2 * kWidth) {
      const Floats x = Type::read(p + i + j), y = Type::read(p + i + j + kWidth);
      check(x, y);
      a = max(a, x);
      b = max(b, y);
    }
    a = max(a, b);
    store(maxima, a);
    top = max(top, a);
  }
  if (i < count) {
    const float filler = kIsProbability ? 0.0f : -kInfinity;
    Floats rest = splat(filler);
    for (; i < count; i += kWidth) {
      const Floats x =
          count - i >= kWidth ? Type::read(p + i) : read_some<Type>(p + i, count - i, filler);
      check(x, x);
      rest = max(rest, x);
    }
    store(maxima, rest);
    top = max(top, rest);
  }
  RowScan result;
  result.max = largest(top);
  result.valid = bits(bad) == 0 && result.max < kInfinity;
  if (kIsProbability) result.valid = result.valid && bits(ge(bottom, splat(0.0f))) == 0xFFFFu;
  return result;
}

RowScan scan(const Source &row, InputKind kind, float *maxima) {
  return with_type(row.dtype, [&](auto type) {
    using Type = decltype(type);
    const auto *p = elements<Type>(row.values);
    return kind == InputKind::kProbabilities ? scan_row<Type, true>(p, row.count, maxima)
                                             : scan_row<Type, false>(p, row.count, maxima);
  });
}

int64_t find_first(const Source &row, const float *maxima, float max) {
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

int64_t find_nth(const Source &row, float value, int64_t n) {
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

int64_t count_at_least(const float *values, int64_t count, float bound) {
  const Floats least = splat(bound);
  int64_t result = 0;
  for (int64_t i = 0; i < count; i += kWidth) result += count_of(ge(load(values + i), least));
  return result;
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

// Tokens that are listed one vector after the other.
template <bool kHasIds>
struct ListWriter {
  float *values;
  int32_t *ids;
  const int32_t *source_ids;
  int64_t count = 0;

  SAMPLER_INLINE void add(Mask wanted, Floats x, int64_t index, int64_t lanes) {
    Ints id;
    if (!kHasIds) {
      id = ::add(lane_indices(), splat(int32_t(index)));
    } else if (lanes == kWidth) {
      id = load(source_ids + index);
    } else {
      int32_t some[kWidth] = {};
      __builtin_memcpy(some, source_ids + index, size_t(lanes) * sizeof *some);
      id = load(some);
    }
    store_packed(values + count, wanted, x);
    store_packed(reinterpret_cast<float *>(ids + count), wanted, as_floats(id));
    count += count_of(wanted);
  }
};

template <class Type, bool kHasIds>
Listed list_tokens(const Source &source, const float *maxima, int64_t begin, int64_t end,
                   const ListRange &range, float *out_values, int32_t *out_ids) {
  const Floats at_least = splat(range.at_least), below = splat(range.below);
  int64_t end_of_ties = end;
  ListWriter<kHasIds> list = {out_values, out_ids, source.ids};
  for (int64_t i = begin; i < end;) {
    const int64_t block = i / kGroupBlock;
    const int64_t block_end = smaller((block + 1) * kGroupBlock, end);
    if (list.count >= range.enough && end_of_ties == end) end_of_ties = i;
    const bool no_ties = end_of_ties < end;
    const auto reaches = [&](Floats x) SAMPLER_INLINE_LAMBDA {
      return no_ties ? gt(x, at_least) : ge(x, at_least);
    };
    if (!maxima || bits(reaches(load(maxima + block * kWidth))) != 0) {
      const auto add = [&](Floats x, int64_t index, int64_t lanes) SAMPLER_INLINE_LAMBDA {
        list.add(both(reaches(x), gt(below, x)), x, index, lanes);
      };
      // Whether one vector has a token is hard to predict for the processor, so that one jump is
      // about several.
      constexpr int kTogether = 4;
      const auto *p = elements<Type>(source.values);
      int64_t j = i;
      for (; j + kTogether * kWidth <= block_end; j += kTogether * kWidth) {
        const Floats x0 = Type::read(p + j), x1 = Type::read(p + j + kWidth);
        const Floats x2 = Type::read(p + j + 2 * kWidth), x3 = Type::read(p + j + 3 * kWidth);
        if (bits(reaches(max(max(x0, x1), max(x2, x3)))) == 0) continue;
        add(x0, j, kWidth);
        add(x1, j + kWidth, kWidth);
        add(x2, j + 2 * kWidth, kWidth);
        add(x3, j + 3 * kWidth, kWidth);
      }
      for_each_vector<Type>(p, j, block_end, add);
    }
    i = block_end;
  }
  return {list.count, end_of_ties};
}

Listed list(const Source &source, const float *maxima, int64_t begin, int64_t end,
            const ListRange &range, float *out_values, int32_t *out_ids) {
  if (source.ids) {
    return list_tokens<F32, true>(source, maxima, begin, end, range, out_values, out_ids);
  }
  return with_type(source.dtype, [&](auto type) {
    return list_tokens<decltype(type), false>(source, maxima, begin, end, range, out_values,
                                              out_ids);
  });
}

int64_t sample(const Source &row, float at_least, float *out_values) {
  const Floats least = splat(at_least);
  return with_type(row.dtype, [&](auto type) {
    using Type = decltype(type);
    const auto *p = elements<Type>(row.values);
    int64_t count = 0;
    constexpr int64_t kStep = sampler::cpu::kSampleStep * kWidth;
    for (int64_t i = 0; i + kWidth <= row.count; i += kStep) {
      const Floats x = Type::read(p + i);
      const Mask wanted = ge(x, least);
      store_packed(out_values + count, wanted, x);
      count += count_of(wanted);
    }
    return count;
  });
}

template <bool kHasWeights>
PivotMeasure measure_list(const float *values, const float *relative, int64_t count, float pivot) {
  const Floats middle = splat(pivot);
  PivotMeasure result = {};
  int64_t at_least = 0;
  for (int64_t begin = 0; begin < count; begin += kWeightBlock) {
    const int64_t end = smaller(begin + kWeightBlock, count);
    WeightSum weights;
    for_each_vector<F32>(
        values, begin, end, [&](Floats x, int64_t i, int64_t lanes) SAMPLER_INLINE_LAMBDA {
          const Mask above = gt(x, middle);
          result.above += count_of(above);
          at_least += count_of(ge(x, middle));
          if (kHasWeights) {
            const Floats e =
                lanes == kWidth ? load(relative + i) : read_some<F32>(relative + i, lanes, 0.0f);
            weights.add(zero_unless(above, e));
          }
        });
    if (kHasWeights) result.weight_above += weights.total();
  }
  result.equal = at_least - result.above;
  return result;
}

PivotMeasure measure(const float *values, const float *relative, int64_t count, float pivot) {
  return relative ? measure_list<true>(values, relative, count, pivot)
                  : measure_list<false>(values, relative, count, pivot);
}

int64_t keep_side(const float *values, const float *relative, int64_t count, float pivot,
                  bool above, float *out_values, float *out_relative) {
  const Floats middle = splat(pivot);
  int64_t kept = 0;
  for_each_vector<F32>(
      values, 0, count, [&](Floats x, int64_t i, int64_t lanes) SAMPLER_INLINE_LAMBDA {
        const Mask wanted = above ? gt(x, middle) : gt(middle, x);
        if (relative) {
          const Floats e =
              lanes == kWidth ? load(relative + i) : read_some<F32>(relative + i, lanes, 0.0f);
          store_packed(out_relative + kept, wanted, e);
        }
        store_packed(out_values + kept, wanted, x);
        kept += count_of(wanted);
      });
  return kept;
}

// ---- Weights and outputs

KeptWeight weigh(const Source &source, const Scaling &scaling, int64_t begin, int64_t end,
                 float at_least, uint64_t *block_weights) {
  const Floats least = splat(at_least);
  return with_relative(scaling, [&](auto relative) {
    return with_type(source.dtype, [&](auto type) {
      using Type = decltype(type);
      KeptWeight result = {};
      for (int64_t i = begin; i < end;) {
        const int64_t block = i / kWeightBlock;
        const int64_t block_end = smaller((block + 1) * kWeightBlock, end);
        WeightSum weights;
        const auto *p = elements<Type>(source.values);
        for (; i + kVectorsAtOnce * kWidth <= block_end; i += kVectorsAtOnce * kWidth) {
          Floats x[kVectorsAtOnce];
          Mask kept[kVectorsAtOnce];
          for (int j = 0; j < kVectorsAtOnce; ++j) x[j] = Type::read(p + i + j * kWidth);
          for (int j = 0; j < kVectorsAtOnce; ++j) kept[j] = ge(x[j], least);
          relative.for_weights(x);
          for (int j = 0; j < kVectorsAtOnce; ++j) {
            result.count += count_of(kept[j]);
            weights.add(zero_unless(kept[j], x[j]));
          }
        }
        for_each_vector<Type>(p, i, block_end,
                              [&](Floats x, int64_t, int64_t) SAMPLER_INLINE_LAMBDA {
                                const Mask kept = ge(x, least);
                                Floats only[] = {x};
                                relative.for_weights(only);
                                result.count += count_of(kept);
                                weights.add(zero_unless(kept, only[0]));
                              });
        const uint64_t weight = weights.total();
        result.weight += weight;
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

void write_probabilities(const Source &source, const Scaling &scaling, float normalizer,
                         int64_t begin, int64_t end, float at_least, void *out, Dtype out_dtype) {
  const Floats least = splat(at_least), factor = splat(normalizer);
  with_relative(scaling, [&](auto relative) {
    with_type(out_dtype, [&](auto out_type) {
      with_type(source.dtype, [&](auto type) {
        using Type = decltype(type);
        for_each_vector<Type>(elements<Type>(source.values), begin, end,
                              [&](Floats x, int64_t index, int64_t lanes) SAMPLER_INLINE_LAMBDA {
                                const Floats p =
                                    zero_unless(ge(x, least), mul(relative(x), factor));
                                write_vector<decltype(out_type)>(out, index, lanes, p);
                              });
      });
    });
  });
}

void write_values(const Source &source, int64_t begin, int64_t end, float at_least, void *out,
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

void subtract(const Source &source, const Scaling &scaling, float normalizer, int64_t begin,
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

// ---- Gumbel

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

// The words of kWordElements ids: those of id 4 j + w are word w of the j-th block.
constexpr int64_t kWordElements = 4 * kWidth;

SAMPLER_INLINE void random_words(const contract::RandomStream &random, int64_t first_id,
                                 uint32_t *words) {
  const uint32_t purpose = uint32_t(contract::Purpose::kGumbel) << contract::kPurposeShift;
  Ints c0 = splat(int32_t(uint32_t(random.offset)));
  Ints c1 = splat(int32_t(uint32_t(random.offset >> 32)));
  Ints c2 = splat(int32_t(random.stream));
  Ints c3 = add(lane_indices(), splat(int32_t(purpose | uint32_t(first_id >> 2))));
  const Ints factor0 = splat(int32_t(contract::kPhiloxFactor0));
  const Ints factor1 = splat(int32_t(contract::kPhiloxFactor1));
  uint32_t key0 = uint32_t(random.seed), key1 = uint32_t(random.seed >> 32);
  for (int round = 0; round < contract::kPhiloxRounds; ++round) {
    Ints high0, low0, high1, low1;
    multiply(c0, factor0, &high0, &low0);
    multiply(c2, factor1, &high1, &low1);
    c0 = bit_xor(bit_xor(high1, c1), splat(int32_t(key0)));
    c2 = bit_xor(bit_xor(high0, c3), splat(int32_t(key1)));
    c1 = low1;
    c3 = low0;
    key0 += contract::kPhiloxKeyStep0;
    key1 += contract::kPhiloxKeyStep1;
  }
  int32_t block[4][kWidth];
  store(block[0], c0);
  store(block[1], c1);
  store(block[2], c2);
  store(block[3], c3);
  for (int j = 0; j < kWidth; ++j) {
    for (int w = 0; w < 4; ++w) words[4 * j + w] = uint32_t(block[w][j]);
  }
}

template <class Type, class Score>
GumbelBest gumbel_row(const Source &row, const Score &score_of,
                      const contract::RandomStream &random, int64_t begin, int64_t end,
                      float at_least) {
  const Floats least = splat(at_least), bound = splat(contract::kScoreBound);
  // No score is as low, so the first element is better.
  Floats best = splat(-kInfinity);
  Floats best_index = as_floats(splat(int32_t(-1)));
  for (int64_t first = begin; first < end;) {
    const int64_t words_first = first / kWordElements * kWordElements;
    const int64_t words_end = smaller(words_first + kWordElements, end);
    uint32_t words[kWordElements + kWidth];  // a vector may reach beyond the last
    random_words(random, words_first, words);
    for (int i = 0; i < kWidth; ++i) words[kWordElements + i] = 0;
    for_each_vector<Type>(
        elements<Type>(row.values), first, words_end,
        [&](Floats x, int64_t index, int64_t) SAMPLER_INLINE_LAMBDA {
          const uint32_t *word = words + (index - words_first);
          const Ints raw = load(reinterpret_cast<const int32_t *>(word));
          Floats score = score_of(x, gumbel_noise(raw));
          score = max(min(score, bound), negate(bound));
          const Mask better = both(ge(x, least), gt(score, best));
          best = choose(better, score, best);
          best_index =
              choose(better, as_floats(add(lane_indices(), splat(int32_t(index)))), best_index);
        });
    first = words_end;
  }
  float scores[kWidth];
  int32_t indices[kWidth];
  store(scores, best);
  store(indices, as_ints(best_index));
  GumbelBest result = {-kInfinity, -1};
  for (int i = 0; i < kWidth; ++i) {
    const bool better =
        scores[i] > result.score || (scores[i] == result.score && indices[i] < result.index);
    if (indices[i] >= 0 && better) result = {scores[i], indices[i]};
  }
  return result;
}

GumbelBest gumbel(const Source &row, const contract::RowScale &scale,
                  const contract::RandomStream &random, int64_t begin, int64_t end,
                  float at_least) {
  return with_type(row.dtype, [&](auto type) {
    using Type = decltype(type);
    if (scale.kind == InputKind::kLogits) {
      const LogitScore score = {splat(scale.scale)};
      return gumbel_row<Type>(row, score, random, begin, end, at_least);
    }
    return gumbel_row<Type>(row, ProbabilityScore(), random, begin, end, at_least);
  });
}

constexpr Passes passes_of(const char *name, uint32_t isa) {
  return {name,     isa,    scan,  find_first, find_nth,  count_at_least,      fold_maxima,
          list,     sample, weigh, measure,    keep_side, write_probabilities, write_values,
          subtract, gumbel};
}

}  // namespace
