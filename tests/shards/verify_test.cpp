// Chains of drafts whose rows lie on many ranks: what sampler_verify makes of the whole rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "../seed.h"
#include "few_ranks.h"
#include "handle.h"
#include "problem.h"
#include "random_chains.h"

namespace shards_test::verify_test {
namespace {

struct Shape {
  int64_t num_cols, num_ranks;
};
constexpr Shape kShapes[] = {{1, 3},   {33, 1},  {33, 2},    {130, 3},
                             {130, 8}, {999, 8}, {1000, 64}, {6000, 2}};

sampler_dtype draw_dtype(std::mt19937_64 &random) {
  return sampler_dtype(random() % 3);
}

Ranges ranges_of(const Shape &shape, std::mt19937_64 &random) {
  return random() % 2 ? uneven_ranges(shape.num_cols, shape.num_ranks, random())
                      : even_ranges(shape.num_cols, shape.num_ranks);
}

std::string compare(sampler_t sampler, const ChainProblem &problem, const Ranges &ranges,
                    int64_t num_exchanges) {
  Outcome outcome;
  const std::string text =
      compare_verify(sampler, problem.target, problem.draft, problem.call, ranges, &outcome);
  EXPECT_EQ(outcome.num_exchanges, num_exchanges);
  return text;
}

TEST(ShardedVerify, GivesWhatWholeRowsGive) {
  const Handle best, scalar("scalar", 1, 0);
  std::mt19937_64 random(seeded(1));
  for (const Shape &shape : kShapes) {
    for (int i = 0; i < 60; ++i) {
      ChainProblem problem(random, shape.num_cols, draw_dtype(random), SAMPLER_PROBABILITIES,
                           i % 3 == 0, 5);
      if (i % 4 == 3) problem.use_slots(random);
      ASSERT_EQ(compare(i % 2 ? best : scalar, problem, ranges_of(shape, random), 3), "")
          << "V " << shape.num_cols << " n " << shape.num_ranks << " call " << i;
    }
  }
}

TEST(ShardedVerify, OverAsManyRanksAsThereMayBe) {
  const Handle best;
  std::mt19937_64 random(seeded(2));
  const Shape shape = {1500, SAMPLER_MAX_RANKS};
  for (int i = 0; i < 3; ++i) {
    const ChainProblem problem(random, shape.num_cols, draw_dtype(random), SAMPLER_PROBABILITIES,
                               i == 1, 3);
    ASSERT_EQ(compare(best, problem, ranges_of(shape, random), 3), "") << i;
  }
}

TEST(ShardedVerify, OfGreedyRowsTakesOneExchange) {
  const Handle best, scalar("scalar");
  std::mt19937_64 random(seeded(3));
  for (const Shape &shape : kShapes) {
    for (int i = 0; i < 30; ++i) {
      ChainProblem problem(random, shape.num_cols, draw_dtype(random), sampler_input_kind(i % 2),
                           i % 3 == 0, 5);
      problem.call.params.temperature = 0;
      ASSERT_EQ(compare(i % 4 < 2 ? best : scalar, problem, ranges_of(shape, random), 1), "")
          << "V " << shape.num_cols << " n " << shape.num_ranks << " call " << i;
    }
  }
}

// What sampler_filter makes of rows.
Rows filtered(sampler_t sampler, const Rows &rows, const sampler_params &params) {
  Rows out = {rows.num_rows, rows.num_cols, SAMPLER_F32, SAMPLER_PROBABILITIES, {}, {}};
  out.values.resize(size_t(rows.num_rows * rows.num_cols));
  sampler_filter_args args = {};
  args.struct_size = sizeof args;
  args.input = rows.whole();
  args.params = &params;
  args.output = out.values.data();
  size_t bytes = 0;
  EXPECT_EQ(sampler_filter_workspace_size(sampler, &args, &bytes), SAMPLER_OK);
  std::vector<char> workspace(bytes);
  args.exec.workspace = workspace.data();
  args.exec.workspace_bytes = bytes;
  EXPECT_EQ(sampler_filter(sampler, &args), SAMPLER_OK);
  const auto *const begin = reinterpret_cast<const unsigned char *>(out.values.data());
  out.bytes.assign(begin, begin + out.values.size() * sizeof(float));
  return out;
}

// As docs/sharding.md says.
TEST(ShardedVerify, OfFilteredRowsIsThatOfTheLogits) {
  const Handle best;
  std::mt19937_64 random(seeded(4));
  const Shape shape = {130, 3};
  for (int i = 0; i < 40; ++i) {
    ChainProblem problem(random, shape.num_cols, draw_dtype(random), SAMPLER_LOGITS, false, 5);
    sampler_params &params = problem.call.params;
    params.temperature = 0.8f;
    params.top_k = i % 2 ? 20 : 0;
    params.top_p = i % 3 ? 0.9f : 1.0f;
    const Verified expected = verify_whole(best, problem.target, problem.draft, problem.call);
    problem.target = filtered(best, problem.target, params);
    if (problem.call.has_draft) problem.draft = filtered(best, problem.draft, params);
    params = sampler_params_default();
    EXPECT_EQ(difference(expected, verify_whole(best, problem.target, problem.draft, problem.call)),
              "");
    ASSERT_EQ(compare(best, problem, ranges_of(shape, random), 3), "") << i;
  }
}

// ---- Ranks that disagree, and messages that changed

constexpr int64_t kNumCols = ChainRanks::kNumCols, kNumSequences = ChainRanks::kNumSequences,
                  kNumDrafts = ChainRanks::kNumDrafts;
constexpr size_t kNumRanks = ChainRanks::kNumRanks;

struct Ranks : ChainRanks {
  std::string refusal() const {
    sampler_shard_plan_info plan = {};
    plan.struct_size = sizeof plan;
    const sampler_status status = sampler_shard_plan(sampler, &shards[0], &plan);
    return status == SAMPLER_OK ? "" : sampler_last_error();
  }

