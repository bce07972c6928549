// The draw by Gumbel noise.
#pragma once

#include "cpu/simd/passes/log2.h"
#include "cpu/simd/passes/random_words.h"
#include "cpu/simd/passes/weigh.h"

namespace sampler::cpu::SAMPLER_ISA {
namespace {

// Blocks of random words, contract::gumbel_block: word w of the block with index i belongs to id
// 4 i + w.
SAMPLER_INLINE Words gumbel_blocks(const contract::GumbelStream &random, Ints index) {
  const Ints low = splat(int32_t(uint32_t(random.offset)));
  const Ints high = splat(int32_t(uint32_t(random.offset >> 32)));
  const Ints stream = splat(int32_t(random.stream));
  const Ints key0 = splat(int32_t(uint32_t(random.seed)));
  const Ints key1 = splat(int32_t(uint32_t(random.seed >> 32)));
  if (random.is_watermark) {
    Words words = philox({{index, low, high, stream}}, key0, key1);
    for (Ints &word : words.word) word = bit_xor(word, splat(-1));
    return words;
  }
  const uint32_t purpose = uint32_t(contract::Purpose::kGumbel) << contract::kPurposeShift;
  return philox({{low, high, stream, add(index, splat(int32_t(purpose)))}}, key0, key1);
}

SAMPLER_INLINE Floats gumbel_noise(Ints word) {
  const Floats scaled = fma(float_of_unsigned(word), splat(0x1p-32f), splat(0x1p-33f));
  const Floats v = min(scaled, splat(contract::kLargestUniform));
  const Ints exponent = exponent_for_log2(sub(splat(1.0f), v));
  const Floats scale = as_floats(shift_left<23>(sub(splat(int32_t(127)), exponent)));
  const Floats z = fma(negate(v), scale, sub(scale, splat(1.0f)));
  const Floats minus_log2 = negate(fma(z, log2_quotient(z), float_of_signed(exponent)));
  Floats outer_exponent;
  const Floats outer = split_for_log2(minus_log2, &outer_exponent);
  return sub(fma(negate(outer), log2_quotient(outer), splat(contract::kMinusLog2Ln2)),
             outer_exponent);
}

struct LogitScore {
  float scale;

  SAMPLER_INLINE Floats operator()(Floats x, Floats noise) const {
    return fma(x, splat(scale), noise);
  }
  // Upper bound of the score of x without noise, up to rounding (see kRounded).
  SAMPLER_INLINE double without_noise(float x) const { return double(x) * double(scale); }
};

struct ProbabilityScore {
  SAMPLER_INLINE Floats operator()(Floats x, Floats noise) const {
    return add(log2_shifted(x, 0), noise);
  }
  // The bits of a float, as an integer, approximate log2 in units of 2^-23, from below by at most
  // 0.0861.
  SAMPLER_INLINE double without_noise(float x) const {
    return double(raw_bits(x)) * 0x1p-23 - 127 + 0.0862;
  }
};

// Ids per set of blocks. The first id is a multiple of 4.
constexpr int64_t kWordElements = 4 * kWidth;

SAMPLER_INLINE Words blocks_from(const contract::GumbelStream &random, int64_t first_id) {
  return gumbel_blocks(random, add(lane_indices(), splat(int32_t(first_id >> 2))));
}

// Stores their words by ascending id, padded by one vector of zeros.
SAMPLER_INLINE void store_words(const Words &blocks, uint32_t *words) {
  int32_t block[4][kWidth];
  for (int w = 0; w < 4; ++w) store(block[w], blocks.word[w]);
  for (int j = 0; j < kWidth; ++j) {
    for (int w = 0; w < 4; ++w) words[4 * j + w] = uint32_t(block[w][j]);
  }
  for (int i = 0; i < kWidth; ++i) words[kWordElements + i] = 0;
}

// Whether any word, converted to f32, is at most `least`.
SAMPLER_INLINE bool any_at_most(const Words &blocks, float least) {
  const Ints a = min_words(blocks.word[0], blocks.word[1]);
  const Ints b = min_words(blocks.word[2], blocks.word[3]);
  return bits(ge(splat(least), float_of_unsigned(min_words(a, b)))) != 0;
}

// Random words of arbitrary ids.
SAMPLER_INLINE Ints words_of(const contract::GumbelStream &random, Ints ids) {
  const Words blocks = gumbel_blocks(random, shift_right<2>(ids));
  const Floats place = float_of_signed(bit_and(ids, splat(int32_t(3))));
  Floats word = as_floats(blocks.word[0]);
  for (int w = 1; w < 4; ++w) {
    word = choose(ge(place, splat(float(w))), as_floats(blocks.word[w]), word);
  }
  return as_ints(word);
}

// The best element so far, per lane.
template <class Score>
class GumbelScan {
 public:
  GumbelScan(const Score &score_of, float at_least)
      : score_of_(score_of), at_least_(at_least), least_(splat(at_least)) {}

  SAMPLER_INLINE void see(Floats x, Ints words, int64_t index) {
    const Floats bound = splat(contract::kScoreBound);
    Floats score = score_of_(x, gumbel_noise(words));
    score = max(min(score, bound), negate(bound));
    const Mask better = both(ge(x, least_), gt(score, best_));
    best_ = choose(better, score, best_);
    best_index_ =
        choose(better, as_floats(add(lane_indices(), splat(int32_t(index)))), best_index_);
  }

