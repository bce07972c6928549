// Rows and words on the very edge of a decision, where random ones never lie: which side they fall
// on follows from exact arithmetic.
#include <gtest/gtest.h>

#include <cmath>

#include "oracle.h"
#include "problem.h"
#include "run.h"

namespace invariance_test {
namespace {

Problem sample_problem(sampler_input_kind kind, const std::vector<float> &values) {
  Problem problem;
  problem.kind = kind;
  problem.num_cols = problem.vocabulary = static_cast<std::int64_t>(values.size());
  problem.rows.resize(1);
  problem.rows[0].target = {{values, {}}};
  return problem;
}

// Of sampler_sample: status, token, kept count.
std::int32_t kept_count(const Problem &problem) {
  const SamplerPtr sampler = make_sampler();
  const RowResult result = run(sampler.get(), problem).at(0);
  EXPECT_EQ(status_of(result), SAMPLER_ROW_OK);
  return static_cast<std::int32_t>(result.at(2));
}

std::int32_t kept_by_top_p(const std::vector<float> &probabilities, float top_p) {
  Problem problem = sample_problem(SAMPLER_PROBABILITIES, probabilities);
  problem.rows[0].top_p = top_p;
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
}  // namespace invariance_test
