// integrations/mpi under mpirun: ranks that fail, disagree or die.
#include <gtest/gtest.h>
#include <sampler_mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "mpi_ranks.h"
#include "problem.h"

namespace shards_test {
namespace {

constexpr int64_t kNumRows = 15, kNumCols = 3001;
constexpr int32_t kUntouched = 77;

class Rank : public testing::Test {
 protected:
  // With `breaks_in_` a round, the caller's threads leave out tasks in it.
  static void run_tasks(void *user, int64_t num_tasks, sampler_task_fn task, void *task_user) {
    const bool breaks = static_cast<Rank *>(user)->breaks_in_ == traffic.num_gathers;
    for (int64_t i = 0; i < num_tasks - breaks; ++i) task(task_user, i);
  }

  void SetUp() override {
    sampler_options options = sampler_options_default();
    options.num_threads = 2;
    options.parallel_for = run_tasks;
    options.parallel_for_user = this;
    ASSERT_EQ(sampler_create(&options, &sampler_), SAMPLER_OK);
    alarm(kMaxSeconds);
  }
  void TearDown() override {
    alarm(0);
    sampler_destroy(sampler_);
  }
  int rank() const { return communicator_.rank(); }
  int num_ranks() const { return communicator_.num_ranks(); }

  struct Arguments {
    sampler_params params = sampler_params_default();
    sampler_sample_args sample = {};
    sampler_shard_args shard = {};
    sampler_select_args select = {};
    size_t missing_bytes = 0;  // of the messages' memory
  };
  using Spoil = std::function<void(Arguments &)>;

  // A call of seven exchanges; `spoil` changes this rank's arguments.
  sampler_status run(const Spoil &spoil = [](Arguments &) {}) {
    const Ranges ranges = even_ranges(kNumCols, num_ranks());
    std::vector<unsigned char> part;
    Arguments call;
    call.params.top_p = 0.9f;
    call.sample.struct_size = sizeof call.sample;
    call.sample.params = &call.params;
    call.sample.input = rows_.part(ranges[size_t(rank())], ranges[size_t(rank()) + 1], &part);
    tokens_.assign(kNumRows, kUntouched);
    call.sample.out_token_ids = tokens_.data();
    call.shard.struct_size = sizeof call.shard;
    call.shard.sample = &call.sample;
    call.shard.first_token_id = ranges[size_t(rank())];
    call.shard.total_cols = kNumCols;
    spoil(call);
    plan_.struct_size = sizeof plan_;
    Exact memory;
    OwnCall own;
    if (sampler_mpi_plan(sampler_, &call.shard, communicator_, &plan_) == SAMPLER_OK) {
      memory = Exact(sampler_mpi_memory_bytes(&plan_, num_ranks()) - call.missing_bytes);
      own.take(&call.shard, plan_.workspace_bytes);
    }
    traffic = {};
    const char *error = nullptr;
    const sampler_status status =
        sampler_mpi_run(sampler_, &call.shard, communicator_, memory.data(), memory.size(), &error);
    EXPECT_TRUE(memory.is_guarded() && own.is_guarded());
    error_ = error;
    return status;
  }

