// Rows over ranks of which some or all have a device give what the whole row gives, to the bit, and
// the ranks' messages are those of the CPU.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "problem.h"
#include "random_calls.h"
#include "runtime.h"

namespace shards_test {
namespace {

namespace runtime = simt::runtime;

struct Destroy {
  void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
};
using Handle = std::unique_ptr<sampler_handle, Destroy>;

Handle make_handle(sampler_device_type type, bool host_parameters = false) {
  sampler_options options = sampler_options_default();
  options.device_type = type;
  options.host_parameters = host_parameters;
  sampler_t sampler = nullptr;
  EXPECT_EQ(sampler_create(&options, &sampler), SAMPLER_OK) << sampler_last_error();
  return Handle(sampler);
}

struct Shape {
  int64_t num_rows, num_cols, num_ranks;
};
constexpr Shape kShapes[] = {{15, 1, 2},   {15, 33, 1},   {15, 130, 3},
                             {15, 999, 8}, {15, 3000, 2}, {7, 700, 70}};

class DeviceShards : public testing::TestWithParam<std::tuple<sampler_dtype, sampler_input_kind>> {
 protected:
  void SetUp() override {
    runtime::reset({runtime::kHopper});
    runtime::adopt_host_memory(0);
    cpu_ = make_handle(SAMPLER_DEVICE_CPU);
    device_ = make_handle(SAMPLER_DEVICE_CUDA);
    reads_host_ = make_handle(SAMPLER_DEVICE_CUDA, true);
  }

  sampler_dtype dtype() const { return std::get<0>(GetParam()); }
  sampler_input_kind kind() const { return std::get<1>(GetParam()); }
  Rows rows_of(const Shape &shape, int i, uint64_t seed) const {
    return make_rows(shape.num_rows, shape.num_cols, dtype(), kind(), i % 3 == 0, seed);
  }
  static Ranges ranges(const Shape &shape, int which) {
    return which % 2 ? uneven_ranges(shape.num_cols, shape.num_ranks, uint64_t(which))
                     : even_ranges(shape.num_cols, shape.num_ranks);
  }

  // Whole rows are the CPU's.
  Samplers all_cpu() const { return std::vector<sampler_t>{cpu_.get()}; }
  Samplers mixed() const {
    return std::vector<sampler_t>{cpu_.get(), device_.get(), device_.get(), reads_host_.get()};
  }

  // On the CPU, and on ranks of both kinds.
  void compare(const Rows &rows, const SampleCall &call, const Ranges &ranges) const {
    Outcome on_cpu, outcome;
    ASSERT_EQ(compare_sample(all_cpu(), rows, call, ranges, &on_cpu), "");
    ASSERT_EQ(compare_sample(mixed(), rows, call, ranges, &outcome), "");
    ASSERT_EQ(on_cpu.messages.size(), outcome.messages.size());
    for (size_t i = 0; i < outcome.messages.size(); ++i) {
      ASSERT_EQ(int(on_cpu.messages[i]), int(outcome.messages[i])) << "byte " << i;
    }
  }

