// Random schedules.
#include <gtest/gtest.h>

#include "../seed.h"
#include "schedule.h"

namespace session_test::schedule_test {
namespace {

void expect_texts_alone(std::uint64_t seed, std::int64_t num_texts, const ScheduleKind &kind,
                        std::int32_t num_threads) {
  Schedule schedule(seed, num_texts, kind, handle_options(num_threads, 5));
  schedule.run();
  EXPECT_GE(schedule.num_compared, num_texts * 9 / 10);
  EXPECT_GE(schedule.num_tokens, num_texts * 5);
  EXPECT_GE(schedule.num_drafted, num_texts);
  EXPECT_GE(schedule.num_accepted, num_texts / 2);
  for (const sampler_finish_reason reason :
       {SAMPLER_FINISH_END_TOKEN, SAMPLER_FINISH_LENGTH, SAMPLER_FINISH_CONTEXT,
        SAMPLER_FINISH_BAD_ROW, SAMPLER_FINISH_STOP_SEQUENCE}) {
    EXPECT_GE(schedule.reasons[reason], num_texts / 100) << reason;
  }
}

TEST(SessionSchedule, PlainTextsAreThoseAlone) {
  expect_texts_alone(seeded(1), 1000, {false, false, false}, 1);
}

TEST(SessionSchedule, TextsWithStagesAreThoseAlone) {
  expect_texts_alone(seeded(2), 1000, {true, false, false}, 1);
}

TEST(SessionSchedule, TextsAreThoseAloneWithThreads) {
  expect_texts_alone(seeded(3), 1000, {true, false, false}, 3);
}

TEST(SessionSchedule, TextsWithMasksAndFirstTokensAreThoseAlone) {
  expect_texts_alone(seeded(4), 400, {true, true, false}, 1);
}

TEST(SessionSchedule, TextsByOtherRulesAreThoseInASessionOfTheirOwn) {
  expect_texts_alone(seeded(5), 400, {true, false, true}, 1);
}

// So few that what is compared of them may be less with another seed.
TEST(SessionSchedule, TextsByOtherRulesWithMasksAreThoseInASessionOfTheirOwn) {
  expect_texts_alone(6, 200, {false, true, true}, 2);
}

}  // namespace
}  // namespace session_test::schedule_test
