// integrations/nccl against a fake of NCCL, whose ranks are threads.
#include <communicator.h>
#include <gtest/gtest.h>
#include <sampler_nccl.h>

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "problem.h"

struct Group {
  explicit Group(int size) : num_ranks(size) {}

  int num_ranks;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<char> gathered;
  int num_come = 0;
  int64_t generation = 0;
  bool fails = false;
};

extern "C" {

// Two barriers: all have written before any reads, and have read before any writes again.
ncclResult_t ncclAllGather(const void *send, void *received, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t) {
  Group &group = *comm->group;
  if (type != ncclUint64 || group.fails) return ncclInternalError;
  const size_t bytes = count * 8;
  std::unique_lock<std::mutex> lock(group.mutex);
  const auto barrier = [&] {
    const int64_t generation = group.generation;
    if (++group.num_come == group.num_ranks) {
      group.num_come = 0;
      ++group.generation;
      group.changed.notify_all();
    } else {
      group.changed.wait(lock, [&] { return group.generation != generation; });
    }
  };
  group.gathered.resize(bytes * size_t(group.num_ranks));
  std::memcpy(group.gathered.data() + size_t(comm->rank) * bytes, send, bytes);
  barrier();
  std::memcpy(received, group.gathered.data(), group.gathered.size());
  barrier();
  return ncclSuccess;
}

}  // extern "C"

namespace shards_test {
namespace {

constexpr int kNumRanks = 3;
constexpr int64_t kNumCols = 1000, kNumRows = 15;

struct Result {
  std::vector<int32_t> tokens = std::vector<int32_t>(size_t(kNumRows), 77);
  sampler_status status = SAMPLER_OK;
  std::string error;
};

// A parallel_for that leaves out tasks in one round.
struct Break {
  int round = -1, rounds_done = 0;