  Handle cpu_, device_, reads_host_;
};

TEST_P(DeviceShards, Sample) {
  std::mt19937_64 random(1);
  for (const Shape &shape : kShapes) {
    for (int i = 0; i < (shape.num_ranks > 8 ? 3 : 12); ++i) {
      const Rows rows = rows_of(shape, i, random());
      const SampleCall call = random_sample(random, kind(), shape.num_cols);
      compare(rows, call, ranges(shape, i));
      if (HasFatalFailure()) {
        FAIL() << to_text(call) << " V " << shape.num_cols << " n " << shape.num_ranks << " call "
               << i;
      }
    }
  }
}

TEST_P(DeviceShards, Filter) {
  std::mt19937_64 random(2);
  for (const Shape &shape : kShapes) {
    for (int i = 0; i < (shape.num_ranks > 8 ? 2 : 6); ++i) {
      const Rows rows = rows_of(shape, i, random());
      FilterCall call;
      call.params = draw_params(random, kind(), shape.num_cols);
      call.args.output_dtype = random() % 2 ? dtype() : sampler_dtype(SAMPLER_F32);
      call.args.output_kind = kind() == SAMPLER_LOGITS ? int32_t(random() % 2) : 0;
      ASSERT_EQ(compare_filter(mixed(), rows, call, ranges(shape, i)), "")
          << to_text(call.params) << " V " << shape.num_cols << " n " << shape.num_ranks;
    }
  }
}

TEST_P(DeviceShards, Select) {
  std::mt19937_64 random(3);
  for (const Shape &shape : kShapes) {
    for (int i = 0; i < 4; ++i) {
      const Rows rows = rows_of(shape, i, random());
      const int64_t num_selected = 1 + int64_t(random() % uint64_t(shape.num_cols));
      std::vector<int32_t> counts;
      for (int64_t row = 0; row < shape.num_rows; ++row) {
        counts.push_back(int32_t(random() % 7) - 1);
      }
      ASSERT_EQ(compare_select(mixed(), rows, num_selected, i % 2 ? counts.data() : nullptr,
                               ranges(shape, i)),
                "")
          << num_selected << " of " << shape.num_cols << " n " << shape.num_ranks;
    }
  }
}

TEST_P(DeviceShards, LeaveResiduals) {
  constexpr sampler_input_kind kKind = SAMPLER_PROBABILITIES;
  std::mt19937_64 random(4 + uint64_t(kind()));
  for (const Shape &shape : kShapes) {
    for (int i = 0; i < 8; ++i) {
      const Rows p =
          make_rows(shape.num_rows, shape.num_cols, dtype(), kKind, i % 3 == 0, random());
      // Of equal rows nothing is left.
      const Rows q = i % 4 == 1 ? p
                                : make_rows(shape.num_rows, shape.num_cols, sampler_dtype(i % 3),
                                            kKind, i % 3 == 0, random());
      std::vector<int32_t> drafts;
      for (int64_t row = 0; row < shape.num_rows; ++row) {
        drafts.push_back(int32_t(random() % uint64_t(shape.num_cols + 2)) - 1);
      }
      ASSERT_EQ(
          compare_residual(mixed(), p, q, i % 2 ? nullptr : drafts.data(),
                           i % 3 ? sampler_dtype(SAMPLER_F32) : dtype(), ranges(shape, i / 2)),
          "")
          << "V " << shape.num_cols << " n " << shape.num_ranks << " call " << i;
    }
  }
}

std::string name_of(
    const testing::TestParamInfo<std::tuple<sampler_dtype, sampler_input_kind>> &of) {
  const std::string types[] = {"F32", "F16", "BF16"};
  const bool logits = std::get<1>(of.param) == SAMPLER_LOGITS;
  return types[std::get<0>(of.param)] + (logits ? "Logits" : "Probabilities");
}

INSTANTIATE_TEST_SUITE_P(All, DeviceShards,
                         testing::Combine(testing::Values(SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16),
                                          testing::Values(SAMPLER_LOGITS, SAMPLER_PROBABILITIES)),
                         name_of);

class DeviceSlots : public DeviceShards {};

// Parameters, randomness and edits by slot.
TEST_P(DeviceSlots, HaveTheirOwn) {
  std::mt19937_64 random(5);
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
    compare(rows, call, uneven_ranges(kNumCols, kRanks[i % 4], random()));
    if (HasFatalFailure()) FAIL() << "call " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, DeviceSlots,
                         testing::Values(std::make_tuple(SAMPLER_F32, SAMPLER_LOGITS),
                                         std::make_tuple(SAMPLER_BF16, SAMPLER_LOGITS),
                                         std::make_tuple(SAMPLER_F16, SAMPLER_PROBABILITIES)),
                         name_of);

// ---- Ranks that disagree, and messages and rounds that are not what they should be

constexpr int64_t kNumFew = 2, kWidth = 10, kNumRanks = 4;

// A call on four ranks that is as it should be.
class FewRows : public testing::Test {
 protected:
  void SetUp() override {
    runtime::reset({runtime::kHopper});
    runtime::adopt_host_memory(0);
    device_ = make_handle(SAMPLER_DEVICE_CUDA);
    make_calls();
  }

