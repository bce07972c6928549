#include "batch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <numeric>
#include <sstream>

namespace oracle_test {

using oracle::FilterOrder;
using oracle::Row;
using oracle::RowStatus;
using oracle::TemperatureOrder;
using oracle::Ties;

std::size_t dtype_bytes(sampler_dtype dtype) {
  return dtype == SAMPLER_F32 ? 4 : 2;
}

float load(const unsigned char *bytes, sampler_dtype dtype, std::size_t i) {
  if (dtype == SAMPLER_F32) {
    float value;
    std::memcpy(&value, bytes + 4 * i, sizeof value);
    return value;
  }
  std::uint16_t bits;
  std::memcpy(&bits, bytes + 2 * i, sizeof bits);
  return dtype == SAMPLER_F16 ? oracle::f16_to_f32(bits) : oracle::bf16_to_f32(bits);
}

void append(const std::vector<float> &values, sampler_dtype dtype,
            std::vector<unsigned char> *bytes) {
  const TypedRow row = to_type(values, dtype);
  const void *from = dtype == SAMPLER_F32 ? static_cast<const void *>(row.values.data())
                                          : static_cast<const void *>(row.halfs.data());
  const std::size_t begin = bytes->size();
  bytes->resize(begin + values.size() * dtype_bytes(dtype));
  if (!values.empty()) std::memcpy(bytes->data() + begin, from, bytes->size() - begin);
}

SamplerPtr make_sampler(std::int64_t max_rows, std::int64_t max_cols) {
  sampler_options options = sampler_options_default();
  options.max_rows = max_rows;
  options.max_cols = max_cols;
  sampler_t sampler = nullptr;
  EXPECT_EQ(sampler_create(&options, &sampler), SAMPLER_OK) << sampler_last_error();
  return SamplerPtr(sampler);
}

Batch::Batch(sampler_dtype dtype, sampler_input_kind kind,
             const std::vector<std::vector<float>> &rows, std::size_t padding)
    : dtype_(dtype), kind_(kind) {
  std::size_t longest = 0;
  for (const std::vector<float> &row : rows) longest = std::max(longest, row.size());
  num_cols_ = static_cast<std::int64_t>(longest);
  row_stride_ = num_cols_ + static_cast<std::int64_t>(padding);
  store(rows);
  for (const std::vector<float> &row : values_) {
    counts_.push_back(static_cast<std::int32_t>(row.size()));
    rows_.push_back(kind == SAMPLER_LOGITS ? Row::from_logits(row) : Row::from_probabilities(row));
  }
}

Batch::Batch(sampler_dtype dtype, const std::vector<std::vector<std::int32_t>> &ids,
             const std::vector<std::vector<float>> &rows, std::size_t num_cols)
    : dtype_(dtype), kind_(SAMPLER_LOGITS) {
  num_cols_ = row_stride_ = static_cast<std::int64_t>(num_cols);
  store(rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    ids_.insert(ids_.end(), ids[r].begin(), ids[r].end());
    ids_.insert(ids_.end(), num_cols - ids[r].size(), -5);
    counts_.push_back(static_cast<std::int32_t>(ids[r].size()));
    rows_.push_back(Row::from_candidates(ids[r], values_[r]));
  }
}

void Batch::store(const std::vector<std::vector<float>> &rows) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  append(std::vector<float>(index(row_stride_ - num_cols_), nan), dtype_, &bytes_);
  first_byte_ = bytes_.size();
  for (const std::vector<float> &row : rows) {
    append(row, dtype_, &bytes_);
    append(std::vector<float>(index(row_stride_) - row.size(), nan), dtype_, &bytes_);
    values_.push_back(to_type(row, dtype_).values);
  }
}

sampler_rows Batch::rows() const {
  const auto is_whole = [&](std::int32_t count) { return count == num_cols_; };
  const bool has_counts = !ids_.empty() || !std::all_of(counts_.begin(), counts_.end(), is_whole);
  sampler_rows view = {};
  view.values = bytes_.data() + first_byte_;
  view.num_rows = num_rows();
  view.num_cols = num_cols_;
  view.row_stride = row_stride_;
  view.candidate_ids = ids_.empty() ? nullptr : ids_.data();
  view.candidate_counts = has_counts ? counts_.data() : nullptr;
  view.dtype = dtype_;
  view.kind = kind_;
  return view;
}

