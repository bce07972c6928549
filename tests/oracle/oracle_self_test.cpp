// The oracle against results computed by hand or published.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "oracle.h"

namespace oracle::oracle_self_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
// A few roundings of a long double with at least 64 bits.
constexpr Real kRounding = 1e-18L;

void expect_cut(const Cut &cut, std::int64_t count) {
  EXPECT_EQ(cut.count, count);
  EXPECT_EQ(cut.lowest, count);
  EXPECT_EQ(cut.highest, count);
}

Filters top_k(std::int64_t k, Ties ties = Ties::kExact) {
  Filters filters;
  filters.top_k = k;
  filters.top_k_ties = ties;
  return filters;
}

Filters top_p(float p, Ties ties = Ties::kExact) {
  Filters filters;
  filters.top_p = p;
  filters.top_p_ties = ties;
  return filters;
}

Filters min_p(float p) {
  Filters filters;
  filters.min_p = p;
  return filters;
}

TEST(OracleTypes, F16WidensExactly) {
  EXPECT_EQ(f16_to_f32(0x3c00), 1.0F);
  EXPECT_EQ(f16_to_f32(0xc500), -5.0F);
  EXPECT_EQ(f16_to_f32(0x7bff), 65504.0F);
  EXPECT_EQ(f16_to_f32(0x0001), 0x1p-24F);
  EXPECT_EQ(f16_to_f32(0x0400), 0x1p-14F);
  EXPECT_EQ(f16_to_f32(0x7c00), kInf);
  EXPECT_TRUE(std::isnan(f16_to_f32(0x7e00)));
  EXPECT_TRUE(std::signbit(f16_to_f32(0x8000)));
}

TEST(OracleTypes, EveryFiniteSixteenBitValueSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if ((half & 0x7c00) != 0x7c00) {
      EXPECT_EQ(f32_to_f16(f16_to_f32(half)), half);
    }
    if ((half & 0x7f80) != 0x7f80) {
      EXPECT_EQ(f32_to_bf16(bf16_to_f32(half)), half);
    }
  }
}

TEST(OracleTypes, NarrowingRoundsToNearestEven) {
  EXPECT_EQ(f32_to_f16(1.0F + 0x1p-11F), 0x3c00);             // tie, to even
  EXPECT_EQ(f32_to_f16(1.0F + 0x1p-11F + 0x1p-20F), 0x3c01);  // above the tie
  EXPECT_EQ(f32_to_f16(1.0F + 3 * 0x1p-11F), 0x3c02);         // tie, to even
  EXPECT_EQ(f32_to_f16(65519.0F), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0F), 0x7c00);
  EXPECT_EQ(f32_to_f16(0x1p-25F), 0x0000);
  EXPECT_EQ(f32_to_f16(0x1.8p-25F), 0x0001);
  EXPECT_EQ(f32_to_f16(1.0F - 0x1p-13F), 0x3c00);  // carries into the next binade
  EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(kNan))));
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(kNan))));
  EXPECT_EQ(f32_to_bf16(1.0F + 0x1p-8F), 0x3f80);
  EXPECT_EQ(f32_to_bf16(1.0F + 3 * 0x1p-8F), 0x3f82);
  EXPECT_EQ(f32_to_bf16(-1.0F - 0x1.02p-8F), 0xbf81);
}

TEST(OracleRow, RankOrderIsValueThenIdAndZerosAreEqual) {
  const Row row = Row::from_logits({0.0F, 2.0F, -0.0F, -kInf, 2.0F, -1.0F});
  EXPECT_EQ(row.ids(), (std::vector<std::int32_t>{1, 4, 0, 2, 5}));
  EXPECT_EQ(row.rank_of(2), 3);
  EXPECT_EQ(row.rank_of(3), -1);
  EXPECT_EQ(row.tie_begin(3), 2);
  EXPECT_EQ(row.tie_end(2), 4);
}

TEST(OracleRow, CandidatesRankByIdWhateverTheirPlace) {
  const Row row = Row::from_candidates({70, 3, 12}, {1.0F, 1.0F, 5.0F});
  EXPECT_EQ(row.ids(), (std::vector<std::int32_t>{12, 3, 70}));
  EXPECT_EQ(row.rank_of(70), 2);
  EXPECT_EQ(row.rank_of(4), -1);
}

