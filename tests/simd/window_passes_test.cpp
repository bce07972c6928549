// The passes that windows and edits ask, of each instruction set, beside plain loops over the
// contract's functions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "../seed.h"
#include "contract/adaptive.h"
#include "contract/collision.h"
#include "contract/deviation.h"
#include "contract/edits.h"
#include "contract/elements.h"
#include "contract/entropy.h"
#include "contract/row_view.h"
#include "contract/weight.h"
#include "usable_passes.h"

namespace window_passes_test {
namespace {

namespace contract = sampler::contract;
namespace cpu = sampler::cpu;
using contract::RowView;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kCanary = 12345;

struct Row {
  sampler_dtype dtype;
  sampler_input_kind kind;
  std::vector<unsigned char> bytes;
  std::vector<float> values;

  int64_t count() const { return int64_t(values.size()); }
  float nothing() const { return kind == SAMPLER_LOGITS ? -kInfinity : 0.0f; }
  RowView view() const {
    return {bytes.data(), nullptr, int32_t(count()), dtype, SAMPLER_ID_I32, kind};
  }
  std::string describe(const cpu::Passes *passes) const {
    return std::string(passes->name) + ", type " + std::to_string(dtype) + ", kind " +
           std::to_string(kind) + ", " + std::to_string(count()) + " elements";
  }
};

// Values of all sizes, or of few values near each other; some have no token.
Row make_row(std::mt19937 &random, sampler_dtype dtype, sampler_input_kind kind, int64_t count) {
  Row row = {dtype, kind, std::vector<unsigned char>(size_t(count) * contract::size_of(dtype)), {}};
  std::normal_distribution<float> normal(0.0f, 4.0f);
  const int form = int(random() % 3);
  for (int64_t i = 0; i < count; ++i) {
    float x = form == 0 ? normal(random) : form == 1 ? float(random() % 4) : normal(random) * 1e3f;
    if (kind == SAMPLER_PROBABILITIES) x = std::exp2(std::max(std::min(x, 14.0f), -148.0f));
    if (random() % 8 == 0 && i > 0) x = row.nothing();
    contract::store_value(row.bytes.data(), dtype, i, x);
    row.values.push_back(contract::load_value(row.bytes.data(), dtype, i));
  }
  return row;
}

// f(passes, row, begin, end, at_least)
template <class F>
void for_each_case(const F &f) {
  std::mt19937 random(seeded(1));
  for (const cpu::Passes *passes : usable_passes()) {
    for (const auto kind : {SAMPLER_LOGITS, SAMPLER_PROBABILITIES}) {
      for (const auto dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
        for (const int64_t count : {1, 15, 16, 17, 64, 65, 255, 257, 600, 2048, 2049, 4200}) {
          for (int times = 0; times < 6; ++times) {
            const Row row = make_row(random, dtype, kind, count);
            const int64_t begin = times % 2 == 0 ? 0 : int64_t(random() % uint32_t(count));
            const int64_t end = begin + int64_t(random() % uint32_t(count - begin)) + 1;
            const float bound = row.values[random() % size_t(count)];
            const float at_least = std::max(bound, contract::next_value(row.nothing()));
            f(passes, row, begin, times == 0 ? count : end, at_least);
            if (testing::Test::HasFailure()) FAIL() << row.describe(passes);
          }
        }
      }
    }
  }
}

float max_of(const Row &row) {
  return std::max(*std::max_element(row.values.begin(), row.values.end()),
                  contract::next_value(row.nothing()));
}

TEST(WindowPass, SumEntropy) {
  for_each_case(
      [](const cpu::Passes *passes, const Row &row, int64_t begin, int64_t end, float at_least) {
        for (const float temperature : {1.0f, 0.05f, 30.0f}) {
          const auto scale = contract::row_scale(row.kind, max_of(row), temperature);
          contract::EntropySums expected;
          for (int64_t i = begin; i < end; ++i) {
            const float x = row.values[size_t(i)];
            if (x >= at_least) expected.add(contract::entropy_sums(scale, x));
          }
          const auto sums = passes->sum_entropy(row.view(), scale, begin, end, at_least);
          EXPECT_EQ(sums.weight, expected.weight);
          EXPECT_EQ(sums.surprise, expected.surprise);
        }
      });
}

TEST(WindowPass, SumCollisions) {
  for_each_case(
      [](const cpu::Passes *passes, const Row &row, int64_t begin, int64_t end, float at_least) {
        for (const float temperature : {1.0f, 0.05f, 30.0f}) {
          const auto scale = contract::row_scale(row.kind, max_of(row), temperature);
          contract::CollisionSums expected;
          for (int64_t i = begin; i < end; ++i) {
            const float x = row.values[size_t(i)];
            if (x >= at_least) expected.add(contract::relative_probability(scale, x));
          }
          const auto sums = passes->sum_collisions(row.view(), scale, begin, end, at_least);
          EXPECT_EQ(sums.weight, expected.weight);
          EXPECT_EQ(sums.high, expected.high);
          EXPECT_EQ(sums.cross, expected.cross);
          EXPECT_EQ(sums.low, expected.low);
        }
      });
}

TEST(WindowPass, SumDeviations) {
  for_each_case(
      [](const cpu::Passes *passes, const Row &row, int64_t begin, int64_t end, float at_least) {
        const auto scale = contract::row_scale(row.kind, max_of(row), 1.0f);
        const float first = contract::sigma_value(scale, max_of(row));
        const float last = contract::sigma_value(scale, at_least);
        if (first == last) return;
        const auto unit = contract::deviation_scale(first, last);
        contract::DeviationSums expected;
        for (int64_t i = begin; i < end; ++i) {
          const float x = row.values[size_t(i)];
          if (x >= at_least)
            expected.add(contract::deviation(unit, contract::sigma_value(scale, x)));
        }
        const auto sums = passes->sum_deviations(row.view(), scale, unit, begin, end, at_least);
        EXPECT_EQ(sums.sum, expected.sum);
        EXPECT_EQ(sums.squares, expected.squares);
      });
}

TEST(WindowPass, FindRange) {
  for_each_case(
      [](const cpu::Passes *passes, const Row &row, int64_t begin, int64_t end, float at_least) {
        for (const float at_most : {kInfinity, at_least, row.values[0]}) {
          int64_t count = 0;
          float least = kInfinity, largest = -kInfinity;
          for (int64_t i = begin; i < end; ++i) {
            const float x = row.values[size_t(i)];
            if (x < at_least || x > at_most) continue;
            ++count;
            least = std::min(least, x);
            largest = std::max(largest, x);
          }
          const auto range = passes->find_range(row.view(), begin, end, at_least, at_most);
          EXPECT_EQ(range.count, count);
          if (count == 0) continue;
          EXPECT_EQ(range.least, least);
          EXPECT_EQ(range.largest, largest);
        }
      });
}

TEST(WindowPass, Copy) {
  for_each_case([](const cpu::Passes *passes, const Row &row, int64_t, int64_t, float bound) {
    const int64_t num_blocks = (row.count() + cpu::kGroupBlock - 1) / cpu::kGroupBlock;
    for (const float at_most : {kInfinity, bound}) {
      std::vector<float> expected, out(row.values.size() + 1, kCanary);
      std::vector<float> maxima(size_t(num_blocks * cpu::kVectorElements) + 1, kCanary);
      std::vector<float> expected_maxima(maxima.size() - 1, row.nothing());
      for (int64_t i = 0; i < row.count(); ++i) {
        const float x = row.values[size_t(i)];
        expected.push_back(x <= at_most ? x : row.nothing());
        float &max = expected_maxima[size_t(i / cpu::kGroupBlock * cpu::kVectorElements +
                                            i % cpu::kVectorElements)];
        max = std::max(max, expected.back());
      }
      const auto scan = passes->copy(row.view(), at_most, out.data(), maxima.data());
      EXPECT_TRUE(scan.valid);
      EXPECT_EQ(scan.max, *std::max_element(expected.begin(), expected.end()));
      expected.push_back(kCanary);
      expected_maxima.push_back(kCanary);
      EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)), 0);
      EXPECT_EQ(maxima, expected_maxima);
    }
  });
}

