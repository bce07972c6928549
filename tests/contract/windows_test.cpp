// Windows of rank order against the oracle, which works out section 13 of the contract a second
// time: to the bit on thousands of rows, and in exact arithmetic for the errors that the section
// states.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "contract/deviation.h"
#include "contract/entropy.h"
#include "contract/ranked_windows.h"
#include "contract/windows.h"
#include "level_row.h"
#include "support.h"
#include "windows_oracle.h"

namespace sampler::contract::windows_test {
namespace {

using oracle::Real;
using test::Failures;
using test::kInfinity;
using test::kLargestFloat;
using test::kNaN;
using test::kSmallestSubnormal;
using test::LevelRow;
using test::next_down;
using test::next_up;
using test::normal;
using test::normal_row;
using test::Random;

constexpr int64_t kLargestVocabulary = (int64_t(1) << 20) - 1;

struct Tokens {
  std::vector<float> values;  // in rank order

  float value(int64_t place) const { return values[size_t(place)]; }
  Window everything() const { return {0, int64_t(values.size())}; }
};

// ---- rows ----

float any_logit(Random &random, int kind, float deviation) {
  switch (kind) {
    case 0:
    case 1:
      return deviation * normal(random);
    case 2:  // many ties
      return std::nearbyint(2.0f * deviation * normal(random)) * 0.5f;
    case 3:  // two values
      return random.between(0, 1) ? deviation : 0.0f;
    case 4:  // a few masked by a large finite number
      return random.between(0, 9) ? deviation * normal(random) : -1e30f;
    case 5:  // differences that overflow
      return (random.unit() - 0.5f) * 2.0f * kLargestFloat;
    case 6:  // subnormal
      return float_of(random.bits32() & 0x807FFFFFu);
    case 7:  // of any size
      return random.float_of_exponent(random.between(0, 254));
    case 8:  // all equal
      return deviation;
    default:  // differences of few last places
      return 1000.0f + float(random.between(0, 40)) * 0x1p-14f;
  }
}

float any_probability(Random &random, int kind, float deviation) {
  switch (kind) {
    case 0:
    case 1:
    case 2:
      return std::exp2(deviation * normal(random));
    case 3:
      return random.between(0, 1) ? 0.3f : 0.1f;
    case 4:
      return random.between(0, 9) ? random.unit() + 0x1p-24f : kSmallestSubnormal;
    case 5:
      return std::fabs(random.float_of_exponent(random.between(0, 254))) + kSmallestSubnormal;
    case 6:
      return float_of((random.bits32() & 0x7FFFFFu) + 1);
    case 7:
      return std::ldexp(1.0f, -random.between(0, 30));
    case 8:
      return 0.3f;
    default:
      return 0.5f + float(random.between(0, 40)) * 0x1p-24f;
  }
}

Tokens any_tokens(Random &random, bool is_logits, int most) {
  const int kind = random.between(0, 9);
  const int sizes[] = {1, 2, 3, random.between(1, 12), random.between(1, most)};
  const int size = sizes[random.between(0, 4)];
  const float deviation = std::exp2(float(random.between(-6, 5)));
  Tokens tokens;
  for (int i = 0; i < size; ++i) {
    const float x =
        is_logits ? any_logit(random, kind, deviation) : any_probability(random, kind, deviation);
    tokens.values.push_back(x);
  }
  std::sort(tokens.values.begin(), tokens.values.end(), std::greater<float>());
  return tokens;
}

// ---- a stage by both ----

enum class Stage {
  kTopK,
  kTopP,
  kMinP,
  kEpsilon,
  kEta,
  kTopNSigma,
  kTopH,
  kPLess,
  kPLessNorm,
  kMinK,
  kTopA,
  kTypicalP,
  kMirostatV1,
  kMirostatV2,
  kXtc
};
constexpr int kNumStages = 15;

struct Arguments {
  Stage stage;
  float fraction;  // in (0, 1)
  float other;     // > 0: a number of tokens, of deviations, XTC's probability, or mu + 1
  sampler_tie_rule ties;
  sampler_sum_rule sum;  // of top-p and typical-p
  uint32_t word;
};

Arguments any_arguments(Random &random) {
  Arguments result;
  result.stage = Stage(random.between(0, kNumStages - 1));
  result.fraction = (random.unit() + 0x1p-25f) * std::ldexp(1.0f, -random.between(0, 20) / 2);
  if (random.between(0, 15) == 0) result.fraction = kSmallestSubnormal;
  if (random.between(0, 15) == 0) result.fraction = next_down(1.0f);
  result.other = std::exp2(4.0f * normal(random) / 2.0f);
  if (random.between(0, 31) == 0) result.other = kInfinity;
  result.ties = random.between(0, 1) ? SAMPLER_TIES_KEEP : SAMPLER_TIES_EXACT;
  result.word = random.bits32();
  result.sum = result.word & 1 ? SAMPLER_SUM_EXCEEDS : SAMPLER_SUM_REACHES;
  return result;
}

int64_t tokens_of(float number) {
  return number < 1000.0f ? int64_t(number) + 1 : 1000;
}

// Elements of the whole row, of which the window is a part.
int64_t elements_of(const Arguments &stage) {
  return 6000 + (stage.word >> 13);
}

Window by_contract(const RankedWindows<Tokens> &windows, const Arguments &stage, Window seen) {
  switch (stage.stage) {
    case Stage::kTopK:
      return windows.top_k(int32_t(tokens_of(stage.other)), stage.ties, seen);
    case Stage::kTopP:
      return windows.top_p({stage.fraction, stage.sum}, stage.ties, seen);
    case Stage::kMinP:
      return windows.min_p(stage.fraction, seen);
    case Stage::kEpsilon:
      return windows.epsilon(stage.fraction, stage.ties, seen);
    case Stage::kEta:
      return windows.eta(stage.fraction, stage.ties, seen);
    case Stage::kTopNSigma:
      return windows.top_n_sigma(stage.other, seen);
    case Stage::kTopH:
      return windows.top_h(stage.fraction, seen);
    case Stage::kPLess:
      return windows.p_less(false, seen);
    case Stage::kPLessNorm:
      return windows.p_less(true, seen);
    case Stage::kMinK:
      return windows.min_k(stage.other, seen);
    case Stage::kTopA:
      return windows.top_a(stage.other, seen);
    case Stage::kTypicalP:
      return windows.typical_p({stage.fraction, stage.sum}, stage.ties, seen);
    case Stage::kMirostatV1:
      return windows.mirostat_v1(stage.other - 1.0f, elements_of(stage), seen);
    case Stage::kMirostatV2:
      return windows.mirostat_v2(stage.other - 1.0f, seen);
    case Stage::kXtc:
      break;
  }
  if (!xtc_is_on(stage.other, stage.fraction) || !xtc_coin(stage.word, stage.other)) return seen;
  return windows.xtc(stage.fraction, seen);
}

oracle::Window::Places by_oracle(const oracle::Window &window, const Arguments &stage) {
  const oracle::Ties ties =
      stage.ties == SAMPLER_TIES_KEEP ? oracle::Ties::kKeep : oracle::Ties::kExact;
  const bool exceeds = stage.sum == SAMPLER_SUM_EXCEEDS;
  switch (stage.stage) {
    case Stage::kTopK:
      return window.top_k(tokens_of(stage.other), ties);
    case Stage::kTopP:
      return window.top_p(stage.fraction, ties, exceeds);
    case Stage::kMinP:
      return window.min_p(stage.fraction);
    case Stage::kEpsilon:
      return window.epsilon(stage.fraction, ties);
    case Stage::kEta:
      return window.eta(stage.fraction, ties);
    case Stage::kTopNSigma:
      return window.top_n_sigma(stage.other);
    case Stage::kTopH:
      return window.top_h(stage.fraction);
    case Stage::kPLess:
      return window.p_less(false);
    case Stage::kPLessNorm:
      return window.p_less(true);
    case Stage::kMinK:
      return window.min_k(stage.other);
    case Stage::kTopA:
      return window.top_a(stage.other);
    case Stage::kTypicalP:
      return window.typical_p(stage.fraction, ties, exceeds);
    case Stage::kMirostatV1:
      return window.mirostat_v1(stage.other - 1.0f, elements_of(stage));
    case Stage::kMirostatV2:
      return window.mirostat_v2(stage.other - 1.0f);
    case Stage::kXtc:
      break;
  }
  return window.xtc(stage.word, stage.other, stage.fraction);
}

// What the oracle keeps is a window that is not empty, and this one.
bool is_the_same(const oracle::Window::Places &places, Window seen, Window kept) {
  if (places.empty() || int64_t(places.size()) != kept.count()) return false;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] + seen.begin != kept.begin + int64_t(i)) return false;
  }
  return true;
}

