// Rows wide enough for kernels of their own, in calls with every rule: a device and the CPU agree.
#include <gtest/gtest.h>

#include "../../seed.h"
#include "handles.h"
#include "problem.h"
#include "run.h"
#include "variations.h"

namespace {

using namespace invariance_test;

class WideRows : public testing::TestWithParam<Operation>, protected simt_test::Handles {};
INSTANTIATE_TEST_SUITE_P(Operations, WideRows, testing::ValuesIn(operations()),
                         [](const testing::TestParamInfo<Operation> &operation) {
                           return name(operation.param);
                         });

// The same parameters in all rows, most often one filter or none, as engines ask.
void simplify(Problem *problem, Random *random) {
  const bool is_given =
      problem->kind == SAMPLER_PROBABILITIES || problem->draft_kind == SAMPLER_PROBABILITIES;
  const std::vector<float> temperatures = {0.0f, 0.7f, 1.5f, 1.0f, 1.0f};
  RowInput all;
  all.temperature = is_given ? 1.0f : random->pick(temperatures);
  all.top_k = 0;
  all.top_p = 1.0f;
  all.min_p = 0.0f;
  const std::uint64_t kind = takes_filters(*problem) ? random->below(7) : 0;
  if (kind == 1 || kind > 3) all.top_k = random->below(2) == 0 ? 50 : 700;
  if (kind == 2 || kind > 4) all.top_p = 0.9f;
  if (kind == 3 || kind > 5) all.min_p = 0.1f;
  for (RowInput &row : problem->rows) {
    row.temperature = all.temperature;
    row.top_k = all.top_k;
    row.top_p = all.top_p;
    row.min_p = all.min_p;
  }
}

TEST_P(WideRows, EqualTheCpu) {
  Random random(seeded(7000 + static_cast<std::uint64_t>(GetParam())));
  for (int i = 0; i < 48; ++i) {
    const std::size_t num_cols = 8150 + random.below(i % 4 == 0 ? 20000 : 1000);
    Problem problem = random_problem(GetParam(), num_cols, 4, &random);
    Setting setting = random_setting(&random);
    setting.has_scalar_parameters = i % 2 == 0;
    setting.has_optional_outputs = random.below(2) == 0;
    if (setting.has_scalar_parameters) simplify(&problem, &random);
    const Results expected = run(cpu_.get(), problem, setting);
    const Results actual = run(device_.get(), problem, setting);
    ASSERT_EQ(expected.size(), actual.size());
    for (std::size_t row = 0; row < expected.size(); ++row) {
      ASSERT_TRUE(expected[row] == actual[row])
          << "row " << row << " of " << describe(problem) << "; " << describe(setting);
    }
  }
}

}  // namespace
