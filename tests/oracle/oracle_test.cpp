// The library against the oracle: every operation, rows of up to 1000 columns.
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "compare.h"
#include "grid.h"

namespace oracle_test::oracle_test {
namespace {

using oracle::Filters;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class SmallGrid
    : public testing::TestWithParam<std::tuple<std::size_t, sampler_dtype, sampler_input_kind>> {};

TEST_P(SmallGrid, EqualsOracle) {
  Grid grid;
  std::tie(grid.num_cols, grid.dtype, grid.kind) = GetParam();
  grid.parameters_per_row = grid.num_cols < 100 ? 100 : 60;
#if LDBL_MANT_DIG > 64
  grid.parameters_per_row /= 5;  // long double is emulated in software here
#endif
  grid.draws = 6;
  compare_grid(grid);
}

std::string case_name(const testing::TestParamInfo<SmallGrid::ParamType> &info) {
  static const char *const kTypes[] = {"F32", "F16", "Bf16"};
  const auto [num_cols, dtype, kind] = info.param;
  return std::string(kind == SAMPLER_LOGITS ? "Logits" : "Probabilities") + kTypes[dtype] +
         "Columns" + std::to_string(num_cols);
}

using testing::Values;

INSTANTIATE_TEST_SUITE_P(
    Rows, SmallGrid,
    testing::Combine(Values<std::size_t>(1, 2, 31, 32, 33, 1000),
                     Values<sampler_dtype>(SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16),
                     Values<sampler_input_kind>(SAMPLER_LOGITS, SAMPLER_PROBABILITIES)),
    case_name);

std::vector<OutputRow> one_output_per_row(std::int64_t num_rows, const Filters &filters) {
  std::vector<OutputRow> outputs(static_cast<std::size_t>(num_rows));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].input_row = static_cast<std::int64_t>(i);
    outputs[i].filters = filters;
    outputs[i].seed = 100 + i;
  }
  return outputs;
}

void compare_everything(const Batch &batch, const Filters &filters) {
  const std::size_t rows = static_cast<std::size_t>(batch.num_rows());
  const SamplerPtr sampler = make_sampler(batch.num_rows(), batch.num_cols());
  // All filters, each alone, and none.
  std::vector<Filters> choices(5, filters);
  for (const std::size_t i : {2, 3, 4}) choices[i].top_k = 0;
  for (const std::size_t i : {1, 3, 4}) choices[i].top_p = 1.0F;
  for (const std::size_t i : {1, 2, 4}) choices[i].min_p = 0.0F;
  Tally tally;
  for (const Filters &choice : choices) {
    CallSettings settings;
    settings.logprob_kind = SAMPLER_LOGPROB_PROCESSED;
    compare_sampling(sampler.get(), batch, settings, one_output_per_row(batch.num_rows(), choice),
                     &tally);
    const std::vector<Filters> all(rows, choice);
    compare_filter(sampler.get(), batch, all, SAMPLER_OUTPUT_PROBABILITIES, SAMPLER_F32, &tally);
    if (batch.kind() == SAMPLER_PROBABILITIES) continue;
    compare_filter(sampler.get(), batch, all, SAMPLER_OUTPUT_VALUES, SAMPLER_F32, &tally);
  }
  const std::vector<std::int32_t> counts(rows, static_cast<std::int32_t>(filters.top_k));
  compare_select(sampler.get(), batch, batch.num_cols(), counts, SAMPLER_F32);
}

Filters some_filters() {
  Filters filters;
  filters.top_k = 3;
  filters.top_p = 0.9F;
  filters.min_p = 0.01F;
  return filters;
}

TEST(BadRows, LogitsGetTheirStatusBetweenGoodRows) {
  const std::vector<float> good = {1.0F, -2.0F, 0.5F, 3.0F, -kInf};
  const std::vector<std::vector<float>> rows = {good,
                                                {kNan, 1.0F, 2.0F, 3.0F, 4.0F},
                                                good,
                                                {1.0F, 2.0F, kInf, 3.0F, 4.0F},
                                                {-kInf, -kInf, -kInf, -kInf, -kInf},
                                                {-kInf, -kInf, -kInf, -kInf, kNan},
                                                {kInf, kInf, kInf, kInf, kInf},
                                                {1.0F, 2.0F, 3.0F, 4.0F, kNan},
                                                good};
  for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
    compare_everything(Batch(dtype, SAMPLER_LOGITS, rows, 1), some_filters());
    compare_everything(Batch(dtype, SAMPLER_LOGITS, rows, 0), Filters());
  }
}

TEST(BadRows, ProbabilitiesGetTheirStatusBetweenGoodRows) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const std::vector<float> good = {0.25F, 0.0F, 0.5F, -0.0F, 0.125F};
  std::vector<std::vector<float>> rows = {good,
                                          {0.5F, -0.25F, 0.5F, 0.0F, 0.0F},
                                          {0.0F, -0.0F, 0.0F, 0.0F, 0.0F},
                                          good,
                                          {0.5F, 0.5F, 0.0F, 0.0F, kInf},
                                          {0.5F, 0.5F, 0.0F, kNan, 0.0F},
                                          {0.5F, 0.5F, 0.0F, -kInf, 0.0F},
                                          good};
  for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
    compare_everything(Batch(dtype, SAMPLER_PROBABILITIES, rows, 3), some_filters());
  }
  rows.push_back({0.5F, 0.5F, -tiny, 0.0F, 0.0F});
  rows.push_back({0.0F, tiny, 0.0F, 3 * tiny, 0.0F});
  compare_everything(Batch(SAMPLER_F32, SAMPLER_PROBABILITIES, rows, 3), some_filters());
}

