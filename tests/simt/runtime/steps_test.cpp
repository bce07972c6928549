// A server's step on a device, with every stage and report: what it launches, and that it gives
// what it gives on the CPU, called or replayed by a graph.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <string>
#include <vector>

#include "expect.h"
#include "runtime.h"
#include "step.h"

namespace simt_test {
namespace {

namespace runtime = simt::runtime;
using capi_test::Sampler;
using capi_test::Step;

constexpr std::int64_t kSlots = 5;
constexpr int kSteps = 4;

class Steps : public testing::Test {
 protected:
  void SetUp() override {
    runtime::reset({runtime::kHopper});
    runtime::adopt_host_memory(0);
    runtime::set_block_threads(64);
  }

  static Sampler make_sampler(sampler_device_type type) {
    sampler_options options = sampler_options_default();
    options.device_type = type;
    return capi_test::make_sampler(options);
  }

  // What the steps of a CPU leave.
  static std::vector<std::string> expected() {
    const Sampler sampler = make_sampler(SAMPLER_DEVICE_CPU);
    Step step(sampler.get(), kSlots);
    EXPECT_EQ(sampler_state_append(sampler.get(), &step.append), SAMPLER_OK);
    std::vector<std::string> outputs;
    for (int i = 0; i < kSteps; ++i) {
      EXPECT_EQ(step.run(), SAMPLER_OK) << sampler_last_error();
      outputs.push_back(step.outputs());
    }
    EXPECT_NE(outputs[0], outputs[1]);
    return outputs;
  }
};

// All stages and reports are one launch beside the state's; the counter and the moves of packed
// lists are two.
TEST_F(Steps, AreOneLaunchBesideTheStates) {
  const Sampler sampler = make_sampler(SAMPLER_DEVICE_CUDA);
  Step step(sampler.get(), kSlots);
  const auto launches_of = [&](const auto &call) {
    runtime::forget_calls();
    EXPECT_EQ(call(), SAMPLER_OK) << sampler_last_error();
    for (const auto &[function, count] : runtime::calls()) {
      EXPECT_TRUE(function.find("Synchronize") == std::string::npos &&
                  function.find("Malloc") == std::string::npos &&
                  function.find("Memcpy") == std::string::npos)
          << function << ": " << count;
    }
    return runtime::launches().size();
  };
  EXPECT_EQ(launches_of([&] { return sampler_state_append(sampler.get(), &step.append); }), 1u);
  EXPECT_EQ(launches_of([&] { return sampler_sample(sampler.get(), &step.args); }), 3u);
  EXPECT_EQ(launches_of([&] { return sampler_accept(sampler.get(), &step.accept); }), 1u);
  step.args.report_args.out_kept_offsets = nullptr;
  step.args.report_args.kept_capacity = 200;
  EXPECT_EQ(launches_of([&] { return sampler_sample(sampler.get(), &step.args); }), 1u);
}

TEST_F(Steps, CalledOrReplayedEqualTheCpus) {
  const std::vector<std::string> outputs = expected();
  for (const bool is_graph : {false, true}) {
    SCOPED_TRACE(is_graph);
    const Sampler sampler = make_sampler(SAMPLER_DEVICE_CUDA);
    Step step(sampler.get(), kSlots);
    ASSERT_EQ(sampler_state_append(sampler.get(), &step.append), SAMPLER_OK);
    if (!is_graph) {
      for (const std::string &output : outputs) {
        ASSERT_EQ(step.run(), SAMPLER_OK) << sampler_last_error();
        EXPECT_TRUE(step.outputs() == output);
      }
      continue;
    }
    const runtime::Recording recording;
    ASSERT_EQ(step.run(), SAMPLER_OK) << sampler_last_error();
    for (const std::string &output : outputs) {
      recording.replay();
      EXPECT_TRUE(step.outputs() == output);
    }
  }
}

}  // namespace
}  // namespace simt_test
