// One row over many ranks gives what the whole row gives, to the bit, on every rank.
#include <gtest/gtest.h>

#include "handle.h"
#include "problem.h"
#include "typed.h"

namespace shards_test::shards_test {
namespace {

// The last has ranks of several blocks of columns.
const Shapes kShapes = {{15, 1, 3},   {15, 33, 1},    {15, 33, 2},    {15, 130, 3}, {15, 130, 8},
                        {15, 999, 8}, {15, 1000, 64}, {3, 700, 1024}, {3, 6000, 2}};

class ShardsTest : public TypedTest {
 protected:
  Samplers samplers(int i) const { return i % 2 ? best_ : scalar_; }

  Handle best_, scalar_{"scalar", 3};
};

// The exchanges and bytes are those of the plan.
void expect_as_planned(const Outcome &outcome) {
  size_t bytes = 0;
  for (int64_t i = 0; i < outcome.plan.num_exchanges; ++i) bytes += outcome.plan.message_bytes[i];
  EXPECT_EQ(outcome.sent_bytes, bytes);
  EXPECT_EQ(outcome.num_exchanges, outcome.plan.num_exchanges);
}

TEST_P(ShardsTest, Samples) {
  sample(kShapes, 24, [&](int i, const Rows &rows, const SampleCall &call, const Ranges &ranges) {
    Outcome outcome;
    const std::string text = compare_sample(samplers(i), rows, call, ranges, &outcome);
    expect_as_planned(outcome);
    return text;
  });
}

TEST_P(ShardsTest, Filters) {
  filter(kShapes, 12, [&](int i) { return samplers(i); });
}

TEST_P(ShardsTest, Selects) {
  select(kShapes, 8, [&](int i) { return samplers(i); });
}

TEST_P(ShardsTest, LeaveResiduals) {
  leave_residuals(kShapes, 8, [&](int i) { return samplers(i); });
}

INSTANTIATE_TEST_SUITE_P(All, ShardsTest, all_types_and_kinds(), name_of);

}  // namespace
}  // namespace shards_test::shards_test
