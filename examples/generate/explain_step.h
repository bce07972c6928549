#ifndef GENERATE_EXPLAIN_STEP_H
#define GENERATE_EXPLAIN_STEP_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <vector>

#include "explanation.h"
#include "generation.h"
#include "tokenizer.h"

namespace generate {

// Explains the row of one step of a text.
class StepExplainer {
 public:
  // `step` is the number of new tokens before the row, `sample` the text's number among those of
  // its prompt.
  StepExplainer(int step, const GenerationOptions &options, std::vector<std::int32_t> prompt,
                std::size_t sample);

  // Takes the logits that follow the text so far; of each step, since adaptive values move.
  void look_at(const Continuation &continuation, const float *logits, std::int64_t num_cols);

  // Throws Error where the text ended before the step.
  void print(const Tokenizer &tokenizer, std::ostream &out) const;

 private:
  int step_;
  const GenerationOptions &options_;
  std::vector<std::int32_t> prompt_;
  std::size_t sample_;
  std::vector<std::int32_t> text_;  // before the step
  std::optional<explain::Explanation> explanation_;
  std::array<float, SAMPLER_NUM_ADAPTIVE_VALUES> adaptive_values_;
};

}  // namespace generate

#endif  // GENERATE_EXPLAIN_STEP_H
