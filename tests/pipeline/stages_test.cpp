// A call with stages, against the same call without any on rows that the oracle has edited and of
// which it left what the windows keep: every output is equal to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "../seed.h"
#include "adaptive_stage.h"
#include "handles.h"
#include "oracle.h"
#include "problem.h"

namespace pipeline_test::stages_test {
namespace {

constexpr std::uint64_t kNumProblems = affordable(600);

template <class T>
bool equal(const std::vector<T> &a, const std::vector<T> &b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

bool equal(const Sampled &a, const Sampled &b) {
  return equal(a.token_ids, b.token_ids) && equal(a.kept_counts, b.kept_counts) &&
         equal(a.logprobs, b.logprobs) && equal(a.observations, b.observations) &&
         equal(a.status, b.status);
}

std::vector<std::vector<float>> edited_rows(const Problem &problem) {
  std::vector<std::vector<float>> rows;
  for (std::int64_t row = 0; row < problem.num_rows(); ++row) rows.push_back(edited(problem, row));
  return rows;
}

// A row that is bad before any edit is bad with the same status: it is left as it is.
void keep_bad_rows(const Problem &problem, std::vector<std::vector<float>> *rows) {
  for (std::size_t i = 0; i < rows->size(); ++i) {
    bool is_bad = true;
    for (const float x : problem.rows[i]) is_bad = is_bad && std::isinf(x);
    if (is_bad) (*rows)[i] = problem.rows[i];
  }
}

float given_value(const Problem &problem, std::int64_t row, std::int32_t id) {
  const auto &values = problem.rows[static_cast<std::size_t>(row)];
  if (problem.candidate_ids.empty()) return values[static_cast<std::size_t>(id)];
  const auto &ids = problem.candidate_ids[static_cast<std::size_t>(row)];
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (ids[i] == id) return values[i];
  }
  return std::numeric_limits<float>::quiet_NaN();
}

// ln of the token's probability in the given row, at temperature 1.
double raw_logprob(const Problem &problem, std::int64_t row, float value) {
  long double sum = 0;
  const bool are_logits = problem.kind == SAMPLER_LOGITS;
  for (const float x : problem.rows[static_cast<std::size_t>(row)]) {
    sum += are_logits ? std::exp(static_cast<long double>(x)) : x;
  }
  const long double numerator = are_logits ? value : std::log(static_cast<long double>(value));
  return static_cast<double>(numerator - std::log(sum));
}

bool has_token(const std::vector<float> &row, sampler_input_kind kind) {
  const float nothing = kind == SAMPLER_LOGITS ? -std::numeric_limits<float>::infinity() : 0.0F;
  return std::any_of(row.begin(), row.end(), [&](float x) { return x > nothing; });
}

// What the stages leave of edited rows.
Expected expected_of(const Problem &problem, const std::vector<std::vector<float>> &rows,
                     bool has_coin) {
  Expected expected = {rows, {}};
  if (!problem.has_windows) return expected;
  expected.temperatures.assign(rows.size(), problem.params.temperature);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!has_token(rows[i], problem.kind)) continue;
    const Staged staged = keep_windows(problem, static_cast<std::int64_t>(i), rows[i], has_coin);
    expected.rows[i] = staged.values;
    expected.temperatures[i] = staged.temperature;
  }
  return expected;
}

// Rows that were good, and those of which something was observed, by sampler_adaptive_kind.
struct Tally {
  std::int64_t num_good = 0;
  std::int64_t num_observed[4] = {};
};

// Samples and filters one problem by both handles.
void check_problem(const Handles &handles, const Problem &problem, sampler_dtype dtype,
                   sampler_draw_method draw, Tally *tally) {
  auto rows = edited_rows(problem);
  keep_bad_rows(problem, &rows);
  const Expected staged = expected_of(problem, rows, true);
  const Expected without_coin = expected_of(problem, rows, false);
  const Call call(problem, dtype), expected_call(problem, SAMPLER_F32, &staged),
      expected_rows_call(problem, SAMPLER_F32, &without_coin);
  const sampler_t reference = handles.reference.get();
  Sampled expected = sample(reference, expected_call, SAMPLER_LOGPROB_PROCESSED, draw);
  adapt(problem, staged, draw, reference, &expected);
  for (const Handle *handle : {&handles.simd, &handles.reference}) {
    const Sampled sampled = sample(handle->get(), call, SAMPLER_LOGPROB_PROCESSED, draw);
    ASSERT_TRUE(equal(sampled, expected));
    const Sampled raw = sample(handle->get(), call, SAMPLER_LOGPROB_RAW, draw);
    ASSERT_TRUE(equal(raw.token_ids, expected.token_ids));
    ASSERT_TRUE(equal(raw.observations, expected.observations));
    for (std::int64_t row = 0; row < problem.num_rows(); ++row) {
      const auto i = static_cast<std::size_t>(row);
      if (expected.status[i] != SAMPLER_ROW_OK) {
        ASSERT_TRUE(std::isnan(raw.values[i]) && std::isnan(raw.logprobs[i]));
        continue;
      }
      ++tally->num_good;
      if (!std::isnan(raw.observations[i])) {
        ++tally->num_observed[problem.numbers(row).adaptive_kind];
      }
      const float value = given_value(problem, row, expected.token_ids[i]);
      ASSERT_EQ(raw.values[i], value);
      ASSERT_EQ(sampled.values[i], value);
      if (!has_token({value}, problem.kind)) {
        ASSERT_EQ(raw.logprobs[i], -std::numeric_limits<float>::infinity());
      } else {
        // Section 9's bound, and the sum's own rounding.
        ASSERT_NEAR(raw.logprobs[i], raw_logprob(problem, row, value), 1e-5);
      }
    }
    for (const auto kind : {SAMPLER_OUTPUT_PROBABILITIES, SAMPLER_OUTPUT_VALUES}) {
      if (kind == SAMPLER_OUTPUT_VALUES && problem.kind == SAMPLER_PROBABILITIES) continue;
      const Filtered filtered = filter(handle->get(), call, kind);
      Filtered expected_rows = filter(reference, expected_rows_call, kind);
      if (kind == SAMPLER_OUTPUT_PROBABILITIES) adapt(problem, without_coin, &expected_rows);
      ASSERT_TRUE(equal(filtered.status, expected_rows.status));
      ASSERT_TRUE(equal(filtered.kept_counts, expected_rows.kept_counts));
      for (std::size_t row = 0; row < rows.size(); ++row) {
        // A mask copies a bad row as it was given.
        if (filtered.status[row] != SAMPLER_ROW_OK && kind == SAMPLER_OUTPUT_VALUES) continue;
        const std::size_t width = static_cast<std::size_t>(problem.num_cols);
        ASSERT_EQ(std::memcmp(&filtered.output[row * width], &expected_rows.output[row * width],
                              width * sizeof(float)),
                  0);
      }
    }
  }
}