std::vector<uint32_t> random_mask(std::mt19937 &random, int64_t count) {
  std::vector<uint32_t> mask(size_t(count + 31) / 32);
  for (uint32_t &word : mask) word = random() & random();
  return mask;
}
bool allows(const std::vector<uint32_t> &mask, int64_t i) {
  return (mask[size_t(i / 32)] >> (i % 32) & 1u) != 0;
}

void expect_reweighed(const cpu::Passes *passes, const Row &row, float at_least,
                      const contract::Reweighing &stage) {
  const int64_t num_blocks = (row.count() + cpu::kGroupBlock - 1) / cpu::kGroupBlock;
  std::vector<float> expected(row.values.size() + 1, kCanary), out = expected;
  std::vector<float> maxima(size_t(num_blocks * cpu::kVectorElements) + 1, kCanary);
  std::vector<float> expected_maxima(maxima.size() - 1, -kInfinity);
  for (int64_t i = 0; i < row.count(); ++i) {
    const float x = row.values[size_t(i)];
    const float y = x >= at_least ? stage.logit(x) : -kInfinity;
    float &group = expected_maxima[size_t(i / cpu::kGroupBlock * cpu::kVectorElements +
                                          i % cpu::kVectorElements)];
    group = std::max(group, y);
    expected[size_t(i)] = y;
  }
  const float max = *std::max_element(expected_maxima.begin(), expected_maxima.end());
  expected_maxima.push_back(kCanary);
  EXPECT_EQ(passes->reweigh(row.view(), stage, at_least, out.data(), maxima.data()), max);
  EXPECT_EQ(maxima, expected_maxima);
  EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)), 0);
  if (row.dtype != SAMPLER_F32) return;
  std::vector<float> own = row.values;
  own.push_back(kCanary);
  RowView view = row.view();
  view.values = own.data();
  EXPECT_EQ(passes->reweigh(view, stage, at_least, own.data(), maxima.data()), max);
  EXPECT_EQ(std::memcmp(own.data(), expected.data(), own.size() * sizeof(float)), 0);
}

