// The digits' sort gives what a stable sort gives. Its passes do not depend on the values.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "cpu/sort.h"

namespace sampler::cpu::sort_test {
namespace {

// Upper halves of several kinds, lower halves that descend, as those of ranks by ascending id do.
std::vector<uint64_t> make_values(int kind, size_t count, std::mt19937_64 *random) {
  std::vector<uint64_t> values(count);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t upper[] = {(*random)() >> 32,    i,          count - i,
                              0x80000000u,          i % 3 << 9, uint64_t(UINT32_MAX),
                              uint64_t(1) << i % 32};
    values[i] = upper[kind] << 32 | (UINT32_MAX - uint32_t(i));
  }
  return values;
}

TEST(Sort, IsStableByTheUpperHalf) {
  std::mt19937_64 random(1);
  for (int kind = 0; kind < 7; ++kind) {
    for (const size_t count : {0, 1, 2, 31, 32, 33, 1000, 70000}) {
      const std::vector<uint64_t> values = make_values(kind, count, &random);
      std::vector<uint64_t> expected = values, actual = values, scratch(count);
      std::stable_sort(expected.begin(), expected.end(),
                       [](uint64_t a, uint64_t b) { return a >> 32 < b >> 32; });
      const uint64_t *sorted = sort_by_upper_half(actual.data(), int64_t(count), scratch.data());
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), sorted)) << kind << ", " << count;

      expected = actual = values;
      std::sort(expected.begin(), expected.end(), std::greater<uint64_t>());
      sorted = sort_ranks(actual.data(), int64_t(count), scratch.data());
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), sorted)) << kind << ", " << count;
    }
  }
}

}  // namespace
}  // namespace sampler::cpu::sort_test
