// The logarithm and the Gumbel noise over every f32 that occurs, with the figures that
// docs/contract.md states and tools/fit_polynomials.py measures. The hashes hold every bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "contract/log2.h"
#include "support.h"

namespace sampler::contract::exhaustive_log2_test {
namespace {

using test::Failures;
using test::Hash;

// The mantissas of the decomposition: [sqrt(1/2), sqrt(2)) up to rounding.
constexpr uint32_t kFirstMantissa = 0x3F3504F3u;
constexpr uint32_t kEndMantissa = kFirstMantissa + (1u << 23);
const double kLog2EExact = 1.0 / std::log(2.0);

// Inversions are looked for in the exact product z * Q(z), which fits in f64: where it never falls,
// neither does fma(z, Q(z), k) for any k, as rounding is monotone.
TEST(EveryMantissa, Log2IsMonotoneAndAccurate) {
  Failures inversions;
  Hash hash;
  double worst = 0.0, first = 0.0, previous = -1.0;
  for (uint32_t bits = kFirstMantissa; bits < kEndMantissa; ++bits) {
    const Log2Parts parts = split_for_log2(float_of(bits));
    ASSERT_EQ(parts.exponent, 0);
    ASSERT_EQ(parts.z, float_of(bits) - 1.0f);
    const double product = double(parts.z) * double(log2_quotient(parts.z));
    hash.add(product);
    inversions.expect(product >= previous, bits);
    previous = product;
    if (bits == kFirstMantissa) first = product;
    if (parts.z == 0.0f) continue;
    const double expected = std::log1p(double(parts.z)) * kLog2EExact;
    worst = std::max(worst, std::fabs(double(float(product)) / expected - 1.0));
  }
  EXPECT_TRUE(inversions.none());
  EXPECT_LE(previous, first + 1.0);  // from one exponent to the next
  EXPECT_NEAR(worst, 1.281e-7, 0.0005e-7);
  EXPECT_TRUE(hash.is(0x262488B11DAA39A0u));
}

TEST(EverySubnormal, Log2IsMonotoneAndAccurate) {
  Failures inversions;
  double worst = 0.0;
  float previous = -150.0f;
  for (uint32_t bits = 1; bits <= 0x00800000u; ++bits) {
    const float result = log2_shifted(float_of(bits), 0);
    inversions.expect(result >= previous, bits);
    previous = result;
    worst = std::max(worst, std::fabs(double(result) - std::log2(double(float_of(bits)))));
  }
  EXPECT_TRUE(inversions.none());
  EXPECT_EQ(previous, -126.0f);
  EXPECT_LE(worst, 0x1p-17 + 5.7e-8);  // half an ulp of 149, and the polynomial
}

// The noise depends on the word through f32(word) alone. These are all its values, ascending.
template <class Visit>
void for_each_word_value(const Visit &visit) {
  for (uint32_t word = 0; word < 1u << 24; ++word) visit(word);
  for (int shift = 1; shift <= 8; ++shift) {
    for (uint32_t mantissa = 1u << 23; mantissa < 1u << 24; ++mantissa) visit(mantissa << shift);
  }
  visit(UINT32_MAX);  // rounds to 2^32
}

TEST(EveryWord, NoiseIsMonotoneAndAccurate) {
  Failures inversions;
  Hash hash;
  double worst = 0.0, worst_below_8 = 0.0;
  float previous = 34.0f, previous_v = 0.0f;
  int64_t num_reachable = 0;
  for_each_word_value([&](uint32_t word) {
    const float noise = gumbel_noise(word);
    hash.add(noise);
    inversions.expect(noise <= previous, word);
    previous = noise;
    // Exact in f64, so this rounds once, as the fma does.
    const float v = std::min(float(double(float(word)) * 0x1p-32 + 0x1p-33), 1.0f - 0x1p-24f);
    if (v == previous_v) return;
    previous_v = v;
    ++num_reachable;
    const double expected = -std::log2(-std::log1p(-double(v)));
    const double error = std::fabs(double(noise) - expected);
    worst = std::max(worst, error);
    if (std::fabs(expected) < 8.0) worst_below_8 = std::max(worst_below_8, error);
  });
  EXPECT_TRUE(inversions.none());
  EXPECT_EQ(num_reachable, 79691776);
  EXPECT_NEAR(worst, 1.137e-6, 0.0005e-6);
  EXPECT_NEAR(worst_below_8, 4.73e-7, 0.005e-7);
  EXPECT_TRUE(hash.is(0xDD1131451B83B647u));
}

TEST(EveryWord, NoiseIsAtMostItsBound) {
  Failures above, inversions;
  double loosest = 0.0;
  float previous = 200.0f;
  for_each_word_value([&](uint32_t word) {
    const float noise = gumbel_noise(word), bound = gumbel_noise_bound(word);
    above.expect(noise <= bound, word);
    inversions.expect(bound <= previous, word);
    previous = bound;
    if (word >= 256 && noise >= 4.0f) loosest = std::max(loosest, double(bound) - double(noise));
  });
  EXPECT_TRUE(above.none());
  EXPECT_TRUE(inversions.none());
  EXPECT_LT(loosest, 0.15);
}

// One of kNumParts of them, since all take a minute. The last value of the part before is the first
// of the next.
constexpr uint32_t kNumParts = 16;
class EveryPositiveFloat : public testing::TestWithParam<uint32_t> {};

TEST_P(EveryPositiveFloat, Log2IsAtMostItsBound) {
  const uint32_t length = (kInfinityBits + kNumParts - 1) / kNumParts;
  const uint32_t first = std::max(GetParam() * length, uint32_t{1});
  const uint32_t last = std::min((GetParam() + 1) * length, kInfinityBits - 1);
  Failures above, inversions;
  float previous = -200.0f;
  for (uint32_t bits = first; bits <= last; ++bits) {
    const float y = float_of(bits), bound = log2_bound(y);
    above.expect(log2_shifted(y, 0) <= bound, bits);
    inversions.expect(previous <= bound, bits);
    previous = bound;
  }
  EXPECT_TRUE(above.none());
  EXPECT_TRUE(inversions.none());
}

INSTANTIATE_TEST_SUITE_P(Parts, EveryPositiveFloat, testing::Range(uint32_t{0}, kNumParts));

}  // namespace
}  // namespace sampler::contract::exhaustive_log2_test
