#include "text_question.h"

#include <utility>

namespace generate {

TextQuestion::TextQuestion(const GenerationOptions &options, std::size_t sample,
                           const std::vector<std::int32_t> &text, std::int32_t prompt_length,
                           std::vector<float> logits) {
  question_.logits = std::move(logits);
  question_.seed = options.seed + sample;
  question_.offset = text.size() - static_cast<std::size_t>(prompt_length);
  question_.params = params_of(options.sampling);
  if (!options.engine) return;
  const engine_parameters::Request &request = *options.engine;
  lists_.emplace(request, text, prompt_length);
  pipeline_ = *lists_->get();
  question_.params = *lists_->params();
  question_.pipeline = &pipeline_;
  question_.draw_method = request.draw_method;
  question_.top_p_reset_token_id = request.top_p_reset_token_id.value_or(-1);
  question_.forced_token_id = request.forced_token(question_.offset);
}

}  // namespace generate
