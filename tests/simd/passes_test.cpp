// Each row pass of each instruction set beside a plain loop over the contract's functions.
//
// Values are an ulp apart, and each of them and what lies between is a bound: random rows hardly
// ever have a token exactly at one. Rows and ranges begin and end beside the ends of vectors and
// blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "../seed.h"
#include "contract/draw.h"
#include "contract/elements.h"
#include "contract/log2.h"
#include "contract/philox.h"
#include "contract/row_view.h"
#include "contract/weight.h"
#include "usable_passes.h"

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
  std::vector<float> values;  // what the elements widen to
  std::vector<uint64_t> weights;

  int64_t count() const { return int64_t(values.size()); }
  RowView view() const {
    return {bytes.data(), nullptr, int32_t(count()), dtype, SAMPLER_ID_I32, kind};
  }
  float max() const { return *std::max_element(values.begin(), values.end()); }
  cpu::Scaling scaling() const { return {contract::row_scale(kind, max(), 1.0f)}; }
};

Row make_row(sampler_dtype dtype, sampler_input_kind kind, const std::vector<float> &values) {
  Row row = {
      dtype, kind, std::vector<unsigned char>(values.size() * contract::size_of(dtype)), {}, {}};
  for (size_t i = 0; i < values.size(); ++i) {
    contract::store_value(row.bytes.data(), dtype, int64_t(i), values[i]);
    row.values.push_back(contract::load_value(row.bytes.data(), dtype, int64_t(i)));
  }
  const cpu::Scaling scaling = row.scaling();
  for (const float x : row.values) row.weights.push_back(contract::weight(scaling.row, x));
  return row;
}

// A normal value of the type, `steps` steps above x.
float neighbour(float x, int steps, sampler_dtype dtype) {
  const int step = dtype == SAMPLER_F32 ? 1 : dtype == SAMPLER_F16 ? 1 << 13 : 1 << 16;
  return contract::value_of_key(contract::value_key(x) + uint32_t(steps * step));
}

// Neighbours of x, and now and then a value that weighs nothing.
std::vector<float> neighbours(float x, int64_t count, sampler_dtype dtype,
                              sampler_input_kind kind) {
  std::mt19937 random(seeded(static_cast<uint32_t>(count)));
  std::vector<float> values;
  while (int64_t(values.size()) < count) {
    const float zero = random() % 2 == 0 ? 0.0f : -0.0f;
    const float nothing = kind == SAMPLER_LOGITS ? -kInfinity : zero;
    values.push_back(random() % 8 == 0 && !values.empty() ? nothing
                                                          : neighbour(x, int(random() % 5), dtype));
  }
  return values;
}

std::vector<Row> rows_of(sampler_input_kind kind, const std::vector<int64_t> &counts) {
  std::vector<Row> rows;
  for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
    for (const int64_t count : counts) {
      const float x = kind == SAMPLER_PROBABILITIES ? 0.125f : count % 2 == 0 ? 2.0f : -2.0f;
      rows.push_back(make_row(dtype, kind, neighbours(x, count, dtype, kind)));
    }
  }
  return rows;
}

// About the ends of vectors and group blocks.
const std::vector<int64_t> kCounts = {1, 15, 16, 17, 64, 65, 255, 256, 257, 600};
// About those of weight blocks, too.
const std::vector<int64_t> kLargeCounts = {1, 17, 65, 600, 2048, 2049, 4200};

std::vector<Row> all_rows(const std::vector<int64_t> &counts = kCounts) {
  std::vector<Row> rows = rows_of(SAMPLER_LOGITS, counts);
  for (const Row &row : rows_of(SAMPLER_PROBABILITIES, counts)) rows.push_back(row);
  return rows;
}

struct Range {
  int64_t begin, end;
};

std::vector<Range> ranges_of(const Row &row) {
  const int64_t count = row.count();
  std::vector<Range> ranges = {{0, count}, {count, count}, {count / 2, count}, {0, count / 3}};
  if (count > 17) ranges.push_back({17, count - 1});
  return ranges;
}

// What can be drawn, and the next value above each.
std::set<float> bounds_of(const Row &row) {
  const float nothing = row.kind == SAMPLER_LOGITS ? -kInfinity : 0.0f;
  std::set<float> bounds = {contract::next_value(nothing)};
  for (const float value : row.values) {
    if (value <= nothing) continue;
    bounds.insert(value);
    bounds.insert(contract::next_value(value));
  }
  return bounds;
}

