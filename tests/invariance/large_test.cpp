// The vocabularies of language models, in random ways to put and run a problem.
#include <gtest/gtest.h>

#include "../seed.h"
#include "problem.h"
#include "run.h"
#include "variations.h"

namespace invariance_test::large_test {
namespace {

class Large : public testing::TestWithParam<Operation> {};
INSTANTIATE_TEST_SUITE_P(Operations, Large, testing::ValuesIn(operations()),
                         [](const testing::TestParamInfo<Operation> &operation) {
                           return name(operation.param);
                         });

TEST_P(Large, AllAtOnce) {
  Random random(seeded(1000 + static_cast<std::uint64_t>(GetParam())));
  const SamplerPtr one_thread = make_sampler(), two_threads = make_sampler(2);
  for (const std::size_t num_cols : {32000, 128256, 262144}) {
    const Problem problem = random_problem(GetParam(), num_cols, 3, &random);
    const Results alone = run_alone(one_thread.get(), problem);
    for (int i = 0; i < 2; ++i) {
      const Variation variation = random_variation(problem, &random);
      const Results results = run(two_threads.get(), variation.problem, variation.setting);
      for (std::size_t row = 0; row < results.size(); ++row) {
        // Not ASSERT_EQ, which would print a million numbers.
        ASSERT_TRUE(results[row] == alone[variation.order[row]])
            << "row " << row << " of " << describe(variation.problem) << "; "
            << describe(variation.setting);
      }
    }
  }
}

}  // namespace
}  // namespace invariance_test::large_test
