// Runs the tasks of a call on the caller's thread, the handle's threads, or the caller's
// parallel_for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sampler::cpu {

using TaskFn = void (*)(void *task_user, int64_t index);
using ParallelForFn = void (*)(void *user, int64_t num_tasks, TaskFn task, void *task_user);

// Description of a faulty parallel_for; null: no fault.
using Misuse = const char *;

class ThreadPool;
struct Passes;

constexpr int kMaxThreads = 256;

// The tasks of a call. Each runs at most once, in the contract's floating-point environment. Other
// behaviour of a parallel_for is detected.
class Tasks {
 public:
  // num_tasks <= kMaxThreads.
  explicit Tasks(int64_t num_tasks) : num_tasks_(num_tasks) {}
  Tasks(const Tasks &) = delete;
  Tasks &operator=(const Tasks &) = delete;

  int64_t size() const { return num_tasks_; }

  // A TaskFn; `tasks` points to a Tasks.
  static void run_once(void *tasks, int64_t index);

  Misuse misuse() const;

 protected:
  ~Tasks() = default;

 private:
  virtual void run(int64_t index) = 0;

  int64_t num_tasks_;
  std::atomic<int64_t> num_run_{0};
  std::atomic<bool> taken_[kMaxThreads] = {};
  std::atomic<bool> ran_twice_{false};
  std::atomic<bool> ran_outside_{false};
};

struct Executor {
  int num_threads = 1;  // maximum number of tasks of a call
  ThreadPool *pool = nullptr;
  ParallelForFn parallel_for = nullptr;
  void *parallel_for_user = nullptr;
  const Passes *passes = nullptr;  // null: the scalar reference
  uint64_t places_key = 0;         // see Places

  // At most num_threads tasks.
  Misuse run(Tasks *tasks) const;
};

// Bytes of a pool of `num_workers` threads.
size_t thread_pool_bytes(int num_workers);

// Starts the threads, with the pool in `memory`. Null if a thread cannot be created; no thread is
// left running.
ThreadPool *start_thread_pool(void *memory, int num_workers);

// Joins the threads. No effect in a forked child.
void stop_thread_pool(ThreadPool *pool);

}  // namespace sampler::cpu
