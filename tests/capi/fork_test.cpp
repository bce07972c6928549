// Children of a process that uses the library. Each test makes its first handle in a child of its
// own, so that the library starts afresh however many tests a process runs.
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "expect.h"

namespace {

std::atomic<bool> same_process_ids{false}, kernel_wipes{true}, has_pages{true};

}  // namespace

// In place of the C library's: what the library sees of the system. A child in a new PID namespace
// may have its parent's process id; a kernel may not know MADV_WIPEONFORK.
extern "C" pid_t getpid() noexcept {
  return same_process_ids ? 1 : pid_t(syscall(SYS_getpid));
}

extern "C" void *mmap(void *address, std::size_t bytes, int protection, int flags, int file,
                      off_t offset) noexcept {
  if (has_pages) {
    return reinterpret_cast<void *>(
        syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
  }
  errno = ENOMEM;
  return MAP_FAILED;
}

extern "C" int madvise(void *address, std::size_t bytes, int advice) noexcept {
  if (advice != MADV_WIPEONFORK || kernel_wipes) {
    return int(syscall(SYS_madvise, address, bytes, advice));
  }
  errno = EINVAL;
  return -1;
}

namespace capi_test {
namespace {

constexpr unsigned kMostSeconds = 20;

using Fork = pid_t (*)();

// What runs no fork handlers.
pid_t clone_process() {
  return pid_t(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

// The exit status of a child, -1 when a signal ended it: SIGALRM where it hung. It ends by exit(),
// which writes what was counted of the lines that ran.
int status_of_child(Fork make_child, const std::function<bool()> &is_good) {
  std::fflush(nullptr);  // so that the child does not write it again
  const pid_t child = make_child();
  if (child == 0) {
    alarm(kMostSeconds);
    std::exit(is_good() ? 42 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// A call of many rows, and its outputs.
class ExpectedCall {
 public:
  ExpectedCall() : call_(spec()) {
    const Sampler sampler = roomy_sampler();
    expected_ = output_of(&call_, sampler.get());
  }

  bool runs(sampler_t sampler) {
    call_.reset_outputs();
    return call_.run(sampler) == SAMPLER_OK && call_.output() == expected_;
  }

 private:
  static Spec spec() {
    Spec spec;
    spec.num_rows = 29;
    return spec;
  }

  Call call_;
  std::string expected_;
};

// A child of a process whose handle has threads, and a child of that child.
bool serves_descendants(Fork make_child) {
  ExpectedCall call;
  Sampler sampler = roomy_sampler(4);
  if (!call.runs(sampler.get())) return false;
  const auto child = [&] {
    if (!call.runs(sampler.get())) return false;
    Sampler own = roomy_sampler(3);
    const auto grandchild = [&] { return call.runs(sampler.get()) && call.runs(own.get()); };
    if (status_of_child(make_child, grandchild) != 42) return false;
    return call.runs(sampler.get()) && call.runs(own.get());
  };
  return status_of_child(make_child, child) == 42 && call.runs(sampler.get());
}

// A parallel_for that stays in its first call until it is told to go on, which it is not in a
// child.
struct Waiting {
  std::atomic<bool> is_in_call{false}, may_return{false};

  static void run(void *user, std::int64_t num_tasks, sampler_task_fn task, void *task_user) {
    auto *const self = static_cast<Waiting *>(user);
    const bool is_first = !self->is_in_call.exchange(true);
    for (std::int64_t i = 0; i < num_tasks; ++i) task(task_user, i);
    while (is_first && !self->may_return) usleep(100);
  }
};

// A child made while another thread is in a call has the handle to itself, and no other call.
bool serves_child_of_a_busy_process(Fork make_child) {
  ExpectedCall call, call_of_thread;
  Waiting waiting;
  sampler_options options = roomy_options(2);
  options.parallel_for = &Waiting::run;
  options.parallel_for_user = &waiting;
  const Sampler sampler = make_sampler(options);
  std::atomic<bool> thread_is_good{false};
  std::thread thread([&] { thread_is_good = call_of_thread.runs(sampler.get()); });
  while (!waiting.is_in_call) usleep(100);
  const int status = status_of_child(
      make_child, [&] { return call.runs(sampler.get()) && call.runs(sampler.get()); });
  const bool is_busy_here = !call.runs(sampler.get());
  waiting.may_return = true;
  thread.join();
  return status == 42 && is_busy_here && thread_is_good && call.runs(sampler.get());
}

class Children : public testing::TestWithParam<bool (*)(Fork)> {
 protected:
  int status_with(Fork make_child) {
    return status_of_child(&fork, [&] { return GetParam()(make_child); });
  }
};

TEST_P(Children, OfForkAreServed) {
  EXPECT_EQ(status_with(&fork), 42);
}

TEST_P(Children, OfForkAreServedWhereTheKernelWipesNothing) {
  kernel_wipes = false;
  EXPECT_EQ(status_with(&fork), 42);
  kernel_wipes = true;
}

TEST_P(Children, OfTheSameProcessIdAreServed) {
  same_process_ids = true;
  EXPECT_EQ(status_with(&fork), 42);
  same_process_ids = false;
}

TEST_P(Children, ThatNoForkHandlerKnowsAreServed) {
  void *const page = mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto *const word = static_cast<volatile int *>(page);
  *word = 1;
  madvise(page, 1, MADV_WIPEONFORK);
  const bool is_wiped = status_of_child(&clone_process, [&] { return *word == 0; }) == 42;
  munmap(page, 1);
  if (!is_wiped) GTEST_SKIP() << "the system does not know MADV_WIPEONFORK";
  EXPECT_EQ(status_with(&clone_process), 42);
}

INSTANTIATE_TEST_SUITE_P(Of, Children,
                         testing::Values(&serves_descendants, &serves_child_of_a_busy_process),
                         [](const auto &tested) {
                           return tested.index == 0 ? "AProcessWithWorkers" : "ABusyProcess";
                         });

TEST(Create, NeedsAPage) {
  const auto is_refused = [] {
    has_pages = false;
    sampler_t sampler = nullptr;
    const sampler_status status = sampler_create(nullptr, &sampler);
    const std::string text = sampler_last_error();
    has_pages = true;
    return status == SAMPLER_ERROR_OUT_OF_MEMORY && !sampler &&
           text == "the system has no page of memory for the library" &&
           sampler_create(nullptr, &sampler) == SAMPLER_OK;
  };
  EXPECT_EQ(status_of_child(&fork, is_refused), 42);
}

// A child that shares its parent's memory has its threads, too.
TEST(Vfork, SharesTheHandle) {
  const auto is_good = [] {
    static ExpectedCall call;
    static Sampler sampler = roomy_sampler(4);
    if (!call.runs(sampler.get())) return false;
    const pid_t child = vfork();
    if (child == 0) _exit(call.runs(sampler.get()) ? 42 : 1);
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 42 &&
           call.runs(sampler.get());
  };
  EXPECT_EQ(status_of_child(&fork, is_good), 42);
}

}  // namespace
}  // namespace capi_test