std::string describe(const cpu::Passes *passes, const Row &row, Range range, float bound) {
  return std::string(passes->name) + ", type " + std::to_string(row.dtype) + ", kind " +
         std::to_string(row.kind) + ", " + std::to_string(row.count()) + " elements, [" +
         std::to_string(range.begin) + ", " + std::to_string(range.end) + "), key " +
         std::to_string(contract::value_key(bound));
}

// f(passes, row, range, bound) for all of them.
template <class F>
void for_each_case(const std::vector<Row> &rows, const F &f) {
  for (const cpu::Passes *passes : usable_passes()) {
    for (const Row &row : rows) {
      for (const Range range : ranges_of(row)) {
        for (const float bound : bounds_of(row)) {
          f(passes, row, range, bound);
          if (testing::Test::HasFailure()) {
            FAIL() << describe(passes, row, range, bound);
          }
        }
      }
    }
  }
}

std::vector<float> maxima_for(const Row &row) {
  const int64_t num_blocks = (row.count() + cpu::kGroupBlock - 1) / cpu::kGroupBlock;
  return std::vector<float>(size_t(num_blocks * cpu::kVectorElements) + cpu::kVectorElements,
                            kCanary);
}

TEST(Pass, Scan) {
  for (const cpu::Passes *passes : usable_passes()) {
    for (const Row &row : all_rows()) {
      const float nothing = row.kind == SAMPLER_LOGITS ? -kInfinity : 0.0f;
      std::vector<float> maxima = maxima_for(row);
      std::vector<float> expected(maxima.size() - cpu::kVectorElements, nothing);
      for (int64_t i = 0; i < row.count(); ++i) {
        float &max = expected[size_t(i / cpu::kGroupBlock * cpu::kVectorElements +
                                     i % cpu::kVectorElements)];
        max = std::max(max, row.values[size_t(i)]);
      }
      expected.resize(maxima.size(), kCanary);
      const cpu::RowScan scan = passes->scan(row.view(), maxima.data());
      const std::string what = describe(passes, row, {0, row.count()}, 0);
      ASSERT_TRUE(scan.valid) << what;
      ASSERT_EQ(row.max(), scan.max) << what;
      ASSERT_EQ(expected, maxima) << what;

      maxima = maxima_for(row);
      const cpu::RowScan range = passes->scan_range(row.view(), maxima.data());
      const float least = *std::min_element(row.values.begin(), row.values.end());
      ASSERT_TRUE(range.valid) << what;
      ASSERT_EQ(row.max(), range.max) << what;
      ASSERT_EQ(row.dtype == SAMPLER_F32 ? least : -std::numeric_limits<float>::infinity(),
                range.least)
          << what;
      ASSERT_EQ(expected, maxima) << what;
    }
  }
}

TEST(Pass, ScanFindsABadElement) {
  for (const cpu::Passes *passes : usable_passes()) {
    for (const Row &good : all_rows()) {
      const bool is_logits = good.kind == SAMPLER_LOGITS;
      for (const int64_t place : {int64_t(0), good.count() / 2, good.count() - 1}) {
        for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                                is_logits ? -std::numeric_limits<float>::quiet_NaN() : -1.0f}) {
          Row row = good;
          contract::store_value(row.bytes.data(), row.dtype, place, bad);
          std::vector<float> maxima = maxima_for(row);
          ASSERT_FALSE(passes->scan_range(row.view(), maxima.data()).valid);
          ASSERT_FALSE(passes->scan(row.view(), maxima.data()).valid)
              << describe(passes, row, {place, place + 1}, 0);
        }
      }
    }
  }
}

TEST(Pass, FindFirstAndNth) {
  for (const cpu::Passes *passes : usable_passes()) {
    for (const Row &row : all_rows()) {
      std::vector<float> maxima = maxima_for(row);
      passes->scan(row.view(), maxima.data());
      const auto first = std::max_element(row.values.begin(), row.values.end());
      ASSERT_EQ(first - row.values.begin(),
                passes->find_first(row.view(), maxima.data(), row.max()));
      for (const float value : bounds_of(row)) {
        int64_t n = 0;
        for (int64_t i = 0; i < row.count(); ++i) {
          if (row.values[size_t(i)] != value) continue;
          ASSERT_EQ(i, passes->find_nth(row.view(), value, ++n))
              << describe(passes, row, {0, row.count()}, value);
        }
        ASSERT_EQ(-1, passes->find_nth(row.view(), value, n + 1))
            << describe(passes, row, {0, row.count()}, value);
      }
    }
  }
}

