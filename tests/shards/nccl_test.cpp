// integrations/nccl against a fake of NCCL, whose ranks are threads.
#include <gtest/gtest.h>
#include <sampler_nccl.h>

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "problem.h"

namespace {

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

}  // namespace

struct fake_nccl_comm {
  Group *group;
  int rank;
};

extern "C" {

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank) {
  *rank = comm->rank;
  return ncclSuccess;
}
ncclResult_t ncclCommCount(const ncclComm_t comm, int *count) {
  *count = comm->group->num_ranks;
  return ncclSuccess;
}
const char *ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess ? "no error" : "internal error";
}
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

Result run_rank(Group *group, int rank, const Rows &rows, int (*wait)(cudaStream_t)) {
  Result result;
  std::vector<unsigned char> part;
  const Ranges ranges = even_ranges(kNumCols, kNumRanks);
  sampler_t sampler = nullptr;
  EXPECT_EQ(sampler_create(nullptr, &sampler), SAMPLER_OK);
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
  fake_nccl_comm communicator = {group, rank};
  const char *error = nullptr;
  result.status = sampler_nccl_run(sampler, &shard, &communicator, nullptr, wait, memory.data(),
                                   memory.size(), &error);
  result.error = error;
  EXPECT_TRUE(memory.is_guarded() && workspace.is_guarded());
  sampler_destroy(sampler);
  return result;
}

std::vector<Result> run_all(Group *group, const Rows &rows, int (*wait)(cudaStream_t)) {
  std::vector<Result> results(kNumRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kNumRanks; ++rank) {
    threads.emplace_back([&, rank] { results[size_t(rank)] = run_rank(group, rank, rows, wait); });
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

}  // namespace
}  // namespace shards_test
