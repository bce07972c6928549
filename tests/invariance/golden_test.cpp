// Tokens that were drawn once and must be drawn for ever: golden.txt holds them for fixed rows,
// parameters and seeds, by a name for each case. Whoever changes one of them changes the contract.
//
// The rows are made of integers, so they are the same on every machine. Each case prints its line
// behind "golden: "; all of them together are the file.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "problem.h"
#include "run.h"

namespace invariance_test {
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

// Of `steps` different values; f16 and bf16 hold 256.
Values golden_values(std::uint64_t steps, sampler_input_kind kind, std::uint64_t row) {
  Values result;
  for (std::uint64_t i = 0; i < kNumCols; ++i) {
    const auto step = static_cast<float>(mixed(steps, row, i) % steps);
    const float unit = step / static_cast<float>(steps);  // [0, 1)
    result.values.push_back(kind == SAMPLER_LOGITS ? 16 * unit - 8 : unit);
  }
  return result;
}

// A problem whose rows have one filter, some, all or none, and one of which is bad.
Problem golden_problem(sampler_operation operation, sampler_dtype dtype, sampler_input_kind kind,
                       std::uint64_t steps) {
  const float temperatures[kNumRows] = {1.0f, 0.7f, 1.5f, 0.0f, 0.25f, 3.0f, 1.0f, 0.9f};
  const std::int32_t top_ks[kNumRows] = {0, 5, 0, 3, 0, 20, 36, 7};
  const float top_ps[kNumRows] = {1.0f, 1.0f, 0.9f, 0.5f, 1.0f, 0.95f, 0.3f, 0.8f};
  const float min_ps[kNumRows] = {0.0f, 0.0f, 0.0f, 0.1f, 0.02f, 0.3f, 0.0f, 0.2f};
  Problem problem;
  problem.operation = operation;
  problem.num_cols = problem.vocabulary = kNumCols;
  problem.dtype = problem.draft_dtype = problem.output_dtype = dtype;
  problem.kind = problem.draft_kind = kind;
  problem.num_selected = 6;
  if (operation == SAMPLER_OP_CHAIN_SPECULATIVE) problem.num_drafts = 3;
  if (operation == SAMPLER_OP_RESIDUAL) problem.num_drafts = 1;
  for (std::uint64_t i = 0; i < kNumRows; ++i) {
    RowInput row;
    for (std::uint64_t j = 0; j < static_cast<std::uint64_t>(num_positions(problem)); ++j) {
      row.target.push_back(golden_values(steps, kind, 100 * i + j));
    }
    for (std::uint64_t j = 0; j < static_cast<std::uint64_t>(problem.num_drafts); ++j) {
      row.draft.push_back(golden_values(steps, kind, 100 * i + 50 + j));
      row.draft_ids.push_back(static_cast<std::int64_t>(mixed(7, i, j) % kNumCols));
    }
    row.draft_length = static_cast<std::int32_t>(problem.num_drafts);
    row.temperature = kind == SAMPLER_LOGITS ? temperatures[i] : i == 3 ? 0.0f : 1.0f;
    row.top_k = top_ks[i];
    row.top_p = top_ps[i];
    row.min_p = min_ps[i];
    row.seed = mixed(8, i, 0);
    row.offset = mixed(9, i, 0);
    problem.rows.push_back(row);
  }
  problem.rows[6].target[0].values[11] = -HUGE_VALF;
  if (kind == SAMPLER_PROBABILITIES) problem.rows[6].target[0].values[11] = -1.0f;  // bad
  return problem;
}

// Each row bad in a way of its own, but for the last.
Problem golden_bad_rows(sampler_operation operation, sampler_input_kind kind) {
  Problem problem = golden_problem(operation, SAMPLER_F32, kind, 4096);
  const float nan = std::nanf("");
  const auto row = [&](std::size_t i) -> std::vector<float> & {
    return problem.rows[i].target[0].values;
  };
  row(0).front() = nan;
  row(1).back() = -nan;
  row(2)[5] = HUGE_VALF;
  row(3).assign(kNumCols, impossible(kind));
  row(4)[36] = kind == SAMPLER_LOGITS ? -HUGE_VALF : -0x1p-149f;  // good as a logit
  problem.rows[5].temperature = nan;
  problem.rows[6].top_p = nan;
  row(6) = row(7);
  return problem;
}

struct Case {
  std::string name;
  Problem problem;
  Setting setting;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  const auto add = [&](const std::string &suffix, const Problem &problem, bool one_seed = false) {
    static const char *const kTypes[] = {"f32", "f16", "bf16"};
    const char *const kind = problem.kind == SAMPLER_LOGITS ? "_logits_" : "_probabilities_";
    Setting setting;
    setting.has_scalar_seed = setting.has_scalar_offset = one_seed;
    cases.push_back({name(problem.operation) + (kind + std::string(kTypes[problem.dtype])) + suffix,
                     problem, setting});
  };
  for (const sampler_operation operation : operations()) {
    for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
      for (const sampler_input_kind kind : {SAMPLER_LOGITS, SAMPLER_PROBABILITIES}) {
        const bool logits = kind == SAMPLER_LOGITS;
        if (logits ? !takes_logits(operation) : !takes_probabilities(operation)) continue;
        add("", golden_problem(operation, dtype, kind, dtype == SAMPLER_F32 ? 4096 : 256));
      }
    }
  }
  for (const sampler_operation operation : operations()) {
    const auto kind = takes_logits(operation) ? SAMPLER_LOGITS : SAMPLER_PROBABILITIES;
    add("_bad_rows", golden_bad_rows(operation, kind));
  }
  add("_bad_rows", golden_bad_rows(SAMPLER_OP_SAMPLE, SAMPLER_PROBABILITIES));
  // The options of the fused call, and deterministic drafts.
  for (const sampler_input_kind kind : {SAMPLER_LOGITS, SAMPLER_PROBABILITIES}) {
    const Problem sample = golden_problem(SAMPLER_OP_SAMPLE, SAMPLER_F32, kind, 4096);
    Problem changed = sample;
    add("_one_seed", changed, true);
    changed.draw_method = SAMPLER_DRAW_GUMBEL;
    add("_gumbel", changed);
    add("_gumbel_one_seed", changed, true);
    changed = sample;
    changed.logprob_kind = SAMPLER_LOGPROB_PROCESSED;
    changed.filter_order = SAMPLER_FILTERS_JOINT;
    add("_joint_processed", changed);
    changed = sample;
    changed.filter_order = SAMPLER_FILTERS_MIN_P_FIRST;
    changed.temperature_order = SAMPLER_TEMPERATURE_LAST;
    add("_min_p_first_temperature_last", changed);
    changed = golden_problem(SAMPLER_OP_SAMPLE, SAMPLER_F16, kind, 8);
    add("_ties", changed);
    changed.top_k_ties = changed.top_p_ties = SAMPLER_TIES_KEEP;
    add("_ties_kept", changed);
    changed = golden_problem(SAMPLER_OP_CHAIN_SPECULATIVE, SAMPLER_F32, kind, 4096);
    for (RowInput &row : changed.rows) row.draft.clear();
    add("_deterministic", changed);
  }
  Problem residual = golden_problem(SAMPLER_OP_RESIDUAL, SAMPLER_F32, SAMPLER_PROBABILITIES, 4096);
  for (RowInput &row : residual.rows) row.draft.clear();
  add("_deterministic", residual);
  return cases;
}

// "name hash tokens": a hash of all results, and the token ids of all rows.
std::string golden_line(const Case &golden, const Results &results) {
  std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a of words
  for (const RowResult &result : results) {
    for (const std::uint64_t word : result) hash = (hash ^ word) * 0x100000001B3u;
  }
  std::ostringstream line;
  line << golden.name << ' ' << std::hex << hash << std::dec;
  const sampler_operation operation = golden.problem.operation;
  const bool has_tokens = operation <= SAMPLER_OP_ARGMAX || operation == SAMPLER_OP_TOP_K_SELECT ||
                          operation == SAMPLER_OP_CHAIN_SPECULATIVE;
  const std::size_t per_row = operation == SAMPLER_OP_TOP_K_SELECT        ? 6
                              : operation == SAMPLER_OP_CHAIN_SPECULATIVE ? 4
                                                                          : 1;
  for (std::size_t row = 0; has_tokens && row < kNumRows; ++row) {
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
}  // namespace invariance_test
