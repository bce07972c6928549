// Chains of drafts whose rows lie on many ranks: what sampler_verify makes of the whole rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "problem.h"

namespace shards_test {
namespace {

class Handle {
 public:
  explicit Handle(const char *isa = nullptr, int64_t fallback = -1) {
    sampler_options options = sampler_options_default();
    options.fallback_token_id = fallback;
    if (isa) setenv("SAMPLER_ISA", isa, 1);
    EXPECT_EQ(sampler_create(&options, &sampler_), SAMPLER_OK);
    if (isa) unsetenv("SAMPLER_ISA");
  }
  ~Handle() { sampler_destroy(sampler_); }
  operator sampler_t() const { return sampler_; }

 private:
  sampler_t sampler_ = nullptr;
};

struct Shape {
  int64_t num_cols, num_ranks;
};
constexpr Shape kShapes[] = {{1, 3}, {33, 1}, {33, 2}, {130, 3}, {130, 8}, {999, 8}, {1000, 64}};

struct Problem {
  Rows target, draft;
  std::vector<int64_t> ids;
  std::vector<int32_t> ids32, counts, slots;
  std::vector<float> temperatures;
  std::vector<int32_t> top_k;
  std::vector<uint64_t> seeds;
  sampler_row_params row_params = {};
  VerifyCall call;

  int64_t num_drafts() const { return call.args.num_drafts; }
  size_t row_bytes(const Rows &rows) const { return size_t(rows.num_cols) * rows.element_bytes(); }

  // The draft's rows are often the target's: what is drawn from them is kept.
  void copy_rows(std::mt19937_64 &random) {
    if (draft.dtype != target.dtype || draft.kind != target.kind) return;
    for (int64_t i = 0; i < draft.num_rows; ++i) {
      if (random() % 2) continue;
      const int64_t from = i / num_drafts() * (num_drafts() + 1) + i % num_drafts();
      std::memcpy(draft.bytes.data() + size_t(i) * row_bytes(draft),
                  target.bytes.data() + size_t(from) * row_bytes(target), row_bytes(draft));
    }
  }

  // The target's first token, any, or none.
  int64_t draw_id(std::mt19937_64 &random, int64_t position) const {
    const float *const row = target.values.data() + position * target.num_cols;
    if (random() % 5 < 3) return std::max_element(row, row + target.num_cols) - row;
    return int64_t(random() % uint64_t(target.num_cols + 2)) - 1;
  }

  Problem(std::mt19937_64 &random, const Shape &shape, sampler_input_kind kind, bool has_bad_rows,
          int64_t num_sequences) {
    const int64_t num_drafts = int64_t(random() % 6);
    const auto dtype = sampler_dtype(random() % 3);
    call.args.num_drafts = num_drafts;
    call.has_draft = num_drafts > 0 && random() % 3 > 0;
    target = make_rows(num_sequences * (num_drafts + 1), shape.num_cols, dtype, kind, has_bad_rows,
                       random());
    draft =
        make_rows(num_sequences * num_drafts, shape.num_cols,
                  random() % 4 ? dtype : sampler_dtype(random() % 3), kind, has_bad_rows, random());
    if (num_drafts > 0) copy_rows(random);
    for (int64_t i = 0; i < num_sequences; ++i) {
      for (int64_t j = 0; j < num_drafts; ++j) {
        ids.push_back(draw_id(random, i * (num_drafts + 1) + j));
        ids32.push_back(int32_t(ids.back()));
      }
      counts.push_back(int32_t(random() % uint64_t(num_drafts + 3)) - 1);
      slots.push_back(int32_t(random() % uint64_t(num_sequences + 2)) - 1);
      temperatures.push_back(random() % 3 ? 1.0f : random() % 4 ? 0.0f : 0.5f);
      top_k.push_back(random() % 8 ? 0 : 3);
      seeds.push_back(random());
    }
    const bool is_wide = random() % 2;
    call.args.token_id_type = is_wide ? SAMPLER_ID_I64 : SAMPLER_ID_I32;
    call.args.draft_token_ids = is_wide ? static_cast<const void *>(ids.data()) : ids32.data();
    if (num_drafts == 0) call.args.draft_token_ids = nullptr;
    call.args.draft_counts = random() % 3 == 0 ? counts.data() : nullptr;
    call.args.accumulate_counts = int32_t(random() % 2);
    call.args.random.seed = random();
    call.args.random.offset = random();
    call.wants_accepted = random() % 2;
  }

