// What a verification costs by the rows that it has to look at: it reads no other, and none of them
// more often than it did when this was written. Costs are those of counting_passes.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "contract/verification.h"
#include "counting_passes.h"
#include "cpu/operations.h"
#include "rows.h"

namespace complexity_test::verification_test {
namespace {

namespace contract = sampler::contract;
namespace cpu = sampler::cpu;

constexpr int64_t kDrafts = 4, kPositions = kDrafts + 1, kCols = 32768;
constexpr int32_t kRejected = 2;  // the draft that is not accepted
constexpr int32_t kTree[kDrafts] = {-1, 0, 1, 1};

struct Case {
  const char *name;
  sampler_acceptance rule;
  bool is_tree;
  bool has_draft;
  sampler_input_kind kind;
  bool has_reports;
  // Rows of target and draft that have to be read as a whole.
  int num_rows;
  // In reads of such a row that weigh it: a tenth above what it was measured to be. One of them for
  // a row of logits, which becomes probabilities. A row that rejects is written as what it leaves,
  // and weighed again for the draw; block does so at each position. A log-probability of the raw
  // row weighs it once more, the entropy of typical reads it twice. Relaxed reads the drafter's row
  // of a rejected draft alone.
  double most;
};

void PrintTo(const Case &which, std::ostream *out) {
  *out << which.name;
}

class VerificationCost : public testing::TestWithParam<Case> {};

TEST_P(VerificationCost, IsThatOfItsRows) {
  if (!counting_passes()) GTEST_SKIP() << "the scalar rows have no passes to count";
  const Case &which = GetParam();
  const bool given = which.kind == SAMPLER_PROBABILITIES;
  std::vector<float> target =
      cpu_bench::make_logits(cpu_bench::RowKind::kLanguage, kPositions, kCols);
  // All drafts are the likeliest tokens, given by rows that are the target's, but for the one that
  // the target all but forbids and the drafter was sure of.
  std::vector<float> draft(target.begin(), target.begin() + kDrafts * kCols);
  std::vector<int32_t> drafts;
  for (int64_t i = 0; i < kDrafts; ++i) {
    const auto row = target.begin() + i * kCols;
    drafts.push_back(int32_t(std::max_element(row, row + kCols) - row));
  }
  for (const int32_t rejected : {kRejected, kRejected + 1}) {
    drafts[size_t(rejected)] = 7 + rejected;
    const int64_t position = which.is_tree ? kTree[rejected] + 1 : rejected;
    target[size_t(position * kCols + drafts[size_t(rejected)])] = -30;
    draft[size_t(rejected * kCols + drafts[size_t(rejected)])] = 30;
  }
  // The rule takes given tokens for certain where there are no rows: those before are made so.
  for (int64_t i = 0; i < kRejected; ++i) target[size_t(i * kCols + drafts[size_t(i)])] = 60;
  if (given) {
    cpu_bench::to_probabilities(&target, kCols);
    cpu_bench::to_probabilities(&draft, kCols);
  }

  contract::VerifyRequest request;
  request.target.values = target.data();
  request.target.num_rows = kPositions;
  request.target.num_cols = request.target.stride = kCols;
  request.target.kind = which.kind;
  request.target_row_stride = kPositions * kCols;
  if (which.has_draft) {
    request.draft = request.target;
    request.draft.values = draft.data();
    request.draft.num_rows = kDrafts;
    request.draft_row_stride = kDrafts * kCols;
  }
  request.num_rows = 1;
  request.num_drafts = kDrafts;
  request.draft_token_ids = drafts.data();
  int32_t tokens[kPositions], emitted = -1;
  uint32_t status = 1;
  request.out_token_ids.data = tokens;
  request.out_emitted_counts = &emitted;
  request.out_row_status = &status;

  contract::Verification more = {};
  more.positions.input = request.target;
  more.positions.num_rows = kPositions;
  more.positions.out_token_ids = request.out_token_ids;
  more.draft_parameters = request.parameters;
  more.acceptance.value = which.rule;
  more.draft_token_stride = kDrafts;
  const float rates[kDrafts] = {1, 1, 0, 0};  // kRejected, and its sibling
  more.numbers = {0.09f, 0.3f, 1, 0, 1, 1, 1, 3, 0.3f, rates};
  more.has_rates = true;
  if (which.is_tree) {
    more.parents = kTree;
    more.has_one_tree = true;
  }
  float logprobs[kPositions];
  if (which.has_reports) more.positions.out_logprobs = logprobs;
  request.verification = &more;

  cpu::Executor executor;
  executor.passes = counting_passes();
  std::vector<unsigned char> workspace(cpu::workspace_bytes(request, 1));
  work.reset();
  ASSERT_EQ(cpu::run(request, executor, workspace.data()), nullptr);
  ASSERT_EQ(status, uint32_t(SAMPLER_ROW_OK));
  ASSERT_EQ(emitted, kRejected);
  const double reads = work.cost / kWeighCost / double(which.num_rows * kCols);
  std::printf("%s: %.2f weighing reads a row\n", which.name, reads);
  EXPECT_LE(reads, which.most);
}

constexpr Case kCases[] = {
    {"StandardChain", SAMPLER_ACCEPT_STANDARD, false, true, SAMPLER_LOGITS, false, 6, 1.9},
    {"StandardChainNgrams", SAMPLER_ACCEPT_STANDARD, false, false, SAMPLER_LOGITS, false, 3, 2.1},
    {"StandardChainProbabilities", SAMPLER_ACCEPT_STANDARD, false, true, SAMPLER_PROBABILITIES,
     false, 2, 2.2},
    {"StandardChainReports", SAMPLER_ACCEPT_STANDARD, false, true, SAMPLER_LOGITS, true, 6, 2.45},
    {"StandardTree", SAMPLER_ACCEPT_STANDARD, true, true, SAMPLER_LOGITS, false, 7, 2.3},
    {"StandardTreeProbabilities", SAMPLER_ACCEPT_STANDARD, true, true, SAMPLER_PROBABILITIES, false,
     3, 2.7},
    {"Block", SAMPLER_ACCEPT_BLOCK, false, true, SAMPLER_LOGITS, false, 8, 3.1},
    {"BlockProbabilities", SAMPLER_ACCEPT_BLOCK, false, true, SAMPLER_PROBABILITIES, false, 8, 2.0},
    {"SampleMatch", SAMPLER_ACCEPT_SAMPLE_MATCH, false, false, SAMPLER_LOGITS, false, 3, 1.35},
    {"SampleMatchReports", SAMPLER_ACCEPT_SAMPLE_MATCH, false, false, SAMPLER_LOGITS, true, 3,
     2.45},
    {"SampleMatchTree", SAMPLER_ACCEPT_SAMPLE_MATCH, true, false, SAMPLER_LOGITS, false, 3, 1.35},
    {"ThresholdTree", SAMPLER_ACCEPT_THRESHOLD, true, false, SAMPLER_PROBABILITIES, false, 3, 1.9},
    {"Typical", SAMPLER_ACCEPT_TYPICAL, false, false, SAMPLER_LOGITS, false, 3, 3.9},
    {"TypicalTree", SAMPLER_ACCEPT_TYPICAL, true, false, SAMPLER_LOGITS, false, 3, 3.9},
    {"Relaxed", SAMPLER_ACCEPT_RELAXED, false, true, SAMPLER_LOGITS, false, 4, 2.2},
    {"RelaxedTree", SAMPLER_ACCEPT_RELAXED, true, true, SAMPLER_LOGITS, false, 5, 2.75},
    {"Deferred", SAMPLER_ACCEPT_DEFERRED, false, true, SAMPLER_LOGITS, false, 8, 2.1},
    {"Synthetic", SAMPLER_ACCEPT_SYNTHETIC, false, false, SAMPLER_LOGITS, false, 3, 2.0},
    {"SyntheticTree", SAMPLER_ACCEPT_SYNTHETIC, true, false, SAMPLER_LOGITS, false, 3, 2.0},
};

std::string name_of_case(const testing::TestParamInfo<Case> &which) {
  return which.param.name;
}
INSTANTIATE_TEST_SUITE_P(Rules, VerificationCost, testing::ValuesIn(kCases), name_of_case);

}  // namespace
}  // namespace complexity_test::verification_test
