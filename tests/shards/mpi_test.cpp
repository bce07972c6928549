// integrations/mpi under mpirun: every rank compares its tokens with those of the whole rows.
#include <gtest/gtest.h>
#include <sampler_mpi.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "problem.h"

namespace shards_test {
namespace {

constexpr int64_t kNumRows = 15, kNumCols = 3001;

class Rank : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks_);
    ASSERT_EQ(sampler_create(nullptr, &sampler_), SAMPLER_OK);
  }
  void TearDown() override { sampler_destroy(sampler_); }

  // The tokens of this rank; `break_arguments(args)` may spoil them.
  template <class Break>
  sampler_status run(const Rows &rows, const SampleCall &call, const Break &break_arguments) {
    const Ranges ranges = uneven_ranges(kNumCols, num_ranks_, 3);
    std::vector<unsigned char> part;
    sampler_sample_args args = call.args;
    args.struct_size = sizeof args;
    args.params = &call.params;
    args.input = rows.part(ranges[size_t(rank_)], ranges[size_t(rank_) + 1], &part);
    std::vector<float> logprobs(kNumRows);
    std::vector<sampler_row_status> statuses(kNumRows);
    tokens_.ids.assign(kNumRows, 77);
    args.out_token_ids = tokens_.ids.data();
    args.out_logprobs = logprobs.data();
    args.out_row_status = statuses.data();
    sampler_shard_args shard = {};
    shard.struct_size = sizeof shard;
    shard.sample = &args;
    shard.first_token_id = ranges[size_t(rank_)];
    shard.total_cols = kNumCols;
    break_arguments(&args);
    sampler_shard_plan_info plan = {};
    plan.struct_size = sizeof plan;
    Exact workspace, memory;
    if (sampler_mpi_plan(sampler_, &shard, MPI_COMM_WORLD, &plan) == SAMPLER_OK) {
      workspace = Exact(plan.workspace_bytes);
      memory = Exact(sampler_mpi_memory_bytes(&plan, num_ranks_));
    }
    args.exec.workspace = workspace.data();
    args.exec.workspace_bytes = plan.workspace_bytes;
    const sampler_status status =
        sampler_mpi_run(sampler_, &shard, MPI_COMM_WORLD, memory.data(), memory.size(), &error_);
    EXPECT_TRUE(memory.is_guarded() && workspace.is_guarded());
    tokens_.logprobs = logprobs;
    tokens_.statuses = statuses;
    return status;
  }

  int rank_ = 0, num_ranks_ = 0;
  sampler_t sampler_ = nullptr;
  Tokens tokens_;
  const char *error_ = nullptr;
};

TEST_F(Rank, HasTheTokensOfTheWholeRows) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 30; ++i) {
    const Rows rows = make_rows(kNumRows, kNumCols, sampler_dtype(i % 3),
                                sampler_input_kind(i % 4 == 0), i % 2 == 0, random());
    SampleCall call;
    call.params.top_k = i % 3 == 0 ? 50 : 0;
    call.params.top_p = i % 5 < 3 ? 0.9f : 1.0f;
    call.params.min_p = i % 7 == 0 ? 0.01f : 0.0f;
    call.params.top_k_ties = i % 2;
    call.args.draw_method = i % 4 == 1;
    call.args.random.seed = random();
    call.wanted.logprobs = true;
    ASSERT_EQ(run(rows, call, [](sampler_sample_args *) {}), SAMPLER_OK) << error_;
    ASSERT_EQ(difference(sample_whole(sampler_, rows, call), tokens_), "") << "call " << i;
  }
}

