// Random calls: models with all kinds of limits, prompts, options.
#ifndef SAMPLER_TESTS_DECODING_SCENARIO_H_
#define SAMPLER_TESTS_DECODING_SCENARIO_H_

#include <memory>

#include "generation.h"
#include "../sized.h"

namespace decoding_test {

struct Scenario {
  explicit Scenario(std::uint64_t seed);

  Calls calls;
  std::unique_ptr<Model> target;
  std::unique_ptr<Model> drafter;
  std::unique_ptr<Generation> generation;
  std::unique_ptr<ScriptedNgram> ngram;
  SpeculativeArgs speculative_args;
  SpeculativeArgs ngram_args;
  SpeculativeArgs tree_args;

  // The target can have trees of drafts from now on.
  void take_trees() { target->take_trees(tree_args.gamma); }
  // The drafter's caches hold beginnings of the texts.
  void expect_drafter_of_texts() const;

  Loop speculative() { return decoding_test::speculative(drafter.get(), speculative_args); }
  Loop in_trees() { return decoding_test::speculative(drafter.get(), tree_args); }
  Loop with_ngrams() { return decoding_test::speculative(ngram->interface(), ngram_args); }
};

// A `process` that forbids a token that depends on the length, and makes another one likelier. For
// f32.
sampler_status forbid_by_length(const ProcessCall &call);

}  // namespace decoding_test

#endif  // SAMPLER_TESTS_DECODING_SCENARIO_H_
