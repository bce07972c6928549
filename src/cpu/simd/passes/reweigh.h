// Passes that compute adaptive-p's logits.
#pragma once

#include "contract/adaptive.h"
#include "cpu/simd/passes/weigh.h"

namespace sampler::cpu::SAMPLER_ISA {
namespace {

// The operations of contract::AdaptiveP. Alternatives to the divisions are not faster.
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
    for (Floats &d : v.x) d = div(d, splat(contract::AdaptiveP::kWidth));
    for (Floats &d : v.x) d = div(mul(d, d), add(splat(1.0f), d));
    for (Floats &y : v.x) y = mul(y, splat(contract::AdaptiveP::kSteepness));
  }
};

// Calls f(logits) with the row's conversion to adaptive-p logits.
template <class F>
SAMPLER_INLINE auto with_logits(const contract::AdaptiveP &stage, const F &f) {
  return stage.seen.kind == SAMPLER_LOGITS ? f(AdaptiveLogits<RelativeToMax>(stage))
                                           : f(AdaptiveLogits<RelativeByPower>(stage));
}

float reweigh(const RowView &row, const contract::AdaptiveP &stage, float at_least, float *out,
              float *maxima) {
  const Floats least = splat(at_least), nothing = splat(-kInfinity);
  return with_logits(stage, [&](auto logits) {
    return with_type(row.dtype, [&](auto type) {
      using Type = decltype(type);
      const auto *const p = elements<Type>(row.values);
      Floats top = nothing, block_top = nothing;
      for_each_relative<Type>(
          p, logits, AllElements(), 0, row.count,
          [&](auto &vectors, int64_t index, int64_t lanes) SAMPLER_INLINE_LAMBDA {
            // Reloads the values: registers are exhausted.
            int64_t place = index;
            for (Floats &y : vectors.x) {
              const Floats x =
                  lanes < kWidth ? read_some<Type>(p + place, lanes, kNaN) : Type::read(p + place);
              y = choose(ge(x, least), y, nothing);
              block_top = max(block_top, y);
              place += kWidth;
            }
            write_vectors<F32>(out, index, lanes, vectors.x);
            const int64_t end = index + lanes;
            if (end % kGroupBlock != 0 && end != row.count) return;
            store(maxima + index / kGroupBlock * kWidth, block_top);
            top = max(top, block_top);
            block_top = nothing;
          });
      return largest(top);
    });
  });
}

}  // namespace
}  // namespace sampler::cpu::SAMPLER_ISA
