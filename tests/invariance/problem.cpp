#include "problem.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <sstream>

namespace invariance_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Values values_of(const sampler_rows &rows, std::int64_t row) {
  Values result;
  for (std::int64_t i = 0; i < rows.num_cols; ++i) {
    result.values.push_back(
        test_support::value_of(rows.values, rows.dtype, row * rows.row_stride + i));
  }
  return result;
}

std::int64_t id_of(const void *ids, sampler_id_type type, std::int64_t i) {
  if (type == SAMPLER_ID_I32) return static_cast<const std::int32_t *>(ids)[i];
  return static_cast<const std::int64_t *>(ids)[i];
}

void read_input(const sampler_rows &input, Problem *problem) {
  problem->dtype = input.dtype;
  problem->kind = input.kind;
  const std::int64_t positions = num_positions(*problem);
  std::int64_t at = 0;
  for (RowInput &row : problem->rows) {
    for (std::int64_t i = 0; i < positions; ++i) row.target.push_back(values_of(input, at++));
  }
}

// What calls with two models have in common: all but the number of drafts.
template <class Args>
void read_models(const Args &args, Problem *problem) {
  read_input(args.target, problem);
  problem->draft_dtype = args.draft.dtype;
  problem->draft_kind = args.draft.kind;
  std::int64_t at = 0;
  for (RowInput &row : problem->rows) {
    for (std::int64_t i = 0; i < problem->num_drafts; ++i, ++at) {
      if (args.draft.values) row.draft.push_back(values_of(args.draft, at));
      const bool has_ids = args.draft_token_ids;
      row.draft_ids.push_back(has_ids ? id_of(args.draft_token_ids, args.token_id_type, at) : 0);
    }
  }
}

template <class T>
T number(const T *array, std::size_t row, T value) {
  return array ? array[row] : value;
}

void read_parameters(const sampler_params &params, const sampler_row_params &arrays,
                     Problem *problem) {
  problem->top_k_ties = params.top_k_ties;
  problem->top_p_ties = params.top_p_ties;
  problem->filter_order = params.filter_order;
  problem->temperature_order = params.temperature_order;
  problem->top_p_sum = params.top_p_sum;
  for (std::size_t i = 0; i < problem->rows.size(); ++i) {
    RowInput &row = problem->rows[i];
    row.temperature = number(arrays.temperature, i, params.temperature);
    row.top_k = number(arrays.top_k, i, params.top_k);
    row.top_p = number(arrays.top_p, i, params.top_p);
    row.min_p = number(arrays.min_p, i, params.min_p);
  }
}

void read_random(const sampler_random &random, Problem *problem) {
  for (std::size_t i = 0; i < problem->rows.size(); ++i) {
    problem->rows[i].seed = random.seeds[i];
    problem->rows[i].offset = random.offsets[i];
  }
}

void read(const sampler_sample_args &args, Problem *problem) {
  read_input(args.input, problem);
  read_random(args.random, problem);
  problem->draw_method = args.draw_method;
  problem->logprob_kind = args.reports->logprob_kind;
}

void read(const sampler_filter_args &args, Problem *problem) {
  read_input(args.input, problem);
  problem->output_dtype = args.output_dtype;
  problem->output_kind = args.output_kind;
}

void read(const sampler_select_args &args, Problem *problem) {
  read_input(args.input, problem);
  problem->output_dtype = args.output_dtype;
  problem->num_selected = args.num_selected;
  const auto all = static_cast<std::int32_t>(args.num_selected);
  for (std::size_t i = 0; i < problem->rows.size(); ++i) {
    problem->rows[i].top_k = number(args.selected_counts, i, all);
  }
}

void read(const sampler_verify_args &args, Problem *problem) {
  problem->num_drafts = args.num_drafts;
  read_models(args, problem);
  read_random(args.random, problem);
  const auto all = static_cast<std::int32_t>(args.num_drafts);
  for (std::size_t i = 0; i < problem->rows.size(); ++i) {
    problem->rows[i].draft_count = number(args.draft_counts, i, all);
  }
}

void read(const sampler_residual_args &args, Problem *problem) {
  problem->num_drafts = 1;
  read_models(args, problem);
  problem->output_dtype = args.output_dtype;
}

template <class T>
bool same_bits(const std::vector<T> &a, const std::vector<T> &b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class Change>
void for_each_values(Problem *problem, const Change &change) {
  for (RowInput &row : problem->rows) {
    for (Values &values : row.target) change(problem->kind, &values);
    for (Values &values : row.draft) change(problem->draft_kind, &values);
  }
}

void shuffle_into_list(bool omit_impossible, sampler_input_kind kind, Values *row, Random *random) {
  Values list;
  for (const std::size_t i : random_order(row->values.size(), random)) {
    if (omit_impossible && row->values[i] == impossible(kind)) continue;
    list.ids.push_back(static_cast<std::int32_t>(i));
    list.values.push_back(row->values[i]);
  }
  *row = list;
}

bool are_valid(sampler_input_kind kind, const Values &row) {
  return std::all_of(row.values.begin(), row.values.end(),
                     [&](float x) { return x >= impossible(kind) && x < kInf; });
}

}  // namespace

bool operator==(const Values &a, const Values &b) {
  return same_bits(a.values, b.values) && same_bits(a.ids, b.ids);
}

const std::vector<Operation> &operations() {
  static const std::vector<Operation> kOperations = {Operation::kSample, Operation::kFilter,
                                                     Operation::kSelect, Operation::kVerify,
                                                     Operation::kResidual};
  return kOperations;
}

std::int64_t num_positions(const Problem &problem) {
  return problem.operation == Operation::kVerify ? problem.num_drafts + 1 : 1;
}

