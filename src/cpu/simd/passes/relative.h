// Conversion of values to relative probabilities and weights.
#pragma once

#include "contract/weight.h"
#include "cpu/simd/passes/log2.h"

namespace sampler::cpu::SAMPLER_ISA {
namespace {

// Vectors per step of the weight pass: as many as fit the registers.
constexpr int kVectorsAtOnce = native::kLanes == kWidth ? 4 : 2;

// Intermediate state of the two-step conversion. The result is x * power, where `power` is a power
// of two.
template <int kCount>
struct Halfway {
  Floats x[kCount], power[kCount];
  Floats surprise[kCount];  // if requested
  Mask nonzero[kCount];
  Mask has[kCount];  // whether the bounds have it, if they leave any out

  SAMPLER_INLINE Floats relative(int i) const { return mul(x[i], power[i]); }
};

// Elements with a weight: all; those from a lower bound; those between two bounds; those that a
// bitmask allows. from(i).has(x, j): which elements of x have one, the j-th vector from element i
// on.
struct AllElements {
  static constexpr bool kLeavesOut = false, kMarks = false;

  SAMPLER_INLINE AllElements from(int64_t) const { return *this; }
};
// kMarks_: makes others -0; the row's largest element must have a weight.
template <bool kMarks_>
struct FromLeastOf {
  static constexpr bool kLeavesOut = true, kMarks = kMarks_;
  Floats least;

  SAMPLER_INLINE FromLeastOf from(int64_t) const { return *this; }
  SAMPLER_INLINE Mask has(Floats x, int) const { return ge(x, least); }
};
using FromLeast = FromLeastOf<false>;
struct Between {
  static constexpr bool kLeavesOut = true, kMarks = false;
  Floats least, most;

  SAMPLER_INLINE Between from(int64_t) const { return *this; }
  SAMPLER_INLINE Mask has(Floats x, int) const { return within(x, least, most); }
};
struct Allowed {
  static constexpr bool kLeavesOut = true, kMarks = false;
  const uint16_t *bits;

  SAMPLER_INLINE Allowed from(int64_t i) const { return {bits + i / kWidth}; }
  SAMPLER_INLINE Mask has(Floats, int j) const { return allowed_by(bits + j); }
};

// exp2_plus_1(log2_ratio_minus_1(x)).
struct RelativeToMax {
  static constexpr float kNothing = -kInfinity, kLowest = -__FLT_MAX__;
  // The low bits of t + kShift are 128 + n for the integer n nearest to t, which is the exponent of
  // 2^(n+1).
  static constexpr float kShift = 0x1.8p23f + 128.0f;
  static constexpr int32_t kShiftedToMinus0 = 1 << 8;
  Floats row_max, scale;

  explicit SAMPLER_INLINE RelativeToMax(const contract::RowScale &row)
      : row_max(splat(row.max)), scale(splat(row.scale)) {}

  // Interleaves several vectors to hide latency. Lanes that are not `nonzero` get a result too
  // small to weigh anything. kSurprises: `surprise` is -contract::relative_log2() = -(t + 1),
  // capped at that of the lowest t, whose weight and surprise round to 0.
  template <bool kSurprises = false, int kCount, class Bounds = AllElements>
  SAMPLER_INLINE void begin(Halfway<kCount> &v, const Bounds &bounds = {}) const {
    if constexpr (Bounds::kLeavesOut) {
      for (int i = 0; i < kCount; ++i) v.has[i] = bounds.has(v.x[i], i);
    }
    for (Floats &x : v.x) x = sub(x, row_max);
    for (Floats &x : v.x) x = fma(x, scale, splat(-1.0f));
    // A value that is left out may exceed the largest by any distance, but if it is marked.
    constexpr bool kByPower = (native::kIsNearestFinite || Bounds::kMarks) && !kSurprises;
    if constexpr (Bounds::kLeavesOut && !kByPower) {
      for (int i = 0; i < kCount; ++i) v.x[i] = choose(v.has[i], v.x[i], splat(kNothing));
    }
    for (int i = 0; i < kCount; ++i) v.nonzero[i] = ge(v.x[i], splat(contract::kLowestLog2));
    // The larger of two negative numbers has the smaller bits.
    const Ints lowest = as_ints(splat(contract::kLowestLog2));
    for (Floats &x : v.x) x = as_floats(min_words(as_ints(x), lowest));
    if constexpr (kSurprises) {
      for (int i = 0; i < kCount; ++i) v.surprise[i] = sub(splat(-1.0f), v.x[i]);
    }
    for (int i = 0; i < kCount; ++i) v.power[i] = add(v.x[i], splat(kShift));
    if constexpr (Bounds::kLeavesOut && kByPower) {
      const Floats others = as_floats(splat(Bounds::kMarks ? kShiftedToMinus0 : 0));
      for (int i = 0; i < kCount; ++i) v.power[i] = choose(v.has[i], v.power[i], others);
    }
    for (Floats &x : v.x) x = minus_nearest(x);
  }
  template <int kCount>
  SAMPLER_INLINE void finish(Halfway<kCount> &v) const {
    Floats p[kCount];
    for (int i = 0; i < kCount; ++i) {
      p[i] = fma(splat(contract::kExp2C5), v.x[i], splat(contract::kExp2C4));
    }
    for (int i = 0; i < kCount; ++i) p[i] = fma(p[i], v.x[i], splat(contract::kExp2C3));
    for (int i = 0; i < kCount; ++i) p[i] = fma(p[i], v.x[i], splat(contract::kExp2C2));
    for (int i = 0; i < kCount; ++i) p[i] = fma(p[i], v.x[i], splat(contract::kExp2C1));
    for (int i = 0; i < kCount; ++i) v.x[i] = fma(p[i], v.x[i], splat(contract::kExp2C0));
    for (Floats &power : v.power) power = as_floats(shift_left<23>(as_ints(power)));
  }
  SAMPLER_INLINE Floats operator()(Floats x) const {
    Halfway<1> v;
    v.x[0] = x;
    begin(v);
    finish(v);
    return zero_unless(v.nonzero[0], v.relative(0));
  }
};

// x * 2^exponent, rounded once: the second factor is 1, or both products are exact.
struct RelativeByPower {
  static constexpr float kNothing = 0.0f, kLowest = __FLT_DENORM_MIN__;
  Floats first, second;
  int exponent;

