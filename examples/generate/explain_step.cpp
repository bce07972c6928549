#include "explain_step.h"

#include <ostream>
#include <string>
#include <utility>

#include "error.h"
#include "json_file.h"
#include "picture.h"

namespace generate {

namespace {

constexpr std::size_t kNumTokens = 20;

}  // namespace

StepExplainer::StepExplainer(int step, const GenerationOptions &options,
                             std::vector<std::int32_t> prompt)
    : step_(step),
      options_(options),
      text_(std::move(prompt)),
      prompt_length_(static_cast<std::int32_t>(text_.size())) {}

void StepExplainer::look_at(const Continuation &continuation, const float *logits,
                            std::int64_t num_cols) {
  const std::vector<std::int32_t> &output = continuation.new_tokens;
  if (explanation_ || output.size() != static_cast<std::size_t>(step_)) return;
  text_.insert(text_.end(), output.begin(), output.end());
  explain::Question question;
  question.logits.assign(logits, logits + num_cols);
  question.params = params_of(options_.sampling);
  std::optional<engine_parameters::Pipeline> pipeline;
  if (options_.engine) {
    pipeline.emplace(*options_.engine, text_, prompt_length_);
    question.params = *pipeline->params();
    question.pipeline = pipeline->get();
  }
  question.seed = options_.seed;
  question.offset = output.size();  // as the loop draws it
  explanation_ = explain::explain(question);
}

void StepExplainer::print(const BpeTokenizer &tokenizer, std::ostream &out) const {
  if (!explanation_) {
    throw Error("--explain is " + std::to_string(step_) +
                "; it must be less than the number of new tokens, and the text ended before");
  }
  out << "\nstep " << step_ << ", after " << in_readable_quotes(tokenizer.token_bytes(text_.back()))
      << ":\n";
  const auto text = [&](std::int32_t id) { return in_readable_quotes(tokenizer.token_bytes(id)); };
  explain::print(*explanation_, kNumTokens, text, out);
}

}  // namespace generate
