// Passes for the windows: entropies, collisions, deviations, bounds.
#pragma once

#include "contract/collision.h"
#include "contract/deviation.h"
#include "cpu/simd/passes/log2.h"
#include "cpu/simd/passes/weigh.h"

namespace sampler::cpu::SAMPLER_ISA {
namespace {

// Conversion to relative probabilities that also sets `surprise`, such that surprise * power is
// contract::relative_surprise().
template <class Relative>
struct WithSurprise : Relative {
  using Relative::Relative;

  template <int kCount, class Bounds>
  SAMPLER_INLINE void begin(Halfway<kCount> &v, const Bounds &bounds) const {
    Relative::template begin<true>(v, bounds);
  }
  template <int kCount>
  SAMPLER_INLINE void finish(Halfway<kCount> &v) const {
    Relative::finish(v);
    for (int i = 0; i < kCount; ++i) v.surprise[i] = mul(v.surprise[i], v.x[i]);
  }
};

contract::EntropySums sum_entropy(const RowView &source, const contract::RowScale &row,
                                  int64_t begin, int64_t end, float at_least) {
  return with_lower_bound(row, at_least, [&](auto relative, auto bounds) {
    const WithSurprise<decltype(relative)> with_surprise(row);
    contract::EntropySums result;
    for_each_widened(
        source, begin, end, [&](const float *p, int64_t, int64_t count) SAMPLER_INLINE_LAMBDA {
          WeightSum weights, surprises;
          for_each_relative<F32>(p, with_surprise, bounds, 0, count,
                                 [&](const auto &vectors, int64_t, int64_t) SAMPLER_INLINE_LAMBDA {
                                   weights.take(vectors.x, vectors.power);
                                   surprises.take(vectors.surprise, vectors.power);
                                 });
          result.weight += weights.total();
          result.surprise += surprises.total();
        });
    return result;
  });
}

// Sums of up to kWeightBlock weights and of the products of their limbs.
class CollisionSum {
 public:
  template <int kCount>
  SAMPLER_INLINE void take(const Floats (&x)[kCount], const Floats (&power)[kCount]) {
    for (int i = 0; i < kCount; ++i) {
      const Limbs limbs = limbs_of(x[i], power[i]);
      const Ints high = sub(limbs.high, splat(raw_bits(contract::kHighLimb)));
      const Ints low = sub(limbs.low, splat(raw_bits(contract::kLowLimb)));
      highs_ = add(highs_, high);
      lows_ = add(lows_, low);
      high_ = add_products(high, high, high_);
      cross_ = add_products(high, low, cross_);
      low_ = add_products(low, low, low_);
    }
  }
  SAMPLER_INLINE void add_to(contract::CollisionSums *sums) const {
    sums->add({uint64_t(sum(highs_) * (int64_t(1) << contract::kLowLimbBits) + sum(lows_)),
               uint64_t(sum_of_products(high_)), sum_of_products(cross_),
               uint64_t(sum_of_products(low_))});
  }