bool has_slots(Operation operation) {
  return operation != Operation::kSelect && operation != Operation::kResidual;
}

bool takes_filters(const Problem &problem) {
  const bool has_draft = !problem.rows.empty() && !problem.rows[0].draft.empty();
  return problem.operation != Operation::kVerify || problem.kind == SAMPLER_LOGITS ||
         (has_draft && problem.draft_kind == SAMPLER_LOGITS);
}

std::string describe(const Problem &problem) {
  std::ostringstream text;
  text << name(problem.operation) << " rows=" << problem.rows.size() << " V=" << problem.num_cols
       << " dtype=" << problem.dtype << " kind=" << problem.kind
       << " output_dtype=" << problem.output_dtype << " output_kind=" << problem.output_kind
       << " drafts=" << problem.num_drafts << " draft_dtype=" << problem.draft_dtype
       << " draft_kind=" << problem.draft_kind << " ties=" << problem.top_k_ties
       << problem.top_p_ties << " order=" << problem.filter_order
       << " temperature_order=" << problem.temperature_order << " sum=" << problem.top_p_sum
       << " draw=" << problem.draw_method << (problem.has_candidates ? " candidates" : "");
  return text.str();
}

float impossible(sampler_input_kind kind) {
  return kind == SAMPLER_LOGITS ? -kInf : 0.0f;
}

Problem random_problem(Operation operation, std::size_t num_cols, std::size_t num_rows,
                       Random *random) {
  Problem problem;
  problem.operation = operation;
  problem.num_cols = problem.vocabulary = static_cast<std::int64_t>(num_cols);
  problem.rows.resize(num_rows);
  const test_support::Case which = {operation,        static_cast<std::int64_t>(num_rows),
                                    problem.num_cols, random->word(),
                                    random->word(),   random->word()};
  test_support::Fixed fixed;
  fixed.by_row = true;
  const test_support::Call call(which, fixed);
  test_support::Structs structs;
  call.bind([&](const test_support::Array &array) { return call.memory().data() + array.begin; },
            &structs);
  visit_args(operation, structs, [&](const auto &args) { read(args, &problem); });
  if (has_slots(operation)) read_parameters(structs.params, structs.row_params, &problem);
  return problem;
}

void spoil(const Problem &problem, RowInput *row, Random *random) {
  std::vector<float> &values = row->target[random->below(row->target.size())].values;
  const std::vector<float> bad = {kNaN, kInf, problem.kind == SAMPLER_LOGITS ? -kNaN : -1.0f};
  switch (random->below(4)) {
    case 0:
      row->temperature = kNaN;
      break;
    case 1:
      std::fill(values.begin(), values.end(), impossible(problem.kind));
      break;
    default:
      values[random->below(values.size())] = random->pick(bad);
  }
}

Problem as_candidates(const Problem &problem, bool omit_impossible, Random *random) {
  Problem result = problem;
  if (problem.operation == Operation::kResidual) return result;
  result.has_candidates = true;
  for_each_values(&result, [&](sampler_input_kind kind, Values *row) {
    shuffle_into_list(omit_impossible, kind, row, random);
  });
  return result;
}

std::vector<std::size_t> rows_equal_as_lists(const Problem &problem) {
  const auto has_bad_elements = [&](sampler_input_kind kind, const std::vector<Values> &rows) {
    return problem.operation == Operation::kVerify && kind == SAMPLER_PROBABILITIES &&
           !std::all_of(rows.begin(), rows.end(),
                        [&](const Values &values) { return are_valid(kind, values); });
  };
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    const RowInput &row = problem.rows[i];
    if (has_bad_elements(problem.kind, row.target)) continue;
    if (has_bad_elements(problem.draft_kind, row.draft)) continue;
    rows.push_back(i);
  }
  return rows;
}

Problem widened(const Problem &problem, std::int64_t count) {
  Problem result = problem;
  result.num_cols += count;
  for_each_values(&result, [&](sampler_input_kind kind, Values *row) {
    row->values.insert(row->values.end(), static_cast<std::size_t>(count), impossible(kind));
  });
  return result;
}

Problem shortened(const Problem &problem, bool one_length, Random *random) {
  Problem result = problem;
  const auto num_cols = static_cast<std::size_t>(problem.num_cols);
  for (RowInput &row : result.rows) {
    const std::size_t common = 1 + random->below(num_cols);
    const auto shorten = [&](Values *values) {
      values->values.resize(one_length ? common : random->below(num_cols + 1));
    };
    for (Values &values : row.target) shorten(&values);
    for (Values &values : row.draft) shorten(&values);
    for (std::int64_t &id : row.draft_ids) {
      if (one_length && id >= 0) id %= static_cast<std::int64_t>(common);
    }
  }
  return result;
}

Problem padded(const Problem &problem) {
  Problem result = problem;
  for_each_values(&result, [&](sampler_input_kind kind, Values *row) {
    row->values.resize(static_cast<std::size_t>(problem.num_cols), impossible(kind));
  });
  return result;
}

Problem as_f32(const Problem &problem) {
  Problem result = problem;
  result.dtype = result.draft_dtype = result.output_dtype = SAMPLER_F32;
  return result;
}

Problem with_rows(const Problem &problem, const std::vector<std::size_t> &order) {
  Problem result = problem;
  result.rows.clear();
  for (const std::size_t i : order) result.rows.push_back(problem.rows[i]);
  return result;
}

std::vector<std::size_t> random_order(std::size_t size, Random *random) {
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = size; i > 1; --i) std::swap(order[i - 1], order[random->below(i)]);
  return order;
}

}  // namespace invariance_test
