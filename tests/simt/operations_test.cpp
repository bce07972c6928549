// Every operation's device code, run on fibers, against the scalar reference: the same bits.
//
// Requests are random: shapes, types, strides, alignments, hard rows, candidate lists, parameters,
// bad rows. Launches are too: the team's size, the block's, what of a row is kept in shared memory,
// how many teams share the rows, the order of the threads.
#include <gtest/gtest.h>

#include <random>

#include "../seed.h"
#include "compare.h"

namespace {

class SmallRows : public testing::TestWithParam<int> {};

TEST_P(SmallRows, EqualTheReference) {
  std::mt19937_64 random(seeded(uint64_t(GetParam()) * 7919 + 1));
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ("", simt_test::difference(random, simt_test::kSmall, i, simt::Options()));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SmallRows, testing::Range(0, 60));

class LargeRows : public testing::TestWithParam<int> {};

TEST_P(LargeRows, EqualTheReference) {
  std::mt19937_64 random(seeded(uint64_t(GetParam()) * 104729 + 5));
  for (int i = 0; i < simt_test::kNumRequests; ++i) {
    ASSERT_EQ("", simt_test::difference(random, simt_test::kLarge, i, simt::Options()));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LargeRows, testing::Range(0, 24));

}  // namespace
