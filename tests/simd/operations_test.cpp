// Every operation by the row passes of each instruction set, against the scalar reference: the same
// bytes, canaries included.
//
// Requests are random: shapes, types, strides, alignments, hard rows, candidate lists, parameters,
// bad rows. Workspaces have exactly the bytes asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "../seed.h"
#include "contract/elements.h"
#include "cpu/operations.h"
#include "problem.h"
#include "usable_passes.h"

namespace {

namespace contract = sampler::contract;
namespace cpu = sampler::cpu;
using test_support::Outputs;
using test_support::Problem;
using test_support::Scale;

const Scale kSmall = {
    {1, 2, 3, 15, 16, 17, 31, 32, 33, 255, 256, 257, 511, 512, 513, 767, 1000, 2048, 2049, 5000},
    5};
const Scale kLarge = {{8191, 8192, 20000, 32000, 50257, 128256}, 2};
const Scale kHuge = {{128256, 262144}, 1};

template <class Request>
void run(const Request &request, const cpu::Executor &executor) {
  const size_t bytes = cpu::workspace_bytes(request, 1);
  // At an odd address, of any content, with a canary after it.
  std::vector<unsigned char> workspace(bytes + 2, 0xA7);
  EXPECT_EQ(cpu::run(request, executor, workspace.data() + 1), nullptr);
  EXPECT_EQ(workspace[bytes + 1], 0xA7);
}

template <class Request>
Outputs run(const Problem &problem, Request request, const cpu::Passes *passes) {
  Outputs outputs = problem.bind_outputs(&request);
  cpu::Executor executor;
  executor.passes = passes;
  run(request, executor);
  return outputs;
}

// "" when all instruction sets give the reference's bytes, otherwise what differs.
template <class Request>
std::string difference(const Problem &problem, const Request &request) {
  const Outputs expected = run(problem, request, nullptr);
  for (const cpu::Passes *passes : usable_passes()) {
    const std::string differs = test_support::difference(expected, run(problem, request, passes));
    if (!differs.empty()) return differs + " of " + passes->name + " in " + problem.description();
  }
  return "";
}

// f(problem, request) for a random request of each kind in turn.
template <class F>
auto with_request(std::mt19937_64 &random, const Scale &scale, int which, const F &f) {
  Problem problem(random, scale);
  return problem.visit(which, [&](const auto &request) { return f(problem, request); });
}

std::string difference(std::mt19937_64 &random, const Scale &scale, int which) {
  return with_request(random, scale, which, [](const Problem &problem, const auto &request) {
    return difference(problem, request);
  });
}

// Output rows that row passes compute: candidate lists are the reference's.
template <class Request>
int64_t num_rows(const Request &request) {
  return contract::reads_lists(request) ? 0 : contract::num_output_rows(request);
}

TEST(Isas, OneOfThisMachineIsThere) {
  EXPECT_FALSE(usable_passes().empty());
}

constexpr int kSmallSeeds = 40, kSmallRequests = 160;

std::mt19937_64 small_random(int seed) {
  return std::mt19937_64(seeded(uint64_t(seed) * 7919 + 11));
}

class SmallRows : public testing::TestWithParam<int> {};

TEST_P(SmallRows, EqualTheReference) {
  std::mt19937_64 random = small_random(GetParam());
  for (int i = 0; i < kSmallRequests; ++i) ASSERT_EQ("", difference(random, kSmall, i));
}

INSTANTIATE_TEST_SUITE_P(Seeds, SmallRows, testing::Range(0, kSmallSeeds));

TEST(SmallRowsOfAllSeeds, AreTenThousandAndMore) {
  int64_t rows = 0;
  for (int seed = 0; seed < kSmallSeeds; ++seed) {
    std::mt19937_64 random = small_random(seed);
    for (int i = 0; i < kSmallRequests; ++i) {
      rows += with_request(random, kSmall, i,
                           [](const Problem &, const auto &request) { return num_rows(request); });
    }
  }
  RecordProperty("rows", std::to_string(rows));
  EXPECT_GE(rows, 10000);
}

class LargeRows : public testing::TestWithParam<int> {};

TEST_P(LargeRows, EqualTheReference) {
  std::mt19937_64 random(seeded(uint64_t(GetParam()) * 104729 + 15));
  for (int i = 0; i < 20; ++i) ASSERT_EQ("", difference(random, kLarge, i));
}

INSTANTIATE_TEST_SUITE_P(Seeds, LargeRows, testing::Range(0, 20));

class HugeRows : public testing::TestWithParam<int> {};

TEST_P(HugeRows, EqualTheReference) {
  std::mt19937_64 random(seeded(uint64_t(GetParam()) * 1299709 + 3));
  for (int i = 0; i < 10; ++i) ASSERT_EQ("", difference(random, kHuge, i));
}

INSTANTIATE_TEST_SUITE_P(Seeds, HugeRows, testing::Range(0, 4));

// Rows of top-p among neighbouring values, each of them several times: wherever a pass divides such
// a row, at whatever places it is sampled, some tokens have the very value.
class NearTies : public testing::TestWithParam<std::tuple<sampler_dtype, sampler_tie_rule>> {};

TEST_P(NearTies, EqualTheReference) {
  const auto [dtype, ties] = GetParam();
  const std::vector<float> top_p = {0.02f, 0.1f, 0.5f, 0.7f, 0.9f, 0.99f};
  const auto num_rows = int64_t(top_p.size());
  constexpr int64_t kCols = 20011;
  // From 1 up, so that they weigh about the same.
  const uint32_t num_values = dtype == SAMPLER_F32 ? 4000 : 40;
  const uint32_t step = dtype == SAMPLER_F32 ? 1 : dtype == SAMPLER_F16 ? 1 << 13 : 1 << 16;
  std::mt19937 random(seeded(17));
  std::vector<float> row(size_t(num_rows * kCols));
  for (int64_t i = 0; i < num_rows * kCols; ++i) {
    const uint32_t above = uint32_t(random() % num_values) * step;
    contract::store_value(row.data(), dtype, i,
                          contract::value_of_key(contract::value_key(1.0f) + above));
  }
  std::vector<float> values(row.size()), expected_values(row.size());
  std::vector<int32_t> counts(top_p.size()), expected_counts(top_p.size());
  std::vector<uint32_t> status(top_p.size());
  contract::FilterRequest request;
  request.input.values = row.data();
  request.input.num_rows = num_rows;
  request.input.num_cols = request.input.stride = request.output_stride = kCols;
  request.input.dtype = request.output_dtype = dtype;
  request.parameters.top_p.array = top_p.data();
  request.parameters.rules.top_p_ties = ties;
  request.output_kind = SAMPLER_OUTPUT_VALUES;
  request.out_row_status = status.data();
  request.output = expected_values.data();
  request.out_kept_counts = expected_counts.data();
  run(request, {});
  EXPECT_LT(expected_counts.front(), expected_counts.back());
  request.output = values.data();
  request.out_kept_counts = counts.data();
  for (const cpu::Passes *passes : usable_passes()) {
    for (uint64_t key = 0; key < 8; ++key) {
      cpu::Executor executor;
      executor.passes = passes;
      executor.places_key = key;
      run(request, executor);
      ASSERT_EQ(expected_counts, counts) << passes->name << ", key " << key;
      ASSERT_EQ(0,
                std::memcmp(expected_values.data(), values.data(), values.size() * sizeof(float)))
          << passes->name << ", key " << key;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, NearTies,
                         testing::Combine(testing::Values(SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16),
                                          testing::Values(SAMPLER_TIES_EXACT, SAMPLER_TIES_KEEP)));

}  // namespace