std::vector<float> values_of(const Tokens &tokens, Window window) {
  return {tokens.values.begin() + window.begin, tokens.values.begin() + window.end};
}

// Runs a few stages one after the other; what the one keeps the next one sees.
void compare_stages(Random &random, bool is_logits, int most, int64_t round, Failures *failures,
                    int64_t *num_shorter) {
  const Tokens tokens = any_tokens(random, is_logits, most);
  const float temperature = is_logits ? std::exp2(2.0f * normal(random)) : 1.0f;
  const int64_t min_keep = random.between(0, 2) ? 1 : random.between(0, 12);
  const RankedWindows<Tokens> windows(tokens, is_logits ? SAMPLER_LOGITS : SAMPLER_PROBABILITIES,
                                      temperature, min_keep);
  Window seen = tokens.everything();
  for (int i = 0; i < 4; ++i) {
    const Arguments stage = any_arguments(random);
    const oracle::Window window(values_of(tokens, seen), is_logits, temperature, min_keep);
    const EntropySums sums = windows.sums(seen);
    failures->expect(sums.weight == window.sums().weight, uint64_t(round));
    failures->expect(sums.surprise == window.sums().surprise, uint64_t(round));
    failures->expect(mean_surprise(sums) == oracle::mean_surprise_of(window.sums()),
                     uint64_t(round));
    failures->expect(entropy(sums) == oracle::entropy_of(window.sums()), uint64_t(round));
    failures->expect(windows.sigma(seen) == oracle::sigma_of(window.levels(), is_logits),
                     uint64_t(round));
    const Window kept = by_contract(windows, stage, seen);
    failures->expect(is_the_same(by_oracle(window, stage), seen, kept), uint64_t(round));
    if (kept.count() < seen.count()) ++num_shorter[int(stage.stage)];
    seen = kept;
  }
}

void compare_rows(bool is_logits, int rounds, int most, uint64_t seed) {
  Random random(seed);
  Failures failures;
  int64_t num_shorter[kNumStages] = {};
  for (int round = 0; round < rounds; ++round) {
    compare_stages(random, is_logits, most, round, &failures, num_shorter);
  }
  EXPECT_TRUE(failures.none());
  // The rows must be such that each stage has something to do.
  for (const int64_t count : num_shorter) EXPECT_GT(count, rounds / 100);
}

TEST(Windows, OfLogitsAreTheOracles) {
  compare_rows(true, 30000, 150, 1);
}

TEST(Windows, OfProbabilitiesAreTheOracles) {
  compare_rows(false, 20000, 150, 2);
}

TEST(Windows, OfLongRowsAreTheOracles) {
  compare_rows(true, 300, 5000, 3);
  compare_rows(false, 300, 5000, 4);
}

