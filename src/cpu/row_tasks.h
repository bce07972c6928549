// Divides the output rows of a call among tasks, in order, and gives each task its memory.
//
// An operation is a Task<Request, Row>, where Row is ReferenceRow (scalar) or SimdRow (row passes).
// Its constructor takes rows and arrays from a TaskMemory; run(begin, end) computes these output
// rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "contract/any_request.h"
#include "cpu/executor.h"
#include "cpu/reference_row.h"
#include "cpu/simd/row.h"
#include "cpu/workspace.h"

namespace sampler::cpu {

template <class Request, class Row>
class Task;

// Data shared by the tasks of a call, built before the first task. Empty unless an operation
// specialises it.
template <class Request>
struct Shared {
  Shared(const Request &, Arena &) {}

  // Called after the last task.
  void finish(const Request &) const {}
};

// Memory of a task; without a block it only counts.
class TaskMemory {
 public:
  TaskMemory(const Executor &executor, void *block) : executor_(executor), arena_(block) {}

  // A row with memory for one of `rows`. The size is the same for both kinds, so that the workspace
  // does not depend on the instruction set.
  template <class Row>
  Row make_row(const contract::Rows &rows) {
    const size_t reference = ReferenceRow::memory_bytes(rows);
    const size_t bytes =
        rows.ids ? reference : std::max(reference, SimdRow::memory_bytes(rows.num_cols));
    return Row(executor_, rows, take<char>(int64_t(bytes)));
  }

  // A row that is never loaded takes no memory.
  template <class Row>
  Row make_row_if(bool is_loaded, const contract::Rows &rows) {
    return is_loaded ? make_row<Row>(rows) : Row(executor_, rows, nullptr);
  }

  template <class T>
  T *take(int64_t count) {
    return arena_.take<T>(count);
  }

  size_t size() const { return arena_.size(); }

 private:
  const Executor &executor_;
  Arena arena_;
};

// Layout of a call's workspace: shared data, then the memory of each task.
struct Layout {
  int64_t num_tasks;
  size_t shared_size;
  size_t task_size;

  size_t bytes() const { return Arena::bytes(shared_size + size_t(num_tasks) * task_size); }
};

// Placeholder for a row when a task is constructed only to count its memory.
struct CountedRow {
  CountedRow(const Executor &, const contract::Rows &, void *) {}
};

template <class Request>
Layout layout_of(const Request &request, const Executor &executor) {
  const int64_t num_rows = contract::num_output_rows(request);
  Arena arena(nullptr);
  const Shared<Request> shared(request, arena);
  TaskMemory memory(executor, nullptr);
  Task<Request, CountedRow>(request, shared, memory);
  return {std::min<int64_t>(num_rows, executor.num_threads), arena.size(), memory.size()};
}

// All rows of a call, as tasks.
template <class Row, class Request>
class RowTasks final : public Tasks {
 public:
  RowTasks(const Request &request, const Executor &executor, const Layout &layout, void *workspace)
      : Tasks(layout.num_tasks),
        request_(request),
        executor_(executor),
        task_size_(layout.task_size),
        arena_(workspace),
        shared_(request, arena_),
        task_memory_(arena_.take<char>(layout.num_tasks * int64_t(layout.task_size))) {}

  void finish() const { shared_.finish(request_); }

 private:
  void run(int64_t index) override {
    TaskMemory memory(executor_, task_memory_ + size_t(index) * task_size_);
    Task<Request, Row> task(request_, shared_, memory);
    const int64_t num_rows = contract::num_output_rows(request_), num_tasks = size();
    task.run(num_rows * index / num_tasks, num_rows * (index + 1) / num_tasks);
  }

  const Request &request_;
  const Executor &executor_;
  size_t task_size_;
  Arena arena_;
  Shared<Request> shared_;
  char *task_memory_;
};

template <class Row, class Request>
Misuse run_rows(const Request &request, const Executor &executor, void *workspace) {
  RowTasks<Row, Request> tasks(request, executor, layout_of(request, executor), workspace);
  const Misuse misuse = executor.run(&tasks);
  if (!misuse) tasks.finish();
  return misuse;
}

}  // namespace sampler::cpu
