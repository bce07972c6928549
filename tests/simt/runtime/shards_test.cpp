// Rows over ranks of which some or all have a device give what the whole row gives, to the bit, and
// the ranks' messages are those of the CPU.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "../../seed.h"
#include "few_ranks.h"
#include "handles.h"
#include "problem.h"
#include "random_calls.h"
#include "random_chains.h"
#include "runtime.h"
#include "typed.h"

namespace shards_test {
namespace {

namespace runtime = simt::runtime;

using simt_test::Handle;
using simt_test::Handles;

const Shapes kShapes = {{15, 1, 2},   {15, 33, 1},   {15, 130, 3},
                        {15, 999, 8}, {15, 3000, 2}, {7, 700, 70}};

class DeviceShards : public TypedTest, protected Handles {
 protected:
  // Whole rows are the CPU's.
  Samplers all_cpu() const { return std::vector<sampler_t>{cpu_.get()}; }
  Samplers mixed() const {
    return std::vector<sampler_t>{cpu_.get(), device_.get(), device_.get(), reads_host_.get()};
  }

  // What is wrong with `compare_on(samplers, &outcome)` on the CPU, or on ranks of both kinds.
  template <class Compare>
  std::string compare_both(const Compare &compare_on) const {
    Outcome on_cpu, outcome;
    std::string text = compare_on(all_cpu(), &on_cpu);
    if (text.empty()) text = compare_on(mixed(), &outcome);
    if (!text.empty() || on_cpu.messages == outcome.messages) return text;
    return "messages differ";
  }
  std::string compare(const Rows &rows, const SampleCall &call, const Ranges &ranges) const {
    return compare_both([&](const Samplers &samplers, Outcome *outcome) {
      return compare_sample(samplers, rows, call, ranges, outcome);
    });
  }
};

TEST_P(DeviceShards, Sample) {
  sample(kShapes, 12, [&](int, const Rows &rows, const SampleCall &call, const Ranges &ranges) {
    return compare(rows, call, ranges);
  });
}

TEST_P(DeviceShards, Filter) {
  filter(kShapes, 6, [&](int) { return mixed(); });
}

TEST_P(DeviceShards, Select) {
  select(kShapes, 4, [&](int) { return mixed(); });
}

TEST_P(DeviceShards, LeaveResiduals) {
  leave_residuals(kShapes, 8, [&](int) { return mixed(); });
}

// Given probabilities, or greedy logits.
TEST_P(DeviceShards, Verify) {
  std::mt19937_64 random(seeded(6));
  for_calls(kShapes, 12, [&](const Shape &shape, int i) {
    ChainProblem problem(random, shape.num_cols, dtype(), kind(), i % 3 == 0, 4);
    if (i % 4 == 3) problem.use_slots(random);
    if (kind() == SAMPLER_LOGITS) {
      problem.call.params.temperature = 0;
      problem.call.args.row_params = nullptr;
    }
    return compare_both([&](const Samplers &samplers, Outcome *outcome) {
      return compare_verify(samplers, problem.target, problem.draft, problem.call, ranges(shape, i),
                            outcome);
    });
  });
}

INSTANTIATE_TEST_SUITE_P(All, DeviceShards, all_types_and_kinds(), name_of);

class DeviceSlots : public DeviceShards {};

// Parameters, randomness and edits by slot.
TEST_P(DeviceSlots, HaveTheirOwn) {
  std::mt19937_64 random(seeded(5));
  constexpr int64_t kRanks[] = {1, 2, 3, 8};
  for (int i = 0; i < 40; ++i) {
    const Rows rows = make_rows(kNumRows, kNumCols, dtype(), kind(), i % 4 == 0, random());
    SampleCall call = draw_call(random);
    if (kind() == SAMPLER_PROBABILITIES) call.params.temperature = 1.0f;
    SlotArrays arrays(random, 60);
    arrays.put(random, &call);
    Edits edits(random);
    if (kind() == SAMPLER_LOGITS && i % 4) edits.put(random, &call);
    if (i % 4 == 0) call.wanted.num_top = 4;
    call.max_top_k = i % 2 ? 60 : 0;
    ASSERT_EQ(compare(rows, call, uneven_ranges(kNumCols, kRanks[i % 4], random())), "")
        << "call " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, DeviceSlots,
                         testing::Values(std::make_tuple(SAMPLER_F32, SAMPLER_LOGITS),
                                         std::make_tuple(SAMPLER_BF16, SAMPLER_LOGITS),
                                         std::make_tuple(SAMPLER_F16, SAMPLER_PROBABILITIES)),
                         name_of);

class DeviceTies : public DeviceShards {};

TEST_P(DeviceTies, OfJointTopPAreKeptAllOrNotAtAll) {
  std::mt19937_64 random(seeded(9));
  constexpr int64_t kRanks[] = {1, 2, 3, 8};
  for (int i = 0; i < 24; ++i) {
    const JointTies problem(random);
    ASSERT_EQ(compare(problem.rows, problem.call,
                      uneven_ranges(JointTies::kNumCols, kRanks[i % 4], random())),
              "")
        << to_text(problem.call) << " call " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, DeviceTies,
                         testing::Values(std::make_tuple(SAMPLER_F32, SAMPLER_LOGITS)), name_of);

// ---- Ranks that disagree, and messages and rounds that are not what they should be

class FewRows : public testing::Test, protected Handles {
 protected:
  static constexpr int64_t kNumRanks = SampleRanks::kNumRanks;

  static void expect_all_bad(const SampleRanks &ranks, const char *why) {
    for (int64_t rank = 0; rank < kNumRanks; ++rank) {
      for (int64_t row = 0; row < SampleRanks::kNumRows; ++row) {
        EXPECT_EQ(ranks.statuses[rank][row], SAMPLER_ROW_INVALID_SHARD) << why;
        EXPECT_EQ(ranks.tokens[rank][row], -1) << why;
      }
    }
  }
};

// The host waits for nothing, so no call fails: every row is bad on every rank.
TEST_F(FewRows, AreBadWhereRanksDisagree) {
  SampleRanks fine;
  ASSERT_TRUE(fine.run(device_.get()).ok());
  EXPECT_EQ(fine.statuses[0][0], SAMPLER_ROW_OK);
  const struct {
    const char *what;
    void (*change)(SampleRanks &);  // of rank 2
  } cases[] = {
      {"temperature", [](SampleRanks &r) { r.params[2].temperature = 0.5f; }},
      {"seed", [](SampleRanks &r) { r.samples[2].random.seed = 1; }},
      {"total_cols", [](SampleRanks &r) { r.shards[2].total_cols += 1; }},
      {"a range that overlaps", [](SampleRanks &r) { r.shards[2].first_token_id -= 1; }},
      {"a gap", [](SampleRanks &r) { r.samples[2].input.num_cols -= 1; }},
      {"the last column", [](SampleRanks &r) { r.samples[3].input.num_cols -= 1; }},
      {"the order of messages", [](SampleRanks &r) { r.shards[2].rank = 3; }},
  };
  for (const auto &which : cases) {
    SampleRanks ranks;
    which.change(ranks);
    ASSERT_TRUE(ranks.run(device_.get()).ok()) << which.what;
    expect_all_bad(ranks, which.what);
  }
}

// The rounds of some ranks on the device, in memory of their own. An exchange is nothing: each rank
// sends to its place of what all receive.
class Rounds {
 public:
  // The first num_ranks of `shards` and `args`.
  template <class Args>
  Rounds(sampler_t sampler, const sampler_shard_args *shards, Args *args, size_t num_ranks)
      : sampler_(sampler), shards_(shards, shards + num_ranks) {
    for (size_t rank = 0; rank < num_ranks; ++rank) {
      plan = {};
      plan.struct_size = sizeof plan;
      EXPECT_EQ(sampler_shard_plan(sampler, &shards_[rank], &plan), SAMPLER_OK)
          << sampler_last_error();
      workspaces_.emplace_back(plan.workspace_bytes);
      args[rank].exec.workspace = workspaces_[rank].data();
      args[rank].exec.workspace_bytes = workspaces_[rank].size();
    }
    for (int64_t i = 0; i <= plan.num_exchanges; ++i) {
      const size_t bytes = i < plan.num_exchanges ? plan.message_bytes[i] : 0;
      messages_.emplace_back(bytes * size_t(shards_[0].num_ranks));
    }
  }

  // All ranks, the last one first.
  void run(int64_t round) {
    Exact &sent = messages_[size_t(round)];
    for (auto shard = shards_.rbegin(); shard != shards_.rend(); ++shard) {
      shard->send_bytes = sent.size() / size_t(shard->num_ranks);
      shard->send = static_cast<char *>(sent.data()) + size_t(shard->rank) * shard->send_bytes;
      shard->received = round > 0 ? messages_[size_t(round) - 1].data() : nullptr;
      shard->received_bytes = round > 0 ? messages_[size_t(round) - 1].size() : 0;
      ASSERT_EQ(sampler_shard_round(sampler_, &*shard, round), SAMPLER_OK) << sampler_last_error();
    }
  }
  // A call is launches alone, one a round: nothing is waited for or allocated.
  void record_all() {
    runtime::forget_calls();
    for (int64_t round = 0; round <= plan.num_exchanges; ++round) run(round);
    EXPECT_EQ(runtime::launches().size(), size_t(plan.num_exchanges + 1) * shards_.size());
    for (const auto &[name, count] : runtime::calls()) {
      EXPECT_TRUE(name == "cudaLaunchKernelExC" || name == "cuCtxPushCurrent" ||
                  name == "cuCtxPopCurrent" || name == "cudaPointerGetAttributes" ||
                  name == "cudaPeekAtLastError" || name == "cudaGetLastError")
          << name;
    }
  }
  bool are_guarded() const {
    bool guarded = true;
    for (const auto *memory : {&workspaces_, &messages_}) {
      for (const Exact &part : *memory) guarded = guarded && part.is_guarded();
    }
    return guarded;
  }

  sampler_shard_plan_info plan = {};

 private:
  sampler_t sampler_;
  std::vector<sampler_shard_args> shards_;
  std::vector<Exact> workspaces_, messages_;
};

TEST_F(FewRows, AreBadWhereRoundsAreLeftOut) {
  SampleRanks ranks;
  Rounds rounds(device_.get(), ranks.shards, ranks.samples, 1);
  rounds.run(rounds.plan.num_exchanges);
  for (int64_t row = 0; row < SampleRanks::kNumRows; ++row) {
    EXPECT_EQ(ranks.statuses[0][row], SAMPLER_ROW_INVALID_SHARD);
    EXPECT_EQ(ranks.tokens[0][row], -1);
  }
}

TEST_F(FewRows, MayBeSpoiledOnTheWay) {
  std::mt19937_64 random(seeded(1));
  for (int i = 0; i < 60; ++i) {
    SampleRanks ranks;
    for (sampler_params &params : ranks.params) {
      params.top_k = i % 3 == 0 ? 5 : 0;
      params.top_p = i % 2 ? 0.9f : 1.0f;
      params.top_k_ties = SAMPLER_TIES_KEEP;
    }
    const Outcome outcome = ranks.run(device_.get(), [&](int64_t, char *messages, size_t bytes) {
      for (int change = 0; change < 4; ++change) {
        const size_t place = random() % bytes;
        messages[random() % kNumRanks * bytes + place] ^= char(1 + random() % 255);
      }
    });
    ASSERT_TRUE(outcome.ok());
    for (const auto &rank : ranks.tokens) {
      for (const int32_t token : rank) {
        EXPECT_TRUE(token >= -1 && token < SampleRanks::kNumCols) << token;
      }
    }
  }
}

// A graph may have all rounds, and again with other logits: of one rank that has the whole rows, or
// of several.
TEST_F(FewRows, AreSampledByGraphs) {
  const struct {
    int64_t num_exchanges;
    void (*set)(sampler_params &);
  } calls[] = {
      {7, [](sampler_params &params) { params.top_p = 0.9f; }},
      {3, [](sampler_params &params) { params.min_p = 0.05f; }},
      {1, [](sampler_params &params) { params.top_k = 5; }},
      {2,
       [](sampler_params &params) {
         params.top_k = 5;
         params.top_p = 0.9f;
         params.top_k_ties = params.top_p_ties = SAMPLER_TIES_KEEP;
         params.filter_order = SAMPLER_FILTERS_JOINT;
       }},
  };
  for (const auto &call : calls) {
    for (const int64_t num_ranks : {int64_t(1), kNumRanks}) {
      SampleRanks ranks;
      if (num_ranks == 1) ranks.samples[0].input = ranks.rows.whole();
      for (int64_t rank = 0; rank < num_ranks; ++rank) {
        ranks.shards[rank].num_ranks = num_ranks;
        ranks.params[rank].temperature = 0.7f;
        call.set(ranks.params[rank]);
      }
      Rounds rounds(device_.get(), ranks.shards, ranks.samples, size_t(num_ranks));
      ASSERT_EQ(rounds.plan.num_exchanges, call.num_exchanges);
      const runtime::Recording recording;
      rounds.record_all();
      for (uint64_t seed = 0; seed < 6; ++seed) {
        const Rows rows = make_rows(SampleRanks::kNumRows, SampleRanks::kNumCols, SAMPLER_F32,
                                    SAMPLER_LOGITS, false, seeded(seed));
        ranks.put(rows);
        recording.replay();
        EXPECT_TRUE(rounds.are_guarded());
        sampler_sample_args whole = ranks.samples[0];
        int32_t expected[SampleRanks::kNumRows];
        whole.input = rows.whole();
        whole.out_token_ids = expected;
        whole.out_row_status = nullptr;
        ASSERT_EQ(run_whole(cpu_.get(), &whole, sampler_sample, sampler_sample_workspace_size),
                  SAMPLER_OK)
            << sampler_last_error();
        for (int64_t rank = 0; rank < num_ranks; ++rank) {
          for (int64_t row = 0; row < SampleRanks::kNumRows; ++row) {
            EXPECT_EQ(ranks.tokens[rank][row], expected[row])
                << call.num_exchanges << " exchanges, rank " << rank << " of " << num_ranks;
          }
        }
      }
    }
  }
}

// ---- The same of chains

class FewChains : public testing::Test, protected Handles {};

TEST_F(FewChains, AreBadWhereRanksDisagree) {
  void (*const breaks[])(ChainRanks &) = {
      [](ChainRanks &r) { r.calls[2].random.offset = 1; },
      [](ChainRanks &r) { r.calls[2].out_accepted_counts = r.counts[0].data(); },
      [](ChainRanks &r) { r.shards[2].first_token_id -= 1; },
      [](ChainRanks &r) { r.calls[2].target.num_cols = r.calls[2].draft.num_cols = 12; },
  };
  for (const auto &break_one : breaks) {
    ChainRanks ranks;
    break_one(ranks);
    ASSERT_TRUE(run_ranks(device_.get(), ranks.shards).ok());
    for (size_t r = 0; r < ChainRanks::kNumRanks; ++r) {
      for (const sampler_row_status status : ranks.statuses[r]) {
        EXPECT_EQ(status, SAMPLER_ROW_INVALID_SHARD);
      }
      for (const int32_t token : ranks.tokens[r]) EXPECT_EQ(token, -1);
    }
  }
}

// Only the sequence whose drafts or seeds differ is bad.
TEST_F(FewChains, OfWhichArraysDifferAreBadOnEveryRank) {
  void (*const breaks[])(ChainRanks &) = {[](ChainRanks &r) { r.ids[1][4] = 8; },
                                          [](ChainRanks &r) { r.counts[2][1] = 2; },
                                          [](ChainRanks &r) { r.seeds[1][1] = 6; }};
  for (const auto &break_one : breaks) {
    ChainRanks ranks;
    break_one(ranks);
    ASSERT_TRUE(run_ranks(device_.get(), ranks.shards).ok());
    for (size_t r = 0; r < ChainRanks::kNumRanks; ++r) {
      EXPECT_EQ(ranks.tokens[r], ranks.tokens[0]);
      for (size_t i = 0; i < ChainRanks::kNumSequences; ++i) {
        EXPECT_EQ(ranks.statuses[r][i], i == 1 ? uint32_t(SAMPLER_ROW_INVALID_SHARD) : 0u) << i;
      }
    }
  }
}

// Any tokens may come, but no crash, and the same on every rank, whether of the CPU or not.
TEST_F(FewChains, MayBeSpoiledOnTheWay) {
  std::mt19937_64 random(seeded(5));
  const Samplers mixed = std::vector<sampler_t>{device_.get(), cpu_.get(), reads_host_.get()};
  for (int i = 0; i < 60; ++i) {
    ChainRanks ranks;
    const auto at_round = int64_t(random() % 3);
    const Outcome outcome =
        run_ranks(mixed, ranks.shards, [&](int64_t round, char *messages, size_t bytes) {
          if (round != at_round) return;
          constexpr size_t kHeader = 64;
          for (int j = 0; j < 8; ++j) {
            const size_t rank = random() % ChainRanks::kNumRanks;
            messages[rank * bytes + kHeader + random() % (bytes - kHeader)] = char(random());
          }
        });
    ASSERT_TRUE(outcome.ok());
    for (size_t r = 0; r < ChainRanks::kNumRanks; ++r) {
      EXPECT_EQ(ranks.tokens[r], ranks.tokens[0]);
      EXPECT_EQ(ranks.statuses[r], ranks.statuses[0]);
      for (const int32_t token : ranks.tokens[r]) {
        EXPECT_TRUE(token >= -1 && token < ChainRanks::kNumCols) << token;
      }
    }
  }
}

// With other rows, drafts, counts and seeds in the same memory.
TEST_F(FewChains, AreVerifiedByGraphs) {
  for (const float temperature : {1.0f, 0.0f}) {
    for (const size_t num_ranks : {size_t(1), ChainRanks::kNumRanks}) {
      ChainRanks ranks;
      if (num_ranks == 1) {
        ranks.calls[0].target = ranks.target.whole();
        ranks.calls[0].draft = ranks.draft.whole();
      }
      for (size_t r = 0; r < num_ranks; ++r) {
        ranks.shards[r].num_ranks = int64_t(num_ranks);
        ranks.params[r].temperature = temperature;
      }
      Rounds rounds(device_.get(), ranks.shards.data(), ranks.calls.data(), num_ranks);
      ASSERT_EQ(rounds.plan.num_exchanges, temperature > 0 ? 3 : 1);
      const runtime::Recording recording;
      rounds.record_all();
      std::mt19937_64 random(seeded(7));
      for (int i = 0; i < 6; ++i) {
        ranks.put(random);
        for (int32_t &id : ranks.ids[0]) id = int32_t(random() % 42) - 1;
        for (int32_t &count : ranks.counts[0]) count = int32_t(random() % 6) - 1;
        for (uint64_t &seed : ranks.seeds[0]) seed = random();
        for (size_t r = 1; r < num_ranks; ++r) {
          std::copy(ranks.ids[0].begin(), ranks.ids[0].end(), ranks.ids[r].begin());
          std::copy(ranks.counts[0].begin(), ranks.counts[0].end(), ranks.counts[r].begin());
          std::copy(ranks.seeds[0].begin(), ranks.seeds[0].end(), ranks.seeds[r].begin());
        }
        recording.replay();
        EXPECT_TRUE(rounds.are_guarded());
        std::vector<int32_t> tokens(ranks.tokens[0].size());
        std::vector<sampler_row_status> statuses(ranks.statuses[0].size());
        sampler_verify_args whole = ranks.calls[0];
        whole.target = ranks.target.whole();
        whole.draft = ranks.draft.whole();
        whole.out_token_ids = tokens.data();
        whole.out_row_status = statuses.data();
        ASSERT_EQ(run_whole(cpu_.get(), &whole, sampler_verify, sampler_verify_workspace_size),
                  SAMPLER_OK)
            << sampler_last_error();
        for (size_t r = 0; r < num_ranks; ++r) {
          EXPECT_EQ(ranks.tokens[r], tokens) << "rank " << r << " of " << num_ranks;
          EXPECT_EQ(ranks.statuses[r], statuses) << "rank " << r << " of " << num_ranks;
        }
      }
    }
  }
}

}  // namespace
}  // namespace shards_test
