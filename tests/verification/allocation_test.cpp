// Verification allocates nothing, whatever the call has. malloc and its like are replaced by ones
// that count.
#include <gtest/gtest.h>

#include "../capi/malloc_hooks.h"
#include "handles.h"
#include "random_problem.h"

namespace verification_test::allocation_test {
namespace {

using capi_test::num_allocations;
using capi_test::num_releases;

TEST(Verification, AllocatesNothing) {
  const pipeline_test::Handles handles;
  const int at_first = num_allocations;
  for (std::uint64_t seed = 0; seed < 320; ++seed) {
    Random random(seed);
    Kind kind;
    kind.rule = static_cast<sampler_acceptance>(1 + seed % 8);
    const bool is_for_chains =
        kind.rule == SAMPLER_ACCEPT_BLOCK || kind.rule == SAMPLER_ACCEPT_DEFERRED;
    kind.is_tree = !is_for_chains && random.one_in(2);
    kind.has_stages = random.one_in(2);
    kind.has_bad_ids = !kind.has_stages;
    kind.has_reports = random.one_in(2);
    kind.is_large = random.one_in(8);
    const Problem problem = random_problem(&random, kind);
    const Layout layout = random_layout(&random, problem);
    for (const bool is_simd : {false, true}) {
      sampler_t const sampler = (is_simd ? handles.simd : handles.reference).get();
      Call call(sampler, problem, layout);
      ASSERT_EQ(call.run(), SAMPLER_OK) << sampler_last_error();
      const int allocations = num_allocations, releases = num_releases;
      const sampler_status status = sampler_verify(sampler, &call.args);
      std::size_t bytes = 0;
      const sampler_status sized = sampler_verify_workspace_size(sampler, &call.args, &bytes);
      const int allocations_after = num_allocations, releases_after = num_releases;
      EXPECT_EQ(status, SAMPLER_OK);
      EXPECT_EQ(sized, SAMPLER_OK);
      EXPECT_EQ(allocations_after, allocations) << describe(problem, layout);
      EXPECT_EQ(releases_after, releases) << describe(problem, layout);
    }
  }
  EXPECT_GT(num_allocations, at_first) << "nothing is counted";
}

}  // namespace
}  // namespace verification_test::allocation_test