  Handle sampler;
};

TEST(ShardedVerify, SequencesWhoseArraysDifferAreBadOnEveryRank) {
  void (*const breaks[])(Ranks &) = {
      [](Ranks &r) { r.ids[1][4] = 8; }, [](Ranks &r) { r.ids[1][4] = -1; },
      [](Ranks &r) { r.counts[2][1] = 2; }, [](Ranks &r) { r.seeds[1][1] = 6; }};
  for (const auto &break_one : breaks) {
    Ranks ranks;
    break_one(ranks);
    const Outcome outcome = run_ranks(ranks.sampler, ranks.shards);
    ASSERT_TRUE(outcome.ok());
    for (size_t r = 0; r < kNumRanks; ++r) {
      EXPECT_EQ(ranks.tokens[r], ranks.tokens[0]);
      EXPECT_EQ(ranks.tokens[r][4], -1);
      for (size_t i = 0; i < kNumSequences; ++i) {
        const uint32_t expected = i == 1 ? uint32_t(SAMPLER_ROW_INVALID_SHARD) : 0u;
        EXPECT_EQ(ranks.statuses[r][i] & SAMPLER_ROW_INVALID_SHARD, expected) << i;
      }
    }
  }
}

TEST(ShardedVerify, ArgumentsThatDifferAreAnErrorOnEveryRank) {
  struct Case {
    const char *group;
    void (*breaks)(Ranks &);
  };
  const Case cases[] = {
      {"params or row_params", [](Ranks &r) { r.params[2].temperature = 0; }},
      {"random", [](Ranks &r) { r.calls[2].random.offset = 1; }},
      {"the operation, its rows, columns, ranks or reports",
       [](Ranks &r) { r.calls[2].draft = {}; }},
      {"the operation, its rows, columns, ranks or reports",
       [](Ranks &r) { r.calls[2].out_accepted_counts = r.counts[0].data(); }},
  };
  for (const Case &which : cases) {
    Ranks ranks;
    which.breaks(ranks);
    sampler_shard_plan_info plans[2] = {};
    for (int i = 0; i < 2; ++i) {
      plans[i].struct_size = sizeof plans[i];
      ASSERT_EQ(sampler_shard_plan(ranks.sampler, &ranks.shards[size_t(2 * i)], &plans[i]),
                SAMPLER_OK);
    }
    EXPECT_NE(plans[0].digest, plans[1].digest);
    if (plans[0].num_exchanges != plans[1].num_exchanges) continue;  // other messages
    const Outcome outcome = run_ranks(ranks.sampler, ranks.shards);
    for (size_t r = 0; r < kNumRanks; ++r) {
      EXPECT_EQ(outcome.errors[r],
                std::string(which.group) + " differs between ranks 0 and 2; it must be the same");
      EXPECT_EQ(ranks.tokens[r][0], 77);
    }
  }
}

// Spoiled messages may give any tokens, but no crash, and bad rows are reported as such.
TEST(ShardedVerify, MessagesMayBeSpoiledOnTheWay) {
  std::mt19937_64 random(seeded(5));
  for (int i = 0; i < 300; ++i) {
    Ranks ranks;
    const auto at_round = int64_t(random() % 3);
    const Outcome outcome =
        run_ranks(ranks.sampler, ranks.shards, [&](int64_t round, char *messages, size_t bytes) {
          if (round != at_round) return;
          constexpr size_t kHeader = 64;
          for (int j = 0; j < 8; ++j) {
            const size_t rank = random() % kNumRanks;
            messages[rank * bytes + kHeader + random() % (bytes - kHeader)] = char(random());
          }
        });
    ASSERT_TRUE(outcome.ok());
    for (size_t r = 0; r < kNumRanks; ++r) {
      EXPECT_EQ(ranks.tokens[r], ranks.tokens[0]);
      EXPECT_EQ(ranks.statuses[r], ranks.statuses[0]);
      for (const int32_t token : ranks.tokens[r]) EXPECT_TRUE(token >= -1 && token < kNumCols);
    }
  }
}

TEST(ShardedVerify, RefusesOtherVerificationByName) {
  struct Case {
    const char *name;
    void (*breaks)(Ranks &);
  };
  static int32_t numbers[kNumSequences * (kNumDrafts + 1)] = {};
  static float reals[kNumSequences * (kNumDrafts + 1)] = {};
  static sampler_pipeline pipeline = {};
  pipeline.struct_size = sizeof pipeline;
  pipeline.dense_bias = reals;
  pipeline.num_dense_biases = 1;
  const Case cases[] = {
      {"acceptance->rule",
       [](Ranks &r) { r.calls[0].acceptance_params.rule = SAMPLER_ACCEPT_TYPICAL; }},
      {"acceptances", [](Ranks &r) { r.calls[0].acceptances = numbers; }},
      {"layout->target_row_indices",
       [](Ranks &r) {
         r.calls[0].draft_layout.target_row_indices = numbers;
         r.calls[0].draft_layout.num_sequences = kNumSequences;
       }},
      {"layout->draft_row_indices",
       [](Ranks &r) { r.calls[0].draft_layout.draft_row_indices = numbers; }},
      {"layout->draft_rows_by_slot",
       [](Ranks &r) { r.calls[0].draft_layout.draft_rows_by_slot = 1; }},
      {"layout->draft_token_stride",
       [](Ranks &r) { r.calls[0].draft_layout.draft_token_stride = kNumDrafts + 1; }},
      {"layout->parents", [](Ranks &r) { r.calls[0].draft_layout.parents = numbers; }},
      {"out_positions", [](Ranks &r) { r.calls[0].out_positions = numbers; }},
      {"reports->out_logprobs", [](Ranks &r) { r.calls[0].report_args.out_logprobs = reals; }},
      {"reports->out_ranks", [](Ranks &r) { r.calls[0].report_args.out_ranks = numbers; }},
      {"layout->packing",
       [](Ranks &r) {
         r.calls[0].draft_layout.packing = SAMPLER_PACKING_DRAFTS;
         r.calls[0].draft_layout.packing_offsets = numbers;
         r.calls[0].draft_counts = nullptr;
         r.calls[0].draft_layout.num_sequences = kNumSequences;
         r.calls[0].draft_layout.num_packed_drafts = 2;
       }},
      {"target.kind is SAMPLER_LOGITS", [](Ranks &r) { r.calls[0].target.kind = SAMPLER_LOGITS; }},
      {"draft.kind is SAMPLER_LOGITS", [](Ranks &r) { r.calls[0].draft.kind = SAMPLER_LOGITS; }},
      {"pipeline",
       [](Ranks &r) {
         r.calls[0].target.kind = SAMPLER_LOGITS;
         r.params[0].temperature = 0;
         r.calls[0].pipeline = &pipeline;
         pipeline.dense_bias = reals;
       }},
  };
  for (const Case &which : cases) {
    Ranks ranks;
    which.breaks(ranks);
    const std::string text = ranks.refusal();
    EXPECT_EQ(text.rfind(which.name, 0), 0u) << which.name << ": " << text;
    EXPECT_NE(text.find("no sharded form"), std::string::npos) << which.name << ": " << text;
  }
}

}  // namespace
}  // namespace shards_test::verify_test
