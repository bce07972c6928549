// Greedy texts are the same by every loop, and those that a loop without drafts, caches and batches
// gives.
#include <gtest/gtest.h>

#include "../seed.h"
#include "scenario.h"

namespace decoding_test::greedy_test {
namespace {

constexpr std::uint64_t kNumScenarios = 600;

std::vector<Text> expected(sampler_t sampler, const Scenario &scenario) {
  return expected_texts(sampler, *scenario.target, *scenario.generation);
}

TEST(Greedy, AutoregressiveGivesTheLikeliestTokens) {
  const Sampler sampler = make_sampler();
  for (std::uint64_t seed = 0; seed < kNumScenarios && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Scenario scenario(seeded(seed));
    Generation &generation = *scenario.generation;
    const auto &texts = generation.texts_of(sampler.get(), autoregressive());
    EXPECT_EQ(without_counts(texts), expected(sampler.get(), scenario));
    EXPECT_EQ(generation.stats().num_drafted, 0);
    EXPECT_EQ(generation.stats().drafter_forwards, 0);
  }
}

// top_p 0 is not "off": it keeps one token, by every loop.
TEST(Greedy, TopPOf0KeepsTheLikeliestToken) {
  const Sampler sampler = make_sampler();
  for (std::uint64_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Scenario scenario(seeded(seed));
    Generation &generation = *scenario.generation;
    const std::vector<Text> texts = expected(sampler.get(), scenario);
    generation.args.processor = SAMPLER_PROCESSOR_SAMPLE;
    generation.params.top_p = 0;
    for (const Loop &loop : {autoregressive(), scenario.speculative(), scenario.with_ngrams()}) {
      EXPECT_EQ(without_counts(generation.texts_of(sampler.get(), loop)), texts);
    }
  }
}

TEST(Greedy, SpeculativeGivesTheSameTexts) {
  const Sampler sampler = make_sampler();
  std::int64_t num_drafted = 0, num_accepted = 0;
  for (std::uint64_t seed = 0; seed < kNumScenarios && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Scenario scenario(seeded(seed));
    Generation &generation = *scenario.generation;
    const auto &texts = generation.texts_of(sampler.get(), scenario.speculative());
    EXPECT_EQ(without_counts(texts), expected(sampler.get(), scenario));
    EXPECT_EQ(generation.stats().drafter_forwards, scenario.drafter->num_forwards());
    scenario.expect_drafter_of_texts();
    if (generation.args.use_cache == 0) {
      EXPECT_TRUE(scenario.drafter->caches_are_empty());
    }
    num_drafted += generation.stats().num_drafted;
    num_accepted += generation.stats().num_accepted;
  }
  // There were drafts to keep and to reject.
  EXPECT_GT(num_accepted, num_drafted / 4);
  EXPECT_LT(num_accepted, num_drafted * 3 / 4);
}

TEST(Greedy, SpeculativeWithNgramsGivesTheSameTexts) {
  const Sampler sampler = make_sampler();
  std::int64_t num_drafted = 0, num_accepted = 0;
  for (std::uint64_t seed = 0; seed < kNumScenarios && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Scenario scenario(seeded(seed));
    const auto &texts = scenario.generation->texts_of(sampler.get(), scenario.with_ngrams());
    EXPECT_EQ(without_counts(texts), expected(sampler.get(), scenario));
    num_drafted += scenario.generation->stats().num_drafted;
    num_accepted += scenario.generation->stats().num_accepted;
  }
  EXPECT_GT(num_accepted, num_drafted / 4);
  EXPECT_LT(num_accepted, num_drafted * 3 / 4);
}

TEST(Greedy, SpeculativeWithTheLibrarysStorage) {
  const Sampler sampler = make_sampler();
  std::int64_t num_accepted = 0;
  for (std::uint64_t seed = 0; seed < kNumScenarios / 3 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Scenario scenario(seeded(seed));
    sampler_ngram_storage_options options = sized<sampler_ngram_storage_options>();
    options.vocabulary_size = scenario.target->limits().vocabulary_size;
    options.kind = sampler_ngram_kind(seed % 2);
    options.order = 2 + std::int32_t(seed % 3);
    sampler_ngram_storage_t storage = nullptr;
    ASSERT_EQ(sampler_ngram_storage_create(&options, &storage), SAMPLER_OK);
    sampler_ngram ngram = sized<sampler_ngram>();
    ASSERT_EQ(sampler_ngram_storage_interface(storage, &ngram), SAMPLER_OK);
    // The second time it knows the texts.
    for (int i = 0; i < 2; ++i) {
      const auto &texts =
          scenario.generation->texts_of(sampler.get(), speculative(ngram, scenario.ngram_args));
      EXPECT_EQ(without_counts(texts), expected(sampler.get(), scenario));
      num_accepted += scenario.generation->stats().num_accepted;
    }
    sampler_ngram_storage_destroy(storage);
  }
  EXPECT_GT(num_accepted, 500);
}

// It goes on without drafts.
TEST(Greedy, SpeculativeWithALookupThatTheTextOutgrows) {
  const Sampler sampler = make_sampler();
  int num_outgrown = 0;
  for (std::uint64_t seed = 0; seed < kNumScenarios && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Scenario scenario(seed);
    Generation &generation = *scenario.generation;
    if (generation.prompts().size() != 1) continue;
    sampler_prompt_lookup_options options = sized<sampler_prompt_lookup_options>();
    options.vocabulary_size = scenario.target->limits().vocabulary_size;
    options.max_tokens = std::int64_t(generation.prompts()[0].size()) + 2;
    sampler_prompt_lookup_t lookup = nullptr;
    ASSERT_EQ(sampler_prompt_lookup_create(&options, &lookup), SAMPLER_OK);
    sampler_ngram ngram = sized<sampler_ngram>();
    ASSERT_EQ(sampler_prompt_lookup_interface(lookup, &ngram), SAMPLER_OK);
    const auto &texts = generation.texts_of(sampler.get(), speculative(ngram, scenario.ngram_args));
    EXPECT_EQ(without_counts(texts), expected(sampler.get(), scenario));
    num_outgrown += std::int64_t(generation.whole_text(0).size()) > options.max_tokens + 3;
    sampler_prompt_lookup_destroy(lookup);
  }
  EXPECT_GT(num_outgrown, 10);
}

// Temperature and filters are for drawing.
TEST(Greedy, DoesNotLookAtTheFilters) {
  const Sampler sampler = make_sampler();
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Scenario scenario(seeded(seed));
    sampler_params &params = scenario.generation->params;
    params.temperature = 5.0f;
    params.top_k = 1 + std::int32_t(seed % 3);
    params.top_p = 0.01f;
    params.min_p = 0.5f;
    const std::vector<Text> texts = expected(sampler.get(), scenario);
    EXPECT_EQ(without_counts(scenario.generation->texts_of(sampler.get(), autoregressive())),
              texts);
    EXPECT_EQ(without_counts(scenario.generation->texts_of(sampler.get(), scenario.speculative())),
              texts);
  }
}

// Drawing at a temperature of 0 is greedy, too.
TEST(Greedy, IsWhatTemperatureZeroDraws) {
  const Sampler sampler = make_sampler();
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Scenario scenario(seeded(seed));
    const std::vector<Text> texts = expected(sampler.get(), scenario);
    scenario.generation->args.processor = SAMPLER_PROCESSOR_SAMPLE;
    scenario.generation->params.temperature = 0.0f;
    for (const Loop &loop : {autoregressive(), scenario.speculative(), scenario.with_ngrams()}) {
      EXPECT_EQ(without_counts(scenario.generation->texts_of(sampler.get(), loop)), texts);
    }
  }
}

