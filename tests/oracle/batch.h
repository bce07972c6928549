// Rows in the library's layout beside the oracle's view of them, and what every comparison needs.
#ifndef SAMPLER_TESTS_ORACLE_BATCH_H_
#define SAMPLER_TESTS_ORACLE_BATCH_H_

#include <sampler/sampler.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "oracle.h"
#include "rows.h"

namespace oracle_test {

struct DestroySampler {
  void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
};
using SamplerPtr = std::unique_ptr<struct sampler_handle, DestroySampler>;

// A CPU handle with room for calls of this size. NULL, and a test failure, if there is none.
SamplerPtr make_sampler(std::int64_t max_rows, std::int64_t max_cols);

// Input rows in the library's layout. Each row has `padding` elements on both sides, so that rows
// start at odd places, and all of them are NaN: whoever reads one gets a bad row.
class Batch {
 public:
  Batch(sampler_dtype dtype, sampler_input_kind kind, const std::vector<std::vector<float>> &rows,
        std::size_t padding);
  // Candidate lists: `ids` and `rows` may have fewer elements than num_cols; behind them stand NaN
  // and ids that no row may have.
  Batch(sampler_dtype dtype, const std::vector<std::vector<std::int32_t>> &ids,
        const std::vector<std::vector<float>> &rows, std::size_t num_cols);

  const void *data() const { return bytes_.data() + first_byte_; }
  std::int64_t num_rows() const { return static_cast<std::int64_t>(rows_.size()); }
  std::int64_t num_cols() const { return num_cols_; }
  std::int64_t row_stride() const { return row_stride_; }
  sampler_dtype dtype() const { return dtype_; }
  sampler_input_kind kind() const { return kind_; }
  const std::int32_t *candidate_ids() const { return ids_.empty() ? nullptr : ids_.data(); }
  const std::int32_t *candidate_counts() const { return ids_.empty() ? nullptr : counts_.data(); }

  // Elements of a row, widened, and the column that an id stands in.
  const std::vector<float> &values(std::int64_t row) const {
    return values_[static_cast<std::size_t>(row)];
  }
  std::int64_t column_of(std::int64_t row, std::int32_t id) const;
  const oracle::Row &row(std::int64_t row) const { return rows_[static_cast<std::size_t>(row)]; }

 private:
  void store(const std::vector<std::vector<float>> &rows);

  sampler_dtype dtype_;
  sampler_input_kind kind_;
  std::int64_t num_cols_ = 0;
  std::int64_t row_stride_ = 0;
  std::vector<unsigned char> bytes_;
  std::size_t first_byte_ = 0;
  std::vector<std::int32_t> ids_, counts_;
  std::vector<std::vector<float>> values_;
  std::vector<oracle::Row> rows_;
};

// What the comparisons met. A test asserts on it that they were able to fail.
struct Tally {
  std::int64_t cuts = 0;          // kept counts compared
  std::int64_t decided_cuts = 0;  // those where the oracle admits one count only
  std::int64_t exact_cuts = 0;    // those equal to the exact count
  // Tokens drawn by inverse CDF, and those among them that exact arithmetic draws too. Likewise
  // for Gumbel, where only rows count whose scores leave f32 room for the noise.
  std::int64_t draws = 0;
  std::int64_t nominal_draws = 0;
  std::int64_t gumbel_draws = 0;
  std::int64_t nominal_gumbel_draws = 0;
};

// What the oracle's answer allows, counted in the tally.
void compare_count(const oracle::Cut &cut, std::int64_t count, Tally *tally);

// The status of a row of the batch, given the oracle's view of it together with its parameters.
sampler_row_status expected_status(const Batch &batch, std::int64_t row, oracle::RowStatus status);

std::string describe(const Batch &batch, std::int64_t row, const oracle::Filters &filters);

sampler_tie_rule c_ties(oracle::Ties ties);
sampler_filter_order c_order(oracle::FilterOrder order);
sampler_temperature_order c_temperature_order(oracle::TemperatureOrder order);

inline std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

std::size_t dtype_bytes(sampler_dtype dtype);

// Element i of an array, widened.
float load(const unsigned char *bytes, sampler_dtype dtype, std::size_t i);

// Rounds the values to the type and adds them to the array.
void append(const std::vector<float> &values, sampler_dtype dtype,
            std::vector<unsigned char> *bytes);

template <class Args>
void fill_source(const Batch &batch, std::int64_t num_rows, Args *args) {
  args->input = batch.data();
  args->num_rows = num_rows;
  args->num_cols = batch.num_cols();
  args->row_stride = batch.row_stride();
  args->input_dtype = batch.dtype();
  args->candidate_ids = batch.candidate_ids();
  args->candidate_counts = batch.candidate_counts();
  args->candidate_id_type = SAMPLER_ID_I32;
}

}  // namespace oracle_test

#endif  // SAMPLER_TESTS_ORACLE_BATCH_H_