// Wanted probabilities that no, some and all tokens are above; in place, too.
TEST(WindowPass, Reweigh) {
  for_each_case([](const cpu::Passes *passes, const Row &row, int64_t, int64_t, float at_least) {
    for (const float wanted : {0.0f, 1e-3f, 0.3f, 1.0f}) {
      contract::AdaptiveP stage = {contract::row_scale(row.kind, max_of(row), 0.9f), 0.0f, 0.0f,
                                   wanted};
      for (const float x : row.values) stage.total += contract::relative_probability(stage.seen, x);
      stage.inverse = 1.0f / stage.total;
      expect_reweighed(passes, row, at_least, {false, stage, {}});
    }
  });
}

TEST(WindowPass, WeighAndMark) {
  for_each_case(
      [](const cpu::Passes *passes, const Row &row, int64_t begin, int64_t end, float at_least) {
        const float lowest = row.kind == SAMPLER_LOGITS ? -contract::kLargestFloat : 1e-45f;
        for (const float bound : {lowest, std::max(at_least, lowest)}) {
          const cpu::Scaling scaling = {contract::row_scale(row.kind, max_of(row), 0.9f)};
          std::vector<float> out(row.values.size() + 1, kCanary);
          const auto marked =
              passes->weigh_and_mark(row.view(), scaling, begin, end, bound, out.data());
          EXPECT_EQ(marked.total, passes->weigh(row.view(), scaling, begin, end, bound, nullptr));
          float least = kInfinity;
          int64_t num_wrong = 0;
          for (int64_t i = 0; i < int64_t(out.size()); ++i) {
            const float y = out[size_t(i)];
            if (i < begin || i >= end) {
              num_wrong += y != kCanary;
              continue;
            }
            const float x = row.values[size_t(i)];
            const float relative = contract::relative_probability(scaling.row, x);
            const bool is_nearly_0 = relative == 0.0f && y >= 0.0f && y < 0x1p-99f;
            num_wrong += x >= bound ? y != relative && !is_nearly_0 : y != cpu::kNotKept;
            if (x >= bound) least = std::min(least, y);
          }
          EXPECT_EQ(num_wrong, 0);
          EXPECT_EQ(marked.least, least);
        }
      });
}