 private:
  Ints highs_ = splat(int32_t(0)), lows_ = highs_;
  Ints high_ = highs_, cross_ = highs_, low_ = highs_;
};

contract::CollisionSums sum_collisions(const RowView &source, const contract::RowScale &row,
                                       int64_t begin, int64_t end, float at_least) {
  return with_lower_bound(row, at_least, [&](auto relative, auto bounds) {
    contract::CollisionSums result;
    for_each_widened(
        source, begin, end, [&](const float *p, int64_t, int64_t count) SAMPLER_INLINE_LAMBDA {
          CollisionSum block;
          for_each_relative<F32>(p, relative, bounds, 0, count,
                                 [&](const auto &vectors, int64_t, int64_t) SAMPLER_INLINE_LAMBDA {
                                   block.take(vectors.x, vectors.power);
                                 });
          block.add_to(&result);
        });
    return result;
  });
}

// Nearest integer, for |x| <= 2^22.
SAMPLER_INLINE Ints integer_of(Floats x) {
  const Floats shift = splat(0x1.8p23f);
  return sub(as_ints(add(x, shift)), as_ints(shift));
}

// Sums of up to kWeightBlock integers <= 2^22, and of their squares. Squares are computed from two
// parts of 11 bits, whose products are exact in f32.
class DeviationSum {
 public:
  SAMPLER_INLINE void take(Ints deviation) {
    const Floats upper = float_of_signed(shift_right<kPartBits>(deviation));
    const Floats lower = float_of_signed(bit_and(deviation, splat((1 << kPartBits) - 1)));
    sum_ = add(sum_, deviation);
    high_ = add(high_, integer_of(mul(upper, upper)));
    middle_ = add(middle_, integer_of(mul(upper, lower)));
    low_ = add(low_, integer_of(mul(lower, lower)));
  }
  SAMPLER_INLINE void add_to(contract::DeviationSums *sums) const {
    sums->sum += uint64_t(sum(sum_));
    sums->squares += (uint64_t(sum(high_)) << (2 * kPartBits)) +
                     (uint64_t(sum(middle_)) << (kPartBits + 1)) + uint64_t(sum(low_));
  }

 private:
  static constexpr int kPartBits = 11;
  Ints sum_ = splat(int32_t(0)), high_ = sum_, middle_ = sum_, low_ = sum_;
};

contract::DeviationSums sum_deviations(const RowView &source, const contract::RowScale &row,
                                       const contract::DeviationScale &unit, int64_t begin,
                                       int64_t end, float at_least) {
  // x * 2^exponent, as contract::times_power_of_two().
  const int n = unit.exponent, first_part = n < -126 ? -64 : n > 127 ? 127 : n;
  const Floats first_factor = splat(raw_float(uint32_t(first_part + 127) << 23));
  const Floats second_factor = splat(raw_float(uint32_t(n - first_part + 127) << 23));
  const Floats first = splat(unit.first), least = splat(at_least), largest = splat(__FLT_MAX__);
  const auto sum = [&](const auto &value_of) SAMPLER_INLINE_LAMBDA {
    contract::DeviationSums result;
    for_each_widened(
        source, begin, end, [&](const float *p, int64_t, int64_t count) SAMPLER_INLINE_LAMBDA {
          DeviationSum block;
          for_each_vector<F32>(p, 0, count, [&](Floats x, int64_t, int64_t) SAMPLER_INLINE_LAMBDA {
            const Floats distance = min(sub(first, value_of(x)), largest);
            const Floats scaled = mul(mul(distance, first_factor), second_factor);
            block.take(integer_of(zero_unless(ge(x, least), scaled)));
          });
          block.add_to(&result);
        });
    return result;
  };
  if (row.kind == SAMPLER_LOGITS) return sum([](Floats x) SAMPLER_INLINE_LAMBDA { return x; });
  return sum([&](Floats x) SAMPLER_INLINE_LAMBDA { return log2_shifted(x, row.exponent); });
}

ValueRange find_range(const RowView &source, int64_t begin, int64_t end, float at_least,
                      float at_most) {
  const Floats least = splat(at_least), most = splat(at_most);
  Floats low = splat(kInfinity), high = splat(-kInfinity);
  ValueRange range = {0, 0.0f, 0.0f};
  with_type(source.dtype, [&](auto type) {
    using Type = decltype(type);
    for_each_vector<Type>(elements<Type>(source.values), begin, end,
                          [&](Floats x, int64_t, int64_t) SAMPLER_INLINE_LAMBDA {
                            const Mask inside = both(ge(x, least), ge(most, x));
                            range.count += count_of(inside);
                            low = min(low, choose(inside, x, splat(kInfinity)));
                            high = max(high, choose(inside, x, splat(-kInfinity)));
                          });
  });
  range.largest = largest(high);
  range.least = -largest(negate(low));
  return range;
}

}  // namespace
}  // namespace sampler::cpu::SAMPLER_ISA
