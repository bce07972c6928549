// The benchmark's parts: its rows, its yardstick and its peer. Its numbers are nobody's promise.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "llama_peer.h"
#include "max_pass.h"
#include "measure.h"
#include "operations.h"
#include "rows.h"

namespace cpu_bench::cpu_bench_test {
namespace {

constexpr int64_t kNumCols = 4096;

std::vector<float> probabilities_of(RowKind kind, int64_t num_rows) {
  std::vector<float> rows = make_logits(kind, num_rows, kNumCols);
  to_probabilities(&rows, kNumCols);
  return rows;
}

TEST(Rows, LanguageFollowsThePowerOfTheRank) {
  std::vector<float> row = make_logits(RowKind::kLanguage, 1, kNumCols);
  EXPECT_FALSE(std::is_sorted(row.begin(), row.end(), std::greater<float>()));
  std::sort(row.begin(), row.end(), std::greater<float>());
  // Ranks moved by the noise, of deviation 0.3, still lie near their power: 0.3 at rank 1000.
  EXPECT_NEAR(row[999], -1.1 * std::log(1000.0), 0.3);
}

TEST(Rows, PeakedHasOneTokenOf95Percent) {
  const std::vector<float> rows = probabilities_of(RowKind::kPeaked, 3);
  for (int64_t r = 0; r < 3; ++r) {
    const auto row = rows.begin() + r * kNumCols;
    EXPECT_NEAR(*std::max_element(row, row + kNumCols), 0.95, 1e-5);  // f32 logits
  }
}

TEST(Rows, FlatAndEqualAndMasked) {
  const std::vector<float> flat = make_logits(RowKind::kFlat, 1, kNumCols);
  double square = 0;
  for (const float x : flat) square += double(x) * double(x);
  // The deviation of 4096 draws varies by 1.1 %.
  EXPECT_NEAR(std::sqrt(square / double(kNumCols)), 0.01, 0.0006);

  const std::vector<float> equal = make_logits(RowKind::kEqual, 2, kNumCols);
  EXPECT_EQ(std::count(equal.begin(), equal.end(), equal.front()), 2 * kNumCols);

  const std::vector<float> masked = make_logits(RowKind::kMasked, 1, kNumCols);
  const auto num_masked = std::count(masked.begin(), masked.end(), -INFINITY);
  EXPECT_NEAR(double(num_masked) / double(kNumCols), 0.9, 0.025);  // 5 deviations
}

TEST(Rows, AreTheSameEachTimeAndDifferFromEachOther) {
  const std::vector<float> rows = make_logits(RowKind::kLanguage, 9, kNumCols);
  EXPECT_EQ(rows, make_logits(RowKind::kLanguage, 9, kNumCols));
  for (int64_t r = 1; r < 9; ++r) {
    EXPECT_FALSE(std::equal(rows.begin(), rows.begin() + kNumCols, rows.begin() + r * kNumCols));
  }
}

TEST(Rows, RoundToHalfPrecisionToNearestEven) {
  const std::vector<float> values = {1.0f,       -2.5f,    0.0f,       -INFINITY, 0x1.002p0f,
                                     0x1.006p0f, 0x1p-24f, 0x1.8p-25f, 0x1.01p0f, 0x1.03p0f};
  const AlignedBytes f16 = to_dtype(values, SAMPLER_F16), bf16 = to_dtype(values, SAMPLER_BF16);
  const uint16_t expected_f16[] = {0x3C00, 0xC100, 0, 0xFC00, 0x3C00, 0x3C02, 1, 1, 0x3C04, 0x3C0C};
  const uint16_t expected_bf16[] = {0x3F80, 0xC020, 0,      0xFF80, 0x3F80,
                                    0x3F80, 0x3380, 0x3340, 0x3F80, 0x3F82};
  EXPECT_EQ(0, std::memcmp(f16.data(), expected_f16, sizeof expected_f16));
  EXPECT_EQ(0, std::memcmp(bf16.data(), expected_bf16, sizeof expected_bf16));
}

TEST(MaxPass, FindsTheMaximumWhereverItStands) {
  for (const MaxPass &pass : usable_max_passes()) {
    SCOPED_TRACE(pass.instructions);
    EXPECT_EQ(pass.of_f32(nullptr, 0), -INFINITY);
    for (const size_t count : {size_t(1), size_t(15), size_t(16), size_t(127), size_t(700)}) {
      std::vector<float> floats(count + 1, -7.5f);  // looked at from the second: not aligned
      std::vector<int16_t> integers(count + 1, -75);
      floats[0] = 9.0f, integers[0] = 90;
      for (size_t i = 1; i <= count; ++i) {
        floats[i] = -2.0f, integers[i] = -20;
        ASSERT_EQ(pass.of_f32(floats.data() + 1, count), -2.0f) << i << " of " << count;
        ASSERT_EQ(pass.of_i16(integers.data() + 1, count), -20) << i << " of " << count;
        floats[i] = -7.5f, integers[i] = -75;
      }
    }
  }
}

TEST(Measure, TakesTurnsEachBegunByAnUncountedRun) {
  std::string order;
  Limits limits;
  limits.min_repeats = kRepeatsInTurn + 1, limits.min_seconds = 0, limits.max_seconds = 1e9;
  limits.settle_seconds = 0;
  const std::vector<Series> series = measure(
      {[&](int) { order += 'a'; }, [&](int) { order += 'b'; }}, [&] { order += '.'; }, limits);
  std::string turns;
  for (const char *name : {"a", "b", "a", "b"}) {
    turns += name;
    for (int i = 0; i < kRepeatsInTurn; ++i) turns += std::string(".") + name;
  }
  EXPECT_EQ(order, turns);
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[0].repeats, 2 * kRepeatsInTurn);
  EXPECT_LE(series[0].best_us, series[0].median_us);
}

TEST(Measure, EndsSoonWhereRepeatsAreSlow) {
  std::vector<int> runs;
  Limits limits;
  limits.few_repeats = 3, limits.max_seconds = 0, limits.settle_seconds = 0;
  const std::vector<Series> series = measure(
      {[&](int run) { runs.push_back(run); }, [](int) {}}, [] {}, limits);
  EXPECT_EQ(runs, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(series[0].repeats, 3);
  EXPECT_EQ(series[1].repeats, 3);
}

TEST(Measure, LeavesOutTheRoundThatWasDisturbed) {
  const Series all = combine({{10.0, 9.0, 16}, {30.0, 8.5, 8}, {11.0, 9.5, 24}});
  EXPECT_EQ(all.median_us, 11.0);
  EXPECT_EQ(all.best_us, 8.5);
  EXPECT_EQ(all.repeats, 48);
  EXPECT_EQ(all.spread, 20.0 / 11.0);
}

// Every operation takes what the benchmark gives it, for every kind of row.
class Problems : public testing::TestWithParam<RowKind> {};

TEST_P(Problems, AreValidCalls) {
  sampler_options options = sampler_options_default();
  options.max_rows = 20000, options.max_cols = kNumCols;
  sampler_t sampler = nullptr;
  ASSERT_EQ(sampler_create(&options, &sampler), SAMPLER_OK);
  for (const Work &work : all_works()) {
    for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
      const Cell cell = {&work, GetParam(), 2, kNumCols, dtype};
      EXPECT_NO_THROW(Problem(cell).call(sampler, 1)) << cell.name();
    }
  }
  sampler_destroy(sampler);
}

INSTANTIATE_TEST_SUITE_P(Bench, Problems, testing::ValuesIn([] {
                           std::vector<RowKind> kinds;
                           for (int i = 0; i < kNumRowKinds; ++i) kinds.push_back(RowKind(i));
                           return kinds;
                         }()));

// Half of all tokens are forbidden, the first of the row among them: the call without is greedy's.
TEST(Problems, AreSampledWithoutTheirStages) {
  sampler_options options = sampler_options_default();
  options.max_rows = 2, options.max_cols = kNumCols;
  sampler_t sampler = nullptr;
  ASSERT_EQ(sampler_create(&options, &sampler), SAMPLER_OK);
  const auto work_of = [](const std::string &name) {
    const auto &works = all_works();
    return &*std::find_if(works.begin(), works.end(),
                          [&](const Work &work) { return work.name == name; });
  };
  for (const RowKind kind : {RowKind::kLanguage, RowKind::kFlat, RowKind::kEqual}) {
    Problem greedy({work_of("greedy"), kind, 2, kNumCols, SAMPLER_F32});
    Problem masked({work_of("greedy_bitmask"), kind, 2, kNumCols, SAMPLER_F32});
    greedy.call(sampler, 1);
    masked.call_without_stages(sampler, 1);
    EXPECT_EQ(masked.token_ids(), greedy.token_ids());
    masked.call(sampler, 1);
    if (kind != RowKind::kEqual) continue;
    EXPECT_NE(masked.token_ids(), greedy.token_ids());
  }
  sampler_destroy(sampler);
}

TEST(Problems, ChainRejectsTheFourthDraft) {
  sampler_options options = sampler_options_default();
  options.max_rows = 2, options.max_cols = kNumCols;
  sampler_t sampler = nullptr;
  ASSERT_EQ(sampler_create(&options, &sampler), SAMPLER_OK);
  const Cell cell = {&all_works().back(), RowKind::kLanguage, 2, kNumCols, SAMPLER_F32};
  Problem problem(cell);
  problem.call(sampler, 1);
  for (const int32_t *row : {problem.token_ids().data(), problem.token_ids().data() + 8}) {
    EXPECT_TRUE(std::all_of(row, row + 4, [](int32_t id) { return id >= 0; }));
    EXPECT_TRUE(std::all_of(row + 4, row + 8, [](int32_t id) { return id == -1; }));
  }
  EXPECT_EQ(problem.spans().size(), 4u);
  sampler_destroy(sampler);
}

// ---- llama.cpp ----------------------------------------------------------------------------------

std::string why_not(const std::string &path) {
  try {
    LlamaLibrary library(path);
  } catch (const std::exception &error) {
    return error.what();
  }
  return "";
}

TEST(Llama, SamplesByTheLibraryThatIsNamed) {
  LlamaLibrary library(FAKE_LLAMA);
  EXPECT_EQ(library.version(), "1.2.3");
  const std::vector<float> logits = {0, 1, 5, 2};
  for (const Work &work : all_works()) {
    if (!work.has_llama_chain) continue;
    LlamaChain chain(library, work, {0, 3}, 4);
    EXPECT_EQ(chain.sample(logits.data(), 4), 2) << work.name;
    EXPECT_EQ(chain.sample(logits.data(), 2), 1) << work.name;
  }
}

TEST(Llama, SaysWhyALibraryIsRefused) {
  EXPECT_NE(why_not("/nowhere/libllama.so").find("/nowhere/libllama.so"), std::string::npos);
  EXPECT_NE(why_not(FAKE_LLAMA_WITHOUT_MIN_P).find("has no llama_sampler_init_min_p"),
            std::string::npos);
  EXPECT_NE(why_not(FAKE_LLAMA_OLD_ARRAY).find("lays llama_token_data_array out otherwise"),
            std::string::npos);
  EXPECT_NE(why_not(FAKE_LLAMA_OTHER_DRY).find("has other arguments of penalties or DRY"),
            std::string::npos);
}

}  // namespace
}  // namespace cpu_bench::cpu_bench_test
