// Random schedules.
#include <gtest/gtest.h>

#include "schedule.h"

namespace session_test {
namespace {

void expect_texts_alone(std::uint64_t seed, bool with_stages, std::int32_t num_threads) {
  Schedule schedule(seed, 1000, with_stages, handle_options(num_threads, 5));
  schedule.run();
  EXPECT_GE(schedule.num_compared, 900);
  EXPECT_GE(schedule.num_tokens, 5000);
  EXPECT_GE(schedule.num_drafted, 1000);
  EXPECT_GE(schedule.num_accepted, 500);
  for (const sampler_finish_reason reason :
       {SAMPLER_FINISH_END_TOKEN, SAMPLER_FINISH_LENGTH, SAMPLER_FINISH_CONTEXT,
        SAMPLER_FINISH_BAD_ROW, SAMPLER_FINISH_STOP_SEQUENCE}) {
    EXPECT_GE(schedule.reasons[reason], 10) << reason;
  }
}

TEST(SessionSchedule, PlainTextsAreThoseAlone) {
  expect_texts_alone(1, false, 1);
}

TEST(SessionSchedule, TextsWithStagesAreThoseAlone) {
  expect_texts_alone(2, true, 1);
}

TEST(SessionSchedule, TextsAreThoseAloneWithThreads) {
  expect_texts_alone(3, true, 3);
}

}  // namespace
}  // namespace session_test
