// The filters' parameters and thresholds.
#include "contract/filters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <string>

#include "support.h"

namespace sampler::contract::filters_test {
namespace {

using test::Failures;
using test::kInfinity;
using test::kLargestFloat;
using test::kSmallestSubnormal;
using test::next_down;
using test::next_up;
using test::Random;

// The least integer that is at least fraction * total, or above it, from the fraction's
// decomposition by the C library.
uint64_t exact_ceiling(float fraction, uint64_t total, bool exceeds = false) {
  __extension__ using Wide = unsigned __int128;
  int exponent;
  const uint64_t significand = uint64_t(std::ldexp(std::frexp(fraction, &exponent), 24));
  const int shift = 24 - exponent;  // fraction = significand * 2^-shift
  const Wide product = Wide(significand) * total;
  if (shift >= 128) return product || exceeds ? 1 : 0;
  const Wide quotient = product >> shift;
  return uint64_t(quotient) + (quotient << shift != product || exceeds ? 1 : 0);
}

constexpr uint64_t kLargestTotal = UINT64_MAX - (uint64_t(1) << 44) + 1;  // 2^64 - 2^44

TEST(FractionOfWeight, IsTheExactCeiling) {
  Random random(1);
  Failures failures;
  for (int i = 0; i < 1000000; ++i) {
    // Any exponent, subnormals too, but most where the result is neither 1 nor the total.
    const int exponent = i % 4 == 0 ? random.between(0, 126) : random.between(60, 126);
    const float fraction = std::fabs(random.float_of_exponent(exponent));
    if (fraction == 0.0f) continue;
    const uint64_t total = random.bits64() >> random.between(0, 20);
    failures.expect(fraction_of_weight(fraction, total) == exact_ceiling(fraction, total),
                    bits_of(fraction));
  }
  EXPECT_TRUE(failures.none());
}

TEST(FractionOfWeight, IsExactAtItsEdges) {
  // Powers of two divide these totals or leave 1 over; the shifts 23 to 149 all occur.
  Failures failures;
  for (int exponent = 0; exponent >= -149; --exponent) {
    const float power = std::ldexp(1.0f, exponent);
    for (const float fraction : {power, next_down(power), next_up(power)}) {
      if (fraction <= 0.0f || fraction > 1.0f) continue;
      for (int bits = 0; bits < 64; ++bits) {
        const uint64_t total = uint64_t(1) << bits;
        for (const uint64_t near : {total - 1, total, total + 1}) {
          failures.expect(fraction_of_weight(fraction, near) == exact_ceiling(fraction, near),
                          bits_of(fraction));
          failures.expect(fraction_of_weight(fraction, near, SAMPLER_SUM_EXCEEDS) ==
                              exact_ceiling(fraction, near, true),
                          bits_of(fraction));
        }
      }
      for (const uint64_t total : {kLargestTotal, UINT64_MAX}) {
        failures.expect(fraction_of_weight(fraction, total) == exact_ceiling(fraction, total),
                        bits_of(fraction));
      }
    }
  }
  EXPECT_TRUE(failures.none());
}

TEST(FractionOfWeight, OfWorkedExamples) {
  EXPECT_EQ(fraction_of_weight(1.0f, kLargestTotal), kLargestTotal);
  EXPECT_EQ(fraction_of_weight(0.5f, 6), 3u);
  EXPECT_EQ(fraction_of_weight(0.5f, 7), 4u);
  EXPECT_EQ(fraction_of_weight(0.1f, 10), 2u);  // f32(0.1) is above 1/10
  EXPECT_EQ(fraction_of_weight(0.7f, 10), 7u);  // f32(0.7) is below 7/10
  EXPECT_EQ(fraction_of_weight(1.0f - 0x1p-24f, uint64_t(1) << 44), (1u << 20) * 0xFFFFFFull);
  EXPECT_EQ(fraction_of_weight(kSmallestSubnormal, kLargestTotal), 1u);
  EXPECT_EQ(fraction_of_weight(kSmallestSubnormal, 1), 1u);
}

TEST(Thresholds, OfTopPAndMinP) {
  constexpr sampler_sum_rule kExceeds = SAMPLER_SUM_EXCEEDS;
  EXPECT_EQ(top_p_threshold({0.5f}, 9), 5u);
  EXPECT_EQ(top_p_threshold({0.5f, kExceeds}, 9), 5u);
  EXPECT_EQ(top_p_threshold({0.5f}, 8), 4u);
  EXPECT_EQ(top_p_threshold({0.5f, kExceeds}, 8), 5u);
  EXPECT_EQ(top_p_threshold({next_down(0.5f), kExceeds}, 8), 4u);
  EXPECT_EQ(top_p_threshold({next_down(1.0f), kExceeds}, 9), 9u);
  EXPECT_EQ(top_p_threshold({kSmallestSubnormal}, 9), 1u);
  EXPECT_EQ(top_p_threshold({kSmallestSubnormal, kExceeds}, 9), 1u);
  for (const float p : {0.0f, -0.0f, -1.0f, -kInfinity}) {
    EXPECT_EQ(top_p_threshold({p}, 9), 0u) << p;
    EXPECT_EQ(top_p_threshold({p, kExceeds}, 9), 0u) << p;
  }
  constexpr uint64_t kMaxWeight = uint64_t(1) << 44;
  EXPECT_EQ(min_p_threshold(0.25f, kMaxWeight), kMaxWeight / 4);
  EXPECT_EQ(min_p_threshold(kSmallestSubnormal, kMaxWeight), 1u);
  for (const float p : {1.0f, next_up(1.0f), 7.0f, kLargestFloat, kInfinity}) {
    EXPECT_EQ(min_p_threshold(p, kMaxWeight), kMaxWeight) << p;
  }
}

TEST(Filters, AreOffWhereTheContractSaysSo) {
  for (const int32_t k : {0, -1, INT_MIN}) EXPECT_FALSE(top_k_is_on(k)) << k;
  for (const int32_t k : {1, 2, INT_MAX}) EXPECT_TRUE(top_k_is_on(k)) << k;
  for (const float p : {1.0f, next_up(1.0f), kInfinity}) EXPECT_FALSE(top_p_is_on(p)) << p;
  for (const float p : {next_down(1.0f), 0.0f, -1.0f, -kInfinity}) EXPECT_TRUE(top_p_is_on(p)) << p;
  for (const float p : {0.0f, -0.0f, -1.0f, -kInfinity}) EXPECT_FALSE(min_p_is_on(p)) << p;
  for (const float p : {kSmallestSubnormal, 1.0f, kInfinity}) EXPECT_TRUE(min_p_is_on(p)) << p;
}

TEST(Filters, AnyOneIsEnough) {
  const RowParameters off = {1.0f, 0, 1.0f, 0.0f};
  RowParameters top_k = off, top_p = off, min_p = off;
  top_k.top_k = 3;
  top_p.top_p = 0.5f;
  min_p.min_p = 0.5f;
  EXPECT_FALSE(any_filter_is_on(off));
  EXPECT_TRUE(any_filter_is_on(top_k));
  EXPECT_TRUE(any_filter_is_on(top_p));
  EXPECT_TRUE(any_filter_is_on(min_p));
}

// ---- order ----

// A row that only writes down who was asked, and what it saw.
struct Recorder {
  std::string everything() const { return "row"; }
  std::string shorter(const std::string &a, const std::string &b) const {
    return "min(" + std::min(a, b) + ", " + std::max(a, b) + ")";
  }
  std::string top_k(int32_t k, sampler_tie_rule ties, const std::string &seen) const {
    return "k" + std::to_string(k) + (ties == SAMPLER_TIES_KEEP ? "+" : "") + "(" + seen + ")";
  }
  std::string top_p(Share share, sampler_tie_rule ties, const std::string &seen) const {
    return "p" + std::to_string(int(100 * share.fraction)) +
           (share.sum == SAMPLER_SUM_EXCEEDS ? ">" : "") + (ties == SAMPLER_TIES_KEEP ? "+" : "") +
           "(" + seen + ")";
  }
  std::string min_p(float p, const std::string &seen) const {
    return "m" + std::to_string(int(100 * p)) + "(" + seen + ")";
  }
};

std::string order_of(const RowParameters &parameters, const FilterRules &rules) {
  const Recorder recorder;
  return filtered_prefix(recorder, parameters, rules);
}

TEST(sampler_filter_order, SaysWhatEachFilterSees) {
  const RowParameters all = {1.0f, 7, 0.5f, 0.25f};
  FilterRules rules;
  EXPECT_EQ(order_of(all, rules), "m25(p50(k7(row)))");
  rules.order = SAMPLER_FILTERS_MIN_P_FIRST;
  EXPECT_EQ(order_of(all, rules), "p50(k7(m25(row)))");
  rules.order = SAMPLER_FILTERS_JOINT;
  EXPECT_EQ(order_of(all, rules), "min(k7(row), min(m25(row), p50(row)))");
}

TEST(sampler_filter_order, LeavesOutWhatIsOff) {
  FilterRules rules;
  rules.top_k_ties = SAMPLER_TIES_KEEP;
  EXPECT_EQ(order_of({1.0f, 0, 1.0f, 0.0f}, rules), "row");
  EXPECT_EQ(order_of({1.0f, 7, 1.0f, 0.25f}, rules), "m25(k7+(row))");
  rules.top_p_ties = SAMPLER_TIES_KEEP;
  EXPECT_EQ(order_of({1.0f, 0, 0.5f, 0.0f}, rules), "p50+(row)");
  rules.order = SAMPLER_FILTERS_JOINT;
  EXPECT_EQ(order_of({1.0f, 0, 0.5f, 0.0f}, rules), "min(min(p50+(row), row), row)");
  rules.top_p_sum = SAMPLER_SUM_EXCEEDS;
  EXPECT_EQ(order_of({1.0f, 0, 0.5f, 0.0f}, rules), "min(min(p50>+(row), row), row)");
}

}  // namespace
}  // namespace sampler::contract::filters_test
