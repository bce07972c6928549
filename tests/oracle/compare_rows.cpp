// Comparison of calls that write whole rows, and of sampler_select.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "compare.h"

namespace oracle_test {
namespace {

using oracle::Filters;
using oracle::Kept;
using oracle::Real;
using oracle::Row;
using oracle::RowStatus;

constexpr float kInf = std::numeric_limits<float>::infinity();

// An output array between guard bytes; unwritten elements are NaN.
class Output {
 public:
  Output(sampler_dtype dtype, std::int64_t rows, std::int64_t stride)
      : dtype_(dtype),
        stride_(index(stride)),
        bytes_(index(rows) * stride_ * dtype_bytes(dtype) + kGuard, 0xff) {}
  void *data() { return bytes_.data(); }
  std::vector<float> row(std::int64_t r, std::int64_t num_cols) const {
    std::vector<float> values(index(num_cols));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = load(bytes_.data(), dtype_, index(r) * stride_ + i);
    }
    return values;
  }
  bool guards_hold(std::int64_t num_cols) const {
    const std::size_t width = dtype_bytes(dtype_);
    const std::size_t rows = (bytes_.size() - kGuard) / (stride_ * width);
    const auto untouched = [](unsigned char byte) { return byte == 0xff; };
    for (std::size_t r = 0; r < rows; ++r) {
      const unsigned char *row = bytes_.data() + r * stride_ * width;
      if (!std::all_of(row + index(num_cols) * width, row + stride_ * width, untouched)) {
        return false;
      }
    }
    return std::all_of(bytes_.end() - kGuard, bytes_.end(), untouched);
  }

 private:
  static constexpr std::size_t kGuard = 64;
  sampler_dtype dtype_;
  std::size_t stride_;
  std::vector<unsigned char> bytes_;
};

// Half the spacing of the output type at p: relative, or absolute below its normal range.
Real output_rounding(Real p, sampler_dtype dtype) {
  if (dtype == SAMPLER_F16) return std::max(p * 0x1p-11L, 0x1p-25L);
  if (dtype == SAMPLER_BF16) return std::max(p * 0x1p-8L, 0x1p-134L);
  return std::max(p * 0x1p-24L, 0x1p-150L);
}

// The output is e * f32(2^44 / W): the weight before it is rounded to units, so even far tails are
// accurate relatively: to the errors of e and W and two roundings (f32 of the quotient, the
// product). Where t is clamped, 100 powers of two below the maximum, it is exactly 0; at the clamp
// rounding decides.
void compare_probability(const Row &row, std::int64_t rank, float temperature, Real expected,
                         Real total_error, float actual, sampler_dtype dtype, bool is_logits) {
  const Real tolerance =
      expected * (row.relative_error(rank, temperature) + total_error + 2 * 0x1p-24L) + 0x1p-149L +
      1.01L * output_rounding(expected, dtype);
  const Real difference = std::abs(static_cast<Real>(actual) - expected);
  if (!is_logits) {
    EXPECT_LE(difference, tolerance) << actual << " instead of " << expected;
    return;
  }
  const Real distance = row.distance(rank, temperature);
  if (distance > 100.001L) {
    EXPECT_EQ(actual, 0.0F) << "beyond the clamp, rank " << rank;
  } else if (distance < 99.999L || actual != 0.0F) {
    EXPECT_LE(difference, tolerance) << actual << " instead of " << expected << ", rank " << rank;
    if (dtype == SAMPLER_F32) {
      EXPECT_GT(actual, 0.0F) << "rank " << rank;
    }
  }
}

// Compares the first `kept` ranks' probabilities; others must be exactly 0.
void compare_distribution(const Batch &batch, std::int64_t r, float temperature, std::int64_t kept,
                          const std::vector<float> &actual, sampler_dtype dtype) {
  const Row &row = batch.row(r);
  const std::vector<Real> expected = row.distribution(temperature, kept);
  std::vector<bool> is_kept(actual.size(), false);
  const bool is_greedy = temperature <= 1e-5F;
  Real total_error = 0;
  if (!is_greedy) {
    const oracle::Weights &weights = row.weights(temperature);
    total_error = weights.error_sum[index(kept)] / weights.weight_sum[index(kept)];
  }
  Real variation = 0;
  for (std::int64_t rank = 0; rank < kept; ++rank) {
    const std::size_t column = index(batch.column_of(r, row.ids()[index(rank)]));
    is_kept[column] = true;
    variation += std::abs(static_cast<Real>(actual[column]) - expected[index(rank)]) / 2;
    if (is_greedy) {
      EXPECT_EQ(static_cast<Real>(actual[column]), expected[index(rank)]) << "greedy";
    } else {
      compare_probability(row, rank, temperature, expected[index(rank)], total_error,
                          actual[column], dtype, batch.kind() == SAMPLER_LOGITS);
    }
    if (testing::Test::HasFailure()) return;
  }
  if (dtype == SAMPLER_F32) {
    EXPECT_LE(variation, 1e-6L);
  }
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_TRUE(is_kept[i] || actual[i] == 0.0F) << "column " << i << " is " << actual[i];
  }
}

