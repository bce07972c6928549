// Rows over ranks of which some or all have a device give what the whole row gives, to the bit, and
// the ranks' messages are those of the CPU.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <cstdint>
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

}  // namespace
}  // namespace shards_test