TEST_F(Rank, VerifiesChainsAsWholeRows) {
  constexpr int64_t kNumSequences = 5, kNumDrafts = 3;
  const Rows target = make_rows(kNumSequences * (kNumDrafts + 1), kNumCols, SAMPLER_F32,
                                SAMPLER_PROBABILITIES, false, 3);
  const Rows draft = make_rows(kNumSequences * kNumDrafts, kNumCols, SAMPLER_BF16,
                               SAMPLER_PROBABILITIES, false, 4);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < kNumSequences * kNumDrafts; ++i) {
    const auto row =
        target.values.begin() + (i / kNumDrafts * (kNumDrafts + 1) + i % kNumDrafts) * kNumCols;
    ids.push_back(int32_t(std::max_element(row, row + kNumCols) - row));
  }
  VerifyCall call;
  call.args.num_drafts = kNumDrafts;
  call.args.draft_token_ids = ids.data();
  call.has_draft = call.wants_accepted = true;
  const Verified expected = verify_whole(sampler_, target, draft, call);

  const Ranges ranges = uneven_ranges(kNumCols, num_ranks_, 3);
  const int64_t begin = ranges[size_t(rank_)], end = ranges[size_t(rank_) + 1];
  std::vector<unsigned char> parts[2];
  Verified own;
  sampler_verify_args args;
  bind(call, target.part(begin, end, &parts[0]), draft.part(begin, end, &parts[1]), &args, &own);
  sampler_shard_args shard = {};
  shard.struct_size = sizeof shard;
  shard.verify = &args;
  shard.first_token_id = begin;
  shard.total_cols = kNumCols;
  sampler_shard_plan_info plan = {};
  plan.struct_size = sizeof plan;
  ASSERT_EQ(sampler_mpi_plan(sampler_, &shard, MPI_COMM_WORLD, &plan), SAMPLER_OK);
  Exact workspace(plan.workspace_bytes), memory(sampler_mpi_memory_bytes(&plan, num_ranks_));
  args.exec.workspace = workspace.data();
  args.exec.workspace_bytes = plan.workspace_bytes;
  ASSERT_EQ(
      sampler_mpi_run(sampler_, &shard, MPI_COMM_WORLD, memory.data(), memory.size(), &error_),
      SAMPLER_OK)
      << error_;
  EXPECT_EQ(difference(expected, own), "");
}

// A rank that fails, or has other arguments, makes all fail: none waits for ever.
TEST_F(Rank, FailsWithTheOthers) {
  const Rows rows = make_rows(kNumRows, kNumCols, SAMPLER_F32, SAMPLER_LOGITS, false, 1);
  const SampleCall call;
  const bool is_last = rank_ == num_ranks_ - 1;
  EXPECT_NE(run(rows, call,
                [&](sampler_sample_args *args) {
                  if (is_last) args->out_token_ids = nullptr;
                }),
            SAMPLER_OK);
  EXPECT_STREQ(error_, is_last ? "out_token_ids is NULL; it is required"
                               : "a rank has other arguments, or has failed");
  if (num_ranks_ == 1) return;
  EXPECT_EQ(run(rows, call,
                [&](sampler_sample_args *args) {
                  if (is_last) args->input.num_rows -= 1;
                }),
            SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(error_, "a rank has other arguments, or has failed");
  EXPECT_EQ(tokens_.ids[0], 77);
}

// Where the communicator's handler of errors returns, so does the call.
TEST_F(Rank, TellsOfMpisErrors) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // that of calls without one, too
  sampler_shard_args shard = {};
  EXPECT_EQ(sampler_mpi_run(sampler_, &shard, MPI_COMM_NULL, nullptr, 0, &error_),
            SAMPLER_ERROR_SYSTEM);
  EXPECT_STREQ(error_, "MPI reported an error");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

// For death_test.py: not a test here. The last rank dies while the others are in the call.
TEST_F(Rank, DISABLED_WaitsForADeadOne) {
  const Rows rows = make_rows(kNumRows, kNumCols, SAMPLER_F32, SAMPLER_LOGITS, false, 1);
  ASSERT_EQ(run(rows, SampleCall(), [](sampler_sample_args *) {}), SAMPLER_OK) << error_;
  if (rank_ == num_ranks_ - 1) std::_Exit(9);
  run(rows, SampleCall(), [](sampler_sample_args *) {});
  std::puts("the call came back");
}

}  // namespace
}  // namespace shards_test

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  int failed = RUN_ALL_TESTS(), any_failed = 0;
  MPI_Allreduce(&failed, &any_failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any_failed;
}