TEST(Pass, Count) {
  for_each_case(all_rows(),
                [](const cpu::Passes *passes, const Row &row, Range range, float bound) {
                  const auto *values = row.values.data();
                  const int64_t expected = std::count_if(values + range.begin, values + range.end,
                                                         [&](float x) { return x >= bound; });
                  EXPECT_EQ(expected, passes->count(row.view(), range.begin, range.end, bound));
                });
}

TEST(Pass, CountGroups) {
  for_each_case(
      all_rows(), [](const cpu::Passes *passes, const Row &row, Range range, float bound) {
        std::vector<float> maxima = maxima_for(row);
        passes->scan(row.view(), maxima.data());
        EXPECT_EQ(passes->count(row.view(), range.begin, range.end, bound),
                  passes->count_groups(row.view(), maxima.data(), range.begin, range.end, bound));
      });
}

// Bits that are set already stay, and no word is touched but those of the range.
TEST(Pass, SetBits) {
  for_each_case(all_rows(),
                [](const cpu::Passes *passes, const Row &row, Range range, float bound) {
                  std::vector<uint32_t> words(size_t(range.end + 31) / 32 + 2, 0x10u);
                  words.back() = 0xA5A5A5A5u;
                  std::vector<uint32_t> expected = words;
                  for (int64_t i = range.begin; i < range.end; ++i) {
                    if (row.values[size_t(i)] >= bound)
                      expected[size_t(i / 32)] |= uint32_t(1) << (i % 32);
                  }
                  passes->set_bits(row.view(), range.begin, range.end, bound, words.data());
                  EXPECT_EQ(expected, words);
                });
}

// All that are wanted, and others only where they share their lowest bits with one. Ids of both
// signs.
TEST(Pass, PickIds) {
  std::mt19937 engine(seeded(7));
  constexpr uint32_t kBits = 4096;
  std::set<uint32_t> wanted, bits;
  for (int i = 0; i < 90; ++i) wanted.insert(engine() % (1 << 20));
  for (const uint32_t id : wanted) bits.insert(id % kBits);
  const std::vector<int32_t> all(wanted.begin(), wanted.end());
  for (const cpu::Passes *passes : usable_passes()) {
    std::vector<uint32_t> many(kBits / 32);
    cpu::IdBits set = {};
    set.many = many.data();
    set.num_many = kBits;
    passes->mark_ids(all.data(), int64_t(all.size()), &set);
    int64_t num_others = 0, num_picked_others = 0;
    for (int64_t count = 0; count < 300; ++count) {
      std::vector<int32_t> ids, picked(size_t(count) + 1, -7);
      for (int64_t i = 0; i < count; ++i) {
        const uint32_t like = uint32_t(all[engine() % all.size()]);
        const uint32_t choices[] = {uint32_t(engine()), like,         like,
                                    like + 1024,        like + 65536, like + 0xFFFFF000u};
        ids.push_back(int32_t(choices[engine() % 6]));
      }
      const int64_t num_picked = passes->pick_ids(ids.data(), count, set, picked.data());
      EXPECT_EQ(picked[size_t(count)], -7);
      const int32_t *next = picked.data(), *const end = next + num_picked;
      for (const int32_t id : ids) {
        const bool is_picked = next != end && *next == id;
        const bool is_wanted = wanted.count(uint32_t(id)) != 0;
        ASSERT_TRUE(is_picked || !is_wanted) << passes->name << ' ' << id;
        ASSERT_TRUE(!is_picked || bits.count(uint32_t(id) % kBits) != 0) << passes->name;
        num_others += is_wanted ? 0 : 1;
        num_picked_others += is_picked && !is_wanted ? 1 : 0;
        next += is_picked ? 1 : 0;
      }
      EXPECT_EQ(next, end) << passes->name << ' ' << count;
    }
    EXPECT_LT(num_picked_others, 0.8 * double(num_others)) << passes->name;
  }
}

TEST(Pass, CountId) {
  std::mt19937 engine(seeded(8));
  for (const cpu::Passes *passes : usable_passes()) {
    for (int64_t count = 0; count < 100; ++count) {
      std::vector<int32_t> ids;
      for (int64_t i = 0; i < count; ++i) ids.push_back(int32_t(engine() % 4) - 1);
      ids.push_back(2);  // which is not asked for
      EXPECT_EQ(passes->count_id(ids.data(), count, 2), std::count(ids.begin(), ids.end() - 1, 2));
    }
  }
}

