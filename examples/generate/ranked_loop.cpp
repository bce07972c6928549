#include "ranked_loop.h"

#include <algorithm>

namespace generate {

RankedLoop::RankedLoop(const Gpt2Model &model, const sampler_generation_args &args,
                       const Ranks &ranks, OwnDraw *draw, Clock clock)
    : model_(model),
      args_(args),
      range_(model.share(ranks.rank(), ranks.num_ranks())),
      draw_(draw),
      clock_(clock) {
  for (std::int64_t i = 0; i < args.num_sequences; ++i) {
    const std::int32_t *const ids = args.prompt_token_ids;
    texts_.push_back({static_cast<std::int32_t>(i),
                      Gpt2Sequence(model.config()),
                      {ids + args.prompt_offsets[i], ids + args.prompt_offsets[i + 1]}});
  }
}

void RankedLoop::run() {
  std::vector<Text *> active;
  for (Text &text : texts_) active.push_back(&text);
  std::vector<std::uint64_t> num_new_tokens(texts_.size(), 0);
  while (!active.empty()) {
    const std::vector<float> logits = forward(active);
    std::vector<std::int32_t> indices;
    for (const Text *text : active) {
      indices.push_back(text->index);
      num_new_tokens[static_cast<std::size_t>(text->index)] = text->num_new;
    }
    draw_->draw(logits.data(), static_cast<std::int64_t>(active.size()),
                static_cast<std::int64_t>(range_.size()), 0, indices.data(), num_new_tokens);
    for (Text *text : active) {
      if (!emit(text, static_cast<std::int32_t>(draw_->tokens()[text->index]))) return;
    }
    ++args_.out_stats->num_rounds;
    const auto has_ended = [](const Text *text) { return text->reason != SAMPLER_FINISH_NONE; };
    active.erase(std::remove_if(active.begin(), active.end(), has_ended), active.end());
  }
}

// The logits of the next token of each text, as far as this process has them.
std::vector<float> RankedLoop::forward(const std::vector<Text *> &texts) {
  const std::int64_t start = nanoseconds(clock_);
  std::vector<TokenSpan> spans;
  for (Text *text : texts) {
    if (!args_.use_cache) text->cache.truncate(0);
    const int length = text->cache.length();
    spans.push_back({&text->cache, text->tokens.data() + length,
                     static_cast<int>(text->tokens.size()) - length});
  }
  std::vector<float> logits(texts.size() * range_.size());
  model_.forward_share(spans, range_, logits.data());
  ++args_.out_stats->target_forwards;
  model_seconds_ += seconds_since(start, clock_);
  return logits;
}

// False: the loop ends here.
bool RankedLoop::emit(Text *text, std::int32_t token_id) const {
  const bool has_token = token_id >= 0;
  if (has_token) {
    text->tokens.push_back(token_id);
    ++text->num_new;
    ++args_.out_stats->num_new_tokens;
  }
  text->reason = has_token ? reason_after(*text) : SAMPLER_FINISH_BAD_ROW;
  return args_.on_tokens(args_.user, text->index, &token_id, has_token, text->reason) == 0;
}

sampler_finish_reason RankedLoop::reason_after(const Text &text) const {
  const std::int32_t *const end = args_.end_token_ids + args_.num_end_tokens;
  if (std::find(args_.end_token_ids, end, text.tokens.back()) != end) {
    return SAMPLER_FINISH_END_TOKEN;
  }
  if (text.num_new == static_cast<std::uint64_t>(args_.max_new_tokens))
    return SAMPLER_FINISH_LENGTH;
  const bool is_full = text.tokens.size() == static_cast<std::size_t>(model_.config().n_positions);
  return is_full ? SAMPLER_FINISH_CONTEXT : SAMPLER_FINISH_NONE;
}

}  // namespace generate
