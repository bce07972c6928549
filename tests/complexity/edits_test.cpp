// Few edits cost at most three or four plain reads of a row, whatever stands in it and in the text; stages
// that are off cost nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "contract/pipeline.h"
#include "counting_passes.h"
#include "cpu/operations.h"
#include "rows.h"

namespace complexity_test::edits_test {
namespace {

namespace contract = sampler::contract;
namespace cpu = sampler::cpu;
using cpu_bench::RowKind;

constexpr int64_t kNumCols = 128256;

// What the passes cost over a row, in plain reads of it; without stages where `pipeline` is null.
double cost_of(const cpu_bench::AlignedBytes &values, float temperature, int32_t top_k,
               const contract::Pipeline *pipeline) {
  int32_t id = 0;
  contract::SampleRequest request;
  request.input.values = values.data();
  request.input.num_rows = request.num_rows = 1;
  request.input.num_cols = request.input.stride = kNumCols;
  request.parameters.temperature.value = temperature;
  request.parameters.top_k.value = top_k;
  request.out_token_ids.data = &id;
  request.pipeline = pipeline;
  cpu::Executor executor;
  executor.passes = counting_passes();
  std::vector<unsigned char> workspace(cpu::workspace_bytes(request, 1));
  work.reset();
  EXPECT_EQ(cpu::run(request, executor, workspace.data()), nullptr);
  return work.cost / double(kNumCols);
}

// With 512 tokens of text, the likeliest token of the row among them, and half of all tokens
// banned.
class Edits {
 public:
  explicit Edits(int64_t likeliest) {
    for (int32_t i = 0; i < 512; ++i) text_.push_back(i % 3 == 0 ? int32_t(likeliest) : i * 250);
    for (size_t i = 0; i < kNumCols / 32; ++i) mask_.push_back(i % 2 == 0 ? 0x0F0F0F0Fu : ~0u);
  }

  contract::Pipeline pipeline(bool has_penalties, bool has_mask) const {
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
    return pipeline;
  }

 private:
  std::vector<int32_t> text_;
  const int64_t offsets_[2] = {0, 512};
  std::vector<uint32_t> mask_;
};

TEST(EditedRows, CostAFewReadsMore) {
  if (!counting_passes()) GTEST_SKIP() << "the scalar rows are copied";
  for (int kind = 0; kind < cpu_bench::kNumRowKinds; ++kind) {
    const std::vector<float> logits = cpu_bench::make_logits(RowKind(kind), 1, kNumCols);
    const auto likeliest = std::max_element(logits.begin(), logits.end()) - logits.begin();
    const cpu_bench::AlignedBytes values = cpu_bench::to_dtype(logits, SAMPLER_F32);
    const Edits edits(likeliest);
    for (const int32_t top_k : {-1, 0, 50}) {
      const float temperature = top_k == 0 ? 0.0f : 0.8f;
      const double without = cost_of(values, temperature, top_k, nullptr);
      for (const bool has_penalties : {false, true}) {
        for (const bool has_mask : {false, true}) {
          const contract::Pipeline pipeline = edits.pipeline(has_penalties, has_mask);
          // A row that is listed where it has no edits is weighed.
          const double more = top_k < 0 ? 4 : 3;
          EXPECT_LE(cost_of(values, temperature, top_k, &pipeline), without + more)
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
  return cost_of(values, top_k == 0 ? 0.0f : 0.8f, top_k, text.empty() ? nullptr : &pipeline);
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
  for (const int32_t top_k : {-1, 0, 50}) {
    const double without = cost_of_text(values, top_k, {}, 0.0f);
    EXPECT_LE(cost_of_text(values, top_k, text, 0.1f), 1.15 * without) << top_k;
  }
}

// Texts of the likeliest token, of the first tokens, which all fall behind others, and of those
// that are taken for them. Top-k -1: draws from all tokens.
TEST(LongTexts, CostAFewReadsWhateverTheirTokensAre) {
  if (!counting_passes()) GTEST_SKIP() << "the scalar rows are copied";
  for (int kind = 0; kind < cpu_bench::kNumRowKinds; ++kind) {
    const auto logits = cpu_bench::make_logits(RowKind(kind), 1, kNumCols);
    const cpu_bench::AlignedBytes values = cpu_bench::to_dtype(logits, SAMPLER_F32);
    for (const int32_t top_k : {-1, 0, 50}) {
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

// ---- Stages that are off

// A pipeline as it is where other slots turn its stages on, edits or windows: all are listed, and
// nothing is asked for.
class OffPipeline {
 public:
  OffPipeline(bool has_edits, bool has_windows) {
    if (has_edits) {
      pipeline_.history = {offsets_, text_.data(), SAMPLER_ID_I32, 1, offsets_[1]};
      pipeline_.max_history = offsets_[1];
      const contract::TokenLists empty = {none_, text_.data(), SAMPLER_ID_I32, 1, 0};
      pipeline_.biased = pipeline_.allowed = pipeline_.banned = pipeline_.stop = empty;
      pipeline_.bitmasks = mask_.data();
      pipeline_.num_bitmasks = 1;
      pipeline_.bitmask_stride = int64_t(mask_.size());
      pipeline_.bitmask_indices = &no_mask_;
      add(SAMPLER_STAGE_BIAS, SAMPLER_STAGE_NO_REPEAT_NGRAM, &pipeline_.edits);
    }
    pipeline_.has_windows = has_windows;
    if (has_windows) add(SAMPLER_STAGE_TEMPERATURE, SAMPLER_STAGE_ADAPTIVE, &pipeline_.windows);
  }
  OffPipeline(const OffPipeline &) = delete;
  OffPipeline &operator=(const OffPipeline &) = delete;

  const contract::Pipeline *get() const { return &pipeline_; }

 private:
  static void add(sampler_stage first, sampler_stage last, contract::StageOrder *order) {
    for (sampler_stage stage = first; stage <= last; ++stage) order->add(stage);
  }

  const std::vector<int32_t> text_ = std::vector<int32_t>(512, 3);
  const std::vector<uint32_t> mask_ = std::vector<uint32_t>(kNumCols / 32);
  const int64_t offsets_[2] = {0, 512}, none_[2] = {0, 0};
  const int32_t no_mask_ = -1;
  contract::Pipeline pipeline_;
};

TEST(StagesThatAreOff, CostNothing) {
  if (!counting_passes()) GTEST_SKIP() << "the scalar rows are copied";
  const OffPipeline edits(true, false), windows(false, true), all(true, true);
  for (int kind = 0; kind < cpu_bench::kNumRowKinds; ++kind) {
    const auto logits = cpu_bench::make_logits(RowKind(kind), 1, kNumCols);
    const cpu_bench::AlignedBytes values = cpu_bench::to_dtype(logits, SAMPLER_F32);
    for (const float temperature : {0.0f, 0.8f}) {
      for (const int32_t top_k : {0, 50}) {
        const double without = cost_of(values, temperature, top_k, nullptr);
        for (const OffPipeline *const off : {&edits, &windows, &all}) {
          EXPECT_EQ(cost_of(values, temperature, top_k, off->get()), without)
              << name_of(RowKind(kind)) << ", temperature " << temperature << ", top-k " << top_k
              << ", edits " << (off != &windows) << ", windows " << (off != &edits);
        }
      }
    }
  }
}

}  // namespace
}  // namespace complexity_test::edits_test