TEST(Windows, AreWeighedByTheirOwnFirstToken) {
  // At the scale of the row's first token the others would weigh nothing.
  const Tokens tokens = {{100.0f, 2.0f, 1.0f, 1.0f}};
  const RankedWindows<Tokens> windows(tokens, SAMPLER_LOGITS, 0.5f, 1);
  const RowScale scale = logits_row_scale(2.0f, 0.5f);
  EXPECT_EQ(windows.sums({1, 4}).weight, (uint64_t(1) << 44) + 2 * weight(scale, 1.0f));
  const Window kept = windows.top_p({0.99f}, SAMPLER_TIES_EXACT, {1, 4});
  EXPECT_EQ(kept.begin, 1);
  EXPECT_EQ(kept.end, 4);
}

// ---- what each stage keeps, by hand ----

Window kept_by(const std::vector<float> &values,
               const std::function<Window(const RankedWindows<Tokens> &, Window)> &stage,
               int64_t min_keep = 1) {
  const Tokens tokens = {values};
  const RankedWindows<Tokens> windows(tokens, SAMPLER_PROBABILITIES, 1.0f, min_keep);
  return stage(windows, tokens.everything());
}

#define EXPECT_WINDOW(window, first, last) \
  do {                                     \
    const Window kept = window;            \
    EXPECT_EQ(kept.begin, first);          \
    EXPECT_EQ(kept.end, last);             \
  } while (false)

// The example of the contract. Sums and logarithms of powers of two are exact: H = 1.75 bits.
const std::vector<float> kHalves = {0.5f, 0.25f, 0.125f, 0.125f};

TEST(Stages, OfAnExampleInHalves) {
  LevelRow row = {{{0.5f, 1}, {0.25f, 1}, {0.125f, 2}}};
  row.kind = SAMPLER_PROBABILITIES;
  EXPECT_EQ(row.scale().exponent, 1);
  EXPECT_EQ(row.sums().weight, uint64_t(2) << 44);
  EXPECT_EQ(row.sums().surprise, uint64_t(3) << 43);
  EXPECT_EQ(mean_surprise(row.sums()), 0.75f);
  EXPECT_EQ(entropy(row.sums()), 1.75f);

  const auto epsilon = [](float share, sampler_tie_rule ties = SAMPLER_TIES_EXACT) {
    return [=](const auto &windows, Window seen) { return windows.epsilon(share, ties, seen); };
  };
  EXPECT_WINDOW(kept_by(kHalves, epsilon(0.125f)), 0, 4);
  EXPECT_WINDOW(kept_by(kHalves, epsilon(next_up(0.125f))), 0, 2);
  EXPECT_WINDOW(kept_by(kHalves, epsilon(0.75f)), 0, 1);
  EXPECT_WINDOW(kept_by(kHalves, epsilon(0.75f), 3), 0, 3);
  EXPECT_WINDOW(kept_by(kHalves, epsilon(0.75f), 9), 0, 4);
  EXPECT_WINDOW(kept_by(kHalves, epsilon(0.75f, SAMPLER_TIES_KEEP)), 0, 1);
  EXPECT_WINDOW(kept_by(kHalves, epsilon(0.75f, SAMPLER_TIES_KEEP), 3), 0, 4);
  EXPECT_WINDOW(kept_by(kHalves, epsilon(0.2f, SAMPLER_TIES_KEEP)), 0, 2);

  const auto top_p = [](float p, sampler_sum_rule sum) {
    return [=](const auto &windows, Window seen) {
      return windows.top_p({p, sum}, SAMPLER_TIES_EXACT, seen);
    };
  };
  EXPECT_WINDOW(kept_by(kHalves, top_p(0.75f, SAMPLER_SUM_REACHES)), 0, 2);
  EXPECT_WINDOW(kept_by(kHalves, top_p(0.75f, SAMPLER_SUM_EXCEEDS)), 0, 3);

  // 0.5 · 2^-1.75 = 0.1487 is below 0.25.
  const auto eta = [](float share, sampler_tie_rule ties = SAMPLER_TIES_EXACT) {
    return [=](const auto &windows, Window seen) { return windows.eta(share, ties, seen); };
  };
  EXPECT_WINDOW(kept_by(kHalves, eta(0.25f)), 0, 2);
  EXPECT_WINDOW(kept_by(kHalves, eta(0.125f)), 0, 4);  // 0.1051, below 0.125
  EXPECT_WINDOW(kept_by(kHalves, eta(0.01f)), 0, 4);
  EXPECT_WINDOW(kept_by(kHalves, eta(0.25f, SAMPLER_TIES_KEEP), 3), 0, 4);

  // Parts of the entropy: 0.5, 0.5, 0.375, 0.375 of 1.75.
  const auto top_h = [](float share) {
    return [=](const auto &windows, Window seen) { return windows.top_h(share, seen); };
  };
  EXPECT_WINDOW(kept_by(kHalves, top_h(0.1f)), 0, 1);
  EXPECT_WINDOW(kept_by(kHalves, top_h(0.57f)), 0, 1);
  EXPECT_WINDOW(kept_by(kHalves, top_h(0.58f)), 0, 2);
  EXPECT_WINDOW(kept_by(kHalves, top_h(0.99f)), 0, 3);
  EXPECT_WINDOW(kept_by(kHalves, top_h(0.1f), 2), 0, 2);
  EXPECT_WINDOW(kept_by({0.75f, 0x1p-60f, 0x1p-61f}, top_h(0.9f)), 0, 1);  // no entropy to share
  EXPECT_WINDOW(kept_by({1.0f, 0x1p-60f}, top_h(0.9f)), 0, 1);

  // Surprises 1, 2, 3, 3: the second is nearest 1.75, then the first.
  const auto typical = [](Share share, sampler_tie_rule ties = SAMPLER_TIES_EXACT) {
    return [=](const auto &windows, Window seen) { return windows.typical_p(share, ties, seen); };
  };
  EXPECT_WINDOW(kept_by(kHalves, typical({0.25f})), 1, 2);
  EXPECT_WINDOW(kept_by(kHalves, typical({0.25f, SAMPLER_SUM_EXCEEDS})), 0, 2);
  EXPECT_WINDOW(kept_by(kHalves, typical({0.26f})), 0, 2);
  EXPECT_WINDOW(kept_by(kHalves, typical({0.76f})), 0, 3);
  EXPECT_WINDOW(kept_by(kHalves, typical({0.76f}, SAMPLER_TIES_KEEP)), 0, 4);
  EXPECT_WINDOW(kept_by(kHalves, typical({0.1f}), 3), 0, 3);

  const auto xtc = [](float threshold) {
    return [=](const auto &windows, Window seen) { return windows.xtc(threshold, seen); };
  };
  EXPECT_WINDOW(kept_by(kHalves, xtc(0.5f)), 0, 4);
  EXPECT_WINDOW(kept_by(kHalves, xtc(0.25f)), 1, 4);
  EXPECT_WINDOW(kept_by(kHalves, xtc(0.1f)), 3, 4);
  EXPECT_WINDOW(kept_by(kHalves, xtc(0.0f)), 3, 4);  // all tokens are above it
  EXPECT_WINDOW(kept_by(kHalves, xtc(-kInfinity)), 3, 4);
  EXPECT_WINDOW(kept_by(kHalves, xtc(0.25f), 3), 1, 4);
  EXPECT_WINDOW(kept_by(kHalves, xtc(0.25f), 4), 0, 4);

  // v: 0, -1, -2, -2, of variance 0.6875.
  const float sigma = std::sqrt(0.6875f);
  const auto top_n_sigma = [](float n) {
    return [=](const auto &windows, Window seen) { return windows.top_n_sigma(n, seen); };
  };
  EXPECT_WINDOW(kept_by(kHalves, top_n_sigma(1.0f)), 0, 1);
  EXPECT_WINDOW(kept_by(kHalves, top_n_sigma(1.0f / sigma + 1e-5f)), 0, 2);
  EXPECT_WINDOW(kept_by(kHalves, top_n_sigma(kInfinity)), 0, 4);
}

