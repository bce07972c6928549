// Rows in the library's layout and in the oracle's, and helpers of all comparisons.
#ifndef SAMPLER_TESTS_ORACLE_BATCH_H_
#define SAMPLER_TESTS_ORACLE_BATCH_H_

#include <sampler/sampler.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../sized.h"
#include "oracle.h"
#include "rows.h"

namespace oracle_test {

struct DestroySampler {
  void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
};
using SamplerPtr = std::unique_ptr<struct sampler_handle, DestroySampler>;

// A CPU handle with a workspace for calls of this size. NULL, with a test failure, if that fails.
SamplerPtr make_sampler(std::int64_t max_rows, std::int64_t max_cols);

// Input rows in the library's layout. Each row has `padding` elements of NaN on both sides, so that
// rows start at odd places and any read outside gives a bad row. Shorter rows have counts, and NaN
// after their elements.
class Batch {
 public:
  Batch(sampler_dtype dtype, sampler_input_kind kind, const std::vector<std::vector<float>> &rows,
        std::size_t padding);
  // Candidate lists: `ids` and `rows` may have fewer elements than num_cols; NaN and invalid ids
  // follow.
  Batch(sampler_dtype dtype, const std::vector<std::vector<std::int32_t>> &ids,
        const std::vector<std::vector<float>> &rows, std::size_t num_cols);

  sampler_rows rows() const;
  std::int64_t num_rows() const { return static_cast<std::int64_t>(rows_.size()); }
  std::int64_t num_cols() const { return num_cols_; }
  sampler_dtype dtype() const { return dtype_; }
  sampler_input_kind kind() const { return kind_; }

  // A row's elements, widened; the column of an id.
  const std::vector<float> &values(std::int64_t row) const {
    return values_[static_cast<std::size_t>(row)];
  }
  std::int64_t column_of(std::int64_t row, std::int32_t id) const;
  const oracle::Row &row(std::int64_t row) const { return rows_[static_cast<std::size_t>(row)]; }
  // The row as sampler_select sees it.
  oracle::Row selection(std::int64_t row) const;

 private:
  void store(const std::vector<std::vector<float>> &rows);

  sampler_dtype dtype_;
  sampler_input_kind kind_;
  std::int64_t num_cols_ = 0;
  std::int64_t row_stride_ = 0;
  std::vector<unsigned char> bytes_;
  std::size_t first_byte_ = 0;
  std::vector<std::int32_t> ids_, counts_;  // empty: all columns
  std::vector<std::vector<float>> values_;
  std::vector<oracle::Row> rows_;
};

// Counts of comparisons, by which tests assert that they could have failed.
struct Tally {
  std::int64_t cuts = 0;          // kept counts compared
  std::int64_t decided_cuts = 0;  // those with only one admissible count
  std::int64_t exact_cuts = 0;    // those equal to the exact count
  // Tokens drawn by inverse CDF, and those that exact arithmetic draws too. Likewise for Gumbel,
  // only for rows whose scores leave f32 room for the noise.
  std::int64_t draws = 0;
  std::int64_t nominal_draws = 0;
  std::int64_t gumbel_draws = 0;
  std::int64_t nominal_gumbel_draws = 0;
};

// Compares a kept count with the oracle's interval, and tallies it.
void compare_count(const oracle::Cut &cut, std::int64_t count, Tally *tally);

// Status of a row with good parameters.
sampler_row_status c_status(oracle::RowStatus status);

// Status of a batch's row, given the oracle's status of row and parameters.
sampler_row_status expected_status(const Batch &batch, std::int64_t row, oracle::RowStatus status);

std::string describe(const Batch &batch, std::int64_t row, const oracle::Filters &filters);

// Ties and orders as the library's parameters; all others are defaults.
sampler_params c_params(const oracle::Filters &orders);

// Temperature and filters of several rows, as arrays.
struct ParameterArrays {
  std::vector<float> temperature, top_p, min_p;
  std::vector<std::int32_t> top_k;

  explicit ParameterArrays(std::size_t size)
      : temperature(size), top_p(size), min_p(size), top_k(size) {}
  void set(std::size_t i, const oracle::Filters &filters);
  sampler_row_params view() const;
};

inline std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

std::size_t dtype_bytes(sampler_dtype dtype);

// Element i of an array, widened.
float load(const unsigned char *bytes, sampler_dtype dtype, std::size_t i);

// Rounds the values to the type and adds them to the array.
void append(const std::vector<float> &values, sampler_dtype dtype,
            std::vector<unsigned char> *bytes);

}  // namespace oracle_test

#endif  // SAMPLER_TESTS_ORACLE_BATCH_H_
