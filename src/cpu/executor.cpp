// The thread pool, and the run of a call's tasks.
#include "cpu/executor.h"

#include <pthread.h>
#include <signal.h>

#include <new>

#include "cpu/fork_generation.h"
#include "cpu/fp_environment.h"

namespace sampler::cpu {

// Workers sleep until the generation changes, then run one task each. The caller runs task 0.
class ThreadPool {
 public:
  static size_t bytes(int num_workers) {
    return sizeof(ThreadPool) + size_t(num_workers) * sizeof(Worker);
  }

  explicit ThreadPool(int num_workers) : owner_(fork_generation()), num_workers_(num_workers) {
    pthread_mutex_init(&mutex_, nullptr);
    pthread_cond_init(&work_, nullptr);
    pthread_cond_init(&done_, nullptr);
  }

  bool start() {
    // The host handles signals: those sent to the process must not be delivered to the pool's
    // threads. Synchronous signals stay unblocked: the kernel kills a process whose thread blocks
    // one that it raises.
    sigset_t blocked, previous;
    sigfillset(&blocked);
    constexpr int kSynchronous[] = {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    for (const int signal : kSynchronous) sigdelset(&blocked, signal);
    pthread_sigmask(SIG_SETMASK, &blocked, &previous);
    bool started = true;
    for (int i = 0; i < num_workers_ && started; ++i) {
      new (&workers()[i]) Worker{this, i + 1, {}};
      started = pthread_create(&workers()[i].thread, nullptr, &worker_main, &workers()[i]) == 0;
      if (started) ++num_started_;
    }
    pthread_sigmask(SIG_SETMASK, &previous, nullptr);
    if (!started) stop();
    return started;
  }

  void stop() {
    if (!is_owner()) return;
    pthread_mutex_lock(&mutex_);
    stopping_ = true;
    pthread_cond_broadcast(&work_);
    pthread_mutex_unlock(&mutex_);
    for (int i = 0; i < num_started_; ++i) pthread_join(workers()[i].thread, nullptr);
    pthread_cond_destroy(&done_);
    pthread_cond_destroy(&work_);
    pthread_mutex_destroy(&mutex_);
  }

  // False in a forked child, which does not have the threads.
  bool is_owner() const { return owner_ == fork_generation(); }

  void run(int64_t num_tasks, TaskFn task, void *task_user) {
    pthread_mutex_lock(&mutex_);
    task_ = task;
    task_user_ = task_user;
    num_tasks_ = num_tasks;
    num_pending_ = num_tasks - 1;
    ++generation_;
    pthread_cond_broadcast(&work_);
    pthread_mutex_unlock(&mutex_);

    task(task_user, 0);

    pthread_mutex_lock(&mutex_);
    while (num_pending_ > 0) pthread_cond_wait(&done_, &mutex_);
    pthread_mutex_unlock(&mutex_);
  }

 private:
  struct Worker {
    ThreadPool *pool;
    int64_t index;
    pthread_t thread;
  };

  Worker *workers() { return reinterpret_cast<Worker *>(this + 1); }

  static void *worker_main(void *user) {
    const Worker *worker = static_cast<Worker *>(user);
    worker->pool->work(worker->index);
    return nullptr;
  }

  void work(int64_t index) {
    uint64_t seen = 0;
    pthread_mutex_lock(&mutex_);
    while (true) {
      while (!stopping_ && generation_ == seen) pthread_cond_wait(&work_, &mutex_);
      if (stopping_) break;
      seen = generation_;
      if (index >= num_tasks_) continue;
      const TaskFn task = task_;
      void *const task_user = task_user_;
      pthread_mutex_unlock(&mutex_);
      task(task_user, index);
      pthread_mutex_lock(&mutex_);
      if (--num_pending_ == 0) pthread_cond_signal(&done_);
    }
    pthread_mutex_unlock(&mutex_);
  }

  pthread_mutex_t mutex_;
  pthread_cond_t work_;
  pthread_cond_t done_;
  uint32_t owner_;
  int num_workers_;
  int num_started_ = 0;
  bool stopping_ = false;
  uint64_t generation_ = 0;
  TaskFn task_ = nullptr;
  void *task_user_ = nullptr;
  int64_t num_tasks_ = 0;
  int64_t num_pending_ = 0;
};

size_t thread_pool_bytes(int num_workers) {
  return ThreadPool::bytes(num_workers);
}

ThreadPool *start_thread_pool(void *memory, int num_workers) {
  auto *pool = new (memory) ThreadPool(num_workers);
  return pool->start() ? pool : nullptr;
}

void stop_thread_pool(ThreadPool *pool) {
  if (pool) pool->stop();
}

void Tasks::run_once(void *tasks, int64_t index) {
  auto *self = static_cast<Tasks *>(tasks);
  if (index < 0 || index >= self->num_tasks_) {
    self->ran_outside_ = true;
  } else if (self->taken_[index].exchange(true)) {
    self->ran_twice_ = true;
  } else {
    const FpEnvironment environment;
    self->run(index);
    self->num_run_.fetch_add(1);
  }
}

Misuse Tasks::misuse() const {
  if (num_run_ != num_tasks_) return "parallel_for returned before every task had run";
  if (ran_twice_) return "parallel_for ran a task twice";
  if (ran_outside_) return "parallel_for ran a task whose index is not in [0, num_tasks)";
  return nullptr;
}

Misuse Executor::run(Tasks *tasks) const {
  const int64_t num_tasks = tasks->size();
  if (num_tasks > 1 && parallel_for) {
    parallel_for(parallel_for_user, num_tasks, &Tasks::run_once, tasks);
  } else if (num_tasks > 1 && pool && pool->is_owner()) {
    pool->run(num_tasks, &Tasks::run_once, tasks);
  } else {
    for (int64_t i = 0; i < num_tasks; ++i) Tasks::run_once(tasks, i);
  }
  return tasks->misuse();
}

}  // namespace sampler::cpu
