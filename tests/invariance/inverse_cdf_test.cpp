// Words at which the draw passes from one token to the next. A seed meets one of them in 2^43 draws
// or so, hence the draw itself, src/cpu/draw.cpp, rather than the C ABI.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "cpu/draw.h"

namespace sampler::cpu::inverse_cdf_test {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

class Draw {
 public:
  explicit Draw(const std::vector<float> &logits) : logits_(logits), sums_(logits.size()) {
    Row row;
    row.values = logits_.data();
    row.count = static_cast<int64_t>(logits_.size());
    row.kind = SAMPLER_LOGITS;
    Distribution distribution = {};
    distribution.scale = contract::logits_row_scale(0.0f, 1.0f);
    distribution.cut = contract::lowest_cut(row.kind);
    inverse_cdf_ = InverseCdf(row, distribution, sums_.data());
  }

  int64_t operator()(uint64_t word) const {
    int64_t index;
    inverse_cdf_.draw(&word, 1, &index);
    return index;
  }

 private:
  std::vector<float> logits_;
  std::vector<uint64_t> sums_;
  InverseCdf inverse_cdf_;
};

constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();

TEST(InverseCdf, EndsOfTheWords) {
  const Draw draw({kMasked, kMasked, 0.0f, 0.0f, kMasked});
  EXPECT_EQ(draw(0), 2);
  EXPECT_EQ(draw(kLast), 3);
}

// Both tokens weigh 2^44, so 2^19 words lead to each target.
TEST(InverseCdf, BorderBetweenTokens) {
  const Draw draw({kMasked, 0.0f, kMasked, 0.0f, kMasked});
  constexpr uint64_t kHalf = uint64_t{1} << 63;
  EXPECT_EQ(draw(kHalf - 1), 1);
  EXPECT_EQ(draw(kHalf), 3);
  EXPECT_EQ(draw(kHalf + (uint64_t{1} << 19)), 3);
}

TEST(InverseCdf, OneToken) {
  const Draw draw({kMasked, 0.0f});
  EXPECT_EQ(draw(0), 1);
  EXPECT_EQ(draw(kLast), 1);
}

}  // namespace
}  // namespace sampler::cpu::inverse_cdf_test
