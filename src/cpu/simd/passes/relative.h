// From values to relative probabilities and weights.
#pragma once

#include "contract/weight.h"
#include "cpu/simd/passes/elements.h"

namespace sampler::cpu::SAMPLER_ISA {
namespace {

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
  Floats row_max, scale;

  explicit SAMPLER_INLINE RelativeToMax(const contract::RowScale &row)
      : row_max(splat(row.max)), scale(splat(row.scale)) {}

  // Of several vectors at once, step by step, so that none waits for its own last result. What is
  // not `nonzero` comes out so small that it weighs nothing.
  template <int kCount>
  SAMPLER_INLINE void begin(Halfway<kCount> &v) const {
    const Floats shift = splat(0x1.8p23f);
    for (Floats &x : v.x) x = sub(x, row_max);
    for (Floats &x : v.x) x = fma(x, scale, splat(-1.0f));
    for (int i = 0; i < kCount; ++i) v.nonzero[i] = ge(v.x[i], splat(contract::kLowestLog2));
    for (Floats &x : v.x) x = max(x, splat(contract::kLowestLog2));
    for (int i = 0; i < kCount; ++i) v.shifted[i] = add(v.x[i], shift);
    for (Floats &x : v.x) x = minus_nearest(x);
  }
  // All coefficients are doubled, which is exact, for 2^(t + 1). The low bits of t + shift are the
  // integer's: moved to the exponent they multiply by its power of two.
  template <int kCount>
  SAMPLER_INLINE void finish(Halfway<kCount> &v) const {
    Floats p[kCount];
    for (int i = 0; i < kCount; ++i) {
      p[i] = fma(splat(2 * contract::kExp2C5), v.x[i], splat(2 * contract::kExp2C4));
    }
    for (int i = 0; i < kCount; ++i) p[i] = fma(p[i], v.x[i], splat(2 * contract::kExp2C3));
    for (int i = 0; i < kCount; ++i) p[i] = fma(p[i], v.x[i], splat(2 * contract::kExp2C2));
    for (int i = 0; i < kCount; ++i) p[i] = fma(p[i], v.x[i], splat(2 * contract::kExp2C1));
    for (int i = 0; i < kCount; ++i) p[i] = fma(p[i], v.x[i], splat(2 * contract::kExp2C0));
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
  return row.kind == SAMPLER_LOGITS ? f(RelativeToMax(row)) : f(RelativeByPower(row));
}
template <class F>
SAMPLER_INLINE auto with_relative(const Scaling &scaling, const F &f) {
  return scaling.as_given ? f(AsGiven()) : with_relative(scaling.row, f);
}

// The bits of what contract::weight_of() makes of a relative probability, from which it takes those
// of kHighLimb and kLowLimb.
struct Limbs {
  Ints high;
  Ints low;
};

SAMPLER_INLINE Limbs limbs_of(Floats relative) {
  const Floats high = add(relative, splat(contract::kHighLimb));
  const Floats rest = sub(relative, sub(high, splat(contract::kHighLimb)));
  return {as_ints(high), as_ints(add(rest, splat(contract::kLowLimb)))};
}

// The same of minus x.
SAMPLER_INLINE Limbs limbs_of_negative(Floats x) {
  const Floats high = sub(splat(contract::kHighLimb), x);
  const Floats rest = add(x, sub(high, splat(contract::kHighLimb)));
  return {as_ints(high), as_ints(sub(splat(contract::kLowLimb), rest))};
}

// Sum of the weights of up to kWeightBlock relative probabilities: weight_of(), its limbs apart.
class WeightSum {
 public:
  template <int kCount>
  SAMPLER_INLINE void take(const Floats (&relative)[kCount]) {
    for (const Floats x : relative) add_limbs(limbs_of(x));
    vectors_ += kCount;
  }
  template <int kCount>
  SAMPLER_INLINE void take_negative(const Floats (&minus_relative)[kCount]) {
    for (const Floats x : minus_relative) add_limbs(limbs_of_negative(x));
    vectors_ += kCount;
  }
  SAMPLER_INLINE void take(Floats relative) {
    const Floats one[] = {relative};
    take(one);
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
  SAMPLER_INLINE void add_limbs(const Limbs &limbs) {
    high_ = add(high_, limbs.high);
    low_ = add(low_, limbs.low);
  }

  Ints high_ = splat(int32_t(0)), low_ = splat(int32_t(0));
  uint32_t vectors_ = 0;
};

}  // namespace
}  // namespace sampler::cpu::SAMPLER_ISA
