// The functions that draw tokens.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "compare.h"

namespace oracle_test {
namespace {

using oracle::FilterOrder;
using oracle::Filters;
using oracle::Kept;
using oracle::Real;
using oracle::Row;
using oracle::RowStatus;

struct SampleResults {
  std::vector<std::int64_t> tokens;
  std::vector<std::int32_t> kept_counts;
  std::vector<float> logprobs;  // empty where the function has none
  std::vector<sampler_row_status> statuses;
};

// The columns of a call that an array per output row has.
struct ParameterArrays {
  explicit ParameterArrays(const std::vector<OutputRow> &outputs) {
    for (const OutputRow &output : outputs) {
      indices.push_back(static_cast<std::int32_t>(output.input_row));
      temperatures.push_back(output.filters.temperature);
      top_ks.push_back(static_cast<std::int32_t>(output.filters.top_k));
      top_ps.push_back(output.filters.top_p);
      min_ps.push_back(output.filters.min_p);
      seeds.push_back(output.seed);
      offsets.push_back(output.offset);
    }
  }
  std::vector<std::int32_t> indices, top_ks;
  std::vector<float> temperatures, top_ps, min_ps;
  std::vector<std::uint64_t> seeds, offsets;
};

template <class Args>
void fill_sampling(const Batch &batch, const CallSettings &settings, const ParameterArrays &arrays,
                   SampleResults *results, std::vector<std::int32_t> *narrow_tokens, Args *args) {
  const auto num_rows = static_cast<std::int64_t>(arrays.indices.size());
  fill_source(batch, num_rows, args);
  args->input_kind = batch.kind();
  args->row_indices = arrays.indices.data();
  args->num_input_rows = batch.num_rows();
  args->token_id_type = settings.wide_ids ? SAMPLER_ID_I64 : SAMPLER_ID_I32;
  args->temperature = settings.parameter_arrays ? 1.0F : arrays.temperatures[0];
  args->temperatures = settings.parameter_arrays ? arrays.temperatures.data() : nullptr;
  args->draw_method = settings.draw_method;

  const bool one_seed = settings.seed_form != SeedForm::kArray;
  const bool scalars = settings.seed_form == SeedForm::kScalar;
  args->seed = arrays.seeds[0];
  args->offset = arrays.offsets[0];
  if (!scalars && settings.seed_form != SeedForm::kOffsetArray) {
    args->seeds = arrays.seeds.data();
    args->num_seeds = one_seed ? 1 : num_rows;
  }
  if (!scalars) {
    args->offsets = arrays.offsets.data();
    args->num_offsets = settings.seed_form == SeedForm::kDeviceScalar ? 1 : num_rows;
  }

  results->kept_counts.assign(arrays.indices.size(), -7);
  results->statuses.assign(arrays.indices.size(), 0xffffffffU);
  args->out_kept_counts = results->kept_counts.data();
  args->out_row_status = results->statuses.data();
  results->tokens.assign(arrays.indices.size(), -7);
  narrow_tokens->assign(arrays.indices.size(), -7);
  args->out_token_ids = settings.wide_ids ? static_cast<void *>(results->tokens.data())
                                          : static_cast<void *>(narrow_tokens->data());
}

template <class Args>
void fill_top_k(const CallSettings &settings, const ParameterArrays &arrays, Args *args) {
  args->top_k = settings.parameter_arrays ? 0 : arrays.top_ks[0];
  args->top_ks = settings.parameter_arrays ? arrays.top_ks.data() : nullptr;
  args->top_k_ties = c_ties(settings.orders.top_k_ties);
}

template <class Args>
void fill_top_p(const CallSettings &settings, const ParameterArrays &arrays, Args *args) {
  args->top_p = settings.parameter_arrays ? 1.0F : arrays.top_ps[0];
  args->top_ps = settings.parameter_arrays ? arrays.top_ps.data() : nullptr;
  args->top_p_ties = c_ties(settings.orders.top_p_ties);
  args->temperature_order = c_temperature_order(settings.orders.temperature_order);
}

template <class Args>
void fill_min_p(const CallSettings &settings, const ParameterArrays &arrays, Args *args) {
  args->min_p = settings.parameter_arrays ? 0.0F : arrays.min_ps[0];
  args->min_ps = settings.parameter_arrays ? arrays.min_ps.data() : nullptr;
  args->temperature_order = c_temperature_order(settings.orders.temperature_order);
}

sampler_status call(sampler_t sampler, const Batch &batch, const CallSettings &settings,
                    const ParameterArrays &arrays, SampleResults *results,
                    std::vector<std::int32_t> *narrow) {
  switch (settings.function) {
    case Function::kSample: {
      sampler_sample_args args = SAMPLER_SAMPLE_ARGS_INIT;
      fill_sampling(batch, settings, arrays, results, narrow, &args);
      fill_top_k(settings, arrays, &args);
      fill_top_p(settings, arrays, &args);
      fill_min_p(settings, arrays, &args);
      args.filter_order = c_order(settings.orders.filter_order);
      args.logprob_kind = settings.logprob_kind;
      results->logprobs.assign(arrays.indices.size(), 7.0F);
      args.out_logprobs = results->logprobs.data();
      return sampler_sample(sampler, &args);
    }
    case Function::kTopKTopP: {
      sampler_top_k_top_p_args args = SAMPLER_TOP_K_TOP_P_ARGS_INIT;
      fill_sampling(batch, settings, arrays, results, narrow, &args);
      fill_top_k(settings, arrays, &args);
      fill_top_p(settings, arrays, &args);
      args.filter_order = c_order(settings.orders.filter_order);
      return sampler_top_k_top_p(sampler, &args);
    }
    case Function::kTopK: {
      sampler_top_k_args args = SAMPLER_TOP_K_ARGS_INIT;
      fill_sampling(batch, settings, arrays, results, narrow, &args);
      fill_top_k(settings, arrays, &args);
      return sampler_top_k(sampler, &args);
    }
    case Function::kTopP: {
      sampler_top_p_args args = SAMPLER_TOP_P_ARGS_INIT;
      fill_sampling(batch, settings, arrays, results, narrow, &args);
      fill_top_p(settings, arrays, &args);
      return sampler_top_p(sampler, &args);
    }
    case Function::kMinP: {
      sampler_min_p_args args = SAMPLER_MIN_P_ARGS_INIT;
      fill_sampling(batch, settings, arrays, results, narrow, &args);
      fill_min_p(settings, arrays, &args);
      return sampler_min_p(sampler, &args);
    }
  }
  return SAMPLER_ERROR_INTERNAL;
}

// What the function and the form of the call make of an output row's parameters.
OutputRow effective(const CallSettings &settings, const std::vector<OutputRow> &outputs,
                    std::size_t i) {
  OutputRow output = outputs[i];
  if (!settings.parameter_arrays) output.filters = outputs[0].filters;
  if (settings.seed_form != SeedForm::kArray) output.seed = outputs[0].seed;
  if (settings.seed_form == SeedForm::kScalar || settings.seed_form == SeedForm::kDeviceScalar) {
    output.offset = outputs[0].offset;
  }
  const Filters given = output.filters;
  Filters &filters = output.filters;
  filters = settings.orders;
  filters.temperature = given.temperature;
  const Function f = settings.function;
  const bool has_k = f == Function::kSample || f == Function::kTopKTopP || f == Function::kTopK;
  const bool has_p = f == Function::kSample || f == Function::kTopKTopP || f == Function::kTopP;
  const bool has_min_p = f == Function::kSample || f == Function::kMinP;
  filters.top_k = has_k ? given.top_k : 0;
  filters.top_p = has_p ? given.top_p : 1.0F;
  filters.min_p = has_min_p ? given.min_p : 0.0F;
  if (f != Function::kSample && f != Function::kTopKTopP) {
    filters.filter_order = FilterOrder::kSequential;
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
  if (!results.logprobs.empty()) {
    EXPECT_TRUE(std::isnan(results.logprobs[i]));
  }
}

void compare_draw(const Row &row, const OutputRow &output, const CallSettings &settings,
                  std::int64_t kept, std::size_t i, std::int64_t token,
                  const oracle::DrawTable &table, Tally *tally) {
  const auto id = static_cast<std::int32_t>(token);
  const std::int64_t rank = row.rank_of(id);
  ASSERT_GE(rank, 0) << "token " << token << " is not in the row";
  ASSERT_LT(rank, kept) << "token " << token << " was not kept";
  const std::uint32_t stream =
      settings.seed_form == SeedForm::kArray ? 0 : static_cast<std::uint32_t>(i);
  const oracle::Draw draw = {output.seed, output.offset, stream};
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
  const ParameterArrays arrays(outputs);
  SampleResults results;
  std::vector<std::int32_t> narrow;
  ASSERT_EQ(call(sampler, batch, settings, arrays, &results, &narrow), SAMPLER_OK)
      << sampler_last_error();
  if (!settings.wide_ids) results.tokens.assign(narrow.begin(), narrow.end());

  Kept kept;
  std::unique_ptr<oracle::DrawTable> table;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const OutputRow output = effective(settings, outputs, i);
    const Filters &filters = output.filters;
    const Row &row = batch.row(output.input_row);
    SCOPED_TRACE(describe(batch, output.input_row, filters) + " output=" + std::to_string(i) +
                 " function=" + std::to_string(static_cast<int>(settings.function)));
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
    compare_draw(row, output, settings, count, i, results.tokens[i], *table, tally);
    if (!results.logprobs.empty() && !testing::Test::HasFailure()) {
      const auto id = static_cast<std::int32_t>(results.tokens[i]);
      const bool is_raw = settings.logprob_kind == SAMPLER_LOGPROB_RAW;
      compare_logprob(
          is_raw ? row.logprob(id, 1.0F, row.size()) : row.logprob(id, filters.temperature, count),
          results.logprobs[i]);
    }
    if (testing::Test::HasFailure()) return;  // the first failure tells enough
  }
}

}  // namespace oracle_test