TEST(Pass, FoldMaxima) {
  for (const cpu::Passes *passes : usable_passes()) {
    for (const int64_t num_vectors : {1, 2, 3, 4, 5, 8, 9}) {
      for (const int64_t factor : {1, 2, 4, 8}) {
        const int64_t count = num_vectors * cpu::kVectorElements;
        const int64_t num_written = (num_vectors + factor - 1) / factor * cpu::kVectorElements;
        // A vector that is larger follows.
        std::vector<float> maxima(size_t(count + cpu::kVectorElements), kInfinity);
        std::vector<float> expected(size_t(num_written), -kInfinity);
        for (int64_t i = 0; i < count; ++i) {
          maxima[size_t(i)] = float((i * 37) % 101);
          float &max = expected[size_t(i / (factor * cpu::kVectorElements) * cpu::kVectorElements +
                                       i % cpu::kVectorElements)];
          max = std::max(max, maxima[size_t(i)]);
        }
        std::vector<float> out(size_t(num_written + cpu::kVectorElements), kCanary);
        expected.resize(out.size(), kCanary);
        ASSERT_EQ(num_written, passes->fold_maxima(maxima.data(), count, factor, out.data()));
        ASSERT_EQ(expected, out) << passes->name << ' ' << num_vectors << ' ' << factor;
      }
    }
  }
}

// Further ties are left out from the first block on before which enough is listed.
void check_list(const cpu::Passes *passes, const RowView &source, const float *maxima, Range range,
                const cpu::ListRange &wanted) {
  std::vector<float> values, expected_values;
  std::vector<int32_t> ids, expected_ids;
  int64_t end_of_ties = range.end;
  for (int64_t i = range.begin; i < range.end; ++i) {
    const bool begins_block = i == range.begin || i % cpu::kGroupBlock == 0;
    if (begins_block && end_of_ties == range.end && int64_t(expected_ids.size()) >= wanted.enough) {
      end_of_ties = i;
    }
    const float x = source.value(i);
    if (end_of_ties < range.end ? x > wanted.at_least : x >= wanted.at_least) {
      expected_values.push_back(x);
      expected_ids.push_back(int32_t(source.id(i)));
    }
  }
  const size_t room = size_t(range.end - range.begin + cpu::kListPadding);
  values.resize(room);
  ids.resize(room);
  const cpu::Listed listed =
      passes->list(source, maxima, range.begin, range.end, wanted, values.data(), ids.data());
  values.resize(size_t(listed.count));
  ids.resize(size_t(listed.count));
  EXPECT_EQ(expected_values, values);
  EXPECT_EQ(expected_ids, ids);
  EXPECT_EQ(end_of_ties, listed.end_of_ties);
}

TEST(Pass, List) {
  for_each_case(
      all_rows(), [](const cpu::Passes *passes, const Row &row, Range range, float bound) {
        std::vector<float> maxima = maxima_for(row);
        passes->scan(row.view(), maxima.data());
        const int64_t num_listed = passes->count(row.view(), range.begin, range.end, bound);
        for (const int64_t enough : {int64_t(1), num_listed}) {
          check_list(passes, row.view(), maxima.data(), range, {bound, enough});
          check_list(passes, row.view(), nullptr, range, {bound, enough});
        }
        // Enough exactly where the second block begins.
        if (range.begin != 0 || range.end <= cpu::kGroupBlock) return;
        const int64_t in_first = passes->count(row.view(), 0, cpu::kGroupBlock, bound);
        check_list(passes, row.view(), maxima.data(), range, {bound, in_first});
        check_list(passes, row.view(), maxima.data(), range, {bound, in_first + 1});
      });
}

TEST(Pass, ListOfAList) {
  std::vector<Row> rows;
  for (const Row &row : rows_of(SAMPLER_LOGITS, kCounts)) {
    if (row.dtype == SAMPLER_F32) rows.push_back(row);
  }
  for_each_case(rows, [](const cpu::Passes *passes, const Row &row, Range range, float bound) {
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < row.count(); ++i) ids.push_back(int32_t(3 * i + 1));
    check_list(passes, contract::f32_view(row.values.data(), row.count(), ids.data()), nullptr,
               range, {bound, row.count() + 1});
  });
}

TEST(Pass, Pack) {
  for (const cpu::Passes *passes : usable_passes()) {
    for (const Row &row : all_rows()) {
      const std::set<float> bounds = bounds_of(row);
      for (const float least : bounds) {
        for (const float most : bounds) {
          std::vector<float> expected;
          for (const float x : row.values) {
            if (x >= least && x <= most) expected.push_back(x);
          }
          std::vector<float> packed(row.values.size() + cpu::kListPadding);
          packed.resize(size_t(passes->pack(row.view(), least, most, packed.data())));
          ASSERT_EQ(expected, packed) << describe(passes, row, {0, row.count()}, least);
        }
      }
    }
  }
}

