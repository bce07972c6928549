// Stages of long rows, and of rows with ties, by each instruction set that the machine has: what
// the scalar reference makes of them by sorting, to the bit. (stages_test.cpp has the oracle.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "../seed.h"
#include "../sized.h"
#include "handles.h"
#include "problem.h"
#include "reported.h"

namespace pipeline_test::row_kinds_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

constexpr std::uint64_t kNumProblems = affordable(400);

enum class Kind {
  kNormal,
  kRanked,   // as of a language model, in random order
  kRounded,  // few values, each many times
  kTwoValues,
  kEqual,
  kPeaked,    // one token weighs most of all
  kMasked,    // most tokens have none
  kZeros,     // of both signs, among others
  kNearTies,  // neighbouring values
  kHuge,      // their differences overflow
  kCount
};

float one_of(Random &random, std::initializer_list<float> values) {
  return values.begin()[random.between(0, static_cast<std::int64_t>(values.size()) - 1)];
}

float normal(Random &random) {
  float sum = 0;
  for (int i = 0; i < 12; ++i) sum += random.unit();
  return sum - 6;
}

std::vector<float> make_row(Random &random, Kind kind, std::int64_t count) {
  std::vector<float> row(static_cast<std::size_t>(count));
  const float width = one_of(random, {0.01F, 0.5F, 1, 3, 8});
  const float near = random.within(-20, 20);
  for (float &x : row) {
    switch (kind) {
      case Kind::kRanked:
        x = -1.1F * std::log(1 + random.unit() * static_cast<float>(count)) + 0.3F * normal(random);
        break;
      case Kind::kRounded:
        x = std::round(4 * width * normal(random)) / 4;
        break;
      case Kind::kTwoValues:
        x = random.one_in(3) ? width : -width;
        break;
      case Kind::kEqual:
        x = width;
        break;
      case Kind::kMasked:
        x = random.one_in(9) ? width * normal(random) : -kInfinity;
        break;
      case Kind::kZeros:
        x = random.one_in(3) ? 0.0F : random.one_in(2) ? -0.0F : width * normal(random);
        break;
      case Kind::kNearTies:
        x = near * (1 + static_cast<float>(random.between(0, 9)) * 0x1p-23F);
        break;
      case Kind::kHuge:
        x = one_of(random, {3e38F, -3e38F, 1e30F, 0, 3.3e38F, -1e20F});
        break;
      default:
        x = width * normal(random);
    }
  }
  if (kind == Kind::kPeaked) row[row.size() / 3] = 5 * width + 6;
  return row;
}

// Edits of tokens all over the row, and of those that are likely.
void spread_edits(Random &random, Problem *problem) {
  for (Slot &slot : problem->slots) {
    slot.biased.clear();
    slot.biases.clear();
    for (std::int64_t n = random.between(0, 40); n > 0; --n) {
      slot.biased.push_back(random.between(0, problem->num_cols - 1));
      slot.biases.push_back(random.one_in(9) ? -kInfinity : random.within(-9, 15));
    }
    for (std::int64_t &id : slot.history) {
      if (random.one_in(3)) id = random.between(0, problem->num_cols - 1);
    }
    for (std::int64_t &id : slot.banned) id = random.between(0, problem->num_cols - 1);
  }
  if (!random.one_in(3)) problem->has_dense_bias = problem->has_allowed = false;
  if (!random.one_in(3)) return;
  problem->bitmask_stride = random.one_in(4) ? 1 : 0;
  for (std::int64_t i = 0; i < problem->num_rows(); ++i) {
    const std::int64_t words = problem->bitmask_stride ? 1 : (problem->num_cols + 31) / 32;
    const bool is_strict = random.one_in(2);
    std::vector<std::uint32_t> mask(static_cast<std::size_t>(words));
    for (std::uint32_t &word : mask) {
      word = static_cast<std::uint32_t>(random.between(0, UINT32_MAX));
      if (is_strict && !random.one_in(5)) word = 0;
    }
    mask[0] |= 2;
    problem->bitmasks.push_back(mask);
  }
}