  void expect_good() {
    EXPECT_EQ(run(), SAMPLER_OK) << error_;
    EXPECT_EQ(error_, "");
    EXPECT_EQ(tokens_, whole_tokens());
  }
  void expect_nothing_written() const {
    EXPECT_EQ(tokens_, std::vector<int32_t>(kNumRows, kUntouched));
  }
  // Where another rank has failed.
  void expect_to_be_told(sampler_status status, int failed_rank, int64_t round) const {
    EXPECT_EQ(status, SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(error_, "rank " + std::to_string(failed_rank) + " has failed in round " +
                          std::to_string(round) + ", and sent zeros; its own error says why");
    expect_nothing_written();
  }

  const std::vector<int32_t> &whole_tokens() {
    if (!whole_tokens_.empty()) return whole_tokens_;
    SampleCall call;
    call.params.top_p = 0.9f;
    return whole_tokens_ = sample_whole(sampler_, rows_, call).ids;
  }

  const Communicator communicator_{Order::kReversed};
  const Rows rows_ = make_rows(kNumRows, kNumCols, SAMPLER_F32, SAMPLER_LOGITS, false, 1);
  sampler_t sampler_ = nullptr;
  int64_t breaks_in_ = -1;
  std::vector<int32_t> tokens_, whole_tokens_;
  sampler_shard_plan_info plan_ = {};
  std::string error_;
};

// Every rank in every round: the others fail in the next one, all of them, and none waits for ever.
TEST_F(Rank, FailsWithTheOthers) {
  expect_good();
  const int64_t num_exchanges = plan_.num_exchanges;
  ASSERT_EQ(num_exchanges, 7);
  for (int failed_rank = 0; failed_rank < num_ranks(); ++failed_rank) {
    for (int64_t round = 0; round <= num_exchanges; ++round) {
      breaks_in_ = rank() == failed_rank ? round : -1;
      const sampler_status status = run();
      breaks_in_ = -1;
      if (rank() == failed_rank) {
        EXPECT_EQ(status, SAMPLER_ERROR_CALLBACK) << error_;
        if (round < num_exchanges) expect_nothing_written();
      } else if (round < num_exchanges) {
        expect_to_be_told(status, failed_rank, round);
      } else {
        EXPECT_EQ(status, SAMPLER_OK) << error_;
        EXPECT_EQ(tokens_, whole_tokens());
      }
    }
  }
  expect_good();
}

// Failures that no message reports to the others, each rank in turn.
TEST_F(Rank, TellsOfItsLastRoundWhereItIsAsked) {
  const auto confirm = [&](sampler_status status, int *failed_rank) {
    const char *text = error_.c_str();
    traffic = {};
    const sampler_status confirmed = sampler_mpi_confirm(status, communicator_, failed_rank, &text);
    EXPECT_EQ(traffic.num_reductions, 1);
    EXPECT_EQ(traffic.reduced_bytes, 8u);
    EXPECT_EQ(traffic.num_gathers + traffic.num_others, 0);
    error_ = std::string(text);
    return confirmed;
  };
  int failed_rank = 77;
  expect_good();
  const int64_t last_round = plan_.num_exchanges;
  EXPECT_EQ(confirm(SAMPLER_OK, &failed_rank), SAMPLER_OK);
  EXPECT_EQ(error_, "");
  EXPECT_EQ(failed_rank, -1);
  for (int breaking = 0; breaking < num_ranks(); ++breaking) {
    breaks_in_ = rank() == breaking ? last_round : -1;
    const sampler_status status = run();
    breaks_in_ = -1;
    const std::string own_error = error_;
    const sampler_status confirmed = confirm(status, &failed_rank);
    EXPECT_EQ(failed_rank, breaking);
    if (rank() == breaking) {
      EXPECT_EQ(confirmed, SAMPLER_ERROR_CALLBACK);
      EXPECT_EQ(error_, own_error);
    } else {
      EXPECT_EQ(status, SAMPLER_OK);
      EXPECT_EQ(confirmed, SAMPLER_ERROR_INVALID_ARGUMENT);
      EXPECT_EQ(error_, "a rank has failed in the last round; its own error says why");
    }
  }
  // The first of two failed ranks is reported; failed_rank and the text may be NULL.
  const sampler_status own = rank() + 2 >= num_ranks() ? SAMPLER_ERROR_SYSTEM : SAMPLER_OK;
  EXPECT_NE(confirm(own, &failed_rank), SAMPLER_OK);
  EXPECT_EQ(failed_rank, std::max(num_ranks() - 2, 0));
  EXPECT_EQ(sampler_mpi_confirm(SAMPLER_OK, communicator_, nullptr, nullptr), SAMPLER_OK);
  fail_in_collective = 0;
  EXPECT_EQ(confirm(SAMPLER_OK, &failed_rank), SAMPLER_ERROR_SYSTEM);
  EXPECT_EQ(error_, "MPI reported an error");
  fail_in_collective = 0;
  EXPECT_EQ(confirm(SAMPLER_ERROR_CALLBACK, &failed_rank), SAMPLER_ERROR_CALLBACK);
}

// A rank that does not come to the first exchange.
TEST_F(Rank, FailsWithTheOthersBeforeMessagesAreSent) {
  const std::pair<Spoil, std::string> cases[] = {
      {[](Arguments &call) { call.sample.out_token_ids = nullptr; },
       "out_token_ids is NULL; it is required"},
      {[](Arguments &call) { call.shard.total_cols = 0; },
       "total_cols is 0; it must be at least 1"},
      {[](Arguments &call) { call.missing_bytes = 8; },
       "memory_bytes is less than sampler_mpi_memory_bytes"},
  };
  for (const auto &[spoil, text] : cases) {
    for (int failed_rank = 0; failed_rank < num_ranks(); ++failed_rank) {
      const sampler_status status = rank() == failed_rank ? run(spoil) : run();
      if (rank() == failed_rank) {
        EXPECT_EQ(status, SAMPLER_ERROR_INVALID_ARGUMENT);
        EXPECT_EQ(error_, text);
        expect_nothing_written();
      } else {
        expect_to_be_told(status, failed_rank, 0);
      }
    }
  }
  const sampler_status status = run([&](Arguments &call) {
    if (rank() == 0) call.shard.total_cols = 0;
    call.sample.input.num_rows = 0;
  });
  EXPECT_EQ(status, SAMPLER_ERROR_INVALID_ARGUMENT);
  if (rank() > 0) {
    EXPECT_EQ(error_, "a rank has failed; its own error says why");
  }
  expect_good();
}

// The last rank's arguments are others: one text on every rank.
TEST_F(Rank, NamesWhatDiffers) {
  if (num_ranks() == 1) return;
  static const float biases[kNumCols] = {};
  static sampler_pipeline pipeline = {};
  pipeline.struct_size = sizeof pipeline;
  pipeline.dense_bias = biases;
  pipeline.num_dense_biases = 1;
  const int last = num_ranks() - 1;
  const int64_t first = even_ranges(kNumCols, num_ranks())[size_t(last)];
  const std::string rule =
      " differs between ranks 0 and " + std::to_string(last) + "; it must be the same";
  const std::string shape = "the operation, its rows, columns, ranks or reports" + rule;
  const std::pair<Spoil, std::string> cases[] = {
      {[](Arguments &call) { call.sample.random.seed = 1; }, "random" + rule},
      {[](Arguments &call) { call.sample.random.offset = 1; }, "random" + rule},
      {[](Arguments &call) { call.params.temperature = 0.5f; }, "params or row_params" + rule},
      {[](Arguments &call) { call.params.top_p = 0.5f; }, "params or row_params" + rule},
      {[](Arguments &call) { call.sample.pipeline = &pipeline; }, "pipeline" + rule},
      {[](Arguments &call) { call.sample.draw_method = SAMPLER_DRAW_GUMBEL; }, shape},
      // As long a first message, and fewer of them.
      {[](Arguments &call) { call.params.temperature = 0.0f; }, shape},
      {[](Arguments &call) { call.params.top_k = 50; }, shape},
      {[](Arguments &call) { call.sample.input.num_rows -= 1; }, shape},
      {[](Arguments &call) {
         static float values[kNumRows * 3];
         static int32_t ids[kNumRows * 3];
         call.select.struct_size = sizeof call.select;
         call.select.input = call.sample.input;
         call.select.num_selected = 3;
         call.select.out_values = values;
         call.select.out_token_ids = ids;
         call.shard.sample = nullptr;
         call.shard.select = &call.select;
       },
       shape},
      {[](Arguments &call) { call.sample.input.num_rows = 0; },
       "a rank has no rows, and another one has"},
      {[](Arguments &call) { call.shard.first_token_id -= 1; },
       "first_token_id of rank " + std::to_string(last) + " is " + std::to_string(first - 1) +
           "; it must be " + std::to_string(first) + ", where the range before it ends"},
      {[](Arguments &call) { call.sample.input.num_cols -= 1; },
       "the ranks' ranges end at 3000; it must be total_cols, 3001"},
  };
  for (const auto &[spoil, text] : cases) {
    EXPECT_EQ(rank() == last ? run(spoil) : run(), SAMPLER_ERROR_INVALID_ARGUMENT) << text;
    EXPECT_EQ(error_, text);
    expect_nothing_written();
  }
  expect_good();
}

// Where the communicator's handler of errors returns, so does the call: of no communicator, and
// where MPI reports a failure to all ranks in the reduction, or in any exchange.
TEST_F(Rank, TellsOfMpisErrors) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // that of calls without one, too
  sampler_shard_args shard = {};
  const char *error = nullptr;
  EXPECT_EQ(sampler_mpi_run(sampler_, &shard, MPI_COMM_NULL, nullptr, 0, &error),
            SAMPLER_ERROR_SYSTEM);
  EXPECT_STREQ(error, "MPI reported an error");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  for (int64_t call = 0; call < 8; ++call) {
    const sampler_status status = run([&](Arguments &) { fail_in_collective = call; });
    EXPECT_EQ(status, SAMPLER_ERROR_SYSTEM) << call;
    EXPECT_EQ(error_, "MPI reported an error");
    expect_nothing_written();
  }
  EXPECT_EQ(fail_in_collective, -1);
  expect_good();
}

// For death_test.py: not a test here. The last rank dies while the others are in the call.
TEST_F(Rank, DISABLED_WaitsForADeadOne) {
  expect_good();
  int rank = 0, num_ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  if (rank == num_ranks - 1) std::_Exit(9);
  run();
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
