// Threads change nothing: the handle's own, or the caller's parallel_for in any order, with
// whatever floating-point environment they have.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "../seed.h"
#include "problem.h"
#include "run.h"
#include "variations.h"

namespace invariance_test::threads_test {
namespace {

class Threads : public testing::TestWithParam<Operation> {
 protected:
  Threads() {
    Random random(seeded(static_cast<std::uint64_t>(GetParam())));
    const SamplerPtr sampler = make_sampler();
    for (const std::size_t num_cols : {2, 33, 257}) {
      for (const std::size_t num_rows : {1, 3, 4, 17}) {
        problems_.push_back(random_problem(GetParam(), num_cols, num_rows, &random));
        expected_.push_back(run_alone(sampler.get(), problems_.back()));
      }
    }
  }

  void expect_unchanged(sampler_t sampler, const Setting &setting = {}) {
    for (std::size_t i = 0; i < problems_.size(); ++i) {
      ASSERT_EQ(run(sampler, problems_[i], setting), expected_[i])
          << describe(problems_[i]) << "; " << describe(setting);
    }
  }

  std::vector<Problem> problems_;
  std::vector<Results> expected_;
};
INSTANTIATE_TEST_SUITE_P(Operations, Threads, testing::ValuesIn(operations()),
                         [](const testing::TestParamInfo<Operation> &operation) {
                           return name(operation.param);
                         });

TEST_P(Threads, OfTheHandle) {
  for (const std::int32_t num_threads : {1, 2, 3, 4}) {
    const SamplerPtr sampler = make_sampler(num_threads);
    expect_unchanged(sampler.get());
    expect_unchanged(sampler.get());
    Setting setting;
    setting.fill = 0xFF;
    setting.has_row_indices = true;
    expect_unchanged(sampler.get(), setting);
  }
}

// Threads inherit the environment of the one that starts them.
TEST_P(Threads, StartedInAnyFloatingPointEnvironment) {
  for (const FpMode mode : fp_modes()) {
    SamplerPtr sampler;
    {
      const ScopedFpMode scoped(mode);
      sampler = make_sampler(3);
    }
    expect_unchanged(sampler.get());
    if (HasFatalFailure()) return;
  }
}

void run_backwards(void *, std::int64_t num_tasks, sampler_task_fn task, void *task_user) {
  for (std::int64_t i = num_tasks - 1; i >= 0; --i) task(task_user, i);
}

// `user` is the mode of the threads.
void run_on_threads(void *user, std::int64_t num_tasks, sampler_task_fn task, void *task_user) {
  const FpMode mode = *static_cast<const FpMode *>(user);
  std::vector<std::thread> threads;
  for (std::int64_t i = 0; i < num_tasks; ++i) {
    threads.emplace_back([=] {
      const ScopedFpMode scoped(mode);
      task(task_user, i);
      EXPECT_EQ(fp_control(), fp_control_of(mode));
    });
  }
  for (std::thread &thread : threads) thread.join();
}

TEST_P(Threads, OfTheCallerInReverseOrder) {
  for (const std::int32_t num_threads : {2, 5, 64}) {
    const SamplerPtr sampler = make_sampler(num_threads, &run_backwards);
    expect_unchanged(sampler.get());
  }
}

TEST_P(Threads, OfTheCaller) {
  for (FpMode mode : fp_modes()) {
    const SamplerPtr sampler = make_sampler(4, &run_on_threads, &mode);
    expect_unchanged(sampler.get());
    if (HasFatalFailure()) return;
  }
}

// Handles are independent: each in a thread of its own, all at once.
TEST_P(Threads, EachWithAHandle) {
  std::vector<std::thread> threads(3);
  for (std::thread &thread : threads) {
    thread = std::thread([this] {
      const SamplerPtr sampler = make_sampler();
      expect_unchanged(sampler.get());
    });
  }
  for (std::thread &thread : threads) thread.join();
}

}  // namespace
}  // namespace invariance_test::threads_test