  void use_slots(std::mt19937_64 &random) {
    call.args.slots = slots.data();
    call.args.num_slots = int64_t(slots.size());
    call.args.random.seeds = seeds.data();
    call.args.random.num_seeds = int64_t(seeds.size());
    row_params.struct_size = sizeof row_params;
    row_params.temperature = temperatures.data();
    row_params.top_k = random() % 2 ? top_k.data() : nullptr;
    call.args.row_params = &row_params;
  }
};

Ranges ranges_of(const Shape &shape, std::mt19937_64 &random) {
  return random() % 2 ? uneven_ranges(shape.num_cols, shape.num_ranks, random())
                      : even_ranges(shape.num_cols, shape.num_ranks);
}

std::string compare(sampler_t sampler, const Problem &problem, const Ranges &ranges,
                    int64_t num_exchanges) {
  Outcome outcome;
  const std::string text =
      compare_verify(sampler, problem.target, problem.draft, problem.call, ranges, &outcome);
  EXPECT_EQ(outcome.num_exchanges, num_exchanges);
  return text;
}

TEST(ShardedVerify, GivesWhatWholeRowsGive) {
  const Handle best, scalar("scalar", 0);
  std::mt19937_64 random(1);
  for (const Shape &shape : kShapes) {
    for (int i = 0; i < 60; ++i) {
      Problem problem(random, shape, SAMPLER_PROBABILITIES, i % 3 == 0, 5);
      if (i % 4 == 3) problem.use_slots(random);
      ASSERT_EQ(compare(i % 2 ? best : scalar, problem, ranges_of(shape, random), 3), "")
          << "V " << shape.num_cols << " n " << shape.num_ranks << " call " << i;
    }
  }
}

TEST(ShardedVerify, OverAsManyRanksAsThereMayBe) {
  const Handle best;
  std::mt19937_64 random(2);
  const Shape shape = {1500, SAMPLER_MAX_RANKS};
  for (int i = 0; i < 3; ++i) {
    const Problem problem(random, shape, SAMPLER_PROBABILITIES, i == 1, 3);
    ASSERT_EQ(compare(best, problem, ranges_of(shape, random), 3), "") << i;
  }
}

TEST(ShardedVerify, OfGreedyRowsTakesOneExchange) {
  const Handle best, scalar("scalar");
  std::mt19937_64 random(3);
  for (const Shape &shape : kShapes) {
    for (int i = 0; i < 30; ++i) {
      Problem problem(random, shape, sampler_input_kind(i % 2), i % 3 == 0, 5);
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
  std::mt19937_64 random(4);
  const Shape shape = {130, 3};
  for (int i = 0; i < 40; ++i) {
    Problem problem(random, shape, SAMPLER_LOGITS, false, 5);
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

constexpr int64_t kNumCols = 40, kNumSequences = 4, kNumDrafts = 3, kNumRanks = 3;

struct Ranks {
  Handle sampler;
  Rows target = make_rows(kNumSequences * (kNumDrafts + 1), kNumCols, SAMPLER_F32,
                          SAMPLER_PROBABILITIES, false, 3);
  Rows draft =
      make_rows(kNumSequences * kNumDrafts, kNumCols, SAMPLER_F32, SAMPLER_PROBABILITIES, false, 4);
  std::vector<std::vector<unsigned char>> memory{2 * kNumRanks};
  std::vector<sampler_params> params{kNumRanks, sampler_params_default()};
  std::vector<std::vector<int32_t>> ids, tokens, counts;
  std::vector<std::vector<uint64_t>> seeds;
  std::vector<std::vector<sampler_row_status>> statuses;
  std::vector<sampler_verify_args> calls{kNumRanks, sampler_verify_args()};
  std::vector<sampler_shard_args> shards{kNumRanks, sampler_shard_args()};

  Ranks() {
    const Ranges ranges = even_ranges(kNumCols, kNumRanks);
    ids.assign(kNumRanks, std::vector<int32_t>(kNumSequences * kNumDrafts, 7));
    tokens.assign(kNumRanks, std::vector<int32_t>(kNumSequences * (kNumDrafts + 1), 77));
    counts.assign(kNumRanks, std::vector<int32_t>(kNumSequences, kNumDrafts));
    seeds.assign(kNumRanks, std::vector<uint64_t>(kNumSequences, 5));
    statuses.assign(kNumRanks, std::vector<sampler_row_status>(kNumSequences, 77));
    for (size_t r = 0; r < kNumRanks; ++r) {
      sampler_verify_args &args = calls[r];
      args.struct_size = sizeof args;
      args.target = target.part(ranges[r], ranges[r + 1], &memory[2 * r]);
      args.draft = draft.part(ranges[r], ranges[r + 1], &memory[2 * r + 1]);
      args.num_drafts = kNumDrafts;
      args.draft_token_ids = ids[r].data();
      args.draft_counts = counts[r].data();
      args.params = &params[r];
      args.random.seeds = seeds[r].data();
      args.random.num_seeds = kNumSequences;
      args.out_token_ids = tokens[r].data();
      args.out_row_status = statuses[r].data();
      shards[r].struct_size = sizeof shards[r];
      shards[r].verify = &args;
      shards[r].first_token_id = ranges[r];
      shards[r].total_cols = kNumCols;
      shards[r].rank = int64_t(r);
      shards[r].num_ranks = kNumRanks;
    }
  }

  std::string refusal() {
    sampler_shard_plan_info plan = {};
    plan.struct_size = sizeof plan;
    const sampler_status status = sampler_shard_plan(sampler, &shards[0], &plan);
    return status == SAMPLER_OK ? "" : sampler_last_error();
  }
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

// Of what is in messages anything may come, but for a crash, or a row that is not told to be bad.
TEST(ShardedVerify, MessagesMayBeSpoiledOnTheWay) {
  std::mt19937_64 random(5);
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
      {"acceptance", [](Ranks &r) { r.calls[0].acceptance = SAMPLER_ACCEPT_TYPICAL; }},
      {"acceptances", [](Ranks &r) { r.calls[0].acceptances = numbers; }},
      {"target_row_indices",
       [](Ranks &r) {
         r.calls[0].target_row_indices = numbers;
         r.calls[0].num_sequences = kNumSequences;
       }},
      {"draft_row_indices", [](Ranks &r) { r.calls[0].draft_row_indices = numbers; }},
      {"draft_rows_by_slot", [](Ranks &r) { r.calls[0].draft_rows_by_slot = 1; }},
      {"draft_token_stride", [](Ranks &r) { r.calls[0].draft_token_stride = kNumDrafts + 1; }},
      {"parents", [](Ranks &r) { r.calls[0].parents = numbers; }},
      {"out_positions", [](Ranks &r) { r.calls[0].out_positions = numbers; }},
      {"out_logprobs", [](Ranks &r) { r.calls[0].out_logprobs = reals; }},
      {"out_ranks", [](Ranks &r) { r.calls[0].out_ranks = numbers; }},
      {"packing",
       [](Ranks &r) {
         r.calls[0].packing = SAMPLER_PACKING_DRAFTS;
         r.calls[0].packing_offsets = numbers;
         r.calls[0].draft_counts = nullptr;
         r.calls[0].num_sequences = kNumSequences;
         r.calls[0].num_packed_drafts = 2;
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
}  // namespace shards_test