// +inf is bad to draw from, and an ordinary value for sampler_select.
TEST(BadRows, InfinityIsSelected) {
  Random random(79);
  for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
    for (const sampler_input_kind kind : {SAMPLER_LOGITS, SAMPLER_PROBABILITIES}) {
      std::vector<std::vector<float>> rows;
      for (int row_kind = 0; row_kind < static_cast<int>(RowKind::kNumKinds); ++row_kind) {
        for (const std::size_t num_infinite : {1, 2, 40}) {
          std::vector<float> row = make_logits(static_cast<RowKind>(row_kind), 67, dtype, &random);
          if (kind == SAMPLER_PROBABILITIES) row = make_probabilities(row, 1.0);
          for (std::size_t i = 0; i < num_infinite; ++i) row[random.below(row.size())] = kInf;
          rows.push_back(row);
        }
      }
      rows.emplace_back(67, kInf);
      rows.emplace_back(67, kInf);
      rows.back()[66] = kNan;
      const Batch batch(dtype, kind, rows, 1);
      compare_everything(batch, some_filters());
      const SamplerPtr sampler = make_sampler(batch.num_rows(), batch.num_cols());
      for (const std::int64_t num_selected : {1, 2, 33, 67}) {
        compare_select(sampler.get(), batch, num_selected,
                       std::vector<std::int32_t>(rows.size(), 0), dtype);
      }
      if (HasFailure()) return;
    }
  }
}

TEST(BadRows, ParametersOfOneRowSpoilThatRowAlone) {
  const std::vector<std::vector<float>> rows(2, {1.0F, -2.0F, 0.5F, 3.0F, 0.0F});
  const Batch logits(SAMPLER_F32, SAMPLER_LOGITS, rows, 0);
  std::vector<OutputRow> outputs(6);
  outputs[1].filters.temperature = kNan;
  outputs[2].filters.top_p = kNan;
  outputs[4].filters.min_p = kNan;
  const SamplerPtr sampler = make_sampler(8, 5);
  Tally tally;
  compare_sampling(sampler.get(), logits, CallSettings(), outputs, &tally);
  // A greedy row is bad, too.
  for (OutputRow &output : outputs) {
    if (!std::isnan(output.filters.temperature)) output.filters.temperature = 0.0F;
  }
  compare_sampling(sampler.get(), logits, CallSettings(), outputs, &tally);
  EXPECT_EQ(tally.cuts, 2 * 3);

  const Batch probabilities(SAMPLER_F32, SAMPLER_PROBABILITIES, {{0.5F, 0.25F}, {0.0F, 0.5F}}, 0);
  outputs.assign(5, OutputRow());
  outputs[1].filters.temperature = 0.5F;  // probabilities have no temperature
  outputs[2].filters.temperature = kInf;
  outputs[3].filters.temperature = 0.0F;
  compare_sampling(sampler.get(), probabilities, CallSettings(), outputs, &tally);
}

// Lists of different lengths, in any order, with ids far beyond the number of columns.
TEST(Candidates, EqualOracle) {
  constexpr std::size_t kColumns = 67;
  for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
    Random random(77 + static_cast<std::uint64_t>(dtype));
    for (const std::size_t length : {std::size_t{1}, std::size_t{2}, std::size_t{40}, kColumns}) {
      std::vector<std::vector<std::int32_t>> ids;
      std::vector<std::vector<float>> rows;
      for (int kind = 0; kind < static_cast<int>(RowKind::kNumKinds); ++kind) {
        rows.push_back(make_logits(static_cast<RowKind>(kind), length, dtype, &random));
        std::vector<std::int32_t> row_ids;
        // Distinct ids, unordered: 611953 is coprime to 2^20.
        const std::uint64_t first = random.below(1 << 20);
        for (std::size_t i = 0; i < length; ++i) {
          row_ids.push_back(static_cast<std::int32_t>((first + i * 611953U) % (1U << 20)));
        }
        ids.push_back(row_ids);
      }
      ids.push_back({});
      rows.push_back({});
      const Batch batch(dtype, ids, rows, kColumns);
      compare_everything(batch, some_filters());
      compare_everything(batch, Filters());
      if (HasFailure()) return;
    }
  }
}

// Each row as if it had only its own columns.
TEST(RaggedRows, EqualOracle) {
  for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
    for (const sampler_input_kind kind : {SAMPLER_LOGITS, SAMPLER_PROBABILITIES}) {
      Random random(78 + static_cast<std::uint64_t>(dtype));
      std::vector<std::vector<float>> rows;
      for (const std::size_t length : {1, 2, 3, 31, 32, 33, 66}) {
        for (int row_kind = 0; row_kind < static_cast<int>(RowKind::kNumKinds); ++row_kind) {
          rows.push_back(make_logits(static_cast<RowKind>(row_kind), length, dtype, &random));
          if (kind == SAMPLER_PROBABILITIES) rows.back() = make_probabilities(rows.back(), 7.0);
        }
      }
      rows.emplace_back();
      rows.emplace_back(67, 1.0F);
      const Batch batch(dtype, kind, rows, 2);
      compare_everything(batch, some_filters());
      compare_everything(batch, Filters());
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace oracle_test::oracle_test