Problem make_long_problem(std::uint64_t seed) {
  Problem problem = make_staged_problem(seeded(seed));
  Random random(seeded(seed * 77 + 5));
  problem.candidate_ids.clear();
  problem.bitmasks.clear();
  problem.bitmask_indices.clear();
  problem.has_counts = false;
  problem.num_cols = one_of(random, {40, 260, 700, 5000, 12000}) + static_cast<float>(seed % 40);
  problem.dense_bias_stride = 0;
  problem.resize_guidance();
  for (Slot &slot : problem.slots) {
    slot.dense_bias.resize(static_cast<std::size_t>(problem.num_cols), 0.5F);
    for (float &x : slot.dense_bias) x = std::round(x);
    if (!random.one_in(3)) slot.numbers.dynamic_temperature_range = 0;
  }
  spread_edits(random, &problem);
  if (random.one_in(3)) problem.has_windows = false;
  if (problem.has_windows && random.one_in(6)) {  // min_keep beyond a top-k that comes first
    problem.stages = {1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19};
    problem.params.filter_order = SAMPLER_FILTERS_SEQUENTIAL;
    problem.params.temperature_order = SAMPLER_TEMPERATURE_FIRST;
    problem.params.top_k_ties = SAMPLER_TIES_EXACT;
    problem.params.top_k = static_cast<std::int32_t>(random.between(1, 3));
    for (Slot &slot : problem.slots) {
      slot.numbers.min_keep = static_cast<std::int32_t>(random.between(2, 300));
    }
  } else if (random.one_in(3)) {
    problem.params.top_k = static_cast<std::int32_t>(random.between(1, 9000));
  }
  for (auto &row : problem.rows) {
    const auto kind = Kind(random.between(0, int(Kind::kCount) - 1));
    row = make_row(random, kind, problem.num_cols);
    if (random.one_in(20)) std::fill(row.begin(), row.end(), -kInfinity);
    if (random.one_in(20)) {
      const std::int64_t place = random.between(0, problem.num_cols - 1);
      row[static_cast<std::size_t>(place)] = one_of(random, {kInfinity, std::nanf("")});
    }
    if (problem.kind != SAMPLER_PROBABILITIES) continue;
    for (float &x : row)
      x = std::isfinite(x) ? std::exp2(std::max(std::min(x, 90.0F), -140.0F)) : 0;
  }
  return problem;
}

