// No row costs more than three times an ordinary one of the same operation, size, type and
// parameters. One that keeps so many tokens that most parts of it hold some, which all must be
// weighed for the draw, costs no more than three reads of the row that weigh it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "counting_passes.h"
#include "cpu/operations.h"
#include "rows.h"

namespace complexity_test::rows_test {
namespace {

namespace contract = sampler::contract;
namespace cpu = sampler::cpu;
using cpu_bench::RowKind;

struct Operation {
  const char *name;
  enum { kSample, kRows, kMask, kSelect, kChain } what;
  contract::RowParameters parameters = {1.0f, 0, 1.0f, 0.0f};
  contract::FilterRules rules = {};
  sampler_draw_method draw_method = SAMPLER_DRAW_INVERSE_CDF;
};

std::vector<Operation> operations(int64_t num_cols) {
  const auto half = int32_t(num_cols / 2);
  const contract::FilterRules keep = {SAMPLER_TIES_KEEP, SAMPLER_TIES_KEEP};
  const contract::FilterRules joint = {{}, {}, SAMPLER_FILTERS_JOINT};
  const contract::FilterRules min_p_first = {{}, {}, SAMPLER_FILTERS_MIN_P_FIRST};
  const contract::FilterRules last = {{}, {}, {}, SAMPLER_TEMPERATURE_LAST};
  const auto gumbel = SAMPLER_DRAW_GUMBEL;
  return {
      {"greedy", Operation::kSample, {0.0f, 0, 1.0f, 0.0f}},
      {"temperature", Operation::kSample, {0.8f, 0, 1.0f, 0.0f}},
      {"top-k 1", Operation::kSample, {0.8f, 1, 1.0f, 0.0f}},
      {"top-k 50", Operation::kSample, {0.8f, 50, 1.0f, 0.0f}},
      {"top-k 50, ties kept", Operation::kSample, {0.8f, 50, 1.0f, 0.0f}, keep},
      {"top-k 50, top-p 0.95", Operation::kSample, {0.8f, 50, 0.95f, 0.0f}},
      {"top-k 1000, top-p 0.95", Operation::kSample, {1.0f, 1000, 0.95f, 0.0f}},
      {"top-k V/2", Operation::kSample, {0.8f, half, 1.0f, 0.0f}},
      {"top-p 0.95", Operation::kSample, {0.8f, 0, 0.95f, 0.0f}},
      {"top-p 0.95, ties kept", Operation::kSample, {0.8f, 0, 0.95f, 0.0f}, keep},
      {"top-p 0.5", Operation::kSample, {0.8f, 0, 0.5f, 0.0f}},
      {"top-p 0.1", Operation::kSample, {0.8f, 0, 0.1f, 0.0f}},
      {"top-p 0.999", Operation::kSample, {0.8f, 0, 0.999f, 0.0f}},
      {"top-p, temperature last", Operation::kSample, {0.8f, 0, 0.95f, 0.0f}, last},
      {"min-p 0.05", Operation::kSample, {0.8f, 0, 1.0f, 0.05f}},
      {"joint", Operation::kSample, {0.8f, 50, 0.95f, 0.05f}, joint},
      {"min-p first", Operation::kSample, {0.8f, 50, 0.95f, 0.05f}, min_p_first},
      {"Gumbel, top-k 50", Operation::kSample, {0.8f, 50, 1.0f, 0.0f}, {}, gumbel},
      {"Gumbel, top-p 0.95", Operation::kSample, {0.8f, 0, 0.95f, 0.0f}, {}, gumbel},
      {"softmax", Operation::kRows, {0.8f, 0, 1.0f, 0.0f}},
      {"renorm top-k 50", Operation::kRows, {1.0f, 50, 1.0f, 0.0f}},
      {"renorm top-p 0.95", Operation::kRows, {1.0f, 0, 0.95f, 0.0f}},
      {"mask top-k 50", Operation::kMask, {1.0f, 50, 1.0f, 0.0f}},
      {"select 50", Operation::kSelect, {1.0f, 50, 1.0f, 0.0f}},
      {"select 1000", Operation::kSelect, {1.0f, 1000, 1.0f, 0.0f}},
      {"chain, top-p 0.95", Operation::kChain, {0.8f, 0, 0.95f, 0.0f}},
      {"chain, top-k 50", Operation::kChain, {0.8f, 50, 1.0f, 0.0f}},
  };
}

struct Cost {
  double work;
  int64_t num_kept;  // -1: not known
};

template <class Request>
void run(const Request &request, uint64_t key) {
  cpu::Executor executor;
  executor.passes = counting_passes();
  executor.places_key = key;
  std::vector<unsigned char> workspace(cpu::workspace_bytes(request, 1));
  work.reset();
  ASSERT_EQ(cpu::run(request, executor, workspace.data()), nullptr);
}

contract::Rows rows_of(const cpu_bench::AlignedBytes &values, int64_t num_rows, int64_t num_cols,
                       sampler_dtype dtype) {
  contract::Rows rows;
  rows.values = values.data();
  rows.num_rows = num_rows;
  rows.num_cols = rows.stride = num_cols;
  rows.dtype = sampler_dtype(dtype);
  return rows;
}

contract::Parameters parameters_of(const Operation &operation) {
  contract::Parameters result;
  result.temperature.value = operation.parameters.temperature;
  result.top_k.value = operation.parameters.top_k;
  result.top_p.value = operation.parameters.top_p;
  result.min_p.value = operation.parameters.min_p;
  result.rules = operation.rules;
  return result;
}

Cost cost_of(const Operation &operation, const cpu_bench::AlignedBytes &values, int64_t num_cols,
             sampler_dtype dtype, uint64_t key) {
  const contract::Rows input = rows_of(values, 1, num_cols, dtype);
  std::vector<float> output(static_cast<size_t>(num_cols));
  int32_t ids[1000], num_kept = -1;
  switch (operation.what) {
    case Operation::kSample: {
      contract::SampleRequest request;
      request.input = input;
      request.num_rows = 1;
      request.parameters = parameters_of(operation);
      request.draw_method = operation.draw_method;
      request.random.offset.value = key;
      request.out_token_ids.data = ids;
      run(request, key);
      const Cost cost = {work.cost, 0};
      request.out_kept_counts = &num_kept;
      run(request, key);
      return {cost.work, num_kept};
    }
    case Operation::kRows:
    case Operation::kMask: {
      contract::FilterRequest request;
      request.input = input;
      request.parameters = parameters_of(operation);
      if (operation.what == Operation::kMask) request.output_kind = SAMPLER_OUTPUT_VALUES;
      request.output = output.data();
      request.output_stride = num_cols;
      run(request, key);
      return {work.cost, -1};
    }
    case Operation::kSelect: {
      contract::SelectRequest request;
      request.input = input;
      request.num_selected = operation.parameters.top_k;
      request.out_token_ids.data = ids;
      run(request, key);
      return {work.cost, -1};
    }
    default: {
      const int32_t draft = 0;
      contract::VerifyRequest request;
      request.target = input;
      request.target.stride = 0;  // both positions are this row
      request.num_rows = request.num_drafts = 1;
      request.draft_token_ids = &draft;
      request.parameters = parameters_of(operation);
      request.out_token_ids.data = ids;
      run(request, key);
      return {work.cost, -1};
    }
  }
}

struct Case {
  int64_t num_cols;
  sampler_dtype dtype;
};

class CraftedRows : public testing::TestWithParam<Case> {};

TEST_P(CraftedRows, CostWhatAnOrdinaryOneDoes) {
  const auto [num_cols, dtype] = GetParam();
  if (!counting_passes()) GTEST_SKIP() << "the scalar rows' passes do not depend on the values";
  constexpr double kMostTimes = 3, kMostTimesOfSmallTopK = 1.8;
  constexpr uint64_t kKeys[] = {0, 1, 0x123456789ABCDEF};

  std::map<std::string, double> ordinary;
  for (int kind = 0; kind < cpu_bench::kNumRowKinds; ++kind) {
    const std::vector<float> logits = cpu_bench::make_logits(RowKind(kind), 1, num_cols);
    const cpu_bench::AlignedBytes values = cpu_bench::to_dtype(logits, dtype);
    for (const Operation &operation : operations(num_cols)) {
      double most = 0;
      int64_t num_kept = -1;
      for (const uint64_t key : kKeys) {
        const Cost cost = cost_of(operation, values, num_cols, dtype, key);
        most = std::max(most, cost.work);
        num_kept = cost.num_kept;
      }
      if (RowKind(kind) == RowKind::kLanguage) {
        ordinary[operation.name] = most;
        continue;
      }
      // A small top-k reads little more than the row once, wherever the large tokens are.
      const bool is_small_top_k =
          operation.what == Operation::kSelect && operation.parameters.top_k == 50;
      double allowed =
          (is_small_top_k ? kMostTimesOfSmallTopK : kMostTimes) * ordinary[operation.name];
      if (num_kept > num_cols / 128) {
        const double each = operation.draw_method == SAMPLER_DRAW_GUMBEL ? kGumbelCost : kWeighCost;
        allowed = std::max(allowed, kMostTimes * each * double(num_cols));
      }
      EXPECT_LE(most, allowed) << operation.name << ", " << name_of(RowKind(kind)) << ": "
                               << most / ordinary[operation.name] << " times the ordinary row's "
                               << ordinary[operation.name] / double(num_cols) << " an element";
    }
  }
}

std::string case_name(const testing::TestParamInfo<Case> &info) {
  const char *const dtypes[] = {"f32", "f16", "bf16"};
  return std::string(dtypes[info.param.dtype]) + "_" + std::to_string(info.param.num_cols);
}

INSTANTIATE_TEST_SUITE_P(Sizes, CraftedRows,
                         testing::Values(Case{4000, SAMPLER_F32}, Case{32000, SAMPLER_F32},
                                         Case{128256, SAMPLER_F32}, Case{128256, SAMPLER_F16},
                                         Case{128256, SAMPLER_BF16},
                                         Case{(1 << 20) - 1, SAMPLER_F32}),
                         case_name);

}  // namespace
}  // namespace complexity_test::rows_test
