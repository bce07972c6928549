// The 16-bit formats, fma, scaling and wide products, each against a definition of its own.
#include "contract/float_bits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support.h"

namespace sampler::contract::float_bits_test {
namespace {

using test::Failures;
using test::kInfinity;
using test::kLargestFloat;
using test::kNaN;
using test::kSmallestSubnormal;
using test::next_down;
using test::next_up;
using test::Random;

// ---- 16-bit formats ----

struct HalfFormat {
  int exponent_bits;
  int mantissa_bits;
  float (*widen)(uint16_t);
  uint16_t (*narrow)(float);

  uint32_t infinity() const { return ((1u << exponent_bits) - 1) << mantissa_bits; }

  // The number that a code without sign stands for. The code of infinity gives the power of two
  // above the largest number: overflow is rounding to it.
  double decode(uint32_t code) const {
    const int exponent = int(code >> mantissa_bits), bias = (1 << (exponent_bits - 1)) - 1;
    const uint32_t mantissa = code & ((1u << mantissa_bits) - 1);
    if (exponent == 0) return std::ldexp(double(mantissa), 1 - bias - mantissa_bits);
    return std::ldexp(double((1u << mantissa_bits) + mantissa), exponent - bias - mantissa_bits);
  }
};

class HalfFormatTest : public testing::TestWithParam<HalfFormat> {};

INSTANTIATE_TEST_SUITE_P(F16, HalfFormatTest,
                         testing::Values(HalfFormat{5, 10, widen_f16, narrow_f16}));
INSTANTIATE_TEST_SUITE_P(Bf16, HalfFormatTest,
                         testing::Values(HalfFormat{8, 7, widen_bf16, narrow_bf16}));

TEST_P(HalfFormatTest, EveryCodeWidensExactly) {
  const HalfFormat format = GetParam();
  Failures failures;
  for (uint32_t code = 0; code < 0x8000; ++code) {
    const float positive = format.widen(uint16_t(code));
    const float negative = format.widen(uint16_t(code | 0x8000));
    failures.expect(bits_of(negative) == (bits_of(positive) | kSignBit), code);
    if (code < format.infinity()) {
      failures.expect(double(positive) == format.decode(code), code);
    } else if (code == format.infinity()) {
      failures.expect(positive == kInfinity, code);
    } else {
      failures.expect(std::isnan(positive), code);
    }
  }
  EXPECT_TRUE(failures.none());
}

TEST_P(HalfFormatTest, EveryCodeSurvivesTheRoundTrip) {
  const HalfFormat format = GetParam();
  Failures failures;
  for (uint32_t code = 0; code < 0x10000; ++code) {
    failures.expect(format.narrow(format.widen(uint16_t(code))) == code, code);
  }
  EXPECT_TRUE(failures.none());
}

TEST_P(HalfFormatTest, NarrowingRoundsToNearestEvenAroundEveryMidpoint) {
  const HalfFormat format = GetParam();
  Failures failures;
  const auto expect = [&](float x, uint32_t code) {
    failures.expect(format.narrow(x) == code, bits_of(x));
    failures.expect(format.narrow(-x) == (code | 0x8000), bits_of(-x));
  };
  for (uint32_t code = 0; code < format.infinity(); ++code) {
    const double low = format.decode(code), high = format.decode(code + 1);
    const float midpoint = float((low + high) / 2);  // exact: one bit longer than the format
    expect(float(low), code);
    expect(next_up(float(low)), code);
    expect(next_down(midpoint), code);
    expect(midpoint, code + (code & 1));
    expect(next_up(midpoint), code + 1);
    expect(next_down(float(high)), code + 1);
  }
  expect(kLargestFloat, format.infinity());
  expect(kInfinity, format.infinity());
  EXPECT_TRUE(failures.none());
}

TEST_P(HalfFormatTest, NarrowingGivesTheNearestNumber) {
  const HalfFormat format = GetParam();
  const double largest = format.decode(format.infinity() - 1);
  Failures failures;
  for (uint32_t bits = 0; double(float_of(bits)) <= largest; bits += 1009) {
    const double x = double(float_of(bits));
    const uint32_t code = format.narrow(float_of(bits));
    const double error = std::fabs(x - format.decode(code));
    failures.expect(error <= std::fabs(x - format.decode(code + 1)), bits);
    failures.expect(code == 0 || error <= std::fabs(x - format.decode(code - 1)), bits);
  }
  const float first_infinite = float((largest + format.decode(format.infinity())) / 2);
  for (uint32_t bits = bits_of(first_infinite); bits < kInfinityBits; bits += 1009) {
    failures.expect(format.narrow(float_of(bits)) == format.infinity(), bits);
  }
  EXPECT_TRUE(failures.none());
}

TEST_P(HalfFormatTest, ANaNStaysOne) {
  const HalfFormat format = GetParam();
  for (const uint32_t bits : {0x7F800001u, 0x7F801FFFu, 0x7F80FFFFu, 0x7FC00000u, 0x7FFFFFFFu}) {
    EXPECT_TRUE(std::isnan(format.widen(format.narrow(float_of(bits))))) << bits;
    EXPECT_TRUE(std::isnan(format.widen(format.narrow(float_of(bits | kSignBit))))) << bits;
  }
}

// ---- fma ----

bool same_float(float a, float b) {
  return bits_of(a) == bits_of(b) || (std::isnan(a) && std::isnan(b));
}

// The fma of the C library is correctly rounded; the obvious one in f64 rounds twice.
class FmaCheck {
 public:
  void compare(float a, float b, float c) {
    const float expected = std::fma(a, b, c);
    failures_.expect(same_float(fma32(a, b, c), expected), bits_of(a));
    naive_.expect(same_float(float(double(a) * double(b) + double(c)), expected), bits_of(a));
  }

