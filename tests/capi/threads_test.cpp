// Threads: the library's, the caller's, and calls from many at once.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "expect.h"

namespace capi_test::threads_test {
namespace {

// Calls whose rows can be split, with their outputs on one thread.
struct Expected {
  Call call;
  std::string output;
};

std::vector<Expected> expected_calls(const std::vector<Spec> &specs, std::int64_t num_rows) {
  const Sampler sampler = roomy_sampler();
  std::vector<Expected> calls;
  for (Spec spec : specs) {
    spec.num_rows = num_rows;
    Call call(spec);
    std::string output = output_of(&call, sampler.get());
    calls.push_back({std::move(call), std::move(output)});
  }
  return calls;
}

void expect_same(std::vector<Expected> *calls, sampler_t sampler) {
  for (Expected &expected : *calls) {
    EXPECT_TRUE(same_bytes(output_of(&expected.call, sampler), expected.output))
        << describe(expected.call.spec());
  }
}

std::set<pid_t> threads_of_process() {
  std::set<pid_t> threads;
  for (const auto &entry : std::filesystem::directory_iterator("/proc/self/task")) {
    threads.insert(std::stoi(entry.path().filename()));
  }
  return threads;
}

std::size_t num_threads_of_process() {
  return threads_of_process().size();
}

// The kernel takes a thread off the list shortly after it was joined.
bool has_threads_soon(std::size_t count) {
  for (int i = 0; i < 1000 && num_threads_of_process() != count; ++i) usleep(1000);
  return num_threads_of_process() == count;
}

// What a process without threads of its own has. Sanitizers and emulators start one with the first
// thread of a process, and keep it.
std::size_t num_threads_at_rest() {
  std::size_t count = num_threads_of_process();
  std::thread([] {}).join();
  // The joined one is gone when the number has not changed for a while.
  for (int i = 0, unchanged = 0; i < 1000 && unchanged < 20; ++i) {
    usleep(1000);
    const std::size_t now = num_threads_of_process();
    unchanged = now == count ? unchanged + 1 : 0;
    count = now;
  }
  return count;
}

TEST(Threads, ChangeNothing) {
  for (const std::int64_t num_rows : {1, 2, 7, 29}) {
    std::vector<Expected> calls = expected_calls(all_specs(), num_rows);
    for (std::int32_t num_threads = 1; num_threads <= 8; ++num_threads) {
      const Sampler sampler = roomy_sampler(num_threads);
      expect_same(&calls, sampler.get());
    }
  }
}

TEST(Threads, AreStartedByCreateAndJoinedByDestroy) {
  const std::size_t before = num_threads_at_rest();
  {
    const Sampler sampler = roomy_sampler(6);
    EXPECT_EQ(num_threads_of_process(), before + 5);
    std::vector<Expected> calls = expected_calls(few_specs(), 12);
    expect_same(&calls, sampler.get());
    EXPECT_EQ(num_threads_of_process(), before + 5);
  }
  EXPECT_TRUE(has_threads_soon(before));
  const Sampler alone = roomy_sampler(1);
  EXPECT_EQ(num_threads_of_process(), before);
}

TEST(Threads, DoNotPileUp) {
  const std::size_t before = num_threads_at_rest();
  std::vector<Expected> calls = expected_calls({few_specs().front()}, 12);
  for (int i = 0; i < 300; ++i) {
    const Sampler sampler = roomy_sampler(4);
    expect_same(&calls, sampler.get());
  }
  EXPECT_TRUE(has_threads_soon(before));
}

std::atomic<int> num_signals{0};

// The host's signal handlers never run on the library's threads.
TEST(Threads, TakeNoSignals) {
  const Sampler sampler = roomy_sampler(4);
  num_signals = 0;
  struct sigaction action = {}, previous_action;
  action.sa_handler = [](int) { ++num_signals; };
  ASSERT_EQ(sigaction(SIGUSR1, &action, &previous_action), 0);
  sigset_t signals, previous;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &signals, &previous), 0);
  ASSERT_EQ(kill(getpid(), SIGUSR1), 0);
  usleep(20000);
  sigset_t pending;
  ASSERT_EQ(sigpending(&pending), 0);
  EXPECT_EQ(sigismember(&pending, SIGUSR1), 1);
  EXPECT_EQ(num_signals, 0);
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &previous, nullptr), 0);
  EXPECT_EQ(num_signals, 1);
  ASSERT_EQ(sigaction(SIGUSR1, &previous_action, nullptr), 0);
}