template <class T>
::testing::AssertionResult equal(const char *what, const std::vector<T> &a,
                                 const std::vector<T> &b) {
  if (a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << what;
}

// Random reports of a call, of any row space.
Reported random_reports(sampler_t sampler, const Problem &problem, const Call &call,
                        std::uint64_t seed) {
  Random random(seeded(seed));
  const std::int64_t width = problem.num_cols;
  Sizes sizes;
  const std::int64_t tops[] = {0, 1, 20, 300};
  sizes.top = std::min(tops[random.between(0, 3)], width);
  sizes.chosen = 3;
  sizes.kept = random.one_in(2) ? width : random.between(1, 40);
  sizes.removed_by = random.one_in(4);
  std::vector<std::int64_t> chosen(static_cast<std::size_t>(problem.num_rows() * sizes.chosen));
  for (std::int64_t &id : chosen) id = random.between(0, width - 1);
  auto args = call.args<SampleArgs>();
  args.random.seeds = call.seeds.data();
  args.random.num_seeds = call.num_slots;
  args.random.offset = Call::kOffset;
  args.report_args.logprob_kind = static_cast<sampler_logprob_kind>(random.between(0, 2));
  return report(sampler, args, problem.num_rows(), sizes, chosen);
}

void expect_equal(const Reported &got, const Reported &expected) {
  EXPECT_TRUE(equal("reported status", got.status, expected.status));
  EXPECT_TRUE(equal("reported ids", got.token_ids, expected.token_ids));
  assert_same_reports(got, expected);
  EXPECT_TRUE(equal("removed by", got.removed_by, expected.removed_by));
}

class RowKinds : public testing::TestWithParam<std::string> {};

TEST_P(RowKinds, HaveTheStagesOfTheReference) {
  const Handle handle = make_handle(GetParam().c_str(), 1), reference = make_handle("scalar", 1);
  if (!handle) GTEST_SKIP() << "the machine does not have it";
  for (std::uint64_t seed = 0; seed < kNumProblems && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = make_long_problem(seed);
    const auto dtype = static_cast<sampler_dtype>(seed % 4 == 3 ? seed / 4 % 3 : 0);
    const Call call(problem, dtype);
    const auto draw = seed % 3 == 0 ? SAMPLER_DRAW_GUMBEL : SAMPLER_DRAW_INVERSE_CDF;
    const Sampled sampled = sample(handle.get(), call, SAMPLER_LOGPROB_PROCESSED, draw);
    const Sampled expected = sample(reference.get(), call, SAMPLER_LOGPROB_PROCESSED, draw);
    EXPECT_TRUE(equal("status", sampled.status, expected.status));
    EXPECT_TRUE(equal("kept counts", sampled.kept_counts, expected.kept_counts));
    EXPECT_TRUE(equal("ids", sampled.token_ids, expected.token_ids));
    EXPECT_TRUE(equal("log-probabilities", sampled.logprobs, expected.logprobs));
    EXPECT_TRUE(equal("values", sampled.values, expected.values));
    EXPECT_TRUE(equal("observations", sampled.observations, expected.observations));
    EXPECT_TRUE(
        equal("ids alone", sample_ids(handle.get(), call), sample_ids(reference.get(), call)));
    const Sampled raw = sample(handle.get(), call, SAMPLER_LOGPROB_RAW, draw);
    const Sampled expected_raw = sample(reference.get(), call, SAMPLER_LOGPROB_RAW, draw);
    EXPECT_TRUE(equal("raw log-probabilities", raw.logprobs, expected_raw.logprobs));
    expect_equal(random_reports(handle.get(), problem, call, seed),
                 random_reports(reference.get(), problem, call, seed));
    for (const auto kind : {SAMPLER_OUTPUT_PROBABILITIES, SAMPLER_OUTPUT_VALUES}) {
      if (kind == SAMPLER_OUTPUT_VALUES && problem.kind == SAMPLER_PROBABILITIES) continue;
      const Filtered filtered = filter(handle.get(), call, kind);
      const Filtered expected_rows = filter(reference.get(), call, kind);
      EXPECT_TRUE(equal("filtered kept counts", filtered.kept_counts, expected_rows.kept_counts));
      EXPECT_TRUE(equal("filtered rows", filtered.output, expected_rows.output)) << int(kind);
    }
  }
}

// Rows side by side, by one set of parameters. The tokens are what is asked for.
SampleArgs args_of(const std::vector<float> &rows, std::int64_t num_rows,
                   const sampler_params *params, std::vector<std::int32_t> *ids) {
  SampleArgs args;
  args.input.values = rows.data();
  args.input.num_rows = num_rows;
  args.input.num_cols = std::int64_t(rows.size()) / num_rows;
  args.params = params;
  args.out_token_ids = ids->data();
  return args;
}

void sample(sampler_t sampler, SampleArgs *args) {
  const auto memory = workspace_of(sampler, args, &sampler_sample_workspace_size);
  EXPECT_EQ(sampler_sample(sampler, args), SAMPLER_OK) << sampler_last_error();
}

// Typical-p of rows that keep most of their tokens, and begin with one that others tie with: draws
// with nothing else asked pass over those before it.
TEST_P(RowKinds, DrawAloneWhatTypicalPKeeps) {
  const Handle handle = make_handle(GetParam().c_str(), 1), reference = make_handle("scalar", 1);
  if (!handle) GTEST_SKIP() << "the machine does not have it";
  constexpr std::int64_t kCols = 9000;
  constexpr std::size_t kDraws = 200;
  Random random(seeded(2));
  for (const float step : {0.0F, 0x1p-9F, 0.25F}) {
    std::vector<float> row(kCols);
    for (float &x : row) {
      const float value = (step == 0 ? 0.01F : 1.0F) * normal(random);
      x = step == 0 ? value : std::round(value / step) * step;
    }
    sampler_params params = sampler_params_default();
    params.typical_p = 0.9F;
    std::vector<std::uint64_t> seeds(kDraws);
    for (std::size_t i = 0; i < kDraws; ++i) seeds[i] = i;
    const std::vector<std::int32_t> rows(kDraws, 0);
    const auto draw = [&](sampler_t sampler, bool counts) {
      std::vector<std::int32_t> ids(kDraws, -7), kept_counts(kDraws);
      SampleArgs args = args_of(row, 1, &params, &ids);
      args.row_indices = rows.data();
      args.num_row_indices = std::int64_t(kDraws);
      args.random.seeds = seeds.data();
      args.random.num_seeds = std::int64_t(kDraws);
      if (counts) args.report_args.out_kept_counts = kept_counts.data();
      sample(sampler, &args);
      return ids;
    };
    const std::vector<std::int32_t> alone = draw(handle.get(), false);
    EXPECT_TRUE(equal("ids", alone, draw(reference.get(), false))) << step;
    EXPECT_TRUE(equal("ids with counts", draw(handle.get(), true), alone)) << step;
  }
}

// Windows that begin after a row's first tokens. The first of some rows are tied at 0, of which XTC
// keeps the last; and top-h looks at fewer tokens than are to be kept.
TEST_P(RowKinds, KeepWhatFollowsTheFirstTokens) {
  const Handle handle = make_handle(GetParam().c_str(), 1), reference = make_handle("scalar", 1);
  if (!handle) GTEST_SKIP() << "the machine does not have it";
  Random random(seeded(3));
  for (const std::int64_t num_cols : {1000, 8000, 20011}) {
    std::vector<float> tied(static_cast<std::size_t>(num_cols)), rounded = tied;
    for (std::size_t i = 0; i < tied.size(); ++i) {
      tied[i] = i % 97 == 0 ? 0.0F : i % 97 == 1 ? -0.0F : -1 - std::fabs(normal(random));
      rounded[i] = std::round(64 * normal(random)) / 64;
    }
    sampler_params last = sampler_params_default(), many = sampler_params_default();
    const sampler_stage order[] = {SAMPLER_STAGE_MIN_K, SAMPLER_STAGE_XTC, SAMPLER_STAGE_TOP_P};
    std::copy(std::begin(order), std::end(order), last.stages);
    last.min_k = 50;
    last.xtc_probability = 1;
    last.xtc_threshold = -1;
    last.top_p = 0.5F;
    many.typical_p = 0.9F;
    many.top_h = 0.4F;
    many.min_keep = 300;
    for (const auto &[row, params] : {std::pair(&tied, &last), std::pair(&rounded, &many)}) {
      const auto draw = [&](sampler_t sampler, bool counts) {
        std::vector<std::int32_t> ids(1, -7), kept_counts(1);
        SampleArgs args = args_of(*row, 1, params, &ids);
        args.random.seed = 7;
        if (counts) args.report_args.out_kept_counts = kept_counts.data();
        sample(sampler, &args);
        return std::make_pair(ids[0], kept_counts[0]);
      };
      const auto expected = draw(reference.get(), true);
      EXPECT_EQ(draw(handle.get(), true), expected) << num_cols;
      EXPECT_EQ(draw(handle.get(), false).first, expected.first) << num_cols;
    }
  }
}

// Edits of a row in which tokens are drawn by weights alone: biases of tokens all over it, or of
// the likeliest, a text of few tokens and of many, and a bitmask.
struct Edited {
  std::vector<std::int32_t> biased, text;
  std::vector<float> biases;
  std::vector<std::uint32_t> mask;  // empty: none
};

Edited random_edits(Random &random, const std::vector<float> &row) {
  const auto cols = static_cast<std::int64_t>(row.size());
  std::vector<std::int32_t> likeliest(row.size());
  std::iota(likeliest.begin(), likeliest.end(), 0);
  std::stable_sort(likeliest.begin(), likeliest.end(), [&](std::int32_t a, std::int32_t b) {
    return row[static_cast<std::size_t>(a)] > row[static_cast<std::size_t>(b)];
  });
  const bool are_likely = random.one_in(2);
  const auto some = [&](std::int64_t most) {
    std::vector<std::int32_t> ids;
    for (std::int64_t n = random.between(0, most); n > 0; --n) {
      const std::int64_t place = random.between(0, random.one_in(2) ? 9 : cols - 1);
      ids.push_back(are_likely ? likeliest[static_cast<std::size_t>(place)]
                               : static_cast<std::int32_t>(place));
    }
    return ids;
  };
  Edited edited;
  edited.biased = some(40);
  edited.text = some(cols / 20);
  for (std::size_t i = 0; i < edited.biased.size(); ++i) {
    const float bias = random.within(-4, 2);
    edited.biases.push_back(random.one_in(4)   ? -kInfinity
                            : random.one_in(2) ? std::round(4 * bias) / 4  // may make ties
                                               : bias);
  }
  if (random.one_in(2)) return edited;
  const bool is_strict = random.one_in(3);
  for (std::int64_t i = 0; i < (cols + 31) / 32; ++i) {
    const bool is_empty = is_strict && !random.one_in(60);
    edited.mask.push_back(is_empty ? 0U
                                   : static_cast<std::uint32_t>(random.between(0, UINT32_MAX)));
  }
  return edited;
}

// Draws from edited rows, at temperatures without filters and with min-p, with log-probabilities.
// Those that count the kept tokens, too, copy the row.
// A token that is left out may exceed the largest of the others by more than f32 holds.
TEST_P(RowKinds, LeaveOutHugeTokens) {
  const Handle handle = make_handle(GetParam().c_str(), 1), reference = make_handle("scalar", 1);
  if (!handle) GTEST_SKIP() << "the machine does not have it";
  constexpr std::int64_t kRows = 4;
  for (const std::int64_t cols : {300, 5000}) {
    for (const float temperature : {0.5F, 1.0F, 2e-5F}) {
      for (const bool by_mask : {false, true}) {
        SCOPED_TRACE(testing::Message() << cols << ", " << temperature << ", " << by_mask);
        Random random(seeded(static_cast<std::uint64_t>(cols)));
        std::vector<float> rows = make_row(random, Kind(0), kRows * cols);
        const std::int64_t huge = cols / 3;
        for (std::int64_t row = 0; row < kRows; ++row) {
          rows[static_cast<std::size_t>(row * cols + huge)] = 3e38F;
        }
        std::vector<std::uint32_t> mask(static_cast<std::size_t>(cols + 31) / 32, ~0U);
        mask[static_cast<std::size_t>(huge) / 32] &= ~(1U << (huge % 32));
        const std::vector<std::int32_t> mask_indices(kRows, 0);
        const std::int64_t offsets[] = {0, 1};
        const std::int32_t banned[] = {static_cast<std::int32_t>(huge)};
        sampler_params params = sampler_params_default();
        params.temperature = temperature;
        const auto draw = [&](sampler_t sampler) {
          std::vector<std::int32_t> ids(kRows, -7);
          sampler_pipeline pipeline = {};
          pipeline.struct_size = sizeof pipeline;
          if (by_mask) {
            pipeline.token_bitmasks = mask.data();
            pipeline.num_token_bitmasks = 1;
            pipeline.token_bitmask_indices = mask_indices.data();
          } else {
            pipeline.banned = {offsets, banned, 1, 1};
          }
          SampleArgs args = args_of(rows, kRows, &params, &ids);
          args.pipeline = &pipeline;
          sample(sampler, &args);
          return ids;
        };
        EXPECT_EQ(draw(handle.get()), draw(reference.get()));
      }
    }
  }
}

TEST_P(RowKinds, DrawAloneFromEditedRows) {
  const Handle handle = make_handle(GetParam().c_str(), 1), reference = make_handle("scalar", 1);
  if (!handle) GTEST_SKIP() << "the machine does not have it";
  constexpr std::int64_t kRows = 12;
  for (std::uint64_t seed = 0; seed < affordable(300) && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seeded(seed * 31 + 9));
    const auto cols = static_cast<std::int64_t>(one_of(random, {300, 2048, 5000, 12001}));
    const std::vector<float> row = make_row(random, Kind(seed % int(Kind::kCount)), cols);
    const Edited edited = random_edits(random, row);
    sampler_params params = sampler_params_default();
    params.temperature = one_of(random, {0.5F, 0.8F, 1, 3});
    params.min_p = random.one_in(3) ? one_of(random, {1e-4F, 0.02F, 0.5F}) : 0;
    params.repetition_penalty = one_of(random, {1, 1.2F, 0.9F});
    params.frequency_penalty = one_of(random, {0, 0.3F, -0.2F});
    params.presence_penalty = one_of(random, {0, 0.1F});
    std::vector<float> rows;
    std::vector<std::uint16_t> halves;  // the same as bf16, rounded down
    for (std::int64_t i = 0; i < kRows; ++i) rows.insert(rows.end(), row.begin(), row.end());
    for (const float x : rows) {
      std::uint32_t bits;
      std::memcpy(&bits, &x, sizeof bits);
      halves.push_back(static_cast<std::uint16_t>(bits >> 16));
    }
    const bool is_bf16 = random.one_in(3);
    std::vector<std::uint64_t> seeds(kRows);
    std::iota(seeds.begin(), seeds.end(), seed * kRows);
    const std::int64_t text[] = {0, std::int64_t(edited.text.size())};
    const std::int64_t biased[] = {0, std::int64_t(edited.biased.size())};
    const std::vector<std::int32_t> mask_indices(kRows, 0);
    const bool has_logprobs = !random.one_in(3);
    const auto logprob_kind = static_cast<sampler_logprob_kind>(random.between(0, 2));
    const auto draw = [&](sampler_t sampler, bool counts) {
      std::vector<std::int32_t> ids(kRows, -7), kept_counts(kRows);
      std::vector<float> logprobs(kRows);
      sampler_pipeline pipeline = {};
      pipeline.struct_size = sizeof pipeline;
      pipeline.history = {text, edited.text.data(), 1, text[1]};
      pipeline.biased = {biased, edited.biased.data(), 1, biased[1]};
      pipeline.biases = edited.biases.data();
      if (!edited.mask.empty()) {
        pipeline.token_bitmasks = edited.mask.data();
        pipeline.num_token_bitmasks = 1;
        pipeline.token_bitmask_indices = mask_indices.data();
      }
      SampleArgs args = args_of(rows, kRows, &params, &ids);
      if (is_bf16) {
        args.input.values = halves.data();
        args.input.dtype = SAMPLER_BF16;
      }
      args.pipeline = &pipeline;
      args.random.seeds = seeds.data();
      args.random.num_seeds = kRows;
      if (counts) args.report_args.out_kept_counts = kept_counts.data();
      if (has_logprobs) args.report_args.out_logprobs = logprobs.data();
      args.report_args.logprob_kind = logprob_kind;
      sample(sampler, &args);
      ids.resize(2 * kRows);
      std::memcpy(&ids[kRows], logprobs.data(), kRows * sizeof(float));
      return ids;
    };
    const std::vector<std::int32_t> alone = draw(handle.get(), false);
    EXPECT_TRUE(equal("ids and log-probabilities", alone, draw(reference.get(), false)));
    EXPECT_TRUE(equal("ids and log-probabilities with counts", draw(handle.get(), true), alone));
  }
}