  void make_calls() {
    for (int64_t rank = 0; rank < kNumRanks; ++rank) {
      params_[rank] = sampler_params_default();
      sampler_sample_args &args = samples_[rank];
      args = {};
      args.struct_size = sizeof args;
      args.input = rows_.part(rank * kWidth, (rank + 1) * kWidth, &memory_[rank]);
      args.params = &params_[rank];
      args.out_token_ids = tokens_[rank];
      args.out_row_status = statuses_[rank];
      sampler_shard_args &shard = shards_[rank];
      shard = {};
      shard.struct_size = sizeof shard;
      shard.sample = &args;
      shard.first_token_id = rank * kWidth;
      shard.total_cols = kNumRanks * kWidth;
      shard.rank = rank;
      shard.num_ranks = kNumRanks;
    }
  }

  template <class Spoil>
  Outcome run(const Spoil &spoil) {
    return run_ranks(device_.get(), std::vector<sampler_shard_args>(shards_, shards_ + kNumRanks),
                     spoil);
  }
  Outcome run() {
    return run([](int64_t, char *, size_t) {});
  }

  void expect_all_bad(const char *why) const {
    for (int64_t rank = 0; rank < kNumRanks; ++rank) {
      for (int64_t row = 0; row < kNumFew; ++row) {
        EXPECT_EQ(statuses_[rank][row], SAMPLER_ROW_INVALID_SHARD) << why;
        EXPECT_EQ(tokens_[rank][row], -1) << why;
      }
    }
  }

  Handle device_;
  Rows rows_ = make_rows(kNumFew, kNumRanks *kWidth, SAMPLER_F32, SAMPLER_LOGITS, false, 0);
  std::vector<unsigned char> memory_[kNumRanks];
  sampler_params params_[kNumRanks];
  sampler_sample_args samples_[kNumRanks];
  sampler_shard_args shards_[kNumRanks];
  int32_t tokens_[kNumRanks][kNumFew];
  sampler_row_status statuses_[kNumRanks][kNumFew];
};

// The host waits for nothing, so no call fails: every row is bad on every rank.
TEST_F(FewRows, AreBadWhereRanksDisagree) {
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(statuses_[0][0], SAMPLER_ROW_OK);
  const struct {
    const char *what;
    std::function<void()> change;  // of rank 2
  } cases[] = {
      {"temperature", [&] { params_[2].temperature = 0.5f; }},
      {"seed", [&] { samples_[2].random.seed = 1; }},
      {"total_cols", [&] { shards_[2].total_cols += 1; }},
      {"a range that overlaps", [&] { shards_[2].first_token_id -= 1; }},
      {"a gap", [&] { samples_[2].input.num_cols -= 1; }},
      {"the last column", [&] { samples_[3].input.num_cols -= 1; }},
      {"the order of messages", [&] { shards_[2].rank = 3; }},
  };
  for (const auto &which : cases) {
    make_calls();
    which.change();
    ASSERT_TRUE(run().ok()) << which.what;
    expect_all_bad(which.what);
  }
}

TEST_F(FewRows, AreBadWhereRoundsAreLeftOut) {
  sampler_shard_plan_info plan = {};
  plan.struct_size = sizeof plan;
  ASSERT_EQ(sampler_shard_plan(device_.get(), &shards_[0], &plan), SAMPLER_OK);
  Exact workspace(plan.workspace_bytes), send(plan.max_message_bytes),
      received(plan.max_message_bytes * kNumRanks);
  samples_[0].exec.workspace = workspace.data();
  samples_[0].exec.workspace_bytes = workspace.size();
  shards_[0].send = send.data();
  shards_[0].send_bytes = send.size();
  shards_[0].received = received.data();
  shards_[0].received_bytes = received.size();
  ASSERT_EQ(sampler_shard_round(device_.get(), &shards_[0], plan.num_exchanges), SAMPLER_OK);
  for (int64_t row = 0; row < kNumFew; ++row) {
    EXPECT_EQ(statuses_[0][row], SAMPLER_ROW_INVALID_SHARD);
    EXPECT_EQ(tokens_[0][row], -1);
  }
}

TEST_F(FewRows, MayBeSpoiledOnTheWay) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 60; ++i) {
    make_calls();
    for (sampler_params &params : params_) {
      params.top_k = i % 3 == 0 ? 5 : 0;
      params.top_p = i % 2 ? 0.9f : 1.0f;
      params.top_k_ties = SAMPLER_TIES_KEEP;
    }
    const Outcome outcome = run([&](int64_t, char *messages, size_t bytes) {
      for (int change = 0; change < 4; ++change) {
        const size_t place = random() % bytes;
        messages[random() % kNumRanks * bytes + place] ^= char(1 + random() % 255);
      }
    });
    ASSERT_TRUE(outcome.ok());
    for (const auto &rank : tokens_) {
      for (const int32_t token : rank) {
        EXPECT_TRUE(token >= -1 && token < kNumRanks * kWidth) << token;
      }
    }
  }
}

