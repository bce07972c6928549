// Residuals, where they are known without arithmetic.
#include <climits>
#include <cmath>
#include <limits>

#include "expect.h"

namespace capi_test::residual_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A row of four tokens: multiples of a power of two whose residuals sum to one, so that every
// result is exact in every type.
using Row = std::vector<float>;
const Row kP = {0.5f, 0.25f, 0.25f, 0.0f};
const Row kZeros = {0.0f, 0.0f, 0.0f, 0.0f};

Spec residual_spec(sampler_dtype dtype, bool draft, std::int64_t num_rows = 1) {
  Spec spec;
  spec.operation = Op::kResidual;
  spec.dtype = spec.draft_dtype = spec.output_dtype = dtype;
  spec.num_rows = num_rows;
  spec.num_cols = 4;
  spec.draft = draft;
  return spec;
}

void set_row(Call *call, const std::string &member, std::int64_t row, const Row &values) {
  for (std::int64_t i = 0; i < 4; ++i) call->set_value(member, row, i, values[std::size_t(i)]);
}

class Residual : public testing::TestWithParam<sampler_dtype> {
 protected:
  void expect_row(Call *call, std::int64_t row, const Row &output, sampler_row_status status) {
    for (std::int64_t i = 0; i < 4; ++i) {
      const float value = call->value("output", row, i);
      EXPECT_EQ(value, output[std::size_t(i)]) << "row " << row << ", token " << i;
      EXPECT_FALSE(std::signbit(value)) << "row " << row << ", token " << i;
    }
    EXPECT_EQ(call->status(row), status) << "row " << row;
  }

  // With rows of both models.
  void expect_of(const Row &p, const Row &q, const Row &output,
                 sampler_row_status status = SAMPLER_ROW_OK) {
    Call call(residual_spec(GetParam(), true));
    set_row(&call, "target.values", 0, p);
    set_row(&call, "draft.values", 0, q);
    expect_ok(&call, sampler_.get());
    expect_row(&call, 0, output, status);
  }

  // With a deterministic drafter that proposed `token`.
  void expect_without(std::int64_t token, const Row &p, const Row &output,
                      sampler_row_status status = SAMPLER_ROW_OK,
                      sampler_id_type id_type = SAMPLER_ID_I32) {
    Spec spec = residual_spec(GetParam(), false);
    spec.token_id_type = id_type;
    Call call(spec);
    set_row(&call, "target.values", 0, p);
    call.set_id("draft_token_ids", 0, 0, token);
    expect_ok(&call, sampler_.get());
    expect_row(&call, 0, output, status);
  }

  Sampler sampler_ = roomy_sampler();
};

INSTANTIATE_TEST_SUITE_P(Types, Residual, testing::Values(SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16));

TEST_P(Residual, IsWhatTheTargetHasMoreOf) {
  expect_of(kP, {0.25f, 0.125f, 0.125f, 0.5f}, {0.5f, 0.25f, 0.25f, 0});
  expect_of(kP, {0.25f, 0.75f, 0, 0}, {0.5f, 0, 0.5f, 0});
  expect_of(kP, {0.5f, 0.125f, 0.25f, 0.125f}, {0, 1, 0, 0});
}

TEST_P(Residual, TakesRowsOfAnySum) {
  expect_of({0.125f, 0, 0.0625f, 0.0625f}, kZeros, {0.5f, 0, 0.25f, 0.25f});
  expect_of({512, 0, 512, 256}, {0, 1024, 256, 0}, {0.5f, 0, 0.25f, 0.25f});
}

TEST_P(Residual, IsTheTargetWhereNothingIsLeft) {
  expect_of(kP, kP, kP);
  expect_of(kP, {0.5f, 0.5f, 0.5f, 0.5f}, kP);
  expect_of({0.25f, 0, 0.25f, 0}, {1, 1, 1, 1}, {0.5f, 0, 0.5f, 0});
  expect_without(1, {0, 1, 0, 0}, {0, 1, 0, 0});
  expect_without(2, {0, 0, 0.25f, 0}, {0, 0, 1, 0});
}

TEST_P(Residual, IsTheTargetWhereNothingIsTakenAway) {
  for (const float zero : {0.0f, -0.0f}) expect_of(kP, {zero, zero, zero, zero}, kP);
  expect_without(3, kP, kP);
}

TEST_P(Residual, HasNoNegativeZeros) {
  expect_of({0.5f, -0.0f, -0.0f, 0.5f}, {0, 0, -0.0f, 0}, {0.5f, 0, 0, 0.5f});
  expect_without(2, {0.5f, -0.0f, -0.0f, 0.5f}, {0.5f, 0, 0, 0.5f});
  expect_without(0, {-0.0f, -0.0f, 1, 0}, {0, 0, 1, 0});
}

