// Gumbel draws on rows made so that two tokens score the same, to the bit, and all others less: the
// one with the lower id is drawn, wherever they stand in what a lane takes at once.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "contract/draw.h"
#include "contract/log2.h"
#include "contract/philox.h"
#include "contract/weight.h"
#include "gumbel_request.h"
#include "launch/plan.h"
#include "machine/kernel.cuh"
#include "simt.h"

namespace {

namespace kernels = sampler::kernels;
using namespace sampler::contract;

constexpr int kThreads = 64;
constexpr float kFarBelow = -1000.0f;

uint32_t word_of(const RandomStream &random, uint32_t id) {
  return random_block(random, Purpose::kGumbel, id / 4).word[id % 4];
}

// A logit with which a token of this word has that score; NaN: there is none nearby.
float logit_with(float score, float scale, uint32_t word) {
  float x = (score - gumbel_noise(word)) / scale;
  for (int i = 0; i < 32; ++i) x = std::nextafter(x, -INFINITY);
  for (int i = 0; i < 64; ++i, x = std::nextafter(x, INFINITY)) {
    if (gumbel_score(SAMPLER_LOGITS, x, scale, word) == score) return x;
  }
  return NAN;
}

int32_t draw(const std::vector<float> &row, uint64_t seed, int team_size) {
  std::vector<int32_t> tokens = {-2};
  const SampleRequest request = simt_test::gumbel_request(row, seed, &tokens);
  kernels::Plan plan;
  plan.team_size = team_size;
  plan.row_cache_bytes = kernels::ring_bytes(kThreads);
  simt::launch<kThreads>(
      1, team_size, plan.shared_bytes(), seed,
      [&](auto &ctx) { kernels::run_operation(ctx, request, plan); }, simt::Options());
  return tokens[0];
}

TEST(GumbelTies, GoToTheLowerId) {
  std::mt19937_64 random(12);
  const float scale = logit_scale(1.0f);
  int num_ties = 0;
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    const int64_t num_cols = seed % 3 == 0 ? 4 : 1100;
    // Neighbours, or half a run apart: a lane has both at once.
    const uint32_t first = num_cols == 4 ? 0 : uint32_t(random() % 32 * 4);
    uint32_t ids[2];
    for (uint32_t &id : ids) {
      id = first + uint32_t(random() % 4) + (num_cols > 4 && random() % 2 != 0 ? 128 : 0);
    }
    if (ids[0] == ids[1]) continue;
    const RandomStream stream = {seed, 0, 0};
    std::vector<float> row(static_cast<size_t>(num_cols), kFarBelow);
    row[ids[0]] = 0.0f;
    const float score = gumbel_score(SAMPLER_LOGITS, 0.0f, scale, word_of(stream, ids[0]));
    row[ids[1]] = logit_with(score, scale, word_of(stream, ids[1]));
    if (std::isnan(row[ids[1]])) continue;
    ++num_ties;
    const auto expected = int32_t(std::min(ids[0], ids[1]));
    ASSERT_EQ(expected, draw(row, seed, 1 + int(seed % 2)))
        << "seed " << seed << ": " << ids[0] << " and " << ids[1] << " of " << num_cols;
  }
  EXPECT_GT(num_ties, 200);
}

}  // namespace
