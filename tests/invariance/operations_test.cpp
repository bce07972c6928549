// Different operations that are asked for the same thing do the same, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "../seed.h"
#include "problem.h"
#include "run.h"

namespace invariance_test::operations_test {
namespace {

constexpr std::size_t kNumRows = 12;
const std::vector<std::size_t> kWidths = {1, 2, 33, 257};

class Agreement : public testing::Test {
 protected:
  // Problems of sampler_sample: it has every parameter.
  void for_each_problem(std::uint64_t seed, const std::function<void(Problem)> &work) {
    Random random(seeded(seed));
    for (const std::size_t num_cols : kWidths) {
      for (int i = 0; i < 8; ++i) {
        work(random_problem(Operation::kSample, num_cols, kNumRows, &random));
        if (HasFatalFailure()) return;
      }
    }
  }

  Results results(Problem problem, Operation operation) {
    problem.operation = operation;
    return run(sampler_.get(), problem);
  }

  SamplerPtr sampler_ = make_sampler();
};

// Rows with this filter alone, at temperature 1.
Problem with_top_k_alone(Problem problem) {
  for (RowInput &row : problem.rows) {
    row.temperature = 1.0f;
    row.top_p = 1.0f;
    row.min_p = 0.0f;
  }
  return problem;
}

// Only selection takes it for a value.
bool has_infinity(const RowInput &row) {
  const std::vector<float> &values = row.target[0].values;
  return std::find(values.begin(), values.end(), HUGE_VALF) != values.end();
}

TEST_F(Agreement, FirstSelectedAsGreedy) {
  for_each_problem(3, [&](Problem problem) {
    const Results selected = results(problem, Operation::kSelect);
    for (RowInput &row : problem.rows) {
      row = {row.target, {}, {}};
      row.temperature = 0.0f;
    }
    const Results greedy = results(problem, Operation::kSample);
    for (std::size_t i = 0; i < kNumRows; ++i) {
      if (has_infinity(problem.rows[i])) continue;
      ASSERT_EQ(status_of(selected[i]), status_of(greedy[i]));
      ASSERT_EQ(selected[i][1], greedy[i][1]) << "row " << i << " of " << describe(problem);
    }
  });
}

// The rows of an operation's output as the next one's input.
Problem fed_with(Problem problem, const Results &rows) {
  problem.dtype = SAMPLER_F32;
  for (std::size_t i = 0; i < kNumRows; ++i) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(problem.num_cols); ++j) {
      const auto bits = static_cast<std::uint32_t>(rows[i][1 + j]);
      std::memcpy(&problem.rows[i].target[0].values[j], &bits, sizeof bits);
    }
  }
  return problem;
}

TEST_F(Agreement, SampleOfAMaskedRowAsTopK) {
  for_each_problem(5, [&](Problem problem) {
    problem = with_top_k_alone(problem);
    problem.kind = SAMPLER_LOGITS;
    problem.logprob_kind = SAMPLER_LOGPROB_PROCESSED;
    problem.output_dtype = SAMPLER_F32;
    problem.output_kind = SAMPLER_OUTPUT_VALUES;
    const Results expected = results(problem, Operation::kSample);
    Problem masked = fed_with(problem, results(problem, Operation::kFilter));
    for (RowInput &row : masked.rows) row.top_k = 0;
    const Results sampled = results(masked, Operation::kSample);
    for (std::size_t i = 0; i < kNumRows; ++i) {
      ASSERT_EQ(sampled[i], expected[i]) << "row " << i << " of " << describe(problem);
    }
  });
}

TEST_F(Agreement, SelectedTokensAsKeptByTheMask) {
  for_each_problem(6, [&](Problem problem) {
    problem = with_top_k_alone(problem);
    problem.kind = SAMPLER_LOGITS;
    problem.output_dtype = SAMPLER_F32;
    problem.output_kind = SAMPLER_OUTPUT_VALUES;
    problem.top_k_ties = SAMPLER_TIES_EXACT;
    problem.num_selected = problem.num_cols;
    const Results masked = results(problem, Operation::kFilter);
    const Results selected = results(problem, Operation::kSelect);
    const std::uint64_t nothing = 0xFF800000u;  // -inf
    for (std::size_t i = 0; i < kNumRows; ++i) {
      if (status_of(masked[i]) != SAMPLER_ROW_OK) continue;
      const auto n = static_cast<std::size_t>(problem.num_cols);
      RowResult from_selection(n, nothing);
      for (std::size_t j = 0; j < n; ++j) {
        const auto id = static_cast<std::int64_t>(selected[i][1 + j]);
        if (id >= 0) from_selection.at(static_cast<std::size_t>(id)) = selected[i].at(1 + n + j);
      }
      ASSERT_EQ(from_selection, RowResult(masked[i].begin() + 1,
                                          masked[i].begin() + 1 + static_cast<std::ptrdiff_t>(n)))
          << "row " << i << " of " << describe(problem);
    }
  });
}

// max(p - q, 0) elementwise, where that is not 0 everywhere.
Values residual_of(const RowInput &row) {
  Values result = row.target[0];
  const bool has_draft = !row.draft.empty();
  bool is_zero = true;
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    float &p = result.values[i];
    const bool removed = !has_draft && static_cast<std::int64_t>(i) == row.draft_ids[0];
    p = removed ? 0.0f : std::max(p - (has_draft ? row.draft[0].values[i] : 0.0f), 0.0f);
    is_zero = is_zero && p == 0.0f;
  }
  return is_zero ? row.target[0] : result;
}

TEST_F(Agreement, ResidualAsTheRenormOfTheDifference) {
  Random random(seeded(7));
  std::size_t num_compared = 0;
  for (const std::size_t num_cols : kWidths) {
    for (int repetition = 0; repetition < 12; ++repetition) {
      Problem problem = random_problem(Operation::kResidual, num_cols, kNumRows, &random);
      problem.output_dtype = SAMPLER_F32;
      const Results residuals = results(problem, Operation::kResidual);
      Problem renorm = problem;
      renorm.dtype = SAMPLER_F32;
      renorm.num_drafts = 0;
      for (RowInput &row : renorm.rows) {
        row = {{residual_of(row)}, {}, {}};
      }
      const Results expected = results(renorm, Operation::kFilter);
      for (std::size_t i = 0; i < kNumRows; ++i) {
        const auto invalid_draft = static_cast<std::uint64_t>(SAMPLER_ROW_INVALID_DRAFT);
        if ((status_of(residuals[i]) & ~invalid_draft) != SAMPLER_ROW_OK) continue;
        ++num_compared;
        const auto end = static_cast<std::ptrdiff_t>(1 + num_cols);
        ASSERT_EQ(RowResult(residuals[i].begin() + 1, residuals[i].begin() + end),
                  RowResult(expected[i].begin() + 1, expected[i].begin() + end))
            << "row " << i << " of " << describe(problem);
      }
    }
  }
  EXPECT_GT(num_compared, 300U);
}

}  // namespace
}  // namespace invariance_test::operations_test