  const Failures &failures() const { return failures_; }

  // How many of the cases rounding twice gets wrong: those that only a correct fma passes.
  int64_t num_hard() const { return naive_.count(); }

 private:
  Failures failures_, naive_;
};

TEST(Fma, RoundsOnceWhereTheF64SumIsATie) {
  // a * b is 2^-24 less, or more, 2^-70: beside a tie of the sum, by less than f64 can hold.
  const float below_a = (1.0f + 0x1p-23f) * 0x1p-12f, below_b = (1.0f - 0x1p-23f) * 0x1p-12f;
  EXPECT_EQ(fma32(below_a, below_b, 1.0f + 0x1p-23f), 1.0f + 0x1p-23f);
  EXPECT_EQ(fma32(below_a, -below_b, -1.0f - 0x1p-23f), -1.0f - 0x1p-23f);
  EXPECT_EQ(fma32(below_a, -below_b, 1.0f + 0x1p-22f), 1.0f + 0x1p-22f);
  FmaCheck check;
  for (int sign = 0; sign < 4; ++sign) {
    const float a = sign & 1 ? -below_a : below_a, c_sign = sign & 2 ? -1.0f : 1.0f;
    for (int i = -4; i <= 4; ++i) check.compare(a, below_b, c_sign * (1.0f + float(i) * 0x1p-23f));
  }
  EXPECT_TRUE(check.failures().none());
  EXPECT_GT(check.num_hard(), 0);
}

TEST(Fma, HandlesTheEndsOfTheFormat) {
  FmaCheck check;
  const float values[] = {0.0f,
                          1.0f,
                          kSmallestSubnormal,
                          3.0f * kSmallestSubnormal,
                          0x1p-126f,
                          0x1.fffffcp-127f,
                          0x1p-75f,
                          0x1.8p-74f,
                          kLargestFloat,
                          0x1p127f,
                          kInfinity,
                          kNaN,
                          0x1.fffffep-1f,
                          1.0f + 0x1p-23f,
                          0x1p64f,
                          0x1p-23f};
  for (const float a : values) {
    for (const float b : values) {
      for (const float c : values) {
        for (int sign = 0; sign < 8; ++sign) {
          check.compare(sign & 1 ? -a : a, sign & 2 ? -b : b, sign & 4 ? -c : c);
        }
      }
    }
  }
  EXPECT_TRUE(check.failures().none());
}

// The product is half an ulp of c up to a share of 2^-46 to 2^-28: too little for f64 to hold
// beside c, enough to decide to which side the sum is rounded.
TEST(Fma, EqualsTheCLibrarysNextToTies) {
  Random random(1);
  FmaCheck check;
  for (int i = 0; i < 300000; ++i) {
    // Below 24 c is subnormal, or its half ulp is.
    const int c_exponent = i % 4 == 0 ? random.between(0, 30) : random.between(60, 190);
    const float c = random.float_of_exponent(c_exponent);
    const int half_ulp = std::max(c_exponent, 1) - 127 - 24;
    const float off = float(random.between(1, 511)) * 0x1p-23f;
    const int a_power = half_ulp / 2, b_power = half_ulp - a_power;
    const float a = std::ldexp(1.0f + off, a_power), b = std::ldexp(1.0f - off, b_power);
    check.compare(i & 1 ? -a : a, b, c);
  }
  EXPECT_TRUE(check.failures().none());
  EXPECT_GT(check.num_hard(), 100000);
}

// A mantissa with few bits set, or few clear: long carries are frequent.
float sparse_float(Random &random, int biased_exponent) {
  uint32_t mantissa = random.bits32() & random.bits32() & random.bits32() & random.bits32();
  if (random.bits32() & 1) mantissa = ~mantissa;
  const uint32_t sign = random.bits32() & kSignBit;
  return float_of(sign | uint32_t(biased_exponent) << 23 | (mantissa & 0x7FFFFFu));
}

TEST(Fma, EqualsTheCLibrarysOnSparseMantissas) {
  Random random(2);
  FmaCheck check;
  for (int i = 0; i < 500000; ++i) {
    const int a_exponent = random.between(80, 170), b_exponent = random.between(80, 170);
    const int c_exponent = a_exponent + b_exponent - 127 + random.between(-30, 60);
    if (c_exponent < 0 || c_exponent > 254) continue;
    check.compare(sparse_float(random, a_exponent), sparse_float(random, b_exponent),
                  sparse_float(random, c_exponent));
  }
  EXPECT_TRUE(check.failures().none());
}

TEST(Fma, EqualsTheCLibrarysWhereTheResultIsSubnormal) {
  Random random(3);
  FmaCheck check;
  for (int i = 0; i < 300000; ++i) {
    // The product lies between 2^-160 and 2^-120, the sum below 2^-118.
    const int a_exponent = random.between(20, 107);
    const int b_exponent = random.between(-160, -120) + 254 - a_exponent;
    check.compare(sparse_float(random, a_exponent), sparse_float(random, b_exponent),
                  sparse_float(random, random.between(0, 6)));
  }
  EXPECT_TRUE(check.failures().none());
}

TEST(Fma, EqualsTheCLibrarysWhereTheSumCancels) {
  Random random(4);
  FmaCheck check;
  for (int i = 0; i < 300000; ++i) {
    const float a = random.float_of_exponent(random.between(60, 190));
    const float b = random.float_of_exponent(random.between(70, 180));
    float c = -(a * b);
    for (int step = random.between(-2, 2); step != 0; step += step < 0 ? 1 : -1) {
      c = step < 0 ? next_down(c) : next_up(c);
    }
    check.compare(a, b, c);
  }
  EXPECT_TRUE(check.failures().none());
}

TEST(Fma, EqualsTheCLibrarysOnAnyBits) {
  Random random(5);
  FmaCheck check;
  for (int i = 0; i < 500000; ++i) {
    check.compare(random.any_float(), random.any_float(), random.any_float());
  }
  EXPECT_TRUE(check.failures().none());
}

// ---- the rest ----

TEST(FloatBits, PowersOfTwo) {
  for (int n = -126; n <= 127; ++n) EXPECT_EQ(power_of_two(n), std::ldexp(1.0f, n));
}

TEST(FloatBits, ClassesOfValues) {
  for (const float x :
       {0.0f, -0.0f, 1.0f, kSmallestSubnormal, kLargestFloat, kInfinity, -kInfinity}) {
    EXPECT_FALSE(is_nan(x)) << x;
  }
  for (const uint32_t bits : {0x7F800001u, 0x7FC00000u, 0x7FFFFFFFu, 0xFF800001u, 0xFFFFFFFFu}) {
    EXPECT_TRUE(is_nan(float_of(bits))) << bits;
  }
  EXPECT_TRUE(is_nan(quiet_nan()));
  EXPECT_EQ(negative_infinity(), -kInfinity);
  for (const float x : {0.0f, -1.0f, kSmallestSubnormal, kLargestFloat, -kLargestFloat}) {
    EXPECT_TRUE(is_finite(x)) << x;
  }
  for (const float x : {kInfinity, -kInfinity, kNaN, -kNaN}) EXPECT_FALSE(is_finite(x)) << x;
  EXPECT_TRUE(is_finite(1.7e308));
  EXPECT_FALSE(is_finite(-std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(is_finite(std::numeric_limits<double>::quiet_NaN()));
}

TEST(FloatBits, NearestIntegerRoundsTiesToEven) {
  Random random(6);
  Failures failures;
  const auto check = [&](float x) {
    const double expected = std::nearbyint(double(x));
    failures.expect(nearest_integer(x).value() == float(expected), bits_of(x));
    failures.expect(nearest_integer(x).integer() == int(expected), bits_of(x));
  };
  for (int n = -2000; n <= 2000; ++n) {
    const float tie = float(n) + 0.5f;
    for (const float x : {float(n), next_down(tie), tie, next_up(tie)}) check(x);
  }
  for (int i = 0; i < 1000000; ++i) check(random.float_of_exponent(random.between(0, 127 + 21)));
  EXPECT_TRUE(failures.none());
}

TEST(FloatBits, WideProductEqualsTheSchoolbooks) {
  Random random(7);
  Failures failures;
  for (int i = 0; i < 100000; ++i) {
    const uint64_t a = random.bits64() >> random.between(0, 63);
    const uint64_t b = i % 10 == 0 ? UINT64_MAX : random.bits64() >> random.between(0, 63);
    const uint64_t a0 = uint32_t(a), a1 = a >> 32, b0 = uint32_t(b), b1 = b >> 32;
    const uint64_t low = a0 * b0;
    const uint64_t middle = a1 * b0 + (low >> 32);  // at most (2^32 - 1) * 2^32
    const uint64_t middle_2 = a0 * b1 + uint32_t(middle);
    const Product128 product = multiply_128(a, b);
    failures.expect(product.low == (middle_2 << 32 | uint32_t(low)), a);
    failures.expect(product.high == a1 * b1 + (middle >> 32) + (middle_2 >> 32), a);
  }
  EXPECT_TRUE(failures.none());
}

}  // namespace
}  // namespace sampler::contract::float_bits_test
