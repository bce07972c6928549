// From the public argument structs to requests, checking every rule on the way.
//
// The structs share member names, so each rule stands here once for all of them.
#pragma once

#include "capi/check.h"
#include "contract/elements.h"
#include "sampler/sampler.h"

namespace sampler::capi {

constexpr int64_t kMaxRows = int64_t(1) << 31;
constexpr int kNumDtypes = 3;
constexpr int kNumIdTypes = 2;

static_assert(int(contract::Dtype::kF32) == SAMPLER_F32 &&
              int(contract::Dtype::kF16) == SAMPLER_F16 &&
              int(contract::Dtype::kBf16) == SAMPLER_BF16);
static_assert(int(contract::IdType::kI32) == SAMPLER_ID_I32 &&
              int(contract::IdType::kI64) == SAMPLER_ID_I64);
static_assert(int(contract::InputKind::kLogits) == SAMPLER_LOGITS &&
              int(contract::InputKind::kProbabilities) == SAMPLER_PROBABILITIES);
static_assert(int(contract::TieRule::kExact) == SAMPLER_TIES_EXACT &&
              int(contract::TieRule::kKeep) == SAMPLER_TIES_KEEP);
static_assert(int(contract::FilterOrder::kSequential) == SAMPLER_FILTERS_SEQUENTIAL &&
              int(contract::FilterOrder::kJoint) == SAMPLER_FILTERS_JOINT &&
              int(contract::FilterOrder::kMinPFirst) == SAMPLER_FILTERS_MIN_P_FIRST);
static_assert(int(contract::TemperatureOrder::kFirst) == SAMPLER_TEMPERATURE_FIRST &&
              int(contract::TemperatureOrder::kLast) == SAMPLER_TEMPERATURE_LAST);
static_assert(int(contract::DrawMethod::kInverseCdf) == SAMPLER_DRAW_INVERSE_CDF &&
              int(contract::DrawMethod::kGumbel) == SAMPLER_DRAW_GUMBEL);
static_assert(int(contract::LogprobKind::kRaw) == SAMPLER_LOGPROB_RAW &&
              int(contract::LogprobKind::kProcessed) == SAMPLER_LOGPROB_PROCESSED);
static_assert(contract::row_status::kInvalidValue == SAMPLER_ROW_INVALID_VALUE &&
              contract::row_status::kEmpty == SAMPLER_ROW_EMPTY &&
              contract::row_status::kInvalidParameter == SAMPLER_ROW_INVALID_PARAMETER &&
              contract::row_status::kInvalidIndex == SAMPLER_ROW_INVALID_INDEX &&
              contract::row_status::kInvalidCandidate == SAMPLER_ROW_INVALID_CANDIDATE &&
              contract::row_status::kInvalidDraft == SAMPLER_ROW_INVALID_DRAFT);

template <class T>
void check_output(Check &check, const char *name, T *data, int64_t count) {
  check.array(name, data, sizeof(T), count, Access::kWrite);
}

template <class Enum>
Enum to_enum(Check &check, const char *name, int32_t value, int32_t count) {
  check.enumeration(name, value, count);
  return Enum(value);
}

inline void check_shape(Check &check, int64_t num_rows, int64_t num_cols) {
  check.range("num_rows", num_rows, 0, kMaxRows);
  check.range("num_cols", num_cols, 1, contract::kMaxVocabulary);
}

inline void check_id(Check &check, const char *name, int64_t id, const contract::Rows &rows) {
  if (id < 0 || rows.ids || id < rows.num_cols) return;
  check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %lld; it must be below num_cols, %lld", name,
             static_cast<long long>(id), static_cast<long long>(rows.num_cols));
}

// `args.input` and all that describes it. The kind is the caller's to set.
template <class Args>
contract::Rows read_input(Check &check, const Args &args, int64_t num_input_rows) {
  contract::Rows rows;
  check_shape(check, args.num_rows, args.num_cols);
  rows.num_rows = num_input_rows;
  rows.num_cols = args.num_cols;
  rows.stride = check.stride("row_stride", args.row_stride, "num_cols", args.num_cols);
  rows.dtype = to_enum<contract::Dtype>(check, "input_dtype", args.input_dtype, kNumDtypes);
  rows.id_type =
      to_enum<contract::IdType>(check, "candidate_id_type", args.candidate_id_type, kNumIdTypes);
  rows.values = args.input;
  rows.ids = args.candidate_ids;
  rows.counts = args.candidate_counts;
  if (rows.counts && !rows.ids) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "candidate_ids is NULL; candidate_counts needs it");
  }
  check.array("input", rows.values, contract::size_of(rows.dtype), rows.num_rows, rows.num_cols,
              rows.stride, Access::kRead, Need::kRequired);
  check.array("candidate_ids", rows.ids, contract::size_of(rows.id_type), rows.num_rows,
              rows.num_cols, rows.stride, Access::kRead);
  check.array("candidate_counts", rows.counts, sizeof(int32_t), rows.num_rows, Access::kRead);
  return rows;
}

inline contract::InputKind read_kind(Check &check, const char *name, sampler_input_kind kind) {
  return to_enum<contract::InputKind>(check, name, kind, 2);
}