// A call is launches alone, which a graph may have, and again with other logits.
TEST_F(FewRows, AreSampledByGraphs) {
  sampler_shard_args shard = shards_[0];
  shard.num_ranks = 1;
  shard.total_cols = kWidth;
  params_[0].temperature = 0.7f;
  params_[0].top_p = 0.9f;
  sampler_shard_plan_info plan = {};
  plan.struct_size = sizeof plan;
  ASSERT_EQ(sampler_shard_plan(device_.get(), &shard, &plan), SAMPLER_OK);
  ASSERT_EQ(plan.num_exchanges, 7);
  Exact workspace(plan.workspace_bytes);
  std::vector<Exact> messages(size_t(plan.num_exchanges) + 1);
  for (Exact &message : messages) message = Exact(plan.max_message_bytes);
  samples_[0].exec.workspace = workspace.data();
  samples_[0].exec.workspace_bytes = workspace.size();
  std::vector<float> logits(size_t(kNumFew * kWidth));
  samples_[0].input.values = logits.data();
  samples_[0].input.row_stride = kWidth;

  const runtime::Recording recording;
  runtime::forget_calls();
  for (int64_t round = 0; round <= plan.num_exchanges; ++round) {
    // Of one rank the exchange is nothing: what it sends is what it receives.
    shard.send = messages[size_t(round)].data();
    shard.send_bytes = plan.max_message_bytes;
    shard.received = round > 0 ? messages[size_t(round) - 1].data() : nullptr;
    shard.received_bytes = round > 0 ? plan.max_message_bytes : 0;
    ASSERT_EQ(sampler_shard_round(device_.get(), &shard, round), SAMPLER_OK);
  }
  EXPECT_EQ(runtime::launches().size(), 8u);
  for (const auto &[name, count] : runtime::calls()) {
    EXPECT_TRUE(name == "cudaLaunchKernelExC" || name == "cuCtxPushCurrent" ||
                name == "cuCtxPopCurrent" || name == "cudaPointerGetAttributes" ||
                name == "cudaPeekAtLastError" || name == "cudaGetLastError")
        << name;
  }
  const Handle cpu = make_handle(SAMPLER_DEVICE_CPU);
  std::mt19937_64 random(3);
  for (int i = 0; i < 3; ++i) {
    for (float &logit : logits) logit = float(random() % 1000) * 0.01f;
    recording.replay();
    sampler_sample_args args = samples_[0];
    int32_t expected[kNumFew];
    args.out_token_ids = expected;
    args.out_row_status = nullptr;
    std::vector<char> memory(1 << 16);
    args.exec.workspace = memory.data();
    args.exec.workspace_bytes = memory.size();
    ASSERT_EQ(sampler_sample(cpu.get(), &args), SAMPLER_OK) << sampler_last_error();
    for (int64_t row = 0; row < kNumFew; ++row) EXPECT_EQ(tokens_[0][row], expected[row]);
  }
}

}  // namespace
}  // namespace shards_test
