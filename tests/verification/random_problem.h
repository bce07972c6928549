// Random verifications whose rows are good.
#ifndef SAMPLER_TESTS_VERIFICATION_RANDOM_PROBLEM_H_
#define SAMPLER_TESTS_VERIFICATION_RANDOM_PROBLEM_H_

#include <string>

#include "problem.h"

namespace verification_test {

struct Kind {
  sampler_acceptance rule = SAMPLER_ACCEPT_STANDARD;
  bool is_tree = false;
  bool has_stages = false;  // logits, a text, and edits and windows that go by it
  bool has_reports = false;
  bool has_bad_ids = true;  // of drafts; not with stages, nor by BLOCK
  bool has_greedy_rows = true;
  bool has_forced_tokens = false;  // at some positions
  bool is_large = false;           // rows of hundreds of tokens
};

Problem random_problem(Random *random, const Kind &kind);

// Text, and stages that depend on it. Draft rows that are logits get parameters of their own.
void add_stages(Random *random, Problem *problem);

// Any that the problem can have.
Layout random_layout(Random *random, const Problem &problem);

std::string describe(const Problem &problem, const Layout &layout);

}  // namespace verification_test

#endif  // SAMPLER_TESTS_VERIFICATION_RANDOM_PROBLEM_H_