// Tokens near each other and near the wanted probability, and others, by small and large tables.
TEST(WindowPass, WeighAdaptive) {
  std::mt19937 random(seeded(5));
  std::normal_distribution<float> normal;
  for (const cpu::Passes *passes : usable_passes()) {
    for (int round = 0; round < 600; ++round) {
      const int64_t most = round % 2 == 0 ? 100 : round % 3 == 0 ? 9000 : 60000;
      const int64_t count = 1 + int64_t(random() % uint64_t(most));
      const float spread = round % 4 == 0 ? 0.01f : round % 4 == 1 ? 1.0f : 4.0f;
      const contract::RowScale seen = contract::logits_row_scale(0.0f, 0.8f);
      std::vector<float> relative(size_t(count) + 1, kCanary);
      contract::AdaptiveP stage = {seen, 0.0f, 0.0f, 0.0f};
      for (int64_t i = 0; i < count; ++i) {
        float x = -std::abs(normal(random)) * spread;
        if (round % 5 == 0) x = random() % 4 == 0 ? 0.0f : -spread;
        const bool is_kept = i == 0 || round % 3 != 0 || random() % 3 != 0;
        relative[size_t(i)] = is_kept ? contract::relative_probability(seen, x) : cpu::kNotKept;
        if (is_kept) stage.total += relative[size_t(i)];
      }
      stage.inverse = 1.0f / stage.total;
      stage.wanted = std::vector<float>{0.0f, 1e-4f, 0.05f, 0.4f, 1.0f}[size_t(round % 7 % 5)];
      float largest = -kInfinity;
      for (int64_t i = 0; i < count; ++i) {
        if (relative[size_t(i)] == cpu::kNotKept) continue;
        largest = std::max(largest, stage.logit_of(stage.rounded(relative[size_t(i)])));
      }
      const contract::RowScale scale = contract::logits_row_scale(largest, 1.0f);
      std::vector<uint64_t> expected(size_t(count / cpu::kWeightBlock) + 1), blocks = expected;
      uint64_t total = 0;
      for (int64_t i = 0; i < count; ++i) {
        const bool is_kept = relative[size_t(i)] != cpu::kNotKept;
        const float y = stage.logit_of(stage.rounded(relative[size_t(i)]));
        const uint64_t weight = is_kept ? contract::weight(scale, y) : 0;
        expected[size_t(i / cpu::kWeightBlock)] += weight;
        total += weight;
      }
      ASSERT_EQ(passes->weigh_adaptive(relative.data(), count, stage, largest, blocks.data()),
                total)
          << passes->name << ", " << count << ", " << round;
      EXPECT_EQ(blocks, expected);
    }
  }
}

// A probability of 0 has no logarithm, and is kept nowhere.
TEST(WindowPass, ReweighBySmoothing) {
  for_each_case([](const cpu::Passes *passes, const Row &row, int64_t, int64_t, float at_least) {
    const float least = row.kind == SAMPLER_PROBABILITIES ? std::max(at_least, 1e-45f) : at_least;
    for (const float curve : {0.0f, 1.7f, 3.0f}) {
      const auto seen = contract::row_scale(row.kind, max_of(row), 0.9f);
      expect_reweighed(passes, row, least, {true, {}, contract::smoothing(0.4f, curve, seen)});
    }
  });
}

