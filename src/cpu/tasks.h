// Splits the rows of a call into tasks, each with a workspace of its own.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/executor.h"
#include "cpu/workspace.h"

namespace sampler::cpu {

inline int64_t num_tasks_for(int64_t num_rows, int num_threads) {
  return std::min<int64_t>(num_rows, num_threads);
}

// Calls work(task, first_row, end_row) for each task, the rows dealt evenly.
template <class Work>
Misuse for_row_ranges(const Executor &executor, int64_t num_rows, const Work &work) {
  const int64_t num_tasks = num_tasks_for(num_rows, executor.num_threads);
  auto task = [&](int64_t index) {
    work(index, num_rows * index / num_tasks, num_rows * (index + 1) / num_tasks);
  };
  return executor.run(num_tasks, task);
}

}  // namespace sampler::cpu
