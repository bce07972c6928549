// The library on devices of the fake CUDA runtime: what a call does beside computing, what it does
// when CUDA fails, and that it gives what the CPU gives, from memory that the host cannot reach.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "device_call.h"
#include "expect.h"
#include "runtime.h"

namespace simt_test {
namespace {

using capi_test::make_sampler;
using capi_test::same_bytes;
using capi_test::workspace_size;
using simt::runtime::Device;
namespace runtime = simt::runtime;

// Columns of candidate lists so long that a device uses its workspace for them: above 2048 they
// need one, and rows have at least three quarters as many candidates.
constexpr std::int64_t kLongList = 2800;

int current_device() {
  int device = -1;
  EXPECT_EQ(cudaSuccess, cudaGetDevice(&device));
  return device;
}

class Library : public testing::Test {
 protected:
  Library() { runtime::reset(); }
  ~Library() override { EXPECT_EQ(0, runtime::num_allocations()) << "leaked"; }
};

// ---- Creating -----------------------------------------------------------------------------------

void expect_not_created(const sampler_options &options, sampler_status status,
                        const std::string &message) {
  sampler_t sampler = reinterpret_cast<sampler_t>(&sampler);
  EXPECT_EQ(status, sampler_create(&options, &sampler));
  EXPECT_EQ(nullptr, sampler);
  EXPECT_EQ(message, sampler_last_error());
}

using Create = Library;

TEST_F(Create, OnADeviceThatIsNotThere) {
  expect_not_created(device_options(2), SAMPLER_ERROR_INVALID_ARGUMENT,
                     "device_id is 2; it must be below 2");
  expect_not_created(device_options(-1), SAMPLER_ERROR_INVALID_ARGUMENT,
                     "device_id is -1; it must be at least 0");
  runtime::reset({});
  expect_not_created(
      device_options(0), SAMPLER_ERROR_UNSUPPORTED,
      "device_type is SAMPLER_DEVICE_CUDA; this machine has no CUDA device or no driver");
  // Nothing is left behind for whoever asks next.
  EXPECT_EQ(cudaSuccess, cudaPeekAtLastError());
}

TEST_F(Create, OnADeviceThatThereIsNoCodeFor) {
  Device turing = runtime::kAda;
  turing.compute_capability = 75;
  runtime::reset({turing});
  expect_not_created(
      device_options(0), SAMPLER_ERROR_CUDA,
      "cudaFuncGetAttributes: no kernel image is available for execution on the device");
  EXPECT_FALSE(runtime::has_primary_context(0));
}

// Asking for them is an error of the runtime's, which stays with the library.
TEST_F(Create, OnADeviceWithoutLargeClusters) {
  Device device = runtime::kHopper;
  device.largest_cluster = 8;
  runtime::reset({device});
  Spec spec;
  spec.num_cols = 40003;
  spec.num_rows = 2;
  const Sampler sampler = make_sampler(device_options(0, spec.num_rows, spec.num_cols));
  EXPECT_EQ(cudaSuccess, cudaPeekAtLastError());
  DeviceCall call(spec, 0);
  ASSERT_EQ(SAMPLER_OK, call.run(sampler.get())) << sampler_last_error();
  EXPECT_EQ(8, runtime::launches().back().team_size);
  EXPECT_TRUE(same_bytes(call.output(), cpu_output(spec)));
}

TEST_F(Create, TellsOfItsDevices) {
  sampler_capabilities capabilities = {};
  capabilities.struct_size = sizeof capabilities;
  EXPECT_EQ(SAMPLER_OK, sampler_get_capabilities(&capabilities));
  EXPECT_EQ(1u, capabilities.cuda_compiled);
  EXPECT_EQ(2u, capabilities.num_cuda_devices);
}

TEST_F(Create, KeepsTheCallersPendingError) {
  EXPECT_EQ(cudaErrorInvalidDevice, cudaSetDevice(77));
  const Sampler sampler = make_sampler(device_options(1, 4, kLongList));
  EXPECT_EQ(cudaErrorInvalidDevice, cudaPeekAtLastError());
}

TEST_F(Create, WithoutMemoryForTheWorkspace) {
  const sampler_options options = device_options(1, 4, kLongList);
  runtime::fail_call("cudaMalloc", cudaErrorMemoryAllocation);
  // Four bitmaps of 2^20 bits, and what their alignment may take.
  expect_not_created(options, SAMPLER_ERROR_OUT_OF_MEMORY,
                     "cudaMalloc: out of memory; the workspace has 524295 bytes");
  EXPECT_EQ(0, runtime::num_allocations());
  EXPECT_EQ(0, current_device());
  EXPECT_EQ(cudaSuccess, cudaPeekAtLastError());
}

// Blocks that are allocated and not yet deallocated.
int num_host_blocks = 0;

void count_host_blocks(sampler_options *options) {
  options->allocator.allocate = [](void *, std::size_t bytes, std::size_t alignment) {
    ++num_host_blocks;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  };
  options->allocator.deallocate = [](void *, void *memory, std::size_t, std::size_t) {
    --num_host_blocks;
    std::free(memory);
  };
}

// Each call of the runtime in turn.
TEST_F(Create, FailsWithTheNameOfTheCallThatFailed) {
  // The count, attributes, functions of the driver, the context, it twice current, uploads, calls
  // of state.h, packed lists, the workspace; four of chains; of streamed rows what clears, what
  // edits and what is set of that, for three types and four kinds and one more a kernel and what
  // fits; of held rows, of three types and three kinds, and of ten kinds, a kernel, what is set of
  // it, and what fits of blocks and clusters; and of each set of kernels by which launches are
  // planned: kernels, what is set of them, what fits of blocks and clusters.
  const int beside = 1 + 5 + 4 + 1 + 2 + 2 + 6 + 1 + 1 + 1 + 1 + 4 + (1 + 2 + (3 * 4 + 1) * 2);
  const int held[] = {(3 * 3 + 10) * (1 + 1 + 1 + 3), (3 * 3 + 10) * (1 + 1 + 1)};
  const int expected[] = {beside + held[0] + 3 * (1 + 2 + 2 + 8),
                          beside + held[1] + 3 * (1 + 1 + 2)};
  for (const int device : {0, 1}) {
    SCOPED_TRACE(device);
    sampler_options options = device_options(device, 4, kLongList);
    count_host_blocks(&options);
    int num_failed = 0;
    for (int index = 0;; ++index) {
      SCOPED_TRACE(index);
      runtime::fail_call("", cudaErrorLaunchOutOfResources, index);
      sampler_t sampler = reinterpret_cast<sampler_t>(&sampler);
      const sampler_status status = sampler_create(&options, &sampler);
      const std::string failed = runtime::take_failed_function();
      if (status == SAMPLER_OK) {
        runtime::reset_failures();
        sampler_destroy(sampler);
        if (failed == "cuCtxPopCurrent") continue;  // nobody could mend it
        EXPECT_EQ("", failed);
        break;
      }
      ++num_failed;
      EXPECT_EQ(nullptr, sampler);
      EXPECT_EQ(0, num_host_blocks);
      EXPECT_EQ(0, runtime::num_allocations());
      EXPECT_EQ(cudaSuccess, cudaPeekAtLastError());
      if (failed == "cudaGetDeviceCount") {
        EXPECT_EQ(SAMPLER_ERROR_UNSUPPORTED, status);
        continue;
      }
      EXPECT_EQ(SAMPLER_ERROR_CUDA, status);
      const std::string message = sampler_last_error();
      const std::string reason = failed + ": too many resources requested for launch";
      EXPECT_EQ(reason, message.substr(0, message.find(';')));
    }
    EXPECT_EQ(expected[device], num_failed);
  }
}

// ---- Beside computing ---------------------------------------------------------------------------

using Calls = Library;

TEST_F(Calls, EnqueueAndDoNothingElse) {
  const std::set<std::string> allowed = {"cuCtxPushCurrent",    "cuCtxPopCurrent",
                                         "cudaPeekAtLastError", "cudaGetLastError",
                                         "cudaLaunchKernelExC", "cudaPointerGetAttributes"};
  const auto stream = reinterpret_cast<sampler_stream>(std::uintptr_t(0x5000));
  const Sampler sampler = make_sampler(device_options(1));
  for (const Spec &spec : capi_test::all_specs()) {
    SCOPED_TRACE(describe(spec));
    DeviceCall call(spec, 1);
    capi_test::Args &args = call.host().args();
    args.set("exec.stream", stream);
    const std::size_t bytes = workspace_size(sampler.get(), args);  // 0 for most
    void *const memory = bytes > 0 ? runtime::allocate(1, bytes) : nullptr;
    args.set("exec.workspace", memory);
    args.set("exec.workspace_bytes", bytes);
    runtime::forget_calls();
    ASSERT_EQ(SAMPLER_OK, call.run(sampler.get())) << sampler_last_error();
    for (const auto &[function, count] : runtime::calls()) {
      EXPECT_TRUE(allowed.count(function)) << function;
    }
    ASSERT_FALSE(runtime::launches().empty());
    for (const runtime::Launch &launch : runtime::launches()) {
      EXPECT_EQ(1, launch.device);
      EXPECT_EQ(stream, launch.stream);
    }
    if (memory) runtime::release(memory);
  }
}

TEST_F(Calls, ThatEnqueueNothingLeaveCudaAlone) {
  const Sampler sampler = make_sampler(device_options(1));
  for (const Spec &spec : capi_test::few_specs()) {
    SCOPED_TRACE(describe(spec));
    DeviceCall call(spec, 1);
    runtime::forget_calls();
    capi_test::Args &args = call.host().args();
    EXPECT_EQ(0u, workspace_size(sampler.get(), args));
    const std::string num_cols = std::string(spec.view()) + ".num_cols";
    args.set(num_cols, std::int64_t(0));
    EXPECT_EQ(SAMPLER_ERROR_INVALID_ARGUMENT, call.run(sampler.get()));
    args.set(num_cols, spec.num_cols);
    capi_test::take_rows(&args);
    EXPECT_EQ(SAMPLER_OK, call.run(sampler.get())) << sampler_last_error();
    EXPECT_TRUE(runtime::calls().empty());
  }
}

TEST_F(Calls, LeaveThePendingErrorAlone) {
  const Sampler sampler = make_sampler(device_options(1));
  for (const Spec &spec : capi_test::few_specs()) {
    SCOPED_TRACE(describe(spec));
    DeviceCall call(spec, 1);
    for (const bool is_error_pending : {false, true}) {
      if (is_error_pending) {
        EXPECT_EQ(cudaErrorInvalidDevice, cudaSetDevice(77));
      }
      EXPECT_EQ(SAMPLER_OK, call.run(sampler.get())) << sampler_last_error();
      EXPECT_EQ(is_error_pending ? cudaErrorInvalidDevice : cudaSuccess, cudaGetLastError());
    }
  }
}

TEST_F(Calls, DoNotHideAKernelsError) {
  const Sampler sampler = make_sampler(device_options(0));
  const Spec spec = capi_test::few_specs().front();
  DeviceCall call(spec, 0);
  EXPECT_EQ(cudaSuccess, cudaSetDevice(0));
  const auto bad_kernel = [](const runtime::Grid &, void **) -> runtime::Work {
    return [](std::uint64_t) { throw std::runtime_error("a fault of the caller's"); };
  };
  static const char address = 0;
  runtime::Kernel kernel;
  kernel.bind = bad_kernel;
  runtime::add_kernel(&address, kernel);
  cudaLaunchConfig_t config = {1, 32, 0, nullptr, nullptr, 0};
  EXPECT_EQ(cudaErrorLaunchFailure, cudaLaunchKernelExC(&config, &address, nullptr));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(SAMPLER_ERROR_CUDA, call.run(sampler.get()));
    EXPECT_STREQ("cudaLaunchKernelExC: unspecified launch failure", sampler_last_error());
    EXPECT_EQ(cudaErrorLaunchFailure, cudaPeekAtLastError());
  }
}

TEST_F(Calls, FailWithTheNameOfTheCallThatFailed) {
  const Sampler sampler = make_sampler(device_options(1));
  for (const Spec &spec : capi_test::few_specs()) {
    SCOPED_TRACE(describe(spec));
    const std::string expected = cpu_output(spec);
    DeviceCall call(spec, 1);
    std::set<std::string> all_failed;
    for (int index = 0;; ++index) {
      ASSERT_EQ(cudaSuccess, cudaSetDevice(0));
      runtime::fail_call("", cudaErrorLaunchOutOfResources, index);
      const sampler_status status = call.run(sampler.get());
      const std::string failed = runtime::take_failed_function();
      if (status == SAMPLER_OK && failed == "cuCtxPopCurrent") continue;  // nobody could mend it
      if (status == SAMPLER_OK) {
        EXPECT_EQ("", failed);
        break;
      }
      all_failed.insert(failed);
      EXPECT_EQ(SAMPLER_ERROR_CUDA, status);
      EXPECT_EQ(failed + ": too many resources requested for launch", sampler_last_error());
      EXPECT_EQ(cudaSuccess, cudaPeekAtLastError());
    }
    EXPECT_EQ((std::set<std::string>{"cuCtxPushCurrent", "cudaLaunchKernelExC"}), all_failed);
    runtime::reset_failures();
    // The handle serves the next call as if nothing had been.
    call.upload();
    ASSERT_EQ(SAMPLER_OK, call.run(sampler.get())) << sampler_last_error();
    EXPECT_TRUE(same_bytes(call.output(), expected));
  }
}

// ---- The caller's contexts ----------------------------------------------------------------------

// What a thread may have when it calls.
struct Caller {
  std::string name;
  void (*set_up)();
};

std::vector<Caller> callers() {
  return {
      {"without_a_context", [] {}},
      {"with_the_devices_primary_context", [] { EXPECT_EQ(cudaSuccess, cudaSetDevice(1)); }},
      {"with_another_devices", [] { EXPECT_EQ(cudaSuccess, cudaSetDevice(0)); }},
      {"with_a_context_of_its_own",
       [] {
         CUcontext context = nullptr;
         EXPECT_EQ(CUDA_SUCCESS, cuCtxCreate(&context, 0, 1));
       }},
      {"with_a_stack_of_contexts",
       [] {
         CUcontext context = nullptr;
         EXPECT_EQ(CUDA_SUCCESS, cuCtxCreate(&context, 0, 1));
         EXPECT_EQ(CUDA_SUCCESS, cuCtxCreate(&context, 0, 0));
       }},
  };
}

// On device 1.
class Contexts : public testing::TestWithParam<Caller> {
 protected:
  Contexts() {
    runtime::reset();
    GetParam().set_up();
    for (const int device : {0, 1}) had_primary_[device] = runtime::has_primary_context(device);
    before_ = runtime::contexts();
  }
  ~Contexts() override { EXPECT_EQ(0, runtime::num_allocations()) << "leaked"; }