TEST(OracleRow, StatusesOfRowsAndParameters) {
  EXPECT_EQ(Row::from_logits({1.0F, kNan}).status(), RowStatus::kInvalid);
  EXPECT_EQ(Row::from_logits({kInf, 0.0F}).status(), RowStatus::kInvalid);
  EXPECT_EQ(Row::from_logits({-kInf, -kInf}).status(), RowStatus::kEmpty);
  EXPECT_EQ(Row::from_logits({-kInf, -3e38F}).status(), RowStatus::kOk);
  EXPECT_EQ(Row::from_probabilities({0.0F, -0.0F}).status(), RowStatus::kEmpty);
  EXPECT_EQ(Row::from_probabilities({0.5F, -1e-45F}).status(), RowStatus::kInvalid);
  EXPECT_EQ(Row::from_probabilities({0.5F, kInf}).status(), RowStatus::kInvalid);
  EXPECT_EQ(Row::from_probabilities({kNan, 0.5F}).status(), RowStatus::kInvalid);
  EXPECT_EQ(Row::for_selection({0, 1}, {1.0F, kNan}, true).status(), RowStatus::kInvalid);
  EXPECT_EQ(Row::for_selection({0, 1}, {1.0F, -1.0F}, false).status(), RowStatus::kInvalid);
  EXPECT_EQ(Row::for_selection({0, 1}, {0.0F, 0.0F}, false).status(), RowStatus::kEmpty);
  EXPECT_EQ(Row::for_selection({5, 1, 4}, {kInf, 3.0F, kInf}, true).ids(),
            (std::vector<std::int32_t>{4, 5, 1}));

  const Row row = Row::from_logits({1.0F, 2.0F});
  EXPECT_EQ(row.keep(top_p(kNan)).status, RowStatus::kInvalid);
  EXPECT_EQ(row.keep(min_p(kNan)).status, RowStatus::kInvalid);
  Filters nan_temperature;
  nan_temperature.temperature = kNan;
  EXPECT_EQ(row.keep(nan_temperature).status, RowStatus::kInvalid);
}

TEST(OracleRow, SoftmaxOfLogarithmsIsTheirArguments) {
  const Row row = Row::from_logits({0.0F, std::log(2.0F), std::log(5.0F)});
  const std::vector<Real> p = row.distribution(1.0F, 3);
  // ln 2 and ln 5 are rounded to f32, with a relative error of at most 2^-24.
  EXPECT_NEAR(static_cast<double>(p[0]), 0.625, 1e-7);
  EXPECT_NEAR(static_cast<double>(p[1]), 0.25, 1e-7);
  EXPECT_NEAR(static_cast<double>(p[2]), 0.125, 1e-7);
  const std::vector<Real> cut = row.distribution(1.0F, 2);
  EXPECT_NEAR(static_cast<double>(cut[0]), 5.0 / 7.0, 1e-7);
  EXPECT_NEAR(static_cast<double>(row.logprob(1, 1.0F, 2)), std::log(2.0 / 7.0), 1e-6);
  EXPECT_EQ(row.logprob(0, 1.0F, 2), -std::numeric_limits<Real>::infinity());
}

TEST(OracleRow, TemperatureDividesAndEndsAtTwoTo64) {
  const Row row = Row::from_logits({3.0F, 1.0F});
  const std::vector<Real> half = row.distribution(0.5F, 2);
  const std::vector<Real> doubled = Row::from_logits({6.0F, 2.0F}).distribution(1.0F, 2);
  EXPECT_NEAR(static_cast<double>(half[1] - doubled[1]), 0.0, static_cast<double>(kRounding));
  const Row far = Row::from_logits({0x1p65F, 0.0F});
  const double ratio = std::exp(-2.0);  // 2^65 / 2^64
  for (const float temperature : {0x1p64F, 0x1p100F, kInf}) {
    EXPECT_NEAR(static_cast<double>(far.distribution(temperature, 2)[1]), ratio / (1 + ratio),
                1e-16);
  }
}

