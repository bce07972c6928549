// Rounds of rows over many ranks on fibers, by teams of any size and in any order of their threads,
// against whole rows of the scalar reference: the same bits. And what hard rows cost, counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "counting.h"
#include "cpu/executor.h"
#include "cpu/operations.h"
#include "kernel.cuh"
#include "plan.h"
#include "shard.cuh"
#include "shards_launch.h"

namespace {

namespace contract = sampler::contract;
namespace cpu = sampler::cpu;
namespace kernels = sampler::kernels;

TEST(ShardLaunches, EqualTheReference) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    ASSERT_TRUE(simt_test::equal_on_ranks(seed, simt::Options())) << seed;
  }
}

// ---- Hard rows

constexpr std::int64_t kNumCols = 16384;
using Values = std::vector<float>;

Values ordinary() {
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  Values x(kNumCols);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = -1.1f * std::log(float(i + 1)) + 0.3f * normal(random);
  }
  std::shuffle(x.begin(), x.end(), random);
  return x;
}

template <class F>
Values made(const F &value) {
  Values x(kNumCols);
  for (size_t i = 0; i < x.size(); ++i) x[i] = value(i);
  return x;
}

struct Hard {
  const char *name;
  Values values;
};
std::vector<Hard> hard_rows() {
  Values sorted = ordinary();
  std::sort(sorted.begin(), sorted.end());
  return {{"sorted", sorted},
          {"equal", made([](size_t) { return 1.0f; })},
          {"two values", made([](size_t i) { return float(i % 2); })},
          {"near ties", made([](size_t i) { return 1.0f + float(i) * 0x1p-23f; })},
          {"a digit for each", made([](size_t i) {
             return contract::value_of_key(0xC0000000u + uint32_t(i % 256) * 0x40u);
           })},
          {"geometric", made([](size_t i) { return std::ldexp(-1.0f, int(i % 40) - 20); })},
          {"one above all", made([](size_t i) { return i == 77 ? 20.0f : 0.0f; })}};
}

// Of all rounds, on one rank.
simt_test::Costs costs_of(const Values &values, const contract::SampleRequest &parameters) {
  constexpr int kThreads = kernels::kBlockThreads;
  contract::SampleRequest whole = parameters;
  std::int32_t token = -1, expected = -2;
  whole.input.values = values.data();
  whole.input.num_rows = whole.num_rows = 1;
  whole.input.num_cols = whole.input.stride = kNumCols;
  whole.out_token_ids.data = &expected;
  std::vector<char> workspace(cpu::workspace_bytes(whole, 1));
  cpu::run(whole, cpu::Executor(), workspace.data());
  whole.out_token_ids.data = &token;
  kernels::Plan plan;
  plan.row_cache_bytes = kernels::ring_bytes(kThreads) + int(kNumCols) / kernels::kTile * 128;
  simt::Options options;
  options.yield_interval = 0;
  simt_test::Costs all;
  simt_test::run_on_ranks(
      {0, kNumCols}, 1, [&](std::int64_t) { return whole; },
      [&](const kernels::ShardRequest &request) {
        simt_test::Books books;
        simt::launch<kThreads>(
            1, 1, plan.shared_bytes(), 1,
            [&](auto &ctx) {
              simt_test::CountingContext<kThreads> counting(ctx, plan.shared_bytes(), &books);
              kernels::run_operation(counting, request, plan);
            },
            options);
        const simt_test::Costs round = books.close(4);
        all.visited += round.visited;
        all.copied += round.copied;
        all.compared += round.compared;
        all.atomic_steps += round.atomic_steps;
        all.barriers += round.barriers;
        all.scored += round.scored;
        all.most_turns = std::max(all.most_turns, round.most_turns);
      });
  EXPECT_EQ(token, expected);
  return all;
}

// In whole passes a hard row costs at most twice what an ordinary one does, and what it takes to
// find a token among many of one value.
TEST(ShardLaunches, HardRowsCostLittleMore) {
  contract::SampleRequest all, top_k, top_p, by_score, tied;
  top_k.parameters.top_k.value = 50;
  top_p.parameters.top_p.value = 0.95f;
  by_score.draw_method = SAMPLER_DRAW_GUMBEL;
  tied.parameters.top_k.value = 50;
  tied.parameters.rules.top_k_ties = SAMPLER_TIES_KEEP;
  const struct {
    const char *name;
    const contract::SampleRequest *request;
  } calls[] = {{"all", &all},
               {"top-k", &top_k},
               {"top-p", &top_p},
               {"by score", &by_score},
               {"ties", &tied}};
  for (const auto &call : calls) {
    const simt_test::Costs usual = costs_of(ordinary(), *call.request);
    for (const Hard &row : hard_rows()) {
      const simt_test::Costs costs = costs_of(row.values, *call.request);
      const std::string of = std::string(call.name) + " of " + row.name;
      // A row that ties at its cut is passed over for each of three searches.
      EXPECT_LE(costs.visited, 2 * usual.visited + 3 * kNumCols) << of;
      EXPECT_LE(costs.copied, 2 * usual.copied + 3 * kNumCols) << of;
      EXPECT_LE(costs.compared, 2 * usual.compared + 55 * 512) << of;
      EXPECT_LE(costs.atomic_steps, 2 * usual.atomic_steps + kNumCols / 32) << of;
      EXPECT_LE(costs.barriers, 2 * usual.barriers + 60) << of;
      EXPECT_LE(costs.most_turns, 3u) << of;
    }
  }
}

}  // namespace
