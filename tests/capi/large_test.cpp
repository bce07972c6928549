// Many draws from one row: its preparation is shared, or this would take an hour.
#include <algorithm>
#include <chrono>
#include <vector>

#include "expect.h"

namespace capi_test::large_test {
namespace {

constexpr std::int64_t kNumDraws = 5'000'000;
constexpr std::int64_t kNumCols = 128'256;

struct Draws {
  std::vector<std::int32_t> row_indices = std::vector<std::int32_t>(kNumDraws, 0);
  std::vector<std::int32_t> tokens = std::vector<std::int32_t>(kNumDraws, -7);
  std::vector<float> logits = std::vector<float>(kNumCols);
  sampler_params params = sampler_params_default();
  sampler_sample_args args = sized<sampler_sample_args>();

  Draws(const Draws &) = delete;
  Draws &operator=(const Draws &) = delete;
  Draws() {
    Random random(3);
    for (float &logit : logits) logit = float(random.between(-4000, 4000)) / 512;
    args.input.values = logits.data();
    args.input.num_rows = 1;
    args.input.num_cols = kNumCols;
    params.top_p = 0.98f;
    args.params = &params;
    args.row_indices = row_indices.data();
    args.out_token_ids = tokens.data();
    args.random.seed = 17;
  }

  void run(std::int64_t num_rows) {
    sampler_options options = sampler_options_default();
    options.max_rows = num_rows;
    options.max_cols = kNumCols;
    const Sampler sampler = make_sampler(options);
    args.num_row_indices = num_rows;
    ASSERT_EQ(sampler_sample(sampler.get(), &args), SAMPLER_OK) << sampler_last_error();
  }
};

TEST(FiveMillionDraws, TakeSeconds) {
  Draws all, first;
  const auto start = std::chrono::steady_clock::now();
  all.run(kNumDraws);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  // About one second on a machine of 2020; not shared, the preparation alone would take hours.
  EXPECT_LT(elapsed.count(), 60);
  RecordProperty("seconds", std::to_string(elapsed.count()));

  // Each is the draw that a smaller call makes, and all but a few tokens of the nucleus turn up.
  first.run(1000);
  std::vector<std::int32_t> counts(kNumCols);
  for (std::int64_t i = 0; i < kNumDraws; ++i) {
    const std::int32_t token = all.tokens[std::size_t(i)];
    ASSERT_GE(token, 0);
    ASSERT_LT(token, kNumCols);
    ++counts[std::size_t(token)];
    if (i < 1000) {
      EXPECT_EQ(token, first.tokens[std::size_t(i)]);
    }
  }
  const auto num_drawn = kNumCols - std::count(counts.begin(), counts.end(), 0);
  EXPECT_GT(num_drawn, 10000);
}

}  // namespace
}  // namespace capi_test::large_test
