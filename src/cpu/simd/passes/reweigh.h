// Passes that compute the new logits of adaptive-p and smoothing.
#pragma once

#include "contract/adaptive.h"
#include "cpu/simd/passes/edit.h"
#include "cpu/simd/passes/weigh.h"

namespace sampler::cpu::SAMPLER_ISA {
namespace {

// contract::AdaptiveP::logit_of().
SAMPLER_INLINE Floats logit_of_rounded(Floats rounded, Floats wanted) {
  const Floats above = sub(rounded, wanted);
  const Floats distance = as_floats(bit_and(as_ints(above), splat(int32_t(0x7FFFFFFF))));
  const Floats d = mul(distance, splat(contract::AdaptiveP::kPerWidth));
  return mul(div(mul(d, d), add(splat(1.0f), d)), splat(contract::AdaptiveP::kSteepness));
}

// The operations of contract::AdaptiveP.
template <class Relative>
struct AdaptiveLogits {
  static constexpr float kNothing = Relative::kNothing;
  Relative relative;
  Floats inverse, wanted;

  explicit SAMPLER_INLINE AdaptiveLogits(const contract::AdaptiveP &stage)
      : relative(stage.seen), inverse(splat(stage.inverse)), wanted(splat(stage.wanted)) {}

  template <int kCount>
  SAMPLER_INLINE void begin(Halfway<kCount> &v, const AllElements &) const {
    relative.begin(v);
  }
  template <int kCount>
  SAMPLER_INLINE void finish(Halfway<kCount> &v) const {
    relative.finish(v);
    for (int i = 0; i < kCount; ++i) v.x[i] = zero_unless(v.nonzero[i], v.relative(i));
    const Floats grid = splat(contract::AdaptiveP::kGrid);
    for (Floats &q : v.x) q = sub(fma(q, inverse, grid), grid);
    for (Floats &q : v.x) q = logit_of_rounded(q, wanted);
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

// weigh_and_mark() from `begin` on. Without bounds it marks nothing, and ends before the first
// block that may have elements which are not kept. Returns where it ends.
template <class Relative, class Bounds>
SAMPLER_INLINE int64_t mark_blocks(const RowView &source, const Relative &relative,
                                   const Bounds &bounds, int64_t begin, int64_t end, float *out,
                                   MarkedWeight *result) {
  constexpr float kNearly0 = 0x1p-99f;  // elements that are not kept have less
  constexpr int64_t kOfLine = 64 / sizeof(float), kSoon = 32 * kOfLine;
  float memory[kWidened];
  while (begin < end) {
    const int64_t block_end = smaller((begin / kWeightBlock + 1) * kWeightBlock, end);
    const float *const p = widened(source, begin, block_end, memory);
    Floats low = splat(kInfinity);
    const uint64_t weight =
        sum_blocks<F32>(p, relative, bounds, 0, block_end - begin, nullptr,
                        [&](auto &vectors, int64_t index, int64_t lanes) SAMPLER_INLINE_LAMBDA {
                          // Row and `out` together may be larger than the cache.
                          for (int64_t next = kSoon; next < kSoon + lanes; next += kOfLine) {
                            __builtin_prefetch(out + begin + index + next, 1);
                          }
                          int i = 0;
                          for (Floats &x : vectors.x) {
                            x = vectors.relative(i);
                            if constexpr (Bounds::kLeavesOut) {
                              // Negative numbers have the larger bits.
                              x = Bounds::kMarks ? choose(negative(x), splat(kNotKept), x)
                                                 : choose(vectors.has[i], x, splat(kNotKept));
                              low = as_floats(min_words(as_ints(low), as_ints(x)));
                            } else {
                              low = min(low, x);
                            }
                            ++i;
                          }
                          write_vectors<F32>(out, begin + index, lanes, vectors.x);
                        });
    const float least = -largest(negate(low));
    if (!Bounds::kLeavesOut && least < kNearly0) return begin;
    result->total += weight;
    result->least = least < result->least ? least : result->least;
    begin = block_end;
  }
  return end;
}

MarkedWeight weigh_and_mark(const RowView &source, const Scaling &scaling, int64_t begin,
                            int64_t end, float at_least, float *out) {
  MarkedWeight result = {0, kInfinity};
  with_relative(scaling.row, [&](auto relative) {
    if (at_least <= decltype(relative)::kLowest) {
      begin = mark_blocks(source, relative, AllElements(), begin, end, out, &result);
    }
    const FromLeastOf<!native::kHasMasks> bounds = {splat(at_least)};
    mark_blocks(source, relative, bounds, begin, end, out, &result);
  });
  return result;
}

// Neighbouring rounded probabilities: `first` is the bits of the first one's sum with
// AdaptiveP::kGrid, whose ulp is their unit.
struct TableRange {
  int32_t first;
  int size;  // the last one is not in the table
};

// The range for the table: holds those of most of some tokens. It is small if it holds all of them.
[[gnu::noinline]] TableRange choose_range(const float *relative, int64_t count,
                                          const contract::AdaptiveP &stage) {
  constexpr int kSeen = 15;
  const int32_t zero = raw_bits(contract::AdaptiveP::kGrid);
  int32_t seen[kSeen];
  int num_seen = 0;
  for (int i = 0; i < kSeen; ++i) {
    const float x = relative[(2 * i + 1) * count / (2 * kSeen)];
    if (!(x >= 0.0f)) continue;  // not kept
    seen[num_seen++] = raw_bits(__builtin_fmaf(x, stage.inverse, contract::AdaptiveP::kGrid));
  }
  for (int size = native::kSmallTable;; size = native::kLargeTable) {
    const int32_t farthest = size - 2;
    int32_t first = zero;
    int most = 0;
    for (int i = 0; i < num_seen; ++i) {
      int32_t high = seen[i];
      int num = 0;
      for (int j = 0; j < num_seen; ++j) {
        if (seen[j] < seen[i] || seen[j] - seen[i] > farthest) continue;
        ++num;
        high = seen[j] > high ? seen[j] : high;
      }
      if (num <= most) continue;
      most = num;
      first = high - zero <= farthest ? zero : seen[i] - (farthest - (high - seen[i])) / 2;
    }
    if (most == num_seen || size == native::kLargeTable) return {first, size};
  }
}

// The weights of new logits, of probabilities by the bits of their sums with kGrid.
struct NewWeights {
  RelativeToMax relative_of;
  Floats wanted;

  NewWeights(const contract::RowScale &row, const contract::AdaptiveP &stage)
      : relative_of(row), wanted(splat(stage.wanted)) {}

  // Calls set(i, weight) for `count` neighbouring ones from `first` on.
  template <class Set>
  SAMPLER_INLINE void make(int32_t first, int count, const Set &set) const {
    for (int i = 0; i < count; i += kWidth) {
      const Floats sums = as_floats(add(splat(first + i), lane_indices()));
      const Floats rounded = sub(sums, splat(contract::AdaptiveP::kGrid));
      float relatives[kWidth];
      store(relatives, relative_of(logit_of_rounded(rounded, wanted)));
      for (int j = i; j < i + kWidth && j < count; ++j) {
        set(j, contract::weight_of(relatives[j - i]));
      }
    }
  }
};

// A table in memory of the lowest probabilities, made once enough are looked up.
class LowWeights {
 public:
  // Adds the weights of the sums that the table has to *weight, and moves the others to the front.
  // Returns their number. A vector after `count` may be written.
  SAMPLER_INLINE int64_t take(const NewWeights &weights, float *sums, int64_t count,
                              uint64_t *weight) {
    num_seen_ += count;
    if (num_seen_ < kWorthIt) return count;
    const int32_t zero = raw_bits(contract::AdaptiveP::kGrid);
    if (!is_made_) weights.make(zero, kSize, [this](int i, uint64_t one) { weights_[i] = one; });
    is_made_ = true;
    const Floats beyond = splat(raw_float(uint32_t(zero + kSize)));
    store(sums + count, beyond);
    uint64_t even = 0, odd = 0;
    int64_t num_left = 0;
    // Places are read back from memory: to take them out of registers costs more.
    int32_t places[kWeightBlock + kWidth];
    for (int64_t i = 0; i < count; i += kWidth) {
      const Floats sum = load(sums + i);
      store(places + i, sub(as_ints(min(sum, beyond)), splat(zero)));
      const Mask others = ge(sum, beyond);
      if (bits(others) != 0) num_left += store_packed(sums + num_left, others, sum);
    }
    for (int64_t i = 0; i < count; i += kWidth) {
      for (int j = 0; j < kWidth; j += 2) {
        even += weights_[places[i + j]];
        odd += weights_[places[i + j + 1]];
      }
    }
    *weight += even + odd;
    return num_left - (kWidth - count % kWidth) % kWidth;  // those after `count` came last
  }

 private:
  static constexpr int kSize = 512;
  static constexpr int64_t kWorthIt = kSize;
  int64_t num_seen_ = 0;
  bool is_made_ = false;
  uint64_t weights_[kSize + 1] = {};  // the last is 0
};

// kIsFrom0: the range for the table begins with 0, so only elements that are not kept are below it.
template <bool kIsFrom0>
[[gnu::noinline]] uint64_t weigh_by_table(const float *relative, int64_t count,
                                          const contract::AdaptiveP &stage, float max,
                                          const TableRange &range, uint64_t *block_weights) {
  constexpr int kVectors = 4;
  constexpr int64_t kStep = kVectors * kWidth;
  const Scaling scaling = {contract::logits_row_scale(max, 1.0f)};
  const Floats inverse = splat(stage.inverse), wanted = splat(stage.wanted);
  const Floats grid = splat(contract::AdaptiveP::kGrid);
  const Floats far = splat(0x1p33f);  // a sum whose logit weighs nothing
  const int last = range.size - 1;
  native::WeightTable table = {};
  table.size = range.size;
  const NewWeights new_weights(scaling.row, stage);
  new_weights.make(range.first, last, [&](int i, uint64_t one) { set_weight(&table, i, one); });
  LowWeights low_weights;
  const Floats below = splat(raw_float(uint32_t(range.first - 1)));
  const Floats beyond = splat(raw_float(uint32_t(range.first + last)));
  uint64_t result = 0;
  for_each_block(0, count, [&](int64_t block, int64_t begin, int64_t end) SAMPLER_INLINE_LAMBDA {
    native::TableIndex indices[kWeightBlock + kStep];
    float sums_of_others[kWeightBlock + kStep];
    int64_t num_indices = 0, num_others = 0;
    const auto take = [&](const float *p) SAMPLER_INLINE_LAMBDA {
      Floats sums[kVectors];
      Ints index[kVectors];
      for (int i = 0; i < kVectors; ++i) sums[i] = fma(load(p + i * kWidth), inverse, grid);
      for (int i = 0; i < kVectors; ++i) index[i] = sub(as_ints(sums[i]), splat(range.first));
      const bool is_beyond = store_indices<!kIsFrom0>(indices + num_indices, index, last);
      num_indices += kStep;
      if (!is_beyond) return;
      for (int i = 0; i < kVectors; ++i) {
        Mask others = ge(sums[i], beyond);
        if (!kIsFrom0) others = either(others, within(sums[i], grid, below));
        num_others += store_packed(sums_of_others + num_others, others, sums[i]);
      }
    };
    int64_t i = begin;
    for (; i + kStep <= end; i += kStep) take(relative + i);
    if (i < end) {
      float rest[kStep];
      for (float &x : rest) x = kNotKept;
      __builtin_memcpy(rest, relative + i, size_t(end - i) * sizeof *rest);
      take(rest);
    }
    uint64_t weight = native::sum_of_weights(table, indices, num_indices);
    if (num_others > 0) {
      num_others = low_weights.take(new_weights, sums_of_others, num_others, &weight);
    }
    if (num_others > 0) {
      // Whole steps of vectors: single ones would wait for each other.
      for (int j = 0; j < kVectors; ++j) store(sums_of_others + num_others + j * kWidth, far);
      num_others = (num_others + kStep - 1) / kStep * kStep;
      for (int64_t j = 0; j < num_others; j += kWidth) {
        store(sums_of_others + j, logit_of_rounded(sub(load(sums_of_others + j), grid), wanted));
      }
      weight += weigh(contract::f32_view(sums_of_others, num_others), scaling, 0, num_others,
                      -kInfinity, nullptr);
    }
    result += weight;
    block_weights[block] += weight;
  });
  return result;
}

uint64_t weigh_adaptive(const float *relative, int64_t count, const contract::AdaptiveP &stage,
                        float max, uint64_t *block_weights) {
  const TableRange range = choose_range(relative, count, stage);
  const bool is_from_0 = range.first == raw_bits(contract::AdaptiveP::kGrid);
  return (is_from_0 ? weigh_by_table<true> : weigh_by_table<false>)(relative, count, stage, max,
                                                                    range, block_weights);
}

}  // namespace
}  // namespace sampler::cpu::SAMPLER_ISA