Row Batch::selection(std::int64_t row) const {
  std::vector<std::int32_t> ids(values(row).size());
  std::iota(ids.begin(), ids.end(), 0);
  if (!ids_.empty()) std::copy_n(ids_.begin() + row * num_cols_, ids.size(), ids.begin());
  return Row::for_selection(ids, values(row), kind_ == SAMPLER_LOGITS);
}

std::int64_t Batch::column_of(std::int64_t row, std::int32_t id) const {
  if (ids_.empty()) return id;
  const auto begin = ids_.begin() + row * num_cols_;
  return std::find(begin, begin + counts_[index(row)], id) - begin;
}

std::string describe(const Batch &batch, std::int64_t row, const oracle::Filters &filters) {
  std::ostringstream text;
  text.precision(9);
  text << "V=" << batch.num_cols() << " dtype=" << batch.dtype() << " kind=" << batch.kind()
       << " row=" << row << " T=" << filters.temperature << " k=" << filters.top_k
       << " p=" << filters.top_p << " min_p=" << filters.min_p
       << " ties=" << static_cast<int>(filters.top_k_ties) << static_cast<int>(filters.top_p_ties)
       << " order=" << static_cast<int>(filters.filter_order)
       << " temperature_order=" << static_cast<int>(filters.temperature_order)
       << (filters.top_p_exceeds ? " exceeds" : "");
  return text.str();
}

sampler_row_status c_status(RowStatus status) {
  if (status == RowStatus::kInvalid) return SAMPLER_ROW_INVALID_VALUE;
  return status == RowStatus::kEmpty ? SAMPLER_ROW_EMPTY : SAMPLER_ROW_OK;
}

sampler_row_status expected_status(const Batch &batch, std::int64_t row, RowStatus status) {
  const sampler_row_status of_row = c_status(batch.row(row).status());
  if (of_row == SAMPLER_ROW_OK && status != RowStatus::kOk) return SAMPLER_ROW_INVALID_PARAMETER;
  return of_row;
}

void compare_count(const oracle::Cut &cut, std::int64_t count, Tally *tally) {
  EXPECT_GE(count, cut.lowest) << "exact " << cut.count << ", margin " << cut.margin;
  EXPECT_LE(count, cut.highest) << "exact " << cut.count << ", margin " << cut.margin;
  ++tally->cuts;
  tally->decided_cuts += cut.lowest == cut.highest ? 1 : 0;
  tally->exact_cuts += count == cut.count ? 1 : 0;
}

sampler_params c_params(const oracle::Filters &orders) {
  const auto ties = [](Ties rule) {
    return rule == Ties::kKeep ? SAMPLER_TIES_KEEP : SAMPLER_TIES_EXACT;
  };
  sampler_params params = sampler_params_default();
  params.top_k_ties = ties(orders.top_k_ties);
  params.top_p_ties = ties(orders.top_p_ties);
  params.filter_order = orders.filter_order == FilterOrder::kJoint ? SAMPLER_FILTERS_JOINT
                        : orders.filter_order == FilterOrder::kMinPFirst
                            ? SAMPLER_FILTERS_MIN_P_FIRST
                            : SAMPLER_FILTERS_SEQUENTIAL;
  params.temperature_order = orders.temperature_order == TemperatureOrder::kLast
                                 ? SAMPLER_TEMPERATURE_LAST
                                 : SAMPLER_TEMPERATURE_FIRST;
  params.top_p_sum = orders.top_p_exceeds ? SAMPLER_SUM_EXCEEDS : SAMPLER_SUM_REACHES;
  return params;
}

void ParameterArrays::set(std::size_t i, const oracle::Filters &filters) {
  temperature[i] = filters.temperature;
  top_k[i] = static_cast<std::int32_t>(filters.top_k);
  top_p[i] = filters.top_p;
  min_p[i] = filters.min_p;
}

sampler_row_params ParameterArrays::view() const {
  sampler_row_params params = {};
  params.struct_size = sizeof params;
  params.temperature = temperature.data();
  params.top_p = top_p.data();
  params.min_p = min_p.data();
  params.top_k = top_k.data();
  return params;
}

}  // namespace oracle_test
