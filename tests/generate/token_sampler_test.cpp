#include "token_sampler.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "model_files.h"

namespace {

using generate::Draw;
using generate::TokenSampler;
using Ids = std::vector<std::int32_t>;

constexpr std::int64_t kVocabSize = 1000;

// Row 0 favours no token, row 1 only the last one.
std::vector<float> two_rows() {
  std::vector<float> logits(2 * kVocabSize);
  logits.back() = 100;
  return logits;
}

Ids sample(const std::vector<Draw> &draws) {
  return TokenSampler(static_cast<std::int64_t>(draws.size()), kVocabSize)
      .sample(two_rows(), 2, draws, {});
}

std::size_t num_different(const Ids &ids) {
  return std::set<std::int32_t>(ids.begin(), ids.end()).size();
}

// Of 64 uniform draws from 1,000 tokens about 62 differ; of draws that repeat one word, 1.
TEST(TokenSampler, EachSeedAndEachPositionDrawsAnew) {
  std::vector<Draw> positions, seeds;
  for (std::uint64_t i = 0; i < 64; ++i) {
    positions.push_back({0, 7, i});
    seeds.push_back({0, i, 7});
  }
  EXPECT_GT(num_different(sample(positions)), 50u);
  EXPECT_GT(num_different(sample(seeds)), 50u);
}

TEST(TokenSampler, ADrawDoesNotDependOnItsPlaceInTheBatch) {
  const Ids ids = sample({{0, 1, 2}, {1, 3, 4}, {0, 5, 6}, {0, 1, 2}});
  EXPECT_EQ(ids[0], sample({{0, 1, 2}})[0]);
  EXPECT_EQ(ids[1], kVocabSize - 1);
  EXPECT_EQ(ids[2], sample({{0, 5, 6}})[0]);
  EXPECT_EQ(ids[3], ids[0]);
}

TEST(TokenSampler, TheVocabularyMustFitTheLibrary) {
  const std::string message = error_of([] { TokenSampler(1, 1 << 20); });
  EXPECT_EQ(message.rfind("sampling: ", 0), 0u) << message;
}

}  // namespace
