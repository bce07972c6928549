// Random calls: models with all kinds of limits, prompts, options.
#ifndef SAMPLER_TESTS_DECODING_SCENARIO_H_
#define SAMPLER_TESTS_DECODING_SCENARIO_H_

#include <memory>

#include "generation.h"

namespace decoding_test {

struct Scenario {
  explicit Scenario(std::uint64_t seed);

  Calls calls;
  std::unique_ptr<Model> target;
  std::unique_ptr<Model> drafter;
  std::unique_ptr<Generation> generation;
  std::unique_ptr<ScriptedNgram> ngram;
  sampler_speculative_args speculative_args = SAMPLER_SPECULATIVE_ARGS_INIT;
  sampler_ngram_assisted_args ngram_args = SAMPLER_NGRAM_ASSISTED_ARGS_INIT;

  Loop speculative() { return decoding_test::speculative(drafter.get(), speculative_args); }
  Loop ngram_assisted() { return decoding_test::ngram_assisted(ngram->interface(), ngram_args); }
};

// A `process` that forbids a token that depends on the length, and makes another one likelier. For
// f32.
sampler_status forbid_by_length(void *user, sampler_stream stream, void *logits,
                                std::int64_t num_rows, std::int64_t num_cols,
                                std::int64_t row_stride, const std::int32_t *sequences,
                                const std::int64_t *lengths);

}  // namespace decoding_test

#endif  // SAMPLER_TESTS_DECODING_SCENARIO_H_
