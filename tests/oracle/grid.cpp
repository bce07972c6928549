#include "grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "compare.h"

namespace oracle_test {
namespace {

using oracle::FilterOrder;
using oracle::Filters;
using oracle::TemperatureOrder;
using oracle::Ties;

Filters pick_parameters(const Grid &grid, Random *random) {
  const auto v = static_cast<std::int64_t>(grid.num_cols);
  static const std::vector<float> kTopPs = {-1.0F, 0.0F,  1e-30F,          1e-7F, 0.1F, 0.5F,
                                            0.9F,  0.95F, 1.0F - 0x1p-24F, 1.0F,  2.0F};
  static const std::vector<float> kMinPs = {-1.0F, 0.0F, 0.0F, 1e-30F, 1e-12F,
                                            0.05F, 0.5F, 1.0F, 3.0F};
  static const std::vector<float> kTemperatures = {
      1.0F,  1.0F, 0.7F,  0.5F,   2.0F,  0.1F,  1e-3F,   1.0000001e-5F,
      1e-5F, 0.0F, -1.0F, 100.0F, 1e10F, 1e15F, 0x1p64F, 1.7F};
  Filters filters;
  filters.top_k = random->pick(std::vector<std::int64_t>{
      -3, 0, 0, 0, 1, 2, 50, v - 1, v, v + 1, std::numeric_limits<std::int32_t>::max(),
      1 + static_cast<std::int64_t>(random->below(grid.num_cols))});
  filters.top_p = random->pick(kTopPs);
  filters.min_p = random->pick(kMinPs);
  // Half of the sets lack filters, so that cuts by one filter are as frequent as cuts by several.
  const std::size_t kept = random->below(8);
  if (kept == 0 || kept == 1) filters.top_k = 0;
  if (kept == 0 || kept == 2) filters.top_p = 1.0F;
  if (kept == 1 || kept == 2 || kept == 3) filters.min_p = 0.0F;
  if (grid.kind == SAMPLER_LOGITS) {
    filters.temperature = random->pick(kTemperatures);
  } else if (random->below(12) == 0) {
    filters.temperature = random->below(2) == 0 ? 0.0F : 1e-5F;
  }
  return filters;
}

Filters pick_orders(Random *random) {
  Filters orders;
  orders.top_k_ties = random->below(2) == 0 ? Ties::kExact : Ties::kKeep;
  orders.top_p_ties = random->below(2) == 0 ? Ties::kExact : Ties::kKeep;
  orders.filter_order = static_cast<FilterOrder>(random->below(3));
  orders.temperature_order =
      random->below(2) == 0 ? TemperatureOrder::kFirst : TemperatureOrder::kLast;
  orders.top_p_exceeds = random->below(2) == 0;
  return orders;
}

CallSettings pick_settings(Random *random) {
  CallSettings settings;
  settings.orders = pick_orders(random);
  settings.draw_method = random->below(3) == 0 ? SAMPLER_DRAW_GUMBEL : SAMPLER_DRAW_INVERSE_CDF;
  settings.logprob_kind = random->below(2) == 0 ? SAMPLER_LOGPROB_RAW : SAMPLER_LOGPROB_PROCESSED;
  settings.seed_form = static_cast<SeedForm>(random->below(5));
  settings.wide_ids = random->below(2) == 0;
  settings.parameter_arrays = random->below(4) != 0;
  settings.slots = random->below(3) == 0;
  return settings;
}

std::vector<OutputRow> pick_outputs(const Grid &grid, const Batch &batch, Random *random) {
  std::vector<OutputRow> outputs;
  for (std::int64_t n = 0; n < batch.num_rows(); ++n) {
    OutputRow output;
    output.input_row = static_cast<std::int64_t>(random->below(index(batch.num_rows())));
    output.filters = pick_parameters(grid, random);
    for (std::size_t draw = 0; draw < grid.draws; ++draw) {
      output.seed = random->word();
      output.offset = random->word() >> random->below(64);
      output.stream = static_cast<std::uint32_t>(random->word());
      outputs.push_back(output);
    }
  }
  return outputs;
}

Batch make_batch(const Grid &grid, const std::vector<RowKind> &kinds, Random *random) {
  std::vector<std::vector<float>> rows;
  for (const RowKind kind : kinds) {
    std::vector<float> row = make_logits(kind, grid.num_cols, grid.dtype, random);
    if (grid.kind == SAMPLER_PROBABILITIES) {
      const double sum = random->pick(std::vector<double>{1.0, 1.0, 7.0, 1e4, 1e-3, 0x1p-100});
      row = make_probabilities(row, grid.dtype == SAMPLER_F16 ? std::max(sum, 1.0) : sum);
    }
    rows.push_back(std::move(row));
  }
  return Batch(grid.dtype, grid.kind, rows, random->pick(std::vector<std::size_t>{0, 1, 5}));
}

void compare_whole_rows(sampler_t sampler, const Grid &grid, const Batch &batch, Random *random,
                        Tally *tally) {
  const Filters orders = pick_orders(random);
  std::vector<Filters> filters;
  std::vector<std::int32_t> selected_counts;
  for (std::int64_t r = 0; r < batch.num_rows(); ++r) {
    const Filters picked = pick_parameters(grid, random);
    selected_counts.push_back(static_cast<std::int32_t>(picked.top_k));
    filters.push_back(orders);
    filters.back().temperature = picked.temperature;
    filters.back().top_k = picked.top_k;
    filters.back().top_p = picked.top_p;
    filters.back().min_p = picked.min_p;
  }
  const sampler_dtype output_dtype = random->below(3) == 0 ? grid.dtype : SAMPLER_F32;
  const auto v = static_cast<std::int64_t>(grid.num_cols);
  const std::int64_t num_selected =
      random->pick(std::vector<std::int64_t>{1, std::min<std::int64_t>(v, 50), v});
  compare_select(sampler, batch, num_selected, selected_counts, output_dtype);
  compare_filter(sampler, batch, filters, SAMPLER_OUTPUT_PROBABILITIES, output_dtype, tally);
  if (grid.kind == SAMPLER_LOGITS) {
    compare_filter(sampler, batch, filters, SAMPLER_OUTPUT_VALUES, output_dtype, tally);
  }
}

}  // namespace

void compare_grid(const Grid &grid) {
  std::vector<RowKind> kinds = grid.row_kinds;
  if (kinds.empty()) {
    for (int kind = 0; kind < static_cast<int>(RowKind::kNumKinds); ++kind) {
      kinds.push_back(static_cast<RowKind>(kind));
    }
  }
  const auto first_kind = static_cast<std::uint64_t>(kinds.front());
  Random random(((grid.num_cols * 16 + first_kind) * 4 + static_cast<std::uint64_t>(grid.dtype)) *
                    2 +
                static_cast<std::uint64_t>(grid.kind));
  const Batch batch = make_batch(grid, kinds, &random);
  const auto max_rows =
      static_cast<std::int64_t>(kinds.size() * std::max<std::size_t>(grid.draws, 1));
  const SamplerPtr sampler = make_sampler(max_rows, batch.num_cols());
  ASSERT_NE(sampler, nullptr);

  Tally tally;
  for (std::size_t n = 0; n < grid.parameters_per_row; ++n) {
    const CallSettings settings = pick_settings(&random);
    compare_sampling(sampler.get(), batch, settings, pick_outputs(grid, batch, &random), &tally);
    if (testing::Test::HasFailure()) return;
    if (n % 4 != 0) continue;
    compare_whole_rows(sampler.get(), grid, batch, &random, &tally);
    if (testing::Test::HasFailure()) return;
  }
  testing::Test::RecordProperty("cuts", std::to_string(tally.cuts));
  testing::Test::RecordProperty("decided_cuts", std::to_string(tally.decided_cuts));
  testing::Test::RecordProperty("exact_cuts", std::to_string(tally.exact_cuts));
  // An oracle that admits everything proves nothing: most cuts must have one answer only, and exact
  // arithmetic must agree with almost all draws.
  EXPECT_GE(tally.decided_cuts * 100, tally.cuts * grid.decided_percent);
  EXPECT_GE(tally.nominal_draws * 1000, tally.draws * 999);
  EXPECT_GE(tally.nominal_gumbel_draws * 100, tally.gumbel_draws * 99);
}

}  // namespace oracle_test