// What a thread does itself reaches the host's handlers on the library's threads, too: here, of a
// host that makes the rows of a call readable when they are first read.
TEST(Threads, TakeTheSignalsThatTheyCause) {
  constexpr std::int64_t num_rows = 4, num_cols = 50000;
  static constexpr std::size_t page_bytes = 65536, bytes = num_rows * num_cols * sizeof(float);
  static char *rows;
  static std::thread::id caller;
  static std::atomic<int> num_faults_elsewhere;
  caller = std::this_thread::get_id();
  num_faults_elsewhere = 0;
  void *const mapped = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  rows = static_cast<char *>(mapped);

  struct sigaction action = {}, previous;
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = [](int, siginfo_t *info, void *) {
    const std::size_t offset = std::size_t(static_cast<char *>(info->si_addr) - rows);
    if (offset >= bytes) _exit(1);  // a fault of another kind
    const std::size_t begin = offset / page_bytes * page_bytes;
    mprotect(rows + begin, std::min(page_bytes, bytes - begin), PROT_READ | PROT_WRITE);
    if (std::this_thread::get_id() != caller) ++num_faults_elsewhere;
  };
  ASSERT_EQ(sigaction(SIGSEGV, &action, &previous), 0);
  sampler_options options = roomy_options(int(num_rows));
  options.max_rows = num_rows;
  options.max_cols = num_cols;
  const Sampler sampler = make_sampler(options);
  sampler_rows input = {};
  std::int32_t token_ids[num_rows];
  input.values = rows;
  input.num_rows = num_rows;
  input.num_cols = num_cols;
  EXPECT_EQ(sampler_argmax(sampler.get(), &input, token_ids, nullptr), SAMPLER_OK);
  for (const std::int32_t token_id : token_ids) EXPECT_EQ(token_id, 0);
  EXPECT_GT(num_faults_elsewhere, 0);
  ASSERT_EQ(sigaction(SIGSEGV, &previous, nullptr), 0);
  munmap(mapped, bytes);
}

// The library's threads take all signals that a thread causes itself, and no others.
TEST(Threads, TakeNoOtherSignals) {
  num_threads_at_rest();
  const std::set<pid_t> before = threads_of_process();
  const Sampler sampler = roomy_sampler(2);
  std::set<pid_t> started = threads_of_process();
  for (const pid_t thread : before) started.erase(thread);
  ASSERT_EQ(started.size(), 1u);
  for (int signal = 1; signal < 32; ++signal) {
    if (signal == SIGKILL || signal == SIGSTOP) continue;
    struct sigaction action = {}, previous;
    action.sa_handler = [](int) { ++num_signals; };
    num_signals = 0;
    ASSERT_EQ(sigaction(signal, &action, &previous), 0);
    ASSERT_EQ(syscall(SYS_tgkill, getpid(), *started.begin(), signal), 0);
    const bool is_synchronous = signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
                                signal == SIGSEGV || signal == SIGSYS || signal == SIGTRAP;
    for (int i = 0; i < (is_synchronous ? 1000 : 2) && num_signals == 0; ++i) usleep(1000);
    EXPECT_EQ(num_signals, is_synchronous) << strsignal(signal);
    // A signal without a handler would end the process as soon as it is taken.
    if (is_synchronous) sigaction(signal, &previous, nullptr);
  }
}

// A parallel_for of any behaviour.
class ParallelFor {
 public:
  using Behaviour = std::function<void(std::int64_t num_tasks, sampler_task_fn task, void *user)>;

  explicit ParallelFor(Behaviour behaviour, std::int32_t num_threads = 5)
      : behaviour_(std::move(behaviour)) {
    sampler_options options = roomy_options(num_threads);
    options.parallel_for = [](void *user, std::int64_t num_tasks, sampler_task_fn task,
                              void *task_user) {
      auto *self = static_cast<ParallelFor *>(user);
      ++self->num_calls;
      self->behaviour_(num_tasks, task, task_user);
    };
    options.parallel_for_user = this;
    sampler = make_sampler(options);
  }

  Sampler sampler;
  int num_calls = 0;

 private:
  Behaviour behaviour_;
};

TEST(ParallelFor, MayRunTasksAnyhow) {
  std::vector<Expected> calls = expected_calls(all_specs(), 29);
  const std::size_t before = num_threads_at_rest();
  const std::vector<ParallelFor::Behaviour> behaviours = {
      [](std::int64_t num_tasks, sampler_task_fn task, void *user) {
        for (std::int64_t i = 0; i < num_tasks; ++i) task(user, i);
      },
      [](std::int64_t num_tasks, sampler_task_fn task, void *user) {
        for (std::int64_t i = num_tasks; i-- > 0;) task(user, i);
      },
      [](std::int64_t num_tasks, sampler_task_fn task, void *user) {
        std::vector<std::thread> threads;
        for (std::int64_t i = 0; i < num_tasks; ++i) threads.emplace_back(task, user, i);
        for (std::thread &thread : threads) thread.join();
      },
  };
  for (const ParallelFor::Behaviour &behaviour : behaviours) {
    ParallelFor parallel_for(behaviour);
    EXPECT_TRUE(has_threads_soon(before));
    expect_same(&calls, parallel_for.sampler.get());
    EXPECT_EQ(parallel_for.num_calls, int(calls.size()));
  }
}

