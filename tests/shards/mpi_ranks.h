// Ranks that are processes: what they send, counted, and calls of problem.h over them.
#pragma once

#include <gtest/gtest.h>
#include <sampler_mpi.h>

#include "ranks.h"

namespace shards_test {

// A test that takes longer waits for ever: alarm(kMaxSeconds).
constexpr unsigned kMaxSeconds = 300;

// What this process has called of MPI since it was last cleared.
struct Traffic {
  int64_t num_gathers = 0, num_reductions = 0, num_others = 0;
  size_t gathered_bytes = 0, reduced_bytes = 0;  // that it sent
};
extern Traffic traffic;

// Which of the reductions and gathers to come MPI fails in, once; -1: in none.
extern int64_t fail_in_collective;

// That it is what the plan says, and one reduction.
void expect_as_planned(const sampler_shard_plan_info &plan);

// An order of processes: those of the world, the other way round, or odd and even ones apart.
enum class Order { kWorld, kReversed, kApart };

class Communicator {
 public:
  explicit Communicator(Order order);
  ~Communicator();
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;
  operator MPI_Comm() const { return communicator_; }

  int rank() const { return rank_; }
  int num_ranks() const { return num_ranks_; }

  // This rank's range of all ids. With it the functions of problem.h run one rank, over this,
  // while a RunOverMpi lives.
  Ranges own(const Ranges &ranges) const {
    return {ranges[size_t(rank_)], ranges[size_t(rank_) + 1]};
  }

 private:
  MPI_Comm communicator_;
  int rank_, num_ranks_;
};

class RunOverMpi {
 public:
  RunOverMpi(const Communicator &communicator, int64_t total_cols);
  ~RunOverMpi() { run_instead = nullptr; }
  RunOverMpi(const RunOverMpi &) = delete;
  RunOverMpi &operator=(const RunOverMpi &) = delete;
};

}  // namespace shards_test
