// Which sequences of a session are a measured round.
#include "decoding/session/gamma_control.h"

#include <gtest/gtest.h>

#include "parts.h"

namespace session_test {
namespace {

std::int64_t tick(void *user) {
  return *static_cast<std::int64_t *>(user) += 1000;
}

decoding::SessionConfig measured_config(std::int64_t *time) {
  decoding::SessionConfig config = small_config();
  config.options.has_adaptive_gamma = 1;
  config.options.clock = tick;
  config.options.clock_user = time;
  return config;
}

struct Control : Parts {
  explicit Control(std::int64_t *time, const decoding::SessionHost::Rules &rules = {})
      : Parts(measured_config(time), rules),
        drafting(config, &host, &table, &arrays),
        gamma(config, &host, &table, &drafting, &arrays) {}

  void add(sampler_gamma_rule rule, sampler_draft_source source = SAMPLER_DRAFTS_MODEL) {
    auto args = sized<sampler_session_add_args>();
    args.draft_source = source;
    args.adaptive_gamma = rule;
    table.append(Parts::add({1, 2}, args), 3);
  }
  // A plan of the target's spans of all that have their drafts.
  bool plan() {
    num_spans = 0;
    auto args = sized<sampler_session_plan_args>();
    args.out_spans = spans;
    args.out_num_spans = &num_spans;
    bool is_waiting = false;
    in_call([&](sampler::capi::Entry &entry) {
      is_waiting = gamma.begin_plan(entry, args);
      for (std::int32_t i = 0; i < 2 && !is_waiting; ++i) {
        sampler_span span = {};
        span.sequence = i;
        span.num_tokens = span.num_logits = table[i].num_drafts + 1;
        spans[num_spans++] = span;
      }
      gamma.end_plan(entry, args);
    });
    return is_waiting;
  }
  void advance() {
    auto args = sized<sampler_session_advance_args>();
    args.spans = spans;
    args.num_spans = num_spans;
    in_call([&](sampler::capi::Entry &entry) {
      gamma.begin_spans(args);
      for (std::int64_t i = 0; i < num_spans; ++i) {
        const std::int32_t sequence = spans[i].sequence;
        gamma.count(spans[i], table[sequence].length, table[sequence].num_drafts);
        table[sequence].is_in_step = table[sequence].is_drafted = false;
      }
      gamma.end_spans(entry);
    });
  }

  decoding::Drafting drafting;
  decoding::GammaControl gamma;
  sampler_span spans[2];
  std::int64_t num_spans = 0;
};

TEST(GammaControl, ARoundIsTimedFromItsPlanToItsAdvance) {
  std::int64_t time = 0;
  Control parts(&time);
  parts.add(SAMPLER_GAMMA_MEASURED);
  parts.add(SAMPLER_GAMMA_MEASURED);
  int num_drafted = 0;
  for (std::int64_t round = 0; round < 8; ++round) {
    const bool is_waiting = parts.plan();
    EXPECT_TRUE(parts.table[0].is_in_step && parts.table[1].is_in_step);
    EXPECT_EQ(parts.table[0].step_drafts, parts.table[1].step_drafts);
    EXPECT_EQ(is_waiting, parts.table[0].step_drafts > 0);
    if (is_waiting) {
      ++num_drafted;
      for (std::int32_t i = 0; i < 2; ++i) parts.table[i].is_drafted = true;
      EXPECT_FALSE(parts.plan());
    }
    EXPECT_EQ(time, 3000 * round + 2000) << "as it began, and with its drafts";
    parts.advance();
    EXPECT_EQ(time, 3000 * round + 3000);
    EXPECT_EQ(parts.gamma.verified().num_texts, 2);
    EXPECT_EQ(parts.gamma.verified().num_rows, 2);
  }
  EXPECT_GT(num_drafted, 0);
}

TEST(GammaControl, ARoundBesideOthersIsNotTimed) {
  std::int64_t time = 0;
  Control parts(&time);
  parts.add(SAMPLER_GAMMA_MEASURED);
  parts.add(SAMPLER_GAMMA_FIXED);
  EXPECT_FALSE(parts.plan()) << "the drafter's steps would be the other one's, too";
  EXPECT_EQ(parts.table[0].step_drafts, 0);
  EXPECT_EQ(parts.table[1].step_drafts, 4);
  EXPECT_FALSE(parts.table[1].is_in_step);
  parts.advance();
  EXPECT_EQ(time, 1000) << "as it began";
  EXPECT_EQ(parts.gamma.verified().num_texts, 1);
}

TEST(GammaControl, AHostThatMeasuresHasAllCounted) {
  std::int64_t time = 0;
  decoding::SessionHost::Rules rules = {};
  rules.measures_rounds = true;
  Control parts(&time, rules);
  parts.add(SAMPLER_GAMMA_FIXED);
  parts.add(SAMPLER_GAMMA_FIXED, SAMPLER_DRAFTS_NONE);
  EXPECT_EQ(parts.gamma.round_texts().num_texts, 2);
  EXPECT_EQ(parts.gamma.round_texts().num_rows, 1) << "of a position";
  parts.gamma.limit_drafts(2);
  EXPECT_EQ(parts.table[0].step_drafts, 2);
  EXPECT_FALSE(parts.plan());
  parts.advance();
  EXPECT_EQ(parts.gamma.verified().num_texts, 2);
  EXPECT_EQ(time, 0);
}

}  // namespace
}  // namespace session_test
