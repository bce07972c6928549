// Stages on fibers, by teams of any size and in any order of their threads, against the scalar
// reference: the same bits.
#include <gtest/gtest.h>

#include "../seed.h"
#include "staged_launch.h"

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kNumProblems = 60;
#else
constexpr std::uint64_t kNumProblems = 600;
#endif

TEST(StagedLaunches, EqualTheReference) {
  for (std::uint64_t seed = 0; seed < kNumProblems; ++seed) {
    ASSERT_TRUE(simt_test::equal_with_stages(seeded(seed), simt::Options())) << seed;
  }
}

}  // namespace
