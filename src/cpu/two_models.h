// Operations on rows of two models, the target and the drafter: their memory and their tasks.
//
// A request has `target`, `draft` whose values may be null, and `num_rows`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/executor.h"
#include "cpu/task_rows.h"
#include "cpu/tasks.h"
#include "cpu/workspace.h"

namespace sampler::cpu {

// Of one task.
struct TwoModelsMemory {
  char *target = nullptr;
  char *draft = nullptr;
  float *residual = nullptr;  // probabilities of the target's tokens
};

template <class Request>
size_t lay_out_two_models(const Request &request, int64_t num_tasks, void *block, int64_t task,
                          TwoModelsMemory *out) {
  Arena arena(block);
  for (int64_t i = 0; i < num_tasks; ++i) {
    TwoModelsMemory memory;
    memory.target = arena.take<char>(int64_t(row_memory_bytes(request.target)));
    if (request.draft.values) {
      memory.draft = arena.take<char>(int64_t(row_memory_bytes(request.draft)));
    }
    memory.residual = arena.take<float>(request.target.num_cols);
    if (i == task) *out = memory;
  }
  return arena.bytes();
}

template <class Request>
size_t two_models_bytes(const Request &request, int num_threads) {
  TwoModelsMemory unused;
  return lay_out_two_models(request, num_tasks_for(request.num_rows, num_threads), nullptr, 0,
                            &unused);
}

// Calls work(row, target, draft, residual) for each output row.
template <class Request, class Work>
Misuse for_rows_of_two_models(const Request &request, const Executor &executor, void *block,
                              const Work &work) {
  const int64_t num_tasks = num_tasks_for(request.num_rows, executor.num_threads);
  const bool is_list = request.target.ids || request.draft.ids;
  return with_rows(executor, is_list, [&](const auto &rows) {
    return for_row_ranges(executor, request.num_rows,
                          [&](int64_t task, int64_t begin, int64_t end) {
                            TwoModelsMemory memory;
                            lay_out_two_models(request, num_tasks, block, task, &memory);
                            auto target = rows.make(request.target, memory.target);
                            auto draft = rows.make(request.draft, memory.draft);
                            for (int64_t row = begin; row < end; ++row) {
                              work(row, target, draft, memory.residual);
                            }
                          });
  });
}

}  // namespace sampler::cpu
