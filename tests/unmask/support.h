// Unmasking problems, and an oracle of sorted lists that decides them.
#ifndef SAMPLER_TESTS_UNMASK_SUPPORT_H_
#define SAMPLER_TESTS_UNMASK_SUPPORT_H_

#include <sampler/sampler.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../random.h"
#include "../sized.h"

namespace unmask_test {

using tests::Random;

struct Destroy {
  void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
};
using Handle = std::unique_ptr<sampler_handle, Destroy>;
Handle make_handle();

// A call's arrays. Empty ones that may be NULL are.
struct Problem {
  sampler_unmask_args args = sized<sampler_unmask_args>();  // all but the arrays
  sampler_unmask_params params = sized<sampler_unmask_params>();
  std::vector<std::int64_t> block_offsets;
  std::vector<std::int64_t> candidates, tokens;
  std::vector<sampler_row_status> status;
  std::vector<float> scores;
  std::vector<std::int32_t> slots;
  std::vector<std::uint64_t> seeds, offsets;
  std::vector<std::uint32_t> streams;
  std::vector<std::int32_t> num_committed, num_steps_left;  // by block

  std::int64_t block_begin(std::int64_t block) const;
  std::int64_t block_end(std::int64_t block) const { return block_begin(block + 1); }
};

struct Outputs {
  std::vector<std::int64_t> tokens;
  std::vector<std::uint8_t> changes;
  std::vector<float> confidences;
  std::vector<std::int32_t> committed, edited, masked;
  std::vector<sampler_row_status> block_status;

  bool operator==(const Outputs &other) const;
};
std::string to_string(const Outputs &outputs);

// Runs the call, which must succeed. What it does not write keeps 77, and -77.
Outputs run(sampler_t sampler, const Problem &problem);

// Blocks, candidates, scores with ties, and rules of every kind.
Problem random_problem(Random *random);

// The call of one of the blocks alone, whose rows have the slots that they had.
Problem block_alone(const Problem &problem, std::int64_t block);

// What the contract says, with these confidences.
Outputs expected(const Problem &problem, const std::vector<float> &confidences);

// Compares the confidences with those of libm.
void check_confidences(const Problem &problem, const std::vector<float> &confidences);

}  // namespace unmask_test

#endif  // SAMPLER_TESTS_UNMASK_SUPPORT_H_