// A temperature of 0 after typical-p takes the first token that is left, of many rows.
TEST_P(RowKinds, TakeTheFirstTokenThatTypicalPKeeps) {
  const Handle handle = make_handle(GetParam().c_str(), 1), reference = make_handle("scalar", 1);
  if (!handle) GTEST_SKIP() << "the machine does not have it";
  constexpr std::int64_t kCols = 9000, kRows = 8;
  Random random(seeded(4));
  std::vector<float> rows(kRows * kCols);
  for (float &x : rows) x = normal(random);
  sampler_params params = sampler_params_default();
  params.typical_p = 0.5F;
  params.dynamic_temperature_range = 1;
  params.dynamic_temperature_exponent = 1e6F;
  params.stages[0] = SAMPLER_STAGE_TYPICAL_P;
  params.stages[1] = SAMPLER_STAGE_TEMPERATURE;
  const auto take = [&](sampler_t sampler) {
    std::vector<std::int32_t> ids(kRows, -7);
    SampleArgs args = args_of(rows, kRows, &params, &ids);
    sample(sampler, &args);
    return ids;
  };
  EXPECT_TRUE(equal("ids", take(handle.get()), take(reference.get())));
}

// A third of the weight lies side by side: a sample of the row has much more of it, or none.
TEST_P(RowKinds, KeepWhatTypicalPDoesWhereASampleMisleads) {
  const Handle handle = make_handle(GetParam().c_str(), 1), reference = make_handle("scalar", 1);
  if (!handle) GTEST_SKIP() << "the machine does not have it";
  constexpr std::int64_t kCols = 9000, kCluster = 320, kRows = 12;
  Random random(seeded(3));
  std::vector<float> rows(kRows * kCols);
  for (std::int64_t r = 0; r < kRows; ++r) {
    float *const row = rows.data() + r * kCols;
    const std::int64_t begin = 512 * (r + 2) + 96;
    for (std::int64_t i = 0; i < kCols; ++i) {
      const bool is_heavy = i >= begin && i < begin + kCluster;
      row[i] = (is_heavy ? 2.45F : 0.0F) + 0.05F * normal(random);
    }
  }
  for (const float p : {0.2F, 0.5F, 0.8F, 0.9F, 0.97F}) {
    sampler_params params = sampler_params_default();
    params.typical_p = p;
    const auto kept_counts = [&](sampler_t sampler) {
      std::vector<std::int32_t> ids(kRows), counts(kRows, -7);
      SampleArgs args = args_of(rows, kRows, &params, &ids);
      args.report_args.out_kept_counts = counts.data();
      sample(sampler, &args);
      return counts;
    };
    EXPECT_EQ(kept_counts(handle.get()), kept_counts(reference.get())) << p;
  }
}

