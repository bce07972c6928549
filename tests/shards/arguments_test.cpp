// Every rule of the arguments, broken one at a time; ranks that disagree; messages that are none.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "../sized.h"
#include "few_ranks.h"
#include "handle.h"

namespace shards_test::arguments_test {
namespace {

constexpr int64_t kNumRows = SampleRanks::kNumRows, kNumCols = SampleRanks::kNumCols,
                  kNumRanks = SampleRanks::kNumRanks;

struct Ranks : SampleRanks {
  Outcome run() { return SampleRanks::run(sampler); }

  // One token a slot, for what needs a history.
  void give_history() {
    static const int64_t offsets[] = {0, 1, 2};
    static const int32_t ids[] = {1, 2};
    for (int64_t rank = 0; rank < kNumRanks; ++rank) {
      pipelines[rank].history = {offsets, ids, kNumRows, 2};
      samples[rank].pipeline = &pipelines[rank];
    }
  }

  bool nothing_is_written() const {
    for (const auto &rank : tokens) {
      for (const int32_t token : rank) {
        if (token != kUntouched) return false;
      }
    }
    return true;
  }

  Handle sampler;
};

TEST(ShardArguments, AreFineAsTheyAre) {
  Ranks ranks;
  const Outcome outcome = ranks.run();
  EXPECT_TRUE(outcome.ok()) << outcome.errors[0];
  EXPECT_EQ(outcome.num_exchanges, 3);
  EXPECT_FALSE(ranks.nothing_is_written());
}

struct Broken {
  sampler_status status;
  std::string text;
  std::function<void(Ranks &)> breaks;  // rank 0's arguments
};

TEST(ShardArguments, AreCheckedByThePlan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  static int32_t somewhere[4];
  static float floats[64];
  constexpr auto kInvalid = SAMPLER_ERROR_INVALID_ARGUMENT,
                 kUnsupported = SAMPLER_ERROR_UNSUPPORTED;
  const std::string no_form = " is set; it has no sharded form";
  const Broken cases[] = {
      {kInvalid, "0 of sample, filter, select, residual and verify are set; it must be one",
       [](Ranks &r) { r.shards[0].sample = nullptr; }},
      {kInvalid, "2 of sample, filter, select, residual and verify are set; it must be one",
       [](Ranks &r) {
         static const sampler_filter_args filter = {};
         r.shards[0].filter = &filter;
       }},
      {kInvalid, "total_cols is 0; it must be at least 1",
       [](Ranks &r) { r.shards[0].total_cols = 0; }},
      {kInvalid, "total_cols is 1048576; it must be below 1048576",
       [](Ranks &r) { r.shards[0].total_cols = 1 << 20; }},
      {kInvalid, "num_ranks is 0; it must be at least 1",
       [](Ranks &r) { r.shards[0].num_ranks = 0; }},
      {kInvalid, "num_ranks is 1025; it must be below 1025",
       [](Ranks &r) { r.shards[0].num_ranks = 1025; }},
      {kInvalid, "rank is -1; it must be at least 0", [](Ranks &r) { r.shards[0].rank = -1; }},
      {kInvalid, "rank is 4; it must be below 4", [](Ranks &r) { r.shards[0].rank = 4; }},
      {kInvalid, "first_token_id is -1; it must be at least 0",
       [](Ranks &r) { r.shards[0].first_token_id = -1; }},
      {kInvalid, "first_token_id is 41; it must be below 41",
       [](Ranks &r) { r.shards[0].first_token_id = 41; }},
      {kInvalid, "max_top_k is -1; it must be at least 0",
       [](Ranks &r) { r.shards[0].max_top_k = -1; }},
      {kInvalid, "max_top_k is 41; it must be below 41",
       [](Ranks &r) { r.shards[0].max_top_k = 41; }},
      {kInvalid, "input.num_cols is -1; it must be at least 0",
       [](Ranks &r) { r.samples[0].input.num_cols = -1; }},
      {kInvalid, "input.num_cols is 10; it must be below 10",
       [](Ranks &r) { r.shards[0].first_token_id = 31; }},
      {kInvalid, "input.num_rows is -1; it must be at least 0",
       [](Ranks &r) { r.samples[0].input.num_rows = -1; }},
      {kInvalid, "input.candidate_ids is set; it must be NULL in a shard",
       [](Ranks &r) { r.samples[0].input.candidate_ids = somewhere; }},
      {kInvalid, "input.candidate_counts is set; it must be NULL in a shard",
       [](Ranks &r) { r.samples[0].input.candidate_counts = somewhere; }},
      {kInvalid, "params->top_p is NaN; it must be a number",
       [nan](Ranks &r) { r.params[0].top_p = nan; }},
      {kInvalid, "reports->num_top_logprobs is 41; it must be below 41",
       [](Ranks &r) { r.samples[0].report_args.num_top_logprobs = 41; }},
      {kUnsupported, "params has SAMPLER_STAGE_TYPICAL_P; it has no sharded form",
       [](Ranks &r) { r.params[0].typical_p = 0.5f; }},
      {kUnsupported, "params has SAMPLER_STAGE_XTC; it has no sharded form",
       [](Ranks &r) { r.params[0].xtc_probability = 0.5f; }},
      {kUnsupported, "params has SAMPLER_STAGE_TEMPERATURE; it has no sharded form",
       [](Ranks &r) { r.params[0].dynamic_temperature_range = 0.5f; }},
      {kUnsupported, "params has SAMPLER_STAGE_ADAPTIVE; it has no sharded form",
       [](Ranks &r) { r.params[0].adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V2; }},
      {kUnsupported, "row_params->forced_token_id" + no_form,
       [](Ranks &r) {
         static const int64_t forced[kNumRows] = {1, 1};
         r.row_params[0].forced_token_id = forced;
         r.samples[0].row_params = &r.row_params[0];
       }},
      {kUnsupported, "reports->out_observations" + no_form,
       [](Ranks &r) { r.samples[0].report_args.out_observations = floats; }},
      {kUnsupported, "reports->num_chosen" + no_form,
       [](Ranks &r) {
         r.samples[0].report_args.num_chosen = 1;
         r.samples[0].report_args.chosen_token_ids = somewhere;
         r.samples[0].report_args.out_chosen_logprobs = floats;
       }},
      {kUnsupported, "reports->kept_capacity" + no_form,
       [](Ranks &r) {
         r.samples[0].report_args.kept_capacity = 1;
         r.samples[0].report_args.out_kept_probabilities = floats;
       }},
      {kUnsupported, "reports->out_removed_by" + no_form,
       [](Ranks &r) {
         static uint8_t removed[kNumRows * kNumCols];
         r.samples[0].report_args.out_removed_by = removed;
       }},
      {kUnsupported, "reports->num_top_logprobs of RAW beside edits" + no_form,
       [](Ranks &r) {
         r.samples[0].pipeline = &r.pipelines[0];
         r.pipelines[0].dense_bias = floats;
         r.pipelines[0].num_dense_biases = 1;
         r.samples[0].report_args.num_top_logprobs = 1;
         r.samples[0].report_args.out_top_logprobs = floats;
       }},
  };
  for (const Broken &broken : cases) {
    Ranks ranks;
    broken.breaks(ranks);
    sampler_shard_plan_info plan = {};
    plan.struct_size = sizeof plan;
    EXPECT_EQ(sampler_shard_plan(ranks.sampler, &ranks.shards[0], &plan), broken.status)
        << broken.text;
    EXPECT_EQ(sampler_last_error(), broken.text);
    EXPECT_EQ(plan.num_exchanges, 0);
    alignas(8) char memory[4096];
    ranks.shards[0].send = memory;
    ranks.shards[0].send_bytes = sizeof memory;
    EXPECT_EQ(sampler_shard_round(ranks.sampler, &ranks.shards[0], 0), broken.status);
    EXPECT_EQ(sampler_last_error(), broken.text);
    EXPECT_TRUE(ranks.nothing_is_written());
  }
}

TEST(ShardArguments, AreCheckedForNull) {
  Ranks ranks;
  sampler_shard_plan_info plan = {};
  plan.struct_size = sizeof plan;
  EXPECT_EQ(sampler_shard_plan(nullptr, &ranks.shards[0], &plan), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(sampler_last_error(), "sampler is NULL; it must come from sampler_create");
  EXPECT_EQ(sampler_shard_plan(ranks.sampler, nullptr, &plan), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(sampler_last_error(), "args is NULL; it must point to a struct");
  EXPECT_EQ(sampler_shard_plan(ranks.sampler, &ranks.shards[0], nullptr),
            SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(sampler_last_error(), "out_plan is NULL; it is required");
  plan.struct_size = 8;
  EXPECT_EQ(sampler_shard_plan(ranks.sampler, &ranks.shards[0], &plan),
            SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(sampler_shard_round(nullptr, &ranks.shards[0], 0), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(sampler_shard_round(ranks.sampler, nullptr, 0), SAMPLER_ERROR_INVALID_ARGUMENT);
}

TEST(ShardArguments, HaveRoomForMessages) {
  Ranks ranks;
  sampler_shard_plan_info plan = {};
  plan.struct_size = sizeof plan;
  sampler_shard_args &shard = ranks.shards[0];
  ASSERT_EQ(sampler_shard_plan(ranks.sampler, &shard, &plan), SAMPLER_OK);
  Exact workspace(plan.workspace_bytes), send(plan.max_message_bytes),
      received(plan.max_message_bytes * kNumRanks);
  SampleArgs &args = ranks.samples[0];
  const auto expect_refused = [&](int64_t round, sampler_status status, const std::string &text) {
    EXPECT_EQ(sampler_shard_round(ranks.sampler, &shard, round), status) << text;
    EXPECT_EQ(sampler_last_error(), text);
  };
  constexpr auto kInvalid = SAMPLER_ERROR_INVALID_ARGUMENT;
  expect_refused(0, kInvalid,
                 "send_bytes is 0; round 0 needs " + std::to_string(plan.message_bytes[0]));
  shard.send_bytes = send.size();
  expect_refused(0, kInvalid, "send is NULL; it is required");
  shard.send = send.data();
  expect_refused(-1, kInvalid, "round is -1; it must be at least 0");
  expect_refused(4, kInvalid, "round is 4; it must be below 4");
  args.exec.workspace = workspace.data();
  args.exec.workspace_bytes = plan.workspace_bytes - 1;
  expect_refused(0, SAMPLER_ERROR_WORKSPACE_TOO_SMALL,
                 "exec.workspace_bytes is " + std::to_string(plan.workspace_bytes - 1) +
                     "; this call needs " + std::to_string(plan.workspace_bytes));
  args.exec.workspace_bytes = plan.workspace_bytes;
  expect_refused(
      1, kInvalid,
      "received_bytes is 0; round 1 needs " + std::to_string(plan.message_bytes[0] * kNumRanks));
  shard.received = received.data();
  shard.received_bytes = received.size();
  expect_refused(1, kInvalid,
                 "round is 1; rounds come in order, from 0 on, with a workspace of their own");
  EXPECT_EQ(sampler_shard_round(ranks.sampler, &shard, 0), SAMPLER_OK);
  expect_refused(2, kInvalid,
                 "round is 2; rounds come in order, from 0 on, with a workspace of their own");
  expect_refused(1, kInvalid,
                 "received has no message of round 0 at the place of rank 0; messages stand in the "
                 "order of their ranks");
  shard.send = args.exec.workspace;
  expect_refused(
      0, kInvalid,
      "send overlaps exec.workspace; outputs must overlap neither inputs nor each other");
  EXPECT_TRUE(ranks.nothing_is_written());
}

// Ranks that disagree: the same error on all, and no token.
TEST(ShardArguments, AreTheSameOnEveryRank) {
  struct Case {
    std::string text;
    std::function<void(Ranks &)> breaks;  // rank 2's arguments
  };
  const std::string rule = " differs between ranks 0 and 2; it must be the same";
  const Case cases[] = {
      {"params or row_params" + rule, [](Ranks &r) { r.params[2].temperature = 0.5f; }},
      {"params or row_params" + rule, [](Ranks &r) { r.params[2].min_p = 0.5f; }},
      {"random" + rule, [](Ranks &r) { r.samples[2].random.seed = 1; }},
      {"random" + rule, [](Ranks &r) { r.samples[2].random.offset = 1; }},
      {"the operation, its rows, columns, ranks or reports" + rule,
       [](Ranks &r) { r.shards[2].total_cols = kNumCols + 1; }},
      {"the operation, its rows, columns, ranks or reports" + rule,
       [](Ranks &r) { r.samples[2].draw_method = SAMPLER_DRAW_GUMBEL; }},
      {"pipeline" + rule,
       [](Ranks &r) {
         static const float biases[kNumCols] = {};
         r.pipelines[2].dense_bias = biases;
         r.pipelines[2].num_dense_biases = 1;
         r.samples[2].pipeline = &r.pipelines[2];
       }},
      {"first_token_id of rank 2 is 19; it must be 20, where the range before it ends",
       [](Ranks &r) { r.shards[2].first_token_id = 19; }},
      {"first_token_id of rank 3 is 30; it must be 29, where the range before it ends",
       [](Ranks &r) { r.samples[2].input.num_cols = 9; }},
      {"the ranks' ranges end at 39; it must be total_cols, 40",
       [](Ranks &r) { r.samples[3].input.num_cols = 9; }},
      {"received has no message of round 0 at the place of rank 2; messages stand in the order of "
       "their ranks",
       [](Ranks &r) { r.shards[2].rank = 3; }},
  };
  for (const Case &which : cases) {
    Ranks ranks;
    which.breaks(ranks);
    if (which.text.find("reports") != std::string::npos) {
      // The plan's digest shows it before any message is sent whose size may differ.
      sampler_shard_plan_info plans[2] = {};
      for (int i = 0; i < 2; ++i) {
        plans[i].struct_size = sizeof plans[i];
        ASSERT_EQ(sampler_shard_plan(ranks.sampler, &ranks.shards[2 * i], &plans[i]), SAMPLER_OK);
      }
      EXPECT_NE(plans[0].digest, plans[1].digest);
      if (plans[0].message_bytes[0] != plans[1].message_bytes[0]) continue;
    }
    const Outcome outcome = ranks.run();
    EXPECT_EQ(outcome.num_exchanges, 1);
    for (int64_t rank = 0; rank < kNumRanks; ++rank) {
      EXPECT_EQ(outcome.statuses[rank], SAMPLER_ERROR_INVALID_ARGUMENT) << which.text;
      EXPECT_EQ(outcome.errors[rank], which.text);
    }
    EXPECT_TRUE(ranks.nothing_is_written());
  }
}

// Arrays may differ in one row: it is bad everywhere, and its neighbour good.
TEST(ShardArguments, InArraysMakeRowsBadWhereTheyDiffer) {
  const auto expect_one_bad = [](Ranks &ranks) {
    const Outcome outcome = ranks.run();
    ASSERT_TRUE(outcome.ok());
    for (int64_t rank = 0; rank < kNumRanks; ++rank) {
      EXPECT_EQ(ranks.statuses[rank][0], SAMPLER_ROW_OK);
      EXPECT_GE(ranks.tokens[rank][0], 0);
      EXPECT_EQ(ranks.statuses[rank][1], SAMPLER_ROW_INVALID_SHARD);
      EXPECT_EQ(ranks.tokens[rank][1], -1);
    }
  };
  {
    Ranks ranks;
    const uint64_t seeds[2][kNumRows] = {{1, 2}, {1, 3}};
    for (int64_t rank = 0; rank < kNumRanks; ++rank) {
      ranks.samples[rank].random.seeds = seeds[rank == 1];
      ranks.samples[rank].random.num_seeds = kNumRows;
    }
    expect_one_bad(ranks);
  }
  {
    Ranks ranks;
    const float temperatures[2][kNumRows] = {{1, 1}, {1, 0.5f}};
    for (int64_t rank = 0; rank < kNumRanks; ++rank) {
      ranks.row_params[rank].temperature = temperatures[rank == 3];
      ranks.samples[rank].row_params = &ranks.row_params[rank];
    }
    expect_one_bad(ranks);
  }
  {
    Ranks ranks;
    const int64_t offsets[] = {0, 2, 4};
    const int32_t ids[2][4] = {{1, 2, 3, 4}, {1, 2, 3, 5}};
    for (int64_t rank = 0; rank < kNumRanks; ++rank) {
      ranks.pipelines[rank].banned = {offsets, ids[rank == 0], kNumRows, 4};
      ranks.samples[rank].pipeline = &ranks.pipelines[rank];
    }
    expect_one_bad(ranks);
  }
  {
    Ranks ranks;
    const int32_t guided_by[2][kNumRows] = {{1, 0}, {1, 1}};
    for (int64_t rank = 0; rank < kNumRanks; ++rank) {
      ranks.pipelines[rank].guidance_logits = ranks.samples[rank].input.values;
      ranks.pipelines[rank].num_guidance_rows = kNumRows;
      ranks.pipelines[rank].guidance_row_indices = guided_by[rank == 2];
      ranks.params[rank].guidance_scale = 1.5f;
      ranks.samples[rank].pipeline = &ranks.pipelines[rank];
    }
    expect_one_bad(ranks);
  }
  {
    // Words of a slot's own: of the second one the last id, then which it has.
    const int64_t offsets[] = {0, 1, 3}, of_slots[2][3] = {{0, 1, 2}, {0, 1, 1}};
    const int32_t ids[2][3] = {{1, 2, 3}, {1, 2, 4}};
    for (const bool of_ids : {true, false}) {
      Ranks ranks;
      ranks.give_history();
      for (int64_t rank = 0; rank < kNumRanks; ++rank) {
        ranks.pipelines[rank].bad_words = {offsets, ids[of_ids && rank == 2], 2, 3};
        ranks.pipelines[rank].bad_word_offsets = of_slots[!of_ids && rank == 2];
      }
      expect_one_bad(ranks);
    }
  }
}

// Lists of words that all slots have: no row has a token of them where ranks disagree.
TEST(ShardArguments, InWordsMakeAllRowsBadWhereTheyDiffer) {
  const int64_t offsets[2][3] = {{0, 1, 3}, {0, 2, 3}};
  const int32_t ids[2][3] = {{3, 5, 6}, {3, 5, 7}};
  for (const int which : {0, 1, 2}) {
    for (const bool are_breakers : {false, true}) {
      Ranks ranks;
      ranks.give_history();
      for (int64_t rank = 0; rank < kNumRanks; ++rank) {
        const sampler_token_lists words = {offsets[rank == 2 && which == 1],
                                           ids[rank == 2 && which == 2], 2, 3};
        ranks.params[rank].dry_multiplier = are_breakers ? 0.8f : 0.0f;
        (are_breakers ? ranks.pipelines[rank].dry_breakers : ranks.pipelines[rank].bad_words) =
            words;
      }
      ASSERT_TRUE(ranks.run().ok());
      for (int64_t rank = 0; rank < kNumRanks; ++rank) {
        for (int64_t row = 0; row < kNumRows; ++row) {
          const uint32_t expected = which ? uint32_t(SAMPLER_ROW_INVALID_SHARD) : 0u;
          EXPECT_EQ(ranks.statuses[rank][row], expected) << which << are_breakers;
        }
      }
    }
  }
}

// Whatever the messages hold: no crash, and a token of the row, or none.
TEST(ShardArguments, MayBeSpoiledOnTheWay) {
  uint64_t state = 1;
  const auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
  };
  for (int i = 0; i < 400; ++i) {
    Ranks ranks;
    for (int64_t rank = 0; rank < kNumRanks; ++rank) {
      ranks.params[rank].top_k = i % 3 == 0 ? 5 : 0;
      ranks.params[rank].top_p = i % 2 ? 0.9f : 1.0f;
      ranks.params[rank].top_k_ties = SAMPLER_TIES_KEEP;
    }
    const Outcome outcome =
        ranks.SampleRanks::run(ranks.sampler, [&](int64_t, char *messages, size_t bytes) {
          for (int change = 0; change < 4; ++change) {
            const size_t place = 64 + next() % (bytes - 64);  // of a row
            messages[next() % kNumRanks * bytes + place] ^= char(1 + next() % 255);
          }
        });
    ASSERT_TRUE(outcome.ok());
    for (const auto &rank : ranks.tokens) {
      for (const int32_t token : rank) EXPECT_TRUE(token >= -1 && token < kNumCols) << token;
    }
  }
}

TEST(ShardArguments, MayHaveNoRows) {
  Ranks ranks;
  for (SampleArgs &args : ranks.samples) args.input.num_rows = 0;
  const Outcome outcome = ranks.run();
  EXPECT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.num_exchanges, 0);
  EXPECT_EQ(outcome.plan.workspace_bytes, 0u);
  EXPECT_TRUE(ranks.nothing_is_written());
}

// What docs/sharding.md says of exchanges and bytes.
TEST(ShardPlan, NeedsFewBytes) {
  Ranks ranks;
  SampleArgs &args = ranks.samples[0];
  sampler_shard_args &shard = ranks.shards[0];
  args.input.num_rows = 64;
  args.input.num_cols = 25000;
  args.input.row_stride = 0;
  shard.total_cols = 200000;
  shard.num_ranks = 8;
  const auto plan = [&] {
    sampler_shard_plan_info info = {};
    info.struct_size = sizeof info;
    EXPECT_EQ(sampler_shard_plan(ranks.sampler, &shard, &info), SAMPLER_OK) << sampler_last_error();
    return info;
  };
  const auto bytes = [&] {
    size_t sum = 0;
    for (const size_t message : plan().message_bytes) sum += message;
    return sum;
  };
  const size_t gathered = 64 * 25000 * sizeof(float);
  EXPECT_EQ(plan().num_exchanges, 3);
  EXPECT_LT(bytes() * 500, gathered);
  ranks.params[0].top_p = 0.95f;
  EXPECT_EQ(plan().num_exchanges, 7);
  ranks.params[0].top_k = 50;
  EXPECT_EQ(plan().num_exchanges, 1);
  EXPECT_LT(bytes() * 100, gathered);
  float logprobs[64];
  args.report_args.out_logprobs = logprobs;
  EXPECT_EQ(plan().num_exchanges, 2);
  // The sums come with the exchange that brings the token, or its rank.
  ranks.params[0].top_k_ties = SAMPLER_TIES_KEEP;
  EXPECT_EQ(plan().num_exchanges, 2);
  int32_t token_ranks[64];
  args.report_args.out_ranks = token_ranks;
  EXPECT_EQ(plan().num_exchanges, 2);
  ranks.params[0].filter_order = SAMPLER_FILTERS_JOINT;
  EXPECT_EQ(plan().num_exchanges, 3);
  // And where JOINT keeps all ties or none, the token with the sums.
  ranks.params[0].top_p_ties = SAMPLER_TIES_KEEP;
  EXPECT_EQ(plan().num_exchanges, 2);
  ranks.params[0] = sampler_params_default();
  EXPECT_EQ(plan().num_exchanges, 4);
  args.draw_method = SAMPLER_DRAW_GUMBEL;
  EXPECT_EQ(plan().num_exchanges, 3);
  args.report_args.out_ranks = nullptr;
  EXPECT_EQ(plan().num_exchanges, 2);
  args.report_args.out_logprobs = nullptr;
  args.draw_method = SAMPLER_DRAW_INVERSE_CDF;
  ranks.params[0] = sampler_params_default();
  ranks.params[0].temperature = 0.0f;
  EXPECT_EQ(plan().num_exchanges, 1);
  ranks.params[0].temperature = 1.0f;
  args.draw_method = SAMPLER_DRAW_GUMBEL;
  EXPECT_EQ(plan().num_exchanges, 2);
}

// All but what docs/sharding.md names.
TEST(ShardPlan, TakesThreeExchangesAtMost) {
  static const float biases[kNumCols] = {};
  static int32_t token_ranks[kNumRows];
  static float logprobs[kNumRows];
  for (int bits = 0; bits < 1 << 11; ++bits) {
    const auto is_set = [bits](int bit) { return (bits >> bit & 1) != 0; };
    Ranks ranks;
    sampler_params &params = ranks.params[0];
    SampleArgs &args = ranks.samples[0];
    params.top_k = is_set(0) ? 5 : 0;
    params.top_p = is_set(1) ? 0.9f : 1.0f;
    params.min_p = is_set(2) ? 0.1f : 0.0f;
    params.top_k_ties = is_set(3) ? SAMPLER_TIES_KEEP : SAMPLER_TIES_EXACT;
    params.filter_order = is_set(4) ? SAMPLER_FILTERS_JOINT : SAMPLER_FILTERS_SEQUENTIAL;
    args.draw_method = is_set(5) ? SAMPLER_DRAW_GUMBEL : SAMPLER_DRAW_INVERSE_CDF;
    args.report_args.logprob_kind = is_set(6) ? SAMPLER_LOGPROB_PROCESSED : SAMPLER_LOGPROB_RAW;
    args.report_args.out_logprobs = is_set(7) ? logprobs : nullptr;
    args.report_args.out_ranks = is_set(8) ? token_ranks : nullptr;
    params.top_p_ties = is_set(10) ? SAMPLER_TIES_KEEP : SAMPLER_TIES_EXACT;
    if (is_set(9)) {
      ranks.pipelines[0].dense_bias = biases;
      ranks.pipelines[0].num_dense_biases = 1;
      args.pipeline = &ranks.pipelines[0];
    }
    const bool is_alone = is_set(1) && !is_set(0);
    const bool has_late_value = is_set(8) && !is_set(0) && !is_set(5);
    const bool has_ties_by_sum = is_set(0) && is_set(1) && is_set(3) && is_set(4) && !is_set(10);
    const bool has_value_before_edits = is_set(8) && is_set(9) && !is_set(6) && has_ties_by_sum;
    sampler_shard_plan_info plan = {};
    plan.struct_size = sizeof plan;
    ASSERT_EQ(sampler_shard_plan(ranks.sampler, &ranks.shards[0], &plan), SAMPLER_OK)
        << sampler_last_error();
    if (is_alone) {
      EXPECT_GT(plan.num_exchanges, 3) << bits;
    } else {
      EXPECT_EQ(plan.num_exchanges == 4, has_late_value || has_value_before_edits) << bits;
      EXPECT_LE(plan.num_exchanges, 4) << bits;
    }
  }
}

}  // namespace
}  // namespace shards_test::arguments_test