TEST_P(Residual, OfADeterministicDrafterLacksItsToken) {
  for (const sampler_id_type id_type : {SAMPLER_ID_I32, SAMPLER_ID_I64}) {
    expect_without(0, kP, {0, 0.5f, 0.5f, 0}, SAMPLER_ROW_OK, id_type);
    expect_without(1, {0.25f, 0.5f, 0.125f, 0.125f}, {0.5f, 0, 0.25f, 0.25f}, SAMPLER_ROW_OK,
                   id_type);
    expect_without(3, {0.25f, 0.125f, 0.125f, 0.5f}, {0.5f, 0.25f, 0.25f, 0}, SAMPLER_ROW_OK,
                   id_type);
  }
}

TEST_P(Residual, OfATokenOutsideTheVocabularyIsTheTarget) {
  for (const std::int64_t token : {-1, 4, 1 << 20, INT_MIN, INT_MAX}) {
    expect_without(token, kP, kP, SAMPLER_ROW_INVALID_DRAFT);
  }
  for (const std::int64_t token : {std::int64_t(1) << 32, INT64_MIN, INT64_MAX}) {
    expect_without(token, kP, kP, SAMPLER_ROW_INVALID_DRAFT, SAMPLER_ID_I64);
    // A bad row reports both.
    expect_without(token, {kNan, 1, 0, 0}, kZeros,
                   SAMPLER_ROW_INVALID_VALUE | SAMPLER_ROW_INVALID_DRAFT, SAMPLER_ID_I64);
    expect_without(token, kZeros, kZeros, SAMPLER_ROW_EMPTY | SAMPLER_ROW_INVALID_DRAFT,
                   SAMPLER_ID_I64);
  }
}

// Every element of both rows is looked at, that of the token too.
TEST_P(Residual, OfBadRowsIsZero) {
  for (const float bad : {kNan, -kNan, kInf, -kInf, -0.25f}) {
    for (std::size_t i = 0; i < 4; ++i) {
      Row p = kP, q = {0.25f, 0.25f, 0.25f, 0.25f};
      p[i] = bad;
      expect_of(p, q, kZeros, SAMPLER_ROW_INVALID_VALUE);
      expect_without(std::int64_t(i), p, kZeros, SAMPLER_ROW_INVALID_VALUE);
      q[i] = bad;
      expect_of(kP, q, kZeros, SAMPLER_ROW_INVALID_VALUE);
      expect_of(p, q, kZeros, SAMPLER_ROW_INVALID_VALUE);
    }
    // The target's row comes first.
    expect_of(kZeros, {bad, 0, 0, 0}, kZeros, SAMPLER_ROW_EMPTY);
  }
  expect_of(kZeros, kP, kZeros, SAMPLER_ROW_EMPTY);
  expect_of(kZeros, kZeros, kZeros, SAMPLER_ROW_EMPTY);
  expect_without(0, kZeros, kZeros, SAMPLER_ROW_EMPTY);
}

TEST_P(Residual, OfABadDraftLeavesItsNeighboursAlone) {
  Call call(residual_spec(GetParam(), true, 3));
  for (std::int64_t row = 0; row < 3; ++row) {
    set_row(&call, "target.values", row, kP);
    set_row(&call, "draft.values", row, {0.25f, row == 1 ? kNan : 0.75f, 0, 0});
  }
  expect_ok(&call, sampler_.get());
  expect_row(&call, 0, {0.5f, 0, 0.5f, 0}, SAMPLER_ROW_OK);
  expect_row(&call, 1, kZeros, SAMPLER_ROW_INVALID_VALUE);
  expect_row(&call, 2, {0.5f, 0, 0.5f, 0}, SAMPLER_ROW_OK);
}

// The largest and the smallest numbers, whose difference and whose sum are neither.
TEST(ResidualOfF32, KeepsItsScale) {
  const Sampler sampler = roomy_sampler();
  for (const float unit : {0x1p-149f, 0x1p-126f, 0x1p126f}) {
    Call call(residual_spec(SAMPLER_F32, true));
    set_row(&call, "target.values", 0, {2 * unit, unit, unit, unit});
    set_row(&call, "draft.values", 0, {unit, 0, 0, 0});
    expect_ok(&call, sampler.get());
    for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(call.at<float>("output", 0, i), 0.25f);
  }
}

// The kind of one model's rows has no part in what the other's may be.
TEST(ResidualOfTypes, EachModelHasItsOwn) {
  const Sampler sampler = roomy_sampler();
  for (int types = 0; types < 3 * 3; ++types) {
    Spec spec = residual_spec(types % 3, true);
    spec.draft_dtype = types / 3;
    for (const sampler_dtype output_dtype : {int(SAMPLER_F32), types % 3}) {
      spec.output_dtype = output_dtype;
      Call call(spec);
      set_row(&call, "target.values", 0, kP);
      set_row(&call, "draft.values", 0, {0.25f, 0.75f, 0, 0});
      expect_ok(&call, sampler.get());
      const Row expected = {0.5f, 0, 0.5f, 0};
      for (std::int64_t i = 0; i < 4; ++i) {
        EXPECT_EQ(call.value("output", 0, i), expected[std::size_t(i)]) << types << ", token " << i;
      }
    }
  }
}

}  // namespace
}  // namespace capi_test::residual_test
