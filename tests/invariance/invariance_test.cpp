// What must not change a row's outputs, in every operation: bit for bit.
//
// Each case takes problems of every kind of row, hard ones and bad ones among them, computes every
// row in a call of its own, and then computes them in the other way that the case is about.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "problem.h"
#include "run.h"
#include "variations.h"

namespace invariance_test {
namespace {

const std::vector<std::size_t> kWidths = {1, 2, 31, 32, 33, 257};
constexpr std::size_t kNumRows = 12;
constexpr int kProblemsPerWidth = 6;

void expect_equal(const Results &results, const Results &expected, const Problem &problem,
                  const Setting &setting = {}) {
  ASSERT_EQ(results.size(), expected.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(results[i], expected[i])
        << "row " << i << " of " << describe(problem) << "; " << describe(setting);
  }
}

class Invariance : public testing::TestWithParam<sampler_operation> {
 protected:
  // Calls work(problem, results of its rows alone) for problems of all widths.
  void for_each_problem(
      std::uint64_t seed,
      const std::function<void(const Problem &, const Results &, Random *)> &work) {
    Random random(seed * 100 + static_cast<std::uint64_t>(GetParam()));
    std::size_t num_good = 0, num_rows = 0;
    for (const std::size_t num_cols : kWidths) {
      for (int i = 0; i < kProblemsPerWidth; ++i) {
        const Problem problem = random_problem(GetParam(), num_cols, kNumRows, &random);
        const Results alone = run_alone(sampler_.get(), problem);
        for (const RowResult &result : alone) num_good += status_of(result) == SAMPLER_ROW_OK;
        num_rows += alone.size();
        work(problem, alone, &random);
        if (HasFatalFailure() || HasNonfatalFailure()) return;
      }
    }
    // Rows that are all bad would all be equal.
    EXPECT_GE(num_good * 3, num_rows);
    EXPECT_LT(num_good, num_rows);
  }