  // `keeps`: whether a handle keeps the context of its device.
  void expect_unchanged(bool keeps) const {
    EXPECT_EQ(before_, runtime::contexts());
    EXPECT_EQ(had_primary_[0], runtime::has_primary_context(0));
    EXPECT_EQ(had_primary_[1] || keeps, runtime::has_primary_context(1));
  }

 private:
  std::vector<CUcontext> before_;
  bool had_primary_[2];
};

TEST_P(Contexts, StayAsTheyWere) {
  sampler_options options = device_options(1, 4, kLongList);
  options.check_pointers = 1;
  sampler_t sampler = nullptr;
  ASSERT_EQ(SAMPLER_OK, sampler_create(&options, &sampler)) << sampler_last_error();
  expect_unchanged(true);
  for (const Spec &spec : capi_test::few_specs()) {
    SCOPED_TRACE(describe(spec));
    DeviceCall call(spec, 1);
    EXPECT_EQ(SAMPLER_OK, call.run(sampler)) << sampler_last_error();
    expect_unchanged(true);
  }
  sampler_destroy(sampler);
  expect_unchanged(false);
}

TEST_P(Contexts, StayAsTheyWereWhereParametersTravel) {
  sampler_options options = device_options(1, 20, kLongList);
  options.host_parameters = 1;
  sampler_t sampler = nullptr;
  ASSERT_EQ(SAMPLER_OK, sampler_create(&options, &sampler)) << sampler_last_error();
  for (Spec spec : capi_test::few_specs()) {
    spec.per_slot = true;
    SCOPED_TRACE(describe(spec));
    Call call(spec);
    const runtime::Recording recording;  // arrays are the host's, which no kernel reaches
    EXPECT_EQ(SAMPLER_OK, call.run(sampler)) << sampler_last_error();
    expect_unchanged(true);
  }
  sampler_destroy(sampler);
  expect_unchanged(false);
}

TEST_P(Contexts, StayAsTheyWereWhereCreatingFails) {
  const sampler_options options = device_options(1, 4, kLongList);
  for (const char *call : {"cudaDeviceGetAttribute", "cuDevicePrimaryCtxRetain",
                           "cudaFuncGetAttributes", "cudaMalloc"}) {
    runtime::fail_call(call, cudaErrorMemoryAllocation);
    sampler_t sampler = nullptr;
    EXPECT_NE(SAMPLER_OK, sampler_create(&options, &sampler));
    EXPECT_EQ(call, runtime::take_failed_function());
    expect_unchanged(false);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Contexts, testing::ValuesIn(callers()),
                         [](const testing::TestParamInfo<Caller> &caller) {
                           return caller.param.name;
                         });

// ---- Workspaces ---------------------------------------------------------------------------------

std::vector<Spec> specs_of_long_lists() {
  std::vector<Spec> specs;
  for (Spec spec : capi_test::few_specs()) {
    if (!spec.candidates) continue;
    spec.num_cols = kLongList;
    spec.num_rows = 3;
    spec.row_indices = false;
    spec.num_drafts = 1;
    specs.push_back(spec);
  }
  return specs;
}

// Few rows so long that they are spread over a device without clusters: with all filters, with
// filters and temperatures that differ, and without filters.
std::vector<Spec> specs_of_spread_rows() {
  std::vector<Spec> specs;
  for (Spec spec : capi_test::few_specs()) {
    if (spec.candidates || !spec.op().has("row_indices")) continue;
    if (spec.operation == capi_test::Op::kScore) continue;  // a row is one block's
    spec.num_cols = 20003;
    spec.num_rows = 8;
    spec.misalignment = 1;
    specs.push_back(spec);
    spec.per_slot = true;
    specs.push_back(spec);
    spec.ragged = spec.filters_off = true;
    specs.push_back(spec);
  }
  return specs;
}

void expect_workspace_too_small(DeviceCall *call, sampler_t sampler, const std::string &message) {
  call->upload();
  const std::string before = call->output();
  runtime::forget_calls();
  EXPECT_EQ(SAMPLER_ERROR_WORKSPACE_TOO_SMALL, call->run(sampler));
  EXPECT_EQ(message, sampler_last_error());
  EXPECT_TRUE(runtime::launches().empty());
  EXPECT_TRUE(same_bytes(call->output(), before));
}

using Workspace = Library;

void expect_exact_sizes(const std::vector<Spec> &specs, int device, std::size_t least_bytes) {
  const Sampler sampler = make_sampler(device_options(device));
  ASSERT_FALSE(specs.empty());
  for (const Spec &spec : specs) {
    SCOPED_TRACE(describe(spec));
    const std::string expected = cpu_output(spec);
    DeviceCall call(spec, device);
    capi_test::Args &args = call.host().args();
    const std::size_t bytes = workspace_size(sampler.get(), args);
    ASSERT_GT(bytes, least_bytes);
    for (const std::size_t misalignment : {0, 1, 2, 3}) {
      // Ends where the allocation ends; its contents are garbage.
      unsigned char *const memory =
          static_cast<unsigned char *>(runtime::allocate(device, misalignment + bytes));
      args.set<void *>("exec.workspace", memory + misalignment);
      args.set("exec.workspace_bytes", bytes);
      call.upload();
      EXPECT_EQ(SAMPLER_OK, call.run(sampler.get())) << sampler_last_error();
      EXPECT_TRUE(same_bytes(call.output(), expected));

      args.set("exec.workspace_bytes", bytes - 1);
      expect_workspace_too_small(&call, sampler.get(),
                                 "exec.workspace_bytes is " + std::to_string(bytes - 1) +
                                     "; this call needs " + std::to_string(bytes));
      runtime::release(memory);
    }
    args.set<void *>("exec.workspace", nullptr);
    args.set("exec.workspace_bytes", std::size_t(0));
    expect_workspace_too_small(
        &call, sampler.get(),
        "the sampler's workspace has 0 bytes; this call needs " + std::to_string(bytes) +
            ": create it with larger max_rows and max_cols, or set exec.workspace");
  }
}

TEST_F(Workspace, SizeIsExact) {
  expect_exact_sizes(specs_of_long_lists(), 0, 3u * (1 << 17));
}

// Each row has a bitmap of ids.
TEST_F(Workspace, SizeIsExactOfScoresOfLists) {
  Spec spec;
  spec.operation = capi_test::Op::kScore;
  spec.candidates = true;
  spec.per_slot = true;
  expect_exact_sizes({spec}, 0, std::size_t(spec.num_rows) << 17);
}

TEST_F(Workspace, SizeIsExactWhereRowsAreSpread) {
  expect_exact_sizes(specs_of_spread_rows(), 1, 8u * (1 << 14));
}

TEST_F(Workspace, IsNeededForLongListsAlone) {
  const Sampler sampler = make_sampler(device_options(0));
  for (Spec spec : specs_of_long_lists()) {
    SCOPED_TRACE(describe(spec));
    spec.num_cols = 2048;
    Call shorter(spec);
    EXPECT_EQ(0u, workspace_size(sampler.get(), shorter.args()));
    spec.num_cols = 2049;
    Call longer(spec);
    EXPECT_GT(workspace_size(sampler.get(), longer.args()), 0u);
    spec.candidates = false;
    Call rows(spec);
    EXPECT_EQ(0u, workspace_size(sampler.get(), rows.args()));
  }
}

// Rows share it when they are more than the multiprocessors.
TEST_F(Workspace, HasALimit) {
  runtime::reset({{{2}, 64 << 10, 100 << 10, 89}});
  const Sampler sampler = make_sampler(device_options(0, 7, kLongList));
  for (Spec spec : specs_of_long_lists()) {
    SCOPED_TRACE(describe(spec));
    spec.num_rows = 2;
    Call two(spec);
    spec.num_rows = 7;
    DeviceCall seven(spec, 0);
    EXPECT_EQ(workspace_size(sampler.get(), two.args()),
              workspace_size(sampler.get(), seven.host().args()));
    ASSERT_EQ(SAMPLER_OK, seven.run(sampler.get())) << sampler_last_error();
    EXPECT_TRUE(same_bytes(seven.output(), cpu_output(spec)));
  }
}

TEST_F(Workspace, OfTheHandle) {
  const Sampler sampler = make_sampler(device_options(1, 3, 2 * kLongList));
  EXPECT_EQ(1, runtime::calls()["cudaMalloc"]);
  EXPECT_EQ(1, runtime::num_allocations());
  for (Spec spec : specs_of_long_lists()) {
    for (const std::int64_t num_rows : {3, 1}) {
      spec.num_rows = num_rows;
      SCOPED_TRACE(describe(spec));
      DeviceCall call(spec, 1);
      ASSERT_EQ(SAMPLER_OK, call.run(sampler.get())) << sampler_last_error();
      EXPECT_TRUE(same_bytes(call.output(), cpu_output(spec)));
    }
    spec.num_rows = 4;
    DeviceCall larger(spec, 1);
    const std::size_t bytes = workspace_size(sampler.get(), larger.host().args());
    expect_workspace_too_small(
        &larger, sampler.get(),
        "the sampler's workspace has " + std::to_string(bytes - (std::size_t(1) << 17)) +
            " bytes; this call needs " + std::to_string(bytes) +
            ": create it with larger max_rows and max_cols, or set exec.workspace");
  }
  EXPECT_EQ(0, runtime::calls()["cudaMalloc"]);  // since the last call
}

// ---- Results ------------------------------------------------------------------------------------

struct Machine {
  std::string name;
  Device device;
  int block_threads;
};

std::vector<Machine> machines() {
  std::vector<Machine> all = {
      {"clusters", runtime::kHopper, 64},
      {"no_clusters", runtime::kAda, 64},
      // Too little shared memory for the rows, and one multiprocessor for all of them.
      {"small", {{1}, 64 << 10, 65 << 10, 89}, 64},
  };
#if !defined(__SANITIZE_ADDRESS__)  // which makes fibers dear
  all.push_back({"clusters_256_threads", runtime::kHopper, 256});
  all.push_back({"no_clusters_256_threads", runtime::kAda, 256});
#endif
  return all;
}

class Results : public testing::TestWithParam<Machine> {
 protected:
  Results() {
    runtime::reset({GetParam().device});
    runtime::set_block_threads(GetParam().block_threads);
  }
  ~Results() override { EXPECT_EQ(0, runtime::num_allocations()) << "leaked"; }

#if defined(__SANITIZE_ADDRESS__)
  static constexpr std::int64_t kNumRows = 1;
#else
  static constexpr std::int64_t kNumRows = 2;
#endif

  // The largest cluster that calls on rows of that width were launched with.
  int compare(std::int64_t num_cols) {
    const Sampler sampler = make_sampler(device_options(0, 4, num_cols));
    runtime::forget_calls();
    for (Spec spec : capi_test::few_specs()) {
      spec.num_rows = kNumRows;
      spec.num_input_rows = spec.row_indices ? kNumRows : 0;
      spec.num_drafts = 1;
      spec.num_cols = num_cols;
      spec.num_selected = std::min<std::int64_t>(num_cols, 70);
      spec.misalignment = 1;
      SCOPED_TRACE(describe(spec));
      DeviceCall call(spec, 0);
      EXPECT_EQ(SAMPLER_OK, call.run(sampler.get())) << sampler_last_error();
      EXPECT_TRUE(same_bytes(call.output(), cpu_output(spec)));
    }
    int team_size = 0;
    for (const runtime::Launch &launch : runtime::launches()) {
      team_size = std::max(team_size, launch.team_size);
    }
    return team_size;
  }
};

TEST_P(Results, OfSmallRows) {
  EXPECT_EQ(1, compare(37));
}

TEST_P(Results, OfLongRows) {
  EXPECT_EQ(GetParam().device.has_clusters() ? 16 : 1, compare(80003));
}

INSTANTIATE_TEST_SUITE_P(On, Results, testing::ValuesIn(machines()),
                         [](const testing::TestParamInfo<Machine> &machine) {
                           return machine.param.name;
                         });

// Handles of different threads and devices at once.
TEST_F(Library, ServesThreadsAtOnce) {
  Spec spec;
  spec.candidates = true;
  spec.num_cols = kLongList;
  const std::string expected = cpu_output(spec);
  const auto work = [&](int device) {
    EXPECT_EQ(cudaSuccess, cudaSetDevice(1 - device));
    const Sampler sampler = make_sampler(device_options(device, 4, kLongList));
    DeviceCall call(spec, device);
    for (int i = 0; i < 10; ++i) {
      call.upload();
      ASSERT_EQ(SAMPLER_OK, call.run(sampler.get())) << sampler_last_error();
      EXPECT_TRUE(same_bytes(call.output(), expected));
      EXPECT_EQ(1 - device, current_device());
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
}

// ---- Streams and graphs -------------------------------------------------------------------------

using Recorded = Library;

// Work that runs later reads nothing of the host's: the arguments may be gone.
TEST_F(Recorded, CallsNeedTheirArraysAlone) {
  const Sampler sampler = make_sampler(device_options(0, 4, kLongList));
  for (Spec spec : capi_test::few_specs()) {
    if (spec.candidates) spec.num_cols = kLongList;
    for (const bool per_slot : {false, true}) {
      spec.per_slot = per_slot;
      SCOPED_TRACE(describe(spec));
      DeviceCall call(spec, 0);
      {
        const runtime::Recording recording;
        ASSERT_EQ(SAMPLER_OK, call.run(sampler.get())) << sampler_last_error();
        capi_test::Args &args = call.host().args();
        std::memset(args.data(), 0xEE, args.bytes().size());
        recording.replay();
      }
      EXPECT_TRUE(same_bytes(call.output(), cpu_output(spec)));
    }
  }
}

// Nothing is loaded first while a stream is captured, uploads of either size included.
TEST_F(Recorded, FirstCallsOfAHandle) {
  for (Spec spec : capi_test::few_specs()) {
    for (const std::int64_t num_rows : {2, 2000}) {
      spec.per_slot = true;
      spec.num_rows = num_rows;
      spec.num_drafts = 1;
      SCOPED_TRACE(describe(spec));
      sampler_options options = device_options(0, 4 * num_rows, spec.num_cols);
      options.host_parameters = 1;
      const Sampler sampler = make_sampler(options);
      Call call(spec);
      runtime::forget_calls();
      const runtime::Recording recording;
      EXPECT_EQ(SAMPLER_OK, call.run(sampler.get())) << sampler_last_error();
      EXPECT_GE(runtime::launches().size(), 1u);
    }
  }
}

template <class NumLaunches>
void expect_same_replayed(const std::vector<Spec> &specs, int device,
                          const NumLaunches &num_launches) {
  const Sampler sampler = make_sampler(device_options(device, 8, specs[0].num_cols));
  for (Spec spec : specs) {
    SCOPED_TRACE(describe(spec));
    DeviceCall call(spec, device);
    std::set<std::string> outputs;
    runtime::forget_calls();
    const runtime::Recording recording;
    ASSERT_EQ(SAMPLER_OK, call.run(sampler.get())) << sampler_last_error();
    EXPECT_EQ(num_launches(spec), runtime::launches().size());
    for (spec.contents = 1; spec.contents <= 3; ++spec.contents) {
      const Call contents(spec);
      for (const auto &[member, layout] : spec.op().members) {
        if (!call.host().has_array(member)) continue;
        const capi_test::Buffer &from = contents.array(member).buffer;
        std::memcpy(call.host().buffer(member).data(), from.data(), from.size());
      }
      call.upload();
      recording.replay();
      outputs.insert(call.output());
      EXPECT_TRUE(same_bytes(call.output(), cpu_output(spec)));
    }
    EXPECT_EQ(3u, outputs.size());
  }
}

// A graph reads seeds, parameters and rows when it is replayed.
TEST_F(Recorded, ReplayEqualsACallOnTheArraysOfThatTime) {
  expect_same_replayed(capi_test::few_specs(), 0, [](const Spec &) { return 1u; });
}

// The workspace's contents from the replay before do not matter.
TEST_F(Recorded, ReplayOfSpreadRowsEqualsACallOnTheArraysOfThatTime) {
  expect_same_replayed(specs_of_spread_rows(), 1, [](const Spec &spec) {
    // Logits, and probabilities of f32, are streamed: counters are cleared, rows read, some left.
    const bool is_streamed = (spec.kind == SAMPLER_LOGITS || spec.dtype == SAMPLER_F32) &&
                             !spec.ragged && spec.draw_method == SAMPLER_DRAW_INVERSE_CDF;
    return is_streamed ? 3u : 2u;
  });
}

}  // namespace
}  // namespace simt_test
