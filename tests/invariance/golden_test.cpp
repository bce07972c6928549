// Tokens that were drawn once and must be drawn for ever: golden.txt holds them for fixed rows,
// parameters and seeds, by a name for each case. Whoever changes one of them changes the contract.
//
// The rows are made of integers, so they are the same on every machine. Each case prints its line
// after "golden: "; all of them together are the file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "problem.h"
#include "run.h"

namespace invariance_test::golden_test {
namespace {

constexpr std::size_t kNumRows = 8;
constexpr std::size_t kNumCols = 37;

// Mixes the arguments (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
std::uint64_t mixed(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t x = (a * 1000003 + b) * 1000003 + c + 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// `steps` different values; f16 and bf16 hold 256.
Values golden_values(std::uint64_t steps, sampler_input_kind kind, std::uint64_t row) {
  Values result;
  for (std::uint64_t i = 0; i < kNumCols; ++i) {
    const auto step = static_cast<float>(mixed(steps, row, i) % steps);
    const float unit = step / static_cast<float>(steps);  // [0, 1)
    result.values.push_back(kind == SAMPLER_LOGITS ? 16 * unit - 8 : unit);
  }
  return result;
}

enum Filters { kNone = 0, kTopK = 1, kTopP = 2, kMinP = 4, kAll = 7 };

// What a line's name begins with: a call, and what it is asked for.
struct Kind {
  const char *name;
  Operation operation;
  int filters;
  std::optional<float> temperature;  // else each row has its own
  sampler_output_kind output_kind;
  bool takes_logits, takes_probabilities;
  // Words of a row's results that its hash leaves out: the line is older than that output.
  std::vector<std::size_t> left_out;
};

// Results of a sample: status, token, kept count, log-probability, value. Those of a filter:
// status, row, kept count.
const std::vector<Kind> &kinds() {
  constexpr auto kSample = Operation::kSample, kFilter = Operation::kFilter;
  constexpr sampler_output_kind kP = SAMPLER_OUTPUT_PROBABILITIES, kV = SAMPLER_OUTPUT_VALUES;
  static const std::vector<Kind> kKinds = {
      {"sample", kSample, kAll, {}, kP, true, true, {4}},
      {"top_k", kSample, kTopK, {}, kP, true, true, {3, 4}},
      {"top_p", kSample, kTopP, {}, kP, true, true, {3, 4}},
      {"min_p", kSample, kMinP, {}, kP, true, true, {3, 4}},
      {"top_k_top_p", kSample, kTopK | kTopP, {}, kP, true, true, {3, 4}},
      {"argmax", kSample, kNone, 0.0f, kP, true, true, {2, 3}},
      {"softmax", kFilter, kNone, {}, kP, true, false, {1 + kNumCols}},
      {"top_k_renorm", kFilter, kTopK, {}, kP, true, true, {}},
      {"top_p_renorm", kFilter, kTopP, {}, kP, true, true, {}},
      {"top_k_mask", kFilter, kTopK, 1.0f, kV, true, false, {}},
      {"top_k_select", Operation::kSelect, kTopK, {}, kP, true, true, {}},
      {"chain_speculative", Operation::kVerify, kAll, {}, kP, true, true, {}},
      {"residual", Operation::kResidual, kAll, {}, kP, false, true, {}}};
  return kKinds;
}

const Kind &kSampleKind = kinds()[0], &kVerifyKind = kinds()[11], &kResidualKind = kinds()[12];

// Leaves the parameters that the kind has.
void restrict_parameters(const Kind &kind, Problem *problem) {
  for (RowInput &row : problem->rows) {
    row.temperature = kind.temperature.value_or(row.temperature);
    if (!(kind.filters & kTopK)) row.top_k = 0;
    if (!(kind.filters & kTopP)) row.top_p = 1.0f;
    if (!(kind.filters & kMinP)) row.min_p = 0.0f;
  }
}

// A problem whose rows have one filter, some, all or none, and one of which is bad.
Problem golden_problem(const Kind &kind, sampler_dtype dtype, sampler_input_kind input_kind,
                       std::uint64_t steps) {
  const bool is_logits = input_kind == SAMPLER_LOGITS;
  const float temperatures[kNumRows] = {1.0f, 0.7f, 1.5f, 0.0f, 0.25f, 3.0f, 1.0f, 0.9f};
  const std::int32_t top_ks[kNumRows] = {0, 5, 0, 3, 0, 20, 36, 7};
  const float top_ps[kNumRows] = {1.0f, 1.0f, 0.9f, 0.5f, 1.0f, 0.95f, 0.3f, 0.8f};
  const float min_ps[kNumRows] = {0.0f, 0.0f, 0.0f, 0.1f, 0.02f, 0.3f, 0.0f, 0.2f};
  Problem problem;
  problem.operation = kind.operation;
  problem.num_cols = problem.vocabulary = kNumCols;
  problem.dtype = problem.draft_dtype = problem.output_dtype = dtype;
  problem.kind = problem.draft_kind = input_kind;
  problem.output_kind = kind.output_kind;
  problem.num_selected = 6;
  if (kind.operation == Operation::kVerify) problem.num_drafts = 3;
  if (kind.operation == Operation::kResidual) problem.num_drafts = 1;
  for (std::uint64_t i = 0; i < kNumRows; ++i) {
    RowInput row;
    for (std::uint64_t j = 0; j < static_cast<std::uint64_t>(num_positions(problem)); ++j) {
      row.target.push_back(golden_values(steps, input_kind, 100 * i + j));
    }
    for (std::uint64_t j = 0; j < static_cast<std::uint64_t>(problem.num_drafts); ++j) {
      row.draft.push_back(golden_values(steps, input_kind, 100 * i + 50 + j));
      row.draft_ids.push_back(static_cast<std::int64_t>(mixed(7, i, j) % kNumCols));
    }
    row.draft_count = static_cast<std::int32_t>(problem.num_drafts);
    row.temperature = is_logits ? temperatures[i] : i == 3 ? 0.0f : 1.0f;
    row.top_k = top_ks[i];
    row.top_p = top_ps[i];
    row.min_p = min_ps[i];
    row.seed = mixed(8, i, 0);
    row.offset = mixed(9, i, 0);
    problem.rows.push_back(row);
  }
  problem.rows[6].target[0].values[11] = is_logits ? -HUGE_VALF : -1.0f;  // the latter is bad
  restrict_parameters(kind, &problem);
  return problem;
}

// Each row bad in a way of its own, except the last.
Problem golden_bad_rows(const Kind &kind, sampler_input_kind input_kind) {
  Problem problem = golden_problem(kind, SAMPLER_F32, input_kind, 4096);
  const float nan = std::nanf("");
  const auto row = [&](std::size_t i) -> std::vector<float> & {
    return problem.rows[i].target[0].values;
  };
  row(0).front() = nan;
  row(1).back() = -nan;
  row(2)[5] = kind.operation == Operation::kSelect ? nan : HUGE_VALF;  // which can be selected
  row(3).assign(kNumCols, impossible(input_kind));
  row(4)[36] = input_kind == SAMPLER_LOGITS ? -HUGE_VALF : -0x1p-149f;  // good as a logit
  problem.rows[5].temperature = nan;
  problem.rows[6].top_p = nan;
  row(6) = row(7);
  restrict_parameters(kind, &problem);
  return problem;
}

struct Case {
  std::string name;
  Problem problem;
  Setting setting;
  std::vector<std::size_t> left_out;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  const auto add = [&](const Kind &kind, const std::string &suffix, const Problem &problem,
                       bool one_seed = false) {
    static const char *const kTypes[] = {"f32", "f16", "bf16"};
    const char *const input = problem.kind == SAMPLER_LOGITS ? "_logits_" : "_probabilities_";
    Setting setting;
    setting.has_scalar_seed = setting.has_scalar_offset = one_seed;
    cases.push_back({kind.name + (input + std::string(kTypes[problem.dtype])) + suffix, problem,
                     setting, kind.left_out});
  };
  for (const Kind &kind : kinds()) {
    for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
      for (const sampler_input_kind input : {SAMPLER_LOGITS, SAMPLER_PROBABILITIES}) {
        const bool is_taken =
            input == SAMPLER_LOGITS ? kind.takes_logits : kind.takes_probabilities;
        if (!is_taken) continue;
        add(kind, "", golden_problem(kind, dtype, input, dtype == SAMPLER_F32 ? 4096 : 256));
      }
    }
    add(kind, "_bad_rows",
        golden_bad_rows(kind, kind.takes_logits ? SAMPLER_LOGITS : SAMPLER_PROBABILITIES));
  }
  add(kSampleKind, "_bad_rows", golden_bad_rows(kSampleKind, SAMPLER_PROBABILITIES));
  // The options of sample, and deterministic drafts.
  for (const sampler_input_kind input : {SAMPLER_LOGITS, SAMPLER_PROBABILITIES}) {
    const Problem sample = golden_problem(kSampleKind, SAMPLER_F32, input, 4096);
    Problem changed = sample;
    add(kSampleKind, "_one_seed", changed, true);
    changed.draw_method = SAMPLER_DRAW_GUMBEL;
    add(kSampleKind, "_gumbel", changed);
    add(kSampleKind, "_gumbel_one_seed", changed, true);
    changed = sample;
    changed.logprob_kind = SAMPLER_LOGPROB_PROCESSED;
    changed.filter_order = SAMPLER_FILTERS_JOINT;
    add(kSampleKind, "_joint_processed", changed);
    changed = sample;
    changed.filter_order = SAMPLER_FILTERS_MIN_P_FIRST;
    changed.temperature_order = SAMPLER_TEMPERATURE_LAST;
    add(kSampleKind, "_min_p_first_temperature_last", changed);
    changed = golden_problem(kSampleKind, SAMPLER_F16, input, 8);
    add(kSampleKind, "_ties", changed);
    changed.top_k_ties = changed.top_p_ties = SAMPLER_TIES_KEEP;
    add(kSampleKind, "_ties_kept", changed);
    changed = golden_problem(kVerifyKind, SAMPLER_F32, input, 4096);
    for (RowInput &row : changed.rows) row.draft.clear();
    add(kVerifyKind, "_deterministic", changed);
  }
  Problem residual = golden_problem(kResidualKind, SAMPLER_F32, SAMPLER_PROBABILITIES, 4096);
  for (RowInput &row : residual.rows) row.draft.clear();
  add(kResidualKind, "_deterministic", residual);
  return cases;
}

// "name hash tokens": a hash of all results, and the token ids of all rows.
std::string golden_line(const Case &golden, const Results &results) {
  std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a of words
  for (const RowResult &result : results) {
    for (std::size_t i = 0; i < result.size(); ++i) {
      const auto &left_out = golden.left_out;
      if (std::find(left_out.begin(), left_out.end(), i) != left_out.end()) continue;
      hash = (hash ^ result[i]) * 0x100000001B3u;
    }
  }
  std::ostringstream line;
  line << golden.name << ' ' << std::hex << hash << std::dec;
  const Operation operation = golden.problem.operation;
  const std::size_t per_row = operation == Operation::kSample   ? 1
                              : operation == Operation::kSelect ? 6
                              : operation == Operation::kVerify ? 4
                                                                : 0;
  for (std::size_t row = 0; row < kNumRows; ++row) {
    if (per_row > 1) line << " /";
    for (std::size_t i = 0; i < per_row; ++i) {
      line << ' ' << static_cast<std::int64_t>(results[row].at(1 + i));
    }
  }
  return line.str();
}

// Lines of the file by their first word.
std::map<std::string, std::string> golden_file() {
  std::ifstream file(SAMPLER_GOLDEN_FILE);
  EXPECT_TRUE(file.good()) << SAMPLER_GOLDEN_FILE;
  std::map<std::string, std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') lines[line.substr(0, line.find(' '))] = line;
  }
  return lines;
}

class Golden : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Cases, Golden, testing::ValuesIn(all_cases()),
                         [](const testing::TestParamInfo<Case> &golden) {
                           return golden.param.name;
                         });

TEST_P(Golden, IsAsItWas) {
  const SamplerPtr sampler = make_sampler();
  const Results results = run(sampler.get(), GetParam().problem, GetParam().setting);
  const std::string line = golden_line(GetParam(), results);
  std::printf("golden: %s\n", line.c_str());
  EXPECT_EQ(line, golden_file()[GetParam().name]);
}

TEST(GoldenFile, HasNoOtherCases) {
  std::map<std::string, std::string> lines = golden_file();
  for (const Case &golden : all_cases()) lines.erase(golden.name);
  for (const auto &[name_of_line, line] : lines) ADD_FAILURE() << "no such case: " << line;
}

}  // namespace
}  // namespace invariance_test::golden_test
