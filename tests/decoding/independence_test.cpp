// What a text becomes depends on its prompt, its seed and the options that say how tokens come
// about; on nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "../seed.h"
#include "scenario.h"

namespace decoding_test::independence_test {
namespace {

constexpr std::uint64_t kNumScenarios = 120;

// A scenario of several texts, drawn ones in half of the cases.
std::unique_ptr<Scenario> make_scenario(std::uint64_t seed) {
  auto scenario = std::make_unique<Scenario>(seeded(seed + 7000));
  sampler_generation_args &args = scenario->generation->args;
  args.processor = sampler_processor(seed % 2);
  scenario->generation->params.temperature = 0.7f;
  scenario->generation->params.top_k = std::int32_t(seed % 5);
  scenario->generation->params.temperature_order = SAMPLER_TEMPERATURE_LAST;
  return scenario;
}

std::vector<Loop> loops(Scenario *scenario) {
  return {autoregressive(), scenario->speculative(), scenario->with_ngrams()};
}

class Independence : public testing::TestWithParam<int> {
 protected:
  // `change` changes the scenario that is made anew by the same seed, and the texts are those that
  // they were.
  template <class Change>
  void expect_no_change(const Change &change) {
    for (std::uint64_t seed = 0; seed < kNumScenarios && !HasFailure(); ++seed) {
      SCOPED_TRACE(seed);
      const auto before = make_scenario(seed), after = make_scenario(seed);
      change(after.get());
      EXPECT_EQ(texts(after.get()), texts(before.get()));
    }
  }

  std::vector<Text> texts(Scenario *scenario, sampler_t sampler = nullptr) {
    return scenario->generation->texts_of(sampler ? sampler : sampler_.get(),
                                          loops(scenario)[std::size_t(GetParam())]);
  }

