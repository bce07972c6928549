#ifndef GENERATE_TEXT_QUESTION_H
#define GENERATE_TEXT_QUESTION_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "explanation.h"
#include "generation.h"

namespace generate {

// What the next token of a text is drawn from, and how, as the loops do it: for explain().
class TextQuestion {
 public:
  // The text's first `prompt_length` tokens are its prompt, of which it is sample number `sample`,
  // from 0. `logits` follow the text. The options must outlive this object.
  TextQuestion(const GenerationOptions &options, std::size_t sample,
               const std::vector<std::int32_t> &text, std::int32_t prompt_length,
               std::vector<float> logits);
  TextQuestion(const TextQuestion &) = delete;
  TextQuestion &operator=(const TextQuestion &) = delete;

  // What adaptive stages have come to, [SAMPLER_NUM_ADAPTIVE_VALUES], which must outlive this
  // object.
  void set_adaptive_values(const float *values) { pipeline_.adaptive_values = values; }

  // Good as long as this object.
  const explain::Question &get() const { return question_; }

 private:
  std::optional<engine_parameters::Pipeline> lists_;
  sampler_pipeline pipeline_ = {};
  explain::Question question_;
};

}  // namespace generate

#endif  // GENERATE_TEXT_QUESTION_H