void expect_all(const std::vector<float> &actual, float value) {
  EXPECT_TRUE(std::all_of(actual.begin(), actual.end(), [&](float x) { return x == value; }));
}

// Equal, including the sign of 0.
bool same_bits(float a, float b) {
  return a == b && std::signbit(a) == std::signbit(b);
}

// Kept values are unchanged, others -inf.
void compare_mask(const Batch &batch, std::int64_t r, std::int64_t kept,
                  const std::vector<float> &actual) {
  std::vector<float> expected(actual.size(), -kInf);
  for (std::int64_t rank = 0; rank < kept; ++rank) {
    const std::size_t column = index(batch.column_of(r, batch.row(r).ids()[index(rank)]));
    expected[column] = batch.values(r)[column];
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(same_bits(actual[i], expected[i]))
        << "column " << i << ": " << actual[i] << " instead of " << expected[i];
  }
}

// Zeros, or a copy followed by -inf.
void expect_bad_row(const Batch &batch, std::int64_t r, sampler_output_kind output_kind,
                    const std::vector<float> &actual) {
  if (output_kind == SAMPLER_OUTPUT_PROBABILITIES) return expect_all(actual, 0.0F);
  std::vector<float> expected = batch.values(r);
  expected.resize(actual.size(), -kInf);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(same_bits(actual[i], expected[i]) ||
                (std::isnan(actual[i]) && std::isnan(expected[i])))
        << "column " << i << ": " << actual[i] << " instead of " << expected[i];
  }
}

// max(p - q, 0) divided by its sum, or p by its own if that is 0 everywhere.
oracle::Distribution residual_of(const std::vector<float> &p, const oracle::Distribution &q) {
  oracle::Distribution result(p.size());
  Real sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    result[i] = std::max(static_cast<Real>(p[i]) - q[i], Real{0});
    sum += result[i];
  }
  if (sum == 0) return residual_of(p, oracle::Distribution(p.size(), Real{0}));
  for (Real &x : result) x /= sum;
  return result;
}

// Each f32 difference, and so their sum, is off by 2^-24; each weight by 2^-45 of a unit that is
// less than twice the largest; two roundings follow, as in compare_probability.
void compare_residual_row(const oracle::Distribution &expected, const std::vector<float> &actual,
                          sampler_dtype dtype) {
  const Real error = 4 * 0x1p-24L + static_cast<Real>(expected.size()) * 0x1p-44L;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == 0) {
      EXPECT_EQ(actual[i], 0.0F) << "token " << i;
      continue;
    }
    const Real tolerance =
        expected[i] * error + 0x1p-149L + 1.01L * output_rounding(expected[i], dtype);
    EXPECT_LE(std::abs(static_cast<Real>(actual[i]) - expected[i]), tolerance)
        << actual[i] << " instead of " << expected[i] << ", token " << i;
  }
}

// Extra elements between output rows.
constexpr std::int64_t kOutputPadding = 3;

template <class Args>
void set_output(const Batch &batch, Output *output, sampler_dtype output_dtype,
                std::vector<sampler_row_status> *statuses, Args *args) {
  args->output_dtype = output_dtype;
  args->output = output->data();
  args->output_stride = batch.num_cols() + kOutputPadding;
  statuses->assign(index(batch.num_rows()), 0xffffffffU);
  args->out_row_status = statuses->data();
}

Output make_output(const Batch &batch, sampler_dtype output_dtype) {
  return Output(output_dtype, batch.num_rows(), batch.num_cols() + kOutputPadding);
}

}  // namespace

void compare_filter(sampler_t sampler, const Batch &batch, const std::vector<Filters> &filters,
                    sampler_output_kind output_kind, sampler_dtype output_dtype, Tally *tally) {
  const sampler_params params = c_params(filters[0]);
  ParameterArrays arrays(filters.size());
  for (std::size_t r = 0; r < filters.size(); ++r) arrays.set(r, filters[r]);
  const sampler_row_params row_params = arrays.view();
  Output output = make_output(batch, output_dtype);
  std::vector<sampler_row_status> statuses;
  std::vector<std::int32_t> kept_counts(filters.size(), -7);
  auto args = sized<sampler_filter_args>();
  args.input = batch.rows();
  args.params = &params;
  args.row_params = &row_params;
  args.output_kind = output_kind;
  set_output(batch, &output, output_dtype, &statuses, &args);
  args.out_kept_counts = kept_counts.data();
  ASSERT_EQ(sampler_filter(sampler, &args), SAMPLER_OK) << sampler_last_error();

  EXPECT_TRUE(output.guards_hold(batch.num_cols()));
  for (std::int64_t r = 0; r < batch.num_rows(); ++r) {
    SCOPED_TRACE(describe(batch, r, filters[index(r)]) + " filter " + std::to_string(output_kind));
    const Kept kept = batch.row(r).keep(filters[index(r)]);
    const std::vector<float> actual = output.row(r, batch.num_cols());
    const std::int64_t count = kept_counts[index(r)];
    ASSERT_EQ(statuses[index(r)], expected_status(batch, r, kept.status));
    if (kept.status != RowStatus::kOk) {
      EXPECT_EQ(count, 0);
      expect_bad_row(batch, r, output_kind, actual);
      continue;
    }
    compare_count(kept.all, count, tally);
    if (testing::Test::HasFailure()) return;
    if (output_kind == SAMPLER_OUTPUT_VALUES) {
      compare_mask(batch, r, count, actual);
    } else {
      compare_distribution(batch, r, filters[index(r)].temperature, count, actual, output_dtype);
    }
    if (testing::Test::HasFailure()) return;
  }
}

