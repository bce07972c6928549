// The one place that walks rows: deals the output rows of a call to tasks, in order, and gives each
// task its memory.
//
// What an operation does is a Task<Request, Row>, for rows worked on by the scalar reference
// (ReferenceRow) or by row passes (SimdRow). It takes its rows and other arrays from a TaskMemory
// when it is made; run(begin, end) then computes these rows of output.
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

// What the tasks of a call share, made before the first of them: nothing, unless an operation says
// otherwise.
template <class Request>
struct Shared {
  Shared(const Request &, Arena &) {}

  // After the last of them.
  void finish(const Request &) const {}
};

// The memory of a task; without a block it counts what is taken.
class TaskMemory {
 public:
  TaskMemory(const Executor &executor, void *block) : executor_(executor), arena_(block) {}

  // A row for rows like these. Its memory is the same for either kind: the workspace does not
  // depend on the instruction set.
  template <class Row>
  Row make_row(const contract::Rows &rows) {
    const size_t reference = ReferenceRow::memory_bytes(rows);
    const size_t bytes =
        rows.ids ? reference : std::max(reference, SimdRow::memory_bytes(rows.num_cols));
    return Row(executor_, rows, take<char>(int64_t(bytes)));
  }

  // One that is never loaded takes none.
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

// A call's workspace: what tasks share, and then the memory of each.
struct Layout {
  int64_t num_tasks;
  size_t shared_size;
  size_t task_size;

  size_t bytes() const { return Arena::bytes(shared_size + size_t(num_tasks) * task_size); }
};

// Stands for a row when a task is made only to count its memory.
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