  explicit SAMPLER_INLINE RelativeByPower(const contract::RowScale &row) : exponent(row.exponent) {
    const int part = row.exponent < 127 ? row.exponent : 127;
    first = splat(power_of_two(part));
    second = splat(power_of_two(row.exponent - part));
  }
  // The surprise of 0 is any number.
  template <bool kSurprises = false, int kCount, class Bounds = AllElements>
  SAMPLER_INLINE void begin(Halfway<kCount> &v, const Bounds &bounds = {}) const {
    if constexpr (Bounds::kLeavesOut) {
      for (int i = 0; i < kCount; ++i) v.has[i] = bounds.has(v.x[i], i);
      const Floats others = splat(Bounds::kMarks ? -0.0f : 0.0f);
      for (int i = 0; i < kCount; ++i) v.x[i] = choose(v.has[i], v.x[i], others);
    }
    // -0 is none: its product would be -0.
    for (int i = 0; i < kCount; ++i) v.nonzero[i] = gt(v.x[i], splat(0.0f));
    if constexpr (kSurprises) {
      for (int i = 0; i < kCount; ++i) v.surprise[i] = negate(log2_shifted(v.x[i], exponent));
    }
    for (Floats &x : v.x) x = (*this)(x);
  }
  template <int kCount>
  SAMPLER_INLINE void finish(Halfway<kCount> &v) const {
    for (Floats &power : v.power) power = splat(1.0f);
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
  SAMPLER_INLINE Floats operator()(Floats x) const { return x; }
};

// Calls f(relative) with the row's conversion to relative probabilities.
template <class F>
SAMPLER_INLINE auto with_relative(const contract::RowScale &row, const F &f) {
  return row.kind == SAMPLER_LOGITS ? f(RelativeToMax(row)) : f(RelativeByPower(row));
}
template <class F>
SAMPLER_INLINE auto with_relative(const Scaling &scaling, const F &f) {
  return scaling.as_given ? f(AsGiven()) : with_relative(scaling.row, f);
}

// The bits of the limbs in contract::weight_of(), before kHighLimb and kLowLimb are subtracted.
struct Limbs {
  Ints high;
  Ints low;
};

// Limbs of x * power. The fma does not round the product.
SAMPLER_INLINE Limbs limbs_of(Floats x, Floats power) {
  const Floats high = fma(x, power, splat(contract::kHighLimb));
  const Floats rest = fma(x, power, sub(splat(contract::kHighLimb), high));
  return {as_ints(high), as_ints(add(rest, splat(contract::kLowLimb)))};
}

// Sum of the weights of up to kWeightBlock relative probabilities, with the limbs summed apart.
class WeightSum {
 public:
  template <int kCount>
  SAMPLER_INLINE void take(const Floats (&x)[kCount], const Floats (&power)[kCount]) {
    Floats high[kCount], low[kCount];
    for (int i = 0; i < kCount; ++i) high[i] = fma(x[i], power[i], splat(kHigh));
    for (int i = 0; i < kCount; ++i) low[i] = sub(splat(kHigh + contract::kLowLimb), high[i]);
    for (int i = 0; i < kCount; ++i) low[i] = fma(x[i], power[i], low[i]);
    for (int i = 0; i < kCount; ++i) high_ = add(high_, as_ints(high[i]));
    for (int i = 0; i < kCount; ++i) low_ = add(low_, as_ints(low[i]));
    vectors_ += kCount;
  }
  // Subtracts the limbs' constants modulo 2^32; the lanes' true sums fit.
  SAMPLER_INLINE uint64_t total() const {
    const uint32_t high_offset = vectors_ * uint32_t(raw_bits(kHigh));
    const uint32_t low_offset = vectors_ * uint32_t(raw_bits(contract::kLowLimb));
    const int64_t high = sum(sub(high_, splat(int32_t(high_offset))));
    const int64_t low = sum(sub(low_, splat(int32_t(low_offset))));
    return uint64_t(high * (int64_t(1) << (contract::kLowLimbBits - 1)) + low);
  }

 private:
  // Half of the contract's unit for the high limb, so that this plus kLowLimb is exact.
  static constexpr float kHigh = 2.5f;
  Ints high_ = splat(int32_t(0)), low_ = splat(int32_t(0));
  uint32_t vectors_ = 0;
};

}  // namespace
}  // namespace sampler::cpu::SAMPLER_ISA
