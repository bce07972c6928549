// Rows over many ranks whose parameters, randomness and edits are by slot.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "../seed.h"
#include "handle.h"
#include "problem.h"
#include "random_calls.h"

namespace shards_test::slots_test {
namespace {

constexpr int64_t kRanks[] = {1, 2, 3, 8, 64};

TEST(ShardSlots, HaveParametersAndRandomnessOfTheirOwn) {
  const Handle sampler;
  std::mt19937_64 random(seeded(4));
  for (int i = 0; i < 150; ++i) {
    const auto kind = sampler_input_kind(random() % 4 == 0);
    const Rows rows = make_rows(kNumRows, kNumCols, sampler_dtype(i % 3), kind, true, random());
    SampleCall call = draw_call(random);
    call.params.temperature = kind == SAMPLER_LOGITS ? call.params.temperature : 1.0f;
    SlotArrays arrays(random, 60);
    arrays.put(random, &call);
    call.max_top_k = i % 2 ? 60 : 0;
    if (random() % 2) call.wanted.num_top = 4;
    Outcome outcome;
    ASSERT_EQ(compare_sample(sampler, rows, call, uneven_ranges(kNumCols, kRanks[i % 5], random()),
                             &outcome),
              "")
        << "call " << i;
  }
}

TEST(ShardSlots, HaveEditsOfTheirOwn) {
  const Handle sampler;
  std::mt19937_64 random(seeded(5));
  for (int i = 0; i < 250; ++i) {
    const Rows rows =
        make_rows(kNumRows, kNumCols, sampler_dtype(i % 3), SAMPLER_LOGITS, i % 4 == 0, random());
    SampleCall call = draw_call(random);
    SlotArrays arrays(random, 60);
    arrays.put(random, &call);
    Edits edits(random);
    edits.put(random, &call);
    call.max_top_k = 60;
    Outcome outcome;
    ASSERT_EQ(compare_sample(sampler, rows, call, uneven_ranges(kNumCols, kRanks[i % 5], random()),
                             &outcome),
              "")
        << "call " << i;
  }
}

TEST(ShardSlots, HaveARunningTopP) {
  const Handle sampler;
  std::mt19937_64 random(seeded(6));
  for (int i = 0; i < 20; ++i) {
    const Rows rows = make_rows(kNumRows, kNumCols, SAMPLER_F32, SAMPLER_LOGITS, false, random());
    SampleCall call = draw_call(random);
    call.params.top_p = 0.9f;
    call.params.top_p_decay = 0.8f;
    std::vector<float> values(size_t(kNumRows) * SAMPLER_NUM_ADAPTIVE_VALUES);
    for (float &value : values) value = pick<float>(random, {0.4f, 0.7f, 0.1f});
    sampler_pipeline pipeline = {};
    pipeline.struct_size = sizeof pipeline;
    pipeline.adaptive_values = values.data();
    call.args.pipeline = &pipeline;
    Outcome outcome;
    ASSERT_EQ(compare_sample(sampler, rows, call, even_ranges(kNumCols, kRanks[i % 5]), &outcome),
              "");
  }
}

TEST(ShardTies, OfJointTopPAreKeptAllOrNotAtAll) {
  const Handle best, scalar("scalar", 3);
  std::mt19937_64 random(seeded(8));
  int64_t num_beyond = 0, num_listed = 0;  // rows that keep more than top-k's number, and others
  for (int i = 0; i < 300; ++i) {
    const JointTies problem(random);
    const SampleCall &call = problem.call;
    Outcome outcome;
    ASSERT_EQ(compare_sample(i % 2 ? Samplers(best) : Samplers(scalar), problem.rows, call,
                             uneven_ranges(JointTies::kNumCols, kRanks[i % 5], random()), &outcome),
              "")
        << to_text(call) << " call " << i;
    ASSERT_EQ(outcome.num_exchanges, problem.num_exchanges()) << to_text(call) << " call " << i;
    for (const int32_t count : sample_whole(best, problem.rows, call).kept_counts) {
      ++(count > call.params.top_k ? num_beyond : num_listed);
    }
  }
  EXPECT_GT(num_beyond, 300);
  EXPECT_GT(num_listed, 300);
}

// A list that holds more than max_top_k would need.
TEST(ShardSlots, RefuseALargerTopKThanMessagesHold) {
  const Handle sampler;
  const Rows rows = make_rows(2, 100, SAMPLER_F32, SAMPLER_LOGITS, false, 0);
  const int32_t top_k[] = {8, 9};
  sampler_row_params row_params = {};
  row_params.struct_size = sizeof row_params;
  row_params.top_k = top_k;
  int32_t tokens[2] = {77, 77};
  sampler_row_status statuses[2] = {77, 77};
  sampler_sample_args args = {};
  args.struct_size = sizeof args;
  args.input = rows.whole();
  args.row_params = &row_params;
  args.out_token_ids = tokens;
  args.out_row_status = statuses;
  sampler_shard_args shard = {};
  shard.struct_size = sizeof shard;
  shard.sample = &args;
  shard.total_cols = 100;
  shard.num_ranks = 1;
  shard.max_top_k = 8;
  ASSERT_TRUE(run_ranks(sampler, {shard}).ok());
  EXPECT_EQ(statuses[0], SAMPLER_ROW_OK);
  EXPECT_EQ(statuses[1], SAMPLER_ROW_INVALID_SHARD);
  EXPECT_EQ(tokens[1], -1);
}

}  // namespace
}  // namespace shards_test::slots_test
