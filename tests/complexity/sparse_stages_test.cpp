// Stages that few tokens are in cost what their lists and texts do, however many columns there are.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "contract/pipeline.h"
#include "contract/state_requests.h"
#include "counting_passes.h"
#include "cpu/operations.h"
#include "rows.h"
#include "state/rows.h"

namespace complexity_test::sparse_stages_test {
namespace {

namespace contract = sampler::contract;
namespace cpu = sampler::cpu;
using cpu_bench::RowKind;

constexpr int32_t kTextLength = 512;

// A slot of a state that holds `text`.
class State {
 public:
  explicit State(const std::vector<int32_t> &text) {
    sequences_.layout.max_tokens = sequences_.layout.max_distinct = 2 * kTextLength;
    sequences_.num_slots = 1;
    memory_.resize(sequences_.layout.slot_bytes() + contract::StateSlotLayout::kAlignment);
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    sequences_.slots = memory_.data() + -address % contract::StateSlotLayout::kAlignment;
    contract::ResetRequest reset;
    reset.state_slots = sequences_;
    reset.slots.count = reset.num_rows = 1;
    reset.is_new = true;
    sampler::state::run(reset);
    const int64_t offsets[] = {0, int64_t(text.size())};
    contract::AppendRequest append;
    append.state_slots = sequences_;
    append.slots.count = append.num_rows = 1;
    append.tokens = {offsets, text.data(), SAMPLER_ID_I32, 1, offsets[1]};
    uint32_t status = 7;
    append.out_row_status = &status;
    sampler::state::run(append);
    EXPECT_EQ(status, SAMPLER_ROW_OK);
  }

  const contract::StateSlots &sequences() const { return sequences_; }

 private:
  contract::StateSlots sequences_;
  std::vector<char> memory_;
};

// What the passes cost over a row of num_cols columns, in elements of a plain maximum.
double cost_of_row(int64_t num_cols, int32_t top_k, bool has_stages) {
  const auto logits = cpu_bench::make_logits(RowKind::kLanguage, 1, num_cols);
  const cpu_bench::AlignedBytes values = cpu_bench::to_dtype(logits, SAMPLER_F32);
  std::vector<int32_t> text;
  for (int32_t i = 0; i < kTextLength; ++i) text.push_back(i * i % 1009);
  const State state(text);
  const int64_t one[] = {0, 5}, words[] = {0, 2, 4};
  const float biases[] = {1.0f, -1.0f, 2.0f, 0.5f, -3.0f};
  contract::Pipeline pipeline;
  for (int stage = SAMPLER_STAGE_BIAS; stage <= SAMPLER_STAGE_NO_REPEAT_NGRAM; ++stage) {
    pipeline.edits.add(sampler_stage(stage));
  }
  pipeline.state_slots = state.sequences();
  pipeline.max_history = kTextLength;
  pipeline.biased = {one, text.data() + 9, SAMPLER_ID_I32, 1, 5};
  pipeline.biases = biases;
  pipeline.banned = {one, text.data() + 19, SAMPLER_ID_I32, 1, 5};
  pipeline.bad_words = {words, text.data() + 29, SAMPLER_ID_I32, 2, 4};
  pipeline.repetition_penalty.value = 1.1f;
  pipeline.frequency_penalty.value = 0.1f;
  pipeline.dry_multiplier.value = 0.8f;
  pipeline.dry_base.value = 1.75f;
  pipeline.dry_allowed_length.value = 2;
  pipeline.no_repeat_ngram_size.value = 3;
  int32_t id = -1;
  uint32_t status = 7;
  contract::SampleRequest request;
  request.input.values = values.data();
  request.input.num_rows = request.num_rows = 1;
  request.input.num_cols = request.input.stride = num_cols;
  request.parameters.temperature.value = top_k == 0 ? 0.0f : 0.8f;
  request.parameters.top_k.value = top_k;
  request.out_token_ids.data = &id;
  request.out_row_status = &status;
  if (has_stages) request.pipeline = &pipeline;
  cpu::Executor executor;
  executor.passes = counting_passes();
  std::vector<unsigned char> workspace(cpu::workspace_bytes(request, 1));
  work.reset();
  EXPECT_EQ(cpu::run(request, executor, workspace.data()), nullptr);
  EXPECT_EQ(status, SAMPLER_ROW_OK);
  return work.cost;
}

// A few vectors of the row for each token that is edited. With fewer columns than 16 a token the
// row is copied; texts, lists and repeats are read without the row, whose passes are what is
// counted here.
TEST(SparseStages, DoNotCostMoreWithMoreColumns) {
  if (!counting_passes()) GTEST_SKIP() << "the scalar rows are copied";
  for (const int32_t top_k : {0, 50}) {
    for (const int64_t num_cols : {32064, 128256, 513024}) {
      const double without = cost_of_row(num_cols, top_k, false);
      EXPECT_LE(cost_of_row(num_cols, top_k, true), without + 12.0 * kTextLength)
          << num_cols << " columns, top-k " << top_k;
    }
  }
}

}  // namespace
}  // namespace complexity_test::sparse_stages_test
