// Blocks of every kind against the oracle; laws of the orders by chance; bad offsets.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "../seed.h"
#include "support.h"

namespace unmask_test::blocks {
namespace {

TEST(Unmask, IsTheOracles) {
  const Handle handle = make_handle();
  Random random(seeded(3901));
  std::int64_t num_committed = 0, num_edited = 0, num_left = 0;
  for (int i = 0; i < 3000 && !testing::Test::HasFailure(); ++i) {
    const Problem problem = random_problem(&random);
    const Outputs outputs = run(handle.get(), problem);
    check_confidences(problem, outputs.confidences);
    const Outputs right = expected(problem, outputs.confidences);
    EXPECT_TRUE(outputs == right) << i << ", confidence " << problem.params.confidence << "\n"
                                  << to_string(outputs) << "\nnot\n"
                                  << to_string(right);
    for (std::size_t block = 0; block < outputs.committed.size(); ++block) {
      num_committed += outputs.committed[block] > 0;
      num_edited += outputs.edited[block] > 0;
      num_left += outputs.masked[block] > 0;
    }
  }
  EXPECT_GT(num_committed, 1000);
  EXPECT_GT(num_edited, 100);
  EXPECT_GT(num_left, 1000);
}

TEST(Unmask, DependsOnTheBlockAlone) {
  const Handle handle = make_handle();
  Random random(seeded(3902));
  for (int i = 0; i < 500 && !testing::Test::HasFailure(); ++i) {
    const Problem problem = random_problem(&random);
    const Outputs together = run(handle.get(), problem);
    for (std::int64_t block = 0; block < problem.args.num_blocks; ++block) {
      const Outputs alone = run(handle.get(), block_alone(problem, block));
      const auto at = std::size_t(block);
      EXPECT_EQ(alone.committed[0], together.committed[at]);
      EXPECT_EQ(alone.edited[0], together.edited[at]);
      EXPECT_EQ(alone.masked[0], together.masked[at]);
      const std::int64_t begin = problem.block_begin(block), end = problem.block_end(block);
      for (std::int64_t row = begin; row < end; ++row) {
        EXPECT_EQ(alone.changes[std::size_t(row - begin)], together.changes[std::size_t(row)]);
        if (!problem.tokens.empty()) {
          EXPECT_EQ(alone.tokens[std::size_t(row - begin)], together.tokens[std::size_t(row)]);
        }
      }
    }
  }
}

TEST(Unmask, RefusesOffsetsAsAWhole) {
  const Handle handle = make_handle();
  constexpr std::int64_t kRows = 8, kLow = INT64_MIN, kHigh = INT64_MAX;
  const std::vector<std::vector<std::int64_t>> bad = {
      {-1, 4, 8},   {0, 4, 9},     {0, 5, 3},        {5, 3, 8},
      {kLow, 4, 8}, {0, kHigh, 8}, {0, kHigh, kLow}, {kHigh, kHigh, kHigh},
      {9, 9, 9}};
  Problem problem;
  problem.args.num_rows = kRows;
  problem.args.num_blocks = 2;
  problem.params.num_committed = 4;
  problem.params.mask_token_id = 1;
  problem.candidates.assign(kRows, 5);
  problem.tokens.assign(kRows, 1);
  problem.scores.assign(kRows, -1);
  for (const auto &offsets : bad) {
    problem.block_offsets = offsets;
    const Outputs outputs = run(handle.get(), problem);
    EXPECT_EQ(outputs.block_status, std::vector<sampler_row_status>(2, SAMPLER_ROW_INVALID_INDEX));
    EXPECT_EQ(outputs.tokens, problem.tokens);
    EXPECT_EQ(outputs.changes, std::vector<std::uint8_t>(kRows, 77));
    EXPECT_EQ(outputs.confidences, std::vector<float>(kRows, -77));
    EXPECT_EQ(outputs.committed, std::vector<std::int32_t>(2, 0));
    EXPECT_EQ(outputs.edited, std::vector<std::int32_t>(2, 0));
    EXPECT_EQ(outputs.masked, std::vector<std::int32_t>(2, -1));
  }
  for (const std::vector<std::int64_t> &good :
       {std::vector<std::int64_t>{0, 0, 8}, {8, 8, 8}, {2, 2, 2}, {1, 3, 5}}) {
    problem.block_offsets = good;
    EXPECT_EQ(run(handle.get(), problem).block_status, std::vector<sampler_row_status>(2, 0));
  }
}

TEST(Unmask, ThresholdsThemselvesDoNotPass) {
  const Handle handle = make_handle();
  Problem problem;
  problem.params.confidence = SAMPLER_CONFIDENCE_GIVEN;
  problem.args.num_rows = 4;
  problem.args.num_blocks = 1;
  problem.params.threshold = 0.5F;
  problem.scores = {0.25F, 0.25F, 0.5F, 0.75F};
  problem.candidates.assign(4, 7);
  EXPECT_EQ(run(handle.get(), problem).changes, (std::vector<std::uint8_t>{0, 0, 0, 1}));
  problem.params.confidence = SAMPLER_CONFIDENCE_ENTROPY;
  EXPECT_EQ(run(handle.get(), problem).changes, (std::vector<std::uint8_t>{1, 1, 0, 0}));
  problem.params.threshold = 0;
  problem.params.entropy_bound = 0.5F;  // that of the first two, which the third may come after
  EXPECT_EQ(run(handle.get(), problem).changes, (std::vector<std::uint8_t>{1, 1, 1, 0}));
}

// An entropy counts as 16 at most, and as 0 at least; an infinite bound lets all through.
TEST(Unmask, EntropiesAreBounded) {
  const Handle handle = make_handle();
  Problem problem;
  problem.params.confidence = SAMPLER_CONFIDENCE_ENTROPY;
  problem.args.num_rows = 4;
  problem.args.num_blocks = 1;
  problem.scores = {1.0F, 20.0F, 30.0F, std::numeric_limits<float>::infinity()};
  problem.candidates.assign(4, 7);
  const auto changes_of = [&](float bound) {
    problem.params.entropy_bound = bound;
    return run(handle.get(), problem).changes;
  };
  using Changes = std::vector<std::uint8_t>;
  EXPECT_EQ(changes_of(0.5F), (Changes{1, 0, 0, 0}));
  EXPECT_EQ(changes_of(16.9F), (Changes{1, 1, 0, 0}));
  EXPECT_EQ(changes_of(17.0F), (Changes{1, 1, 1, 0}));
  EXPECT_EQ(changes_of(33.0F), (Changes{1, 1, 1, 1}));
  EXPECT_EQ(changes_of(std::numeric_limits<float>::infinity()), (Changes{1, 1, 1, 1}));
  problem.scores = {-5.0F, -1.0F, 0.0F, 2.0F};  // no entropies, but numbers
  EXPECT_EQ(changes_of(1e-3F), (Changes{1, 1, 1, 1}));
}

// The widest numbers that scores may be.
TEST(Unmask, TakesAnyScore) {
  const Handle handle = make_handle();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float scores[] = {-kInfinity, kInfinity, 3e38F, -3e38F, 1e-45F,
                          -1e-45F,    0.0F,      -0.0F, 1.0F,   NAN};
  for (sampler_confidence kind = SAMPLER_CONFIDENCE_PROBABILITY; kind <= SAMPLER_CONFIDENCE_GIVEN;
       ++kind) {
    for (const float temperature : {0.0F, 1e-4F, 1.0F, 0x1p64F}) {
      Problem problem;
      problem.params.confidence = kind;
      problem.args.num_rows = 10;
      problem.args.num_blocks = 1;
      problem.params.order_temperature = temperature;
      problem.params.num_committed = 9;
      problem.params.threshold = 0.5F;
      if (kind == SAMPLER_CONFIDENCE_ENTROPY) problem.params.entropy_bound = kInfinity;
      for (const float score : scores) {
        problem.scores.push_back(score);
        if (kind == SAMPLER_CONFIDENCE_MARGIN) problem.scores.push_back(score);
        problem.candidates.push_back(3);
      }
      const Outputs outputs = run(handle.get(), problem);
      EXPECT_EQ(outputs.changes.back(), SAMPLER_UNMASK_KEPT);
      EXPECT_EQ(outputs.masked[0], 10 - outputs.committed[0]);
      EXPECT_EQ(outputs.committed[0], std::count(outputs.changes.begin(), outputs.changes.end(),
                                                 SAMPLER_UNMASK_COMMITTED));
      EXPECT_TRUE(kind == SAMPLER_CONFIDENCE_MARGIN || outputs.committed[0] == 9) << kind;
    }
  }
}

// Arrays of any contents: whatever is not a block's is left alone, and all is counted.
TEST(Unmask, TakesAnyContents) {
  const Handle handle = make_handle();
  Random random(seeded(3903));
  const auto any_float = [&] {
    const auto bits = std::uint32_t(random.between(0, UINT32_MAX));
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  };
  const auto any_number = [&](std::int64_t usual) {
    constexpr std::int64_t kOdd[] = {INT64_MIN, INT32_MIN, -1, INT32_MAX, INT64_MAX};
    return random.one_in(4) ? kOdd[random.between(0, 4)] : random.between(-1, usual);
  };
  int num_bad = 0;
  for (int i = 0; i < 2000; ++i) {
    Problem problem = random_problem(&random);
    for (std::int64_t &offset : problem.block_offsets) {
      if (random.one_in(6)) offset = any_number(problem.args.num_rows + 1);
    }
    for (float &score : problem.scores) {
      if (random.one_in(3)) score = any_float();
    }
    for (std::int32_t &slot : problem.slots) {
      if (random.one_in(3)) slot = std::int32_t(any_number(5));
    }
    for (auto *numbers : {&problem.num_committed, &problem.num_steps_left}) {
      for (std::int32_t &number : *numbers) number = std::int32_t(any_number(9));
    }
    for (auto *ids : {&problem.candidates, &problem.tokens}) {
      for (std::int64_t &id : *ids) {
        if (random.one_in(5)) id = std::int32_t(any_number(9));
      }
    }
    for (sampler_row_status &status : problem.status) status = sampler_row_status(any_number(2048));
    const Outputs outputs = run(handle.get(), problem);
    std::int64_t num_written = 0, num_changed = 0;
    for (std::size_t row = 0; row < outputs.changes.size(); ++row) {
      const std::uint8_t change = outputs.changes[row];
      EXPECT_TRUE(change <= SAMPLER_UNMASK_EDITED || change == 77);
      num_written += change != 77;
      const bool is_changed = change == SAMPLER_UNMASK_COMMITTED || change == SAMPLER_UNMASK_EDITED;
      num_changed += is_changed;
      if (!problem.tokens.empty()) {
        EXPECT_EQ(outputs.tokens[row], (is_changed ? problem.candidates : problem.tokens)[row]);
      }
    }
    const bool is_bad = outputs.block_status[0] == SAMPLER_ROW_INVALID_INDEX;
    num_bad += is_bad;
    std::int64_t num_counted = 0;
    for (std::size_t block = 0; block < outputs.committed.size(); ++block) {
      EXPECT_EQ(outputs.block_status[block], is_bad ? SAMPLER_ROW_INVALID_INDEX : SAMPLER_ROW_OK);
      EXPECT_EQ(outputs.masked[block] < 0, is_bad);
      num_counted += outputs.committed[block] + outputs.edited[block];
    }
    EXPECT_EQ(num_changed, num_counted);
    if (is_bad) {
      EXPECT_EQ(num_written, 0);
    }
  }
  EXPECT_GT(num_bad, 200);
}

// ---- Laws ---------------------------------------------------------------------------------------

// The set of rows that a step commits, as bits, over many offsets.
std::map<int, int> count_sets(const Problem &base, int num_draws) {
  const Handle handle = make_handle();
  Problem problem = base;
  std::map<int, int> counts;
  for (int draw = 0; draw < num_draws; ++draw) {
    problem.args.random.offset = std::uint64_t(draw);
    const Outputs outputs = run(handle.get(), problem);
    int set = 0;
    for (std::size_t i = 0; i < outputs.changes.size(); ++i) set |= outputs.changes[i] << i;
    ++counts[set];
  }
  return counts;
}

// The chance of each set of two, one after the other by softmax(confidence / T).
TEST(UnmaskLaws, TheOrderIsDrawnBySoftmaxWithoutReplacement) {
  Problem problem;
  problem.params.confidence = SAMPLER_CONFIDENCE_GIVEN;
  problem.args.num_rows = 4;
  problem.args.num_blocks = 1;
  problem.params.num_committed = 2;
  problem.params.order_temperature = 0.5F;
  problem.args.random.seed = 39;
  problem.scores = {0.1F, 0.9F, 0.5F, 0.4F};
  problem.candidates.assign(4, 7);
  constexpr int kDraws = 40000;
  const auto counts = count_sets(problem, kDraws);
  double weights[4], total = 0;
  for (int i = 0; i < 4; ++i)
    total += weights[i] = std::exp(double(problem.scores[std::size_t(i)]) / 0.5);
  double chi_square = 0;
  int num_sets = 0;
  for (int a = 0; a < 4; ++a) {
    for (int b = a + 1; b < 4; ++b) {
      const double chance = weights[a] / total * weights[b] / (total - weights[a]) +
                            weights[b] / total * weights[a] / (total - weights[b]);
      const auto found = counts.find(1 << a | 1 << b);
      const double seen = found == counts.end() ? 0 : found->second;
      chi_square += (seen - kDraws * chance) * (seen - kDraws * chance) / (kDraws * chance);
      ++num_sets;
    }
  }
  EXPECT_EQ(counts.size(), 6u);
  EXPECT_EQ(num_sets, 6);
  EXPECT_LT(chi_square, 25.7);  // 1e-4 of five degrees of freedom; the seed is fixed
}

// Each row by itself, as Dream's origin commits them.
TEST(UnmaskLaws, RandomRowsAreIndependent) {
  Problem problem;
  problem.params.confidence = SAMPLER_CONFIDENCE_RANDOM;
  problem.args.num_rows = 3;
  problem.args.num_blocks = 1;
  problem.params.threshold = 0.7F;  // each with 0.3
  problem.args.random.seed = 40;
  problem.candidates.assign(3, 7);
  problem.slots.assign(3, 0);  // rows of one slot, too
  problem.args.num_slots = 1;
  constexpr int kDraws = 40000;
  const auto counts = count_sets(problem, kDraws);
  double chi_square = 0;
  for (int set = 0; set < 8; ++set) {
    double chance = 1;
    for (int i = 0; i < 3; ++i) chance *= set >> i & 1 ? 0.3 : 0.7;
    const auto found = counts.find(set);
    const double seen = found == counts.end() ? 0 : found->second;
    chi_square += (seen - kDraws * chance) * (seen - kDraws * chance) / (kDraws * chance);
  }
  EXPECT_LT(chi_square, 29.9);  // 1e-4 of seven degrees of freedom; the seed is fixed
}

// num_steps_left steps fill the block, by LLaDA's numbers.
TEST(UnmaskLaws, StepsLeftFillTheBlock) {
  const Handle handle = make_handle();
  for (int num_rows : {1, 7, 32, 33}) {
    for (int num_steps : {1, 2, 5, 8, 40}) {
      Problem problem;
      problem.args.num_rows = num_rows;
      problem.args.num_blocks = 1;
      problem.params.mask_token_id = 9;
      problem.candidates.assign(std::size_t(num_rows), 7);
      problem.tokens.assign(std::size_t(num_rows), 9);
      problem.scores.assign(std::size_t(num_rows), -0.5F);
      int left = num_rows;
      for (int step = 0; step < num_steps; ++step) {
        problem.params.num_steps_left = num_steps - step;
        const Outputs outputs = run(handle.get(), problem);
        const int number = num_rows / num_steps + (step < num_rows % num_steps ? 1 : 0);
        EXPECT_EQ(outputs.committed[0], number) << num_rows << " " << num_steps << " " << step;
        left -= number;
        EXPECT_EQ(outputs.masked[0], left);
        problem.tokens = outputs.tokens;
      }
      EXPECT_EQ(left, 0);
    }
  }
}

}  // namespace
}  // namespace unmask_test::blocks
