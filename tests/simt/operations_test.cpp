// Every operation's device code, run on fibers, against the scalar reference: the same bits.
//
// Requests are random: shapes, types, strides, hard rows, candidate lists, parameters, bad rows.
// Launches are too: the team's size, the block's, what of a row is kept in shared memory, how many
// teams share the rows, the order of the threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "cpu/executor.h"
#include "cpu/operations.h"
#include "kernel.cuh"
#include "problem.h"
#include "simt.h"

namespace {

using namespace sampler;
using simt_test::Outputs;
using simt_test::Problem;

template <class Request>
Outputs run_reference(Problem &problem, Request request) {
  Outputs outputs = problem.bind_outputs(&request);
  const cpu::Executor executor;
  std::vector<char> workspace(cpu::workspace_bytes(request, 1));
  EXPECT_TRUE(cpu::run(request, executor, workspace.data()));
  return outputs;
}

struct Launch {
  int num_threads;
  kernels::Plan plan;
  uint64_t seed;
};

Launch random_launch(std::mt19937_64 &random, int64_t num_rows, int64_t num_cols) {
  const int threads[] = {32, 64, 128, 512};
  Launch launch;
  launch.num_threads = threads[random() % 4];
  launch.plan.team_size = 1 << (random() % 4);
  launch.plan.num_teams = 1 + int64_t(random() % uint64_t(num_rows));
  const int64_t tiles = (num_cols + 3 + kernels::kTile - 1) / kernels::kTile;
  const int64_t part = (tiles + launch.plan.team_size - 1) / launch.plan.team_size;
  launch.plan.resident_elements = random() % 3 == 0 ? 0 : int(part * kernels::kTile);
  if (launch.plan.shared_bytes() > simt::kMaxSharedBytes) launch.plan.resident_elements = 0;
  launch.seed = random();
  return launch;
}

template <class Request>
Outputs run_device_code(Problem &problem, Request request, Launch launch) {
  Outputs outputs = problem.bind_outputs(&request);
  std::vector<uint32_t> bitmaps;
  if (kernels::needs_bitmaps(request)) {
    bitmaps.resize(size_t(launch.plan.num_teams * kernels::kIdWords), 0xA5A5A5A5u);
    launch.plan.bitmaps = bitmaps.data();
  }
  const auto kernel = [&](auto &ctx) { kernels::run_operation(ctx, request, launch.plan); };
  const auto run = [&](auto threads) {
    simt::launch<decltype(threads)::value>(launch.plan.num_teams, launch.plan.team_size,
                                           launch.plan.shared_bytes(), launch.seed, kernel);
  };
  switch (launch.num_threads) {
    case 32:
      run(std::integral_constant<int, 32>());
      break;
    case 64:
      run(std::integral_constant<int, 64>());
      break;
    case 128:
      run(std::integral_constant<int, 128>());
      break;
    default:
      run(std::integral_constant<int, 512>());
      break;
  }
  return outputs;
}

template <class Request>
void compare(Problem &problem, const Request &request, std::mt19937_64 &random) {
  const Launch launch =
      random_launch(random, kernels::num_rows_of(request), kernels::num_cols_of(request));
  const Outputs expected = run_reference(problem, request);
  const Outputs actual = run_device_code(problem, request, launch);
  SCOPED_TRACE(testing::Message() << problem.description() << "; " << launch.num_threads
                                  << " threads, team of " << launch.plan.team_size << ", "
                                  << launch.plan.num_teams << " teams, resident "
                                  << launch.plan.resident_elements << ", order " << launch.seed);
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto difference =
        std::mismatch(expected[i].bytes.begin(), expected[i].bytes.end(), actual[i].bytes.begin());
    ASSERT_TRUE(difference.first == expected[i].bytes.end())
        << expected[i].name << " differ at byte " << difference.first - expected[i].bytes.begin()
        << ": " << int(*difference.second) << ", not " << int(*difference.first);
  }
}

class DeviceCode : public testing::TestWithParam<int> {};

TEST_P(DeviceCode, EqualsTheReference) {
  std::mt19937_64 random(uint64_t(GetParam()) * 7919 + 1);
  for (int i = 0; i < 24 && !HasFatalFailure(); ++i) {
    Problem problem(random, simt_test::kSmall);
    switch (i % 4) {
      case 0:
        compare(problem, problem.sample_request(), random);
        break;
      case 1:
        compare(problem, problem.rows_request(), random);
        break;
      case 2:
        compare(problem, problem.select_request(), random);
        break;
      default:
        compare(problem, problem.chain_request(), random);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DeviceCode, testing::Range(0, 40));

class LargeRows : public testing::TestWithParam<int> {};

TEST_P(LargeRows, EqualTheReference) {
  std::mt19937_64 random(uint64_t(GetParam()) * 104729 + 5);
  for (int i = 0; i < 4 && !HasFatalFailure(); ++i) {
    Problem problem(random, simt_test::kLarge);
    switch (i) {
      case 0:
        compare(problem, problem.sample_request(), random);
        break;
      case 1:
        compare(problem, problem.rows_request(), random);
        break;
      case 2:
        compare(problem, problem.select_request(), random);
        break;
      default:
        compare(problem, problem.chain_request(), random);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LargeRows, testing::Range(0, 12));

}  // namespace
