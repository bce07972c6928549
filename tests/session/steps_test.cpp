// Steps of a session, one property at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "../sized.h"
#include "driver.h"
#include "generation.h"

namespace session_test::steps_test {
namespace {

using decoding_test::constant_logits;
using decoding_test::table_logits;

// Logits that make the next token surely the one after the last.
NextLogits counting_logits() {
  return [](const Tokens &text) {
    Logits logits(kVocabulary, 0.0f);
    logits[std::size_t(text.back() + 1) % std::size_t(kVocabulary)] = 50.0f;
    return logits;
  };
}

Wish greedy_wish(Tokens prompt, std::int64_t max_new_tokens) {
  Wish wish;
  wish.prompt = std::move(prompt);
  sampler_params params = sampler_params_default();
  params.temperature = 0;
  wish.draws = {{0, 1, params}};
  wish.max_new_tokens = max_new_tokens;
  return wish;
}

sampler_session_add_args no_drafts() {
  return sized<sampler_session_add_args>();
}

sampler_session_add_args lookup_drafts() {
  auto args = sized<sampler_session_add_args>();
  args.draft_source = SAMPLER_DRAFTS_PROMPT_LOOKUP;
  return args;
}

TEST(SessionSteps, TextsAreThoseOfTheLoop) {
  Random random(7);
  const NextLogits logits = table_logits(7, kVocabulary, 2, false);
  decoding_test::Calls calls;
  decoding_test::Limits limits;
  limits.vocabulary_size = kVocabulary;
  limits.max_context = kContext;
  decoding_test::Model model(limits, logits, &calls);
  decoding_test::Generation generation(&model,
                                       decoding_test::random_prompts(&random, 20, 30, kVocabulary));
  generation.args.max_new_tokens = 25;
  generation.args.processor = SAMPLER_PROCESSOR_SAMPLE;
  generation.args.use_cache = 1;
  generation.ends = {3};
  generation.params.temperature = 0.9f;
  generation.params.top_p = 0.9f;
  for (std::uint64_t i = 0; i < 20; ++i) generation.seeds.push_back(i * 77);
  const decoding_test::Sampler sampler = decoding_test::make_sampler();
  const std::vector<decoding_test::Text> &texts =
      generation.texts_of(sampler.get(), decoding_test::autoregressive());

  Driver driver(small_options(20, 3), logits);
  for (std::size_t i = 0; i < 20; ++i) {
    Wish wish;
    wish.prompt = generation.prompts()[i];
    wish.draws = {{0, i * 77, generation.params}};
    wish.max_new_tokens = 25;
    wish.ends = {3};
    EXPECT_EQ(driver.add(wish, i % 2 == 0 ? no_drafts() : lookup_drafts()), std::int32_t(i));
  }
  driver.finish();
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(driver.text(std::int32_t(i)), generation.whole_text(i));
    EXPECT_EQ(driver.get(std::int32_t(i)).finish_reason, texts[i].reason);
    EXPECT_EQ(driver.get(std::int32_t(i)).cache_length, texts[i].cache_length);
  }
}

TEST(SessionSteps, AStepIsARowASequence) {
  Driver driver(small_options(4), counting_logits());
  for (int i = 0; i < 4; ++i) driver.add(greedy_wish({1, 2, 3}, 5), no_drafts());
  driver.finish();
  EXPECT_EQ(driver.num_steps, 5);
  EXPECT_EQ(driver.num_rows, 4 * 5);
}

TEST(SessionSteps, DraftsSaveSteps) {
  Driver driver(small_options(1, 4), counting_logits());
  driver.add(greedy_wish({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1}, 10), lookup_drafts());
  driver.finish();
  const sampler_session_sequence own = driver.get(0);
  EXPECT_EQ(own.num_tokens, 22);
  // The first token, 2, is not drafted; then 4 drafts and a token twice: all but one of ten.
  EXPECT_EQ(own.num_steps, 3);
  EXPECT_EQ(own.num_drafted, 7);
  EXPECT_EQ(own.num_accepted, 7);
}

// The numbers that differ are the temperature and edits, and one of windows that are off: with
// these the edited row's log-probabilities need more room than others.
TEST(SessionSteps, LogProbabilitiesOfEachKindFitTheWorkspace) {
  Wish wish = greedy_wish({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1}, 10);
  sampler_params &params = wish.draws[0].params;
  ASSERT_EQ(sampler_params_preset(&params, sizeof params, "vllm"), SAMPLER_OK);
  const sampler_params common = params;
  params.temperature = 0.9f;
  params.repetition_penalty = 1.1f;
  params.frequency_penalty = 0.3f;
  params.min_keep = 3;
  for (const sampler_logprob_kind kind :
       {SAMPLER_LOGPROB_RAW, SAMPLER_LOGPROB_PROCESSED, SAMPLER_LOGPROB_EDITED}) {
    SessionOptions options = small_options(1, 4);
    options.params = &common;
    Extras extras;
    extras.logprob_kind = kind;
    Driver driver(options, counting_logits(), nullptr, sampler_options_default(), extras);
    driver.add(wish, lookup_drafts());
    driver.finish();
    EXPECT_GT(driver.get(0).num_accepted, 0);
    EXPECT_EQ(driver.logprobs[0].size(), 10u);
  }
}

TEST(SessionSteps, StopSequencesSpanSteps) {
  for (const bool drafts : {false, true}) {
    Driver driver(small_options(1, 4), counting_logits());
    // The prompt ends in the first part of one, which does not count: only new tokens do.
    Wish wish = greedy_wish({5, 6, 7, 8, 9, 10, 11, 12, 3, 4}, 12);
    wish.stops = {{4, 5}, {9, 11}, {8, 9, 10}};
    driver.add(wish, drafts ? lookup_drafts() : no_drafts());
    driver.finish();
    const sampler_session_sequence own = driver.get(0);
    EXPECT_EQ(own.finish_reason, SAMPLER_FINISH_STOP_SEQUENCE);
    EXPECT_EQ(own.stop_sequence, 2);
    const Tokens text = driver.text(0);
    EXPECT_EQ(Tokens(text.begin() + 10, text.end()), (Tokens{5, 6, 7, 8, 9, 10}));
    // Tokens after it are not text, and not in the cache.
    EXPECT_LE(own.cache_length, own.num_tokens);
  }
}

TEST(SessionSteps, AnEndTokenComesBeforeAStopSequenceAndThatBeforeTheLimit) {
  Driver driver(small_options(3), counting_logits());
  Wish wish = greedy_wish({1}, 3);
  wish.stops = {{3, 4}};
  driver.add(wish, no_drafts());
  wish.ends = {4};
  driver.add(wish, no_drafts());
  wish.ends = {};
  wish.stops = {};
  driver.add(wish, no_drafts());
  driver.finish();
  EXPECT_EQ(driver.get(0).finish_reason, SAMPLER_FINISH_STOP_SEQUENCE);
  EXPECT_EQ(driver.get(1).finish_reason, SAMPLER_FINISH_END_TOKEN);
  EXPECT_EQ(driver.get(1).stop_sequence, -1);
  EXPECT_EQ(driver.get(2).finish_reason, SAMPLER_FINISH_LENGTH);
}

TEST(SessionSteps, WhereNoTokenMayFollowASequenceHasFinishedWhenItIsAdded) {
  Driver driver(small_options(3), counting_logits());
  driver.add(greedy_wish(Tokens(std::size_t(kContext), 1), 3), no_drafts());
  EXPECT_EQ(driver.get(0).finish_reason, SAMPLER_FINISH_CONTEXT);
  driver.add(greedy_wish({1, 2}, 3), no_drafts(), {1, 2, 3, 4, 5});
  EXPECT_EQ(driver.get(1).finish_reason, SAMPLER_FINISH_LENGTH);
  EXPECT_TRUE(driver.plan().spans.empty());
}

// As one that had finished before it was taken out: its last new token ends it, tokens of the
// prompt do not.
TEST(SessionSteps, ATextThatHasEndedHasFinishedWhenItIsAdded) {
  Driver driver(small_options(4), counting_logits());
  Wish wish = greedy_wish({1, 2, 3}, 9);
  wish.ends = {5, 3};
  driver.add(wish, no_drafts(), {1, 2, 3, 4, 5});
  EXPECT_EQ(driver.get(0).finish_reason, SAMPLER_FINISH_END_TOKEN);
  EXPECT_EQ(driver.get(0).stop_sequence, -1);
  wish.ends = {};
  wish.stops = {{3, 4}, {4, 5}};
  driver.add(wish, no_drafts(), {1, 2, 3, 4, 5});
  EXPECT_EQ(driver.get(1).finish_reason, SAMPLER_FINISH_STOP_SEQUENCE);
  EXPECT_EQ(driver.get(1).stop_sequence, 1);
  EXPECT_EQ(driver.get(driver.fork(1)).stop_sequence, 1);
  EXPECT_TRUE(driver.plan().spans.empty());
  wish.ends = {3};
  wish.stops = {{2, 3}, {3, 4}, {6, 7}};
  driver.add(wish, no_drafts());
  driver.finish();
  EXPECT_EQ(driver.get(3).finish_reason, SAMPLER_FINISH_STOP_SEQUENCE);
  EXPECT_EQ(driver.text(3), (Tokens{1, 2, 3, 4, 5, 6, 7}));
}

TEST(SessionSteps, LongTextsAreFedInParts) {
  Driver driver(small_options(2, 3), counting_logits());
  driver.add(greedy_wish(Tokens(20, 1), 4), no_drafts());
  Driver::Step step = driver.plan({}, 8);
  ASSERT_EQ(step.spans.size(), 1u);
  EXPECT_EQ(step.spans[0].num_tokens, 8);
  EXPECT_EQ(step.spans[0].num_logits, 0);
  driver.run(step);
  driver.add(greedy_wish({2, 3}, 4), no_drafts());
  // The other one comes first now: it had no room last time... the long one still has.
  step = driver.plan({1, 0}, 8);
  ASSERT_EQ(step.spans.size(), 2u);
  EXPECT_EQ(step.spans[0].sequence, 1);
  EXPECT_EQ(step.spans[0].num_logits, 1);
  EXPECT_EQ(step.spans[1].start, 8);
  EXPECT_EQ(step.spans[1].num_tokens, 6);
  driver.run(step);
  step = driver.plan({0}, 8);
  ASSERT_EQ(step.spans.size(), 1u);
  EXPECT_EQ(step.spans[0].num_tokens, 6);
  EXPECT_EQ(step.spans[0].num_logits, 1);
  driver.finish();
  EXPECT_EQ(driver.text(0).size(), 24u);
}

TEST(SessionSteps, ThoseWithoutRoomComeFirstNextTime) {
  Driver driver(small_options(3), counting_logits());
  for (int i = 0; i < 3; ++i) driver.add(greedy_wish({1}, 9), no_drafts());
  Driver::Step step = driver.plan({}, 2);
  ASSERT_EQ(step.spans.size(), 2u);
  driver.run(step);
  step = driver.plan({}, 2);
  ASSERT_EQ(step.spans.size(), 2u);
  EXPECT_EQ(step.spans[0].sequence, 2);
  EXPECT_EQ(step.spans[1].sequence, 0);
}

TEST(SessionSteps, ACacheThatHoldsAPartIsNotFedIt) {
  Driver driver(small_options(1), counting_logits());
  auto args = no_drafts();
  args.cache_length = 3;
  driver.add(greedy_wish({1, 2, 3, 4, 5}, 2), args);
  const Driver::Step step = driver.plan();
  ASSERT_EQ(step.spans.size(), 1u);
  EXPECT_EQ(step.spans[0].start, 3);
  EXPECT_EQ(step.spans[0].num_tokens, 2);
  EXPECT_EQ(step.spans[0].token_ids[0], 4);
  driver.finish();
  EXPECT_EQ(driver.text(0), (Tokens{1, 2, 3, 4, 5, 6, 7}));
}

// Bad rows end their own sequence, keep the drafts before them, and yield no fallback token.
TEST(SessionSteps, ABadRowFinishesItsOwnSequence) {
  const NextLogits counting = counting_logits();
  const NextLogits model = [=](const Tokens &text) {
    return text.back() == 9 && text.front() == 1 ? Logits(kVocabulary, -INFINITY) : counting(text);
  };
  for (const bool drafts : {false, true}) {
    Driver driver(small_options(3, 4), model, nullptr, handle_options(1, 5));
    driver.add(greedy_wish({2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 5}, 7), no_drafts());
    driver.add(greedy_wish({1, 5, 6, 7, 8, 2, 5, 6, 7, 8, 9, 10, 5}, 7),
               drafts ? lookup_drafts() : no_drafts());
    driver.finish();
    EXPECT_EQ(driver.get(0).finish_reason, SAMPLER_FINISH_LENGTH);
    const sampler_session_sequence own = driver.get(1);
    EXPECT_EQ(own.finish_reason, SAMPLER_FINISH_BAD_ROW);
    EXPECT_EQ(own.row_status, sampler_row_status(SAMPLER_ROW_EMPTY));
    const Tokens text = driver.text(1);
    EXPECT_EQ(Tokens(text.begin() + 13, text.end()), (Tokens{6, 7, 8, 9}));
    EXPECT_EQ(own.num_accepted > 0, drafts);
  }
}

// Masks and lists by slot, and first tokens.
TEST(SessionSteps, StagesOfThePipelineAreThoseOfTheSequence) {
  const std::int32_t banned_ids[] = {3, 7};
  const std::int64_t banned_offsets[] = {0, 1, 2};
  std::uint32_t masks[] = {0xFFFFFFu, 0x000F00u};
  auto pipeline = sized<sampler_pipeline>();
  pipeline.banned = {banned_offsets, banned_ids, 2, 2};
  pipeline.token_bitmasks = masks;
  pipeline.num_token_bitmasks = 2;
  SessionOptions options = small_options(2, 2);
  options.pipeline = &pipeline;
  options.max_top_logprobs = 3;
  Driver driver(options, counting_logits());
  driver.add(greedy_wish({2}, 4), no_drafts());
  driver.add(greedy_wish({2}, 4), no_drafts());
  const Driver::Step step = driver.plan();
  ASSERT_EQ(step.spans.size(), 2u);
  std::vector<float> logits;
  for (int i = 0; i < 2; ++i) {
    const Logits row = counting_logits()({2});
    logits.insert(logits.end(), row.begin(), row.end());
  }
  logits[std::size_t(kVocabulary) + 10] = 40;
  const std::int32_t indices[] = {0, 1};
  Tokens token_ids(6), top_ids(18, -5);
  std::vector<float> top_values(18);
  std::vector<std::int64_t> counts(2);
  AdvanceArgs args;
  args.spans = step.spans.data();
  args.num_spans = 2;
  args.logits = logits.data();
  args.token_bitmask_indices = indices;
  args.out_token_ids = token_ids.data();
  args.out_counts = counts.data();
  args.report_args.num_top_logprobs = 3;
  args.report_args.out_top_token_ids = top_ids.data();
  args.report_args.out_top_logprobs = top_values.data();
  ASSERT_EQ(sampler_session_advance(driver.session(), &args), SAMPLER_OK) << sampler_last_error();
  EXPECT_EQ(token_ids, (Tokens{0, -1, -1, 10, -1, -1}));  // 3 is banned; 10 of the mask
  EXPECT_EQ(counts, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(Tokens(top_ids.begin(), top_ids.begin() + 4), (Tokens{3, 0, 1, -1}));
  EXPECT_EQ(Tokens(top_ids.begin() + 9, top_ids.begin() + 13), (Tokens{3, 10, 0, -1}));
  // A logarithm of an f32 near 1: its last bit is 6e-8.
  EXPECT_NEAR(top_values[9], -std::log1p(std::exp(-10.0)), 1e-7);
  EXPECT_TRUE(std::isnan(top_values[3]));
}

// Its own random numbers: with the session's shared by no one.
TEST(SessionSteps, AForkWithItsOwnSeedGoesOnOtherwise) {
  const NextLogits model = table_logits(5, kVocabulary, 2, false);
  Driver driver(small_options(3, 4), model);
  Wish wish;
  wish.prompt = {1, 2, 3};
  wish.draws = {{0, 11, sampler_params_default()}};
  wish.max_new_tokens = 30;
  driver.add(wish, lookup_drafts());
  for (int i = 0; i < 6; ++i) driver.run(driver.plan());
  const std::uint64_t seed = 12;
  driver.fork(0, &seed);
  driver.fork(0);
  driver.finish();
  EXPECT_EQ(driver.text(0), driver.text(2));
  EXPECT_NE(driver.text(0), driver.text(1));
}

// A parallel_for that breaks its contract at some call, and then runs on.
struct Breaking {
  int num_calls = 0;
  int failing = 0;

  static void run(void *user, std::int64_t num_tasks, sampler_task_fn task, void *task_user) {
    if (++static_cast<Breaking *>(user)->num_calls == static_cast<Breaking *>(user)->failing) {
      return;
    }
    for (std::int64_t i = 0; i < num_tasks; ++i) task(task_user, i);
  }
};

// Whichever of its calls fails, a session goes on to the same texts.
TEST(SessionSteps, GoOnAfterACallbackThatFailed) {
  const NextLogits model = table_logits(5, kVocabulary, 1, false);
  Wish wish;
  wish.prompt = {1, 2, 3, 1, 2};
  sampler_params params = sampler_params_default();
  params.temperature = 0.5f;
  params.repetition_penalty = 1.1f;
  wish.draws = {{0, 11, params}};
  wish.max_new_tokens = 12;
  int num_failed = 0;
  for (int failing = 1; failing < 30; ++failing) {
    Breaking breaking;
    breaking.failing = failing;
    sampler_options handle = sampler_options_default();
    handle.num_threads = 2;
    handle.parallel_for = Breaking::run;
    handle.parallel_for_user = &breaking;
    Driver driver(small_options(2, 4), model, nullptr, handle);
    driver.add(wish, lookup_drafts());
    driver.add(wish, no_drafts());
    driver.expect_failure(SAMPLER_ERROR_CALLBACK);
    driver.finish();
    num_failed += driver.num_failed;
    breaking.failing = 0;
    const Alone whole = alone(driver.sampler(), model, wish, kContext);
    EXPECT_EQ(driver.text(0), whole.text) << failing;
    EXPECT_EQ(driver.text(1), whole.text) << failing;
  }
  EXPECT_GE(num_failed, 5);
}

// Spans that an advance must not take, of a session whose sequences run.
void expect_stale(const Driver &driver, const std::vector<sampler_span> &spans) {
  Tokens token_ids(8);
  std::vector<std::int64_t> counts(2);
  const Logits logits(std::size_t(16 * kVocabulary));
  AdvanceArgs args;
  args.spans = spans.data();
  args.num_spans = std::int64_t(spans.size());
  args.logits = logits.data();
  args.out_token_ids = token_ids.data();
  args.out_counts = counts.data();
  EXPECT_EQ(sampler_session_advance(driver.session(), &args), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(sampler_last_error(),
               "spans[0] of sequence 0 is not a span that it was planned last");
}

void expect_same_shape(const sampler_span &a, const sampler_span &b) {
  EXPECT_EQ(a.sequence, b.sequence);
  EXPECT_EQ(a.start, b.start);
  EXPECT_EQ(a.num_tokens, b.num_tokens);
  EXPECT_EQ(a.num_logits, b.num_logits);
}

TEST(SessionSteps, NumbersOfRemovedSequencesAreGivenAgain) {
  Driver driver(small_options(2), counting_logits());
  EXPECT_EQ(driver.add(greedy_wish({1}, 9), no_drafts()), 0);
  EXPECT_EQ(driver.add(greedy_wish({5}, 9), no_drafts()), 1);
  const Driver::Step step = driver.plan();
  driver.remove(0);
  // The former sequence's plan is not taken for the new one's, though it is as long.
  EXPECT_EQ(driver.add(greedy_wish({8}, 3), no_drafts()), 0);
  expect_stale(driver, step.spans);
  const Driver::Step next = driver.plan({0});
  expect_same_shape(next.spans[0], step.spans[0]);
  expect_stale(driver, step.spans);
  driver.finish();
  EXPECT_EQ(driver.text(0), (Tokens{8, 9, 10, 11}));
}

TEST(SessionSteps, SpansOfAnEarlierPlanAreRefused) {
  Driver driver(small_options(1, 3), counting_logits());
  driver.add(greedy_wish({1, 2, 3, 4, 1}, 9), lookup_drafts());
  driver.run(driver.plan());
  const Driver::Step step = driver.plan();
  const Driver::Step next = driver.plan();
  EXPECT_EQ(step.spans[0].num_logits, 4);
  expect_same_shape(next.spans[0], step.spans[0]);
  expect_stale(driver, step.spans);
  driver.run(next);
  expect_stale(driver, next.spans);
  driver.finish();
  EXPECT_EQ(driver.text(0), (Tokens{1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

}  // namespace
}  // namespace session_test::steps_test
