// Loops take their memory by the handle's hooks, all of it before they call anything else.
#include <gtest/gtest.h>

#include "counting_allocator.h"
#include "generation.h"
#include "small_loops.h"

namespace decoding_test::allocation_test {
namespace {

using capi_test::CountingAllocator;

Sampler make_with(CountingAllocator *allocator, std::int32_t num_threads = 1) {
  sampler_options options = sampler_options_default();
  options.num_threads = num_threads;
  allocator->install(&options);
  sampler_t sampler = nullptr;
  EXPECT_EQ(sampler_create(&options, &sampler), SAMPLER_OK) << sampler_last_error();
  return Sampler(sampler);
}

// The ways in which the same call takes different memory.
template <class Body>
void for_each_call(const Body &body) {
  for (int loop = 0; loop < SmallLoops::kNumLoops; ++loop) {
    for (const int use_cache : {0, 1}) {
      for (const sampler_processor processor :
           {SAMPLER_PROCESSOR_GREEDY, SAMPLER_PROCESSOR_SAMPLE}) {
        if (!SmallLoops::can_sample(loop) && processor == SAMPLER_PROCESSOR_SAMPLE) continue;
        SCOPED_TRACE(testing::Message() << SmallLoops::name(loop) << ", use_cache " << use_cache
                                        << ", processor " << processor);
        SmallLoops loops;
        loops.args.use_cache = use_cache;
        loops.args.processor = processor;
        loops.args.debug = 1;
        body(&loops, loop);
      }
    }
  }
}

TEST(Allocation, IsOverBeforeTheFirstCallback) {
  for_each_call([](SmallLoops *loops, int loop) {
    CountingAllocator allocator;
    const Sampler sampler = make_with(&allocator, 3);
    const int before = allocator.num_calls();
    const std::size_t blocks_before = allocator.num_blocks();
    int at_first = -1;
    std::size_t blocks_at_first = 0;
    loops->on_callback = [&] {
      if (at_first < 0) {
        at_first = allocator.num_calls();
        blocks_at_first = allocator.num_blocks();
      }
      EXPECT_EQ(allocator.num_calls(), at_first);
      EXPECT_EQ(allocator.num_blocks(), blocks_at_first);
    };
    EXPECT_EQ(loops->run(loop, sampler.get()), SAMPLER_OK) << sampler_last_error();
    EXPECT_GT(loops->num_callbacks, 20);
    EXPECT_GT(at_first, before);
    EXPECT_EQ(allocator.num_calls(), at_first);
    EXPECT_EQ(allocator.num_blocks(), blocks_before);
  });
}

TEST(Allocation, ThatFailsEndsTheLoopBeforeItBegins) {
  for_each_call([](SmallLoops *loops, int loop) {
    int num_created;
    {
      CountingAllocator allocator;
      make_with(&allocator);
      num_created = allocator.num_calls();
    }
    for (int failing = num_created;; ++failing) {
      CountingAllocator allocator(failing);
      const Sampler sampler = make_with(&allocator);
      const std::size_t blocks_before = allocator.num_blocks();
      const sampler_status status = loops->run(loop, sampler.get());
      EXPECT_EQ(allocator.num_blocks(), blocks_before) << "leaked";
      if (allocator.num_calls() <= failing) {
        EXPECT_EQ(status, SAMPLER_OK) << sampler_last_error();
        EXPECT_GT(failing, num_created + 10);
        break;
      }
      EXPECT_EQ(status, SAMPLER_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(std::string(sampler_last_error()).find("the allocator returned NULL for "), 0u)
          << sampler_last_error();
      EXPECT_EQ(loops->num_callbacks, 0);
      EXPECT_TRUE(loops->outputs_are_untouched());
    }
  });
}

// Texts take memory for max_new_tokens, or for what is left of the context where that is less.
TEST(Allocation, IsOfWhatTextsCanBe) {
  std::size_t bytes[2];
  for_each_call([&](SmallLoops *loops, int loop) {
    for (const bool is_long : {false, true}) {
      CountingAllocator allocator;
      const Sampler sampler = make_with(&allocator);
      std::vector<std::int32_t> tokens(3 * 4096);
      loops->args.out_token_ids = tokens.data();
      loops->args.max_new_tokens = is_long ? 4096 : 64;
      EXPECT_EQ(loops->run(loop, sampler.get()), SAMPLER_OK) << sampler_last_error();
      bytes[is_long] = allocator.peak_bytes();
    }
    EXPECT_EQ(bytes[0], bytes[1]) << "the context is 64 tokens";
    EXPECT_LT(bytes[0], 200000u);
  });
}

}  // namespace
}  // namespace decoding_test::allocation_test
