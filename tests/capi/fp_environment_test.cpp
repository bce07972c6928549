// The caller's floating-point environment changes no output and is left as it was.
#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "expect.h"
#include "fp_state.h"

namespace capi_test::fp_environment_test {
namespace {

// Values off any grid, so that rounding shows; for probabilities also rows of subnormals, which
// flushing would empty.
void make_sensitive(Call *call, const std::string &member, sampler_dtype dtype,
                    sampler_input_kind kind) {
  if (dtype == SAMPLER_BF16) return;
  Random random(99);
  const Call::Array &array = call->array(member);
  for (std::int64_t row = 0; row < array.rows; ++row) {
    for (std::int64_t col = 0; col < array.cols; ++col) {
      if (dtype == SAMPLER_F16) {
        const std::uint16_t bits = std::uint16_t(random.between(1, 0x3FF));  // subnormal
        call->at<std::uint16_t>(member, row, col) = bits;
      } else if (kind == SAMPLER_PROBABILITIES && row % 2 == 0) {
        call->at<std::uint32_t>(member, row, col) = std::uint32_t(random.between(1, 0x7FFFFF));
      } else {
        call->at<float>(member, row, col) = float(random.between(1, 1 << 24)) * 0x1.9p-22f;
      }
    }
  }
}

std::vector<Call> sensitive_calls() {
  std::vector<Call> calls;
  for (Spec spec : all_specs()) {
    if (spec.dtype == SAMPLER_BF16 || spec.row_indices) continue;
    spec.num_rows = 20;
    Call call(spec);
    make_sensitive(&call, spec.values(), spec.dtype, spec.kind);
    if (call.has_array("draft.values")) {
      make_sensitive(&call, "draft.values", spec.draft_dtype, spec.draft_kind);
    }
    calls.push_back(std::move(call));
  }
  return calls;
}

// The states are what they claim: rounding and flushing show.
TEST(HostStates, AreInEffect) {
  volatile float third = 3.0f, tiny = 0x1p-149f, one = 1.0f, half = 0.5f, small = 0x1p-126f;
  const float quotient = one / third;
  bool rounding_shows = false, flushing_shows = false;
  for (const HostState &host : host_states()) {
    if (host.name == "unmasked exceptions" || host.name == "traps") continue;
    FpState state = host.state, entered;
#if defined(__x86_64__)
    state.control |= 0x1F80;  // nothing may trap here
#endif
    volatile float rounded = 0, kept = 0, halved = 0;  // computed in there, not before or after
    run_in_state(
        state,
        [&] {
          rounded = one / third;
          kept = tiny * one;
          halved = small * half;
        },
        &entered);
    rounding_shows = rounding_shows || rounded != quotient;
    flushing_shows = flushing_shows || kept == 0 || halved == 0;
  }
  EXPECT_TRUE(rounding_shows);
  EXPECT_TRUE(flushing_shows);
}

void check_states(sampler_t sampler) {
  std::vector<Call> calls = sensitive_calls();
  for (Call &call : calls) {
    const std::string expected = output_of(&call, sampler);
    for (const HostState &host : host_states()) {
      call.reset_outputs();
      sampler_status status = -1;
      FpState entered;
      const FpState left = run_in_state(
          host.state, [&] { status = call.run(sampler); }, &entered);
      EXPECT_EQ(status, SAMPLER_OK);
      EXPECT_TRUE(same_bytes(call.output(), expected))
          << describe(call.spec()) << ": " << host.name;
      EXPECT_TRUE(left == entered) << describe(call.spec()) << ": " << host.name << std::hex
                                   << " entered " << entered.control << " left " << left.control;
    }
  }
}

TEST(FpEnvironment, ChangesNothing) {
  const Sampler sampler = roomy_sampler();
  check_states(sampler.get());
}

TEST(FpEnvironment, ChangesNothingWithThreads) {
  const Sampler sampler = roomy_sampler(3);
  check_states(sampler.get());
}

// Threads inherit the state of the thread that creates them.
TEST(FpEnvironment, OfTheCreatingThread) {
  std::vector<Call> calls = sensitive_calls();
  std::vector<std::string> expected;
  const Sampler plain = roomy_sampler();
  for (Call &call : calls) expected.push_back(output_of(&call, plain.get()));
  const sampler_options options = roomy_options(4);
  for (const HostState &host : host_states()) {
    SCOPED_TRACE(host.name);
    sampler_t created = nullptr;
    FpState entered;
    FpState left = run_in_state(
        host.state, [&] { sampler_create(&options, &created); }, &entered);
    EXPECT_TRUE(left == entered);
    ASSERT_NE(created, nullptr);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      EXPECT_TRUE(same_bytes(output_of(&calls[i], created), expected[i]))
          << describe(calls[i].spec());
    }
    left = run_in_state(
        host.state, [&] { sampler_destroy(created); }, &entered);
    EXPECT_TRUE(left == entered);
  }
}

// The caller's threads too: their state is set for each task and restored after it.
struct StatefulThreads {
  FpState state;
  std::atomic<int> num_restored{0}, num_run{0};

