// Rows under lists of allowed tokens and under bitmasks: full ones, full but for the last tokens,
// and those that allow few. Drawn and filtered in every order of the filters, with and without
// biases, as the rows that the oracle has masked.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "../seed.h"
#include "handles.h"
#include "problem.h"

namespace pipeline_test::masks_test {
namespace {

constexpr std::uint64_t kNumProblems = affordable(300);

template <class T>
const T &one_of(Random &random, const std::vector<T> &choices) {
  return choices[std::size_t(random.between(0, static_cast<std::int64_t>(choices.size()) - 1))];
}

// Allows one of `share` tokens; 0: none.
std::vector<std::uint32_t> random_mask(Random &random, std::int64_t num_cols, std::int64_t share) {
  std::vector<std::uint32_t> mask(std::size_t((num_cols + 31) / 32));
  for (std::int64_t id = 0; id < num_cols; ++id) {
    const bool is_allowed = share > 0 && random.one_in(share);
    if (is_allowed) mask[std::size_t(id / 32)] |= std::uint32_t(1) << (id % 32);
  }
  if (share == 1 && random.one_in(2)) mask.back() &= mask.back() >> 1;  // without the last token
  if (share == 1 && random.one_in(4)) mask[0] &= ~8u;
  return mask;
}

Problem masked_problem(std::uint64_t seed) {
  Random random(seeded(seed));
  Problem problem;
  problem.num_cols = one_of<std::int64_t>(random, {40, 2048, 5000, 30001});
  std::vector<float> row;
  const bool has_ties = random.one_in(2);
  for (std::int64_t i = 0; i < problem.num_cols; ++i) {
    row.push_back(has_ties ? static_cast<float>(random.between(-3, 3))
                           : random.within(-8.0F, 8.0F));
    if (random.one_in(50)) row.back() = -std::numeric_limits<float>::infinity();
  }
  problem.rows = {row};
  problem.slot_of_row = {0};
  problem.slots = {Slot()};
  problem.has_biased = random.one_in(3);
  if (problem.has_biased) {
    for (int i = 0; i < 3; ++i) {
      problem.slots[0].biased.push_back(random.between(0, problem.num_cols - 1));
      problem.slots[0].biases.push_back(one_of<float>(random, {-1.0F, 2.0F, 30.0F}));
    }
  }
  problem.has_allowed = random.one_in(2);
  if (problem.has_allowed) {
    const std::int64_t length = one_of<std::int64_t>(random, {0, 1, 60, 2000});
    for (std::int64_t i = 0; i < length; ++i) {
      problem.slots[0].allowed.push_back(random.between(-2, problem.num_cols + 2));
    }
  }
  if (!problem.has_allowed || random.one_in(2)) {
    const auto share = one_of<std::int64_t>(random, {0, 1, 1, 2, 20, 400, 3000});
    problem.bitmasks = {random_mask(random, problem.num_cols, share)};
  }
  problem.params.temperature = one_of<float>(random, {0.0F, 0.7F, 1.0F, 1.0F});
  if (random.one_in(2)) problem.params.top_k = one_of<std::int32_t>(random, {1, 5, 50, 1000});
  if (random.one_in(2)) problem.params.top_p = one_of<float>(random, {0.3F, 0.9F, 0.99F});
  if (random.one_in(2)) problem.params.min_p = one_of<float>(random, {0.01F, 0.3F});
  problem.params.filter_order = static_cast<std::int32_t>(random.between(0, 2));
  problem.params.temperature_order = static_cast<std::int32_t>(random.between(0, 1));
  problem.params.top_k_ties = static_cast<std::int32_t>(random.between(0, 1));
  problem.params.top_p_ties = static_cast<std::int32_t>(random.between(0, 1));
  if (random.one_in(4)) {  // min-p leaves less than top-k asks for, of the few that are allowed
    problem.has_allowed = false;
    problem.bitmasks = {random_mask(random, problem.num_cols, 200)};
    problem.params.temperature = 1.0F;
    problem.params.top_k = one_of<std::int32_t>(random, {3, 10, 20});
    problem.params.top_k_ties = SAMPLER_TIES_EXACT;
    problem.params.min_p = 0.3F;
    problem.params.filter_order = SAMPLER_FILTERS_MIN_P_FIRST;
  }
  return problem;
}

template <class T>
bool same(const std::vector<T> &a, const std::vector<T> &b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
}

class Masks : public testing::TestWithParam<sampler_dtype> {};

TEST_P(Masks, LeaveWhatTheOracleDoes) {
  const std::vector<Handle> handles = handles_of_all_isas();
  const Handle reference = make_handle("scalar", 1);
  std::int64_t num_good = 0;
  for (std::uint64_t seed = 0; seed < kNumProblems; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = masked_problem(seed * 3 + std::uint64_t(GetParam()));
    round_rows(&problem, GetParam());
    const Expected edited_row = {{edited(problem, 0)}, {}};
    const Call plain(problem, SAMPLER_F32, &edited_row), call(problem, GetParam());
    const Sampled drawn =
        sample(reference.get(), plain, SAMPLER_LOGPROB_PROCESSED, SAMPLER_DRAW_INVERSE_CDF);
    const Sampled of_gumbel =
        sample(reference.get(), plain, SAMPLER_LOGPROB_PROCESSED, SAMPLER_DRAW_GUMBEL);
    const Filtered kept = filter(reference.get(), plain, SAMPLER_OUTPUT_PROBABILITIES);
    const Filtered values = filter(reference.get(), plain, SAMPLER_OUTPUT_VALUES);
    num_good += drawn.status[0] == SAMPLER_ROW_OK ? 1 : 0;
    for (const Handle &handle : handles) {
      const Sampled found =
          sample(handle.get(), call, SAMPLER_LOGPROB_PROCESSED, SAMPLER_DRAW_INVERSE_CDF);
      ASSERT_EQ(found.token_ids, drawn.token_ids);
      ASSERT_EQ(found.kept_counts, drawn.kept_counts);
      ASSERT_EQ(found.status, drawn.status);
      ASSERT_TRUE(same(found.logprobs, drawn.logprobs));
      ASSERT_EQ(sample_ids(handle.get(), call), drawn.token_ids);
      ASSERT_EQ(
          sample(handle.get(), call, SAMPLER_LOGPROB_PROCESSED, SAMPLER_DRAW_GUMBEL).token_ids,
          of_gumbel.token_ids);
      const Filtered written = filter(handle.get(), call, SAMPLER_OUTPUT_PROBABILITIES);
      ASSERT_TRUE(same(written.output, kept.output));
      ASSERT_EQ(written.kept_counts, kept.kept_counts);
      // A bad row is copied as it is given.
      if (kept.status[0] == SAMPLER_ROW_OK) {
        ASSERT_TRUE(same(filter(handle.get(), call, SAMPLER_OUTPUT_VALUES).output, values.output));
      }
    }
  }
  EXPECT_GT(num_good, static_cast<std::int64_t>(kNumProblems / 2));
}

std::string name_of(const testing::TestParamInfo<sampler_dtype> &type) {
  static const char *const names[] = {"F32", "F16", "BF16"};
  return names[type.param];
}

// The masks of allowed tokens have as many bits as a row has columns, and nothing is written beyond
// the workspace for a row whose count is not in range.
class MasksOfBadCounts : public testing::TestWithParam<const char *> {};

TEST_P(MasksOfBadCounts, AreNotMade) {
  const Handle handle = make_handle(GetParam(), 1);
  if (!handle) GTEST_SKIP() << "the machine does not have it";
  const std::vector<float> values(80, 1.0F);
  const std::int64_t offsets[2] = {0, 2};
  const std::int32_t allowed[2] = {3, 1000000};
  for (const std::int32_t count : {41, 2048, 1 << 20, -1}) {
    const std::int32_t counts[2] = {count, 40};
    sampler_pipeline pipeline = {};
    pipeline.struct_size = sizeof(pipeline);
    pipeline.allowed = {offsets, allowed, 1, 2};
    std::int32_t token_ids[2] = {77, 77};
    sampler_row_status status[2];
    std::vector<float> output(80);
    sampler_sample_args sample = {};
    sample.struct_size = sizeof(sample);
    sample.input.values = values.data();
    sample.input.num_rows = 2;
    sample.input.num_cols = 40;
    sample.input.candidate_counts = counts;
    sample.pipeline = &pipeline;
    sample.out_token_ids = token_ids;
    sample.out_row_status = status;
    sampler_filter_args filter = {};
    filter.struct_size = sizeof(filter);
    filter.input = sample.input;
    filter.pipeline = &pipeline;
    filter.output = output.data();
    filter.out_row_status = status;
    std::size_t bytes = 0, filter_bytes = 0;
    ASSERT_EQ(sampler_sample_workspace_size(handle.get(), &sample, &bytes), SAMPLER_OK);
    ASSERT_EQ(sampler_filter_workspace_size(handle.get(), &filter, &filter_bytes), SAMPLER_OK);
    bytes = std::max(bytes, filter_bytes);
    std::vector<unsigned char> memory(bytes + (1 << 18), 0x5A);
    sample.exec.workspace = filter.exec.workspace = memory.data();
    sample.exec.workspace_bytes = filter.exec.workspace_bytes = bytes;
    ASSERT_EQ(sampler_sample(handle.get(), &sample), SAMPLER_OK) << sampler_last_error();
    EXPECT_EQ(status[0], SAMPLER_ROW_INVALID_CANDIDATE);
    EXPECT_EQ(token_ids[0], -1);
    EXPECT_EQ(token_ids[1], 3);
    ASSERT_EQ(sampler_filter(handle.get(), &filter), SAMPLER_OK) << sampler_last_error();
    EXPECT_EQ(status[0], SAMPLER_ROW_INVALID_CANDIDATE);
    EXPECT_EQ(output[43], 1.0F);
    EXPECT_TRUE(std::all_of(memory.begin() + std::ptrdiff_t(bytes), memory.end(),
                            [](unsigned char byte) { return byte == 0x5A; }))
        << count;
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, MasksOfBadCounts,
                         testing::Values("scalar", "avx2", "avx512", "neon"));

INSTANTIATE_TEST_SUITE_P(Types, Masks, testing::Values(SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16),
                         name_of);

}  // namespace
}  // namespace pipeline_test::masks_test
