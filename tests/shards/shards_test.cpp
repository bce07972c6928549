// One row over many ranks gives what the whole row gives, to the bit, on every rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "handle.h"
#include "problem.h"
#include "random_calls.h"

namespace shards_test {
namespace {

struct Shape {
  int64_t num_rows, num_cols, num_ranks;
};
constexpr Shape kShapes[] = {{15, 1, 3},   {15, 33, 1},  {15, 33, 2},    {15, 130, 3},
                             {15, 130, 8}, {15, 999, 8}, {15, 1000, 64}, {3, 700, 1024}};

class ShardsTest : public testing::TestWithParam<std::tuple<sampler_dtype, sampler_input_kind>> {
 protected:
  sampler_dtype dtype() const { return std::get<0>(GetParam()); }
  sampler_input_kind kind() const { return std::get<1>(GetParam()); }
  Ranges ranges(const Shape &shape, int which) const {
    return which % 2 ? uneven_ranges(shape.num_cols, shape.num_ranks, uint64_t(which))
                     : even_ranges(shape.num_cols, shape.num_ranks);
  }

  Handle best_, scalar_{"scalar", 3};
};

// ceil(bytes), with what the plan says of each exchange.
void expect_as_planned(const Outcome &outcome) {
  size_t bytes = 0;
  for (int64_t i = 0; i < outcome.plan.num_exchanges; ++i) bytes += outcome.plan.message_bytes[i];
  EXPECT_EQ(outcome.sent_bytes, bytes);
  EXPECT_EQ(outcome.num_exchanges, outcome.plan.num_exchanges);
}

TEST_P(ShardsTest, Samples) {
  std::mt19937_64 random(1);
  for (const Shape &shape : kShapes) {
    const int num_calls = shape.num_ranks >= 64 ? 4 : 24;
    for (int i = 0; i < num_calls; ++i) {
      const Rows rows =
          make_rows(shape.num_rows, shape.num_cols, dtype(), kind(), i % 3 == 0, random());
      const SampleCall call = random_sample(random, kind(), shape.num_cols);
      Outcome outcome;
      ASSERT_EQ(compare_sample(i % 2 ? best_ : scalar_, rows, call, ranges(shape, i), &outcome), "")
          << to_text(call) << " V " << shape.num_cols << " n " << shape.num_ranks << " call " << i;
      expect_as_planned(outcome);
    }
  }
}

TEST_P(ShardsTest, Filters) {
  std::mt19937_64 random(2);
  for (const Shape &shape : kShapes) {
    const int num_calls = shape.num_ranks >= 64 ? 2 : 12;
    for (int i = 0; i < num_calls; ++i) {
      const Rows rows =
          make_rows(shape.num_rows, shape.num_cols, dtype(), kind(), i % 3 == 0, random());
      FilterCall call;
      call.params = draw_params(random, kind(), shape.num_cols);
      call.args.output_dtype = random() % 2 ? dtype() : sampler_dtype(SAMPLER_F32);
      call.args.output_kind = kind() == SAMPLER_LOGITS ? int32_t(random() % 2) : 0;
      ASSERT_EQ(compare_filter(i % 2 ? best_ : scalar_, rows, call, ranges(shape, i)), "")
          << to_text(call.params) << " V " << shape.num_cols << " n " << shape.num_ranks;
    }
  }
}

TEST_P(ShardsTest, Selects) {
  std::mt19937_64 random(3);
  for (const Shape &shape : kShapes) {
    for (int i = 0; i < 6; ++i) {
      const Rows rows =
          make_rows(shape.num_rows, shape.num_cols, dtype(), kind(), i % 3 == 0, random());
      const int64_t wanted[] = {1, 5, shape.num_cols};
      const int64_t num_selected = std::min(wanted[i % 3], shape.num_cols);
      std::vector<int32_t> counts;
      for (int64_t row = 0; row < shape.num_rows; ++row)
        counts.push_back(int32_t(random() % 7) - 1);
      ASSERT_EQ(compare_select(i % 2 ? best_ : scalar_, rows, num_selected,
                               i % 2 ? counts.data() : nullptr, ranges(shape, i)),
                "")
          << num_selected << " of " << shape.num_cols << " n " << shape.num_ranks;
    }
  }
}

TEST_P(ShardsTest, LeaveResiduals) {
  constexpr sampler_input_kind kKind = SAMPLER_PROBABILITIES;
  std::mt19937_64 random(4 + uint64_t(kind()));
  for (const Shape &shape : kShapes) {
    for (int i = 0; i < 8; ++i) {
      const Rows p =
          make_rows(shape.num_rows, shape.num_cols, dtype(), kKind, i % 3 == 0, random());
      // Of equal rows nothing is left.
      const Rows q = i % 4 == 1 ? p
                                : make_rows(shape.num_rows, shape.num_cols, sampler_dtype(i % 3),
                                            kKind, i % 3 == 0, random());
      std::vector<int32_t> drafts;
      for (int64_t row = 0; row < shape.num_rows; ++row) {
        drafts.push_back(int32_t(random() % uint64_t(shape.num_cols + 2)) - 1);
      }
      ASSERT_EQ(
          compare_residual(i % 2 ? best_ : scalar_, p, q, i % 2 ? nullptr : drafts.data(),
                           i % 3 ? sampler_dtype(SAMPLER_F32) : dtype(), ranges(shape, i / 2)),
          "")
          << "V " << shape.num_cols << " n " << shape.num_ranks << " call " << i;
    }
  }
}

std::string name_of(
    const testing::TestParamInfo<std::tuple<sampler_dtype, sampler_input_kind>> &of) {
  const std::string types[] = {"F32", "F16", "BF16"};
  const bool logits = std::get<1>(of.param) == SAMPLER_LOGITS;
  return types[std::get<0>(of.param)] + (logits ? "Logits" : "Probabilities");
}

INSTANTIATE_TEST_SUITE_P(All, ShardsTest,
                         testing::Combine(testing::Values(SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16),
                                          testing::Values(SAMPLER_LOGITS, SAMPLER_PROBABILITIES)),
                         name_of);

}  // namespace
}  // namespace shards_test
