// A server's step allocates nothing.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include "expect.h"
#include "malloc_hooks.h"
#include "step.h"

namespace capi_test::step_allocation_test {
namespace {

constexpr std::int64_t kSlots = 64;

TEST(Steps, OfSixtyFourSlotsAllocateNothing) {
  for (const int num_threads : {1, 4}) {
    const Sampler sampler = roomy_sampler(num_threads);
    Step step(sampler.get(), kSlots);
    const int allocations = num_allocations, releases = num_releases;
    sampler_status status = sampler_state_append(sampler.get(), &step.append);
    for (int i = 0; i < 5; ++i) status |= step.run();
    EXPECT_EQ(num_allocations, allocations);
    EXPECT_EQ(num_releases, releases);
    EXPECT_EQ(status, SAMPLER_OK) << sampler_last_error();
    EXPECT_EQ(step.status, step.per_slot<sampler_row_status>());
    EXPECT_GT(step.offsets[kSlots], kSlots);
    for (const float observation : step.observations) EXPECT_EQ(observation, observation);
  }
}

}  // namespace
}  // namespace capi_test::step_allocation_test