TEST(WindowPass, ScanAllowed) {
  std::mt19937 random(seeded(2));
  for_each_case([&](const cpu::Passes *passes, const Row &row, int64_t begin, int64_t, float) {
    if (row.kind != SAMPLER_LOGITS) return;
    const std::vector<uint32_t> mask = random_mask(random, row.count());
    const int64_t num_blocks = (row.count() + cpu::kGroupBlock - 1) / cpu::kGroupBlock;
    std::vector<float> maxima(size_t(num_blocks * cpu::kVectorElements) + 1, kCanary);
    std::vector<float> expected(maxima.size() - 1, -kInfinity);
    float max = -kInfinity;
    for (int64_t i = 0; i < row.count(); ++i) {
      if (!allows(mask, i)) continue;
      float &group =
          expected[size_t(i / cpu::kGroupBlock * cpu::kVectorElements + i % cpu::kVectorElements)];
      group = std::max(group, row.values[size_t(i)]);
      max = std::max(max, group);
    }
    expected.push_back(kCanary);
    const auto scan = passes->scan_allowed(row.view(), mask.data(), maxima.data());
    EXPECT_TRUE(scan.valid);
    EXPECT_EQ(scan.max, max);
    EXPECT_EQ(maxima, expected);
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity}) {
      Row bad_row = row;
      contract::store_value(bad_row.bytes.data(), row.dtype, begin, bad);
      EXPECT_FALSE(passes->scan_allowed(bad_row.view(), mask.data(), maxima.data()).valid);
    }
  });
}

TEST(WindowPass, CopyOfWhatIsAllowed) {
  std::mt19937 random(seeded(4));
  for_each_case([&](const cpu::Passes *passes, const Row &row, int64_t, int64_t, float) {
    if (row.kind != SAMPLER_LOGITS) return;
    const std::vector<uint32_t> mask = random_mask(random, row.count());
    std::vector<float> expected = row.values, copy(row.values.size() + 1, kCanary);
    for (int64_t i = 0; i < row.count(); ++i) {
      if (!allows(mask, i)) expected[size_t(i)] = -kInfinity;
    }
    expected.push_back(kCanary);
    passes->copy_allowed(row.view(), mask.data(), copy.data());
    EXPECT_EQ(copy, expected);
  });
}

TEST(WindowPass, ListOfWhatIsAllowed) {
  std::mt19937 random(seeded(3));
  for_each_case([&](const cpu::Passes *passes, const Row &row, int64_t, int64_t, float at_least) {
    const std::vector<uint32_t> mask = random_mask(random, row.count());
    std::vector<int32_t> expected, ids(row.values.size() + cpu::kListPadding);
    std::vector<float> values(ids.size());
    for (int64_t i = 0; i < row.count(); ++i) {
      if (allows(mask, i) && row.values[size_t(i)] >= at_least) expected.push_back(int32_t(i));
    }
    const cpu::ListRange range = {at_least, INT64_MAX, mask.data()};
    const auto listed =
        passes->list(row.view(), nullptr, 0, row.count(), range, values.data(), ids.data());
    ids.resize(size_t(listed.count));
    EXPECT_EQ(ids, expected);
    for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(values[i], row.values[size_t(ids[i])]);
  });
}

TEST(WindowPass, WeighWhatIsAllowed) {
  std::mt19937 random(seeded(5));
  for_each_case([&](const cpu::Passes *passes, const Row &row, int64_t first, int64_t end, float) {
    if (row.kind != SAMPLER_LOGITS) return;
    const int64_t begin = first / cpu::kVectorElements * cpu::kVectorElements;
    const std::vector<uint32_t> mask = random_mask(random, row.count());
    const auto is_weighed = [&](int64_t i) { return i >= begin && i < end && allows(mask, i); };
    float max = -1e30f;
    for (int64_t i = 0; i < row.count(); ++i) {
      if (is_weighed(i)) max = std::max(max, row.values[size_t(i)]);
    }
    const contract::RowScale scale = contract::row_scale(SAMPLER_LOGITS, max, 0.8f);
    std::vector<uint64_t> blocks, expected;
    uint64_t total = 0;
    for (int64_t i = 0; i < row.count(); ++i) {
      if (i % cpu::kWeightBlock == 0) {
        blocks.push_back(uint64_t(i) + 1);  // is added to
        expected.push_back(blocks.back());
      }
      const uint64_t weight = is_weighed(i) ? contract::weight(scale, row.values[size_t(i)]) : 0;
      expected.back() += weight;
      total += weight;
    }
    EXPECT_EQ(passes->weigh_allowed(row.view(), scale, mask.data(), begin, end, blocks.data()),
              total);
    EXPECT_EQ(blocks, expected);
  });
}