TEST(OracleRow, GreedyKeepsTheFirstInRankOrder) {
  const Row row = Row::from_logits({1.0F, 4.0F, 4.0F});
  for (const float temperature : {1e-5F, 0.0F, -1.0F, -kInf}) {
    Filters filters = top_k(2, Ties::kKeep);
    filters.temperature = temperature;
    const Kept kept = row.keep(filters);
    EXPECT_TRUE(kept.greedy);
    expect_cut(kept.all, 1);
    EXPECT_EQ(row.distribution(temperature, 3), (std::vector<Real>{1, 0, 0}));
    EXPECT_EQ(row.logprob(1, temperature, 1), 0);
  }
  Filters warm;
  warm.temperature = std::nextafter(1e-5F, 1.0F);
  EXPECT_FALSE(row.keep(warm).greedy);
  // Two equal maxima share everything at any temperature.
  EXPECT_EQ(row.distribution(warm.temperature, 2), (std::vector<Real>{0.5L, 0.5L}));
}

TEST(OracleFilters, OffValuesKeepAllFiniteTokens) {
  const Row row = Row::from_logits({1.0F, -kInf, 3.0F, 2.0F});
  for (const std::int64_t k : {-5, 0, 4, 5}) expect_cut(row.keep(top_k(k)).all, 3);
  for (const float p : {1.0F, 2.0F, kInf}) expect_cut(row.keep(top_p(p)).all, 3);
  for (const float p : {0.0F, -1.0F, -kInf}) expect_cut(row.keep(min_p(p)).all, 3);
}

TEST(OracleFilters, TopKCutsTiesExactlyOrKeepsThem) {
  const Row row = Row::from_logits({1.0F, 2.0F, 2.0F, 2.0F, 3.0F});
  expect_cut(row.keep(top_k(2)).all, 2);
  expect_cut(row.keep(top_k(2, Ties::kKeep)).all, 4);
  expect_cut(row.keep(top_k(1, Ties::kKeep)).all, 1);
  expect_cut(row.keep(top_k(4, Ties::kKeep)).all, 4);
}

// Eighths are exact, so every comparison with a threshold is exact: "reaches" includes equality.
TEST(OracleFilters, TopPStopsWhereTheWeightReachesTheThreshold) {
  const Row row = Row::from_probabilities({0.125F, 0.5F, 0.25F, 0.125F});
  expect_cut(row.keep(top_p(0.5F)).all, 1);
  expect_cut(row.keep(top_p(std::nextafter(0.5F, 1.0F))).all, 2);
  expect_cut(row.keep(top_p(0.75F)).all, 2);
  expect_cut(row.keep(top_p(0.875F)).all, 3);
  expect_cut(row.keep(top_p(0.8F, Ties::kKeep)).all, 4);
  expect_cut(row.keep(top_p(1.0F - 0x1p-24F)).all, 4);
  expect_cut(row.keep(top_p(1e-7F)).all, 1);
  expect_cut(row.keep(top_p(0.0F)).all, 1);
  expect_cut(row.keep(top_p(-1.0F)).all, 1);
  EXPECT_EQ(row.keep(top_p(0.75F)).top_p.margin, 0);
  EXPECT_EQ(row.keep(top_p(0.625F)).top_p.margin, 0.125L);
}

TEST(OracleFilters, TopPIsRelativeToTheSum) {
  const Row row = Row::from_probabilities({1.0F, 4.0F, 2.0F, 1.0F});
  expect_cut(row.keep(top_p(0.75F)).all, 2);
  EXPECT_EQ(row.distribution(1.0F, 2)[0], 4 / 6.0L);
}

TEST(OracleFilters, EqualLogitsAreCutByCountingAlone) {
  const Row row = Row::from_logits(std::vector<float>(1000, -7.25F));
  expect_cut(row.keep(top_p(0.5F)).all, 500);
  expect_cut(row.keep(top_p(std::nextafter(0.5F, 1.0F))).all, 501);
  expect_cut(row.keep(top_p(0.5F, Ties::kKeep)).all, 1000);
  expect_cut(row.keep(min_p(1.0F)).all, 1000);
}

