// Verifications of every rule, laid out in every way, against what a walk over the same rows gives
// that is made of sampler_sample, sampler_filter and the oracle's random words.
#include "walk.h"

#include <gtest/gtest.h>

#include "handles.h"
#include "random_problem.h"

namespace verification_test::walk_test {
namespace {

using pipeline_test::Handles;

#if defined(__SANITIZE_ADDRESS__) || defined(__aarch64__)
constexpr std::uint64_t kDear = 6;
#else
constexpr std::uint64_t kDear = 1;
#endif

void compare(const Kind &kind, std::uint64_t num_problems, std::uint64_t first_seed) {
  const Handles handles;
  int num_sequences = 0, num_uncertain = 0, num_kept = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + num_problems / kDear; ++seed) {
    Random random(seed);
    const Problem problem = random_problem(&random, kind);
    const Layout layout = random_layout(&random, problem);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(problem, layout));
    const auto simd = verify(handles.simd.get(), problem, layout);
    const auto reference = verify(handles.reference.get(), problem, layout);
    for (std::int64_t s = 0; s < problem.num_sequences(); ++s) {
      ASSERT_EQ(difference(reference[at(s)], simd[at(s)]), "") << "SIMD, sequence " << s;
      const Expectation expected = expect(handles.reference.get(), problem, s);
      ++num_sequences;
      num_uncertain += expected.is_uncertain;
      num_kept += expected.outcome.at("emitted")[0] > 0;
      if (expected.is_uncertain) continue;
      ASSERT_EQ(difference(expected.outcome, reference[at(s)]), "") << "sequence " << s;
    }
    ASSERT_FALSE(testing::Test::HasFailure());
  }
  EXPECT_LT(num_uncertain * 8, num_sequences) << "too few could be compared";
  if (kind.rule == SAMPLER_ACCEPT_STANDARD && !kind.is_tree) {
    EXPECT_EQ(num_uncertain, 0);
  }
  EXPECT_GT(num_kept * 12, num_sequences) << "too few drafts were accepted to tell much";
}

std::string name_of(sampler_acceptance rule) {
  const char *const names[] = {"Standard", "Block",     "SampleMatch", "Typical",
                               "Relaxed",  "Threshold", "Deferred",    "Synthetic"};
  return names[rule - 1];
}

class Rule : public testing::TestWithParam<sampler_acceptance> {
 protected:
  Kind kind(bool is_tree, bool has_stages, bool has_reports) const {
    Kind kind;
    kind.rule = GetParam();
    kind.is_tree = is_tree;
    kind.has_stages = has_stages;
    kind.has_reports = has_reports;
    kind.has_bad_ids = !has_stages;
    return kind;
  }
  static bool has_trees() {
    return GetParam() != SAMPLER_ACCEPT_BLOCK && GetParam() != SAMPLER_ACCEPT_DEFERRED;
  }
};

TEST_P(Rule, OfChains) {
  compare(kind(false, false, false), 400, 1000);
}

TEST_P(Rule, OfChainsWithReports) {
  compare(kind(false, false, true), 150, 2000);
}

TEST_P(Rule, OfChainsWithStages) {
  compare(kind(false, true, true), 150, 3000);
}

TEST_P(Rule, OfLargeRows) {
  Kind large = kind(has_trees(), false, true);
  large.is_large = true;
  compare(large, 20, 4000);
  large = kind(has_trees(), true, true);
  large.is_large = true;
  compare(large, 20, 5000);
}

TEST_P(Rule, OfTrees) {
  if (!has_trees()) return;  // refused, which another test sees
  compare(kind(true, false, false), 400, 6000);
}

TEST_P(Rule, OfTreesWithStages) {
  if (!has_trees()) return;
  compare(kind(true, true, true), 150, 7000);
}

TEST_P(Rule, OfForcedTokens) {
  for (const bool is_tree : {false, true}) {
    if (is_tree && !has_trees()) continue;
    for (const bool has_stages : {false, true}) {
      Kind forced = kind(is_tree, has_stages, true);
      forced.has_forced_tokens = true;
      compare(forced, 25, 8000);
    }
  }
}

std::string name_of_case(const testing::TestParamInfo<sampler_acceptance> &which) {
  return name_of(which.param);
}
INSTANTIATE_TEST_SUITE_P(Walk, Rule, testing::Range(1, 9), name_of_case);

}  // namespace
}  // namespace verification_test::walk_test
