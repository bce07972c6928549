// The library against the oracle on rows as wide as vocabularies.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "grid.h"

namespace oracle_test::oracle_large_test {
namespace {

class LargeGrid : public testing::TestWithParam<std::tuple<std::size_t, RowKind>> {};

TEST_P(LargeGrid, EqualsOracle) {
  Grid grid;
  RowKind kind;
  std::tie(grid.num_cols, kind) = GetParam();
  grid.row_kinds = {kind};
  grid.parameters_per_row = grid.num_cols < 100000 ? 30 : 14;
  grid.decided_percent =
      70;  // some fifty cuts, a few at temperatures where weights are almost equal
  grid.draws = 2;
  // Each kind of row is combined with each type at one of the widths.
  static const sampler_dtype kTypes[] = {SAMPLER_F32, SAMPLER_BF16, SAMPLER_F16};
  const std::size_t turn = static_cast<std::size_t>(kind) + grid.num_cols / 100000;
  grid.dtype = kTypes[turn % 3];
  compare_grid(grid);
  if (grid.num_cols > 100000) return;
  grid.kind = SAMPLER_PROBABILITIES;
  compare_grid(grid);
}

std::string case_name(const testing::TestParamInfo<LargeGrid::ParamType> &info) {
  std::string text = name(std::get<1>(info.param));
  for (char &letter : text) {
    if (letter == ' ') letter = '_';
  }
  return text + std::to_string(std::get<0>(info.param));
}

using testing::Combine;
using testing::Values;

INSTANTIATE_TEST_SUITE_P(Rows, LargeGrid,
                         Combine(Values<std::size_t>(32000, 128256),
                                 Values(RowKind::kNormal, RowKind::kLanguage, RowKind::kPeaked,
                                        RowKind::kFlat, RowKind::kEqual, RowKind::kTwoValues,
                                        RowKind::kOneFinite, RowKind::kMasked, RowKind::kCoarse,
                                        RowKind::kCloseTies, RowKind::kSubnormal, RowKind::kHuge,
                                        RowKind::kWide, RowKind::kHeavyTail, RowKind::kSignedZero)),
                         case_name);

INSTANTIATE_TEST_SUITE_P(WidestRows, LargeGrid,
                         Combine(Values<std::size_t>(262144),
                                 Values(RowKind::kLanguage, RowKind::kFlat, RowKind::kEqual,
                                        RowKind::kHeavyTail, RowKind::kCoarse)),
                         case_name);

}  // namespace
}  // namespace oracle_test::oracle_large_test
