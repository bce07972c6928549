#include "explain_step.h"

#include <limits>
#include <ostream>
#include <string>
#include <utility>

#include "error.h"
#include "json_file.h"
#include "picture.h"
#include "text_question.h"

namespace generate {

namespace {

constexpr std::size_t kNumTokens = 20;

// Whether what a draw is by depends on what was drawn before, beside the text.
bool has_adaptive_values(const GenerationOptions &options) {
  if (!options.engine) return false;
  const sampler_params &params = options.engine->params;
  return params.adaptive_kind != SAMPLER_ADAPTIVE_NONE || params.top_p_decay > 0.0f;
}

}  // namespace

StepExplainer::StepExplainer(int step, const GenerationOptions &options,
                             std::vector<std::int32_t> prompt, std::size_t sample)
    : step_(step), options_(options), prompt_(std::move(prompt)), sample_(sample) {
  adaptive_values_.fill(std::numeric_limits<float>::quiet_NaN());
}

void StepExplainer::look_at(const Continuation &continuation, const float *logits,
                            std::int64_t num_cols) {
  const std::vector<std::int32_t> &output = continuation.new_tokens;
  if (explanation_) return;
  const bool is_the_step = output.size() == static_cast<std::size_t>(step_);
  if (!is_the_step && !has_adaptive_values(options_)) return;
  std::vector<std::int32_t> text = prompt_;
  text.insert(text.end(), output.begin(), output.end());
  TextQuestion question(options_, sample_, text, static_cast<std::int32_t>(prompt_.size()),
                        {logits, logits + num_cols});
  question.set_adaptive_values(adaptive_values_.data());
  explain::Explanation explanation = explain::explain(question.get());
  const explain::Values &after = explanation.values_after;
  adaptive_values_ = {after.mu, after.weighted_sum, after.total_weight, after.top_p};
  if (!is_the_step) return;
  text_ = std::move(text);
  explanation_ = std::move(explanation);
}

void StepExplainer::print(const Tokenizer &tokenizer, std::ostream &out) const {
  if (!explanation_) {
    throw Error("--explain is " + std::to_string(step_) +
                "; it must be less than the number of new tokens, and the text ended before");
  }
  out << "\nstep " << step_ << ", after " << in_readable_quotes(tokenizer.token_name(text_.back()))
      << ":\n";
  const auto text = [&](std::int32_t id) { return in_readable_quotes(tokenizer.token_name(id)); };
  explain::print(*explanation_, kNumTokens, text, out);
}

}  // namespace generate