  static void run(void *user, int64_t num_tasks, sampler_task_fn task, void *task_user) {
    Break &own = *static_cast<Break *>(user);
    const bool breaks = own.rounds_done++ == own.round;
    for (int64_t i = 0; i < num_tasks - breaks; ++i) task(task_user, i);
  }
};

Result run_rank(Group *group, int rank, const Rows &rows, int (*wait)(cudaStream_t),
                int broken_round) {
  Result result;
  Break breaks;
  breaks.round = broken_round;
  sampler_options options = sampler_options_default();
  options.num_threads = 2;
  options.parallel_for = Break::run;
  options.parallel_for_user = &breaks;
  std::vector<unsigned char> part;
  const Ranges ranges = even_ranges(kNumCols, kNumRanks);
  sampler_t sampler = nullptr;
  EXPECT_EQ(sampler_create(&options, &sampler), SAMPLER_OK);
  sampler_sample_args args = {};
  args.struct_size = sizeof args;
  args.input = rows.part(ranges[size_t(rank)], ranges[size_t(rank) + 1], &part);
  args.random.seed = 5;
  args.out_token_ids = result.tokens.data();
  sampler_shard_args shard = {};
  shard.struct_size = sizeof shard;
  shard.sample = &args;
  shard.first_token_id = ranges[size_t(rank)];
  shard.total_cols = kNumCols;
  shard.num_ranks = kNumRanks;
  sampler_shard_plan_info plan = {};
  plan.struct_size = sizeof plan;
  EXPECT_EQ(sampler_shard_plan(sampler, &shard, &plan), SAMPLER_OK);
  Exact workspace(plan.workspace_bytes), memory(sampler_nccl_memory_bytes(&plan, kNumRanks));
  args.exec.workspace = workspace.data();
  args.exec.workspace_bytes = plan.workspace_bytes;
  fake_nccl_comm communicator = {rank, group->num_ranks, group};
  const char *error = nullptr;
  result.status = sampler_nccl_run(sampler, &shard, &communicator, nullptr, wait, memory.data(),
                                   memory.size(), &error);
  result.error = error;
  EXPECT_TRUE(memory.is_guarded() && workspace.is_guarded());
  sampler_destroy(sampler);
  return result;
}

// One rank breaks in one round.
std::vector<Result> run_all(Group *group, const Rows &rows, int (*wait)(cudaStream_t),
                            int broken_rank = -1, int broken_round = -1) {
  std::vector<Result> results(kNumRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kNumRanks; ++rank) {
    threads.emplace_back([&, rank] {
      results[size_t(rank)] =
          run_rank(group, rank, rows, wait, rank == broken_rank ? broken_round : -1);
    });
  }
  for (std::thread &thread : threads) thread.join();
  return results;
}

TEST(ShardsOverNccl, GiveTheTokensOfTheWholeRows) {
  const Rows rows = make_rows(kNumRows, kNumCols, SAMPLER_BF16, SAMPLER_LOGITS, true, 9);
  sampler_t sampler = nullptr;
  ASSERT_EQ(sampler_create(nullptr, &sampler), SAMPLER_OK);
  SampleCall call;
  call.args.random.seed = 5;
  const Tokens expected = sample_whole(sampler, rows, call);
  sampler_destroy(sampler);
  Group group(kNumRanks);
  for (const Result &result : run_all(&group, rows, [](cudaStream_t) { return 0; })) {
    EXPECT_EQ(result.status, SAMPLER_OK) << result.error;
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(result.tokens, expected.ids);
  }
}

TEST(ShardsOverNccl, SayWhatFailed) {
  const Rows rows = make_rows(kNumRows, kNumCols, SAMPLER_F32, SAMPLER_LOGITS, false, 9);
  Group group(kNumRanks);
  for (const Result &result : run_all(&group, rows, [](cudaStream_t) { return 1; })) {
    EXPECT_EQ(result.status, SAMPLER_ERROR_SYSTEM);
    EXPECT_EQ(result.error, "wait failed");
  }
  group.fails = true;
  for (const Result &result : run_all(&group, rows, nullptr)) {
    EXPECT_EQ(result.status, SAMPLER_ERROR_SYSTEM);
    EXPECT_EQ(result.error, "internal error");
  }
}

// No rank waits for one that has failed: they fail in the next round, or, in the last one, go on.
TEST(ShardsOverNccl, GoOnWhereARankFails) {
  constexpr int kNumExchanges = 3;
  const std::vector<int32_t> untouched(size_t(kNumRows), 77);
  const Rows rows = make_rows(kNumRows, kNumCols, SAMPLER_F32, SAMPLER_LOGITS, false, 9);
  Group group(kNumRanks);
  const std::vector<Result> good = run_all(&group, rows, [](cudaStream_t) { return 0; });
  for (int waits = 0; waits < 2; ++waits) {
    for (int broken = 0; broken < kNumRanks * (kNumExchanges + 1); ++broken) {
      const int broken_rank = broken % kNumRanks, round = broken / kNumRanks;
      const std::string of_round = std::to_string(round), of_rank = std::to_string(broken_rank);
      const std::string text = waits ? "rank " + of_rank + " has failed in round " + of_round +
                                           ", and sent zeros; its own error says why"
                                     : "received has no message of round " + of_round +
                                           " at the place of rank " + of_rank +
                                           "; messages stand in the order of their ranks";
      const std::vector<Result> results = run_all(
          &group, rows, waits ? +[](cudaStream_t) { return 0; } : nullptr, broken_rank, round);
      for (int rank = 0; rank < kNumRanks; ++rank) {
        const Result &result = results[size_t(rank)];
        if (rank == broken_rank) {
          EXPECT_EQ(result.status, SAMPLER_ERROR_CALLBACK) << result.error;
        } else if (round == kNumExchanges) {
          EXPECT_EQ(result.status, SAMPLER_OK) << result.error;
          EXPECT_EQ(result.tokens, good[size_t(rank)].tokens);
        } else {
          EXPECT_EQ(result.status, SAMPLER_ERROR_INVALID_ARGUMENT);
          EXPECT_EQ(result.error, text);
          EXPECT_EQ(result.tokens, untouched);
        }
      }
    }
  }
}

}  // namespace
}  // namespace shards_test
