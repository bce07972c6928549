// Runs the tasks of a call: on the caller's thread, the handle's threads, or the caller's
// parallel_for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sampler::cpu {

using TaskFn = void (*)(void *task_user, int64_t index);
using ParallelForFn = void (*)(void *user, int64_t num_tasks, TaskFn task, void *task_user);

// What the caller's parallel_for did wrong; null: nothing.
using Misuse = const char *;

class ThreadPool;
struct Passes;

constexpr int kMaxThreads = 256;

struct Executor {
  int num_threads = 1;  // tasks of a call at most
  ThreadPool *pool = nullptr;
  ParallelForFn parallel_for = nullptr;
  void *parallel_for_user = nullptr;
  const Passes *passes = nullptr;  // how rows are computed; null: the scalar reference
  uint64_t places_key = 0;         // see Places

  // Calls task(0) ... task(num_tasks - 1), each once, in the contract's floating-point environment.
  // num_tasks <= num_threads.
  template <class Task>
  Misuse run(int64_t num_tasks, Task &task) const {
    return run_tasks(
        num_tasks, [](void *user, int64_t index) { (*static_cast<Task *>(user))(index); }, &task);
  }

 private:
  Misuse run_tasks(int64_t num_tasks, TaskFn task, void *task_user) const;
};

// The bytes that a pool of `num_workers` threads takes.
size_t thread_pool_bytes(int num_workers);

// Starts the threads in `memory`. Null when the system refuses one; none is left running then.
ThreadPool *start_thread_pool(void *memory, int num_workers);

// Joins the threads. In a forked child, which has none, it does nothing.
void stop_thread_pool(ThreadPool *pool);

}  // namespace sampler::cpu