TEST(Pass, PackBeyond) {
  for (const cpu::Passes *passes : usable_passes()) {
    for (const Row &row : all_rows()) {
      const std::set<float> bounds = bounds_of(row);
      for (const float low : bounds) {
        for (const float high : bounds) {
          const float least = *bounds.begin();
          std::vector<float> expected;
          for (const float x : row.values) {
            if (x >= least && (x < low || x > high)) expected.push_back(x);
          }
          std::vector<float> packed(row.values.size() + cpu::kListPadding);
          packed.resize(size_t(passes->pack_beyond(row.view(), least, low, high, packed.data())));
          ASSERT_EQ(expected, packed) << describe(passes, row, {0, row.count()}, low);
        }
      }
    }
  }
}

// A row of all values from 0 up, each of which is its place. Whole vectors alone are taken, the one
// at the row's end too.
TEST(Pass, SampleTakesAnyVectorOfEachStep) {
  constexpr int64_t kStep = cpu::kSampleStep * cpu::kVectorElements;
  for (const cpu::Passes *passes : usable_passes()) {
    for (const int64_t rest : {0, 3}) {
      std::vector<float> values(size_t(2 * kStep + 5 * cpu::kVectorElements + rest));
      for (size_t i = 0; i < values.size(); ++i) values[i] = float(i);
      const Row row = make_row(SAMPLER_F32, SAMPLER_LOGITS, values);
      const float bound = float(kStep + 7 * cpu::kVectorElements + 5);  // within a vector
      std::set<int64_t> seen;
      for (uint64_t key = 0; key < 2000; ++key) {
        std::vector<float> sample(values.size() + cpu::kListPadding);
        const int64_t count = passes->sample(row.view(), bound, key, sample.data());
        for (int64_t i = 0; i < count;) {
          const auto first = int64_t(sample[size_t(i)]);
          const int64_t vector = first / cpu::kVectorElements;
          seen.insert(vector);
          const auto least = std::max(int64_t(bound), vector * cpu::kVectorElements);
          ASSERT_EQ(least, first);
          const int64_t end = (vector + 1) * cpu::kVectorElements;
          for (int64_t j = least; j < end; ++j, ++i) ASSERT_EQ(float(j), sample[size_t(i)]);
        }
        ASSERT_LE(count, 2 * cpu::kVectorElements);
      }
      const int64_t num_vectors = row.count() / cpu::kVectorElements;
      const int64_t first = int64_t(bound) / cpu::kVectorElements;
      EXPECT_EQ(size_t(num_vectors - first), seen.size()) << passes->name;
    }
  }
}

uint64_t weight_of_range(const Row &row, Range range, float bound) {
  uint64_t weight = 0;
  for (int64_t i = range.begin; i < range.end; ++i) {
    if (row.values[size_t(i)] >= bound) weight += row.weights[size_t(i)];
  }
  return weight;
}

TEST(Pass, Weigh) {
  for_each_case(all_rows(kLargeCounts), [](const cpu::Passes *passes, const Row &row, Range range,
                                           float bound) {
    const uint64_t expected = weight_of_range(row, range, bound);
    EXPECT_EQ(expected,
              passes->weigh(row.view(), row.scaling(), range.begin, range.end, bound, nullptr));
    std::vector<uint64_t> blocks, expected_blocks;
    for (int64_t i = 0; i < row.count(); i += cpu::kWeightBlock) {
      const Range part = {std::max(i, range.begin), std::min(i + cpu::kWeightBlock, range.end)};
      blocks.push_back(uint64_t(i) + 1);  // is added to
      expected_blocks.push_back(blocks.back() + weight_of_range(row, part, bound));
    }
    EXPECT_EQ(expected, passes->weigh(row.view(), row.scaling(), range.begin, range.end, bound,
                                      blocks.data()));
    EXPECT_EQ(expected_blocks, blocks);
  });
}

// Larger elements than the one that weights are relative to are passed over.
TEST(Pass, WeighBetween) {
  for_each_case(all_rows(kLargeCounts), [](const cpu::Passes *passes, const Row &row, Range range,
                                           float bound) {
    for (const float most : bounds_of(row)) {
      if (!(std::abs(most) <= 3e38f) || (row.kind == SAMPLER_PROBABILITIES && most <= 0)) continue;
      const cpu::Scaling scaling = {contract::row_scale(row.kind, most, 1.0f)};
      uint64_t expected = 0;
      for (int64_t i = range.begin; i < range.end; ++i) {
        const float x = row.values[size_t(i)];
        if (x >= bound && x <= most) expected += contract::weight(scaling.row, x);
      }
      std::vector<uint64_t> blocks(size_t(row.count() / cpu::kWeightBlock + 1));
      EXPECT_EQ(expected, passes->weigh_between(row.view(), scaling, range.begin, range.end, bound,
                                                most, blocks.data()));
      EXPECT_EQ(expected, std::accumulate(blocks.begin(), blocks.end(), uint64_t(0)));
      EXPECT_EQ(expected, passes->weigh_between(row.view(), scaling, range.begin, range.end, bound,
                                                most, nullptr));
    }
  });
}

