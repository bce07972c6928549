// Draws that differ in seed, offset, output row or purpose are independent of each other.
//
// For each way to give seeds and offsets a matrix of draws is made: output rows of a batch by
// successive calls. Draws that lie beside each other, or where an error in the counter would put
// the same random word, are counted as pairs. No draw is in two pairs of a check. Each check finds
// a correlation of 1.2 % (half a million pairs) with chance kPower, and equal draws with certainty.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "source.h"

namespace statistics_test::streams_test {
namespace {

constexpr std::int64_t kNumRows = 1024;
constexpr std::int64_t kNumSteps = 2048;
constexpr double kCorrelation = 0.012;

const std::vector<double> kShares = {0.4, 0.1, 0.3, 0.2};
constexpr std::size_t kNumTokens = 4;

// How the draws of row `row` in call `step` are given their seed, offset and stream.
struct Way {
  const char *name;
  bool has_seed_per_row;
  bool has_offset_per_row;
  std::function<std::uint64_t(std::int64_t step, std::int64_t row)> seed, offset;
  std::function<std::uint64_t(std::int64_t step, std::int64_t row)> stream = nullptr;  // none
};

constexpr std::uint64_t kSeed = 0x1234'5678'9ABC'DEF0;

const std::vector<Way> &ways() {
  const auto number = [](std::int64_t i) { return static_cast<std::uint64_t>(i); };
  const auto fixed = [](std::int64_t, std::int64_t) { return kSeed; };
  const auto step_of = [=](std::int64_t step, std::int64_t) { return number(step); };
  const auto row_of = [=](std::int64_t, std::int64_t row) { return kSeed + number(row); };
  static const std::vector<Way> kWays = {
      {"OneSeedOffsetPerCall", false, false, fixed, step_of},
      {"OneSeedOffsetPerRow", false, true, fixed,
       [=](std::int64_t step, std::int64_t row) { return number(step * 3 + row); }},
      {"SeedPerCallOneOffset", false, false,
       [=](std::int64_t step, std::int64_t) { return number(step); },
       [](std::int64_t, std::int64_t) { return std::uint64_t{7}; }},
      {"SeedPerRowOffsetPerCall", true, false, row_of, step_of},
      {"SeedPerRowOffsetPerRow", true, true, row_of,
       [=](std::int64_t step, std::int64_t row) { return number(step * 3 + row); }},
      {"EqualSeedsOffsetsCountUp", true, true, fixed,
       [=](std::int64_t step, std::int64_t row) { return number(step * kNumRows + row); }},
      {"SeedsCountUpInTheirUpperHalf", true, false,
       [=](std::int64_t, std::int64_t row) { return number(row) << 32; }, step_of},
      {"OffsetsCountUpInTheirUpperHalf", true, true, row_of,
       [=](std::int64_t step, std::int64_t) { return number(step) << 32; }},
      {"StreamPerRow", false, false, fixed, step_of,
       [=](std::int64_t, std::int64_t row) { return number(row) << 16; }},
      {"StreamsCountUp", false, false, fixed, [](std::int64_t, std::int64_t) { return kSeed; },
       [=](std::int64_t step, std::int64_t row) { return number(step * kNumRows + row); }},
  };
  return kWays;
}

class Matrix {
 public:
  Matrix() : tokens_(kNumRows * kNumSteps) {}
  std::int32_t *step(std::int64_t step) { return &tokens_[index(step, 0)]; }
  std::size_t at(std::int64_t step, std::int64_t row) const {
    return static_cast<std::size_t>(tokens_[index(step, row)]);
  }

 private:
  static std::size_t index(std::int64_t step, std::int64_t row) {
    return static_cast<std::size_t>(step * kNumRows + row);
  }
  std::vector<std::int32_t> tokens_;
};

Source source_of(sampler_draw_method draw_method) {
  Source source;
  source.values = logits_of(kShares);
  source.draw_method = draw_method;
  return source;
}

const std::vector<std::int32_t> kFirstRow(kNumRows, 0);

class Randomness {
 public:
  // What the call of this step is given, until the next one.
  sampler_random at(const Way &way, std::int64_t step) {
    for (std::int64_t row = 0; row < kNumRows; ++row) {
      const auto i = static_cast<std::size_t>(row);
      seeds_[i] = way.seed(step, row);
      offsets_[i] = way.offset(step, row);
      if (way.stream) streams_[i] = static_cast<std::uint32_t>(way.stream(step, row));
    }
    sampler_random random = {};
    random.seed = way.seed(step, 0);
    random.offset = way.offset(step, 0);
    if (way.has_seed_per_row) {
      random.seeds = seeds_.data();
      random.num_seeds = kNumRows;
    }
    if (way.has_offset_per_row) {
      random.offsets = offsets_.data();
      random.num_offsets = kNumRows;
    }
    if (way.stream) random.streams = streams_.data();
    return random;
  }

