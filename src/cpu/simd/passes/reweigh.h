// Passes that compute the new logits of adaptive-p and smoothing.
#pragma once

#include "contract/adaptive.h"
#include "cpu/simd/passes/edit.h"
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

// New logit of adaptive-p, from the distance of a probability from the wanted one.
SAMPLER_INLINE Floats logit_of_distance(Floats distance) {
  const Floats d = widths_of(distance);
  return mul(div(mul(d, d), add(splat(1.0f), d)), splat(contract::AdaptiveP::kSteepness));
}

constexpr float kFar = 0x1p33f;  // a distance whose logit weighs nothing

// max(), where a variable has its name.
SAMPLER_INLINE Floats larger(Floats a, Floats b) {
  return max(a, b);
}

#ifdef SAMPLER_LOOKS_UP_WORDS

// The commonest distances: neighbours, up to a farthest one. Probabilities that are small beside
// the wanted one have few distances from it, since these round to its ulp; and all logits close to
// 0 weigh alike.
struct CommonDistances {
  int32_t farthest = 0;  // its bits
  uint32_t count = 0;
  uint64_t weight = 0;  // the tables hold the halves of what each distance weighs more
  uint16_t low[native::kTableWords] = {}, high[native::kTableWords] = {};
};

// Chooses them as some of the row's, and not below `nearest`. All have logits up to `max`.
[[gnu::noinline]] void choose_distances(const float *relative, int64_t count,
                                        const contract::AdaptiveP &stage, float nearest, float max,
                                        CommonDistances *chosen) {
  constexpr int kSeen = 15, kAbove = 40;
  constexpr float kAlike = 0x1.2p-16f;  // with the logit -3.3e-8 tokens weigh as with 0
  int32_t seen[kSeen];
  for (int i = 0; i < kSeen; ++i) {
    const float above = relative[(2 * i + 1) * count / (2 * kSeen)] / stage.total - stage.wanted;
    const int32_t distance = raw_bits(above < 0.0f ? -above : above);
    int j = i;
    for (; j > 0 && seen[j - 1] > distance; --j) seen[j] = seen[j - 1];
    seen[j] = distance;
  }
  const int32_t median = seen[kSeen / 2], wanted = raw_bits(stage.wanted);
  // The logits of the next ones may exceed the nearest one's by rounding.
  const int32_t not_nearest = raw_bits(nearest) + 64;
  if (median > not_nearest && median <= raw_bits(kAlike)) {
    chosen->farthest = raw_bits(kAlike);
    chosen->count = uint32_t(chosen->farthest - not_nearest);
    chosen->weight = contract::weight_of(contract::exp2_plus_1(-1.0f));
    return;
  }
  const int32_t farthest = median <= wanted && median + kAbove > wanted ? wanted : median + kAbove;
  chosen->farthest = farthest;
  float logits[native::kTableWords];
  uint64_t weights[native::kTableWords];
  const RelativeToMax relative_of(contract::logits_row_scale(max, 1.0f));
  for (int i = 0; i < int(native::kTableWords); i += kWidth) {
    const Floats y = logit_of_distance(as_floats(sub(splat(farthest - i), lane_indices())));
    float relatives[kWidth];
    store(logits + i, y);
    store(relatives, relative_of(y));
    for (int j = 0; j < kWidth; ++j) weights[i + j] = contract::weight_of(relatives[j]);
  }
  const int64_t most = smaller(farthest - raw_bits(nearest) + 1, native::kTableWords);
  chosen->weight = weights[0];
  for (int64_t i = 1; i < most; ++i) {
    chosen->weight = weights[i] < chosen->weight ? weights[i] : chosen->weight;
  }
  for (int64_t i = 0; i < most; ++i) {
    const uint64_t more = weights[i] - chosen->weight;
    if (logits[i] > max || more >> 32 != 0) break;
    chosen->low[i] = uint16_t(more);
    chosen->high[i] = uint16_t(more >> 16);
    ++chosen->count;
  }
}

// Weighs up to kWeightBlock tokens with common distances.
class CommonWeights {
 public:
  explicit SAMPLER_INLINE CommonWeights(const CommonDistances &chosen)
      : farthest_(splat(chosen.farthest)),
        count_(splat(int32_t(chosen.count))),
        low_(native::load_word_table(chosen.low)),
        high_(native::load_word_table(chosen.high)) {}