// XTC that drops all but the last of the likeliest tokens, which tie. It stands in the middle of
// the row, so that the others come before it and the rest on both sides.
TEST_P(RowKinds, LoseTiesBeforeTheFirstTokenKept) {
  const Handle handle = make_handle(GetParam().c_str(), 1);
  if (!handle) GTEST_SKIP() << "the machine does not have it";
  constexpr std::int64_t kCols = 9000;
  std::vector<float> row(kCols);
  Random random(1);
  std::int32_t num_ties = 0;
  for (std::int64_t i = 0; i < kCols; ++i) {
    const bool ties = i < kCols / 2 && random.one_in(5);
    row[static_cast<std::size_t>(i)] = ties ? 4.0F : 3 * random.unit();
    num_ties += ties;
  }
  sampler_params params = sampler_params_default();
  params.xtc_probability = 1;
  params.xtc_threshold = 0.00035F;  // exp(4) of the sum, 102,000, is more, and exp(3) is less
  std::int32_t token_id = -1, kept_count = 0;
  SampleArgs args;
  args.input.values = row.data();
  args.input.num_rows = 1;
  args.input.num_cols = kCols;
  args.params = &params;
  args.out_token_ids = &token_id;
  args.report_args.out_kept_counts = &kept_count;
  const auto memory = workspace_of(handle.get(), &args, &sampler_sample_workspace_size);
  ASSERT_EQ(sampler_sample(handle.get(), &args), SAMPLER_OK) << sampler_last_error();
  EXPECT_EQ(kept_count, kCols - num_ties + 1);
}

INSTANTIATE_TEST_SUITE_P(Isas, RowKinds, testing::Values("avx2", "avx512", "neon"),
                         [](const auto &isa) { return isa.param; });

}  // namespace
}  // namespace pipeline_test::row_kinds_test