TEST(Stages, OfEqualTokens) {
  const std::vector<float> equal(10, 0.25f);  // log2 is exact, as is the sum's share below
  const auto typical = [](sampler_tie_rule ties) {
    return [=](const auto &windows, Window seen) { return windows.typical_p({0.5f}, ties, seen); };
  };
  EXPECT_WINDOW(kept_by(equal, typical(SAMPLER_TIES_EXACT)), 0, 5);
  EXPECT_WINDOW(kept_by(equal, typical(SAMPLER_TIES_KEEP)), 0, 10);
  const auto exceeding = [](const auto &w, Window seen) {
    return w.typical_p({0.5f, SAMPLER_SUM_EXCEEDS}, SAMPLER_TIES_EXACT, seen);
  };
  EXPECT_WINDOW(kept_by(equal, exceeding), 0, 6);
  const auto epsilon = [](sampler_tie_rule ties) {
    return [=](const auto &w, Window seen) { return w.epsilon(0.5f, ties, seen); };
  };
  EXPECT_WINDOW(kept_by(equal, epsilon(SAMPLER_TIES_EXACT)), 0, 1);
  EXPECT_WINDOW(kept_by(equal, epsilon(SAMPLER_TIES_KEEP)), 0, 10);
  EXPECT_WINDOW(
      kept_by(equal, [](const auto &w, Window seen) { return w.top_n_sigma(0.1f, seen); }), 0, 10);
  EXPECT_WINDOW(
      kept_by(equal, [](const auto &w, Window seen) { return w.top_n_sigma(kInfinity, seen); }), 0,
      10);
  EXPECT_WINDOW(kept_by(equal, [](const auto &w, Window seen) { return w.top_h(0.5f, seen); }), 0,
                5);
  EXPECT_WINDOW(kept_by(equal, [](const auto &w, Window seen) { return w.xtc(0.1f, seen); }), 0,
                10);  // f32(0.1) is above a tenth
  EXPECT_WINDOW(kept_by(equal, [](const auto &w, Window seen) { return w.xtc(0.09f, seen); }), 9,
                10);
}

TEST(PLess, KeepsWhatReachesTheSumOfSquares) {
  const auto p_less = [](bool is_norm) {
    return [=](const auto &windows, Window seen) { return windows.p_less(is_norm, seen); };
  };
  // c = 1/4 + 1/16 + 2/64 = 11/32; (4 c - 1) / 3 = 1/8, which the last ones reach exactly.
  EXPECT_WINDOW(kept_by(kHalves, p_less(false)), 0, 1);
  EXPECT_WINDOW(kept_by(kHalves, p_less(true)), 0, 4);
  EXPECT_WINDOW(kept_by(kHalves, p_less(false), 3), 0, 3);
  // c = 13/32 > 3/8; c = 94/256 < 6/16.
  EXPECT_WINDOW(kept_by({0.5f, 0.375f, 0.125f}, p_less(false)), 0, 1);
  EXPECT_WINDOW(kept_by({0.4375f, 0.375f, 0.1875f}, p_less(false)), 0, 2);
  // Equal ones are all kept, whatever their value.
  for (const float p : {1.0f, 0.3f, 0.1f, next_up(0.5f), 0x1.fffffep-1f, 1e-30f}) {
    for (const int count : {1, 2, 3, 7, 1000, 65537}) {
      const std::vector<float> equal(size_t(count), p);
      EXPECT_WINDOW(kept_by(equal, p_less(false)), 0, count);
      EXPECT_WINDOW(kept_by(equal, p_less(true)), 0, count);
    }
  }
  EXPECT_WINDOW(kept_by({1.0f, 0x1p-60f}, p_less(false)), 0, 1);  // the other weighs nothing
  EXPECT_WINDOW(kept_by({1.0f, 0x1p-60f}, p_less(true)), 0, 1);
}

