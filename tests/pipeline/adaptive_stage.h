// What the oracle makes of a row by an adaptive stage, section 14.2 of the contract.
#ifndef SAMPLER_TESTS_PIPELINE_ADAPTIVE_STAGE_H_
#define SAMPLER_TESTS_PIPELINE_ADAPTIVE_STAGE_H_

#include "edits_oracle.h"
#include "problem.h"
#include "reports_oracle.h"

namespace pipeline_test {

// What the row's stages go by: what the slot remembers, or where they start.
struct AdaptiveStart {
  float mu;
  oracle::AdaptiveSums sums;
  float top_p;  // the row's own where it does not decay
};
AdaptiveStart adaptive_start(const Problem &problem, std::int64_t row);

// The tokens that adaptive-p has given new weights, as their y; none where it does nothing.
// `staged` has what the windows leave.
oracle::RankedTokens reweighed_tokens(const Problem &problem, const Expected &staged,
                                      std::int64_t row);

// From the outputs of a call without adaptive stages, on the rows that the windows leave, to those
// with them: the draw by adaptive-p's weights, and what is observed of each token.
// Log-probabilities are PROCESSED. `sampler` draws by noise.
void adapt(const Problem &problem, const Expected &staged, sampler_draw_method draw,
           sampler_t sampler, Sampled *sampled);

// The same of filtered rows, as probabilities.
void adapt(const Problem &problem, const Expected &staged, Filtered *filtered);

}  // namespace pipeline_test

#endif  // SAMPLER_TESTS_PIPELINE_ADAPTIVE_STAGE_H_