TEST(ParallelFor, GetsAsManyTasksAsThreadsAtMost) {
  std::int64_t num_tasks = 0;
  ParallelFor parallel_for([&](std::int64_t count, sampler_task_fn task, void *user) {
    num_tasks = count;
    for (std::int64_t i = 0; i < count; ++i) task(user, i);
  });
  Spec spec;
  for (const auto &[num_rows, expected] : {std::pair(2, 2), std::pair(5, 5), std::pair(40, 5)}) {
    spec.num_rows = num_rows;
    Call call(spec);
    expect_ok(&call, parallel_for.sampler.get());
    EXPECT_EQ(num_tasks, expected);
  }
  const int num_calls = parallel_for.num_calls;
  spec.num_rows = 1;
  Call call(spec);
  expect_ok(&call, parallel_for.sampler.get());
  EXPECT_EQ(parallel_for.num_calls, num_calls);
}

void run_all(std::int64_t num_tasks, sampler_task_fn task, void *user) {
  for (std::int64_t i = 0; i < num_tasks; ++i) task(user, i);
}

// The call fails, reports what was wrong, and leaves the handle fit for the next.
TEST(ParallelFor, ThatBreaksItsContract) {
  const std::string left_out = "parallel_for returned before every task had run";
  const std::string twice = "parallel_for ran a task twice";
  const std::string outside = "parallel_for ran a task whose index is not in [0, num_tasks)";
  const std::vector<std::pair<std::string, ParallelFor::Behaviour>> behaviours = {
      {left_out, [](std::int64_t, sampler_task_fn, void *) {}},
      {left_out,
       [](std::int64_t num_tasks, sampler_task_fn task, void *user) {
         for (std::int64_t i = 1; i < num_tasks; ++i) task(user, i);
       }},
      {left_out,
       [](std::int64_t num_tasks, sampler_task_fn task, void *user) {
         for (std::int64_t i = 0; i < num_tasks; ++i) task(user, 0);
       }},
      {left_out,
       [](std::int64_t num_tasks, sampler_task_fn task, void *user) {
         for (std::int64_t i = 1; i <= num_tasks; ++i) task(user, i);
       }},
      {twice,
       [](std::int64_t num_tasks, sampler_task_fn task, void *user) {
         run_all(num_tasks, task, user);
         task(user, num_tasks - 1);
       }},
      {twice,
       [](std::int64_t num_tasks, sampler_task_fn task, void *user) {
         std::vector<std::thread> threads;
         for (std::int64_t i = 0; i < 3 * num_tasks; ++i) {
           threads.emplace_back(task, user, i % num_tasks);
         }
         for (std::thread &thread : threads) thread.join();
       }},
      {outside,
       [](std::int64_t num_tasks, sampler_task_fn task, void *user) {
         run_all(num_tasks, task, user);
         task(user, num_tasks);
       }},
      {outside,
       [](std::int64_t num_tasks, sampler_task_fn task, void *user) {
         task(user, -1);
         run_all(num_tasks, task, user);
       }},
      {outside,
       [](std::int64_t num_tasks, sampler_task_fn task, void *user) {
         task(user, INT64_MAX);
         run_all(num_tasks, task, user);
         task(user, INT64_MIN);
       }},
  };
  std::vector<Expected> calls = expected_calls(few_specs(), 29);
  for (const auto &[message, behaviour] : behaviours) {
    bool misbehaves = true;
    const ParallelFor::Behaviour &its_behaviour = behaviour;
    ParallelFor parallel_for([&](std::int64_t num_tasks, sampler_task_fn task, void *user) {
      misbehaves ? its_behaviour(num_tasks, task, user) : run_all(num_tasks, task, user);
    });
    for (Expected &expected : calls) {
      EXPECT_EQ(expected.call.run(parallel_for.sampler.get()), SAMPLER_ERROR_CALLBACK);
      EXPECT_EQ(sampler_last_error(), message);
    }
    misbehaves = false;
    expect_same(&calls, parallel_for.sampler.get());
  }
}