TEST(OracleFilters, MinPComparesWithTheLargest) {
  const Row row = Row::from_probabilities({0.125F, 0.5F, 0.25F, 0.125F});
  expect_cut(row.keep(min_p(0.5F)).all, 2);
  expect_cut(row.keep(min_p(std::nextafter(0.5F, 1.0F))).all, 1);
  expect_cut(row.keep(min_p(0.25F)).all, 4);
  expect_cut(row.keep(min_p(1.0F)).all, 1);
  expect_cut(row.keep(min_p(7.0F)).all, 1);
  EXPECT_EQ(row.keep(min_p(0.4F)).min_p.margin, 0.5L - 0.4F);
}

// 0.5, 0.25, 0.125, 0.125 with top-k 2: top-p's input depends on the order.
TEST(OracleFilters, OrdersDifferInWhatEachFilterSees) {
  const Row row = Row::from_probabilities({0.5F, 0.25F, 0.125F, 0.125F});
  Filters filters = top_k(2);
  filters.top_p = 0.65F;  // 0.5 / 0.75 reaches it, 0.5 / 1 does not
  expect_cut(row.keep(filters).all, 1);
  filters.filter_order = FilterOrder::kJoint;
  expect_cut(row.keep(filters).all, 2);
  filters.filter_order = FilterOrder::kMinPFirst;
  expect_cut(row.keep(filters).all, 1);

  Filters with_min_p = top_p(0.65F);
  with_min_p.min_p = 0.4F;  // leaves two tokens
  expect_cut(row.keep(with_min_p).all, 2);
  with_min_p.filter_order = FilterOrder::kMinPFirst;
  expect_cut(row.keep(with_min_p).all, 1);
}

TEST(OracleFilters, KeptTiesStayWithinWhatTheFilterBeforeKept) {
  const Row row = Row::from_probabilities({0.25F, 0.25F, 0.25F, 0.25F});
  Filters filters = top_k(3);
  filters.top_p = 0.3F;
  filters.top_p_ties = Ties::kKeep;
  expect_cut(row.keep(filters).all, 3);
  filters.filter_order = FilterOrder::kJoint;
  expect_cut(row.keep(filters).all, 3);
  EXPECT_EQ(row.keep(filters).top_p.count, 4);
}

TEST(OracleFilters, TemperatureLastShowsTheFiltersTemperatureOne) {
  // Weights 1, 1/e, 1/e^2 at T = 1 and 1, e^-4, e^-8 at T = 1/4.
  const Row row = Row::from_logits({0.0F, -1.0F, -2.0F});
  Filters filters = min_p(0.1F);
  filters.temperature = 0.25F;
  expect_cut(row.keep(filters).all, 1);
  filters.temperature_order = TemperatureOrder::kLast;
  expect_cut(row.keep(filters).all, 3);
  EXPECT_NEAR(static_cast<double>(row.distribution(0.25F, 3)[1]),
              std::exp(-4.0) / (1 + std::exp(-4.0) + std::exp(-8.0)), 1e-15);
}

// Weights 1 and 1 - 1e-9: min-p between them is within the arithmetic's error, and so is top-p of
// one half. The interval must contain both cuts, and only there.
TEST(OracleFilters, NearCutsAdmitBothSides) {
  const Row row = Row::from_logits({0.0F, -1e-9F, -20.0F});
  const Kept kept = row.keep(min_p(1.0F));
  EXPECT_EQ(kept.all.count, 1);
  EXPECT_EQ(kept.all.lowest, 1);
  EXPECT_EQ(kept.all.highest, 2);
  EXPECT_LT(kept.min_p.margin, 2e-9L);
  const Kept half = row.keep(top_p(0.5F));
  // 1 / (2 - 1e-9 + e^-20) < 0.5 by a little more than 0.25e-9: e^-20 is 2e-9.
  EXPECT_EQ(half.all.count, 2);
  EXPECT_EQ(half.all.lowest, 1);
  EXPECT_EQ(half.all.highest, 2);
  expect_cut(row.keep(top_p(0.4F)).all, 1);
  expect_cut(row.keep(top_p(0.6F)).all, 2);
}