// Before and after by the values of two rows, with those that stay as they are.
TEST(WindowPass, WeighChanges) {
  std::mt19937 random(seeded(6));
  for_each_case([&](const cpu::Passes *passes, const Row &row, int64_t, int64_t, float at_least) {
    if (row.kind != SAMPLER_LOGITS || row.dtype != SAMPLER_F32) return;
    std::vector<float> changed = row.values;
    std::shuffle(changed.begin(), changed.end(), random);
    changed[0] = row.values[0];
    const contract::RowScale scale = contract::row_scale(SAMPLER_LOGITS, max_of(row), 1.3f);
    for (const float least : {-kInfinity, at_least}) {
      std::vector<int32_t> high(row.values.size() + cpu::kListPadding), low = high;
      passes->weigh_changes(row.values.data(), changed.data(), row.count(), scale, least,
                            high.data(), low.data());
      for (size_t i = 0; i < changed.size(); ++i) {
        const auto weight = [&](float x) {
          return int64_t(x >= least ? contract::weight(scale, x) : 0);
        };
        const int64_t units = int64_t(high[i]) * (int64_t(1) << contract::kLowLimbBits);
        ASSERT_EQ(units + low[i], weight(changed[i]) - weight(row.values[i])) << i;
      }
    }
  });
}

// Every form of penalties, those that overflow too, on logits of all sizes, valid or not.
TEST(WindowPass, Penalize) {
  std::mt19937 random(seeded(7));
  for_each_case([&](const cpu::Passes *passes, const Row &row, int64_t, int64_t, float) {
    if (row.kind != SAMPLER_LOGITS || row.dtype != SAMPLER_F32) return;
    std::vector<float> values = row.values;
    for (float &value : values) {
      if (random() % 16 == 0) value *= 1e36f;
      if (random() % 64 == 0) value = random() % 2 == 0 ? kInfinity : contract::quiet_nan();
    }
    std::vector<int32_t> marks(values.size());
    for (int32_t &mark : marks) {
      mark = random() % 9 == 0 ? 1 << 25 : int32_t(random() % 5) - 1;
    }
    for (const auto form : {contract::PenaltyForm::kDivide, contract::PenaltyForm::kReciprocal,
                            contract::PenaltyForm::kCountsFirst}) {
      for (const float repetition : {0.0f, 0.7f, 1.1f, 1e-38f, 3e38f}) {
        for (const float frequency : {0.0f, 0.3f, -2.0f, 3e38f}) {
          const contract::Penalties penalties = {repetition, frequency, 0.4f, form};
          std::vector<float> penalized = values;
          penalized.push_back(kCanary);
          passes->penalize(penalized.data(), marks.data(), row.count(), penalties);
          EXPECT_EQ(penalized.back(), kCanary);
          for (size_t i = 0; i < values.size(); ++i) {
            const float expected =
                marks[i] < 0 ? values[i] : contract::penalize(values[i], 1, marks[i], penalties);
            ASSERT_EQ(contract::bits_of(penalized[i]), contract::bits_of(expected))
                << values[i] << ", mark " << marks[i] << ", repetition " << repetition
                << ", frequency " << frequency << ", form " << int(form);
          }
        }
      }
    }
  });
}

TEST(WindowPass, CopyFindsABadElement) {
  for_each_case([](const cpu::Passes *passes, const Row &good, int64_t begin, int64_t, float) {
    Row row = good;
    const float bad = row.kind == SAMPLER_LOGITS ? std::numeric_limits<float>::quiet_NaN() : -1.0f;
    contract::store_value(row.bytes.data(), row.dtype, begin, bad);
    std::vector<float> out(row.values.size()), maxima(row.values.size() + cpu::kGroupBlock);
    EXPECT_FALSE(passes->copy(row.view(), kInfinity, out.data(), maxima.data()).valid);
  });
}

}  // namespace
}  // namespace window_passes_test
