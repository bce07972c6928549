// No row costs much more than an ordinary one with the same windows, and none more than a few reads
// that weigh it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "contract/pipeline.h"
#include "counting_passes.h"
#include "cpu/operations.h"
#include "rows.h"

namespace complexity_test::windows_test {
namespace {

namespace contract = sampler::contract;
namespace cpu = sampler::cpu;
using cpu_bench::RowKind;

struct Windows {
  const char *name;
  std::vector<sampler_stage> order;
  double most_weighings;  // of an ordinary row, in reads of it for its weight
  contract::WindowNumbers numbers = {
      0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.1f, 0, SAMPLER_ADAPTIVE_NONE, 0};
  contract::RowParameters parameters = {1.0f, 0, 1.0f, 0.0f};
  sampler_tie_rule ties = SAMPLER_TIES_EXACT;
};

std::vector<Windows> all_windows() {
  std::vector<Windows> all;
  const auto add = [&](const char *name, std::vector<sampler_stage> order, double most) {
    all.push_back({name, std::move(order), most});
    return &all.back();
  };
  for (const auto ties : {SAMPLER_TIES_EXACT, SAMPLER_TIES_KEEP}) {
    for (const float p : {0.2f, 0.9f}) {
      Windows *const windows = add("typical-p", {SAMPLER_STAGE_TYPICAL_P}, 5);
      windows->numbers.typical_p = p;
      windows->ties = ties;
    }
  }
  Windows *typical = add("typical-p, min_keep", {SAMPLER_STAGE_TYPICAL_P}, 5);
  typical->numbers.typical_p = 0.01f;
  typical->numbers.min_keep = 500;
  add("epsilon", {SAMPLER_STAGE_EPSILON}, 3)->numbers.epsilon = 3e-4f;
  add("eta", {SAMPLER_STAGE_ETA}, 4)->numbers.eta = 3e-4f;
  add("top-n-sigma", {SAMPLER_STAGE_TOP_N_SIGMA}, 3)->numbers.top_n_sigma = 1;
  add("top-h", {SAMPLER_STAGE_TOP_H}, 2)->numbers.top_h = 0.5f;
  add("p-less", {SAMPLER_STAGE_P_LESS}, 3)->numbers.p_less = SAMPLER_P_LESS_PLAIN;
  add("p-less norm", {SAMPLER_STAGE_P_LESS}, 3)->numbers.p_less = SAMPLER_P_LESS_NORM;
  add("min-k", {SAMPLER_STAGE_MIN_K}, 2)->numbers.min_k = 3;
  add("top-a", {SAMPLER_STAGE_TOP_A}, 2)->numbers.top_a = 0.2f;
  Windows *xtc = add("XTC", {SAMPLER_STAGE_XTC}, 4);
  xtc->numbers.xtc_probability = 1;
  xtc->numbers.xtc_threshold = 0.01f;
  xtc = add("XTC of all", {SAMPLER_STAGE_XTC}, 4);
  xtc->numbers.xtc_probability = 1;
  xtc->numbers.xtc_threshold = -1;
  Windows *mirostat = add("mirostat", {SAMPLER_STAGE_ADAPTIVE}, 4);
  mirostat->numbers.mirostat = SAMPLER_ADAPTIVE_MIROSTAT_V1;
  mirostat->numbers.mu = 10;
  mirostat = add("mirostat v2", {SAMPLER_STAGE_ADAPTIVE}, 3);
  mirostat->numbers.mirostat = SAMPLER_ADAPTIVE_MIROSTAT_V2;
  mirostat->numbers.mu = 10;
  for (const float target : {0.0f, 0.05f, 0.5f}) {
    Windows *const adaptive = add("adaptive-p", {SAMPLER_STAGE_ADAPTIVE}, 4);
    adaptive->numbers.mirostat = SAMPLER_ADAPTIVE_P;
    adaptive->numbers.mu = 2 * target;
  }
  add("dynamic temperature", {SAMPLER_STAGE_TEMPERATURE}, 4)->numbers.dynamic_range = 0.5f;
  add("top-p", {SAMPLER_STAGE_TOP_P}, 6)->parameters.top_p = 0.95f;
  add("min-p", {SAMPLER_STAGE_MIN_P}, 2)->parameters.min_p = 0.05f;
  Windows *chain = add("chain",
                       {SAMPLER_STAGE_EPSILON, SAMPLER_STAGE_XTC, SAMPLER_STAGE_TYPICAL_P,
                        SAMPLER_STAGE_TOP_P, SAMPLER_STAGE_TOP_K},
                       16);
  chain->numbers.epsilon = 1e-7f;
  chain->numbers.xtc_probability = 1;
  chain->numbers.xtc_threshold = 1e-3f;
  chain->numbers.typical_p = 0.95f;
  chain->parameters.top_p = 0.9f;
  chain->parameters.top_k = 5000;
  return all;
}

double cost_of(const Windows &windows, const cpu_bench::AlignedBytes &values, int64_t num_cols,
               sampler_dtype dtype, uint64_t key) {
  contract::Pipeline pipeline;
  for (const sampler_stage stage : windows.order) pipeline.windows.add(stage);
  pipeline.has_windows = true;
  pipeline.window_rules.typical_p_ties = windows.ties;
  pipeline.dynamic_range.value = windows.numbers.dynamic_range;
  pipeline.typical_p.value = windows.numbers.typical_p;
  pipeline.top_n_sigma.value = windows.numbers.top_n_sigma;
  pipeline.epsilon.value = windows.numbers.epsilon;
  pipeline.eta.value = windows.numbers.eta;
  pipeline.top_h.value = windows.numbers.top_h;
  pipeline.p_less.value = windows.numbers.p_less;
  pipeline.min_k.value = windows.numbers.min_k;
  pipeline.top_a.value = windows.numbers.top_a;
  pipeline.xtc_probability.value = windows.numbers.xtc_probability;
  pipeline.xtc_threshold.value = windows.numbers.xtc_threshold;
  pipeline.min_keep.value = windows.numbers.min_keep;
  pipeline.adaptive.kind.value = windows.numbers.mirostat;
  pipeline.adaptive.target.value = windows.numbers.mu / 2;

  contract::SampleRequest request;
  request.input.values = values.data();
  request.input.num_rows = 1;
  request.input.num_cols = request.input.stride = num_cols;
  request.input.dtype = dtype;
  request.num_rows = 1;
  request.parameters.temperature.value = windows.parameters.temperature;
  request.parameters.top_k.value = windows.parameters.top_k;
  request.parameters.top_p.value = windows.parameters.top_p;
  request.parameters.min_p.value = windows.parameters.min_p;
  request.pipeline = &pipeline;
  int32_t id;
  request.out_token_ids.data = &id;

  cpu::Executor executor;
  executor.passes = counting_passes();
  executor.places_key = key;
  std::vector<unsigned char> workspace(cpu::workspace_bytes(request, 1));
  work.reset();
  EXPECT_EQ(cpu::run(request, executor, workspace.data()), nullptr);
  return work.cost;
}

// How often a call with typical-p reads its row, at most, and weighs its tokens: lists of some of
// them, too.
struct Reads {
  const char *name;
  RowKind kind;
  double reads, weighings;
};

// Scan; weights with surprises; where many tokens are kept, a list of them or of what is not surely
// kept; where most are, their weights.
TEST(TypicalP, ReadsARowSoOften) {
  if (!counting_passes()) GTEST_SKIP() << "the scalar rows are sorted";
  constexpr int64_t kNumCols = 128256;
  const Windows typical = all_windows()[1];
  ASSERT_EQ(typical.numbers.typical_p, 0.9f);
  for (const Reads &most : {Reads{"peaked", RowKind::kPeaked, 3, 1.2},
                            Reads{"as of a language model", RowKind::kLanguage, 5.2, 1.7},
                            Reads{"all alike", RowKind::kFlat, 5.2, 2.3}}) {
    const std::vector<float> logits = cpu_bench::make_logits(most.kind, 1, kNumCols);
    const cpu_bench::AlignedBytes values = cpu_bench::to_dtype(logits, SAMPLER_F32);
    for (const uint64_t key : {uint64_t(0), uint64_t(1), uint64_t(0x123456789ABCDEF)}) {
      cost_of(typical, values, kNumCols, SAMPLER_F32, key);
      EXPECT_LE(double(work.num_read), most.reads * kNumCols) << most.name << ", key " << key;
      EXPECT_LE(double(work.num_weighed), most.weighings * kNumCols) << most.name;
    }
  }
}

class Windowed : public testing::TestWithParam<int64_t> {};

TEST_P(Windowed, RowsCostAFewReads) {
  if (!counting_passes()) GTEST_SKIP() << "the scalar rows are sorted";
  const int64_t num_cols = GetParam();
  constexpr uint64_t kKeys[] = {0, 1, 0x123456789ABCDEF};
  // The most that other rows may cost, in ordinary rows' limits.
  constexpr double kMostTimes = 2.5;
  for (const auto dtype : {SAMPLER_F32, SAMPLER_BF16}) {
    for (int kind = 0; kind < cpu_bench::kNumRowKinds; ++kind) {
      const std::vector<float> logits = cpu_bench::make_logits(RowKind(kind), 1, num_cols);
      const cpu_bench::AlignedBytes values = cpu_bench::to_dtype(logits, dtype);
      for (const Windows &windows : all_windows()) {
        double most = 0;
        for (const uint64_t key : kKeys) {
          most = std::max(most, cost_of(windows, values, num_cols, dtype, key));
        }
        const double weighings = most / (kWeighCost * double(num_cols));
        const bool is_ordinary = RowKind(kind) == RowKind::kLanguage;
        EXPECT_LE(weighings, (is_ordinary ? 1 : kMostTimes) * windows.most_weighings)
            << windows.name << ", " << name_of(RowKind(kind)) << ", type " << int(dtype);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Windowed, testing::Values(32000, 128256),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace complexity_test::windows_test