// The longest row of the highest weights, and of the largest lower limbs of either sign.
TEST(PLess, SumsFitTheLongestRows) {
  for (const float relative : {1.0f, 0.5f + 0x1p-22f, 0.5f + 3 * 0x1p-22f}) {
    const uint64_t weight = weight_of(relative);
    constexpr uint64_t kCount = (uint64_t(1) << 20) - 1;
    CollisionSums sums;
    for (uint64_t i = 0; i < kCount; ++i) sums.add(relative);
    EXPECT_EQ(sums.weight, kCount * weight);
    __extension__ using Wide = unsigned __int128;
    const Wide squares = Wide(weight) * weight * kCount;
    EXPECT_EQ(sums.squares().high, uint64_t(squares >> 64));
    EXPECT_EQ(sums.squares().low, uint64_t(squares));
    EXPECT_EQ(p_less_threshold(sums), weight);
    EXPECT_EQ(p_less_norm_threshold(weight, sums.weight, kCount), 0u);
  }
}

TEST(TopA, KeepsWhatReachesAShareOfTheLargestSquared) {
  const auto top_a = [](float share) {
    return [=](const auto &windows, Window seen) { return windows.top_a(share, seen); };
  };
  // The squared largest probability is 1/4; the last ones have 1/8.
  EXPECT_WINDOW(kept_by(kHalves, top_a(0.5f)), 0, 4);
  EXPECT_WINDOW(kept_by(kHalves, top_a(next_up(0.5f))), 0, 2);
  EXPECT_WINDOW(kept_by(kHalves, top_a(1.0f)), 0, 2);
  EXPECT_WINDOW(kept_by(kHalves, top_a(next_up(1.0f))), 0, 1);
  EXPECT_WINDOW(kept_by(kHalves, top_a(kInfinity)), 0, 1);
  EXPECT_WINDOW(kept_by(kHalves, top_a(kInfinity), 3), 0, 3);
  EXPECT_WINDOW(kept_by({1.0f, 1.0f, 0.5f}, top_a(100.0f)), 0, 2);  // equal ones stay
  EXPECT_WINDOW(kept_by({1.0f, 0x1p-60f}, top_a(1e-45f)), 0, 1);    // the other weighs nothing
}

Window min_k_of(const std::vector<float> &logits, float tau, int64_t min_keep = 1) {
  const Tokens tokens = {logits};
  const RankedWindows<Tokens> windows(tokens, SAMPLER_LOGITS, 1.0f, min_keep);
  return windows.min_k(tau, tokens.everything());
}

TEST(MinK, KeepsWhatStandsBeforeTheSteepestFall) {
  constexpr float kLeast = 1e-30f;                          // of a flat row, none
  EXPECT_WINDOW(min_k_of({10, 9, 8, 2, 1}, kLeast), 0, 3);  // 1, 1/2, 6/3
  EXPECT_WINDOW(min_k_of({10, 8, 7, 1.5f}, kLeast), 0, 1);  // 2, 1/2, 5.5/3
  EXPECT_WINDOW(min_k_of({10, 8, 4, 3}, kLeast), 0, 1);     // 2, 4/2: the first of equals
  EXPECT_WINDOW(min_k_of({5, 5, 5, 4}, kLeast), 0, 3);
  EXPECT_WINDOW(min_k_of({5, 5, 5}, kLeast), 0, 3);
  EXPECT_WINDOW(min_k_of({5}, kLeast), 0, 1);
  EXPECT_WINDOW(min_k_of({10, 9, 8, 2, 1}, kLeast, 4), 0, 4);
  // A range of 0.5 and tau 2 keep 4 tokens of a flat row, and those that equal the fourth.
  const std::vector<float> flat = {1, 0.875f, 0.75f, 0.75f, 0.75f, 0.5f};
  EXPECT_WINDOW(min_k_of(flat, kLeast), 0, 1);
  EXPECT_WINDOW(min_k_of(flat, 2), 0, 5);
  EXPECT_WINDOW(min_k_of(flat, 1.4f), 0, 2);
  EXPECT_WINDOW(min_k_of(flat, kInfinity), 0, 6);
  EXPECT_WINDOW(min_k_of({3e38f, 1e38f, -3e38f}, kLeast), 0, 1);  // falls that overflow
}

TEST(MinK, LooksAt128TokensOrAtTheFirstFall) {
  std::vector<float> logits(300);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = -float(i) * 0x1p-10f;
  const auto with_fall_after = [&](size_t place) {
    std::vector<float> result = logits;
    for (size_t i = place; i < result.size(); ++i) result[i] -= 1000;
    return min_k_of(result, 1e-30f);
  };
  EXPECT_WINDOW(with_fall_after(127), 0, 127);
  EXPECT_WINDOW(with_fall_after(128), 0, 1);
  std::fill_n(logits.begin(), 200, 0.0f);
  EXPECT_WINDOW(with_fall_after(200), 0, 200);
}

TEST(TopH, LooksAtAHundredTokens) {
  const std::vector<float> equal(1000, 0.25f);
  EXPECT_WINDOW(kept_by(equal, [](const auto &w, Window seen) { return w.top_h(0.5f, seen); }), 0,
                50);
  EXPECT_WINDOW(
      kept_by(equal, [](const auto &w, Window seen) { return w.top_h(next_down(1.0f), seen); }), 0,
      99);
  EXPECT_WINDOW(kept_by(
                    equal, [](const auto &w, Window seen) { return w.top_h(0.5f, seen); }, 200),
                0, 200);
}

// ---- parameters ----

