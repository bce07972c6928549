#include "generation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "model_files.h"

namespace {

using generate::Continuation;
using generate::GenerationOptions;
using generate::GenerationTimes;
using generate::Gpt2Model;
using generate::StopReason;
using Ids = std::vector<std::int32_t>;

const Gpt2Model &draft() {
  static const Gpt2Model model(tiny_gpt2() / "draft");
  return model;
}

std::vector<Continuation> run(const std::vector<Ids> &prompts, const GenerationOptions &options) {
  GenerationTimes times;
  return generate_text(
      draft(), prompts, options, [](std::size_t, const Continuation &) {}, &times);
}

Ids continuation(const Ids &prompt, const GenerationOptions &options) {
  return run({prompt}, options).at(0).new_tokens;
}

GenerationOptions with_seed(std::uint64_t seed) {
  GenerationOptions options;
  options.max_new_tokens = 30;
  options.seed = seed;
  return options;
}

const std::vector<Ids> kPrompts = {{858, 25, 198}, {1}, {40, 455, 304, 258, 256}, {1}};

TEST(Generation, ATextDependsOnItsPromptAndSeedAlone) {
  GenerationOptions options = with_seed(3);
  options.num_samples = 3;
  const std::vector<Continuation> batch = run(kPrompts, options);
  ASSERT_EQ(batch.size(), 12u);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    EXPECT_EQ(batch[i].prompt, i / 3);
    EXPECT_EQ(batch[i].new_tokens, continuation(kPrompts[i / 3], with_seed(3 + i % 3))) << i;
    EXPECT_EQ(batch[i].new_tokens.size(), 30u);
    EXPECT_EQ(batch[i].stop_reason, StopReason::kLength);
  }
  EXPECT_NE(batch[0].new_tokens, batch[1].new_tokens);
  EXPECT_EQ(batch[3].new_tokens, batch[9].new_tokens);
}

// The offset of a draw is the position of its token: words of one position are not used again.
TEST(Generation, ATextGoesOnAsItWouldHaveFromALongerPrompt) {
  const Ids whole = continuation(kPrompts[0], with_seed(7));
  Ids prompt = kPrompts[0];
  prompt.insert(prompt.end(), whole.begin(), whole.begin() + 10);
  GenerationOptions options = with_seed(7);
  options.max_new_tokens = 20;
  EXPECT_EQ(continuation(prompt, options), Ids(whole.begin() + 10, whole.end()));
}

TEST(Generation, EveryWayToTakeTheLikeliestTokenGivesTheSameText) {
  GenerationOptions greedy = with_seed(1), top_k = with_seed(2), top_p = with_seed(3),
                    min_p = with_seed(4);
  greedy.sampling.temperature = 0;
  top_k.sampling.top_k = 1;
  top_p.sampling.top_p = 0;
  min_p.sampling.min_p = 1;
  const Ids expected = continuation(kPrompts[0], greedy);
  EXPECT_EQ(continuation(kPrompts[0], top_k), expected);
  EXPECT_EQ(continuation(kPrompts[0], top_p), expected);
  EXPECT_EQ(continuation(kPrompts[0], min_p), expected);
  EXPECT_NE(continuation(kPrompts[0], with_seed(1)), expected);
}

TEST(Generation, TextsEndAtTheEndTokenEachOnItsOwn) {
  GenerationOptions options = with_seed(11);
  const Ids first = continuation(kPrompts[0], options);
  const std::int32_t end_token = first[12];
  options.end_token = end_token;
  const std::vector<Continuation> batch = run(kPrompts, options);
  int num_ended = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    Ids expected = continuation(kPrompts[i], with_seed(11));
    const auto end = std::find(expected.begin(), expected.end(), end_token);
    const bool ends = end != expected.end();
    if (ends) expected.erase(end + 1, expected.end());
    num_ended += ends;
    EXPECT_EQ(batch[i].new_tokens, expected);
    EXPECT_EQ(batch[i].stop_reason, ends ? StopReason::kEndToken : StopReason::kLength);
  }
  EXPECT_GE(num_ended, 1);
}

TEST(Generation, TextsEndAtTheContextLimit) {
  GenerationOptions options = with_seed(1);
  options.max_new_tokens = 1000;
  const Ids long_prompt(191, 5);
  const std::vector<Continuation> batch = run({kPrompts[0], long_prompt}, options);
  EXPECT_EQ(batch[0].new_tokens.size(), 192 - kPrompts[0].size());
  EXPECT_EQ(batch[1].new_tokens.size(), 1u);
  EXPECT_EQ(batch[0].stop_reason, StopReason::kContext);
  EXPECT_EQ(batch[1].stop_reason, StopReason::kContext);

  EXPECT_EQ(error_of([&] {
              run({kPrompts[0], Ids(192, 5)}, options);
            }),
            "prompt 2 has 192 tokens; the model's context of 192 leaves no room for a new one");
}

TEST(Generation, TheListenerHearsEveryTokenOnce) {
  GenerationOptions options = with_seed(5);
  options.num_samples = 2;
  std::vector<Ids> heard(8);
  std::vector<int> ends(8);
  GenerationTimes times;
  const std::vector<Continuation> batch = generate_text(
      draft(), kPrompts, options,
      [&](std::size_t i, const Continuation &continuation) {
        heard[i].push_back(continuation.new_tokens.back());
        ends[i] += continuation.stop_reason != StopReason::kNone;
        EXPECT_EQ(heard[i], continuation.new_tokens);
      },
      &times);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    EXPECT_EQ(heard[i], batch[i].new_tokens);
    EXPECT_EQ(ends[i], 1);
  }
  EXPECT_GT(times.first_token_seconds, 0);
  EXPECT_GT(times.sampling_seconds, 0);
  EXPECT_GT(times.total_seconds, times.first_token_seconds);
  EXPECT_GT(times.total_seconds, times.sampling_seconds);
}

TEST(Generation, LogitsThatAreNoNumbersAreAnError) {
  ModelFiles files = ModelFiles::read("draft");
  files.tensors["ln_f.bias"].bytes.replace(0, 2, "\x00\x7E", 2);  // an f16 NaN
  const TempDir dir;
  files.write(dir.path());
  const Gpt2Model model(dir.path());
  GenerationTimes times;
  EXPECT_EQ(error_of([&] {
              generate_text(
                  model, kPrompts, {}, [](std::size_t, const Continuation &) {}, &times);
            }),
            "the model's logits are not finite numbers: its weights may be damaged");
}

TEST(Generation, TheSamplersErrorsArePassedOn) {
  GenerationOptions options;
  options.sampling.temperature = NAN;
  const std::string message = error_of([&] { run(kPrompts, options); });
  EXPECT_EQ(message.rfind("sampling: temperature is ", 0), 0u) << message;
}

}  // namespace
