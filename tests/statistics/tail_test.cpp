// Tokens far below what a uniform number of 24 or 32 bits resolves are drawn at their true rate.
#include <gtest/gtest.h>

#include <cmath>

#include "source.h"

namespace statistics_test::tail_test {
namespace {

constexpr std::size_t kNumTail = 1 << 18;
constexpr std::size_t kBig = kNumTail / 2;  // element of the one likely token
constexpr std::uint64_t kNumDraws = 30'000'000;

// One token of relative probability 1 among kNumTail of 2^-exponent.
Source tail_source(sampler_input_kind kind, int exponent) {
  constexpr double kSum = 5.0;  // probabilities need not be normalised
  Source source;
  source.kind = kind;
  const double rare =
      kind == SAMPLER_LOGITS ? -exponent * std::log(2.0) : std::ldexp(kSum, -exponent);
  source.values.assign(kNumTail + 1, static_cast<float>(rare));
  source.values[kBig] = static_cast<float>(kind == SAMPLER_LOGITS ? 0.0 : kSum);
  return source;
}

// Which of `num_bins` bins an element of the tail belongs to; the last bin is the likely token's.
template <class BinOf>
Counts binned(const Counts &counts, std::size_t num_bins, const BinOf &bin_of) {
  Counts bins(num_bins + 1);
  for (std::size_t i = 0; i < counts.size(); ++i)
    bins[i == kBig ? num_bins : bin_of(i)] += counts[i];
  return bins;
}

template <class BinOf>
Probabilities binned(const Probabilities &p, std::size_t num_bins, const BinOf &bin_of) {
  Probabilities bins(num_bins + 1);
  for (std::size_t i = 0; i < p.size(); ++i) bins[i == kBig ? num_bins : bin_of(i)] += p[i];
  return bins;
}

std::size_t num_distinct_in_tail(const Counts &counts) {
  std::size_t distinct = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) distinct += i != kBig && counts[i] != 0;
  return distinct;
}

class Tail : public testing::TestWithParam<sampler_input_kind> {};
INSTANTIATE_TEST_SUITE_P(Inputs, Tail, testing::Values(SAMPLER_LOGITS, SAMPLER_PROBABILITIES),
                         [](const testing::TestParamInfo<sampler_input_kind> &kind) {
                           return kind.param == SAMPLER_LOGITS ? "Logits" : "Probabilities";
                         });

// 2^18 tokens of 2^-30 together have 2^-12: 7,300 draws. The check finds a bias of the whole tail
// of 8 % with chance kPower. A 24-bit uniform number has 2^12 values there and could draw no more
// than 2^12 of the tokens; the true number is 7,300 less about 100 drawn twice.
TEST_P(Tail, OneInABillion) {
  const Source source = tail_source(GetParam(), 30);
  const Probabilities expected = expected_probabilities(source);
  const Counts counts = draw_counts(source, kNumDraws, 0x7A11'0001);
  const auto whole = [](std::size_t) { return std::size_t{0}; };
  const auto by_range = [](std::size_t i) { return i * 64 / (kNumTail + 1); };
  ASSERT_GE(power_against_bias(kNumDraws, 0x1p-12, -0.08, 2), kPower);
  EXPECT_EQ(frequency_fault(binned(counts, 1, whole), binned(expected, 1, whole)), "");
  EXPECT_EQ(frequency_fault(binned(counts, 64, by_range), binned(expected, 64, by_range)), "");

  // Tokens drawn k times at a rate of 0.028 each: Poisson. The deviation of their number given the
  // number of draws is below 11, hence 60.
  const double num_tail_draws = static_cast<double>(binned(counts, 1, whole)[0]);
  const double distinct = kNumTail * (1 - std::exp(-num_tail_draws / kNumTail));
  EXPECT_NEAR(static_cast<double>(num_distinct_in_tail(counts)), distinct, 60);
}

// 2^18 tokens of 2^-36 together have 2^-18: 114 draws. A 32-bit uniform number has 2^14 values
// there, so it would draw one element in 16 and no other.
TEST_P(Tail, BelowThirtyTwoBits) {
  const Source source = tail_source(GetParam(), 36);
  const Counts counts = draw_counts(source, kNumDraws, 0x7A11'0002);
  const auto modulo = [](std::size_t i) { return (i - (i > kBig)) % 16; };
  Counts residues = binned(counts, 16, modulo);
  residues.pop_back();
  std::uint64_t num_tail_draws = 0;
  for (const std::uint64_t count : residues) num_tail_draws += count;
  const double expected = static_cast<double>(kNumDraws) * 0x1p-18;
  EXPECT_NEAR(static_cast<double>(num_tail_draws), expected, 5 * std::sqrt(expected));
  // Seven expected in each: one alone never has more than 30 (chance 1e-10), let alone all.
  for (const std::uint64_t count : residues) EXPECT_LE(count, 30U);
}

}  // namespace
}  // namespace statistics_test::tail_test