TEST(OracleFilters, ErrorBoundGrowsWithTheDistanceAndNotWithTheWeight) {
  const Row row = Row::from_logits({0.0F, 0.0F, -1.0F, -20.0F, -200.0F});
  const Weights &weights = row.weights(1.0F);
  EXPECT_EQ(weights.error[0], 0);
  EXPECT_EQ(weights.error[1], 0);
  // d = 1.4427: t off by 1.4427 * 1.33e-7 + 2.4427 * 5.96e-8 = 3.37e-7; 1.7e-7 + 0.693 * that.
  EXPECT_NEAR(static_cast<double>(weights.error[2] / weights.weight[2]), 4.08e-7, 0.05e-7);
  EXPECT_GT(weights.error[3] / weights.weight[3], weights.error[2] / weights.weight[2]);
  EXPECT_LT(weights.error[3], weights.error[2]);
  EXPECT_LE(weights.error[4], 0x1p-44L);
}

// Random123's known-answer vectors.
TEST(OracleDraw, PhiloxMatchesThePublishedVectors) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(OracleDraw, WordsTakeTheirPlaceInKeyAndCounter) {
  const Draw draw = {0x0000000200000001U, 0x0000000400000003U, 5};
  const auto expected = philox({3, 4, 5, 2U << 24 | 6}, {1, 2});
  EXPECT_EQ(word32(draw, kResidual, 6), expected[0]);
  EXPECT_EQ(word64(draw, kResidual, 6), std::uint64_t{expected[1]} << 32 | expected[0]);
}

TEST(OracleDraw, InverseCdfRunsOverAscendingIds) {
  // Ids 0, 1, 2 with 1/8, 5/8, 1/4.
  const Row row = Row::from_probabilities({0.125F, 0.625F, 0.25F});
  const DrawTable table(row, 1.0F, 3);
  EXPECT_EQ(table.nominal(0), 0);
  EXPECT_EQ(table.nominal((std::uint64_t{1} << 61) - 1), 0);
  EXPECT_EQ(table.nominal(std::uint64_t{1} << 61), 1);
  EXPECT_EQ(table.nominal(std::uint64_t{3} << 62), 2);
  EXPECT_EQ(table.nominal(~std::uint64_t{0}), 2);
  EXPECT_TRUE(table.admits(std::uint64_t{1} << 60, 0));
  EXPECT_FALSE(table.admits(std::uint64_t{1} << 60, 1));
  EXPECT_FALSE(table.admits(std::uint64_t{1} << 60, 2));
  EXPECT_FALSE(table.admits(std::uint64_t{1} << 60, 3));

  const DrawTable cut(row, 1.0F, 2);  // 5/7 and 2/7
  EXPECT_EQ(cut.nominal(0), 1);
  EXPECT_EQ(cut.nominal(std::uint64_t{3} << 62), 2);
  EXPECT_FALSE(cut.admits(0, 0));
}

TEST(OracleDraw, GumbelTakesTheLargestScore) {
  const Draw draw = {11, 22, 33};
  const Row row = Row::from_logits({0.0F, 0.0F, 0.0F, 0.0F, 0.0F});
  // noise = -log2(-ln(1 - v)) falls as v rises: among equal logits the smallest word wins. Ids 0 ..
  // 3 share one block, id 4 has the next.
  const auto block = philox({22, 0, 33, 5U << 24}, {11, 0});
  const std::uint32_t last = philox({22, 0, 33, 5U << 24 | 1}, {11, 0})[0];
  std::int32_t expected = 0;
  std::uint32_t smallest = block[0];
  for (std::int32_t id = 1; id < 5; ++id) {
    const std::uint32_t word = id < 4 ? block[static_cast<std::size_t>(id)] : last;
    if (word < smallest) {
      smallest = word;
      expected = id;
    }
  }
  EXPECT_EQ(check_gumbel(row, 1.0F, 5, draw, expected).nominal, expected);
  EXPECT_EQ(check_gumbel(row, 1.0F, 5, draw, expected).shortfall, 0);
  const GumbelCheck other = check_gumbel(row, 1.0F, 5, draw, (expected + 1) % 5);
  EXPECT_GT(other.shortfall, other.tolerance);
}