  static void run(void *user, std::int64_t num_tasks, sampler_task_fn task, void *task_user) {
    auto *self = static_cast<StatefulThreads *>(user);
    std::vector<std::thread> threads;
    for (std::int64_t i = 0; i < num_tasks; ++i) {
      threads.emplace_back([=] {
        FpState entered;
        const FpState left = run_in_state(
            self->state, [&] { task(task_user, i); }, &entered);
        self->num_run += 1;
        self->num_restored += left == entered;
      });
    }
    for (std::thread &thread : threads) thread.join();
  }
};

TEST(FpEnvironment, OfTheCallersThreads) {
  StatefulThreads threads;
  sampler_options options = roomy_options(4);
  options.parallel_for = &StatefulThreads::run;
  options.parallel_for_user = &threads;
  const Sampler sampler = make_sampler(options), plain = roomy_sampler();
  for (Spec spec : few_specs()) {
    spec.num_rows = 20;
    Call call(spec);
    const std::string expected = output_of(&call, plain.get());
    for (const HostState &host : host_states()) {
      threads.state = host.state;
      EXPECT_TRUE(same_bytes(output_of(&call, sampler.get()), expected))
          << describe(spec) << ": " << host.name;
    }
  }
  EXPECT_GT(threads.num_run, 0);
  EXPECT_EQ(threads.num_restored, threads.num_run);
}

// Calls that fail, and those that compute nothing, leave the state alone as well.
TEST(FpEnvironment, OfOtherFunctions) {
  const Sampler sampler = roomy_sampler();
  Call broken(Spec{});
  broken.args().set("params.temperature", std::nanf(""));
  Call refused(Spec{});
  refused.args().set("input.kind", SAMPLER_PROBABILITIES);
  refused.args().set("params.temperature", 0.3f);
  Call good(Spec{});
  for (const HostState &host : host_states()) {
    SCOPED_TRACE(host.name);
    FpState entered;
    sampler_capabilities capabilities = sized<sampler_capabilities>();
    std::size_t bytes = 0;
    int num_failed = 0;
    const FpState left = run_in_state(
        host.state,
        [&] {
          num_failed += broken.run(sampler.get()) != SAMPLER_OK;
          num_failed += broken.run(nullptr) != SAMPLER_OK;
          num_failed += refused.run(sampler.get()) != SAMPLER_OK;
          good.spec().op().workspace_size(sampler.get(), good.args().data(), &bytes);
          sampler_get_capabilities(&capabilities);
          sampler_last_error();
          sampler_version_string();
        },
        &entered);
    EXPECT_TRUE(left == entered);
    EXPECT_EQ(num_failed, 3);
    EXPECT_GT(bytes, 0u);
  }
}

}  // namespace
}  // namespace capi_test::fp_environment_test
