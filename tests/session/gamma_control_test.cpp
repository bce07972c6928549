// Which sequences of a session are a measured round.
#include "decoding/session/gamma_control.h"

#include <gtest/gtest.h>

#include "parts.h"

namespace session_test::gamma_control_test {
namespace {

std::int64_t tick(void *user) {
  return *static_cast<std::int64_t *>(user) += 1000;
}

decoding::SessionConfig measured_config(std::int64_t *time) {
  decoding::SessionConfig config = small_config();
  config.options.max_sequences = 3;
  config.options.has_adaptive_gamma = 1;
  config.options.clock = tick;
  config.options.clock_user = time;
  return config;
}

struct Control : Parts {
  explicit Control(const decoding::SessionHost::Rules &rules = {})
      : Parts(measured_config(&time), rules),
        drafting(config, &host, &table, &arrays),
        gamma(config, &host, &table, &drafting, &arrays) {}

  void add(sampler_gamma_rule rule, sampler_draft_source source = SAMPLER_DRAFTS_MODEL) {
    auto args = sized<sampler_session_add_args>();
    args.draft_source = source;
    args.adaptive_gamma = rule;
    table.append(Parts::add({1, 2}, args), 3);
  }
  // A plan. Where some sequences draft it has no spans; then all have their drafts. Otherwise those
  // of the target, each with `num_more` tokens before those with logits.
  bool plan(std::int64_t num_more = 0) {
    num_spans = 0;
    auto args = sized<sampler_session_plan_args>();
    args.out_spans = spans;
    args.out_num_spans = &num_spans;
    bool is_waiting = false;
    in_call([&](sampler::abi::Entry &entry) {
      is_waiting = gamma.begin_plan(entry, args);
      for (std::int32_t i = 0; i < 3; ++i) {
        decoding::SessionSequence &own = table[i];
        if (!own.runs()) continue;
        if (is_waiting) {
          own.num_drafts = own.step_drafts;
          own.is_drafted = true;
          continue;
        }
        sampler_span span = {};
        span.sequence = i;
        span.num_logits = own.num_drafts + 1;
        span.num_tokens = span.num_logits + num_more;
        spans[num_spans++] = span;
      }
      gamma.end_plan(entry, args);
    });
    return is_waiting;
  }
  // All drafts are kept.
  void advance() {
    auto args = sized<sampler_session_advance_args>();
    args.spans = spans;
    args.num_spans = num_spans;
    in_call([&](sampler::abi::Entry &entry) {
      gamma.begin_spans(args);
      for (std::int64_t i = 0; i < num_spans; ++i) {
        decoding::SessionSequence &own = table[spans[i].sequence];
        gamma.count(spans[i], own.length, own.num_drafts);
        own.num_drafts = 0;
        own.is_in_step = own.is_drafted = false;
      }
      gamma.end_spans(entry);
    });
  }

  std::int64_t time = 0;
  decoding::Drafting drafting;
  decoding::GammaControl gamma;
  sampler_span spans[3];
  std::int64_t num_spans = 0;
};

TEST(GammaControl, ARoundIsTimedFromItsPlanToItsAdvance) {
  Control parts;
  parts.add(SAMPLER_GAMMA_MEASURED);
  parts.add(SAMPLER_GAMMA_MEASURED);
  int num_drafted = 0;
  for (std::int64_t round = 0; round < 16; ++round) {
    const bool is_waiting = parts.plan();
    const std::int64_t num_drafts = parts.table[0].step_drafts;
    EXPECT_TRUE(parts.table[0].is_in_step && parts.table[1].is_in_step);
    EXPECT_EQ(parts.table[1].step_drafts, num_drafts);
    EXPECT_EQ(is_waiting, num_drafts > 0);
    num_drafted += is_waiting;
    if (is_waiting) {
      EXPECT_FALSE(parts.plan());
    }
    EXPECT_EQ(parts.time, 3000 * round + 2000) << "as it began, and with its drafts";
    parts.advance();
    EXPECT_EQ(parts.time, 3000 * round + 3000);
    EXPECT_EQ(parts.gamma.verified().num_texts, 2);
    EXPECT_EQ(parts.gamma.verified().num_rows, 2 * (num_drafts + 1));
    EXPECT_EQ(parts.gamma.verified().num_kept, 2 * num_drafts);
  }
  EXPECT_GT(num_drafted, 4);

  // Beside another sequence they have no drafts of a model, whose steps would be that one's, too.
  parts.add(SAMPLER_GAMMA_FIXED);
  const std::int64_t before = parts.time;
  for (std::int64_t round = 0; round < 4; ++round) {
    EXPECT_FALSE(parts.plan());
    EXPECT_EQ(parts.table[0].step_drafts, 0);
    EXPECT_EQ(parts.table[2].step_drafts, 4);
    EXPECT_FALSE(parts.table[2].is_in_step);
    parts.advance();
    EXPECT_EQ(parts.time, before + 1000 * (round + 1)) << "as it began";
    EXPECT_EQ(parts.gamma.verified().num_texts, 2);
  }
}

TEST(GammaControl, ARoundWithMoreToReadIsNotTimed) {
  Control parts;
  parts.add(SAMPLER_GAMMA_MEASURED);
  EXPECT_FALSE(parts.plan(1));
  parts.advance();
  EXPECT_EQ(parts.time, 1000) << "as it began";
  EXPECT_EQ(parts.gamma.verified().num_texts, 1);
}

TEST(GammaControl, AHostThatMeasuresHasAllCounted) {
  decoding::SessionHost::Rules rules = {};
  rules.measures_rounds = true;
  Control parts(rules);
  parts.add(SAMPLER_GAMMA_FIXED);
  parts.add(SAMPLER_GAMMA_FIXED, SAMPLER_DRAFTS_NONE);
  EXPECT_EQ(parts.gamma.round_texts().num_texts, 2);
  EXPECT_EQ(parts.gamma.round_texts().num_rows, 1) << "of a position";
  parts.gamma.limit_drafts(2);
  EXPECT_EQ(parts.table[0].step_drafts, 2);
  EXPECT_FALSE(parts.plan());
  parts.advance();
  EXPECT_EQ(parts.gamma.verified().num_texts, 2);
  EXPECT_EQ(parts.time, 0);
}

}  // namespace
}  // namespace session_test::gamma_control_test
