// From a random word to a place in the running sum, and the acceptance of drafts.
#include "contract/draw.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support.h"

namespace sampler::contract::draw_test {
namespace {

using test::Failures;
using test::kLargestFloat;
using test::kSmallestSubnormal;
using test::next_down;
using test::next_up;
using test::Random;

TEST(DrawTarget, LiesBelowTheTotal) {
  constexpr uint64_t kLargestTotal = UINT64_MAX - (uint64_t(1) << 44) + 1;
  for (const uint64_t total : {uint64_t(1), uint64_t(2), uint64_t(1) << 44, kLargestTotal}) {
    EXPECT_EQ(draw_target(0, total), 0u);
    EXPECT_EQ(draw_target(UINT64_MAX, total), total - 1);
  }
}

// floor(word * total / 2^64) >= n from the word ceil(n * 2^64 / total) on.
TEST(DrawTarget, StepsWhereTheFractionOfTheWordSays) {
  __extension__ using Wide = unsigned __int128;
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const uint64_t total = (random.bits64() >> random.between(0, 62)) | 2;
    const uint64_t n = 1 + random.bits64() % (total - 1);
    const uint64_t word = uint64_t(((Wide(n) << 64) + total - 1) / total);
    EXPECT_EQ(draw_target(word, total), n) << total;
    EXPECT_EQ(draw_target(word - 1, total), n - 1) << total;
  }
}

// x = significand * 2^exponent with an integer significand below 2^24.
struct Exact {
  uint64_t significand;
  int exponent;
};

Exact exact(float x) {
  if (x == 0.0f) return {0, 0};
  int exponent;
  const float fraction = std::frexp(x, &exponent);
  return {uint64_t(std::ldexp(fraction, 24)), exponent - 24};
}

// Whether (word >> 3) * 2^-29 * draft < target, in integers.
bool exact_verdict(uint32_t word, float target, float draft) {
  __extension__ using Wide = unsigned __int128;
  const Exact p = exact(target), q = exact(draft);
  const Wide left = Wide(word >> 3) * q.significand;  // below 2^53
  const Wide right = p.significand;
  if (left == 0 || right == 0) return left < right;
  const int shift = q.exponent - 29 - p.exponent;
  if (shift > 60) return false;
  if (shift < -60) return true;
  return shift >= 0 ? left << shift < right : left < right << -shift;
}

TEST(AcceptsDraft, ComparesExactly) {
  Random random(2);
  Failures failures;
  int64_t num_accepted = 0;
  constexpr int kCount = 1000000;
  for (int i = 0; i < kCount; ++i) {
    const uint32_t word = random.bits32();
    const float draft = std::fabs(random.float_of_exponent(random.between(0, 127)));
    // Around the product, where rounding it would change the verdict.
    const float product = float(double(word >> 3) * 0x1p-29 * double(draft));
    for (const float target : {next_down(product), product, next_up(product)}) {
      if (target < 0.0f) continue;
      const bool accepted = accepts_draft(word, target, draft);
      num_accepted += accepted;
      failures.expect(accepted == exact_verdict(word, target, draft), word);
    }
  }
  EXPECT_TRUE(failures.none());
  EXPECT_GT(num_accepted, kCount);
  EXPECT_LT(num_accepted, 2 * kCount);
}

TEST(AcceptsDraft, AtItsEnds) {
  EXPECT_FALSE(accepts_draft(0, 0.0f, 0.5f));  // the target cannot give it
  EXPECT_TRUE(accepts_draft(0, kSmallestSubnormal, 1.0f));
  EXPECT_TRUE(accepts_draft(UINT32_MAX, kSmallestSubnormal, 0.0f));
  EXPECT_FALSE(accepts_draft(UINT32_MAX, 0.0f, 0.0f));
  EXPECT_TRUE(accepts_draft(UINT32_MAX, 0.3f, 0.3f));
  EXPECT_FALSE(accepts_draft(0x80000000u, 0.25f, 0.5f));  // u = 1/2: equal is not below
  EXPECT_TRUE(accepts_draft(0x7FFFFFF8u, 0.25f, 0.5f));
  EXPECT_TRUE(accepts_draft(0x7FFFFFFFu, 0.25f, 0.5f));  // the lowest three bits do not count
  EXPECT_TRUE(accepts_draft(UINT32_MAX, kLargestFloat, 1.0f));
}

TEST(Residual, IsTheF32DifferenceAboveZero) {
  EXPECT_EQ(residual_probability(0.75f, 0.5f), 0.25f);
  EXPECT_EQ(residual_probability(1.0f, 0x1p-26f), 1.0f);  // rounded to f32
  EXPECT_EQ(residual_probability(0.0f, 0.0f), 0.0f);
  EXPECT_EQ(residual_probability(0.5f, 0.75f), 0.0f);
  EXPECT_EQ(residual_probability(3 * kSmallestSubnormal, kSmallestSubnormal),
            2 * kSmallestSubnormal);
  EXPECT_FALSE(std::signbit(residual_probability(0.5f, 0.75f)));
}

}  // namespace
}  // namespace sampler::contract::draw_test