TEST(Pass, WeighSplit) {
  for_each_case(all_rows(kLargeCounts),
                [](const cpu::Passes *passes, const Row &row, Range range, float bound) {
                  for (const float heavy : bounds_of(row)) {
                    const cpu::SplitWeight weight = passes->weigh_split(
                        row.view(), row.scaling(), range.begin, range.end, bound, heavy);
                    EXPECT_EQ(weight_of_range(row, range, bound), weight.total);
                    EXPECT_EQ(weight_of_range(row, range, std::max(bound, heavy)), weight.heavy);
                  }
                });
}

// Rows as in other tests, and values of all sizes, down to those whose weight is 0.
TEST(Pass, SumEntropy) {
  std::vector<Row> rows = all_rows(kLargeCounts);
  std::mt19937 random(seeded(7));
  for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
    std::vector<float> logits, probabilities;
    for (int i = 0; i < 700; ++i) {
      const float unit = float(random() % 65536) / 65536;
      logits.push_back(i % 13 == 5 ? -kInfinity : unit * -110);
      const int exponent = dtype == SAMPLER_F16 ? int(random() % 24) : int(random() % 149);
      probabilities.push_back(i % 13 == 5 ? 0.0f : std::ldexp(1 + unit, -exponent));
    }
    rows.push_back(make_row(dtype, SAMPLER_LOGITS, logits));
    rows.push_back(make_row(dtype, SAMPLER_PROBABILITIES, probabilities));
  }
  for (const cpu::Passes *passes : usable_passes()) {
    for (const Row &row : rows) {
      const std::set<float> all = bounds_of(row);
      const float bounds[] = {-kInfinity, *all.begin(),
                              *std::next(all.begin(), int(all.size() / 2)), *all.rbegin()};
      for (const Range range : ranges_of(row)) {
        for (const float bound : bounds) {
          contract::EntropySums expected;
          for (int64_t i = range.begin; i < range.end; ++i) {
            const float x = row.values[size_t(i)];
            if (x >= bound) expected.add(contract::entropy_sums(row.scaling().row, x));
          }
          const contract::EntropySums sums =
              passes->sum_entropy(row.view(), row.scaling().row, range.begin, range.end, bound);
          ASSERT_EQ(expected.weight, sums.weight) << describe(passes, row, range, bound);
          ASSERT_EQ(expected.surprise, sums.surprise) << describe(passes, row, range, bound);
        }
      }
    }
  }
}

TEST(Pass, SumWeights) {
  for_each_case(all_rows(),
                [](const cpu::Passes *passes, const Row &row, Range range, float bound) {
                  constexpr uint64_t kBefore = 12345, kNothing = 0xC5;
                  std::vector<uint64_t> sums(row.values.size(), kNothing), expected = sums;
                  uint64_t sum = kBefore;
                  for (int64_t i = range.begin; i < range.end; ++i) {
                    sum += weight_of_range(row, {i, i + 1}, bound);
                    expected[size_t(i)] = sum;
                  }
                  EXPECT_EQ(sum, passes->sum_weights(row.view(), row.scaling(), range.begin,
                                                     range.end, bound, kBefore, sums.data()));
                  EXPECT_EQ(expected, sums);
                });
}

// A row of an output type with what lies in it before.
std::vector<unsigned char> output_for(const Row &row, sampler_dtype dtype) {
  return std::vector<unsigned char>(row.values.size() * contract::size_of(dtype), 0xC5);
}

constexpr sampler_dtype kTypes[] = {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16};

void check_write_probabilities(const cpu::Passes *passes, const Row &row,
                               const cpu::Scaling &scaling, Range range, float bound) {
  constexpr float kNormalizer = 0.7f;
  for (const sampler_dtype dtype : kTypes) {
    std::vector<unsigned char> out = output_for(row, dtype), expected = out;
    for (int64_t i = range.begin; i < range.end; ++i) {
      const float x = row.values[size_t(i)];
      const float relative = x >= bound ? contract::relative_probability(scaling.row, x) : 0.0f;
      contract::store_value(expected.data(), dtype, i, relative * kNormalizer);
    }
    passes->write_probabilities(row.view(), scaling, kNormalizer, range.begin, range.end, bound,
                                out.data(), dtype);
    EXPECT_EQ(expected, out);
  }
}