 private:
  std::vector<std::uint64_t> seeds_ = std::vector<std::uint64_t>(kNumRows), offsets_ = seeds_;
  std::vector<std::uint32_t> streams_ = std::vector<std::uint32_t>(kNumRows);
};

Matrix draw_matrix(const Way &way, sampler_draw_method draw_method, std::int64_t num_steps) {
  const Source source = source_of(draw_method);
  const SamplerPtr sampler = make_sampler(kNumRows, kNumTokens);
  Matrix matrix;
  Randomness randomness;
  auto args = sized<sampler_sample_args>();
  args.input = rows_of(source.values.data(), SAMPLER_LOGITS, 1, kNumTokens);
  args.row_indices = kFirstRow.data();
  args.num_row_indices = kNumRows;
  args.draw_method = draw_method;
  for (std::int64_t step = 0; step < num_steps; ++step) {
    args.random = randomness.at(way, step);
    args.out_token_ids = matrix.step(step);
    EXPECT_EQ(sampler_sample(sampler.get(), &args), SAMPLER_OK) << sampler_last_error();
  }
  return matrix;
}

// A draw by step and row.
using Place = std::pair<std::int64_t, std::int64_t>;

// Two draws of every pair that a check looks at, for (step, row) in the given ranges.
struct PairRule {
  const char *name;
  std::int64_t num_steps, num_rows;
  std::function<std::pair<Place, Place>(std::int64_t, std::int64_t)> pair;
};

// Pairs of a matrix whose first `steps` steps are filled.
std::vector<PairRule> pair_rules(std::int64_t steps) {
  const std::int64_t rows = kNumRows;
  using Pair = std::pair<Place, Place>;
  return {
      {"neighbouring rows", steps, rows / 2,
       [](auto s, auto r) {
         return Pair({s, 2 * r}, {s, 2 * r + 1});
       }},
      {"rows half a batch apart", steps, rows / 2,
       [=](auto s, auto r) {
         return Pair({s, r}, {s, r + rows / 2});
       }},
      {"successive calls", steps / 2, rows,
       [](auto s, auto r) {
         return Pair({2 * s, r}, {2 * s + 1, r});
       }},
      {"calls a power of two apart", steps / 2, rows,
       [=](auto s, auto r) {
         return Pair({s, r}, {s + steps / 2, r});
       }},
      {"next call, next row", steps / 2, rows - 1,
       [](auto s, auto r) {
         return Pair({2 * s, r}, {2 * s + 1, r + 1});
       }},
      {"next call, previous row", steps / 2, rows - 1,
       [](auto s, auto r) {
         return Pair({2 * s, r + 1}, {2 * s + 1, r});
       }},
  };
}

void expect_independent(const Counts &pairs, const std::string &what) {
  const Probabilities p = expected_probabilities(source_of(SAMPLER_DRAW_INVERSE_CDF));
  std::uint64_t num_pairs = 0;
  for (const std::uint64_t count : pairs) num_pairs += count;
  ASSERT_GE(power_against_correlation(static_cast<double>(num_pairs), kCorrelation, pairs.size()),
            kPower);
  EXPECT_EQ(frequency_fault(pairs, pair_probabilities(p, p)), "") << what;
}

void expect_independent(const Matrix &matrix, std::int64_t num_steps) {
  for (const PairRule &rule : pair_rules(num_steps)) {
    Counts pairs(kNumTokens * kNumTokens);
    for (std::int64_t step = 0; step < rule.num_steps; ++step) {
      for (std::int64_t row = 0; row < rule.num_rows; ++row) {
        const auto [a, b] = rule.pair(step, row);
        ++pairs[matrix.at(a.first, a.second) * kNumTokens + matrix.at(b.first, b.second)];
      }
    }
    expect_independent(pairs, rule.name);
  }
}

// Where offset and row, or seed and offset, are the same numbers the other way round.
void expect_not_symmetric(const Matrix &matrix) {
  Counts pairs(kNumTokens * kNumTokens);
  for (std::int64_t row = 0; row < kNumRows; ++row) {
    for (std::int64_t step = 0; step < row; ++step) {
      ++pairs[matrix.at(step, row) * kNumTokens + matrix.at(row, step)];
    }
  }
  expect_independent(pairs, "row and call exchanged");
}

class Streams : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, Streams, testing::ValuesIn(ways()),
                         [](const testing::TestParamInfo<Way> &way) { return way.param.name; });

TEST_P(Streams, InverseCdfDrawsAreIndependent) {
  const Matrix matrix = draw_matrix(GetParam(), SAMPLER_DRAW_INVERSE_CDF, kNumSteps);
  expect_independent(matrix, kNumSteps);
  expect_not_symmetric(matrix);
}

// Half as many: Gumbel draws take ten times as long.
TEST_P(Streams, GumbelDrawsAreIndependent) {
  const Matrix matrix = draw_matrix(GetParam(), SAMPLER_DRAW_GUMBEL, kNumSteps / 2);
  expect_independent(matrix, kNumSteps / 2);
  expect_not_symmetric(matrix);
}

// The same draws with another seed: how the seeds differ must not matter.
TEST(StreamsOfSeeds, AreIndependent) {
  const auto matrix_of_seed = [](std::uint64_t seed) {
    Way way = ways()[0];
    way.seed = [seed](std::int64_t, std::int64_t) { return seed; };
    return draw_matrix(way, SAMPLER_DRAW_INVERSE_CDF, kNumSteps / 2);
  };
  constexpr std::uint64_t kBase = 0x0000'0001'0000'0002;
  const Matrix first = matrix_of_seed(kBase);
  for (const std::uint64_t other :
       {kBase + 1, kBase | std::uint64_t{1} << 63, std::uint64_t{0x0000'0002'0000'0001}, ~kBase}) {
    const Matrix second = matrix_of_seed(other);
    Counts pairs(kNumTokens * kNumTokens);
    for (std::int64_t step = 0; step < kNumSteps / 2; ++step) {
      for (std::int64_t row = 0; row < kNumRows; ++row) {
        ++pairs[first.at(step, row) * kNumTokens + second.at(step, row)];
      }
    }
    expect_independent(pairs, "seed " + std::to_string(other));
  }
}

// ---- Purposes -----------------------------------------------------------------------------------

// The last token of chains that draw it from the same row as sampler_sample: the bonus token where
// there are no drafts, the residual's where the draft is no token at all.
Matrix chain_matrix(std::int64_t num_drafts, std::int64_t num_steps) {
  const SamplerPtr sampler = make_sampler(kNumRows, kNumTokens);
  const std::vector<float> row = source_of(SAMPLER_DRAW_INVERSE_CDF).values;
  std::vector<float> target;
  for (std::int64_t i = 0; i < kNumRows * (num_drafts + 1); ++i) {
    target.insert(target.end(), row.begin(), row.end());
  }
  const std::vector<std::int32_t> drafts(kNumRows, -1);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(kNumRows * (num_drafts + 1)));
  auto args = sized<sampler_verify_args>();
  args.target = rows_of(target.data(), SAMPLER_LOGITS, kNumRows * (num_drafts + 1), kNumTokens);
  args.num_drafts = num_drafts;
  args.draft_token_ids = drafts.data();
  args.random.seed = kSeed;
  args.out_token_ids = tokens.data();
  Matrix matrix;
  for (std::int64_t step = 0; step < num_steps; ++step, ++args.random.offset) {
    EXPECT_EQ(sampler_verify(sampler.get(), &args), SAMPLER_OK) << sampler_last_error();
    for (std::int64_t i = 0; i < kNumRows; ++i) {
      matrix.step(step)[i] = tokens[static_cast<std::size_t>(i * (num_drafts + 1))];
    }
  }
  return matrix;
}

TEST(StreamsOfPurposes, AreIndependent) {
  constexpr std::int64_t kSteps = kNumSteps / 4;
  const Matrix matrices[] = {draw_matrix(ways()[0], SAMPLER_DRAW_INVERSE_CDF, kSteps),
                             draw_matrix(ways()[0], SAMPLER_DRAW_GUMBEL, kSteps),
                             chain_matrix(0, kSteps), chain_matrix(1, kSteps)};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < i; ++j) {
      Counts pairs(kNumTokens * kNumTokens);
      for (std::int64_t step = 0; step < kSteps; ++step) {
        for (std::int64_t row = 0; row < kNumRows; ++row) {
          ++pairs[matrices[i].at(step, row) * kNumTokens + matrices[j].at(step, row)];
        }
      }
      expect_independent(pairs, "purposes " + std::to_string(i) + " and " + std::to_string(j));
    }
  }
}

}  // namespace
}  // namespace statistics_test::streams_test
