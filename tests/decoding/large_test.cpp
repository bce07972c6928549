// Calls that no machine has room for. Sanitizers end a program where memory is refused.
#include <gtest/gtest.h>

#include "generation.h"

namespace decoding_test::large_test {
namespace {

TEST(Large, LogitsThatNoMachineHasRoomFor) {
  constexpr std::int64_t kNumTexts = 40000;
  Calls calls;
  Limits limits;
  limits.vocabulary_size = (1 << 20) - 1;
  limits.max_sequences = kNumTexts;
  Model target(limits, constant_logits({}), &calls), drafter(limits, constant_logits({}), &calls);
  Generation generation(&target, std::vector<Tokens>(kNumTexts, Tokens{1}));
  // 40000 x 1025 rows of 4 MiB: 160 TiB, more than a process can address.
  SpeculativeArgs args;
  args.gamma = 1024;
  const Sampler sampler = make_sampler();
  EXPECT_EQ(generation.run(sampler.get(), speculative(&drafter, args)),
            SAMPLER_ERROR_OUT_OF_MEMORY);
  EXPECT_TRUE(generation.outputs_are_untouched());
  EXPECT_EQ(calls.count(), 0);
}

}  // namespace
}  // namespace decoding_test::large_test
