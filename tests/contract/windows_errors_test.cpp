// The errors that section 13 of the contract states, over thousands of rows of up to 262,144
// columns.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "contract/windows.h"
#include "level_row.h"
#include "support.h"
#include "windows_oracle.h"

namespace sampler::contract::windows_errors_test {
namespace {

using oracle::Real;
using test::Failures;
using test::LevelRow;
using test::normal;
using test::normal_row;
using test::Random;

constexpr int kRows = 1000;
constexpr int kMostColumns = 262144;

// The largest error over the rows. A limit that is far above it would say nothing.
template <class Error>
void expect_errors(uint64_t seed, sampler_input_kind kind, double limit, const Error &error) {
  Random random(seed);
  double largest = 0;
  for (int i = 0; i < kRows; ++i) {
    const LevelRow row = normal_row(random, kind, kMostColumns);
    largest = std::max(largest, error(row, random));
  }
  std::printf("largest error %.3g, limit %.3g\n", largest, limit);
  EXPECT_LT(largest, limit);
  EXPECT_GT(largest, limit / 4);
}

double entropy_error(const LevelRow &row, Random &) {
  return row.entropy_error();
}

// Where no logit differs from another there is none to compare with.
double sigma_error(const LevelRow &row, Random &) {
  return row.levels.front().value == row.levels.back().value ? 0.0 : row.sigma_error();
}

// As a share of exponent * (T + range).
double temperature_error(LevelRow row, Random &random) {
  row.temperature = 1.0f;
  const float temperature = std::exp2(normal(random)), range = temperature * random.unit();
  const float exponent = 1.0f + 3.0f * random.unit();
  const float got = dynamic_temperature(temperature, range, exponent, row.sums(), row.count());
  const Real exact = oracle::exact_dynamic_temperature(row.levels, temperature, range, exponent);
  return double(std::abs(Real(got) - exact) / (exponent * (Real(temperature) + Real(range))));
}

TEST(WindowErrors, OfTheEntropyOfLogits) {
  expect_errors(1, SAMPLER_LOGITS, 3e-6, entropy_error);
}
TEST(WindowErrors, OfTheEntropyOfProbabilities) {
  expect_errors(2, SAMPLER_PROBABILITIES, 3e-6, entropy_error);
}
double reported_entropy_error(const LevelRow &row, Random &) {
  return row.reported_entropy_error();
}
TEST(WindowErrors, OfTheReportedEntropyOfLogits) {
  expect_errors(5, SAMPLER_LOGITS, 2e-6, reported_entropy_error);
}
TEST(WindowErrors, OfTheReportedEntropyOfProbabilities) {
  expect_errors(6, SAMPLER_PROBABILITIES, 2e-6, reported_entropy_error);
}
TEST(WindowErrors, OfSigma) {
  expect_errors(3, SAMPLER_LOGITS, 1e-6, sigma_error);
}
TEST(WindowErrors, OfTheDynamicTemperature) {
  expect_errors(4, SAMPLER_LOGITS, 5e-7, temperature_error);
}

// ---- what 13.2 says of single tokens ----

TEST(Surprise, OfEveryLogitIsExactlyALogarithmTimesAProbability) {
  Failures failures;
  float largest = 0.0f;
  for (uint32_t bits = bits_of(-1.0f); bits <= bits_of(kLowestLog2); ++bits) {
    const float t = float_of(bits), log2 = t + 1.0f;
    failures.expect(double(log2) == double(t) + 1.0, bits);
    const float surprise = relative_surprise(log2, exp2_plus_1(t));
    failures.expect(surprise >= 0.0f, bits);
    largest = std::max(largest, surprise);
  }
  EXPECT_TRUE(failures.none());
  EXPECT_LE(largest, 0.531f);
  EXPECT_GT(largest, 0.5307f);
}

TEST(Surprise, OfProbabilitiesIsBetween0And0531) {
  constexpr uint32_t kStep = 37;
  Failures failures;
  float largest = 0.0f;
  for (const int exponent : {0, 24, 126}) {
    const RowScale row = probabilities_row_scale(power_of_two(-exponent));
    const uint32_t first = bits_of(power_of_two(-exponent));
    for (uint32_t bits = first > (60u << 23) ? first - (60u << 23) : 1; bits <= first;
         bits += kStep) {
      const float x = float_of(bits), log2 = relative_log2(row, x);
      const float surprise = relative_surprise(log2, relative_probability(row, x));
      failures.expect(log2 <= 0.0f && surprise >= 0.0f, bits);
      largest = std::max(largest, surprise);
    }
  }
  EXPECT_TRUE(failures.none());
  EXPECT_LE(largest, 0.531f);
}

}  // namespace
}  // namespace sampler::contract::windows_errors_test