  // wants(): whether values up to `largest` can be kept. last_word(): the largest word, as an f32,
  // with which one of them may beat the best so far. The noise of a word u is at most 32 - log2(u),
  // and the bits of f32(u) bound log2(u) from below, so they must be below (159 - noise) * 2^23.
  SAMPLER_INLINE bool wants(float largest) const { return largest >= at_least_; }
  SAMPLER_INLINE float last_word(float largest) const {
    constexpr double kRounded = 0.01;    // exceeds all rounding errors
    constexpr double kAll = 0x4F800000;  // the bits of 2^32
    const double noise = double(result().score) - score_of_.without_noise(largest);
    const double bits = (159 + kRounded - noise) * 0x1p23;
    if (!(bits < kAll)) return kInfinity;
    return bits > 0 ? raw_float(uint32_t(bits) + 1) : -kInfinity;
  }

  SAMPLER_INLINE GumbelBest result() const {
    float scores[kWidth];
    int32_t indices[kWidth];
    store(scores, best_);
    store(indices, as_ints(best_index_));
    GumbelBest result = {-kInfinity, -1};
    for (int i = 0; i < kWidth; ++i) {
      const bool better =
          scores[i] > result.score || (scores[i] == result.score && indices[i] < result.index);
      if (indices[i] >= 0 && better) result = {scores[i], indices[i]};
    }
    return result;
  }

 private:
  const Score &score_of_;
  const float at_least_;
  const Floats least_;
  // Below every score.
  Floats best_ = splat(-kInfinity);
  Floats best_index_ = as_floats(splat(int32_t(-1)));
};

// Elements whose largest value decides which words are examined.
constexpr int64_t kContenders = 8 * kWordElements;

SAMPLER_INLINE float largest_of(const float *p, int64_t count) {
  Floats top = splat(-kInfinity);
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) top = max(top, F32::read(p + i));
  if (i < count) top = max(top, read_some<F32>(p + i, count - i, -kInfinity));
  return largest(top);
}

// The best element of a row, whose ids are its indices. Generates words for 64 neighbours at once.
// Computes the noise only of words that may beat the best so far.
template <class Score>
GumbelBest gumbel_row(const RowView &row, const Score &score_of,
                      const contract::GumbelStream &random, int64_t begin, int64_t end,
                      float at_least) {
  static_assert(kContenders <= kWidened, "they are widened at once");
  float memory[kWidened];
  GumbelScan<Score> scan(score_of, at_least);
  for (int64_t first = begin; first < end;) {
    const int64_t part = first;
    const int64_t contenders_end = smaller((first / kContenders + 1) * kContenders, end);
    const float *const p = widened(row, part, contenders_end, memory);
    const float largest = largest_of(p, contenders_end - part);
    if (!scan.wants(largest)) {
      first = contenders_end;
      continue;
    }
    float last_word = scan.last_word(largest);
    while (first < contenders_end) {
      const int64_t words_first = first / kWordElements * kWordElements;
      const int64_t words_end = smaller(words_first + kWordElements, contenders_end);
      const Words blocks = blocks_from(random, words_first);
      if (any_at_most(blocks, last_word)) {
        uint32_t words[kWordElements + kWidth];
        store_words(blocks, words);
        for_each_vector<F32>(p, first - part, words_end - part,
                             [&](Floats x, int64_t place, int64_t) SAMPLER_INLINE_LAMBDA {
                               const int64_t index = part + place;
                               const uint32_t *word = words + (index - words_first);
                               scan.see(x, load(reinterpret_cast<const int32_t *>(word)), index);
                             });
        last_word = scan.last_word(largest);
      }
      first = words_end;
    }
  }
  return scan.result();
}

// The best element of a list, which is padded by one vector.
template <class Score>
GumbelBest gumbel_list(const RowView &list, const Score &score_of,
                       const contract::GumbelStream &random, int64_t begin, int64_t end,
                       float at_least) {
  GumbelScan<Score> scan(score_of, at_least);
  for_each_widened(list, begin, end,
                   [&](const float *p, int64_t first, int64_t count) SAMPLER_INLINE_LAMBDA {
                     for_each_vector<F32>(
                         p, 0, count, [&](Floats x, int64_t place, int64_t) SAMPLER_INLINE_LAMBDA {
                           const int64_t index = first + place;
                           scan.see(x, words_of(random, load(ids_of(list) + index)), index);
                         });
                   });
  return scan.result();
}

GumbelBest gumbel(const RowView &source, const contract::RowScale &scale,
                  const contract::GumbelStream &random, int64_t begin, int64_t end,
                  float at_least) {
  const auto best = [&](const auto &score_of) {
    return source.ids ? gumbel_list(source, score_of, random, begin, end, at_least)
                      : gumbel_row(source, score_of, random, begin, end, at_least);
  };
  if (scale.kind == SAMPLER_LOGITS) return best(LogitScore{scale.scale});
  return best(ProbabilityScore());
}

}  // namespace
}  // namespace sampler::cpu::SAMPLER_ISA
