// Different operations that are asked for the same thing do the same, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "problem.h"
#include "run.h"

namespace invariance_test {
namespace {

constexpr std::size_t kNumRows = 12;
const std::vector<std::size_t> kWidths = {1, 2, 33, 257};

class Agreement : public testing::Test {
 protected:
  // Problems of sampler_sample: it has every parameter.
  void for_each_problem(std::uint64_t seed, const std::function<void(Problem)> &work) {
    Random random(seed);
    for (const std::size_t num_cols : kWidths) {
      for (int i = 0; i < 8; ++i) {
        work(random_problem(SAMPLER_OP_SAMPLE, num_cols, kNumRows, &random));
        if (HasFatalFailure()) return;
      }
    }
  }

  Results results(Problem problem, sampler_operation operation) {
    problem.operation = operation;
    return run(sampler_.get(), problem);
  }

  // Results of `other` begin with those of `operation`.
  void expect_prefix(const Problem &problem, sampler_operation operation, sampler_operation other,
                     std::size_t length = SIZE_MAX) {
    const Results a = results(problem, operation), b = results(problem, other);
    for (std::size_t i = 0; i < kNumRows; ++i) {
      const std::size_t n = std::min({a[i].size(), b[i].size(), length});
      ASSERT_GE(n, 2U);
      ASSERT_EQ(RowResult(a[i].begin(), a[i].begin() + static_cast<std::ptrdiff_t>(n)),
                RowResult(b[i].begin(), b[i].begin() + static_cast<std::ptrdiff_t>(n)))
          << "row " << i << " of " << describe(problem) << ", " << name(operation) << " and "
          << name(other);
    }
  }

  SamplerPtr sampler_ = make_sampler();
};

enum Filter { kTopK = 1, kTopP = 2, kMinP = 4 };

// Turns the other filters off, and with them the options that only sampler_sample has.
Problem only(Problem problem, int filters) {
  for (RowInput &row : problem.rows) {
    if (!(filters & kTopK)) row.top_k = 0;
    if (!(filters & kTopP)) row.top_p = 1.0f;
    if (!(filters & kMinP)) row.min_p = 0.0f;
  }
  return problem;
}

TEST_F(Agreement, OneFilterAsASampleWithoutTheOthers) {
  for_each_problem(1, [&](const Problem &problem) {
    expect_prefix(only(problem, kTopK), SAMPLER_OP_TOP_K, SAMPLER_OP_SAMPLE);
    expect_prefix(only(problem, kTopP), SAMPLER_OP_TOP_P, SAMPLER_OP_SAMPLE);
    expect_prefix(only(problem, kMinP), SAMPLER_OP_MIN_P, SAMPLER_OP_SAMPLE);
    expect_prefix(only(problem, kTopK | kTopP), SAMPLER_OP_TOP_K_TOP_P, SAMPLER_OP_SAMPLE);
  });
}

TEST_F(Agreement, ArgmaxAsAGreedySample) {
  for_each_problem(2, [&](Problem problem) {
    for (RowInput &row : problem.rows) row.temperature = 0.0f;
    expect_prefix(problem, SAMPLER_OP_ARGMAX, SAMPLER_OP_SAMPLE, 2);  // status and token
  });
}

TEST_F(Agreement, FirstSelectedAsArgmax) {
  for_each_problem(3, [&](const Problem &problem) {
    const Results argmax = results(problem, SAMPLER_OP_ARGMAX);
    const Results selected = results(problem, SAMPLER_OP_TOP_K_SELECT);
    for (std::size_t i = 0; i < kNumRows; ++i) {
      ASSERT_EQ(status_of(selected[i]), status_of(argmax[i]));
      ASSERT_EQ(selected[i][1], argmax[i][1]) << "row " << i << " of " << describe(problem);
    }
  });
}

TEST_F(Agreement, RenormWithoutAFilterAsSoftmax) {
  for_each_problem(4, [&](Problem problem) {
    problem = only(problem, 0);
    problem.kind = SAMPLER_LOGITS;  // probabilities serve as well
    expect_prefix(problem, SAMPLER_OP_SOFTMAX, SAMPLER_OP_TOP_K_RENORM);
    expect_prefix(problem, SAMPLER_OP_SOFTMAX, SAMPLER_OP_TOP_P_RENORM);
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
    problem.kind = SAMPLER_LOGITS;
    problem.output_dtype = SAMPLER_F32;
    problem = only(problem, kTopK);
    const Results expected = results(problem, SAMPLER_OP_TOP_K);
    const Problem masked = fed_with(problem, results(problem, SAMPLER_OP_TOP_K_MASK));
    const Results sampled = results(only(masked, 0), SAMPLER_OP_TOP_K);
    for (std::size_t i = 0; i < kNumRows; ++i) {
      ASSERT_EQ(sampled[i], expected[i]) << "row " << i << " of " << describe(problem);
    }
  });
}

TEST_F(Agreement, SelectedTokensAsKeptByTheMask) {
  for_each_problem(6, [&](Problem problem) {
    problem.kind = SAMPLER_LOGITS;
    problem.output_dtype = SAMPLER_F32;
    problem.top_k_ties = SAMPLER_TIES_EXACT;
    problem.num_selected = problem.num_cols;
    const Results masked = results(problem, SAMPLER_OP_TOP_K_MASK);
    const Results selected = results(problem, SAMPLER_OP_TOP_K_SELECT);
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
  Random random(7);
  std::size_t num_compared = 0;
  for (const std::size_t num_cols : kWidths) {
    for (int repetition = 0; repetition < 12; ++repetition) {
      Problem problem = random_problem(SAMPLER_OP_RESIDUAL, num_cols, kNumRows, &random);
      problem.output_dtype = SAMPLER_F32;
      const Results residuals = results(problem, SAMPLER_OP_RESIDUAL);
      Problem renorm = problem;
      renorm.dtype = SAMPLER_F32;
      renorm.num_drafts = 0;
      for (RowInput &row : renorm.rows) {
        row = {{residual_of(row)}, {}, {}};
      }
      const Results expected = results(renorm, SAMPLER_OP_TOP_P_RENORM);
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
}  // namespace invariance_test