TEST(Pass, WriteProbabilities) {
  for_each_case(all_rows(),
                [](const cpu::Passes *passes, const Row &row, Range range, float bound) {
                  check_write_probabilities(passes, row, row.scaling(), range, bound);
                });
}

TEST(Pass, WeighAndWrite) {
  for_each_case(all_rows(kLargeCounts), [](const cpu::Passes *passes, const Row &row, Range range,
                                           float bound) {
    const cpu::Scaling scaling = row.scaling();
    constexpr float kBefore = 12.5f;
    std::vector<float> out(row.values.size(), kBefore), expected = out;
    for (int64_t i = range.begin; i < range.end; ++i) {
      const float x = row.values[size_t(i)];
      expected[size_t(i)] = x >= bound ? contract::relative_probability(scaling.row, x) : 0.0f;
    }
    const size_t num_blocks = row.values.size() / size_t(cpu::kWeightBlock) + 1;
    std::vector<uint64_t> blocks(num_blocks, 7), expected_blocks = blocks;
    const uint64_t weight =
        passes->weigh(row.view(), scaling, range.begin, range.end, bound, expected_blocks.data());
    EXPECT_EQ(weight, passes->weigh_and_write(row.view(), scaling, range.begin, range.end, bound,
                                              blocks.data(), out.data()));
    EXPECT_EQ(expected_blocks, blocks);
    EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)), 0)
        << describe(passes, row, range, bound);
  });
}

TEST(Pass, Multiply) {
  for (const cpu::Passes *passes : usable_passes()) {
    for (const int64_t count : {0, 1, 15, 16, 17, 64, 333}) {
      std::vector<float> values, expected;
      for (int64_t i = 0; i < count + 3; ++i) {
        values.push_back(float(i) * 0.37f);
        expected.push_back(i < count ? values.back() * 0.7f : values.back());
      }
      passes->multiply(values.data(), count, 0.7f);
      EXPECT_EQ(expected, values) << passes->name << " " << count;
    }
  }
}

// At this temperature the logarithm of a probability is the logit, less the largest.
TEST(Pass, WriteProbabilitiesAtTheLowestLogarithm) {
  std::vector<float> values = {0};
  for (int i = 0; i < 200; ++i) {
    values.push_back(neighbour(contract::kLowestLog2 + 1, i % 7 - 3, SAMPLER_F32));
  }
  const Row row = make_row(SAMPLER_F32, SAMPLER_LOGITS, values);
  const cpu::Scaling scaling = {contract::row_scale(SAMPLER_LOGITS, 0, contract::kLog2E)};
  ASSERT_EQ(contract::kLowestLog2,
            contract::log2_ratio_minus_1(contract::kLowestLog2 + 1, 0, scaling.row.scale));
  for (const cpu::Passes *passes : usable_passes()) {
    check_write_probabilities(passes, row, scaling, {0, row.count()}, -1000);
  }
}

TEST(Pass, WriteValues) {
  for_each_case(
      all_rows(), [](const cpu::Passes *passes, const Row &row, Range range, float bound) {
        for (const sampler_dtype dtype : kTypes) {
          std::vector<unsigned char> out = output_for(row, dtype), expected = out;
          for (int64_t i = range.begin; i < range.end; ++i) {
            const float x = row.values[size_t(i)];
            contract::store_value(expected.data(), dtype, i, x >= bound ? x : -kInfinity);
          }
          passes->write_values(row.view(), range.begin, range.end, bound, out.data(), dtype);
          EXPECT_EQ(expected, out);
        }
      });
}