TEST(Stages, AreOffWhereTheContractSaysSo) {
  for (const float share : {0.0f, -0.0f, -1.0f, -kInfinity, 1.0f, next_up(1.0f), kInfinity, kNaN}) {
    EXPECT_FALSE(fraction_is_on(share)) << share;
  }
  for (const float share : {kSmallestSubnormal, 0.5f, next_down(1.0f)}) {
    EXPECT_TRUE(fraction_is_on(share)) << share;
  }
  for (const float n : {0.0f, -1.0f, -kInfinity}) EXPECT_FALSE(top_n_sigma_is_on(n)) << n;
  for (const float n : {kSmallestSubnormal, 1.0f, kInfinity}) {
    EXPECT_TRUE(top_n_sigma_is_on(n)) << n;
  }
  EXPECT_FALSE(xtc_is_on(0.0f, 0.1f));
  EXPECT_FALSE(xtc_is_on(-1.0f, 0.1f));
  EXPECT_FALSE(xtc_is_on(1.0f, next_up(0.5f)));
  EXPECT_TRUE(xtc_is_on(kSmallestSubnormal, 0.5f));
  EXPECT_TRUE(xtc_is_on(kInfinity, -kInfinity));
  EXPECT_FALSE(dynamic_temperature_is_on(1.0f, 0.0f));
  EXPECT_FALSE(dynamic_temperature_is_on(1.0f, -1.0f));
  EXPECT_FALSE(dynamic_temperature_is_on(kGreedyTemperature, 1.0f));
  EXPECT_TRUE(dynamic_temperature_is_on(1.0f, kInfinity));
}

TEST(XtcCoin, ComesAtItsProbability) {
  EXPECT_TRUE(xtc_coin(UINT32_MAX, 1.0f));
  EXPECT_TRUE(xtc_coin(UINT32_MAX, kInfinity));
  EXPECT_TRUE(xtc_coin(0x7FFFFFFFu, 0.5f));
  EXPECT_FALSE(xtc_coin(0x80000000u, 0.5f));
  EXPECT_TRUE(xtc_coin(0, kSmallestSubnormal));
  EXPECT_FALSE(xtc_coin(1, kSmallestSubnormal));
  EXPECT_FALSE(xtc_coin(UINT32_MAX, next_down(1.0f)));
}

TEST(SquareRoot, IsRoundedToNearest) {
  Random random(10);
  Failures failures;
  const auto is_nearest = [](double x, double root) {
    // Between the squares of the midpoints to its neighbours, which are no roots of an f64. A
    // midpoint has 54 bits, and long double 64 at least; fma gives the difference its sign.
    const auto middle = [&](double neighbour) {
      return (static_cast<long double>(root) + static_cast<long double>(neighbour)) / 2;
    };
    const auto excess = [&](long double r) { return std::fma(r, r, -static_cast<long double>(x)); };
    return excess(middle(std::nextafter(root, INFINITY))) > 0 &&
           excess(middle(std::nextafter(root, 0.0))) < 0;
  };
  for (int i = 0; i < 100000; ++i) {
    const double x = double(random.bits64() >> random.between(0, 60)) + 1.0;
    failures.expect(is_nearest(x, square_root(x)), uint64_t(i));
    const float y = std::fabs(random.float_of_exponent(random.between(0, 254)));
    failures.expect(square_root(y) == std::sqrt(y), bits_of(y));
  }
  EXPECT_EQ(square_root(0.0), 0.0);
  EXPECT_TRUE(failures.none());
}

TEST(TimesPowerOfTwo, IsRoundedOnce) {
  Random random(11);
  Failures failures;
  for (int i = 0; i < 300000; ++i) {
    const int n = random.between(-190, 254);
    // Products that overflow are none of its uses.
    const int exponent = random.between(0, std::min(254, 254 - n) < 0 ? 0 : std::min(254, 254 - n));
    const float x = random.float_of_exponent(exponent);
    const float expected = float(std::ldexp(double(x), n));
    if (std::isinf(expected)) continue;
    failures.expect(times_power_of_two(x, n) == expected, bits_of(x));
  }
  EXPECT_TRUE(failures.none());
}

// ---- errors, against exact arithmetic ----

TEST(Entropy, OfNormalLogitsIsWithinItsBound) {
  Random random(20);
  double largest = 0;
  for (int i = 0; i < 60; ++i) {
    for (const sampler_input_kind kind : {SAMPLER_LOGITS, SAMPLER_PROBABILITIES}) {
      const LevelRow row = normal_row(random, kind, i == 0 ? 262144 : 16384);
      largest = std::max(largest, row.entropy_error());
    }
  }
  EXPECT_LT(largest, 3e-6);  // 13.2
}

TEST(Entropy, OfTheWorstRowsKnown) {
  // Equal weights all err the same way. What docs/contract.md says the largest error is, so that
  // another row must be looked for if this one gets better: the limit itself is 1.5e-5.
  LevelRow row;
  row.levels = {{-1.26346529f, 1}, {-3.36094284f, 811732}};
  row.temperature = 0.15582835674285889f;
  EXPECT_LT(row.entropy_error(), 1.25e-5);
  EXPECT_GT(row.entropy_error(), 1.23e-5);
  EXPECT_LT(row.reported_entropy_error(), 1.1e-5);  // section 15
  EXPECT_GT(row.reported_entropy_error(), 0.7e-5);
  row.kind = SAMPLER_PROBABILITIES;
  row.levels = {{0.0164094511f, 1}, {2.43446522e-07f, 1048521}};
  EXPECT_LT(row.entropy_error(), 3.2e-6);
  EXPECT_GT(row.entropy_error(), 3.1e-6);
}