  // Which of the `kept` have another distance.
  SAMPLER_INLINE Mask take(Floats distance, Mask kept) {
    const native::Ints index = sub(farthest_, as_ints(distance)).piece[0];
    const native::Mask common = native::less_words(kept.piece[0], index, count_.piece[0]);
    low_sums_ = native::add_where(common, low_sums_, native::look_up(low_, index));
    high_sums_ = native::add_where(common, high_sums_, native::look_up(high_, index));
    num_ += count_of({{common}});
    return {{native::without(kept.piece[0], common)}};
  }
  SAMPLER_INLINE uint64_t total(const CommonDistances &chosen) const {
    return uint64_t(num_) * chosen.weight + uint64_t(native::sum(low_sums_)) +
           (uint64_t(native::sum(high_sums_)) << 16);
  }

 private:
  Ints farthest_, count_;
  native::WordTable low_, high_;
  native::Ints low_sums_ = native::splat(0), high_sums_ = low_sums_;
  int64_t num_ = 0;
};

#endif

NewWeight weigh_adaptive(const RowView &row, const float *relative,
                         const contract::AdaptiveP &stage, float at_least,
                         [[maybe_unused]] float nearest, float max, uint64_t *block_weights) {
  const Scaling scaling = {contract::logits_row_scale(max, 1.0f)};
  const Floats total = splat(stage.total), wanted = splat(stage.wanted), least = splat(at_least);
  Floats top = splat(-kInfinity);
#ifdef SAMPLER_LOOKS_UP_WORDS
  CommonDistances chosen;
  choose_distances(relative, row.count, stage, nearest, max, &chosen);
#endif
  constexpr int64_t kStep = kVectorsAtOnce * kWidth;
  [[maybe_unused]] bool are_common = true;
  uint64_t result = 0;
  for_each_block(
      0, row.count, [&](int64_t block, int64_t begin, int64_t end) SAMPLER_INLINE_LAMBDA {
        float values[kWidened], logits[kWeightBlock + kStep];
        const float *const p = widened(row, begin, end, values);
        // Calls f(distance, kept, index) with vectors of the distances.
        const auto for_each_distance = [&](const auto &f) SAMPLER_INLINE_LAMBDA {
          for_each_vector<F32>(
              relative, begin, end, [&](Floats x, int64_t i, int64_t lanes) SAMPLER_INLINE_LAMBDA {
                const Floats above = sub(div(x, total), wanted);
                const Floats distance =
                    as_floats(bit_and(as_ints(above), splat(int32_t(0x7FFFFFFF))));
                const Mask kept = ge(read_up_to(p + (i - begin), lanes, kNaN), least);
                f(distance, kept, i - begin);
              });
        };
        int64_t num_logits = end - begin;
        uint64_t weight = 0;
#ifdef SAMPLER_LOOKS_UP_WORDS
        if (are_common) {
          CommonWeights common(chosen);
          int64_t num = 0;
          for_each_distance([&](Floats distance, Mask kept, int64_t) SAMPLER_INLINE_LAMBDA {
            num += store_packed(logits + num, common.take(distance, kept), distance);
          });
          weight = common.total(chosen);
          are_common = num * 2 < end - begin;
          // Whole steps of vectors: single ones would wait for each other.
          for (int64_t i = 0; i < kStep; i += kWidth) store(logits + num + i, splat(kFar));
          num = (num + kStep - 1) / kStep * kStep;
          for (int64_t i = 0; i < num; i += kWidth) {
            const Floats y = logit_of_distance(load(logits + i));
            top = larger(top, y);
            store(logits + i, y);
          }
          num_logits = num;
        } else
#endif
        {
          for_each_distance([&](Floats distance, Mask kept, int64_t i) SAMPLER_INLINE_LAMBDA {
            const Floats y = choose(kept, logit_of_distance(distance), splat(-kInfinity));
            top = larger(top, y);
            store(logits + i, y);
          });
        }
        weight += weigh(contract::f32_view(logits, num_logits), scaling, 0, num_logits, -kInfinity,
                        nullptr);
        result += weight;
        block_weights[block] += weight;
      });
  return {result, largest(top)};
}

}  // namespace
}  // namespace sampler::cpu::SAMPLER_ISA