class Stages : public testing::TestWithParam<sampler_dtype> {};

// Every third problem draws by Gumbel's method.
sampler_draw_method draw_of(std::uint64_t seed) {
  return seed % 3 == 0 ? SAMPLER_DRAW_GUMBEL : SAMPLER_DRAW_INVERSE_CDF;
}

TEST_P(Stages, OfEditsEqualThoseOfTheOracle) {
  const Handles handles;
  Tally tally;
  for (std::uint64_t seed = 0; seed < kNumProblems && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = make_problem(seeded(seed * 3 + std::uint64_t(GetParam())));
    round_rows(&problem, GetParam());
    check_problem(handles, problem, GetParam(), draw_of(seed), &tally);
  }
  EXPECT_GT(tally.num_good, static_cast<std::int64_t>(2 * kNumProblems));
}

TEST_P(Stages, OfWindowsEqualThoseOfTheOracle) {
  const Handles handles;
  Tally tally;
  for (std::uint64_t seed = 0; seed < kNumProblems && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = make_staged_problem(seeded(seed * 3 + std::uint64_t(GetParam())));
    round_rows(&problem, GetParam());
    check_problem(handles, problem, GetParam(), draw_of(seed), &tally);
  }
  EXPECT_GT(tally.num_good, static_cast<std::int64_t>(2 * kNumProblems));
  EXPECT_EQ(tally.num_observed[SAMPLER_ADAPTIVE_NONE], 0);
  for (const int kind :
       {SAMPLER_ADAPTIVE_MIROSTAT_V1, SAMPLER_ADAPTIVE_MIROSTAT_V2, SAMPLER_ADAPTIVE_P}) {
    EXPECT_GT(tally.num_observed[kind], static_cast<std::int64_t>(kNumProblems / 8)) << kind;
  }
}

std::string name_of(const testing::TestParamInfo<sampler_dtype> &type) {
  const char *const names[] = {"F32", "F16", "BF16"};
  return names[type.param];
}

INSTANTIATE_TEST_SUITE_P(Types, Stages, testing::Values(SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16),
                         name_of);

// What a row yields depends on its own slot alone.
TEST(Edits, DoNotDependOnOtherRows) {
  const Handle handle = make_handle(nullptr, 1);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = make_problem(seeded(seed));
    if (!problem.has_slots) continue;
    const Sampled all = sample(handle.get(), Call(problem, SAMPLER_F32), SAMPLER_LOGPROB_RAW,
                               SAMPLER_DRAW_INVERSE_CDF);
    for (std::size_t row = 0; row < problem.rows.size(); ++row) {
      Problem alone = problem;
      alone.rows = {problem.rows[row]};
      if (!problem.candidate_ids.empty()) alone.candidate_ids = {problem.candidate_ids[row]};
      alone.slot_of_row = {problem.slot_of_row[row]};
      if (!problem.bitmasks.empty()) {
        alone.bitmask_indices = {problem.bitmask_indices.empty() ? static_cast<std::int32_t>(row)
                                                                 : problem.bitmask_indices[row]};
      }
      if (!problem.guidance.empty()) {
        alone.guidance_indices = {problem.guidance_indices.empty() ? static_cast<std::int32_t>(row)
                                                                   : problem.guidance_indices[row]};
      }
      const Sampled one = sample(handle.get(), Call(alone, SAMPLER_F32), SAMPLER_LOGPROB_RAW,
                                 SAMPLER_DRAW_INVERSE_CDF);
      ASSERT_EQ(one.token_ids[0], all.token_ids[row]);
      ASSERT_EQ(one.status[0], all.status[row]);
    }
  }
}

}  // namespace
}  // namespace pipeline_test::stages_test
