// Ranks over MPI.
#include <sampler_mpi.h>

#include <string>
#include <vector>

#include "error.h"
#include "ranks.h"

namespace generate {

namespace {

class MpiRanks : public Ranks {
 public:
  MpiRanks() {
    if (MPI_Init(nullptr, nullptr) != MPI_SUCCESS) throw Error("MPI cannot be started");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks_);
  }
  ~MpiRanks() override { MPI_Finalize(); }
  MpiRanks(const MpiRanks &) = delete;
  MpiRanks &operator=(const MpiRanks &) = delete;

  int rank() const override { return rank_; }
  int num_ranks() const override { return num_ranks_; }

  void sample(sampler_t sampler, const sampler_sample_args &args, std::int64_t first_token_id,
              std::int64_t total_cols) override {
    sampler_sample_args own = args;
    sampler_shard_args shard = {};
    shard.struct_size = sizeof shard;
    shard.sample = &own;
    shard.first_token_id = first_token_id;
    shard.total_cols = total_cols;
    sampler_shard_plan_info plan = {};
    plan.struct_size = sizeof plan;
    // Where it fails the run does, too, on every rank.
    if (sampler_mpi_plan(sampler, &shard, MPI_COMM_WORLD, &plan) == SAMPLER_OK) {
      workspace_.resize(plan.workspace_bytes);
      messages_.resize(sampler_mpi_memory_bytes(&plan, num_ranks_) / sizeof(std::uint64_t));
    }
    own.exec.workspace = workspace_.data();
    own.exec.workspace_bytes = workspace_.size();
    const char *error = nullptr;
    if (sampler_mpi_run(sampler, &shard, MPI_COMM_WORLD, messages_.data(),
                        messages_.size() * sizeof(std::uint64_t), &error) != SAMPLER_OK) {
      throw Error(std::string("sampling: ") + error);
    }
  }

  void abort() override { MPI_Abort(MPI_COMM_WORLD, 1); }

 private:
  int rank_ = 0, num_ranks_ = 1;
  std::vector<char> workspace_;
  std::vector<std::uint64_t> messages_;
};

}  // namespace

std::unique_ptr<Ranks> start_ranks(int num_ranks) {
  auto ranks = std::make_unique<MpiRanks>();
  if (ranks->num_ranks() != num_ranks) {
    throw Error("--ranks is " + std::to_string(num_ranks) + ", and MPI has started " +
                std::to_string(ranks->num_ranks()) + "; run mpirun -np " +
                std::to_string(num_ranks));
  }
  return ranks;
}

}  // namespace generate
