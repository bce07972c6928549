// Passes that compute the new logits of adaptive-p and smoothing.
#pragma once

#include "contract/adaptive.h"
#include "cpu/simd/passes/weigh.h"

namespace sampler::cpu::SAMPLER_ISA {
namespace {

// distance / contract::AdaptiveP::kWidth to the bit, by the quotient's two factors: so for all
// significands of the distance, as a test of all of them shows. A tiny distance, for which the
// smaller product is subnormal, may get another last bit: its square rounds to 0 all the same.
SAMPLER_INLINE Floats widths_of(Floats distance) {
  constexpr float kHigh = 0x1.aaaaaap+1f, kLow = -0x1.c71c6ep-25f;
  static_assert(contract::AdaptiveP::kWidth == 0.3f, "the factors are those of this width");
  return fma(splat(kHigh), distance, mul(splat(kLow), distance));
}

// The operations of contract::AdaptiveP.
template <class Relative>
struct AdaptiveLogits {
  static constexpr float kNothing = Relative::kNothing;
  Relative relative;
  Floats total, wanted;

  explicit SAMPLER_INLINE AdaptiveLogits(const contract::AdaptiveP &stage)
      : relative(stage.seen), total(splat(stage.total)), wanted(splat(stage.wanted)) {}

  template <int kCount>
  SAMPLER_INLINE void begin(Halfway<kCount> &v, const AllElements &) const {
    relative.begin(v);
  }
  template <int kCount>
  SAMPLER_INLINE void finish(Halfway<kCount> &v) const {
    relative.finish(v);
    for (int i = 0; i < kCount; ++i) v.x[i] = zero_unless(v.nonzero[i], v.relative(i));
    for (Floats &q : v.x) q = sub(div(q, total), wanted);
    for (Floats &q : v.x) q = as_floats(bit_and(as_ints(q), splat(int32_t(0x7FFFFFFF))));
    for (Floats &d : v.x) d = widths_of(d);
    for (Floats &d : v.x) d = div(mul(d, d), add(splat(1.0f), d));
    for (Floats &y : v.x) y = mul(y, splat(contract::AdaptiveP::kSteepness));
  }
};

// The operations of contract::Smoothing.
struct SmoothedBelowFirst {
  Floats square, cube;

  explicit SAMPLER_INLINE SmoothedBelowFirst(const contract::Smoothing &stage)
      : square(splat(stage.square)), cube(splat(stage.cube)) {}

  SAMPLER_INLINE Floats operator()(Floats below) const {
    const Floats bits = min(below, splat(contract::Smoothing::kFarthest));
    return max(mul(negate(mul(bits, bits)), fma(cube, bits, square)),
               splat(-contract::kLargestFloat));
  }
};
struct SmoothedLogits : RelativeToMax {
  SmoothedBelowFirst smoothed;

  explicit SAMPLER_INLINE SmoothedLogits(const contract::Smoothing &stage)
      : RelativeToMax(stage.seen), smoothed(stage) {}

  template <int kCount>
  SAMPLER_INLINE void begin(Halfway<kCount> &v, const AllElements &) const {
    for (Floats &x : v.x) x = fma(sub(x, row_max), scale, splat(-1.0f));
  }
  // The first token's own logarithm is 0.
  template <int kCount>
  SAMPLER_INLINE void finish(Halfway<kCount> &v) const {
    for (Floats &t : v.x) t = smoothed(negate(add(t, splat(1.0f))));
  }
};
struct SmoothedProbabilities {
  static constexpr float kNothing = 0.0f;
  SmoothedBelowFirst smoothed;
  Floats first;
  int exponent;

  explicit SAMPLER_INLINE SmoothedProbabilities(const contract::Smoothing &stage)
      : smoothed(stage), first(splat(stage.first)), exponent(stage.seen.exponent) {}

  template <int kCount>
  SAMPLER_INLINE void begin(Halfway<kCount> &v, const AllElements &) const {
    for (Floats &x : v.x) x = log2_shifted(x, exponent);
  }
  template <int kCount>
  SAMPLER_INLINE void finish(Halfway<kCount> &v) const {
    for (Floats &r : v.x) r = smoothed(sub(first, r));
  }
};

// Calls f(logits) with what gives the row's elements their new logits.
template <class F>
SAMPLER_INLINE auto with_logits(const contract::Reweighing &stage, const F &f) {
  if (stage.smooths) {
    return stage.smoothing.seen.kind == SAMPLER_LOGITS ? f(SmoothedLogits(stage.smoothing))
                                                       : f(SmoothedProbabilities(stage.smoothing));
  }
  return stage.adaptive_p.seen.kind == SAMPLER_LOGITS
             ? f(AdaptiveLogits<RelativeToMax>(stage.adaptive_p))
             : f(AdaptiveLogits<RelativeByPower>(stage.adaptive_p));
}

float reweigh(const RowView &row, const contract::Reweighing &stage, float at_least, float *out,
              float *maxima) {
  static_assert(kWeightBlock % kGroupBlock == 0);
  const Floats least = splat(at_least), nothing = splat(-kInfinity);
  return with_logits(stage, [&](auto logits) {
    Floats top = nothing, block_top = nothing;
    for_each_widened(
        row, 0, row.count, [&](const float *p, int64_t begin, int64_t count) SAMPLER_INLINE_LAMBDA {
          for_each_relative<F32>(
              p, logits, AllElements(), 0, count,
              [&](auto &vectors, int64_t index, int64_t lanes) SAMPLER_INLINE_LAMBDA {
                // Reloads the values: registers are exhausted.
                int64_t place = index;
                for (Floats &y : vectors.x) {
                  const Floats x = lanes < kWidth ? read_some<F32>(p + place, lanes, kNaN)
                                                  : F32::read(p + place);
                  y = choose(ge(x, least), y, nothing);
                  block_top = max(block_top, y);
                  place += kWidth;
                }
                write_vectors<F32>(out, begin + index, lanes, vectors.x);
                const int64_t end = begin + index + lanes;
                if (end % kGroupBlock != 0 && end != row.count) return;
                store(maxima + (begin + index) / kGroupBlock * kWidth, block_top);
                top = max(top, block_top);
                block_top = nothing;
              });
        });
    return largest(top);
  });
}

}  // namespace
}  // namespace sampler::cpu::SAMPLER_ISA
