// What a verification should give, worked out a second time, walked node by node: rows by
// sampler_sample and sampler_filter, one at a time, with the text that the path has; random words
// by the oracle's Philox; rules and residuals in doubles.
#ifndef SAMPLER_TESTS_VERIFICATION_WALK_H_
#define SAMPLER_TESTS_VERIFICATION_WALK_H_

#include <sampler/sampler.h>

#include <cstdint>

#include "problem.h"

namespace verification_test {

struct Expectation {
  Outcome outcome;

  // A number that is rounded came so near to the one that it is compared with that the doubles
  // cannot tell. Never so of a chain by STANDARD, nor of SAMPLE_MATCH.
  bool is_uncertain = false;
};

// One sequence with good rows. `sampler`, the scalar reference, does the parts.
Expectation expect(sampler_t sampler, const Problem &problem, std::int64_t sequence);

}  // namespace verification_test

#endif  // SAMPLER_TESTS_VERIFICATION_WALK_H_
