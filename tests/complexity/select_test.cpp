// Selection when its places are known: a list for which each pivot is among the worst. The rounds
// are bounded all the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "counting_passes.h"
#include "cpu/places.h"
#include "cpu/simd/select.h"

namespace complexity_test::select_test {
namespace {

namespace cpu = sampler::cpu;

constexpr uint64_t kKey = 7;

// Values of which each pivot drops as few as may be, for a target at the largest: of the elements
// that a round looks at, the lower half and one more become the smallest of all that is left.
std::vector<float> values_against(uint64_t key, int64_t count) {
  cpu::Places places(key);
  std::vector<int64_t> left(static_cast<size_t>(count));
  std::iota(left.begin(), left.end(), 0);
  std::vector<float> values(left.size());
  float next = 1;
  while (!left.empty()) {
    const auto num_left = int64_t(left.size());
    const int64_t num_probes = std::clamp<int64_t>(num_left / 64 | 1, 3, 33);
    std::vector<int64_t> probes;
    for (int64_t i = 0; i < num_probes; ++i) probes.push_back(places.below(num_left));
    std::sort(probes.begin(), probes.end());
    std::vector<bool> is_low(left.size());
    for (int64_t i = 0; i <= num_probes / 2; ++i) is_low[size_t(probes[size_t(i)])] = true;
    std::vector<int64_t> rest;
    for (size_t i = 0; i < left.size(); ++i) {
      if (is_low[i]) {
        values[size_t(left[i])] = next++;
      } else {
        rest.push_back(left[i]);
      }
    }
    left.swap(rest);
  }
  return values;
}

cpu::Selected select(const std::vector<float> &values, uint64_t key, uint64_t target) {
  const cpu::Passes *passes = counting_passes();
  cpu::Places places(key);
  std::vector<float> scratch(values.size() + cpu::kListPadding);
  work.reset();
  const auto list = sampler::contract::f32_view(values.data(), int64_t(values.size()));
  return cpu::select(*passes, &places, list, nullptr, target, scratch.data());
}

TEST(Select, HasABoundWhateverTheListIs) {
  if (!counting_passes()) GTEST_SKIP() << "the scalar rows do not select";
  constexpr int64_t kCount = 100000;
  const std::vector<float> values = values_against(kKey, kCount);
  const cpu::Selected selected = select(values, kKey, 1);
  EXPECT_TRUE(selected.found);
  EXPECT_EQ(selected.value, *std::max_element(values.begin(), values.end()));
  // The list does what it is made for: its rounds are those with pivots from the list, and those
  // that halve keys.
  EXPECT_GE(work.num_rounds, 60);
  EXPECT_LE(work.num_rounds, 60 + 32);
  // With places that the list was not made for it costs what others cost.
  const double worst = work.cost;
  select(values, kKey + 1, 1);
  EXPECT_LT(work.cost * 10, worst);
}

TEST(Select, FindsEveryRank) {
  if (!counting_passes()) GTEST_SKIP() << "the scalar rows do not select";
  std::mt19937 random(3);
  for (const int64_t count : {1, 2, 3, 17, 64, 500}) {
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(float(random() % uint32_t(count)));
    values.resize(values.size() + cpu::kListPadding);
    std::vector<float> list(values.begin(), values.begin() + count), sorted = list;
    std::sort(sorted.begin(), sorted.end(), std::greater<float>());
    list.reserve(list.size() + cpu::kListPadding);
    for (int64_t rank = 1; rank <= count; ++rank) {
      const cpu::Selected selected = select(list, uint64_t(rank), uint64_t(rank));
      ASSERT_TRUE(selected.found);
      ASSERT_EQ(selected.value, sorted[size_t(rank - 1)]);
      ASSERT_EQ(int64_t(selected.above), std::count_if(list.begin(), list.end(), [&](float x) {
                  return x > selected.value;
                }));
    }
    EXPECT_FALSE(select(list, 5, uint64_t(count) + 1).found);
  }
}

}  // namespace
}  // namespace complexity_test::select_test
