// Few edits cost at most three plain reads of a row, whatever stands in it and in the text.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "contract/pipeline.h"
#include "counting_passes.h"
#include "cpu/operations.h"
#include "rows.h"

namespace complexity_test {
namespace {

namespace contract = sampler::contract;
namespace cpu = sampler::cpu;
using cpu_bench::RowKind;

constexpr int64_t kNumCols = 128256;

// With 512 tokens of text, the likeliest token of the row among them, and half of all tokens
// banned.
class Call {
 public:
  Call(const cpu_bench::AlignedBytes &values, int64_t likeliest, float temperature, int32_t top_k) {
    for (int32_t i = 0; i < 512; ++i) text_.push_back(i % 3 == 0 ? int32_t(likeliest) : i * 250);
    for (size_t i = 0; i < kNumCols / 32; ++i) mask_.push_back(i % 2 == 0 ? 0x0F0F0F0Fu : ~0u);
    request_.input.values = values.data();
    request_.input.num_rows = request_.num_rows = 1;
    request_.input.num_cols = request_.input.stride = kNumCols;
    request_.parameters.temperature.value = temperature;
    request_.parameters.top_k.value = top_k;
    request_.out_token_ids.data = &id_;
  }

  double cost(bool has_penalties, bool has_mask) {
    contract::Pipeline pipeline;
    if (has_penalties) {
      pipeline.edits.add(SAMPLER_STAGE_PENALTIES);
      pipeline.history.offsets = offsets_;
      pipeline.history.ids = text_.data();
      pipeline.history.num_lists = 1;
      pipeline.history.num_ids = pipeline.max_history = offsets_[1];
      pipeline.repetition_penalty.value = 1.5f;
      pipeline.frequency_penalty.value = 0.5f;
    }
    if (has_mask) {
      pipeline.edits.add(SAMPLER_STAGE_MASK);
      pipeline.bitmasks = mask_.data();
      pipeline.num_bitmasks = 1;
      pipeline.bitmask_stride = int64_t(mask_.size());
    }
    request_.pipeline = &pipeline;
    cpu::Executor executor;
    executor.passes = counting_passes();
    std::vector<unsigned char> workspace(cpu::workspace_bytes(request_, 1));
    work.reset();
    EXPECT_EQ(cpu::run(request_, executor, workspace.data()), nullptr);
    return work.cost / double(kNumCols);
  }

 private:
  contract::SampleRequest request_;
  std::vector<int32_t> text_;
  const int64_t offsets_[2] = {0, 512};
  std::vector<uint32_t> mask_;
  int32_t id_ = 0;
};

TEST(EditedRows, CostAFewReadsMore) {
  if (!counting_passes()) GTEST_SKIP() << "the scalar rows are copied";
  for (int kind = 0; kind < cpu_bench::kNumRowKinds; ++kind) {
    const std::vector<float> logits = cpu_bench::make_logits(RowKind(kind), 1, kNumCols);
    const auto likeliest = std::max_element(logits.begin(), logits.end()) - logits.begin();
    const cpu_bench::AlignedBytes values = cpu_bench::to_dtype(logits, SAMPLER_F32);
    for (const int32_t top_k : {0, 50}) {
      Call call(values, likeliest, top_k == 0 ? 0.0f : 0.8f, top_k);
      const double without = call.cost(false, false);
      for (const bool has_penalties : {false, true}) {
        for (const bool has_mask : {false, true}) {
          EXPECT_LE(call.cost(has_penalties, has_mask), without + 3)
              << name_of(RowKind(kind)) << ", top-k " << top_k << ", penalties " << has_penalties
              << ", mask " << has_mask;
        }
      }
    }
  }
}

}  // namespace
}  // namespace complexity_test
