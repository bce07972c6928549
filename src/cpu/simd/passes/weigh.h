// Passes that sum weights or write rows.
#pragma once

#include "cpu/simd/passes/relative.h"

namespace sampler::cpu::SAMPLER_ISA {
namespace {

// Calls use(vectors, index, lanes) with the relative probabilities of elements [begin, end);
// elements outside the bounds weigh nothing. Software pipelining: the next vectors are begun before
// the current ones are finished.
template <class Type, class Relative, class Bounds, class Use>
SAMPLER_INLINE void for_each_relative(const typename Type::Element *p, const Relative &relative,
                                      const Bounds &bounds, int64_t begin, int64_t end,
                                      const Use &use) {
  constexpr int64_t kStep = kVectorsAtOnce * kWidth;
  const auto start = [&](Halfway<kVectorsAtOnce> &v, int64_t i) SAMPLER_INLINE_LAMBDA {
    for (int j = 0; j < kVectorsAtOnce; ++j) v.x[j] = Type::read(p + i + j * kWidth);
    relative.begin(v, bounds.from(i));
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
    last.x[0] =
        lanes == kWidth ? Type::read(p + i) : read_some<Type>(p + i, lanes, Relative::kNothing);
    relative.begin(last, bounds.from(i));
    relative.finish(last);
    use(last, i, lanes);
  }
}

// Calls f(relative, bounds) for what makes values relative and a lower bound of them.
template <class F>
SAMPLER_INLINE auto with_bounds(const Scaling &scaling, float at_least, const F &f) {
  return with_relative(scaling.row, [&](auto relative) {
    return at_least > decltype(relative)::kLowest ? f(relative, FromLeast{splat(at_least)})
                                                  : f(relative, AllElements());
  });
}

// The same with one f for all bounds: for passes that are rare.
template <class F>
SAMPLER_INLINE auto with_lower_bound(const contract::RowScale &row, float at_least, const F &f) {
  return with_relative(row, [&](auto relative) { return f(relative, FromLeast{splat(at_least)}); });
}

// Calls f(block, begin, end) for the part of [begin, end) in each block.
template <class F>
SAMPLER_INLINE void for_each_block(int64_t begin, int64_t end, const F &f) {
  for (int64_t i = begin; i < end;) {
    const int64_t block = i / kWeightBlock;
    const int64_t block_end = smaller((block + 1) * kWeightBlock, end);
    f(block, i, block_end);
    i = block_end;
  }
}

// Calls f(p, begin, count) for each part, widened to f32: p[0] is element `begin`.
template <class F>
SAMPLER_INLINE void for_each_widened(const RowView &source, int64_t begin, int64_t end,
                                     const F &f) {
  float memory[kWidened];
  for_each_block(begin, end, [&](int64_t, int64_t from, int64_t to) SAMPLER_INLINE_LAMBDA {
    f(widened(source, from, to, memory), from, to - from);
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

// Writes scaled(relative probability) of the lanes that are `nonzero`, 0 for others.
template <class Type, int kCount, class Scaled>
SAMPLER_INLINE void write_relative(Halfway<kCount> &vectors, const Scaled &scaled, void *out,
                                   int64_t index, int64_t lanes) {
  for (int i = 0; i < kCount; ++i) {
    vectors.x[i] = zero_unless(vectors.nonzero[i], scaled(vectors.relative(i)));
  }
  write_vectors<Type>(out, index, lanes, vectors.x);
}

// `use` is called with the vectors after they are weighed.
template <class Type, class Relative, class Bounds, class Use>
SAMPLER_INLINE uint64_t sum_blocks(const typename Type::Element *p, const Relative &relative,
                                   const Bounds &bounds, int64_t begin, int64_t end,
                                   uint64_t *block_weights, const Use &use) {
  uint64_t result = 0;
  for_each_block(begin, end, [&](int64_t block, int64_t from, int64_t to) SAMPLER_INLINE_LAMBDA {
    WeightSum weights;
    for_each_relative<Type>(p, relative, bounds, from, to,
                            [&](auto &vectors, int64_t index, int64_t lanes) SAMPLER_INLINE_LAMBDA {
                              weights.take(vectors.x, vectors.power);
                              use(vectors, index, lanes);
                            });
    const uint64_t weight = weights.total();
    result += weight;
    if (block_weights) block_weights[block] += weight;
  });
  return result;
}

constexpr auto kWeighOnly = [](auto &, int64_t, int64_t) SAMPLER_INLINE_LAMBDA {};

uint64_t weigh(const RowView &source, const Scaling &scaling, int64_t begin, int64_t end,
               float at_least, uint64_t *block_weights) {
  return with_bounds(scaling, at_least, [&](auto relative, auto bounds) {
    return with_type(source.dtype, [&](auto type) {
      using Type = decltype(type);
      return sum_blocks<Type>(elements<Type>(source.values), relative, bounds, begin, end,
                              block_weights, kWeighOnly);
    });
  });
}

uint64_t weigh_and_write(const RowView &source, const Scaling &scaling, int64_t begin, int64_t end,
                         float at_least, uint64_t *block_weights, float *out) {
  const auto unscaled = [](Floats x) SAMPLER_INLINE_LAMBDA { return x; };
  return with_bounds(scaling, at_least, [&](auto relative, auto bounds) {
    return with_type(source.dtype, [&](auto type) {
      using Type = decltype(type);
      return sum_blocks<Type>(
          elements<Type>(source.values), relative, bounds, begin, end, block_weights,
          [&](auto &vectors, int64_t index, int64_t lanes)
              SAMPLER_INLINE_LAMBDA { write_relative<F32>(vectors, unscaled, out, index, lanes); });
    });
  });
}

void multiply(float *values, int64_t count, float factor) {
  const Floats times = splat(factor);
  // Backwards: the row's end, written last, is in the cache.
  int64_t i = count;
  for (; i >= kWidth; i -= kWidth) {
    float *const p = values + i - kWidth;
    F32::write(p, mul(F32::read(p), times));
  }
  write_some<F32>(values, i, mul(read_some<F32>(values, i, 0.0f), times));
}

uint64_t weigh_between(const RowView &source, const Scaling &scaling, int64_t begin, int64_t end,
                       float at_least, float at_most, uint64_t *block_weights) {
  const Between bounds = {splat(at_least), splat(at_most)};
  return with_relative(scaling.row, [&](auto relative) {
    return with_type(source.dtype, [&](auto type) {
      using Type = decltype(type);
      return sum_blocks<Type>(elements<Type>(source.values), relative, bounds, begin, end,
                              block_weights, kWeighOnly);
    });
  });
}

SplitWeight weigh_split(const RowView &source, const Scaling &scaling, int64_t begin, int64_t end,
                        float at_least, float heavy) {
  const Floats least_heavy = splat(heavy);
  return with_bounds(scaling, at_least, [&](auto relative, auto bounds) {
    SplitWeight result = {0, 0};
    for_each_widened(
        source, begin, end, [&](const float *p, int64_t, int64_t count) SAMPLER_INLINE_LAMBDA {
          WeightSum all, of_heavy;
          for_each_relative<F32>(
              p, relative, bounds, 0, count,
              [&](auto &vectors, int64_t index, int64_t lanes) SAMPLER_INLINE_LAMBDA {
                all.take(vectors.x, vectors.power);
                // Reloads the values: registers are exhausted.
                for (Floats &x : vectors.x) {
                  const Floats value = lanes < kWidth ? read_some<F32>(p + index, lanes, -kInfinity)
                                                      : F32::read(p + index);
                  x = zero_unless(ge(value, least_heavy), x);
                  index += kWidth;
                }
                of_heavy.take(vectors.x, vectors.power);
              });
          result.total += all.total();
          result.heavy += of_heavy.total();
        });
    return result;
  });
}

uint64_t sum_weights(const RowView &source, const Scaling &scaling, int64_t begin, int64_t end,
                     float at_least, uint64_t sum, uint64_t *out) {
  native::Sum so_far = native::sum_from(sum);
  with_bounds(scaling, at_least, [&](auto relative, auto bounds) {
    for_each_widened(
        source, begin, end,
        [&](const float *p, int64_t first, int64_t count) SAMPLER_INLINE_LAMBDA {
          for_each_relative<F32>(
              p, relative, bounds, 0, count,
              [&](const auto &vectors, int64_t index, int64_t lanes) SAMPLER_INLINE_LAMBDA {
                uint64_t *const sums = out + first + index;
                for (int i = 0; i * kWidth < lanes; ++i) {
                  const Limbs limbs = limbs_of(vectors.x[i], vectors.power[i]);
                  const Ints high = sub(limbs.high, splat(raw_bits(contract::kHighLimb)));
                  const Ints low = sub(limbs.low, splat(raw_bits(contract::kLowLimb)));
                  if (lanes >= kWidth) {
                    so_far = store_sums(sums + i * kWidth, high, low, so_far);
                    continue;
                  }
                  // The other lanes weigh nothing.
                  uint64_t some[kWidth];
                  so_far = store_sums(some, high, low, so_far);
                  __builtin_memcpy(sums, some, size_t(lanes) * sizeof *some);
                }
              });
        });
  });
  return native::value_of(so_far);
}

void write_probabilities(const RowView &source, const Scaling &scaling, float normalizer,
                         int64_t begin, int64_t end, float at_least, void *out,
                         sampler_dtype out_dtype) {
  const FromLeast bounds = {splat(at_least)};
  const Floats factor = splat(normalizer);
  const auto times_factor = [&](Floats x) SAMPLER_INLINE_LAMBDA { return mul(x, factor); };
  with_relative(scaling.row, [&](auto relative) {
    with_type(out_dtype, [&](auto out_type) {
      for_each_widened(source, begin, end,
                       [&](const float *p, int64_t first, int64_t count) SAMPLER_INLINE_LAMBDA {
                         for_each_relative<F32>(p, relative, bounds, 0, count,
                                                [&](auto &vectors, int64_t index, int64_t lanes)
                                                    SAMPLER_INLINE_LAMBDA {
                                                      write_relative<decltype(out_type)>(
                                                          vectors, times_factor, out, first + index,
                                                          lanes);
                                                    });
                       });
    });
  });
}

void write_values(const RowView &source, int64_t begin, int64_t end, float at_least, void *out,
                  sampler_dtype out_dtype) {
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

float subtract(const RowView &source, const Scaling &scaling, float normalizer, int64_t begin,
               int64_t end, float at_least, const float *p, float *residual, float *maxima) {
  const Floats least = splat(at_least), factor = splat(normalizer), zero = splat(0.0f);
  return with_relative(scaling, [&](auto relative) {
    return with_type(source.dtype, [&](auto type) {
      using Type = decltype(type);
      const auto *const q = elements<Type>(source.values);
      Floats top = zero;
      for (int64_t i = begin; i < end;) {
        const int64_t first = i / kGroupBlock * kGroupBlock;
        const int64_t block_end = smaller(first + kGroupBlock, end);
        Floats block_top = zero;
        for_each_vector<Type>(
            q, i, block_end, [&](Floats x, int64_t index, int64_t lanes) SAMPLER_INLINE_LAMBDA {
              const Floats less = zero_unless(ge(x, least), mul(relative(x), factor));
              const Floats difference = sub(read_up_to(p + index, lanes, 0.0f), less);
              const Floats left = zero_unless(gt(difference, zero), difference);
              write_vector<F32>(residual, index, lanes, left);
              block_top = max(block_top, left);
            });
        if (maxima) store(maxima + first / kGroupElements, block_top);
        top = max(top, block_top);
        i = block_end;
      }
      return largest(top);
    });
  });
}

}  // namespace
}  // namespace sampler::cpu::SAMPLER_ISA