TEST(ParallelFor, ThatThrows) {
  bool throws = true, late = false;
  ParallelFor parallel_for([&](std::int64_t num_tasks, sampler_task_fn task, void *user) {
    if (throws && !late) throw std::runtime_error("early");
    for (std::int64_t i = 0; i < num_tasks; ++i) task(user, i);
    if (throws) throw 7;
  });
  std::vector<Expected> calls = expected_calls(few_specs(), 29);
  for (int i = 0; i < 6; ++i) {
    throws = i % 3 != 2;
    late = i % 3 == 1;
    if (!throws) {
      expect_same(&calls, parallel_for.sampler.get());
      continue;
    }
    for (Expected &expected : calls) {
      EXPECT_EQ(expected.call.run(parallel_for.sampler.get()), SAMPLER_ERROR_CALLBACK);
      EXPECT_STREQ(sampler_last_error(), "a callback threw an exception; it must not");
    }
  }
}

// A handle in a call refuses another one, from inside the call as well as from another thread.
TEST(Handle, ServesOneCallAtATime) {
  Call inner((Spec()));
  sampler_t sampler = nullptr;
  const auto expect_busy = [&] {
    inner.reset_outputs();
    EXPECT_EQ(inner.run(sampler), SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_STREQ(sampler_last_error(), "sampler is serving another call; it serves one at a time");
    EXPECT_TRUE(inner.outputs_are_untouched());
  };
  ParallelFor parallel_for([&](std::int64_t num_tasks, sampler_task_fn task, void *user) {
    expect_busy();
    std::thread(expect_busy).join();
    for (std::int64_t i = 0; i < num_tasks; ++i) task(user, i);
    expect_busy();
  });
  sampler = parallel_for.sampler.get();
  std::vector<Expected> calls = expected_calls(few_specs(), 29);
  expect_same(&calls, sampler);
  EXPECT_EQ(parallel_for.num_calls, int(calls.size()));
}

TEST(Handle, OfEachThreadIsIndependent) {
  std::vector<std::thread> threads;
  std::atomic<int> num_wrong{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      std::vector<Expected> calls = expected_calls(few_specs(), 5 + i);
      const Sampler sampler = roomy_sampler(1 + i % 3);
      for (int repetition = 0; repetition < 3; ++repetition) {
        for (Expected &expected : calls) {
          expected.call.reset_outputs();
          num_wrong += expected.call.run(sampler.get()) != SAMPLER_OK;
          num_wrong += expected.call.output() != expected.output;
        }
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(num_wrong, 0);
}

TEST(Handle, MovesBetweenThreads) {
  std::vector<Expected> calls = expected_calls(few_specs(), 29);
  Sampler sampler;
  std::thread([&] { sampler = roomy_sampler(3); }).join();
  expect_same(&calls, sampler.get());
  for (int i = 0; i < 3; ++i) std::thread([&] { expect_same(&calls, sampler.get()); }).join();
  std::thread([&] { sampler.reset(); }).join();
}

TEST(Errors, AreOfTheirThread) {
  const Sampler sampler = roomy_sampler();
  Call call((Spec()));
  call.args().set("input.num_rows", std::int64_t(-1));
  EXPECT_EQ(call.run(sampler.get()), SAMPLER_ERROR_INVALID_ARGUMENT);
  const std::string message = "input.num_rows is -1; it must be at least 0";
  EXPECT_EQ(sampler_last_error(), message);
  std::thread([] {
    EXPECT_STREQ(sampler_last_error(), "");
    EXPECT_EQ(sampler_create(nullptr, nullptr), SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_STREQ(sampler_last_error(), "out_sampler is NULL; it is required");
  }).join();
  EXPECT_EQ(sampler_last_error(), message);
}

// A forked child has its handles, but not their threads.
TEST(Fork, ChildWorksOnItsOwnThread) {
  std::vector<Expected> calls = expected_calls(few_specs(), 29);
  Sampler sampler = roomy_sampler(4);
  expect_same(&calls, sampler.get());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::size_t num_threads = num_threads_of_process();  // an emulator has some of its own
    int num_wrong = 0;
    for (Expected &expected : calls) {
      expected.call.reset_outputs();
      num_wrong += expected.call.run(sampler.get()) != SAMPLER_OK;
      num_wrong += expected.call.output() != expected.output;
    }
    num_wrong += num_threads_of_process() > num_threads;
    sampler.reset();
    _exit(num_wrong == 0 ? 42 : 1);
  }
  expect_same(&calls, sampler.get());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 42);
  expect_same(&calls, sampler.get());
}

}  // namespace
}  // namespace capi_test::threads_test
