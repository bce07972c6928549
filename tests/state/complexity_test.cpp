// What sequences of ids made to cost much take, in basic blocks that are run: the compiler has this
// program's copy of the sequences count them. So these tests depend on no clock.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "counted_sequences.h"

namespace {
std::uint64_t num_blocks = 0;
}

// What the compiler calls in each block.
extern "C" void __sanitizer_cov_trace_pc() {
  ++num_blocks;
}

namespace state_test {
namespace {

using Ids = std::vector<std::int32_t>;

constexpr std::int32_t kTokens = 4096, kDistinct = 1024;

// Blocks for each token of a text that comes, and goes again.
double cost_of(const Ids &text, std::int32_t max_distinct) {
  const std::uint64_t before = num_blocks;
  append_and_truncate(text.data(), std::int32_t(text.size()), max_distinct);
  return double(num_blocks - before) / double(text.size());
}

Ids random_ids(std::int32_t end) {
  std::mt19937 random(1);
  Ids ids;
  while (ids.size() < kTokens) ids.push_back(std::int32_t(random() % std::uint32_t(end)));
  return ids;
}

// Texts whose ids come again and again from a list.
Ids repeated(const Ids &list) {
  Ids ids;
  while (ids.size() < kTokens) ids.insert(ids.end(), list.begin(), list.end());
  ids.resize(kTokens);
  return ids;
}

// The last one is as deep in the tree as an id can be, below all the others.
Ids deep_ids() {
  Ids chain;
  for (int bit = 0; bit < 31; ++bit) chain.push_back(std::int32_t(1u << bit));
  chain.push_back(0);
  return chain;
}

TEST(Complexity, OfAnyIdsIsASmallMultipleOfThatOfRandomOnes) {
  const double usual = cost_of(random_ids(1000), kDistinct);
  ASSERT_GT(usual, 10.0);
  Ids shared_low_bits, powers, up, down;
  for (std::int32_t i = 0; i < kDistinct; ++i) {
    shared_low_bits.push_back(i << 20);
    powers.push_back(std::int32_t(1u << i % 31) + i / 31);
    up.push_back(i);
    down.push_back(kDistinct - i);
  }
  Ids deepest = deep_ids();
  deepest.resize(kTokens, 0);
  const std::vector<Ids> texts = {repeated(shared_low_bits),
                                  repeated(powers),
                                  repeated(up),
                                  repeated(down),
                                  repeated(deep_ids()),
                                  deepest,
                                  repeated({7}),
                                  random_ids(INT32_MAX),
                                  random_ids(50)};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (const std::int32_t max_distinct : {1, 31, kDistinct, kTokens}) {
      EXPECT_LT(cost_of(texts[i], max_distinct), 4 * usual) << "text " << i;
    }
  }
}

// The deepest id costs more than a shallow one, and no more than 32 nodes do.
TEST(Complexity, OfATokenIsBounded) {
  Ids deepest = deep_ids();
  deepest.resize(kTokens, 0);
  const double deep = cost_of(deepest, kDistinct), shallow = cost_of(repeated({7}), kDistinct);
  EXPECT_GT(deep, 5 * shallow);
  EXPECT_LT(deep, 32 * shallow);
}

}  // namespace
}  // namespace state_test
