#include "mpi_ranks.h"

namespace shards_test {

Traffic traffic;
int64_t fail_in_collective = -1;

void expect_as_planned(const sampler_shard_plan_info &plan) {
  size_t bytes = 0;
  for (int64_t i = 0; i < plan.num_exchanges; ++i) bytes += plan.message_bytes[i];
  EXPECT_EQ(traffic.num_gathers, plan.num_exchanges);
  EXPECT_EQ(traffic.gathered_bytes, bytes);
  EXPECT_EQ(traffic.num_reductions, 1);
  EXPECT_EQ(traffic.reduced_bytes, 136u);
  EXPECT_EQ(traffic.num_others, 0);
}

Communicator::Communicator(Order order) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  const int color = order == Order::kApart ? rank_ % 2 : 0;
  const int key = order == Order::kReversed ? -rank_ : rank_;
  MPI_Comm_split(MPI_COMM_WORLD, color, key, &communicator_);
  MPI_Comm_rank(communicator_, &rank_);
  MPI_Comm_size(communicator_, &num_ranks_);
}

Communicator::~Communicator() {
  MPI_Comm_free(&communicator_);
}

namespace {

Outcome run_own(const Communicator &communicator, int64_t total_cols, sampler_t sampler,
                sampler_shard_args args) {
  Outcome outcome;
  outcome.plan.struct_size = sizeof outcome.plan;
  args.total_cols = total_cols;
  const char *error = "no plan";
  sampler_status status = sampler_mpi_plan(sampler, &args, communicator, &outcome.plan);
  EXPECT_EQ(status, SAMPLER_OK) << sampler_last_error();
  OwnCall call;
  call.take(&args, outcome.plan.workspace_bytes);
  Exact memory(sampler_mpi_memory_bytes(&outcome.plan, communicator.num_ranks()));
  traffic = {};
  status = sampler_mpi_run(sampler, &args, communicator, memory.data(), memory.size(), &error);
  expect_as_planned(outcome.plan);
  EXPECT_TRUE(memory.is_guarded() && call.is_guarded());
  outcome.statuses = {status};
  outcome.errors = {error};
  outcome.num_exchanges = traffic.num_gathers;
  outcome.sent_bytes = traffic.gathered_bytes;
  return outcome;
}

}  // namespace

RunOverMpi::RunOverMpi(const Communicator &communicator, int64_t total_cols) {
  run_instead = [&communicator, total_cols](const Samplers &samplers,
                                            const std::vector<sampler_shard_args> &ranks) {
    EXPECT_EQ(ranks.size(), 1u);
    return run_own(communicator, total_cols, samplers.of(0), ranks[0]);
  };
}

}  // namespace shards_test

// MPI's functions as they are, by its interface for profiling, and counted.
extern "C" {

using shards_test::fail_in_collective;
using shards_test::traffic;

int MPI_Allgather(const void *send, int count, MPI_Datatype type, void *received,
                  int received_count, MPI_Datatype received_type, MPI_Comm communicator) {
  int size = 0;
  PMPI_Type_size(type, &size);
  ++traffic.num_gathers;
  traffic.gathered_bytes += size_t(count) * size_t(size);
  if (fail_in_collective >= 0 && fail_in_collective-- == 0) return MPI_ERR_OTHER;
  return PMPI_Allgather(send, count, type, received, received_count, received_type, communicator);
}
int MPI_Allreduce(const void *send, void *received, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm communicator) {
  int size = 0;
  PMPI_Type_size(type, &size);
  ++traffic.num_reductions;
  traffic.reduced_bytes += size_t(count) * size_t(size);
  if (fail_in_collective >= 0 && fail_in_collective-- == 0) return MPI_ERR_OTHER;
  return PMPI_Allreduce(send, received, count, type, op, communicator);
}
int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm communicator) {
  ++traffic.num_others;
  return PMPI_Bcast(data, count, type, root, communicator);
}
int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag,
             MPI_Comm communicator) {
  ++traffic.num_others;
  return PMPI_Send(data, count, type, to, tag, communicator);
}
int MPI_Barrier(MPI_Comm communicator) {
  ++traffic.num_others;
  return PMPI_Barrier(communicator);
}

}  // extern "C"
