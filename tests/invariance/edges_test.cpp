// Rows and words on the very edge of a decision, where random ones never lie: which side they fall
// on follows from exact arithmetic.
#include <gtest/gtest.h>

#include <cmath>

#include "oracle.h"
#include "problem.h"
#include "run.h"

namespace invariance_test::edges_test {
namespace {

Problem sample_problem(sampler_input_kind kind, const std::vector<float> &values) {
  Problem problem;
  problem.kind = kind;
  problem.num_cols = problem.vocabulary = static_cast<std::int64_t>(values.size());
  problem.rows.resize(1);
  problem.rows[0].target = {{values, {}}};
  return problem;
}

// A result of sampler_sample is status, token, kept count.
std::int32_t kept_count(const Problem &problem) {
  const SamplerPtr sampler = make_sampler();
  const RowResult result = run(sampler.get(), problem).at(0);
  EXPECT_EQ(status_of(result), SAMPLER_ROW_OK);
  return static_cast<std::int32_t>(result.at(2));
}

std::int32_t kept_by_top_p(const std::vector<float> &probabilities, float top_p,
                           sampler_sum_rule sum = SAMPLER_SUM_REACHES) {
  Problem problem = sample_problem(SAMPLER_PROBABILITIES, probabilities);
  problem.rows[0].top_p = top_p;
  problem.top_p_sum = sum;
  return kept_count(problem);
}

std::int32_t kept_by_min_p(const std::vector<float> &probabilities, float min_p) {
  Problem problem = sample_problem(SAMPLER_PROBABILITIES, probabilities);
  problem.rows[0].min_p = min_p;
  return kept_count(problem);
}

TEST(Edges, TopPIsReachedByExactlyItsShare) {
  EXPECT_EQ(kept_by_top_p({0.5f, 0.25f, 0.25f}, 0.5f), 1);
  EXPECT_EQ(kept_by_top_p({0.5f, 0.25f, 0.25f}, std::nextafter(0.5f, 1.0f)), 2);
  EXPECT_EQ(kept_by_top_p({0.5f, 0.25f, 0.25f}, 0.75f), 2);
  EXPECT_EQ(kept_by_top_p({0.5f, 0.25f, 0.25f}, std::nextafter(0.75f, 1.0f)), 3);
}

TEST(Edges, TopPExceedsItsShare) {
  const auto kept = [](const std::vector<float> &probabilities, float top_p) {
    return kept_by_top_p(probabilities, top_p, SAMPLER_SUM_EXCEEDS);
  };
  const std::vector<float> halves = {0.5f, 0.25f, 0.125f, 0.125f};
  EXPECT_EQ(kept(halves, 0.5f), 2);
  EXPECT_EQ(kept(halves, 0.75f), 3);
  EXPECT_EQ(kept(halves, std::nextafter(0.75f, 0.0f)), 2);
  EXPECT_EQ(kept(halves, std::nextafter(1.0f, 0.0f)), 4);
  EXPECT_EQ(kept(halves, 0.0f), 1);
  EXPECT_EQ(kept(halves, -1.0f), 1);
  EXPECT_EQ(kept({1.0f, 1.0f}, 0.5f), 2);
  EXPECT_EQ(kept({1.0f, 1.0f, 0x1p-44f}, 0.5f), 2);
}

// 64 tokens of one logit, among others that weigh nothing or cannot be drawn, so that each of their
// sums is exact: in every order of the filters, of rows short and long, and of candidates.
TEST(Edges, TopPOfLogitsIsCutAtAnExactSum) {
  struct Case {
    std::int64_t num_cols;
    float others;
    bool has_candidates;
  };
  const Case cases[] = {{64, 0.0f, false},       {500, -INFINITY, false},  {500, -100.0f, true},
                        {3000, -100.0f, false},  {9000, -INFINITY, false}, {9000, -100.0f, false},
                        {70000, -100.0f, false}, {70000, -100.0f, true}};
  const SamplerPtr sampler = make_sampler();
  for (const Case &tested : cases) {
    std::vector<float> logits(static_cast<std::size_t>(tested.num_cols), tested.others);
    for (std::size_t i = 0; i < 64; ++i) logits[i * 1237 % logits.size()] = 0.0f;
    Problem problem = sample_problem(SAMPLER_LOGITS, logits);
    problem.has_candidates = tested.has_candidates;
    for (std::int32_t id = 0; tested.has_candidates && id < tested.num_cols; ++id) {
      problem.rows[0].target[0].ids.push_back(id);
    }
    RowInput &row = problem.rows[0];
    row.top_p = 0.25f;
    for (const sampler_sum_rule sum : {SAMPLER_SUM_REACHES, SAMPLER_SUM_EXCEEDS}) {
      problem.top_p_sum = sum;
      const auto more = static_cast<std::uint32_t>(sum);
      const auto expect = [&](sampler_filter_order order, std::int32_t top_k, float min_p,
                              sampler_tie_rule ties, std::uint32_t expected) {
        problem.filter_order = order;
        problem.top_p_ties = ties;
        row.top_k = top_k;
        row.min_p = min_p;
        EXPECT_EQ(run(sampler.get(), problem).at(0).at(2), expected) << describe(problem);
      };
      expect(SAMPLER_FILTERS_SEQUENTIAL, 0, 0.0f, SAMPLER_TIES_EXACT, 16 + more);
      expect(SAMPLER_FILTERS_SEQUENTIAL, 0, 0.0f, SAMPLER_TIES_KEEP, 64);
      expect(SAMPLER_FILTERS_SEQUENTIAL, 32, 0.5f, SAMPLER_TIES_EXACT, 8 + more);
      expect(SAMPLER_FILTERS_JOINT, 32, 0.5f, SAMPLER_TIES_EXACT, 16 + more);
      expect(SAMPLER_FILTERS_MIN_P_FIRST, 0, 0.5f, SAMPLER_TIES_EXACT, 16 + more);
    }
  }
}

// One unit of weight, 2^-44 of the largest, decides: half of 2 + 2^-44 is more than 1.
TEST(Edges, TopPOfAnOddWeightRoundsUp) {
  EXPECT_EQ(kept_by_top_p({1.0f, 1.0f}, 0.5f), 1);
  EXPECT_EQ(kept_by_top_p({1.0f, 1.0f, 0x1p-44f}, 0.5f), 2);
}

TEST(Edges, MinPRoundsUp) {
  EXPECT_EQ(kept_by_min_p({1.0f, 0x1p-44f}, 0x1p-44f), 2);
  EXPECT_EQ(kept_by_min_p({1.0f, 0x1p-44f}, 0x1.8p-44f), 1);
  EXPECT_EQ(kept_by_min_p({1.0f, 0.5f}, 0.5f), 2);
  EXPECT_EQ(kept_by_min_p({1.0f, 0.5f}, std::nextafter(0.5f, 1.0f)), 1);
}

TEST(Edges, MinusZeroEqualsZero) {
  for (const std::vector<float> &zeros : {std::vector<float>{-0.0f, 0.0f}, {0.0f, -0.0f}}) {
    Problem problem = sample_problem(SAMPLER_LOGITS, zeros);
    problem.rows[0].temperature = 0.0f;
    const SamplerPtr sampler = make_sampler();
    EXPECT_EQ(run(sampler.get(), problem).at(0).at(1), 0U);
  }
}

TEST(Edges, GreedyUpToOneHundredThousandth) {
  Problem problem = sample_problem(SAMPLER_LOGITS, {0.0f, -1e-6f});
  problem.rows[0].temperature = 1e-5f;
  EXPECT_EQ(kept_count(problem), 1);
  problem.rows[0].temperature = std::nextafter(1e-5f, 1.0f);
  EXPECT_EQ(kept_count(problem), 2);
}

// A draft of target probability 0 is rejected by the smallest of all words too: 0 < 0 is false.
TEST(Edges, ImpossibleDraftIsNeverAccepted) {
  constexpr std::uint64_t kSeed = 153228676;  // found by search
  ASSERT_LT(oracle::word32({kSeed, 0, 0}, oracle::kAccept, 0), 8U);
  Problem problem;
  problem.operation = Operation::kVerify;
  problem.kind = problem.draft_kind = SAMPLER_PROBABILITIES;
  problem.num_cols = problem.vocabulary = 2;
  problem.num_drafts = 1;
  problem.rows.resize(1);
  RowInput &row = problem.rows[0];
  row.target = {{{0.0f, 1.0f}, {}}, {{0.5f, 0.5f}, {}}};
  row.draft = {{{1.0f, 0.0f}, {}}};
  row.draft_ids = {0};
  row.draft_count = 1;
  row.seed = kSeed;
  const SamplerPtr sampler = make_sampler();
  RowResult result = run(sampler.get(), problem).at(0);
  EXPECT_EQ(result.at(1), 1U);
  // The word accepts whatever is possible at all.
  row.target[0].values = {0x1p-29f, 1 - 0x1p-24f};
  result = run(sampler.get(), problem).at(0);
  EXPECT_EQ(result.at(1), 0U);
}

}  // namespace
}  // namespace invariance_test::edges_test
