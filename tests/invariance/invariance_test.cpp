// What must not change a row's outputs, in every operation: bit for bit.
//
// Each case takes problems of every kind of row, hard ones and bad ones among them, computes every
// row in a call of its own, and then computes them in the other way that the case is about.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "../seed.h"
#include "problem.h"
#include "run.h"
#include "variations.h"

namespace invariance_test::invariance_test {
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

class Invariance : public testing::TestWithParam<Operation> {
 protected:
  // Calls work(problem, results of its rows alone) for problems of all widths.
  void for_each_problem(
      std::uint64_t seed,
      const std::function<void(const Problem &, const Results &, Random *)> &work) {
    Random random(seeded(seed * 100 + static_cast<std::uint64_t>(GetParam())));
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

std::string operation_name(const testing::TestParamInfo<Operation> &operation) {
  return name(operation.param);
}
INSTANTIATE_TEST_SUITE_P(Operations, Invariance, testing::ValuesIn(operations()), operation_name);

// What only some operations have.
class Slots : public Invariance {};
class Streams : public Invariance {};
class RaggedRows : public Invariance {};
INSTANTIATE_TEST_SUITE_P(Operations, Slots,
                         testing::Values(Operation::kSample, Operation::kFilter,
                                         Operation::kVerify),
                         operation_name);
INSTANTIATE_TEST_SUITE_P(Operations, Streams,
                         testing::Values(Operation::kSample, Operation::kVerify), operation_name);
INSTANTIATE_TEST_SUITE_P(Operations, RaggedRows,
                         testing::Values(Operation::kSample, Operation::kFilter, Operation::kSelect,
                                         Operation::kVerify),
                         operation_name);

Results in_order(const Results &results, const std::vector<std::size_t> &order) {
  Results ordered;
  for (const std::size_t i : order) ordered.push_back(results[i]);
  return ordered;
}

TEST_P(Invariance, RowsInAnyOrderAndNumber) {
  for_each_problem(1, [&](const Problem &problem, const Results &alone, Random *random) {
    expect_equal(run(sampler_.get(), problem), alone, problem);
    // In another order, one row in many places, and rows left out.
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

// With one seed for all rows and no streams the row is the stream: its outputs depend on its place,
// but not on how many rows follow or on what is in the others.
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
    run(sampler_.get(), random_problem(Operation::kSample, 40, 7, random));
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
    const auto good = [](const RowInput &row) {
      return !std::isnan(row.temperature) && !std::isnan(row.top_p) && !std::isnan(row.min_p);
    };
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

// Every second row draws as the one before it.
Problem in_pairs(Problem problem) {
  for (std::size_t i = 1; i < problem.rows.size(); i += 2) {
    const RowInput own = problem.rows[i];
    problem.rows[i] = problem.rows[i - 1];
    problem.rows[i].target = own.target;
    problem.rows[i].draft = own.draft;
    problem.rows[i].draft_ids = own.draft_ids;
    problem.rows[i].draft_count = own.draft_count;
  }
  return problem;
}

// A row in a slot is the row with the parameters, seed and offset of that slot.
TEST_P(Slots, InAnyOrderAndShared) {
  for_each_problem(18, [&](const Problem &problem, const Results &, Random *random) {
    const Problem pairs = in_pairs(problem);
    const Results alone = run_alone(sampler_.get(), pairs);
    for (int repetition = 0; repetition < 4; ++repetition) {
      const std::vector<std::size_t> order = random_order(kNumRows, random);
      const Problem permuted = with_rows(pairs, order);
      Setting setting;
      setting.has_row_indices = random->below(2) == 0;
      give_slots(permuted, random, &setting);
      expect_equal(run(sampler_.get(), permuted, setting), in_order(alone, order), permuted,
                   setting);
    }
  });
}

TEST_P(Slots, BadOnesSpoilTheirRowsAlone) {
  for_each_problem(19, [&](const Problem &problem, const Results &alone, Random *random) {
    Setting setting;
    give_slots(problem, random, &setting);
    const auto after_last = static_cast<std::int32_t>(setting.num_slots);
    const std::vector<std::int32_t> bad_slots = {-1, after_last, INT32_MIN, INT32_MAX};
    std::vector<bool> is_bad(kNumRows);
    for (int i = 0; i < 3; ++i) {
      const std::size_t row = random->below(kNumRows);
      is_bad[row] = true;
      setting.slots[row] = random->pick(bad_slots);
    }
    const Results results = run(sampler_.get(), problem, setting);
    for (std::size_t row = 0; row < kNumRows; ++row) {
      if (is_bad[row]) {
        ASSERT_TRUE(status_of(results[row]) & SAMPLER_ROW_INVALID_SLOT);
      } else {
        ASSERT_EQ(results[row], alone[row]) << "row " << row << " of " << describe(problem);
      }
    }
  });
}

// A draw depends on seed, offset and stream, and not on the row's place or slot.
TEST_P(Streams, AreTheRowsOwn) {
  for_each_problem(20, [&](Problem problem, const Results &, Random *random) {
    const bool one_seed = random->below(2) == 0, one_offset = random->below(2) == 0;
    for (RowInput &row : problem.rows) {
      row.stream = static_cast<std::uint32_t>(random->word());
      if (one_seed) row.seed = problem.rows[0].seed;
      if (one_offset) row.offset = problem.rows[0].offset;
    }
    Setting setting;
    setting.has_streams = true;
    const Results alone = run_alone(sampler_.get(), problem, setting);
    for (int repetition = 0; repetition < 4; ++repetition) {
      const std::vector<std::size_t> order = random_order(kNumRows, random);
      const Problem permuted = with_rows(problem, order);
      setting.has_scalar_seed = one_seed && random->below(2) == 0;
      setting.has_scalar_offset = one_offset && random->below(2) == 0;
      setting.has_arrays_of_one = random->below(2) == 0;
      setting.slots.clear();
      if (random->below(2) == 0) give_slots(permuted, random, &setting);
      expect_equal(run(sampler_.get(), permuted, setting), in_order(alone, order), permuted,
                   setting);
    }
  });
}

// Without streams it is the slot's number where one seed serves all, and 0 where each has its own.
TEST_P(Streams, AreSlotsUnlessGiven) {
  for_each_problem(21, [&](Problem problem, const Results &alone, Random *random) {
    Setting setting;
    setting.has_streams = true;
    expect_equal(run(sampler_.get(), problem, setting), alone, problem, setting);  // all 0

    give_slots(problem, random, &setting);
    for (std::size_t i = 0; i < kNumRows; ++i) {
      problem.rows[i].seed = problem.rows[0].seed;
      problem.rows[i].stream = static_cast<std::uint32_t>(setting.slots[i]);
    }
    Setting given;
    given.has_streams = true;
    const Results expected = run_alone(sampler_.get(), problem, given);
    setting.has_streams = false;
    setting.has_scalar_seed = true;
    expect_equal(run(sampler_.get(), problem, setting), expected, problem, setting);
  });
}

// Elements after a row's count are NaN here, which would make it bad if they were read.
TEST_P(RaggedRows, AsPaddedWithImpossibleTokens) {
  for_each_problem(22, [&](const Problem &problem, const Results &, Random *random) {
    const Problem ragged = shortened(problem, false, random);
    const Results expected = run_alone(sampler_.get(), padded(ragged));
    expect_equal(run(sampler_.get(), ragged), expected, ragged);
    Setting setting = random_setting(random);
    give_slots(ragged, random, &setting);
    expect_equal(run(sampler_.get(), ragged, setting), expected, ragged, setting);
  });
}

TEST_P(RaggedRows, AsShorterRowsAlone) {
  for_each_problem(23, [&](const Problem &problem, const Results &, Random *random) {
    Problem ragged = shortened(problem, true, random);
    for (const RowInput &row : ragged.rows) {
      const auto count = static_cast<std::int64_t>(row.target[0].values.size());
      ragged.num_selected = std::min(ragged.num_selected, count);
    }
    const Results results = run(sampler_.get(), ragged);
    for (std::size_t i = 0; i < kNumRows; ++i) {
      Problem narrow = with_rows(ragged, {i});
      narrow.num_cols = static_cast<std::int64_t>(narrow.rows[0].target[0].values.size());
      ASSERT_EQ(results[i], run(sampler_.get(), narrow).at(0))
          << "row " << i << " of " << describe(ragged);
    }
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
}  // namespace invariance_test::invariance_test
