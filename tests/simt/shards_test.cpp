// Rounds of rows over many ranks on fibers, by teams of any size and in any order of their threads,
// against whole rows of the scalar reference: the same bits. And what hard rows cost, counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "../seed.h"
#include "counting.h"
#include "cpu/executor.h"
#include "cpu/operations.h"
#include "launch/plan.h"
#include "machine/kernel.cuh"
#include "operations/shard.cuh"
#include "shards_launch.h"

namespace {

namespace contract = sampler::contract;
namespace cpu = sampler::cpu;
namespace kernels = sampler::kernels;

TEST(ShardLaunches, EqualTheReference) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    ASSERT_TRUE(simt_test::equal_on_ranks(seeded(seed), simt::Options())) << seed;
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

// Costs of all rounds, on one rank, which gives the `num_tokens` tokens of whole rows.
template <class Request>
simt_test::Costs costs_of(Request whole, size_t num_tokens) {
  constexpr int kThreads = kernels::kBlockThreads;
  std::vector<std::int32_t> tokens(num_tokens, -7), expected(num_tokens, -8);
  whole.out_token_ids.data = expected.data();
  std::vector<char> workspace(cpu::workspace_bytes(whole, 1));
  cpu::run(whole, cpu::Executor(), workspace.data());
  whole.out_token_ids.data = tokens.data();
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
  EXPECT_EQ(tokens, expected);
  return all;
}

contract::Rows rows_of(const Values &values) {
  contract::Rows rows;
  rows.values = values.data();
  rows.num_rows = std::int64_t(values.size()) / kNumCols;
  rows.num_cols = rows.stride = kNumCols;
  return rows;
}
simt_test::Costs costs_of(const Values &values, contract::SampleRequest request) {
  request.input = rows_of(values);
  request.num_rows = 1;
  return costs_of(request, 1);
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

// ---- Chains

// As probabilities: whatever they are of, their sum is nearly 1.
Values probabilities(const Values &values) {
  const float first = *std::max_element(values.begin(), values.end());
  Values p;
  double sum = 0;
  for (const float x : values) p.push_back(std::exp2(x - first)), sum += double(p.back());
  for (float &x : p) x = float(double(x) / sum);
  return p;
}

// A chain of drafts, of which the rows of both models are `values` at each position.
simt_test::Costs costs_of_chain(const Values &p, const Values &q,
                                const std::vector<std::int32_t> &drafts, float temperature = 1) {
  contract::VerifyRequest request;
  Values target, draft;
  for (size_t i = 0; i <= drafts.size(); ++i) target.insert(target.end(), p.begin(), p.end());
  for (size_t i = 0; i < drafts.size(); ++i) draft.insert(draft.end(), q.begin(), q.end());
  request.target = rows_of(target);
  request.draft = rows_of(draft);
  request.target.kind = request.draft.kind = SAMPLER_PROBABILITIES;
  request.target_row_stride = std::int64_t(target.size());
  request.draft_row_stride = std::int64_t(draft.size());
  request.num_rows = 1;
  request.num_drafts = std::int64_t(drafts.size());
  request.draft_token_ids = drafts.data();
  request.parameters.temperature.value = temperature;
  return costs_of(request, drafts.size() + 1);
}

// Two rows are checked for each draft, and one for the last token; what is left there is counted,
// weighed and drawn from. What is left by a draft that may be rejected is read with no vectors.
TEST(ShardLaunches, ChainsCostAPassOverEachRowThatCounts) {
  const Values usual = probabilities(ordinary());
  const auto likely = std::int32_t(std::max_element(usual.begin(), usual.end()) - usual.begin());
  Values rejecting = usual;
  rejecting[size_t(likely)] = 0.0f;
  for (const int num_drafts : {1, 4, 9}) {
    const std::vector<std::int32_t> drafts(size_t(num_drafts), likely);
    const auto visits = [&](const Values &p, const Values &q, float temperature = 1) {
      return costs_of_chain(p, q, drafts, temperature).visited / kNumCols;
    };
    // All are accepted, the first one is not, rows are greedy.
    EXPECT_LE(visits(usual, usual), std::uint64_t(2 * num_drafts + 4));
    EXPECT_LE(visits(rejecting, usual), 5u);
    EXPECT_LE(visits(usual, usual, 0.0f), std::uint64_t(num_drafts + 1));
  }
}

TEST(ShardLaunches, HardRowsOfChainsCostLittleMore) {
  const auto draw = [](const Values &p) {
    // Nothing of it is left, or next to all.
    const std::vector<std::int32_t> drafts = {5, 7, 77};
    std::vector<simt_test::Costs> costs = {costs_of_chain(p, p, drafts)};
    costs.push_back(costs_of_chain(p, probabilities(ordinary()), drafts));
    return costs;
  };
  const auto usual = draw(probabilities(ordinary()));
  for (const Hard &row : hard_rows()) {
    const auto hard = draw(probabilities(row.values));
    for (size_t i = 0; i < hard.size(); ++i) {
      EXPECT_LE(hard[i].visited, 2 * usual[i].visited + 3 * kNumCols) << row.name;
      EXPECT_LE(hard[i].copied, 2 * usual[i].copied + 3 * kNumCols) << row.name;
      EXPECT_LE(hard[i].barriers, 2 * usual[i].barriers + 60) << row.name;
      EXPECT_LE(hard[i].most_turns, 3u) << row.name;
    }
  }
}

}  // namespace
