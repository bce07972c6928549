// Rank order as integers, and the cuts.
#include "contract/rank.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support.h"

namespace sampler::contract::rank_test {
namespace {

using test::Failures;
using test::kInfinity;
using test::kLargestFloat;
using test::kSmallestSubnormal;
using test::next_down;
using test::next_up;
using test::Random;

constexpr uint32_t kLargestId = (1u << 20) - 2;

// Key order is value order between each of these and its two neighbours, and so along all of them.
TEST(Rank, KeysRiseWithValues) {
  Failures failures;
  const auto check = [&](float x) {
    const float above = next_up(x);
    failures.expect(value_key(x) < value_key(above), bits_of(x));
    failures.expect(value_key(next_down(x)) < value_key(x), bits_of(x));
  };
  float previous = -kInfinity;
  for (uint32_t bits = bits_of(-kLargestFloat); bits > kSignBit; bits -= 1009) {
    const float x = float_of(bits);
    failures.expect(value_key(previous) < value_key(x), bits);
    check(x);
    previous = x;
  }
  for (uint32_t bits = 1; bits < kInfinityBits; bits += 1009) {
    const float x = float_of(bits);
    failures.expect(value_key(previous) < value_key(x), bits);
    check(x);
    previous = x;
  }
  EXPECT_TRUE(failures.none());
  EXPECT_LT(value_key(previous), value_key(kInfinity));
}

TEST(Rank, MinusZeroEqualsZero) {
  EXPECT_EQ(value_key(-0.0f), value_key(0.0f));
  EXPECT_LT(value_key(-kSmallestSubnormal), value_key(-0.0f));
  EXPECT_LT(value_key(-0.0f), value_key(kSmallestSubnormal));
  EXPECT_GT(rank_of(-0.0f, 1), rank_of(0.0f, 2));
  EXPECT_GT(rank_of(0.0f, 1), rank_of(-0.0f, 2));
}

TEST(Rank, ValuesAndIdsComeBackOutOfIt) {
  Random random(1);
  Failures failures;
  for (int i = 0; i < 300000; ++i) {
    const float x = random.any_float();
    if (std::isnan(x)) continue;
    const uint32_t id = uint32_t(random.between(0, int(kLargestId)));
    const Rank rank = rank_of(x, id);
    failures.expect(bits_of(value_of_rank(rank)) == bits_of(x == 0.0f ? 0.0f : x), bits_of(x));
    failures.expect(id_of_rank(rank) == id, bits_of(x));
  }
  EXPECT_TRUE(failures.none());
}

TEST(Rank, SortsByValueDescendingThenByIdAscending) {
  Random random(2);
  struct Token {
    float value;
    uint32_t id;
  };
  const float values[] = {-kInfinity, -1.0f, -0.0f, 0.0f, kSmallestSubnormal, 1.0f, kLargestFloat};
  std::vector<Token> tokens;
  for (uint32_t id = 0; id < 200; ++id) tokens.push_back({values[random.between(0, 6)], id});
  for (size_t i = tokens.size() - 1; i > 0; --i) {
    std::swap(tokens[i], tokens[size_t(random.between(0, int(i)))]);
  }
  std::sort(tokens.begin(), tokens.end(), [](const Token &a, const Token &b) {
    return rank_of(a.value, a.id) > rank_of(b.value, b.id);
  });
  for (size_t i = 1; i < tokens.size(); ++i) {
    const Token &a = tokens[i - 1], &b = tokens[i];
    EXPECT_TRUE(a.value > b.value || (a.value == b.value && a.id < b.id)) << i;
  }
}

TEST(Rank, LowestCutKeepsWhatCanBeDrawn) {
  const Rank logits = lowest_cut(SAMPLER_LOGITS);
  EXPECT_LT(rank_of(-kInfinity, 0), logits);
  EXPECT_GE(rank_of(-kLargestFloat, kLargestId), logits);
  const Rank probabilities = lowest_cut(SAMPLER_PROBABILITIES);
  EXPECT_LT(rank_of(0.0f, 0), probabilities);
  EXPECT_LT(rank_of(-0.0f, 0), probabilities);
  EXPECT_GE(rank_of(kSmallestSubnormal, kLargestId), probabilities);
}

TEST(Rank, CutWithTiesKeepsAllOfEqualValueAndNoneBelow) {
  for (const float x : {-kLargestFloat, -1.5f, -kSmallestSubnormal, 0.0f, -0.0f, 1.0f, 0x1p100f}) {
    for (const uint32_t id : {0u, 7u, kLargestId}) {
      const Rank cut = cut_with_ties(rank_of(x, id));
      EXPECT_GE(rank_of(x, kLargestId), cut) << x;
      EXPECT_LT(rank_of(next_down(x), 0), cut) << x;
    }
  }
}

}  // namespace
}  // namespace sampler::contract::rank_test
