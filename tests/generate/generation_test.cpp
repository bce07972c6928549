#include "generation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "error.h"
#include "model_files.h"

namespace {

using generate::Continuation;
using generate::Generation;
using generate::GenerationOptions;
using generate::Gpt2Model;
using generate::Mode;
using Ids = std::vector<std::int32_t>;

const Gpt2Model &target() {
  static const Gpt2Model model(tiny_gpt2() / "target");
  return model;
}

const Gpt2Model &draft() {
  static const Gpt2Model model(tiny_gpt2() / "draft");
  return model;
}

std::vector<Continuation> run(const std::vector<Ids> &prompts, const GenerationOptions &options) {
  return generate_text(draft(), nullptr, prompts, options, {}).continuations;
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
    EXPECT_EQ(batch[i].finish_reason, SAMPLER_FINISH_LENGTH);
  }
  EXPECT_NE(batch[0].new_tokens, batch[1].new_tokens);
  EXPECT_EQ(batch[3].new_tokens, batch[9].new_tokens);
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

GenerationOptions with_engine(const std::string &preset, const nlohmann::json &parameters) {
  GenerationOptions options = with_seed(5);
  options.engine = engine_parameters::read(preset, parameters);
  return options;
}

TEST(Generation, AnEnginesStagesRunBeforeEachToken) {
  GenerationOptions greedy = with_seed(1);
  greedy.sampling.temperature = 0;
  const Ids likeliest = continuation(kPrompts[0], greedy);
  EXPECT_EQ(continuation(kPrompts[0], with_engine("hugging_face", nlohmann::json::object())),
            likeliest);
  EXPECT_EQ(continuation(kPrompts[0], with_engine("vllm", {{"temperature", 0}})), likeliest);
  EXPECT_NE(continuation(kPrompts[0], with_engine("vllm", nlohmann::json::object())), likeliest);

  // They see the prompt and all tokens after it, of each text its own.
  GenerationOptions distinct =
      with_engine("hugging_face", {{"do_sample", true}, {"no_repeat_ngram_size", 1}, {"top_k", 0}});
  for (const Continuation &one : run(kPrompts, distinct)) {
    Ids text = kPrompts[one.prompt];
    text.insert(text.end(), one.new_tokens.begin(), one.new_tokens.end());
    EXPECT_EQ(std::set<std::int32_t>(text.begin(), text.end()).size(), text.size());
    EXPECT_EQ(one.new_tokens.size(), 30u);
  }
}

TEST(Generation, AnEnginesEndTokensEndTheText) {
  GenerationOptions greedy = with_seed(1);
  greedy.sampling.temperature = 0;
  const Ids likeliest = continuation(kPrompts[0], greedy);
  const std::int32_t end = likeliest[5];
  const auto first = std::find(likeliest.begin(), likeliest.end(), end) + 1;
  EXPECT_EQ(continuation(kPrompts[0], with_engine("hugging_face", {{"eos_token_id", end}})),
            Ids(likeliest.begin(), first));
  const Ids longer = continuation(
      kPrompts[0], with_engine("hugging_face", {{"eos_token_id", end}, {"min_new_tokens", 20}}));
  EXPECT_GE(longer.size(), 20u);
  EXPECT_EQ(std::find(longer.begin(), longer.begin() + 20, end), longer.begin() + 20);
}

// XTC with threshold 0 leaves the second of two tokens where its coin says so, and at this
// temperature the first of what is left is drawn.
TEST(Generation, AnEnginesCoinIsThrownForEachToken) {
  const auto first_tokens = [](float probability) {
    GenerationOptions options = with_engine("llama.cpp", {{"top_k", 2},
                                                          {"top_p", 1},
                                                          {"min_p", 0},
                                                          {"temperature", 0.001},
                                                          {"xtc_threshold", 0},
                                                          {"xtc_probability", probability}});
    options.max_new_tokens = 1;
    options.num_samples = 30;
    std::set<std::int32_t> tokens;
    for (const Continuation &one : run({kPrompts[0]}, options)) tokens.insert(one.new_tokens[0]);
    return tokens;
  };
  const std::set<std::int32_t> never = first_tokens(0), always = first_tokens(1);
  EXPECT_EQ(never.size(), 1u);
  EXPECT_EQ(always.size(), 1u);
  EXPECT_NE(never, always);
  EXPECT_EQ(first_tokens(0.5f), (std::set<std::int32_t>{*never.begin(), *always.begin()}));
}

// At a high temperature all tokens are about equally likely: a nucleus that is taken of them has
// hundreds, one that is taken of the row as it is has a few.
TEST(Generation, TheTemperatureComesBeforeTheFilters) {
  GenerationOptions options = with_seed(1);
  options.max_new_tokens = 1;
  options.num_samples = 30;
  options.sampling.temperature = 100;
  options.sampling.top_p = 0.3f;
  std::set<std::int32_t> first_tokens;
  for (const Continuation &continuation : run({kPrompts[0]}, options)) {
    first_tokens.insert(continuation.new_tokens.at(0));
  }
  EXPECT_GT(first_tokens.size(), 25u);
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
    EXPECT_EQ(batch[i].finish_reason, ends ? SAMPLER_FINISH_END_TOKEN : SAMPLER_FINISH_LENGTH);
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
  EXPECT_EQ(batch[0].finish_reason, SAMPLER_FINISH_CONTEXT);
  EXPECT_EQ(batch[1].finish_reason, SAMPLER_FINISH_CONTEXT);

  EXPECT_EQ(error_of([&] {
              run({kPrompts[0], Ids(192, 5)}, options);
            }),
            "prompt 2 has 192 tokens; the model's context of 192 leaves no room for a new one");
}

// ---- Modes ------------------------------------------------------------------------------------

GenerationOptions with_mode(Mode mode, int max_new_tokens, bool use_cache) {
  GenerationOptions options;
  options.mode = mode;
  options.max_new_tokens = max_new_tokens;
  options.use_cache = use_cache;
  return options;
}

Generation run_target(const GenerationOptions &options) {
  return generate_text(target(), &draft(), kPrompts, options, {});
}

std::vector<Ids> tokens_of(const Generation &generation) {
  std::vector<Ids> tokens;
  for (const Continuation &continuation : generation.continuations) {
    tokens.push_back(continuation.new_tokens);
  }
  return tokens;
}

TEST(Modes, TheLikeliestTextIsTheSameWithAndWithoutDraftsAndCaches) {
  GenerationOptions options = with_mode(Mode::kAutoregressive, 40, true);
  options.sampling.temperature = 0;
  const std::vector<Ids> expected = tokens_of(run_target(options));
  for (const bool use_cache : {true, false}) {
    for (const Mode mode : {Mode::kAutoregressive, Mode::kSpeculative, Mode::kNgram}) {
      for (const bool adaptive : {false, true}) {
        options.mode = mode;
        options.use_cache = use_cache;
        options.draft.adaptive_gamma =
            adaptive && mode == Mode::kSpeculative ? SAMPLER_GAMMA_BY_ENTROPY : SAMPLER_GAMMA_FIXED;
        const Generation generation = run_target(options);
        EXPECT_EQ(tokens_of(generation), expected) << static_cast<int>(mode) << use_cache;
        EXPECT_EQ(generation.stats.num_new_tokens, 160);
        EXPECT_EQ(generation.stats.num_drafted > 0, mode != Mode::kAutoregressive);
        EXPECT_EQ(generation.stats.drafter_forwards > 0, mode == Mode::kSpeculative);
      }
    }
  }
}

// The likeliest one, and that of each seed by sample-match.
TEST(Modes, TextsInTreesAreThoseWithoutDrafts) {
  for (const float temperature : {0.0f, 0.8f}) {
    GenerationOptions options = with_mode(Mode::kAutoregressive, 40, true);
    options.sampling.temperature = temperature;
    const std::vector<Ids> expected = tokens_of(run_target(options));
    options.mode = Mode::kSpeculative;
    options.acceptance.rule =
        temperature == 0 ? SAMPLER_ACCEPT_STANDARD : SAMPLER_ACCEPT_SAMPLE_MATCH;
    options.draft.gamma = 9;
    for (const int top_k : {1, 2, 3, 9}) {
      for (const bool use_cache : {true, false}) {
        options.draft.draft_top_k = top_k;
        options.use_cache = use_cache;
        const Generation generation = run_target(options);
        EXPECT_EQ(tokens_of(generation), expected) << temperature << " " << top_k << use_cache;
        EXPECT_GT(generation.stats.num_accepted, 20);
      }
    }
  }
}

TEST(Modes, SampledTextIsTheSameWithAndWithoutCachesAndBesideOthers) {
  for (const Mode mode : {Mode::kAutoregressive, Mode::kSpeculative}) {
    const std::vector<Ids> tokens = tokens_of(run_target(with_mode(mode, 30, true)));
    EXPECT_EQ(tokens_of(run_target(with_mode(mode, 30, false))), tokens);
    const Generation alone =
        generate_text(target(), &draft(), {kPrompts[2]}, with_mode(mode, 30, true), {});
    EXPECT_EQ(alone.continuations.at(0).new_tokens, tokens[2]);
    EXPECT_NE(tokens[0], tokens[1]);
  }
}

TEST(Modes, SpeculationSavesForwardsOfTheTarget) {
  const Generation plain = run_target(with_mode(Mode::kAutoregressive, 60, true));
  const Generation speculative = run_target(with_mode(Mode::kSpeculative, 60, true));
  EXPECT_EQ(plain.stats.target_forwards, 60);
  EXPECT_LT(speculative.stats.target_forwards, 50);
  EXPECT_GT(speculative.stats.num_accepted, 60);
  EXPECT_GT(speculative.times.drafter_seconds, 0);
  EXPECT_EQ(plain.times.drafter_seconds, 0);
}

// Each option of drafts, n-grams and beams, where it shows.
TEST(Modes, OptionsReachTheLoops) {
  const auto drafted_a_round = [](const GenerationOptions &options) {
    const sampler_generation_stats stats = run_target(options).stats;
    return static_cast<double>(stats.num_drafted) / static_cast<double>(stats.num_rounds);
  };
  GenerationOptions options = with_mode(Mode::kSpeculative, 40, true);
  const double fixed = drafted_a_round(options);
  options.draft.adaptive_gamma = SAMPLER_GAMMA_BY_ENTROPY;
  const double adaptive = drafted_a_round(options);
  EXPECT_LT(adaptive, fixed);
  options.draft.gamma_max = 12;
  EXPECT_GT(drafted_a_round(options), adaptive);
  options.draft.gamma_min = 12;
  EXPECT_GT(drafted_a_round(options), fixed);
  options.draft = sampler_speculative_args_default();
  options.draft.gamma = 1;
  EXPECT_LE(drafted_a_round(options), 4);  // one of each text

  options = with_mode(Mode::kNgram, 40, true);
  const double any = drafted_a_round(options);
  options.draft.stop_if_unknown = 1;
  EXPECT_LT(drafted_a_round(options), any);
  const std::int64_t num_accepted = run_target(options).stats.num_accepted;
  options.draft.filler_top_k = 0;
  EXPECT_NE(run_target(options).stats.num_accepted, num_accepted);

  options = with_mode(Mode::kBeam, 20, true);
  const float score = run_target(options).continuations[0].score;
  options.beam.alpha = 0;
  EXPECT_LT(run_target(options).continuations[0].score, score);
  options.beam.alpha = 1.2f;
  options.beam.min_length = 50;
  EXPECT_LT(run_target(options).continuations[0].score, score);
}

TEST(Modes, BeamsComeBestFirstAndTheFirstIsNoWorseThanGreedyText) {
  GenerationOptions options = with_mode(Mode::kBeam, 12, true);
  options.num_samples = 3;
  const Generation beams = run_target(options);
  ASSERT_EQ(beams.continuations.size(), 12u);
  EXPECT_EQ(beams.times.first_token_seconds, std::nullopt);
  options.beam.num_beams = options.num_samples = 1;
  const Generation greedy = run_target(options);
  for (std::size_t i = 0; i < beams.continuations.size(); ++i) {
    const Continuation &beam = beams.continuations[i];
    EXPECT_EQ(beam.prompt, i / 3);
    EXPECT_EQ(beam.new_tokens.size(), 12u);
    EXPECT_EQ(beam.finish_reason, SAMPLER_FINISH_LENGTH);
    if (i % 3 > 0) {
      EXPECT_LE(beam.score, beams.continuations[i - 1].score);
    }
  }
  options.mode = Mode::kAutoregressive;
  options.sampling.temperature = 0;
  EXPECT_EQ(tokens_of(greedy), tokens_of(run_target(options)));
}

TEST(Modes, SpeculationNeedsADrafter) {
  EXPECT_EQ(error_of([] {
              generate_text(target(), nullptr, kPrompts, with_mode(Mode::kSpeculative, 5, true),
                            {});
            }),
            "speculation needs a drafter");
}

// ---- Listeners and errors ---------------------------------------------------------------------

TEST(Generation, TheListenerHearsEveryTokenOnce) {
  for (const Mode mode : {Mode::kAutoregressive, Mode::kSpeculative, Mode::kNgram, Mode::kBeam}) {
    GenerationOptions options = with_mode(mode, 30, true);
    options.num_samples = 2;
    std::vector<Ids> heard(8);
    std::vector<int> ends(8);
    generate::Listeners listeners;
    listeners.on_tokens = [&](std::size_t i, const Continuation &continuation) {
      ASSERT_GE(continuation.new_tokens.size(), heard[i].size());
      EXPECT_TRUE(std::equal(heard[i].begin(), heard[i].end(), continuation.new_tokens.begin()));
      heard[i] = continuation.new_tokens;
      ends[i] += continuation.finish_reason != SAMPLER_FINISH_NONE;
    };
    const Generation generation = generate_text(target(), &draft(), kPrompts, options, listeners);
    EXPECT_EQ(heard, tokens_of(generation));
    EXPECT_EQ(ends, std::vector<int>(8, 1));
    const generate::GenerationTimes &times = generation.times;
    EXPECT_GT(times.target_seconds, 0);
    EXPECT_GT(times.total_seconds, times.target_seconds + times.drafter_seconds);
    if (mode == Mode::kBeam) continue;
    EXPECT_GT(times.first_token_seconds.value(), 0);
    EXPECT_GT(times.total_seconds, *times.first_token_seconds);
  }
}

TEST(Generation, TheListenerHearsRounds) {
  for (const Mode mode : {Mode::kSpeculative, Mode::kNgram}) {
    std::int64_t num_drafted = 0, num_accepted = 0;
    generate::Listeners listeners;
    listeners.on_round = [&](const sampler_trace_round &round) {
      num_drafted += round.num_drafted;
      num_accepted += round.num_accepted;
    };
    const Generation generation =
        generate_text(target(), &draft(), kPrompts, with_mode(mode, 30, true), listeners);
    EXPECT_GT(num_drafted, 0);
    EXPECT_EQ(num_drafted, generation.stats.num_drafted);
    EXPECT_EQ(num_accepted, generation.stats.num_accepted);
  }
}

TEST(Generation, WhatAListenerThrowsEndsTheRun) {
  for (const Mode mode : {Mode::kAutoregressive, Mode::kSpeculative, Mode::kNgram, Mode::kBeam}) {
    int num_calls = 0;
    generate::Listeners listeners;
    listeners.on_tokens = [&](std::size_t, const Continuation &) {
      ++num_calls;
      throw generate::Error("no more");
    };
    EXPECT_EQ(error_of([&] {
                generate_text(target(), &draft(), kPrompts, with_mode(mode, 30, true), listeners);
              }),
              "no more");
    EXPECT_EQ(num_calls, 1);
  }
}

TEST(Generation, LogitsThatAreNoNumbersAreAnError) {
  ModelFiles files = ModelFiles::read("draft");
  files.tensors["ln_f.bias"].bytes.replace(0, 2, "\x00\x7E", 2);  // an f16 NaN
  const TempDir dir;
  files.write(dir.path());
  const Gpt2Model model(dir.path());
  EXPECT_EQ(error_of([&] { generate_text(model, nullptr, kPrompts, {}, {}); }),
            "prompt 1: no token after 0 new ones: SAMPLER_ROW_INVALID_VALUE (a logit is NaN or "
            "+inf: logit 0 is nan); the model's weights may be damaged");
}

TEST(Generation, TheSamplersErrorsArePassedOn) {
  GenerationOptions options;
  options.sampling.temperature = NAN;
  const std::string message = error_of([&] { run(kPrompts, options); });
  EXPECT_EQ(message.rfind("sampling: params->temperature is ", 0), 0u) << message;
}

}  // namespace