template <class T>
contract::PerRow<T> read_per_row(Check &check, const char *array_name, T value, const T *array,
                                 int64_t num_rows) {
  check.parameters(array_name, array, sizeof(T), num_rows);
  return {value, array};
}

// `probabilities`: the temperature must be 1 or greedy.
template <class Args>
contract::PerRow<float> read_temperature(Check &check, const Args &args, bool probabilities) {
  if (!args.temperatures) check.not_nan("temperature", args.temperature);
  const bool unusual = args.temperature != 1.0f && !contract::is_greedy(args.temperature);
  if (probabilities && unusual && !args.temperatures) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "temperature is %.9g; it must be 1, or at most 1e-5, with SAMPLER_PROBABILITIES",
               double(args.temperature));
  }
  return read_per_row(check, "temperatures", args.temperature, args.temperatures, args.num_rows);
}

template <class Args>
contract::PerRow<int32_t> read_top_k(Check &check, const Args &args) {
  return read_per_row(check, "top_ks", args.top_k, args.top_ks, args.num_rows);
}

template <class Args>
contract::PerRow<float> read_top_p(Check &check, const Args &args) {
  if (!args.top_ps) check.not_nan("top_p", args.top_p);
  return read_per_row(check, "top_ps", args.top_p, args.top_ps, args.num_rows);
}

template <class Args>
contract::PerRow<float> read_min_p(Check &check, const Args &args) {
  if (!args.min_ps) check.not_nan("min_p", args.min_p);
  return read_per_row(check, "min_ps", args.min_p, args.min_ps, args.num_rows);
}

inline contract::TieRule read_ties(Check &check, const char *name, sampler_tie_rule ties) {
  return to_enum<contract::TieRule>(check, name, ties, 2);
}

template <class Args>
contract::TemperatureOrder read_temperature_order(Check &check, const Args &args) {
  return to_enum<contract::TemperatureOrder>(check, "temperature_order", args.temperature_order, 2);
}

template <class Args>
contract::FilterOrder read_filter_order(Check &check, const Args &args) {
  return to_enum<contract::FilterOrder>(check, "filter_order", args.filter_order, 3);
}

// Top-k, top-p and how filters combine.
template <class Args>
void read_top_k_top_p(Check &check, const Args &args, contract::Parameters *parameters) {
  parameters->top_k = read_top_k(check, args);
  parameters->top_p = read_top_p(check, args);
  parameters->rules.top_k_ties = read_ties(check, "top_k_ties", args.top_k_ties);
  parameters->rules.top_p_ties = read_ties(check, "top_p_ties", args.top_p_ties);
  parameters->rules.order = read_filter_order(check, args);
  parameters->rules.temperature_order = read_temperature_order(check, args);
}

inline contract::SeedSource read_seed(Check &check, uint64_t value, const char *array_name,
                                      const uint64_t *array, const char *count_name, int64_t count,
                                      int64_t num_rows) {
  if (!array) {
    check.zero(count_name, count);
  } else if (count != 1 && count != num_rows) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %lld; it must be 1 or num_rows, %lld",
               count_name, static_cast<long long>(count), static_cast<long long>(num_rows));
  }
  check.parameters(array_name, array, sizeof(uint64_t), count);
  return {value, array, array && count == num_rows};
}

template <class Args>
contract::Randomness read_randomness(Check &check, const Args &args) {
  return {
      read_seed(check, args.seed, "seeds", args.seeds, "num_seeds", args.num_seeds, args.num_rows),
      read_seed(check, args.offset, "offsets", args.offsets, "num_offsets", args.num_offsets,
                args.num_rows)};
}

template <class Args>
contract::IdType read_token_id_type(Check &check, const Args &args) {
  return to_enum<contract::IdType>(check, "token_id_type", args.token_id_type, kNumIdTypes);
}

// f32, or the input's own type.
inline contract::Dtype read_output_dtype(Check &check, sampler_dtype output_dtype,
                                         const char *input_name, sampler_dtype input_dtype) {
  check.enumeration("output_dtype", output_dtype, kNumDtypes);
  if (output_dtype != SAMPLER_F32 && output_dtype != input_dtype) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "output_dtype is %d; it must be SAMPLER_F32 or %s, %d", int(output_dtype),
               input_name, int(input_dtype));
  }
  return contract::Dtype(output_dtype);
}

template <class Args>
uint32_t *read_row_status(Check &check, const Args &args) {
  check_output(check, "out_row_status", args.out_row_status, args.num_rows);
  return args.out_row_status;
}

// Rows of output, f32 or of the input's type.
template <class Args, class Request>
void read_output(Check &check, const Args &args, const char *input_name, sampler_dtype input_dtype,
                 Request *request) {
  request->output_dtype = read_output_dtype(check, args.output_dtype, input_name, input_dtype);
  request->output_stride =
      check.stride("output_stride", args.output_stride, "num_cols", args.num_cols);
  request->output = args.output;
  check.array("output", args.output, contract::size_of(request->output_dtype), args.num_rows,
              args.num_cols, request->output_stride, Access::kWrite, Need::kRequired);
  request->out_row_status = read_row_status(check, args);
}

}  // namespace sampler::capi