  Sampler sampler_ = make_sampler();
};

// The same call with other prompts, and the seeds that each had.
std::vector<Text> texts_of_some(sampler_t sampler, Scenario *scenario, int loop,
                                const std::vector<std::size_t> &which) {
  const Generation &all = *scenario->generation;
  std::vector<Tokens> prompts;
  std::vector<std::uint64_t> seeds;
  for (const std::size_t i : which) {
    prompts.push_back(all.prompts()[i]);
    seeds.push_back(all.seeds.empty() ? all.args.seed + i : all.seeds[i]);
  }
  Generation some(scenario->target.get(), prompts);
  const sampler_generation_args own = some.args;
  some.args = all.args;
  some.args.num_sequences = own.num_sequences;
  some.args.target = own.target;
  some.args.prompt_offsets = own.prompt_offsets;
  some.args.prompt_token_ids = own.prompt_token_ids;
  some.seeds = seeds;
  some.ends = all.ends;
  some.process = all.process;
  return some.texts_of(sampler, loops(scenario)[std::size_t(loop)]);
}

TEST_P(Independence, OfTheNeighbours) {
  for (std::uint64_t seed = 0; seed < kNumScenarios && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const auto scenario = make_scenario(seed);
    const std::vector<Text> together = texts(scenario.get());
    for (std::size_t i = 0; i < together.size(); ++i) {
      EXPECT_EQ(texts_of_some(sampler_.get(), scenario.get(), GetParam(), {i}),
                std::vector<Text>{together[i]});
    }
    std::vector<std::size_t> order(together.size());
    std::iota(order.rbegin(), order.rend(), 0);
    std::vector<Text> reversed = together;
    std::reverse(reversed.begin(), reversed.end());
    EXPECT_EQ(texts_of_some(sampler_.get(), scenario.get(), GetParam(), order), reversed);
  }
}

TEST_P(Independence, OfTheCaches) {
  expect_no_change([](Scenario *scenario) { scenario->generation->args.use_cache ^= 1; });
}

TEST_P(Independence, OfWhereTheSequencesLie) {
  expect_no_change([](Scenario *scenario) { scenario->generation->args.first_sequence = 0; });
}

TEST_P(Independence, OfHowSpansAreSplit) {
  for (std::uint64_t seed = 0; seed < kNumScenarios && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    std::vector<Text> first;
    for (const std::int64_t max_span_tokens : {0, 1, 2, 3, 100}) {
      const auto scenario = make_scenario(seed);
      Scenario &s = *scenario;
      Limits limits = s.target->limits(), drafter_limits = s.drafter->limits();
      limits.max_span_tokens = drafter_limits.max_span_tokens = max_span_tokens;
      Model target(
          limits, [&](const Tokens &text) { return s.target->logits(text); }, &s.calls);
      Model drafter(
          drafter_limits, [&](const Tokens &text) { return s.drafter->logits(text); }, &s.calls);
      Generation generation(&target, s.generation->prompts());
      const sampler_generation_args own = generation.args;
      generation.args = s.generation->args;
      generation.args.target = own.target;
      generation.args.prompt_offsets = own.prompt_offsets;
      generation.args.prompt_token_ids = own.prompt_token_ids;
      generation.seeds = s.generation->seeds;
      generation.ends = s.generation->ends;
      generation.process = s.generation->process;
      const Loop loop = GetParam() == 1 ? speculative(&drafter, s.speculative_args)
                                        : loops(&s)[std::size_t(GetParam())];
      const auto &texts = generation.texts_of(sampler_.get(), loop);
      if (first.empty()) first = texts;
      EXPECT_EQ(texts, first) << "max_span_tokens " << max_span_tokens;
    }
  }
}

TEST_P(Independence, OfTheNumberOfThreads) {
  const Sampler threads = make_sampler(4);
  for (std::uint64_t seed = 0; seed < kNumScenarios && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const auto before = make_scenario(seed), after = make_scenario(seed);
    EXPECT_EQ(texts(after.get(), threads.get()), texts(before.get()));
  }
}

TEST_P(Independence, OfThePadToken) {
  expect_no_change([](Scenario *scenario) { scenario->generation->args.pad_token_id = INT32_MIN; });
}

TEST_P(Independence, OfASeedsArrayOrASeed) {
  expect_no_change([](Scenario *scenario) {
    Generation &generation = *scenario->generation;
    if (!generation.seeds.empty()) return;
    for (std::size_t i = 0; i < generation.prompts().size(); ++i) {
      generation.seeds.push_back(generation.args.seed + i);
    }
  });
}

// A text that is cancelled is the beginning of what it would have been, and the others stay.
TEST_P(Independence, OfTextsThatAreCancelled) {
  for (std::uint64_t seed = 0; seed < kNumScenarios && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const auto before = make_scenario(seed), after = make_scenario(seed);
    const std::vector<Text> whole = texts(before.get());
    for (std::size_t i = 0; i < whole.size(); i += 2) {
      after->generation->cancel_at[std::int64_t(i)] = std::int64_t(whole[i].tokens.size() / 2);
    }
    const std::vector<Text> cancelled = texts(after.get());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      SCOPED_TRACE(i);
      if (i % 2 == 1) {
        EXPECT_EQ(cancelled[i], whole[i]);
        continue;
      }
      const Tokens &tokens = cancelled[i].tokens;
      ASSERT_LE(tokens.size(), whole[i].tokens.size());
      EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), whole[i].tokens.begin()));
      if (tokens.size() < whole[i].tokens.size()) {
        EXPECT_EQ(cancelled[i].reason, SAMPLER_FINISH_CANCELLED);
      }
    }
  }
}

std::string loop_name(const testing::TestParamInfo<int> &parameter) {
  const char *const names[] = {"Autoregressive", "Speculative", "SpeculativeWithNgrams"};
  return names[parameter.param];
}

INSTANTIATE_TEST_SUITE_P(Loops, Independence, testing::Values(0, 1, 2), loop_name);

}  // namespace
}  // namespace decoding_test::independence_test
