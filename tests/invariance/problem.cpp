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

// The contract's hard parameters among ordinary ones.
const std::vector<float> kTemperatures = {1.0f,  0.7f,  2.0f,  1.3f, 0.0f, -1.0f,
                                          1e-5f, 2e-5f, 1e-3f, 1e3f, 1e30f};
const std::vector<float> kTopPs = {0.9f, 0.5f, 0.99f, 0.3f, 0.0f, -1.0f, 1e-7f, 1 - 0x1p-24f, 1.0f};
const std::vector<float> kMinPs = {0.05f, 0.3f, 1e-4f, 0.0f, -1.0f, 1.0f, 2.0f};

std::int32_t random_top_k(std::size_t num_cols, Random *random) {
  const auto n = static_cast<std::int32_t>(num_cols);
  const std::vector<std::int32_t> choices = {
      0, -5, 1, 2, n - 1, n, n + 1, n / 2, std::numeric_limits<std::int32_t>::max()};
  return random->pick(choices);
}

bool has_two_models(Operation operation) {
  return operation == Operation::kVerify || operation == Operation::kResidual;
}

sampler_input_kind random_kind(const Problem &problem, Random *random) {
  if (problem.output_kind == SAMPLER_OUTPUT_VALUES) return SAMPLER_LOGITS;
  if (problem.operation == Operation::kResidual) return SAMPLER_PROBABILITIES;
  return static_cast<sampler_input_kind>(random->below(2));
}

template <class Enum>
Enum random_enum(int count, Random *random) {
  return static_cast<Enum>(random->below(static_cast<std::size_t>(count)));
}

Values random_values(sampler_dtype dtype, sampler_input_kind kind, std::size_t num_cols,
                     bool is_normalised, Random *random) {
  const auto row_kind = random_enum<RowKind>(static_cast<int>(RowKind::kNumKinds), random);
  std::vector<float> row = make_logits(row_kind, num_cols, dtype, random);
  if (kind == SAMPLER_PROBABILITIES) {
    const std::vector<double> sums = {1.0, 0.01, 300.0};
    row = oracle_test::make_probabilities(row, is_normalised ? 1.0 : random->pick(sums));
  }
  return {oracle_test::to_type(row, dtype).values, {}};
}

// A draft that has a chance: mostly the likeliest of the drafter or the target.
std::int64_t random_draft(const RowInput &row, std::size_t position, std::size_t num_cols,
                          Random *random) {
  constexpr std::int64_t kNoToken[] = {-1, std::int64_t{1} << 20};
  const std::size_t choice = random->below(8);
  if (choice == 0) return kNoToken[random->below(2)];
  if (choice < 3) return static_cast<std::int64_t>(random->below(num_cols));
  const Values &from =
      choice < 5 && !row.draft.empty() ? row.draft[position] : row.target[position];
  return std::max_element(from.values.begin(), from.values.end()) - from.values.begin();
}

void add_positions(const Problem &problem, bool has_draft, RowInput *row, Random *random) {
  const auto num_cols = static_cast<std::size_t>(problem.num_cols);
  const bool is_normalised = has_two_models(problem.operation);
  for (std::int64_t i = 0; i < num_positions(problem); ++i) {
    row->target.push_back(
        random_values(problem.dtype, problem.kind, num_cols, is_normalised, random));
  }
  for (std::int64_t i = 0; has_draft && i < problem.num_drafts; ++i) {
    // Now and then the drafter is as good as the target.
    const Values &same = row->target[static_cast<std::size_t>(i)];
    const bool may_copy =
        problem.dtype == problem.draft_dtype && problem.kind == problem.draft_kind;
    row->draft.push_back(
        may_copy && random->below(3) == 0
            ? same
            : random_values(problem.draft_dtype, problem.draft_kind, num_cols, true, random));
  }
  for (std::int64_t i = 0; i < problem.num_drafts; ++i) {
    row->draft_ids.push_back(random_draft(*row, static_cast<std::size_t>(i), num_cols, random));
  }
  // Now and then a count out of range, which is clamped.
  row->draft_count =
      static_cast<std::int32_t>(random->below(static_cast<std::size_t>(problem.num_drafts) + 3)) -
      1;
}

void add_parameters(const Problem &problem, RowInput *row, Random *random) {
  const bool only_1 = problem.kind == SAMPLER_PROBABILITIES;
  const bool greedy = random->below(6) == 0;
  row->temperature = !only_1 ? random->pick(kTemperatures) : greedy ? 0.0f : 1.0f;
  row->top_k = random_top_k(static_cast<std::size_t>(problem.num_cols), random);
  row->top_p = random->pick(kTopPs);
  row->min_p = random->pick(kMinPs);
  // Half of the rows have one filter.
  const std::size_t only = random->below(6);
  if (only < 3 && only != 0) row->top_k = 0;
  if (only < 3 && only != 1) row->top_p = 1.0f;
  if (only < 3 && only != 2) row->min_p = 0.0f;
  row->seed = random->word();
  row->offset = random->word();
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

const char *name(Operation operation) {
  static const char *const kNames[] = {"sample", "filter", "select", "verify", "residual"};
  return kNames[static_cast<int>(operation)];
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
       << " temperature_order=" << problem.temperature_order << " draw=" << problem.draw_method
       << (problem.has_candidates ? " candidates" : "");
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
  problem.dtype = random_enum<sampler_dtype>(3, random);
  problem.draft_dtype = random_enum<sampler_dtype>(3, random);
  problem.output_dtype = random->below(2) == 0 ? SAMPLER_F32 : problem.dtype;
  if (operation == Operation::kFilter) {
    problem.output_kind = random_enum<sampler_output_kind>(2, random);
  }
  problem.kind = random_kind(problem, random);
  problem.draft_kind = random->below(3) == 0 ? random_kind(problem, random) : problem.kind;
  if (operation == Operation::kResidual) problem.num_drafts = 1;
  if (operation == Operation::kVerify) {
    problem.num_drafts = static_cast<std::int64_t>(random->below(4));
  }
  problem.num_selected =
      static_cast<std::int64_t>(1 + random->below(std::min<std::size_t>(num_cols, 40)));
  problem.top_k_ties = random_enum<sampler_tie_rule>(2, random);
  problem.top_p_ties = random_enum<sampler_tie_rule>(2, random);
  problem.filter_order = random_enum<sampler_filter_order>(3, random);
  problem.temperature_order = random_enum<sampler_temperature_order>(2, random);
  problem.draw_method = random_enum<sampler_draw_method>(2, random);
  problem.logprob_kind = random_enum<sampler_logprob_kind>(2, random);

  const bool has_draft = random->below(3) != 0;
  for (std::size_t i = 0; i < num_rows; ++i) {
    RowInput row;
    add_positions(problem, has_draft, &row, random);
    // Some rows are drawn from several times.
    if (i > 0 && random->below(4) == 0) row.target = problem.rows[random->below(i)].target;
    add_parameters(problem, &row, random);
    if (random->below(10) == 0) spoil(problem, &row, random);
    problem.rows.push_back(row);
  }
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
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    const RowInput &row = problem.rows[i];
    const bool has_bad_values =
        std::any_of(row.target.begin(), row.target.end(),
                    [&](const Values &values) { return !are_valid(problem.kind, values); });
    const bool reads_elements =
        problem.operation == Operation::kVerify && problem.kind == SAMPLER_PROBABILITIES;
    if (!reads_elements || !has_bad_values) rows.push_back(i);
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
