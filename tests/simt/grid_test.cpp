// The device code against the scalar reference on the contract's grid: every kind of row in every
// type and width, with the parameters at the ends of their ranges, all combinations of them in f32
// on small rows.
// operations_test.cpp draws what lies between, and bad rows.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "../seed.h"
#include "compare.h"

namespace simt_test {
namespace {

using oracle_test::RowKind;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Fixed parameters(float temperature, int64_t top_k, float top_p) {
  Fixed fixed;
  fixed.temperature = temperature;
  fixed.top_k = int32_t(top_k);
  fixed.top_p = top_p;
  return fixed;
}

constexpr float kAlmostOne = 1.0f - 0x1p-24f;

// Every combination of the ends.
std::vector<Fixed> all_parameters(int64_t num_cols) {
  std::vector<Fixed> all;
  for (const float temperature : {1.0f, 1.1e-5f, 0.0f, 1e15f, 0x1p64f}) {
    for (const int64_t top_k : {int64_t(0), int64_t(1), num_cols - 1, num_cols, num_cols + 1}) {
      for (const float top_p : {1.0f, 0.0f, 1e-7f, kAlmostOne}) {
        all.push_back(parameters(temperature, top_k, top_p));
      }
    }
  }
  return all;
}

// Each of the ends.
std::vector<Fixed> some_parameters(int64_t num_cols) {
  return {parameters(1.0f, num_cols - 1, kAlmostOne),
          parameters(1.1e-5f, num_cols, 1e-7f),
          parameters(1e15f, 0, kAlmostOne),
          parameters(0x1p64f, 0, 0.0f),
          parameters(1.0f, 1, 1.0f),
          parameters(0.0f, num_cols + 1, 1.0f)};
}

// Every third of them, from `first` % 3 on.
std::vector<Fixed> a_third(const std::vector<Fixed> &all, int first) {
  std::vector<Fixed> result;
  for (size_t i = size_t(first % 3); i < all.size(); i += 3) result.push_back(all[i]);
  return result;
}

// Every operation on a row of that width and kind.
void compare(int64_t num_cols, RowKind kind, const std::vector<sampler_dtype> &dtypes,
             const std::vector<Fixed> &parameters) {
  std::mt19937_64 random(seeded(uint64_t(num_cols) * 31 + uint64_t(kind)));
  Scale scale = {{num_cols}, 1};
  for (const sampler_dtype dtype : dtypes) {
    for (const Fixed &fixed : parameters) {
      scale.fixed = fixed;
      scale.fixed.row_kind = kind;
      scale.fixed.dtype = dtype;
      for (int request = 0; request < kNumRequests; ++request) {
        ASSERT_EQ("", difference(random, scale, request, simt::Options()));
      }
    }
  }
}

class Grid : public testing::TestWithParam<int> {
 protected:
  RowKind kind() const { return RowKind(GetParam()); }
};

TEST_P(Grid, OfSmallRows) {
  for (const int64_t num_cols : {1, 2, 31, 32, 33}) {
    compare(num_cols, kind(), {SAMPLER_F32}, all_parameters(num_cols));
    compare(num_cols, kind(), {SAMPLER_F16, SAMPLER_BF16}, some_parameters(num_cols));
  }
}

// All of the ends in f32. Types of 16 bits and the widest row take turns with them: what differs is
// how a row is read.
TEST_P(Grid, OfVocabularies) {
  for (const int64_t num_cols : {32000, 128256}) {
    compare(num_cols, kind(), {SAMPLER_F32}, some_parameters(num_cols));
    compare(num_cols, kind(), {SAMPLER_F16}, a_third(some_parameters(num_cols), GetParam()));
    compare(num_cols, kind(), {SAMPLER_BF16}, a_third(some_parameters(num_cols), GetParam() + 1));
  }
  constexpr int64_t kWidest = 262144;
  for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
    compare(kWidest, kind(), {dtype}, a_third(some_parameters(kWidest), GetParam() + dtype));
  }
}

INSTANTIATE_TEST_SUITE_P(OfKind, Grid, testing::Range(0, int(RowKind::kNumKinds)));

}  // namespace
}  // namespace simt_test
