// States on devices of the fake CUDA runtime: what their calls do beside what tests/state says of
// every handle's.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "handles.h"
#include "runtime.h"

namespace simt_test {
namespace {

namespace runtime = simt::runtime;

struct DestroyState {
  void operator()(sampler_state_t state) const { sampler_state_destroy(state); }
};
using State = std::unique_ptr<sampler_state, DestroyState>;

template <class Struct>
Struct sized() {
  Struct value = {};
  value.struct_size = sizeof value;
  return value;
}

constexpr std::int64_t kSlots = 5, kMaxTokens = 6;

sampler_state_options state_options() {
  auto options = sized<sampler_state_options>();
  options.num_slots = kSlots;
  options.max_tokens = kMaxTokens;
  options.max_distinct_tokens = 3;
  return options;
}

State make_state(const Handle &handle) {
  const sampler_state_options options = state_options();
  sampler_state_t state = nullptr;
  EXPECT_EQ(sampler_state_create(handle.get(), &options, &state), SAMPLER_OK)
      << sampler_last_error();
  return State(state);
}

std::string bytes_of(const Handle &handle, const State &state, std::int64_t first,
                     std::int64_t count) {
  std::size_t bytes = 0;
  EXPECT_EQ(sampler_state_serialize(handle.get(), state.get(), first, count, nullptr, 0, &bytes),
            SAMPLER_OK);
  std::string result(bytes, '\0');
  EXPECT_EQ(sampler_state_serialize(handle.get(), state.get(), first, count, result.data(), bytes,
                                    &bytes),
            SAMPLER_OK)
      << sampler_last_error();
  return result;
}

// One token for each row.
struct Accept {
  explicit Accept(const State &state, std::vector<std::int32_t> of_rows,
                  std::vector<std::int32_t> tokens)
      : slots(std::move(of_rows)), ids(std::move(tokens)), status(ids.size(), 77) {
    args = sized<sampler_accept_args>();
    args.state = state.get();
    args.slots = slots.data();
    args.num_rows = static_cast<std::int64_t>(ids.size());
    args.token_ids = ids.data();
    args.num_tokens = 1;
    args.out_row_status = status.data();
  }
  sampler_accept_args args;
  std::vector<std::int32_t> slots, ids;
  std::vector<sampler_row_status> status;
};

class States : public testing::Test {
 protected:
  States() {
    runtime::reset({runtime::kHopper});
    runtime::adopt_host_memory(0);
  }
  ~States() override { EXPECT_EQ(0, runtime::num_allocations()) << "leaked"; }
};

// The contents of a slot that is named twice are undefined, but nobody else's, nor what is after
// the last one.
TEST_F(States, OfSlotsNamedTwiceKeepTheOthers) {
  const Handle handle = make_handle(SAMPLER_DEVICE_CUDA);
  const State state = make_state(handle);
  Accept once(state, {0, 1, 2, 3, 4}, {7, 8, 9, 7, 8});
  ASSERT_EQ(sampler_accept(handle.get(), &once.args), SAMPLER_OK) << sampler_last_error();
  const std::string before = bytes_of(handle, state, 0, 3), after = bytes_of(handle, state, 4, 1);
  std::vector<std::int32_t> ids;
  for (std::int32_t i = 0; i < 300; ++i) ids.push_back(i % 40);
  Accept many(state, std::vector<std::int32_t>(300, 3), ids);
  ASSERT_EQ(sampler_accept(handle.get(), &many.args), SAMPLER_OK) << sampler_last_error();
  EXPECT_EQ(bytes_of(handle, state, 0, 3), before);
  EXPECT_EQ(bytes_of(handle, state, 4, 1), after);
  std::int32_t length = -1;
  const std::int32_t slot = 3;
  auto read = sized<sampler_state_read_args>();
  read.state = state.get();
  read.slots = &slot;
  read.num_rows = 1;
  read.out_lengths = &length;
  ASSERT_EQ(sampler_state_read(handle.get(), &read), SAMPLER_OK);
  EXPECT_LE(length, kMaxTokens);
  // Nobody holds it any more.
  auto reset = sized<sampler_state_reset_args>();
  reset.state = state.get();
  ASSERT_EQ(sampler_state_reset(handle.get(), &reset), SAMPLER_OK);
  Accept again(state, {3}, {7});
  ASSERT_EQ(sampler_accept(handle.get(), &again.args), SAMPLER_OK);
  EXPECT_EQ(again.status[0], SAMPLER_ROW_OK);
}

// Numbers by slot that the host has are those of the call, and the values move as on the CPU.
TEST_F(States, TakeNumbersOfTheHost) {
  std::string moved[2];
  for (const bool on_device : {false, true}) {
    const Handle handle =
        make_handle(on_device ? SAMPLER_DEVICE_CUDA : SAMPLER_DEVICE_CPU, on_device);
    const State state = make_state(handle);
    Accept accept(state, {0, 1, 2, 3, 4}, {7, 8, 9, 1 << 30, 8});
    const float observations[] = {3.5f, 0.25f, 9.0f, 1.0f, 0.5f};
    std::vector<sampler_adaptive_kind> kinds = {1, 3, 2, 0, 3};
    std::vector<float> targets = {4, 0.5f, 0, 0, -1}, rates = {0, 0, 0.5f, 0, 0};
    std::vector<float> top_p = {0.9f, 0.8f, 1, 0.5f, 0.7f}, decays = {0, 0.5f, 0.75f, 0, 0.5f};
    std::vector<std::int64_t> resets = {-1, 8, -1, -1, 9};
    auto row_params = sized<sampler_row_params>();
    row_params.adaptive_kind = kinds.data();
    row_params.adaptive_target = targets.data();
    row_params.adaptive_rate = rates.data();
    row_params.top_p = top_p.data();
    row_params.top_p_decay = decays.data();
    row_params.top_p_reset_token_id = resets.data();
    accept.args.row_params = &row_params;
    accept.args.observations = observations;
    if (on_device) {
      const runtime::Recording recording;
      ASSERT_EQ(sampler_accept(handle.get(), &accept.args), SAMPLER_OK) << sampler_last_error();
      for (auto *const array : {&targets, &rates, &top_p, &decays}) array->assign(kSlots, 99.0f);
      recording.replay();
    } else {
      ASSERT_EQ(sampler_accept(handle.get(), &accept.args), SAMPLER_OK) << sampler_last_error();
    }
    for (const auto status : accept.status) EXPECT_EQ(status, SAMPLER_ROW_OK);
    moved[on_device] = bytes_of(handle, state, 0, kSlots);
  }
  EXPECT_EQ(moved[0], moved[1]);
}

TEST_F(States, AreOneLaunchACall) {
  const Handle handle = make_handle(SAMPLER_DEVICE_CUDA);
  const State state = make_state(handle);
  Accept accept(state, {0, 1, 2}, {7, 8, 9});
  runtime::forget_calls();
  ASSERT_EQ(sampler_accept(handle.get(), &accept.args), SAMPLER_OK);
  EXPECT_EQ(runtime::launches().size(), 1u);
  const std::set<std::string> allowed = {"cuCtxPushCurrent", "cuCtxPopCurrent",
                                         "cudaPeekAtLastError", "cudaGetLastError",
                                         "cudaLaunchKernelExC"};
  for (const auto &[function, count] : runtime::calls()) {
    EXPECT_TRUE(allowed.count(function)) << function;
  }
  accept.args.num_rows = 0;
  ASSERT_EQ(sampler_accept(handle.get(), &accept.args), SAMPLER_OK);
  EXPECT_EQ(runtime::launches().size(), 1u);
}

TEST_F(States, LookAtPointersThatAreChecked) {
  const Handle handle = make_handle(SAMPLER_DEVICE_CUDA, false, true);
  const State state = make_state(handle);
  Accept accept(state, {0, 1, 2}, {7, 8, 9});
  ASSERT_EQ(sampler_accept(handle.get(), &accept.args), SAMPLER_OK) << sampler_last_error();
  runtime::adopt_host_memory(-1);
  EXPECT_EQ(sampler_accept(handle.get(), &accept.args), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(sampler_last_error()).find("it must be memory of CUDA device 0"),
            std::string::npos);
}

// Every call of CUDA's fails in turn.
TEST_F(States, ThatCannotBeMadeLeaveNothing) {
  const Handle handle = make_handle(SAMPLER_DEVICE_CUDA);
  const sampler_state_options options = state_options();
  for (const char *function : {"cudaMalloc", "cudaLaunchKernelExC", "cudaStreamSynchronize"}) {
    SCOPED_TRACE(function);
    const int num_allocations = runtime::num_allocations();
    runtime::fail_call(function, cudaErrorMemoryAllocation);
    sampler_state_t state = reinterpret_cast<sampler_state_t>(&state);
    EXPECT_EQ(sampler_state_create(handle.get(), &options, &state), SAMPLER_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(std::string(sampler_last_error()), std::string(function) + ": out of memory");
    EXPECT_EQ(state, nullptr);
    EXPECT_EQ(runtime::num_allocations(), num_allocations);
  }
  std::size_t bytes = 0;
  EXPECT_EQ(sampler_state_size(handle.get(), &options, &bytes), SAMPLER_OK);
  EXPECT_GT(bytes, std::size_t(kSlots * kMaxTokens * 4));
}

TEST_F(States, TellOfErrorsOfTheDevice) {
  const Handle handle = make_handle(SAMPLER_DEVICE_CUDA);
  const State state = make_state(handle);
  Accept accept(state, {0, 1, 2}, {7, 8, 9});
  runtime::fail_call("cudaLaunchKernelExC", cudaErrorInvalidDevice);
  EXPECT_EQ(sampler_accept(handle.get(), &accept.args), SAMPLER_ERROR_CUDA);
  const std::string data = bytes_of(handle, state, 0, 2);
  for (const char *function :
       {"cudaDeviceSynchronize", "cudaMemcpyAsync", "cudaStreamSynchronize"}) {
    SCOPED_TRACE(function);
    std::size_t bytes = 0;
    runtime::fail_call(function, cudaErrorInvalidDevice);
    EXPECT_EQ(sampler_state_serialize(handle.get(), state.get(), 0, 2, nullptr, 0, &bytes),
              SAMPLER_ERROR_CUDA);
    runtime::fail_call(function, cudaErrorInvalidDevice);
    EXPECT_EQ(
        sampler_state_deserialize(handle.get(), state.get(), 2, data.data(), data.size(), nullptr),
        SAMPLER_ERROR_CUDA);
  }
}

}  // namespace
}  // namespace simt_test
