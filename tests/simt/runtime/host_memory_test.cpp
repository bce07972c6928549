// What a call is given in host memory: parameters that travel with it, and pointers that should not
// have been there.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "../../sized.h"
#include "device_call.h"
#include "expect.h"
#include "runtime.h"

namespace simt_test {
namespace {

using capi_test::make_sampler;
using capi_test::same_bytes;
namespace runtime = simt::runtime;

const std::set<std::string> kParameters = {
    "row_params.temperature", "row_params.top_k", "row_params.top_p", "row_params.min_p",
    "random.seeds",           "random.offsets",   "random.streams",   "selected_counts"};

class HostMemory : public testing::Test {
 protected:
  HostMemory() {
    runtime::reset();
    runtime::set_block_threads(64);
  }
  ~HostMemory() override { EXPECT_EQ(0, runtime::num_allocations()) << "leaked"; }
};

sampler_options host_parameters(int device, std::int64_t max_rows = 0, std::int64_t max_cols = 0) {
  sampler_options options = device_options(device, max_rows, max_cols);
  options.host_parameters = 1;
  options.check_pointers = 1;
  return options;
}

// Points the call's parameters at their arrays on the host. How many there are.
int use_host_parameters(DeviceCall *call) {
  int count = 0;
  for (const std::string &member : kParameters) {
    if (!call->host().has_array(member)) continue;
    call->host().args().set<void *>(member, call->host().buffer(member).data());
    ++count;
  }
  return count;
}

TEST_F(HostMemory, ParametersTravelWithTheCall) {
  const Sampler sampler = make_sampler(host_parameters(0, 8, 60));
  int num_with_parameters = 0;
  std::vector<capi_test::Spec> specs = capi_test::all_specs();
  const std::vector<capi_test::Spec> with_slots = capi_test::few_specs();
  specs.insert(specs.end(), with_slots.begin(), with_slots.end());
  for (const capi_test::Spec &spec : specs) {
    if (spec.candidates) continue;
    SCOPED_TRACE(describe(spec));
    DeviceCall call(spec, 0);
    const int num_arrays = use_host_parameters(&call);
    num_with_parameters += num_arrays > 0;
    runtime::forget_calls();
    ASSERT_EQ(SAMPLER_OK, call.host().run(sampler.get())) << sampler_last_error();
    EXPECT_EQ(num_arrays > 0 ? 2u : 1u, runtime::launches().size());
    EXPECT_TRUE(same_bytes(call.output(), cpu_output(spec)));
  }
  EXPECT_GT(num_with_parameters, 20);
}

// As a stream that is far behind, or a graph: the arrays are the caller's again at once.
TEST_F(HostMemory, ParametersAreThoseOfTheCall) {
  const Sampler sampler = make_sampler(host_parameters(0, 8, 60));
  capi_test::Spec spec;
  spec.per_slot = spec.streams = true;
  DeviceCall call(spec, 0);
  use_host_parameters(&call);
  const runtime::Recording recording;
  ASSERT_EQ(SAMPLER_OK, call.host().run(sampler.get())) << sampler_last_error();
  for (const std::string &member : kParameters) {
    if (!call.host().has_array(member)) continue;
    capi_test::Buffer &buffer = call.host().buffer(member);
    std::fill_n(buffer.data(), buffer.size(), 0xFF);
  }
  for (int i = 0; i < 2; ++i) {
    recording.replay();
    EXPECT_TRUE(same_bytes(call.output(), cpu_output(spec)));
  }
}

// More than a launch's arguments hold, at every place where they may break.
TEST_F(HostMemory, ManyParameters) {
#if defined(__SANITIZE_ADDRESS__)  // which makes fibers dear
  const std::int64_t numbers_of_rows[] = {250, 251, 992, 993};
#else
  const std::int64_t numbers_of_rows[] = {249, 250, 251, 991, 992, 993, 2500};
#endif
  for (const std::int64_t num_rows : numbers_of_rows) {
    SCOPED_TRACE(num_rows);
    const Sampler sampler = make_sampler(host_parameters(1, num_rows, 3));
    capi_test::Spec spec;
    spec.num_rows = num_rows;
    spec.num_cols = 3;
    spec.per_slot = true;
    DeviceCall call(spec, 1);
    ASSERT_EQ(6, use_host_parameters(&call));
    runtime::forget_calls();
    ASSERT_EQ(SAMPLER_OK, call.host().run(sampler.get())) << sampler_last_error();
    EXPECT_EQ(num_rows * 32 > 31744 * 2 ? 4u
              : num_rows * 32 > 31744   ? 3u
                                        : 2u,
              runtime::launches().size());
    EXPECT_TRUE(same_bytes(call.output(), cpu_output(spec)));
  }
}

TEST_F(HostMemory, ParametersNeedWorkspace) {
  const Sampler sampler = make_sampler(host_parameters(0));
  capi_test::Spec spec;
  spec.num_rows = 5;
  spec.per_slot = true;
  DeviceCall call(spec, 0);
  use_host_parameters(&call);
  const std::size_t bytes = capi_test::workspace_size(sampler.get(), call.host().args());
  // Four arrays of 5 numbers of 4 bytes, each taking 24, two of 8, and the alignment.
  EXPECT_EQ(4u * 24 + 2 * 40 + 7, bytes);
  for (const std::size_t misalignment : {0, 1, 7}) {
    DeviceArray workspace(0, bytes + misalignment);
    call.host().args().set<void *>("exec.workspace", workspace.data() + misalignment);
    call.host().args().set("exec.workspace_bytes", bytes - 1);
    EXPECT_EQ(SAMPLER_ERROR_WORKSPACE_TOO_SMALL, call.host().run(sampler.get()));
    call.host().args().set("exec.workspace_bytes", bytes);
    call.upload();
    ASSERT_EQ(SAMPLER_OK, call.host().run(sampler.get())) << sampler_last_error();
    EXPECT_TRUE(same_bytes(call.output(), cpu_output(spec)));
  }
}

TEST_F(HostMemory, FailingUploadsAreTold) {
  const Sampler sampler = make_sampler(host_parameters(0, 4, 40));
  capi_test::Spec spec;
  spec.per_slot = true;
  DeviceCall call(spec, 0);
  use_host_parameters(&call);
  for (const int index : {0, 1}) {
    runtime::forget_calls();
    runtime::fail_call("cudaLaunchKernelExC", cudaErrorLaunchOutOfResources, index);
    EXPECT_EQ(SAMPLER_ERROR_CUDA, call.host().run(sampler.get()));
    EXPECT_EQ(std::size_t(index), runtime::launches().size());
  }
}

// ---- Pointers that are checked ------------------------------------------------------------------

std::string refusal(const std::string &member, const void *address, const std::string &rule) {
  char text[200];
  std::snprintf(text, sizeof text, "%s is %p; it must be %s",
                capi_test::name_in_errors(member).c_str(), address, rule.c_str());
  return text;
}

TEST_F(HostMemory, EachArrayIsLookedAt) {
  sampler_options options = device_options(1, 8, 60);
  options.check_pointers = 1;
  const Sampler sampler = make_sampler(options);
  int num_refused = 0;
  for (const capi_test::Spec &spec : capi_test::few_specs()) {
    SCOPED_TRACE(describe(spec));
    DeviceCall call(spec, 1);
    ASSERT_EQ(SAMPLER_OK, call.host().run(sampler.get())) << sampler_last_error();
    for (const auto &[member, layout] : spec.op().members) {
      if (!call.host().has_array(member)) continue;
      SCOPED_TRACE(member);
      capi_test::Args &args = call.host().args();
      void *const on_device = args.get<void *>(member);
      const DeviceArray elsewhere(0, call.host().buffer(member).size());
      for (void *wrong : {static_cast<void *>(call.host().buffer(member).data()),
                          static_cast<void *>(elsewhere.data())}) {
        args.set(member, wrong);
        runtime::forget_calls();
        EXPECT_EQ(SAMPLER_ERROR_INVALID_ARGUMENT, call.host().run(sampler.get()));
        EXPECT_EQ(refusal(member, wrong, "memory of CUDA device 1"), sampler_last_error());
        EXPECT_TRUE(runtime::launches().empty());
        ++num_refused;
      }
      args.set(member, on_device);
    }
  }
  EXPECT_GT(num_refused, 100);
}

TEST_F(HostMemory, TheWorkspaceIsLookedAt) {
  sampler_options options = device_options(1);
  options.check_pointers = 1;
  const Sampler sampler = make_sampler(options);
  DeviceCall call(capi_test::Spec(), 1);
  std::array<char, 64> workspace;
  call.host().args().set<void *>("exec.workspace", workspace.data());
  call.host().args().set("exec.workspace_bytes", workspace.size());
  EXPECT_EQ(SAMPLER_ERROR_INVALID_ARGUMENT, call.host().run(sampler.get()));
  EXPECT_EQ(refusal("exec.workspace", workspace.data(), "memory of CUDA device 1"),
            sampler_last_error());
}

TEST_F(HostMemory, ParametersOnTheDeviceAreRefused) {
  const Sampler sampler = make_sampler(host_parameters(0, 4, 40));
  for (const std::string &member : kParameters) {
    capi_test::Spec spec;
    if (member == "selected_counts") spec.operation = capi_test::Op::kSelect;
    spec.per_slot = spec.streams = true;
    DeviceCall call(spec, 0);
    void *const on_device = call.host().args().get<void *>(member);
    use_host_parameters(&call);
    call.host().args().set(member, on_device);
    EXPECT_EQ(SAMPLER_ERROR_INVALID_ARGUMENT, call.host().run(sampler.get()));
    EXPECT_EQ(refusal(member, on_device, "host memory, with host_parameters"),
              sampler_last_error());
  }
}

// Seeds and a block's numbers; workspace and all.
TEST_F(HostMemory, OfUnmaskingTravelsWithTheCall) {
  constexpr std::int64_t kRows = 200, kBlocks = 5;
  std::vector<std::int32_t> candidates(kRows), masks(kRows, 9), masked(kBlocks);
  std::vector<float> scores(kRows);
  std::vector<std::uint64_t> seeds(kRows), offsets(kRows);
  std::vector<std::uint32_t> streams(kRows);
  for (std::size_t i = 0; i < kRows; ++i) {
    candidates[i] = std::int32_t(i % 7);
    scores[i] = float(i * 37 % 101) * -0.05f;
    seeds[i] = i / 3, offsets[i] = i * 5, streams[i] = std::uint32_t(i % 11);
  }
  const std::vector<std::int32_t> numbers = {3, 0, 7, -1, 40}, steps = {0, 9, 1, 6, 0};
  UnmaskArgs args;
  args.num_rows = kRows;
  args.num_blocks = kBlocks;
  args.unmask_params.mask_token_id = 9;
  args.unmask_params.order_temperature = 0.5f;
  args.random.seeds = seeds.data();
  args.random.offsets = offsets.data();
  args.random.streams = streams.data();
  args.random.num_seeds = args.random.num_offsets = kRows;
  args.block_num_committed = numbers.data();
  args.block_num_steps_left = steps.data();

  std::vector<std::int32_t> tokens = masks;
  UnmaskArgs on_host = args;
  on_host.candidate_token_ids = candidates.data();
  on_host.scores = scores.data();
  on_host.token_ids = tokens.data();
  on_host.out_masked_counts = masked.data();
  const Sampler cpu = make_sampler(sampler_options_default());
  ASSERT_EQ(SAMPLER_OK, sampler_unmask(cpu.get(), &on_host)) << sampler_last_error();
  EXPECT_EQ((std::vector<std::int32_t>{37, 35, 0, 33, 0}), masked);

  constexpr std::size_t kBytes = kRows * 4;
  DeviceArray device_candidates(0, kBytes), device_scores(0, kBytes), device_tokens(0, kBytes),
      device_masked(0, kBlocks * 4);
  device_candidates.write(candidates.data());
  device_scores.write(scores.data());
  device_tokens.write(masks.data());
  args.candidate_token_ids = device_candidates.data();
  args.scores = reinterpret_cast<const float *>(device_scores.data());
  args.token_ids = device_tokens.data();
  args.out_masked_counts = reinterpret_cast<std::int32_t *>(device_masked.data());
  const Sampler sampler = make_sampler(host_parameters(0));  // without a workspace
  std::size_t bytes = 0;
  ASSERT_EQ(SAMPLER_OK, sampler_unmask_workspace_size(sampler.get(), &args, &bytes));
  EXPECT_GE(bytes, kRows * 20);
  EXPECT_EQ(SAMPLER_ERROR_WORKSPACE_TOO_SMALL, sampler_unmask(sampler.get(), &args));
  DeviceArray workspace(0, bytes);
  args.exec.workspace = workspace.data();
  args.exec.workspace_bytes = bytes - 1;
  EXPECT_EQ(SAMPLER_ERROR_WORKSPACE_TOO_SMALL, sampler_unmask(sampler.get(), &args));
  args.exec.workspace_bytes = bytes;
  runtime::forget_calls();
  ASSERT_EQ(SAMPLER_OK, sampler_unmask(sampler.get(), &args)) << sampler_last_error();
  EXPECT_EQ(2u, runtime::launches().size());
  std::vector<std::int32_t> tokens_there(kRows), masked_there(kBlocks);
  device_tokens.read(tokens_there.data());
  device_masked.read(masked_there.data());
  EXPECT_EQ(tokens, tokens_there);
  EXPECT_EQ(masked, masked_there);

  args.block_num_committed = reinterpret_cast<const std::int32_t *>(device_masked.data());
  EXPECT_EQ(SAMPLER_ERROR_INVALID_ARGUMENT, sampler_unmask(sampler.get(), &args));
}

}  // namespace
}  // namespace simt_test