TEST(Pass, Subtract) {
  for_each_case(all_rows(), [](const cpu::Passes *passes, const Row &row, Range range,
                               float bound) {
    for (const bool as_given : {false, true}) {
      if (as_given && row.kind == SAMPLER_LOGITS) continue;
      cpu::Scaling scaling = row.scaling();
      scaling.as_given = as_given;
      const float normalizer = as_given ? 1.0f : 0.7f;
      std::vector<float> expected, residual;
      for (int64_t i = 0; i < row.count(); ++i) {
        const float x = row.values[size_t(i)];
        const float relative = as_given ? x : contract::relative_probability(scaling.row, x);
        const float q = relative * normalizer;
        // As much, a little more or less, or something else.
        residual.push_back(i % 5 == 4 ? 0.5f : neighbour(q, int(i % 5) - 2, SAMPLER_F32));
        const bool in_range = i >= range.begin && i < range.end;
        expected.push_back(
            in_range ? contract::residual_probability(residual.back(), x >= bound ? q : 0.0f)
                     : residual.back());
      }
      std::vector<float> out = residual, maxima = maxima_for(row), expected_maxima = maxima;
      const bool has_maxima = range.begin % cpu::kGroupBlock == 0;
      float largest = 0.0f;
      for (int64_t i = range.begin; i < range.end; ++i) {
        largest = std::max(largest, expected[size_t(i)]);
        if (!has_maxima) continue;
        float *const groups = &expected_maxima[size_t(i / cpu::kGroupBlock * cpu::kVectorElements)];
        if (i % cpu::kGroupBlock == 0) std::fill_n(groups, cpu::kVectorElements, 0.0f);
        float &max = groups[i % cpu::kVectorElements];
        max = std::max(max, expected[size_t(i)]);
      }
      EXPECT_EQ(largest, passes->subtract(row.view(), scaling, normalizer, range.begin, range.end,
                                          bound, residual.data(), out.data(),
                                          has_maxima ? maxima.data() : nullptr));
      EXPECT_EQ(expected, out);
      EXPECT_EQ(expected_maxima, maxima);
      passes->subtract(row.view(), scaling, normalizer, range.begin, range.end, bound,
                       residual.data(), residual.data(), nullptr);
      EXPECT_EQ(0, std::memcmp(expected.data(), residual.data(), residual.size() * sizeof(float)));
    }
  });
}

TEST(Pass, SampleWords) {
  for (const cpu::Passes *passes : usable_passes()) {
    for (const int64_t count : {1, 15, 16, 17, 33}) {
      std::vector<contract::RandomStream> streams;
      std::vector<uint64_t> expected, words(size_t(count) + 1, 77);
      for (int64_t i = 0; i < count; ++i) {
        streams.push_back({uint64_t(i) << 33 | 5, uint64_t(i) << 31 | 9, uint32_t(i * i)});
        expected.push_back(contract::random_word64(streams.back(), contract::Purpose::kSample, 0));
      }
      expected.push_back(77);
      passes->sample_words(streams.data(), count, words.data());
      ASSERT_EQ(expected, words) << passes->name;
    }
  }
}

// The first element with the largest score. A large scale leaves nothing of the noise: equal values
// have equal scores.
void check_gumbel(const cpu::Passes *passes, const Row &row, const RowView &source, float scale,
                  Range range, float bound, bool is_watermark = false) {
  const contract::GumbelStream random = {{7, uint64_t(row.count()), 3}, is_watermark};
  const contract::RowScale row_scale = {row.kind, row.max(), scale, 0};
  cpu::GumbelBest best = {-kInfinity, -1};
  for (int64_t i = range.begin; i < range.end; ++i) {
    const float x = source.value(i);
    if (!(x >= bound)) continue;
    const auto id = uint32_t(source.id(i));
    const contract::Philox4 block = contract::gumbel_block(random, id / 4);
    const float score = contract::gumbel_score(row.kind, x, scale, block.word[id % 4]);
    if (best.index < 0 || score > best.score) best = {score, i};
  }
  const cpu::GumbelBest found =
      passes->gumbel(source, row_scale, random, range.begin, range.end, bound);
  EXPECT_EQ(best.index, found.index) << "scale " << scale;
  if (best.index >= 0) {
    EXPECT_EQ(best.score, found.score) << "scale " << scale;
  }
}

TEST(Pass, Gumbel) {
  for_each_case(all_rows(), [](const cpu::Passes *passes, const Row &row, Range range,
                               float bound) {
    check_gumbel(passes, row, row.view(), 1, range, bound);
    // A list, whose ids are read a vector at a time.
    std::vector<int32_t> ids(row.values.size() + cpu::kListPadding);
    for (size_t i = 0; i < row.values.size(); ++i) ids[i] = int32_t(3 * i + 1);
    const RowView list = contract::f32_view(row.values.data(), row.count(), ids.data(), row.kind);
    check_gumbel(passes, row, list, 1, range, bound);
    check_gumbel(passes, row, row.view(), 1, range, bound, true);
    check_gumbel(passes, row, list, 1, range, bound, true);
    if (row.kind == SAMPLER_LOGITS) {
      check_gumbel(passes, row, row.view(), 1e30f, range, bound);
      check_gumbel(passes, row, list, 1e30f, range, bound);
    }
  });
}

}  // namespace
