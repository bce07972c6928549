// Ranges of values as top-p's device code knows them. The bins of its histograms: each value of a
// range has one, which never falls as the value rises, and what is below the range has one of those
// kept for it or the range's first. The reach of a range: all of it, and little else.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "contract/float_bits.h"
#include "contract/rank.h"
#include "row/distribution.cuh"
#include "row/selection.cuh"

namespace {

using namespace sampler::kernels;
using sampler::contract::float_of;
using sampler::contract::value_key;
using sampler::contract::value_of_key;

struct Lane {
  int number;
  int lane() const { return number; }
  static float larger(float a, float b) { return a > b ? a : b; }
};

int bin_of(const WeightBins &bins, float x, int lane = 0) {
  float run[kRun];
  std::fill(run, run + kRun, x);
  uint32_t places[kRun];
  Lane context = {lane};
  if (bins.divides_values()) {
    bins.find_by_value(context, run, places);
  } else {
    bins.find_by_key(context, run, places);
  }
  return WeightBins::bin_at(places[kRun - 1]);
}

// Values from the lowest to the highest of a range: its ends, what is next to them, and others.
std::vector<float> values_between(float low, float high) {
  const uint32_t first = value_key(low), last = value_key(high);
  std::vector<float> values;
  constexpr uint64_t kSteps = 5000;
  for (uint64_t i = 0; i <= kSteps; ++i) {
    values.push_back(value_of_key(uint32_t(first + (last - first) * i / kSteps)));
  }
  for (uint32_t i = 0; i <= std::min(last - first, uint32_t(100)); ++i) {
    values.push_back(value_of_key(first + i));
    values.push_back(value_of_key(last - i));
  }
  std::sort(values.begin(), values.end());
  return values;
}

constexpr float kMax = std::numeric_limits<float>::max();
const float kBounds[] = {-kMax,      -0x1.8p66f, -1e6f,     -20.0f,    -1.0f,
                         -0x1p-149f, 0.0f,       0x1p-149f, 0x1p-100f, 1.0f,
                         1.0000001f, 20.0f,      1e6f,      0x1.8p66f, kMax};

TEST(WeightBins, HoldEveryValueInOrder) {
  for (const float low : kBounds) {
    for (const float high : kBounds) {
      if (!(low < high)) continue;
      for (const bool is_logits : {true, false}) {
        const KeyRange range = {uint64_t(value_key(low)) << 32,
                                uint64_t(value_key(high)) << 32 | ~uint32_t(0), 0, 0, 0};
        const WeightBins bins = WeightBins::of(range, 0, is_logits);
        int last = WeightBins::kOwn;
        for (const float x : values_between(low, high)) {
          const int bin = bin_of(bins, x);
          ASSERT_GE(bin, last) << low << " to " << high << " at " << x;
          ASSERT_LT(bin, kBins) << low << " to " << high << " at " << x;
          ASSERT_EQ(bin, bins.bin_of(x)) << low << " to " << high << " at " << x;
          last = bin;
        }
      }
    }
  }
}

TEST(WeightBins, KeepSomeForWhatIsLighter) {
  for (const float low : kBounds) {
    for (const float high : kBounds) {
      if (!(low < high)) continue;
      const KeyRange range = {uint64_t(value_key(low)) << 32, uint64_t(value_key(high)) << 32, 0, 0,
                              0};
      const WeightBins bins = WeightBins::of(range, 0, true);
      for (int lane = 0; lane < 32; ++lane) {
        for (const float x : {sampler::contract::negative_infinity(), low - kMax / 2, low - 1,
                              value_of_key(value_key(low) - 1)}) {
          if (!(x < low)) continue;
          const int bin = bin_of(bins, x, lane);
          ASSERT_GE(bin, 0) << low << " to " << high << " at " << x;
          ASSERT_LE(bin, WeightBins::kOwn) << low << " to " << high << " at " << x;
        }
      }
    }
  }
}

// Lanes whose tokens are all far too light do not wait for each other.
TEST(WeightBins, AreApartForLanesOfFarLighterTokens) {
  for (const bool is_logits : {true, false}) {
    const KeyRange range = {uint64_t(value_key(1.0f)) << 32, uint64_t(value_key(20.0f)) << 32, 0, 0,
                            0};
    const WeightBins bins = WeightBins::of(range, 0, is_logits);
    std::vector<int> number(WeightBins::kOwn);
    for (int lane = 0; lane < 32; ++lane) ++number[size_t(bin_of(bins, -100.0f, lane))];
    EXPECT_EQ(number, std::vector<int>(WeightBins::kOwn, 1));
  }
}

bool is_within(const Reach &reach, float x) {
  return !(std::fabs(x - reach.middle) > reach.radius);
}

TEST(Reach, HasAllThatLiesBetween) {
  for (const float low : kBounds) {
    for (const float high : kBounds) {
      if (!(low <= high)) continue;
      const Reach reach = Reach::of(low, high);
      for (const float x : values_between(low, high)) {
        ASSERT_TRUE(is_within(reach, x)) << low << " to " << high << " at " << x;
      }
    }
  }
}

// What lies as far from the range as that is wide. Some of f32's steps are as wide as the range.
TEST(Reach, HasNothingFarAway) {
  for (const float low : kBounds) {
    for (const float high : kBounds) {
      if (!(low < high)) continue;
      const float width = high - low;
      if (std::isinf(width)) continue;
      const Reach reach = Reach::of(low, high);
      for (const float x : {low - width, high + width}) {
        if (std::isinf(x) || low - x < width || x - high < width) continue;
        EXPECT_FALSE(is_within(reach, x)) << low << " to " << high << " at " << x;
      }
    }
  }
}

}  // namespace
