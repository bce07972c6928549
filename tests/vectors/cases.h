// The calls that are recorded.
#ifndef SAMPLER_TESTS_VECTORS_CASES_H_
#define SAMPLER_TESTS_VECTORS_CASES_H_

#include <vector>

#include "case.h"

namespace vectors_test {

// One operation's, with the outputs that they gave. Aborts where a call that should succeed fails,
// or the other way round.
std::vector<Case> make_cases(const capi_test::Operation &operation);

// Those of them with stages, reports, and rules and layouts of verification.
std::vector<Case> make_stage_cases(capi_test::Op op);

// Those of states.
std::vector<StateCase> make_state_cases();

}  // namespace vectors_test

#endif  // SAMPLER_TESTS_VECTORS_CASES_H_
