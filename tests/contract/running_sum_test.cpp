// The place in the running sum that a word draws, at the very words where it changes. A seed that
// gives such a word cannot be found, so this is the one test of the backend's inner parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "cpu/distribution.h"
#include "cpu/draw.h"
#include "cpu/row.h"

namespace sampler::cpu::running_sum_test {
namespace {

// The least word whose target, floor(word * total / 2^64), is at least `sum`.
uint64_t first_word_from(uint64_t sum, uint64_t total) {
  __extension__ using Wide = unsigned __int128;
  return uint64_t(((Wide(sum) << 64) + total - 1) / total);
}

struct Drawer {
  explicit Drawer(const std::vector<float> &logits, int32_t top_k)
      : values(logits), sort(logits.size()), sort_scratch(logits.size()), sums(logits.size()) {
    row.values = values.data();
    row.count = int64_t(values.size());
    for (int64_t i = 0; i < row.count; ++i) row.first = std::max(row.first, row.rank(i));
    distribution = make_distribution(row, {1.0f, top_k, 1.0f, 0.0f}, {},
                                     {nullptr, nullptr, sort.data(), sort_scratch.data()});
    cdf = InverseCdf(row, distribution, sums.data());
    guided = cdf;
    guide.resize(size_t(row.count));
    guided.make_guide(row.count, guide.data());
  }

  // By a search through all sums, and from where a guide says.
  int64_t draw(uint64_t word) const {
    int64_t index, guided_index;
    cdf.draw(&word, 1, &index);
    guided.draw(&word, 1, &guided_index);
    EXPECT_EQ(guided_index, index);
    return index;
  }

  std::vector<float> values;
  std::vector<uint64_t> sort, sort_scratch, sums;
  Row row;
  Distribution distribution;
  InverseCdf cdf, guided;
  std::vector<int32_t> guide;
};

// Every kept token is drawn from its first word to its last, and no other token is.
void expect_exact_words(const Drawer &drawer) {
  const uint64_t total = drawer.distribution.kept_weight;
  uint64_t sum = 0;
  for (int64_t i = 0; i < drawer.row.count; ++i) {
    if (!drawer.distribution.keeps(drawer.row.rank(i))) continue;
    const uint64_t weight = contract::weight(drawer.distribution.scale, drawer.values[size_t(i)]);
    if (weight == 0) continue;
    const uint64_t first = first_word_from(sum, total);
    sum += weight;
    const uint64_t last = sum == total ? UINT64_MAX : first_word_from(sum, total) - 1;
    EXPECT_EQ(drawer.draw(first), i);
    EXPECT_EQ(drawer.draw(last), i);
  }
  EXPECT_EQ(sum, total);
}

constexpr float kNothing = -std::numeric_limits<float>::infinity();

TEST(RunningSum, ChangesTokensExactlyWhereItExceedsTheTarget) {
  expect_exact_words(Drawer({1.0f, 1.0f}, 0));
  expect_exact_words(Drawer({0.0f, 0.5f, -3.0f, 0.5f, 2.0f, -1.0f, -20.0f}, 0));
  expect_exact_words(Drawer(std::vector<float>(1000, 0.25f), 0));
}

TEST(RunningSum, PassesOverTokensThatAreNotKept) {
  expect_exact_words(Drawer({kNothing, kNothing, 1.0f, kNothing, 0.5f, kNothing}, 0));
  expect_exact_words(Drawer({0.5f, 2.0f, 0.25f, 1.0f, 3.0f, 0.0f}, 3));
}

TEST(RunningSum, PassesOverTokensOfWeight0) {
  expect_exact_words(Drawer({-100.0f, 1.0f, -100.0f, -100.0f, 0.5f, -100.0f}, 0));
}

TEST(RunningSum, OfRowsOfAnyLength) {
  std::mt19937 random(1);
  for (size_t length = 1; length <= 70; ++length) {
    std::vector<float> logits(length);
    for (float &x : logits) x = float(random() % 1000) * -0.02f;
    expect_exact_words(Drawer(logits, 0));
  }
}

}  // namespace
}  // namespace sampler::cpu::running_sum_test
