// A slot's adaptive values, moved on token by token: what section 14.2 of the contract says of each
// stage, put together from the oracle's.
#include "contract/adaptive_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "edits_oracle.h"
#include "support.h"

namespace sampler::contract::adaptive_values_test {
namespace {

using test::Failures;
using test::kInfinity;
using test::kLargestFloat;
using test::kNaN;
using test::Random;

bool equal(float a, float b) {
  return bits_of(a) == bits_of(b);
}

bool equal(const AdaptiveValues &a, const AdaptiveValues &b) {
  return equal(a.mu, b.mu) && equal(a.adaptive_p.sum, b.adaptive_p.sum) &&
         equal(a.adaptive_p.weight, b.adaptive_p.weight) && equal(a.top_p, b.top_p);
}

AdaptiveRules off() {
  return {SAMPLER_ADAPTIVE_NONE, 0.0f, 0.0f, 1.0f, 0.0f, 0.0f, -1};
}

// As the contract's text has it, defaults and bounds written out.
AdaptiveValues expected_after(AdaptiveValues values, int64_t token, float observation,
                              const AdaptiveRules &rules) {
  const bool observes = !std::isnan(observation);
  if (observes && (rules.kind == 1 || rules.kind == 2)) {
    const float target = rules.target == 0 ? 5.0f : rules.target;
    const float rate = rules.rate == 0 ? 0.1f : std::max(rules.rate, 0.0f);
    const float mu = std::isnan(values.mu) ? 2 * target : values.mu;
    values.mu = oracle::mirostat_moved(mu, observation, target, rate);
  }
  if (observes && rules.kind == 3 && rules.target >= 0) {
    const float target = std::min(rules.target, 1.0f);
    const float decay = rules.rate == 0 ? 0.9f : std::min(std::max(rules.rate, 0.0f), 0.99f);
    oracle::AdaptiveSums sums = {values.adaptive_p.sum, values.adaptive_p.weight};
    if (std::isnan(sums.sum) || std::isnan(sums.weight)) {
      sums = oracle::adaptive_p_start(target, decay);
    }
    sums = oracle::adaptive_p_moved(sums, observation, decay);
    values.adaptive_p = {sums.sum, sums.weight};
  }
  if (rules.top_p_decay > 0 && rules.top_p_decay < 1) {
    const float first = std::min(std::max(rules.top_p, 0.0f), 1.0f);
    const float running = std::isnan(values.top_p) ? first : values.top_p;
    const bool is_reset = rules.top_p_reset_token >= 0 && token == rules.top_p_reset_token;
    values.top_p =
        oracle::top_p_moved(running, rules.top_p, rules.top_p_decay, rules.top_p_least, is_reset);
  }
  return values;
}

TEST(AdaptiveValues, MoveByTheRulesOfEachStage) {
  Random random(1);
  Failures failures;
  for (int round = 0; round < 20000; ++round) {
    const AdaptiveRules rules = {random.between(0, 3),
                                 random.between(0, 3) == 0 ? 0.0f : 3 * random.unit(),
                                 random.between(0, 3) == 0 ? 0.0f : 2 * random.unit() - 0.5f,
                                 3 * random.unit() - 1,
                                 2 * random.unit() - 0.5f,
                                 0.5f * random.unit(),
                                 random.between(-1, 3)};
    ASSERT_TRUE(rules.are_valid());
    AdaptiveValues values, expected;
    if (round % 3 == 0) values.mu = expected.mu = 10 * random.unit();
    if (round % 5 == 0) values.top_p = expected.top_p = random.unit();
    for (int step = 0; step < 8; ++step) {
      const int64_t token = random.between(0, 3);
      const float observation = random.between(0, 3) == 0 ? kNaN : 10 * random.unit();
      values = adaptive_values_moved(values, token, observation, rules);
      expected = expected_after(expected, token, observation, rules);
      failures.expect(equal(values, expected), uint64_t(round));
    }
  }
  EXPECT_TRUE(failures.none());
}

TEST(AdaptiveValues, HaveNotBegun) {
  const AdaptiveValues start;
  for (const float value : {start.mu, start.adaptive_p.sum, start.adaptive_p.weight, start.top_p}) {
    EXPECT_EQ(bits_of(value), 0x7FC00000u);
  }
  EXPECT_TRUE(are_valid_values(start));
}

TEST(AdaptiveValues, StagesThatAreOffMoveNothing) {
  const AdaptiveValues start;
  EXPECT_TRUE(equal(adaptive_values_moved(start, 5, 2.0f, off()), start));
  AdaptiveRules negative = off();
  negative.kind = SAMPLER_ADAPTIVE_P;
  negative.target = -0.5f;
  EXPECT_TRUE(equal(adaptive_values_moved(start, 5, 0.5f, negative), start));
  AdaptiveRules mirostat = off();
  mirostat.kind = SAMPLER_ADAPTIVE_MIROSTAT_V2;
  const AdaptiveValues moved_once = adaptive_values_moved(start, 5, 6.0f, mirostat);
  EXPECT_EQ(moved_once.mu, 10.0f - 0.1f);
  EXPECT_TRUE(is_nan(moved_once.adaptive_p.sum) && is_nan(moved_once.top_p));
}

TEST(AdaptiveValues, SmoothingMovesNothing) {
  AdaptiveRules rules = off();
  rules.kind = SAMPLER_ADAPTIVE_SMOOTHING;
  rules.target = 0.3f;
  EXPECT_TRUE(rules.smooths() && rules.reweighs());
  EXPECT_TRUE(equal(adaptive_values_moved(AdaptiveValues(), 5, 0.5f, rules), AdaptiveValues()));
  rules.target = 0.0f;
  EXPECT_FALSE(rules.smooths() || rules.reweighs());
}

TEST(AdaptiveValues, AnObservationThatIsNoneMovesTheRunningTopPOnly) {
  AdaptiveRules rules = off();
  rules.kind = SAMPLER_ADAPTIVE_MIROSTAT_V1;
  rules.top_p = 0.8f;
  rules.top_p_decay = 0.5f;
  const AdaptiveValues values = adaptive_values_moved(AdaptiveValues(), 5, kNaN, rules);
  EXPECT_TRUE(is_nan(values.mu));
  EXPECT_EQ(values.top_p, 0.4f);
}

TEST(AdaptiveValues, NeverBecomeInfinite) {
  AdaptiveRules rules = off();
  rules.kind = SAMPLER_ADAPTIVE_MIROSTAT_V2;
  rules.target = kLargestFloat;  // 2 * target is infinite
  for (const float observation : {1.0f, kInfinity, -kInfinity, kLargestFloat}) {
    for (const sampler_adaptive_kind kind : {SAMPLER_ADAPTIVE_MIROSTAT_V2, SAMPLER_ADAPTIVE_P}) {
      rules.kind = kind;
      AdaptiveValues values;
      for (int step = 0; step < 3; ++step) {
        values = adaptive_values_moved(values, 5, observation, rules);
        EXPECT_TRUE(are_valid_values(values)) << observation;
      }
    }
  }
}

TEST(AdaptiveValues, OfACallerAreNotInfinite) {
  for (const float bad : {kInfinity, -kInfinity}) {
    EXPECT_FALSE(are_valid_values({bad, {0, 0}, 0}));
    EXPECT_FALSE(are_valid_values({0, {bad, 0}, 0}));
    EXPECT_FALSE(are_valid_values({0, {0, bad}, 0}));
    EXPECT_FALSE(are_valid_values({0, {0, 0}, bad}));
  }
}

TEST(AdaptiveRules, OfASlotMayBeInvalid) {
  EXPECT_TRUE(off().are_valid());
  const auto is_valid = [](const auto &change) {
    AdaptiveRules rules = off();
    change(rules);
    return rules.are_valid();
  };
  EXPECT_FALSE(is_valid([](AdaptiveRules &rules) { rules.kind = -1; }));
  EXPECT_FALSE(is_valid([](AdaptiveRules &rules) { rules.kind = 5; }));
  for (const float bad : {kNaN, kInfinity, -kInfinity}) {
    EXPECT_FALSE(is_valid([&](AdaptiveRules &rules) { rules.target = bad; })) << bad;
    EXPECT_FALSE(is_valid([&](AdaptiveRules &rules) { rules.rate = bad; })) << bad;
    EXPECT_FALSE(is_valid([&](AdaptiveRules &rules) { rules.top_p_least = bad; })) << bad;
  }
  EXPECT_FALSE(is_valid([](AdaptiveRules &rules) { rules.top_p = kNaN; }));
  EXPECT_FALSE(is_valid([](AdaptiveRules &rules) { rules.top_p_decay = kNaN; }));
  EXPECT_TRUE(is_valid([](AdaptiveRules &rules) { rules.target = -1.0f; }));
  EXPECT_TRUE(is_valid([](AdaptiveRules &rules) {
    rules.kind = SAMPLER_ADAPTIVE_P;
    rules.target = -1.0f;
  }));
  for (const sampler_adaptive_kind kind :
       {SAMPLER_ADAPTIVE_MIROSTAT_V1, SAMPLER_ADAPTIVE_MIROSTAT_V2, SAMPLER_ADAPTIVE_SMOOTHING}) {
    EXPECT_FALSE(is_valid([&](AdaptiveRules &rules) {
      rules.kind = kind;
      rules.target = -1.0f;
    }));
  }
}

TEST(AdaptiveParameters, AreThoseOfTheSlot) {
  const sampler_adaptive_kind kinds[] = {0, 3};
  const int64_t resets[] = {7, -1};
  AdaptiveParameters parameters;
  EXPECT_FALSE(parameters.may_have_window() || parameters.may_decay());
  EXPECT_EQ(parameters.of(1).top_p_reset_token, -1);
  parameters.kind.array = kinds;
  parameters.top_p_reset_tokens = resets;
  parameters.top_p_decay.value = 0.5f;
  EXPECT_TRUE(parameters.may_have_window() && parameters.may_decay());
  EXPECT_EQ(parameters.of(1).kind, 3);
  EXPECT_EQ(parameters.of(0).top_p_reset_token, 7);
  EXPECT_EQ(parameters.of(0).top_p_decay, 0.5f);
}

}  // namespace
}  // namespace sampler::contract::adaptive_values_test
