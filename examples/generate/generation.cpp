#include "generation.h"

#include <chrono>
#include <string>
#include <utility>

#include "error.h"

namespace generate {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Batch {
 public:
  Batch(const Gpt2Model &model, const std::vector<std::vector<std::int32_t>> &prompts,
        const GenerationOptions &options, const TokenListener &on_token)
      : model_(model),
        prompts_(prompts),
        options_(options),
        on_token_(on_token),
        sampler_(static_cast<std::int64_t>(prompts.size()) * options.num_samples,
                 model.config().vocab_size) {}

  std::vector<Continuation> run(GenerationTimes *out_times) {
    const Clock::time_point start = Clock::now();
    prefill();
    out_times->first_token_seconds = seconds_since(start);
    while (!active_.empty()) decode();
    out_times->total_seconds = seconds_since(start);
    out_times->sampling_seconds = sampling_seconds_;
    return std::move(continuations_);
  }

 private:
  // A continuation that has not ended. Its sequence lacks the last token, which is the next input.
  struct Active {
    std::size_t continuation;
    std::uint64_t seed;
    Gpt2Sequence sequence;
    std::int32_t last_token = 0;
  };

  void prefill() {
    std::vector<Gpt2Sequence> sequences(prompts_.size(), Gpt2Sequence(model_.config()));
    std::vector<TokenSpan> spans;
    for (std::size_t i = 0; i < prompts_.size(); ++i) {
      spans.push_back({&sequences[i], prompts_[i].data(), static_cast<int>(prompts_[i].size())});
    }
    forward(spans);
    std::vector<std::int32_t> logits_rows;
    for (std::size_t i = 0; i < prompts_.size(); ++i) {
      for (int sample = 0; sample < options_.num_samples; ++sample) {
        const std::uint64_t seed = options_.seed + static_cast<std::uint64_t>(sample);
        active_.push_back({continuations_.size(), seed, sequences[i]});
        continuations_.push_back({i, {}});
        logits_rows.push_back(static_cast<std::int32_t>(i));
      }
    }
    draw_tokens(static_cast<std::int64_t>(spans.size()), logits_rows);
  }

  void decode() {
    std::vector<TokenSpan> spans;
    std::vector<std::int32_t> logits_rows;
    for (Active &active : active_) {
      logits_rows.push_back(static_cast<std::int32_t>(spans.size()));
      spans.push_back({&active.sequence, &active.last_token, 1});
    }
    forward(spans);
    draw_tokens(static_cast<std::int64_t>(spans.size()), logits_rows);
  }

  void forward(const std::vector<TokenSpan> &spans) {
    logits_.resize(spans.size() * static_cast<std::size_t>(model_.config().vocab_size));
    model_.forward(spans, logits_.data());
  }

  // Draws a token for each active continuation and drops those that it ends.
  void draw_tokens(std::int64_t num_rows, const std::vector<std::int32_t> &logits_rows) {
    std::vector<Draw> draws;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      const auto position = static_cast<std::uint64_t>(active_[i].sequence.length());
      draws.push_back({logits_rows[i], active_[i].seed, position});
    }
    const Clock::time_point start = Clock::now();
    const std::vector<std::int32_t> token_ids =
        sampler_.sample(logits_, num_rows, draws, options_.sampling);
    sampling_seconds_ += seconds_since(start);

    std::vector<Active> still_active;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      Continuation &continuation = continuations_[active_[i].continuation];
      continuation.new_tokens.push_back(token_ids[i]);
      continuation.stop_reason = stop_reason(continuation);
      on_token_(active_[i].continuation, continuation);
      if (continuation.stop_reason != StopReason::kNone) continue;
      active_[i].last_token = token_ids[i];
      still_active.push_back(std::move(active_[i]));
    }
    active_ = std::move(still_active);
  }

  StopReason stop_reason(const Continuation &continuation) const {
    const std::vector<std::int32_t> &tokens = continuation.new_tokens;
    const std::size_t length = prompts_[continuation.prompt].size() + tokens.size();
    if (options_.end_token && tokens.back() == *options_.end_token) return StopReason::kEndToken;
    if (tokens.size() == static_cast<std::size_t>(options_.max_new_tokens)) {
      return StopReason::kLength;
    }
    if (length == static_cast<std::size_t>(model_.config().n_positions)) {
      return StopReason::kContext;
    }
    return StopReason::kNone;
  }

  const Gpt2Model &model_;
  const std::vector<std::vector<std::int32_t>> &prompts_;
  const GenerationOptions &options_;
  const TokenListener &on_token_;
  TokenSampler sampler_;
  std::vector<Active> active_;
  std::vector<Continuation> continuations_;
  std::vector<float> logits_;
  double sampling_seconds_ = 0;
};

}  // namespace

std::vector<Continuation> generate_text(const Gpt2Model &model,
                                        const std::vector<std::vector<std::int32_t>> &prompts,
                                        const GenerationOptions &options,
                                        const TokenListener &on_token, GenerationTimes *out_times) {
  const auto context = static_cast<std::size_t>(model.config().n_positions);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    if (prompts[i].size() >= context) {
      throw Error("prompt " + std::to_string(i + 1) + " has " + std::to_string(prompts[i].size()) +
                  " tokens; the model's context of " + std::to_string(context) +
                  " leaves no room for a new one");
    }
  }
  return Batch(model, prompts, options, on_token).run(out_times);
}

}  // namespace generate
