// The sums that the entropy is made of.
#pragma once

#include "contract/entropy.h"
#include "cpu/simd/passes/log2.h"
#include "cpu/simd/passes/weigh.h"

namespace sampler::cpu::SAMPLER_ISA {
namespace {

// contract::relative_log2() of values.
SAMPLER_INLINE Floats relative_log2(const RelativeToMax &relative, float, Floats x) {
  return add(fma(sub(x, relative.row_max), relative.scale, splat(-1.0f)), splat(1.0f));
}
SAMPLER_INLINE Floats relative_log2(const RelativeByPower &, float exponent, Floats x) {
  return log2_shifted(x, exponent);
}

contract::EntropySums entropy_sums(const RowView &source, const contract::RowScale &scale,
                                   int64_t begin, int64_t end, float at_least) {
  const Floats least = splat(at_least), zero = splat(0.0f);
  const float exponent = float(scale.exponent);
  return with_weighed(source, {scale}, at_least, [&](auto relative, auto type, auto masked) {
    using Type = decltype(type);
    const auto *p = elements<Type>(source.values);
    contract::EntropySums result = {0, 0};
    for_each_block(begin, end, [&](int64_t, int64_t from, int64_t to) {
      WeightSum weights, surprises;
      for_each_relative<Type, decltype(masked)::value>(
          p, relative, from, to, least,
          [&](auto &vectors, int64_t index, int64_t lanes) SAMPLER_INLINE_LAMBDA {
            weights.take(vectors.x);
            // Values are read again: there is no register to keep them in.
            int i = 0;
            for (Floats &x : vectors.x) {
              const Floats value = lanes < kWidth ? read_some<Type>(p + index, lanes, -kInfinity)
                                                  : Type::read(p + index);
              const Floats surprise = mul(negate(relative_log2(relative, exponent, value)), x);
              x = zero_unless(both(vectors.nonzero[i++], gt(x, zero)), surprise);
              index += kWidth;
            }
            surprises.take(vectors.x);
          });
      result.weight += weights.total();
      result.surprise += surprises.total();
    });
    return result;
  });
}

}  // namespace
}  // namespace sampler::cpu::SAMPLER_ISA