// ---- Drawn texts --------------------------------------------------------------------------------

void make_sampling(std::uint64_t seed, Generation *generation) {
  Random random(seeded(seed));
  generation->args.processor = SAMPLER_PROCESSOR_SAMPLE;
  sampler_params *const params = &generation->params;
  params->temperature = float(random.between(2, 6)) / 4;
  params->top_k = std::int32_t(random.between(0, 5));
  params->top_p = random.one_in(2) ? 1.0f : 0.8f;
  params->min_p = random.one_in(2) ? 0.0f : 0.05f;
  params->filter_order = sampler_filter_order(random.between(0, 2));
  params->top_k_ties = sampler_tie_rule(random.between(0, 1));
  params->top_p_ties = sampler_tie_rule(random.between(0, 1));
  params->temperature_order = sampler_temperature_order(random.between(0, 1));
  params->top_p_sum = sampler_sum_rule(random.between(0, 1));
  if (random.one_in(8)) generation->args.params = nullptr;
}

// Seeds and offsets are those that the header names.
TEST(Sampled, AutoregressiveDrawsAsSamplerSampleDoes) {
  const Sampler sampler = make_sampler();
  for (std::uint64_t seed = 0; seed < kNumScenarios && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Scenario scenario(seeded(seed));
    make_sampling(seed, scenario.generation.get());
    const auto &texts = scenario.generation->texts_of(sampler.get(), autoregressive());
    EXPECT_EQ(without_counts(texts), expected(sampler.get(), scenario));
  }
}

// Whatever the drafts: rules of texts, caches, counts and traces hold, and tokens are kept ones.
TEST(Sampled, SpeculativeKeepsTheRules) {
  const Sampler sampler = make_sampler();
  std::int64_t num_drafted = 0, num_accepted = 0;
  for (std::uint64_t seed = 0; seed < kNumScenarios && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Scenario scenario(seeded(seed));
    make_sampling(seed, scenario.generation.get());
    scenario.speculative_args.skip_sample_adjustment = seed % 4 == 0;
    for (const Loop &loop : {scenario.speculative(), scenario.with_ngrams()}) {
      scenario.generation->texts_of(sampler.get(), loop);
      num_drafted += scenario.generation->stats().num_drafted;
      num_accepted += scenario.generation->stats().num_accepted;
    }
  }
  EXPECT_GT(num_accepted, num_drafted / 8);
  EXPECT_LT(num_accepted, num_drafted);
}

}  // namespace
}  // namespace decoding_test::greedy_test
