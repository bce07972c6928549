// Comparison of sampler_sample.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "../sized.h"
#include "compare.h"

namespace oracle_test {
namespace {

using oracle::Filters;
using oracle::Kept;
using oracle::Real;
using oracle::Row;
using oracle::RowStatus;

struct SampleResults {
  std::vector<std::int64_t> tokens;
  std::vector<std::int32_t> kept_counts;
  std::vector<float> logprobs, values;
  std::vector<sampler_row_status> statuses;
};

// Index of an output row's values in the arrays.
std::size_t slot_of(const CallSettings &settings, const std::vector<OutputRow> &outputs,
                    std::size_t i) {
  return settings.slots ? outputs.size() + 2 - i : i;
}

SampleResults sample(sampler_t sampler, const Batch &batch, const CallSettings &settings,
                     const std::vector<OutputRow> &outputs) {
  const std::size_t num_rows = outputs.size();
  const std::size_t num_slots = settings.slots ? num_rows + 5 : num_rows;
  const float nan = std::nanf("");
  Filters poison;
  poison.temperature = poison.top_p = poison.min_p = nan;
  ParameterArrays arrays(num_slots);
  std::vector<std::uint64_t> seeds(num_slots), offsets(num_slots);
  std::vector<std::uint32_t> streams(num_slots);
  std::vector<std::int32_t> indices, slots;
  for (std::size_t slot = 0; slot < num_slots; ++slot) arrays.set(slot, poison);
  for (std::size_t i = 0; i < num_rows; ++i) {
    const std::size_t slot = slot_of(settings, outputs, i);
    arrays.set(slot, outputs[i].filters);
    seeds[slot] = outputs[i].seed;
    offsets[slot] = outputs[i].offset;
    streams[slot] = outputs[i].stream;
    indices.push_back(static_cast<std::int32_t>(outputs[i].input_row));
    slots.push_back(static_cast<std::int32_t>(slot));
  }

  sampler_params params = c_params(settings.orders);
  const sampler_row_params row_params = arrays.view();
  SampleArgs args;
  args.input = batch.rows();
  args.row_indices = indices.data();
  args.num_row_indices = static_cast<std::int64_t>(num_rows);
  if (settings.slots) {
    args.slots = slots.data();
    args.num_slots = static_cast<std::int64_t>(num_slots);
  }
  args.params = &params;
  if (settings.parameter_arrays) {
    args.row_params = &row_params;
  } else {
    const Filters &first = outputs[0].filters;
    params.temperature = first.temperature;
    params.top_k = static_cast<std::int32_t>(first.top_k);
    params.top_p = first.top_p;
    params.min_p = first.min_p;
  }
  args.draw_method = settings.draw_method;
  args.report_args.logprob_kind = settings.logprob_kind;

  sampler_random &random = args.random;
  random.seed = outputs[0].seed;
  random.offset = outputs[0].offset;
  if (settings.seed_form == SeedForm::kArray) {
    random.seeds = seeds.data();
    random.num_seeds = static_cast<std::int64_t>(num_slots);
  }
  if (settings.seed_form == SeedForm::kArray || settings.seed_form == SeedForm::kOffsetArray) {
    random.offsets = offsets.data();
    random.num_offsets = static_cast<std::int64_t>(num_slots);
  }
  if (settings.seed_form == SeedForm::kDeviceScalar) {
    random.seeds = &outputs[0].seed;
    random.offsets = &outputs[0].offset;
    random.num_seeds = random.num_offsets = 1;
  }
  if (settings.seed_form == SeedForm::kStreams) random.streams = streams.data();

  SampleResults results;
  std::vector<std::int32_t> narrow(num_rows, -7);
  results.tokens.assign(num_rows, -7);
  results.kept_counts.assign(num_rows, -7);
  results.logprobs.assign(num_rows, 7.0F);
  results.values.assign(num_rows, 7.0F);
  results.statuses.assign(num_rows, 0xffffffffU);
  args.token_id_type = settings.wide_ids ? SAMPLER_ID_I64 : SAMPLER_ID_I32;
  args.out_token_ids = settings.wide_ids ? static_cast<void *>(results.tokens.data())
                                         : static_cast<void *>(narrow.data());
  args.report_args.out_kept_counts = results.kept_counts.data();
  args.report_args.out_logprobs = results.logprobs.data();
  args.report_args.out_values = results.values.data();
  args.out_row_status = results.statuses.data();
  EXPECT_EQ(sampler_sample(sampler, &args), SAMPLER_OK) << sampler_last_error();
  if (!settings.wide_ids) results.tokens.assign(narrow.begin(), narrow.end());
  return results;
}

// An output row's parameters as the form of the call changes them.
OutputRow effective(const CallSettings &settings, const std::vector<OutputRow> &outputs,
                    std::size_t i) {
  OutputRow output = outputs[i];
  const Filters given = settings.parameter_arrays ? output.filters : outputs[0].filters;
  Filters &filters = output.filters;
  filters = settings.orders;
  filters.temperature = given.temperature;
  filters.top_k = given.top_k;
  filters.top_p = given.top_p;
  filters.min_p = given.min_p;
  if (settings.seed_form != SeedForm::kArray) output.seed = outputs[0].seed;
  if (settings.seed_form != SeedForm::kArray && settings.seed_form != SeedForm::kOffsetArray) {
    output.offset = outputs[0].offset;
  }
  if (settings.seed_form == SeedForm::kArray) {
    output.stream = 0;
  } else if (settings.seed_form != SeedForm::kStreams) {
    output.stream = static_cast<std::uint32_t>(slot_of(settings, outputs, i));
  }
  return output;
}

bool same_filters(const Filters &a, const Filters &b) {
  return a.temperature == b.temperature && a.top_k == b.top_k && a.top_p == b.top_p &&
         a.min_p == b.min_p;
}

// The contract's tolerance for log-probabilities.
void compare_logprob(Real expected, float logprob) {
  if (std::isinf(expected)) {
    EXPECT_EQ(static_cast<Real>(logprob), expected);
    return;
  }
  const Real tolerance = std::max(1e-5L, 1e-6L * std::abs(expected));
  EXPECT_LE(std::abs(static_cast<Real>(logprob) - expected), tolerance)
      << logprob << " instead of " << expected;
}

void expect_bad_output(const SampleResults &results, std::size_t i) {
  EXPECT_EQ(results.tokens[i], -1);
  EXPECT_EQ(results.kept_counts[i], 0);
  EXPECT_TRUE(std::isnan(results.logprobs[i]));
  EXPECT_TRUE(std::isnan(results.values[i]));
}

void compare_draw(const Row &row, const OutputRow &output, const CallSettings &settings,
                  std::int64_t kept, std::int64_t token, float value,
                  const oracle::DrawTable &table, Tally *tally) {
  const auto id = static_cast<std::int32_t>(token);
  const std::int64_t rank = row.rank_of(id);
  ASSERT_GE(rank, 0) << "token " << token << " is not in the row";
  ASSERT_LT(rank, kept) << "token " << token << " was not kept";
  EXPECT_EQ(value, row.value(rank));
  const oracle::Draw draw = {output.seed, output.offset, output.stream};
  if (output.filters.temperature <= 1e-5F) {
    EXPECT_EQ(id, row.ids()[0]) << "greedy";
  } else if (settings.draw_method == SAMPLER_DRAW_GUMBEL) {
    const oracle::GumbelCheck check =
        oracle::check_gumbel(row, output.filters.temperature, kept, draw, id);
    EXPECT_LE(check.shortfall, check.tolerance)
        << "Gumbel chose " << id << ", not " << check.nominal;
    if (check.tolerance < 1e-3L) {
      ++tally->gumbel_draws;
      tally->nominal_gumbel_draws += id == check.nominal ? 1 : 0;
    }
  } else {
    const std::uint64_t word = oracle::word64(draw, oracle::kSample, 0);
    EXPECT_TRUE(table.admits(word, id)) << "drew " << id << ", not " << table.nominal(word);
    ++tally->draws;
    tally->nominal_draws += id == table.nominal(word) ? 1 : 0;
  }
}

}  // namespace

void compare_sampling(sampler_t sampler, const Batch &batch, const CallSettings &settings,
                      const std::vector<OutputRow> &outputs, Tally *tally) {
  const SampleResults results = sample(sampler, batch, settings, outputs);
  if (testing::Test::HasFailure()) return;
  Kept kept;
  std::unique_ptr<oracle::DrawTable> table;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const OutputRow output = effective(settings, outputs, i);
    const Filters &filters = output.filters;
    const Row &row = batch.row(output.input_row);
    SCOPED_TRACE(describe(batch, output.input_row, filters) + " output=" + std::to_string(i));
    const std::int64_t count = results.kept_counts[i];
    const bool is_same = i > 0 && outputs[i - 1].input_row == output.input_row &&
                         same_filters(filters, effective(settings, outputs, i - 1).filters);
    if (!is_same) kept = row.keep(filters);
    ASSERT_EQ(results.statuses[i], expected_status(batch, output.input_row, kept.status));
    if (kept.status != RowStatus::kOk) {
      expect_bad_output(results, i);
      continue;
    }
    if (is_same) {
      ASSERT_EQ(count, results.kept_counts[i - 1]) << "equal parameters, different kept counts";
    } else {
      compare_count(kept.all, count, tally);
      if (testing::Test::HasFailure()) return;
      table = std::make_unique<oracle::DrawTable>(row, filters.temperature, count);
    }
    compare_draw(row, output, settings, count, results.tokens[i], results.values[i], *table, tally);
    if (!testing::Test::HasFailure()) {
      const auto id = static_cast<std::int32_t>(results.tokens[i]);
      const bool is_raw = settings.logprob_kind == SAMPLER_LOGPROB_RAW;
      compare_logprob(
          is_raw ? row.logprob(id, 1.0F, row.size()) : row.logprob(id, filters.temperature, count),
          results.logprobs[i]);
    }
    if (testing::Test::HasFailure()) return;  // the first failure is enough
  }
}

}  // namespace oracle_test
