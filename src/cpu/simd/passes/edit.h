// Passes over the edited tokens of a row.
#pragma once

#include "contract/edits.h"
#include "cpu/simd/passes/weigh.h"

namespace sampler::cpu::SAMPLER_ISA {
namespace {

// contract::edited(), for a result that is not NaN.
SAMPLER_INLINE Floats edited(Floats x, Floats new_x) {
  const Floats most = splat(contract::kLargestFloat), least = splat(-contract::kLargestFloat);
  return choose(within(x, least, most), max(min(new_x, most), least), x);
}

void penalize(float *values, const int32_t *marks, int64_t count,
              const contract::Penalties &penalties) {
  using contract::PenaltyForm;
  const bool is_reciprocal = penalties.form == PenaltyForm::kReciprocal,
             counts_first = penalties.form == PenaltyForm::kCountsFirst,
             repeats = penalties.repetition != 0.0f;
  const Floats zero = splat(0.0f), repetition = splat(penalties.repetition),
               inverse = splat(1.0f / penalties.repetition), frequency = splat(penalties.frequency),
               presence = splat(penalties.presence);
  const auto repeated = [&](Floats x) SAMPLER_INLINE_LAMBDA {
    const Floats nearer_0 = is_reciprocal ? mul(x, inverse) : div(x, repetition);
    return edited(x, choose(gt(x, zero), nearer_0, mul(x, repetition)));
  };
  for (int64_t i = 0; i < count; i += kWidth) {
    const int64_t lanes = smaller(count - i, kWidth);
    const Floats x = read_up_to(values + i, lanes, 0.0f);
    // The bits of -inf are a negative integer: unmarked.
    const auto *const bits = reinterpret_cast<const float *>(marks + i);
    const Floats mark = float_of_signed(as_ints(read_up_to(bits, lanes, -kInfinity)));
    Floats y = x;
    if (repeats && !counts_first) y = repeated(y);
    const Floats product = mul(mark, frequency);
    const Floats less =
        is_reciprocal ? sub(sub(y, product), presence) : sub(y, add(product, presence));
    y = choose(gt(mark, zero), edited(y, less), y);
    if (repeats && counts_first) y = repeated(y);
    write_vector<F32>(values, i, lanes, choose(ge(mark, zero), y, x));
  }
}

uint64_t weigh_allowed(const RowView &row, const contract::RowScale &scale, const uint32_t *allowed,
                       int64_t begin, int64_t end, uint64_t *block_weights) {
  return with_type(row.dtype, [&](auto type) {
    using Type = decltype(type);
    return sum_blocks<Type>(elements<Type>(row.values), RelativeToMax(scale),
                            Allowed{bits_from(allowed, 0)}, begin, end, block_weights, kWeighOnly);
  });
}

void weigh_changes(const float *given, const float *changed, int64_t count,
                   const contract::RowScale &row, float at_least, int32_t *high, int32_t *low) {
  const RelativeToMax relative(row);
  const FromLeast bounds = {splat(at_least)};
  for (int64_t i = 0; i < count; i += kWidth) {
    const int64_t lanes = smaller(count - i, kWidth);
    Halfway<2> v;
    v.x[0] = read_up_to(given + i, lanes, -kInfinity);
    v.x[1] = read_up_to(changed + i, lanes, -kInfinity);
    relative.begin(v, bounds);
    relative.finish(v);
    const Limbs before = limbs_of(v.x[0], v.power[0]), after = limbs_of(v.x[1], v.power[1]);
    store(high + i, sub(after.high, before.high));
    store(low + i, sub(after.low, before.low));
  }
}

}  // namespace
}  // namespace sampler::cpu::SAMPLER_ISA
