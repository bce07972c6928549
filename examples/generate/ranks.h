#ifndef GENERATE_RANKS_H
#define GENERATE_RANKS_H

#include <sampler/sampler.h>

#include <cstdint>
#include <memory>

namespace generate {

// Processes that each have the logits of some tokens, and together draw tokens from all of them.
class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual int rank() const = 0;
  virtual int num_ranks() const = 0;

  // sampler_sample of rows that have total_cols logits, of which this process has those from
  // first_token_id on. All processes make the call, and have its outputs. The workspace is set
  // here. Throws Error.
  virtual void sample(sampler_t sampler, const sampler_sample_args &args,
                      std::int64_t first_token_id, std::int64_t total_cols) = 0;

  // Ends all processes, of which others may wait for this one.
  virtual void abort() = 0;
};

// The processes that mpirun has started, which must be as many. Throws Error, also in a program
// that was built without MPI.
std::unique_ptr<Ranks> start_ranks(int num_ranks);

}  // namespace generate

#endif  // GENERATE_RANKS_H