TEST(OracleSpeculation, DocumentedExampleIsDeterministic) {
  const SpeculativeLaw law = speculate({{0, .1L, .6L, .3L}, {1, 0, 0, 0}, {.7L, .1L, .1L, .1L}},
                                       {{.1L, .2L, .3L, .4L}, {.2L, .3L, .4L, .1L}}, {2, 1});
  EXPECT_EQ(law.pass, (std::vector<Real>{1, 0}));
  EXPECT_EQ(law.emitted, (std::vector<Real>{0, 1, 0}));
  EXPECT_EQ(law.marginal[0], (Distribution{0, 0, 1, 0, 0}));
  EXPECT_EQ(law.marginal[1], (Distribution{1, 0, 0, 0, 0}));
  EXPECT_EQ(law.marginal[2], (Distribution{0, 0, 0, 0, 1}));
}

TEST(OracleSpeculation, PassChancesMultiplyAlongTheChain) {
  // Acceptance 1/2 at the first, 1/4 at the second position.
  const SpeculativeLaw law =
      speculate({{.25L, .75L}, {.125L, .875L}, {1, 0}}, {{.5L, .5L}, {.5L, .5L}}, {0, 0});
  EXPECT_EQ(law.pass, (std::vector<Real>{.5L, .25L}));
  EXPECT_EQ(law.emitted, (std::vector<Real>{.5L, .375L, .125L}));
  EXPECT_EQ(law.residual[0], (Distribution{0, 1}));
  EXPECT_EQ(law.marginal[0], (Distribution{.5L, .5L, 0}));
  EXPECT_EQ(law.marginal[1], (Distribution{.125L, .375L, .5L}));
  EXPECT_EQ(law.marginal[2], (Distribution{.125L, 0, .875L}));
}

TEST(OracleSpeculation, DraftsFromTheDraftModelLeaveTheTargetLaw) {
  const Distribution p = {.1L, .2L, .7L};
  const Distribution q = {.5L, .3L, .2L};
  Distribution mixed(3, 0);
  for (std::size_t x = 0; x < 3; ++x) {
    const SpeculativeLaw law = speculate({p, p}, {q}, {static_cast<std::int64_t>(x)});
    for (std::size_t i = 0; i < 3; ++i) mixed[i] += q[x] * law.marginal[0][i];
  }
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(static_cast<double>(mixed[i]), static_cast<double>(p[i]), 1e-17);
  }
}

TEST(OracleSpeculation, DeterministicAndUnknownDraftsAndZeroResiduals) {
  // Without draft rows: accepted with p(x), residual p without x.
  const SpeculativeLaw sure = speculate({{.5L, .25L, .25L}, {1, 0, 0}}, {}, {0});
  EXPECT_EQ(sure.pass, (std::vector<Real>{.5L}));
  EXPECT_EQ(sure.residual[0], (Distribution{0, .5L, .5L}));
  // An id outside the row is never accepted, and the residual is p.
  for (const std::int64_t id : {std::int64_t{-1}, std::int64_t{3}, std::int64_t{1} << 40}) {
    const SpeculativeLaw unknown = speculate({{.5L, .25L, .25L}, {1, 0, 0}}, {{0, 0, 1}}, {id});
    EXPECT_EQ(unknown.pass, (std::vector<Real>{0}));
    EXPECT_EQ(unknown.residual[0], (Distribution{.5L, .25L, .25L}));
  }
  // p <= q everywhere: p again.
  const SpeculativeLaw zero = speculate({{.25L, .25L}, {1, 0}}, {{.5L, .5L}}, {1});
  EXPECT_EQ(zero.residual[0], (Distribution{.5L, .5L}));
  // q(x) = 0 < p(x) is accepted.
  EXPECT_EQ(speculate({{.5L, .5L}, {1, 0}}, {{1, 0}}, {1}).pass[0], 1);
}

}  // namespace
}  // namespace oracle::oracle_self_test