  SamplerPtr sampler_ = make_sampler();
};
INSTANTIATE_TEST_SUITE_P(Operations, Invariance, testing::ValuesIn(operations()),
                         [](const testing::TestParamInfo<sampler_operation> &operation) {
                           return name(operation.param);
                         });

Results in_order(const Results &results, const std::vector<std::size_t> &order) {
  Results ordered;
  for (const std::size_t i : order) ordered.push_back(results[i]);
  return ordered;
}

TEST_P(Invariance, RowsInAnyOrderAndNumber) {
  for_each_problem(1, [&](const Problem &problem, const Results &alone, Random *random) {
    expect_equal(run(sampler_.get(), problem), alone, problem);
    // In another order, one row in many slots, and rows left out.
    std::vector<std::size_t> order = random_order(kNumRows, random);
    for (int i = 0; i < 5; ++i) order.push_back(order[0]);
    order.erase(order.begin() + 2, order.begin() + 5);
    const Problem permuted = with_rows(problem, order);
    expect_equal(run(sampler_.get(), permuted), in_order(alone, order), permuted);
  });
}

TEST_P(Invariance, BatchInSeveralCalls) {
  for_each_problem(2, [&](const Problem &problem, const Results &alone, Random *random) {
    for (std::size_t begin = 0, end = 0; begin < kNumRows; begin = end) {
      end = std::min(kNumRows, begin + 1 + random->below(5));
      std::vector<std::size_t> part;
      for (std::size_t i = begin; i < end; ++i) part.push_back(i);
      const Problem piece = with_rows(problem, part);
      expect_equal(run(sampler_.get(), piece), in_order(alone, part), piece);
    }
  });
}

// With one seed for all rows the output row is the stream: a row's outputs depend on its place, but
// not on how many rows follow or on what is in the others.
TEST_P(Invariance, OneSeedForAllRows) {
  for_each_problem(3, [&](Problem problem, const Results &, Random *random) {
    for (RowInput &row : problem.rows) {
      row.seed = problem.rows[0].seed;
      row.offset = problem.rows[0].offset;
    }
    Setting setting;
    setting.has_scalar_seed = setting.has_scalar_offset = true;
    const Results whole = run(sampler_.get(), problem, setting);
    setting.has_arrays_of_one = true;
    expect_equal(run(sampler_.get(), problem, setting), whole, problem, setting);
    setting.has_arrays_of_one = setting.has_scalar_offset = false;
    expect_equal(run(sampler_.get(), problem, setting), whole, problem, setting);

    const std::size_t kept = random->below(kNumRows);
    Problem other = problem;
    for (std::size_t i = 0; i < kNumRows; ++i) {
      if (i != kept) other.rows[i] = problem.rows[random->below(kNumRows)];
    }
    other.rows.resize(kept + 1 + random->below(kNumRows - kept));
    EXPECT_EQ(run(sampler_.get(), other, setting)[kept], whole[kept]) << describe(other);
  });
}

// Good rows are what they are beside rows that hold NaN, infinities or nothing at all.
TEST_P(Invariance, NeighboursOfAnyContent) {
  for_each_problem(4, [&](const Problem &problem, const Results &alone, Random *random) {
    for (int repetition = 0; repetition < 4; ++repetition) {
      const std::size_t kept = random->below(kNumRows);
      Problem other = problem;
      for (std::size_t i = 0; i < kNumRows; ++i) {
        if (i != kept) spoil(problem, &other.rows[i], random);
      }
      EXPECT_EQ(run(sampler_.get(), other)[kept], alone[kept]) << describe(problem);
    }
  });
}

TEST_P(Invariance, SameCallAgain) {
  for_each_problem(5, [&](const Problem &problem, const Results &alone, Random *random) {
    const SamplerPtr fresh = make_sampler();
    expect_equal(run(sampler_.get(), problem), alone, problem);
    // A call of another shape in between.
    run(sampler_.get(), random_problem(SAMPLER_OP_SAMPLE, 40, 7, random));
    expect_equal(run(sampler_.get(), problem), alone, problem);
    expect_equal(run(fresh.get(), problem), alone, problem);
  });
}

TEST_P(Invariance, StridesAndAlignment) {
  for_each_problem(6, [&](const Problem &problem, const Results &alone, Random *) {
    for (const std::int64_t padding : {1, 3, 64}) {
      for (const std::size_t misalignment : {0, 1, 7}) {
        Setting setting;
        setting.padding = padding;
        setting.misalignment = misalignment;
        expect_equal(run(sampler_.get(), problem, setting), alone, problem, setting);
      }
    }
  });
}

TEST_P(Invariance, MemoryOfAnyContent) {
  for_each_problem(7, [&](const Problem &problem, const Results &alone, Random *) {
    for (const unsigned char fill : {0x00, 0xFF, 0x7F, 0xA5}) {
      for (const std::size_t misalignment : {0, 1, 63}) {
        Setting setting;
        setting.fill = fill;
        setting.workspace_misalignment = misalignment;
        expect_equal(run(sampler_.get(), problem, setting), alone, problem, setting);
      }
    }
  });
}

// f16 and bf16 rows give what the f32 rows give that they widen to.
TEST_P(Invariance, SixteenBitRowsAsWidened) {
  for_each_problem(8, [&](Problem problem, const Results &, Random *) {
    problem.output_dtype = SAMPLER_F32;
    const Results results = run(sampler_.get(), problem);
    expect_equal(run(sampler_.get(), as_f32(problem)), results, problem);
  });
}

TEST_P(Invariance, RowIndicesOrCopiedRows) {
  for_each_problem(9, [&](const Problem &problem, const Results &alone, Random *) {
    Setting setting;
    setting.has_row_indices = true;
    expect_equal(run(sampler_.get(), problem, setting), alone, problem, setting);
    // Equal parameters too, so that outputs share all but the randomness.
    Problem shared = problem;
    for (std::size_t i = 1; i < kNumRows; i += 2) {
      const RowInput own = shared.rows[i];
      shared.rows[i] = shared.rows[i - 1];
      shared.rows[i].seed = own.seed;
      shared.rows[i].offset = own.offset;
    }
    const Results results = run_alone(sampler_.get(), shared);
    expect_equal(run(sampler_.get(), shared, setting), results, shared, setting);
  });
}

TEST_P(Invariance, CandidateListsOfAllIds) {
  for_each_problem(10, [&](const Problem &problem, const Results &alone, Random *random) {
    const std::vector<std::size_t> rows = rows_equal_as_lists(problem);
    for (const sampler_id_type type : {SAMPLER_ID_I32, SAMPLER_ID_I64}) {
      Setting setting;
      setting.candidate_id_type = type;
      const Problem lists = as_candidates(with_rows(problem, rows), false, random);
      expect_equal(run(sampler_.get(), lists, setting), in_order(alone, rows), lists, setting);
    }
  });
}

TEST_P(Invariance, CandidateListsWithoutImpossibleTokens) {
  for_each_problem(11, [&](const Problem &problem, const Results &alone, Random *random) {
    const std::vector<std::size_t> rows = rows_equal_as_lists(problem);
    const Problem lists = as_candidates(widened(with_rows(problem, rows), 9), true, random);
    expect_equal(run(sampler_.get(), lists), in_order(alone, rows), lists);
  });
}

TEST_P(Invariance, MoreColumnsOfImpossibleTokens) {
  for_each_problem(12, [&](const Problem &problem, const Results &alone, Random *) {
    for (const std::int64_t count : {1, 31, 100}) {
      const Problem wider = widened(problem, count);
      expect_equal(run(sampler_.get(), wider), alone, wider);
    }
  });
}

TEST_P(Invariance, OneValueOrAnArrayOfIt) {
  for_each_problem(13, [&](const Problem &problem, const Results &, Random *random) {
    Problem uniform = problem;
    const auto good = [](const RowInput &row) { return row.temperature == row.temperature; };
    const auto like = std::find_if(problem.rows.begin(), problem.rows.end(), good);
    ASSERT_NE(like, problem.rows.end());
    for (RowInput &row : uniform.rows) {
      row.temperature = like->temperature;
      row.top_k = like->top_k;
      row.top_p = like->top_p;
      row.min_p = like->min_p;
    }
    Setting setting;
    setting.has_row_indices = random->below(2) == 0;
    const Results results = run(sampler_.get(), uniform, setting);
    setting.has_scalar_parameters = true;
    expect_equal(run(sampler_.get(), uniform, setting), results, uniform, setting);
  });
}

// 64-bit ids instead of 32-bit ones; optional outputs left out.
TEST_P(Invariance, OtherOutputs) {
  for_each_problem(14, [&](const Problem &problem, const Results &alone, Random *) {
    Setting setting;
    setting.token_id_type = SAMPLER_ID_I64;
    expect_equal(run(sampler_.get(), problem, setting), alone, problem, setting);
    setting.has_optional_outputs = false;
    const Results fewer = run(sampler_.get(), problem, setting);
    for (std::size_t i = 0; i < kNumRows; ++i) {
      ASSERT_LE(fewer[i].size(), alone[i].size());
      ASSERT_EQ(fewer[i], RowResult(alone[i].begin(), alone[i].begin() + fewer[i].size()))
          << "row " << i << " of " << describe(problem);
    }
  });
}

TEST_P(Invariance, FloatingPointEnvironment) {
  for_each_problem(15, [&](const Problem &problem, const Results &alone, Random *) {
    for (const FpMode mode : fp_modes()) {
      if (mode == FpMode::kUnmasked) continue;
      Setting setting;
      setting.fp_mode = mode;
      expect_equal(run(sampler_.get(), problem, setting), alone, problem, setting);
    }
  });
}

// An exception that is raised ends the program, and with it this case.
TEST_P(Invariance, FloatingPointExceptionsUnmasked) {
  for_each_problem(17, [&](const Problem &problem, const Results &alone, Random *) {
    Setting setting;
    setting.fp_mode = FpMode::kUnmasked;
    expect_equal(run(sampler_.get(), problem, setting), alone, problem, setting);
  });
}

TEST_P(Invariance, AllAtOnce) {
  for_each_problem(16, [&](const Problem &problem, const Results &alone, Random *random) {
    for (int i = 0; i < 10; ++i) {
      const Variation variation = random_variation(problem, random);
      expect_equal(run(sampler_.get(), variation.problem, variation.setting),
                   in_order(alone, variation.order), variation.problem, variation.setting);
    }
  });
}

}  // namespace
}  // namespace invariance_test
