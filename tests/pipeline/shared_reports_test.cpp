// Reports of outputs that draw from one row.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "../sized.h"
#include "handles.h"
#include "problem.h"
#include "reported.h"

namespace pipeline_test::shared_reports_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// Rows of a batch without stages, some of which many outputs draw from.
struct SharedRows {
  std::vector<float> values;
  std::vector<std::int32_t> row_indices, slots;
  std::vector<float> temperatures;
  std::vector<std::uint64_t> seeds;
  std::int64_t num_rows, num_cols, num_outputs, num_slots;
  sampler_params params = sampler_params_default();

  SharedRows(Random &random, std::int64_t cols)
      : num_rows(4), num_cols(cols), num_outputs(150), num_slots(7) {
    if (cols < 100) {  // enough outputs of a row that it is sorted
      num_outputs = 12000;
      num_slots = 2;
    }
    for (std::int64_t i = 0; i < num_rows * num_cols; ++i) {
      values.push_back(random.one_in(20) ? -kInfinity : random.within(-9.0F, 9.0F));
    }
    values[at(num_cols)] = std::nanf("");  // row 1 is bad
    for (std::int64_t i = 0; i < num_outputs; ++i) {
      row_indices.push_back(static_cast<std::int32_t>(random.between(-1, num_rows)));
      slots.push_back(static_cast<std::int32_t>(random.between(0, num_slots)));
    }
    for (std::int64_t i = 0; i < num_slots; ++i) {
      temperatures.push_back(random.one_in(4) ? 0.0F : random.one_in(2) ? 0.7F : 1.3F);
      seeds.push_back(99 + static_cast<std::uint64_t>(i));
    }
    params.top_k = random.one_in(2) ? static_cast<std::int32_t>(random.between(1, cols)) : 0;
    params.top_p = random.one_in(2) ? 0.9F : 1.0F;
  }

  SampleArgs args(const float *rows, std::int64_t count) const {
    SampleArgs result;
    result.input.values = rows;
    result.input.num_rows = count;
    result.input.num_cols = num_cols;
    result.params = &params;
    result.slots = slots.data();
    result.num_slots = num_slots;
    result.random.seeds = seeds.data();
    result.random.num_seeds = num_slots;
    return result;
  }
};

void expect_equal(const Reported &a, const Reported &b) {
  const auto bytes = [](const auto &x, const auto &y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof x[0]) == 0;
  };
  EXPECT_EQ(a.token_ids, b.token_ids);
  EXPECT_EQ(a.kept_counts, b.kept_counts);
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.ranks, b.ranks);
  EXPECT_EQ(a.top_ids, b.top_ids);
  EXPECT_EQ(a.kept_ids, b.kept_ids);
  EXPECT_EQ(a.bitmask, b.bitmask);
  EXPECT_EQ(a.removed_by, b.removed_by);
  EXPECT_TRUE(bytes(a.logprobs, b.logprobs));
  EXPECT_TRUE(bytes(a.top_logprobs, b.top_logprobs));
  EXPECT_TRUE(bytes(a.chosen_logprobs, b.chosen_logprobs));
  EXPECT_TRUE(bytes(a.entropies, b.entropies));
  EXPECT_TRUE(bytes(a.kept_probabilities, b.kept_probabilities));
  EXPECT_EQ(a.kept_offsets, b.kept_offsets);
  EXPECT_EQ(a.packed_ids, b.packed_ids);
  EXPECT_TRUE(bytes(a.packed_probabilities, b.packed_probabilities));
}

// Outputs that share what is made of a row report what rows of their own would.
TEST(SharedReports, EqualThoseOfRowsApart) {
  const std::vector<Handle> handles = handles_of_all_isas();
  for (std::uint64_t seed = 0; seed < affordable(24); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const SharedRows rows(random, seed % 3 == 0 ? 40 : seed % 3 == 1 ? 700 : 9000);
    sampler_row_params row_params = {};
    row_params.struct_size = sizeof row_params;
    row_params.temperature = rows.temperatures.data();
    const Sizes sizes = {5, 3, 0, rows.num_cols / 2, SAMPLER_ID_I64};
    std::vector<std::int64_t> chosen;
    std::vector<float> apart;
    for (std::int64_t i = 0; i < rows.num_outputs; ++i) {
      for (int k = 0; k < 3; ++k) chosen.push_back(random.between(-1, rows.num_cols));
      const std::int64_t row = rows.row_indices[at(i)];
      const bool exists = row >= 0 && row < rows.num_rows;
      const auto first = rows.values.begin() + (exists ? row * rows.num_cols : 0);
      apart.insert(apart.end(), first, first + rows.num_cols);
    }
    SampleArgs shared = rows.args(rows.values.data(), rows.num_rows);
    shared.row_params = &row_params;
    shared.row_indices = rows.row_indices.data();
    shared.num_row_indices = rows.num_outputs;
    SampleArgs separate = rows.args(apart.data(), rows.num_outputs);
    separate.row_params = &row_params;
    shared.report_args.logprob_kind = separate.report_args.logprob_kind =
        static_cast<sampler_logprob_kind>(seed % 3);
    std::vector<std::int32_t> indices;  // of rows apart, the bad ones bad
    for (std::int64_t i = 0; i < rows.num_outputs; ++i) {
      const std::int32_t row = rows.row_indices[at(i)];
      indices.push_back(row >= 0 && row < rows.num_rows ? static_cast<std::int32_t>(i) : -1);
    }
    separate.row_indices = indices.data();
    separate.num_row_indices = rows.num_outputs;
    for (const Handle &handle : handles) {
      const Reported expected = report(handle.get(), separate, rows.num_outputs, sizes, chosen);
      const Reported got = report(handle.get(), shared, rows.num_outputs, sizes, chosen);
      expect_equal(got, expected);
      EXPECT_EQ(std::count(got.status.begin(), got.status.end(), SAMPLER_ROW_OK) > 50, true);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace pipeline_test::shared_reports_test