void compare_select(sampler_t sampler, const Batch &batch, std::int64_t num_selected,
                    const std::vector<std::int32_t> &selected_counts, sampler_dtype output_dtype) {
  Output values(output_dtype, batch.num_rows(), num_selected);
  std::vector<std::int64_t> ids(index(batch.num_rows() * num_selected), -7);
  std::vector<std::int32_t> counts(index(batch.num_rows()), -7);
  std::vector<sampler_row_status> statuses(counts.size(), 0xffffffffU);
  auto args = sized<sampler_select_args>();
  args.input = batch.rows();
  args.token_id_type = SAMPLER_ID_I64;
  args.num_selected = num_selected;
  args.selected_counts = selected_counts.data();
  args.out_values = values.data();
  args.out_token_ids = ids.data();
  args.output_dtype = output_dtype;
  args.out_counts = counts.data();
  args.out_row_status = statuses.data();
  ASSERT_EQ(sampler_select(sampler, &args), SAMPLER_OK) << sampler_last_error();

  EXPECT_TRUE(values.guards_hold(num_selected));
  const float nothing = batch.kind() == SAMPLER_LOGITS ? -kInf : 0.0F;
  for (std::int64_t r = 0; r < batch.num_rows(); ++r) {
    const Row row = batch.selection(r);
    const std::int64_t k = selected_counts[index(r)];
    SCOPED_TRACE("select " + std::to_string(num_selected) + ", k=" + std::to_string(k) +
                 ", V=" + std::to_string(batch.num_cols()) + ", row " + std::to_string(r));
    ASSERT_EQ(statuses[index(r)], c_status(row.status()));
    const std::int64_t wanted = k <= 0 ? num_selected : std::min(k, num_selected);
    const std::int64_t count = std::min(wanted, row.size());
    ASSERT_EQ(counts[index(r)], count);
    const std::vector<float> actual = values.row(r, num_selected);
    for (std::int64_t rank = 0; rank < num_selected; ++rank) {
      const std::int64_t id = ids[index(r * num_selected + rank)];
      if (rank >= count) {
        ASSERT_EQ(id, -1);
        ASSERT_EQ(actual[index(rank)], nothing);
        continue;
      }
      ASSERT_EQ(id, row.ids()[index(rank)]) << "rank " << rank;
      ASSERT_TRUE(same_bits(actual[index(rank)], row.value(rank))) << "rank " << rank;
    }
  }
}

void compare_residual(sampler_t sampler, const Batch &target, const Batch *draft,
                      const std::vector<std::int32_t> &draft_ids, sampler_dtype output_dtype) {
  const std::int64_t num_cols = target.num_cols();
  Output output = make_output(target, output_dtype);
  std::vector<sampler_row_status> statuses;
  auto args = sized<sampler_residual_args>();
  set_output(target, &output, output_dtype, &statuses, &args);
  args.target = target.rows();
  if (draft) {
    args.draft = draft->rows();
  } else {
    args.draft_token_ids = draft_ids.data();
  }
  ASSERT_EQ(sampler_residual(sampler, &args), SAMPLER_OK) << sampler_last_error();

  EXPECT_TRUE(output.guards_hold(num_cols));
  for (std::int64_t r = 0; r < target.num_rows(); ++r) {
    SCOPED_TRACE(describe(target, r, Filters()) + " residual");
    const std::vector<float> actual = output.row(r, num_cols);
    oracle::Distribution q(index(num_cols), Real{0});
    sampler_row_status status = expected_status(target, r, RowStatus::kOk);
    if (draft) {
      const std::vector<float> &given = draft->values(r);
      for (std::size_t i = 0; i < q.size(); ++i) q[i] = static_cast<Real>(given[i]);
      const sampler_row_status of_draft = expected_status(*draft, r, RowStatus::kOk);
      if (status == SAMPLER_ROW_OK && of_draft != SAMPLER_ROW_EMPTY) status = of_draft;
    }
    const bool is_bad = status != SAMPLER_ROW_OK;
    if (!draft) {
      const std::int64_t id = draft_ids[index(r)];
      const bool is_known = id >= 0 && id < num_cols;
      if (is_known) q[index(id)] = std::numeric_limits<Real>::infinity();
      if (!is_known) status |= sampler_row_status(SAMPLER_ROW_INVALID_DRAFT);
    }
    ASSERT_EQ(statuses[index(r)], status);
    if (is_bad) {
      expect_all(actual, 0.0F);
    } else {
      compare_residual_row(residual_of(target.values(r), q), actual, output_dtype);
    }
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace oracle_test