TEST(Entropy, OfEqualTokensIsTheLogarithmOfTheirNumber) {
  for (const float value : {-kLargestFloat, 0.0f, 17.5f, kLargestFloat}) {
    for (const float temperature : {next_up(kGreedyTemperature), 1.0f, kInfinity}) {
      LevelRow row = {{{value, kLargestVocabulary}}};
      row.temperature = temperature;
      EXPECT_EQ(mean_surprise(row.sums()), 0.0f);
      EXPECT_EQ(entropy(row.sums()), log2_shifted(float(kLargestVocabulary), 0));
      row.levels[0].count = 1;
      EXPECT_EQ(entropy(row.sums()), 0.0f);
    }
  }
  // Roundings must not make it negative.
  Random random(21);
  for (int i = 0; i < 10000; ++i) {
    LevelRow row = {{{std::fabs(random.float_of_exponent(random.between(1, 254))), 1}}};
    row.kind = SAMPLER_PROBABILITIES;
    EXPECT_GE(entropy(row.sums()), 0.0f);
    EXPECT_LE(entropy(row.sums()), 2e-7f);
  }
}

TEST(Entropy, TakesSumsThatStayBelow2To64) {
  // The oracle adds in 128 bits, and ends the program where a sum does not fit.
  float largest = 0;
  for (int i = 0; i <= 1000; ++i) {
    LevelRow row = {{{0.0f, 1}, {-0.0025f * float(i), kLargestVocabulary - 1}}};
    const EntropySums sums = row.sums();
    const oracle::WindowSums expected = oracle::window_sums(row.levels, true, 1.0f);
    EXPECT_EQ(sums.weight, expected.weight);
    EXPECT_EQ(sums.surprise, expected.surprise);
    const RowScale scale = row.scale();
    const float x = row.levels[1].value;
    largest = std::max(largest,
                       relative_surprise(relative_log2(scale, x), relative_probability(scale, x)));
  }
  // 1 / (e · ln 2) at its peak.
  EXPECT_NEAR(largest, 0.5307f, 1e-4f);
  EXPECT_LE(largest, 0.531f);
}

TEST(RelativeLog2, NeverRisesAlongRankOrderAndIsAtMost0) {
  Random random(22);
  Failures failures;
  for (int round = 0; round < 2000; ++round) {
    const bool is_logits = round % 2 == 0;
    const Tokens tokens = any_tokens(random, is_logits, 60);
    const RowScale row = row_scale(is_logits ? SAMPLER_LOGITS : SAMPLER_PROBABILITIES,
                                   tokens.value(0), std::exp2(3.0f * normal(random)));
    float previous = 0.0f;
    for (float x : tokens.values) {
      for (int i = 0; i < 20 && x != 0.0f; ++i, x = next_down(x)) {
        const float current = relative_log2(row, x);
        if (i == 0) failures.expect(current <= previous, bits_of(x));
        if (i > 0) failures.expect(current <= relative_log2(row, next_up(x)), bits_of(x));
        if (i == 0) previous = current;
      }
    }
  }
  EXPECT_TRUE(failures.none());
}

TEST(Sigma, OfNormalLogitsIsWithinItsBound) {
  Random random(23);
  double largest = 0;
  for (int i = 0; i < 60; ++i) {
    const LevelRow row = normal_row(random, SAMPLER_LOGITS, i == 0 ? 262144 : 16384);
    if (row.levels.front().value != row.levels.back().value) {
      largest = std::max(largest, row.sigma_error());
    }
  }
  EXPECT_LT(largest, 1e-6);  // 13.4
}

TEST(Sigma, OfTheWorstRowKnown) {
  // One token far away, so that the others' distances are few units. The limit itself is 6e-4.
  const LevelRow row = {
      {{2.75693822f, 1}, {0.529413342f, 460707}, {0.524158835f, 587790}, {-1.243891f, 1}}};
  EXPECT_LT(row.sigma_error(), 2e-4);
  EXPECT_GT(row.sigma_error(), 1.8e-4);
}

TEST(Sigma, TakesSumsThatStayBelow2To64) {
  // All tokens but one at the far end, where u is 2^22 or nearly: the sum of squares is the
  // largest.
  for (const float last : {-1.0f, -next_down(1.0f), -next_down(2.0f), -kLargestFloat, -0x1p-149f}) {
    const LevelRow row = {{{0.0f, 1}, {last, kLargestVocabulary - 1}}};
    EXPECT_EQ(row.sigma(), oracle::sigma_of(row.levels, true)) << last;
    // The only error is the unit's, 2^-22 of the range.
    const Real exact = oracle::exact_sigma(row.levels, true);
    if (last == -0x1p-149f) continue;  // sigma rounds to a multiple of as much
    EXPECT_NEAR(double(Real(row.sigma()) / exact), 1.0, 1e-6) << last;
  }
  const DeviationScale unit = deviation_scale(0.0f, -next_down(2.0f));
  EXPECT_EQ(deviation(unit, -next_down(2.0f)), 1u << 22);
  const DeviationScale widest = deviation_scale(kLargestFloat, -kLargestFloat);
  EXPECT_EQ(deviation(widest, -kLargestFloat), 1u << 22);
  EXPECT_EQ(deviation(widest, 0.0f), 1u << 22);  // one that overflows is no further away
}

TEST(DynamicTemperature, IsTheOracles) {
  Random random(24);
  Failures failures;
  for (int round = 0; round < 20000; ++round) {
    LevelRow row;
    const Tokens tokens = any_tokens(random, true, 50);
    for (const float value : tokens.values) row.levels.push_back({value, 1});
    float temperature = std::exp2(3.0f * normal(random));
    float range = std::exp2(3.0f * normal(random));
    float exponent = std::exp2(2.0f * normal(random));
    if (random.between(0, 15) == 0) temperature = kInfinity;
    if (random.between(0, 15) == 0) range = kInfinity;
    if (random.between(0, 15) == 0) exponent = kInfinity;
    if (random.between(0, 15) == 0) exponent = random.between(0, 1) ? 0.0f : -1.0f;
    const float got = dynamic_temperature(temperature, range, exponent, row.sums(), row.count());
    const float expected = oracle::dynamic_temperature_of(row.levels, temperature, range, exponent);
    failures.expect(bits_of(got) == bits_of(expected), uint64_t(round));
    failures.expect(got >= 0.0f && got <= kLargestFloat, uint64_t(round));
  }
  EXPECT_TRUE(failures.none());
}

