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

// ---- Long texts

// The cost of a row whose text is penalised; an empty text: of one without stages.
double cost_of_text(const cpu_bench::AlignedBytes &values, int32_t top_k,
                    const std::vector<int32_t> &text, float frequency) {
  const int64_t offsets[] = {0, int64_t(text.size())};
  contract::Pipeline pipeline;
  pipeline.edits.add(SAMPLER_STAGE_PENALTIES);
  pipeline.history = {offsets, text.data(), SAMPLER_ID_I32, 1, offsets[1]};
  pipeline.max_history = offsets[1];
  pipeline.repetition_penalty.value = 1.1f;
  pipeline.frequency_penalty.value = frequency;
  int32_t id = 0;
  contract::SampleRequest request;
  request.input.values = values.data();
  request.input.num_rows = request.num_rows = 1;
  request.input.num_cols = request.input.stride = kNumCols;
  request.parameters.temperature.value = top_k == 0 ? 0.0f : 0.8f;
  request.parameters.top_k.value = top_k;
  request.out_token_ids.data = &id;
  request.pipeline = text.empty() ? nullptr : &pipeline;
  cpu::Executor executor;
  executor.passes = counting_passes();
  std::vector<unsigned char> workspace(cpu::workspace_bytes(request, 1));
  work.reset();
  EXPECT_EQ(cpu::run(request, executor, workspace.data()), nullptr);
  return work.cost / double(kNumCols);
}

// The row's first tokens.
std::vector<int32_t> first_tokens(const std::vector<float> &row, int64_t count) {
  std::vector<int32_t> ids(row.size());
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = int32_t(i);
  std::partial_sort(ids.begin(), ids.begin() + count, ids.end(),
                    [&](int32_t a, int32_t b) { return row[size_t(a)] > row[size_t(b)]; });
  ids.resize(size_t(count));
  return ids;
}

constexpr int64_t kTextLength = 4096;

// Tokens that have nothing to do with the row are passed over.
TEST(LongTexts, CostATenthMoreWhereFewOfTheirTokensAreLikely) {
  if (!counting_passes()) GTEST_SKIP() << "the scalar rows are copied";
  const auto logits = cpu_bench::make_logits(RowKind::kLanguage, 1, kNumCols);
  const cpu_bench::AlignedBytes values = cpu_bench::to_dtype(logits, SAMPLER_F32);
  std::vector<int32_t> text;
  for (int64_t i = 0; i < kTextLength; ++i) text.push_back(int32_t(i * i % kNumCols));
  for (const int32_t top_k : {0, 50}) {
    const double without = cost_of_text(values, top_k, {}, 0.0f);
    EXPECT_LE(cost_of_text(values, top_k, text, 0.1f), 1.15 * without) << top_k;
  }
}

// Texts of the likeliest token, of the first tokens, which all fall behind others, and of those
// that are taken for them.
TEST(LongTexts, CostAFewReadsWhateverTheirTokensAre) {
  if (!counting_passes()) GTEST_SKIP() << "the scalar rows are copied";
  for (int kind = 0; kind < cpu_bench::kNumRowKinds; ++kind) {
    const auto logits = cpu_bench::make_logits(RowKind(kind), 1, kNumCols);
    const cpu_bench::AlignedBytes values = cpu_bench::to_dtype(logits, SAMPLER_F32);
    for (const int32_t top_k : {0, 50}) {
      const double without = cost_of_text(values, top_k, {}, 0.0f);
      for (const int64_t num_first : {1, 40, 400, 4000}) {
        const std::vector<int32_t> first = first_tokens(logits, num_first);
        for (const int32_t shift : {0, 1024, 8192, 32768, 65536}) {
          std::vector<int32_t> text;
          for (int64_t i = 0; i < kTextLength; ++i) {
            text.push_back((first[size_t(i % num_first)] + shift) % int32_t(kNumCols));
          }
          for (const float frequency : {0.001f, 100.0f}) {
            EXPECT_LE(cost_of_text(values, top_k, text, frequency), without + 8)
                << name_of(RowKind(kind)) << ", top-k " << top_k << ", " << num_first
                << " tokens, shift " << shift << ", frequency " << frequency;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace complexity_test
