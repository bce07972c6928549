// Loops allocate with the handle's hooks and in no other way.
#include <gtest/gtest.h>

#include "call.h"
#include "malloc_hooks.h"
#include "small_loops.h"

namespace capi_test::loops_allocation_test {
namespace {

using decoding_test::SmallLoops;

alignas(64) unsigned char pool[1 << 20];
std::size_t pool_bytes = 0;

TEST(Loops, AllocateWithTheHooksAlone) {
  sampler_options options = sampler_options_default();
  options.allocator.allocate = [](void *, std::size_t bytes, std::size_t alignment) -> void * {
    unsigned char *const memory = pool + pool_bytes;
    pool_bytes += (bytes + alignment - 1) / alignment * alignment;
    return pool_bytes <= sizeof pool ? memory : nullptr;
  };
  options.allocator.deallocate = [](void *, void *, std::size_t, std::size_t) {};
  for (int loop = 0; loop < SmallLoops::kNumLoops; ++loop) {
    for (const int use_cache : {0, 1}) {
      SCOPED_TRACE(SmallLoops::name(loop));
      pool_bytes = 0;
      const Sampler sampler = make_sampler(options);
      SmallLoops loops;
      loops.args.use_cache = use_cache;
      loops.args.debug = 1;
      const std::size_t pool_before = pool_bytes;
      const int before = num_allocations + num_releases;
      const sampler_status status = loops.run(loop, sampler.get());
      const int after = num_allocations + num_releases;
      EXPECT_EQ(status, SAMPLER_OK) << sampler_last_error();
      EXPECT_EQ(after, before);
      EXPECT_GT(pool_bytes, pool_before);
      EXPECT_GT(loops.num_callbacks, 20);
    }
  }
}

}  // namespace
}  // namespace capi_test::loops_allocation_test