TEST(DynamicTemperature, IsExactlyLowAndHighAtTheEnds) {
  const LevelRow one = {{{3.0f, 1}}}, equal = {{{3.0f, 1000}}};
  const LevelRow certain = {{{3.0f, 1}, {-kLargestFloat, 1000}}};
  for (const float exponent : {0.25f, 1.0f, 7.0f}) {
    EXPECT_EQ(dynamic_temperature(1.0f, 0.5f, exponent, one.sums(), 1), 1.5f);
    EXPECT_EQ(dynamic_temperature(1.0f, 0.5f, exponent, equal.sums(), 1000), 1.5f);
    EXPECT_EQ(dynamic_temperature(1.0f, 0.5f, exponent, certain.sums(), 1001), 0.5f);
    EXPECT_EQ(dynamic_temperature(0.5f, 1.0f, exponent, certain.sums(), 1001), 0.0f);
  }
}

TEST(DynamicTemperature, IsWithinItsBound) {
  Random random(25);
  double largest = 0;
  for (int round = 0; round < 200; ++round) {
    LevelRow row = normal_row(random, SAMPLER_LOGITS, 2000);
    row.temperature = 1.0f;
    const float temperature = std::exp2(normal(random)), range = temperature * random.unit();
    const float exponent = 1.0f + 3.0f * random.unit();
    const float got = dynamic_temperature(temperature, range, exponent, row.sums(), row.count());
    const Real exact = oracle::exact_dynamic_temperature(row.levels, temperature, range, exponent);
    largest = std::max(largest, double(std::abs(Real(got) - exact) /
                                       (exponent * (Real(temperature) + Real(range)))));
  }
  EXPECT_LT(largest, 5e-7);  // 13.7
}

// ---- what an engine keeps ----

// One call of engine_windows.txt.
struct Recorded {
  std::string stage;
  float parameter;
  int64_t min_keep;
  std::string mask;

  bool keeps(size_t id) const {
    const size_t digit = id / 4;
    if (digit >= mask.size()) return false;
    const char text[] = {mask[mask.size() - 1 - digit], 0};
    return (std::stoi(text, nullptr, 16) >> (id % 4) & 1) != 0;
  }

  // What is kept of a row, its values falling. Only the number of equal ones counts.
  std::vector<float> kept_of(const std::vector<float> &row) const {
    std::vector<float> kept;
    for (size_t id = 0; id < row.size(); ++id) {
      if (keeps(id)) kept.push_back(row[id]);
    }
    std::sort(kept.begin(), kept.end(), std::greater<float>());
    return kept;
  }
};

// What the contract keeps instead, at the recorded parameter or at one near it.
std::vector<float> kept_by_contract(const std::vector<float> &row, const Recorded &recorded,
                                    float parameter) {
  Tokens tokens = {row};
  std::sort(tokens.values.begin(), tokens.values.end(), std::greater<float>());
  const RankedWindows<Tokens> windows(tokens, SAMPLER_LOGITS, 1.0f, recorded.min_keep);
  const Window all = tokens.everything();
  if (recorded.stage == "epsilon")
    return values_of(tokens, windows.epsilon(parameter, SAMPLER_TIES_KEEP, all));
  if (recorded.stage == "eta")
    return values_of(tokens, windows.eta(parameter, SAMPLER_TIES_KEEP, all));
  if (recorded.stage == "top_h") return values_of(tokens, windows.top_h(parameter, all));
  EXPECT_EQ(recorded.stage, "typical_p");
  return values_of(tokens, windows.typical_p({parameter}, SAMPLER_TIES_KEEP, all));
}

TEST(Windows, OfHuggingFaceAreTheSame) {
  // Its sums and entropies are f32, of an error of about 1e-6, which matters most where the entropy
  // is small: where it keeps other tokens, the contract must keep those at a parameter as near.
  const auto nearness = [](std::vector<float> logits) {
    std::sort(logits.begin(), logits.end(), std::greater<float>());
    std::vector<oracle::Level> levels;
    levels.reserve(logits.size());
    for (const float x : logits) levels.push_back({x, 1});
    const double entropy = double(oracle::exact_entropy(levels, true, 1.0f));
    return float(std::min(2e-6 * (1.0 + 1.0 / entropy), 0.5));
  };
  std::ifstream file(SAMPLER_TRANSFORMERS_FILE);
  ASSERT_TRUE(file);
  std::vector<float> row;
  std::string line, word;
  int num_calls = 0, num_near = 0, num_shorter = 0;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    words >> word;
    if (word == "row") {
      row.clear();
      while (words >> word) row.push_back(float_of(uint32_t(std::stoul(word, nullptr, 16))));
    } else if (word != "#") {
      Recorded recorded;
      recorded.stage = word;
      words >> word >> recorded.min_keep >> recorded.mask;
      recorded.parameter = float_of(uint32_t(std::stoul(word, nullptr, 16)));
      const std::vector<float> expected = recorded.kept_of(row);
      const auto agrees = [&](float parameter) {
        return kept_by_contract(row, recorded, parameter) == expected;
      };
      ++num_calls;
      if (expected.size() < row.size()) ++num_shorter;
      if (agrees(recorded.parameter)) continue;
      ++num_near;
      const float near = nearness(row);
      EXPECT_TRUE(agrees(recorded.parameter * (1.0f - near)) ||
                  agrees(recorded.parameter * (1.0f + near)))
          << line;
    }
  }
  EXPECT_EQ(num_calls, 8 * 372);
  EXPECT_GT(num_shorter, num_calls / 2);
  EXPECT_LE(num_near, 1);  // of an entropy of 1e-4, of which it clamps a part away
}

}  // namespace
}  // namespace sampler::contract::windows_test
