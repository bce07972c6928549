// Rounds of split rows on the CPU: workspace, tasks, checks of headers.
#include "cpu/shards.h"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "cpu/shard_columns.h"
#include "cpu/workspace.h"
#include "shards/digests.h"
#include "shards/rounds.h"

namespace sampler::cpu {

using shards::ShardCall;
using shards::ShardDigests;
using shards::ShardHeader;
using shards::ShardMemory;
using shards::ShardPlan;
using shards::ShardRound;

namespace {

// Workspace: state between rounds, and the memory of the tasks.
struct Memory {
  shards::ShardRow *rows;
  shards::ShardList listed;
  int32_t *ids;   // this rank's ids
  float *edited;  // [rows, columns]
  int64_t num_tasks;
  size_t task_bytes;
  char *tasks;

  Memory(const ShardCall &call, const ShardPlan &plan, const Executor &executor, Arena &arena)
      : rows(arena.take<shards::ShardRow>(plan.num_rows)),
        listed(take_list(plan.num_rows * plan.num_candidates, plan, arena)),
        ids(arena.take<int32_t>(call.num_cols + kListPadding)),
        edited(call.has_own_values() ? arena.take<float>(plan.num_rows * call.num_cols) : nullptr),
        num_tasks(std::min<int64_t>(plan.num_rows, executor.num_threads)) {
    TaskMemory task(executor, nullptr);
    take_of_task(call, plan, task);
    const ShardColumns unused(call, plan, executor, ids, task, true);
    task_bytes = task.size();
    tasks = arena.take<char>(num_tasks * int64_t(task_bytes));
  }

  // Memory of one task, with the shared arrays.
  ShardMemory of_task(const ShardCall &call, const ShardPlan &plan, TaskMemory &task) const {
    ShardMemory memory = take_of_task(call, plan, task);
    memory.rows = rows;
    memory.listed = listed;
    memory.edited = edited;
    memory.edited_stride = call.num_cols;
    return memory;
  }

 private:
  template <class From>
  static shards::ShardList take_list(int64_t count, const ShardPlan &plan, From &from) {
    shards::ShardList list = {};
    list.ranks = from.template take<contract::Rank>(count);
    list.values = plan.has_values ? from.template take<float>(count) : nullptr;
    return list;
  }
  static ShardMemory take_of_task(const ShardCall &call, const ShardPlan &plan, TaskMemory &task) {
    ShardMemory memory = {};
    for (int i = 0; i < 2; ++i) {
      memory.merged[i] = take_list(ShardMemory::num_merged(call, plan), plan, task);
      memory.sizes[i] = task.take<int32_t>(call.num_ranks);
    }
    memory.digits = task.take<uint64_t>(shards::kNumDigitValues);
    return memory;
  }
};

class RoundTasks final : public Tasks {
 public:
  RoundTasks(const ShardCall &call, const ShardPlan &plan, const Memory &memory,
             const Executor &executor, const ShardRound &round)
      : Tasks(memory.num_tasks),
        call_(call),
        plan_(plan),
        memory_(memory),
        executor_(executor),
        round_(round) {}

 private:
  void run(int64_t index) override {
    TaskMemory task(executor_, memory_.tasks + size_t(index) * memory_.task_bytes);
    const ShardMemory memory = memory_.of_task(call_, plan_, task);
    ShardColumns columns(call_, plan_, executor_, memory_.ids, task, false);
    shards::ShardRounds<ShardColumns> rounds(call_, plan_, memory, round_, columns);
    const int64_t begin = plan_.num_rows * index / size();
    const int64_t end = plan_.num_rows * (index + 1) / size();
    for (int64_t row = begin; row < end; ++row) rounds.run_row(row);
  }

  const ShardCall &call_;
  const ShardPlan &plan_;
  const Memory &memory_;
  const Executor &executor_;
  const ShardRound &round_;
};

[[gnu::format(printf, 2, 3)]] bool refuse(ShardFault *fault, const char *format, ...) {
  va_list values;
  va_start(values, format);
  std::vsnprintf(fault->text, sizeof fault->text, format, values);
  va_end(values);
  return false;
}

// The first group in which the digests differ; kNumGroups: none.
int different_group(const ShardDigests &a, const ShardDigests &b) {
  int group = 0;
  while (group < ShardDigests::kNumGroups && a.groups[group] == b.groups[group]) ++group;
  return group;
}

// Checks the headers of all ranks. Every rank gets the same result.
bool judge_headers(const ShardCall &call, const ShardPlan &plan, int exchange,
                   const ShardDigests &digests, const void *received, ShardFault *fault) {
  const auto header = [&](int64_t rank) -> const ShardHeader & {
    const char *const messages = static_cast<const char *>(received);
    return *reinterpret_cast<const ShardHeader *>(messages +
                                                  size_t(rank) * plan.message_bytes(exchange));
  };
  for (int64_t rank = 0; rank < call.num_ranks; ++rank) {
    if (header(rank).round != 0) continue;
    return refuse(fault,
                  "rank %" PRId64 " has failed in round %d, and sent zeros; its own error says why",
                  rank, exchange);
  }
  int64_t end = 0;
  for (int64_t rank = 0; rank < call.num_ranks; ++rank) {
    const ShardHeader &own = header(rank);
    const ShardHeader *const before = rank > 0 ? &header(rank - 1) : nullptr;
    const shards::ShardVerdict verdict =
        shards::judge_header(own, header(0), before, exchange, rank);
    if (!verdict.has_message) {
      return refuse(fault,
                    "received has no message of round %d at the place of rank %" PRId64
                    "; messages stand in the order of their ranks",
                    exchange, rank);
    }
    if (!verdict.are_alike) {
      return refuse(fault, "%s differs between ranks 0 and %" PRId64 "; it must be the same",
                    shards::name_of_digest(different_group(own.digests, header(0).digests)), rank);
    }
    if (!verdict.follows) {
      return refuse(fault,
                    "first_token_id of rank %" PRId64 " is %d; it must be %" PRId64
                    ", where the range before it ends",
                    rank, int(own.first_id), end);
    }
    end += own.num_cols;
  }
  if (end != call.total_cols()) {
    return refuse(fault, "the ranks' ranges end at %" PRId64 "; it must be total_cols, %" PRId64,
                  end, call.total_cols());
  }
  const int changed = different_group(header(call.rank).digests, digests);
  if (changed < ShardDigests::kNumGroups) {
    return refuse(fault, "%s is not what it was in round %d; it must be the same in all rounds",
                  shards::name_of_digest(changed), exchange);
  }
  return true;
}

}  // namespace

size_t shard_workspace_bytes(const ShardCall &call, int num_threads) {
  if (call.num_rows() == 0) return 0;
  Executor executor;
  executor.num_threads = num_threads;
  Arena arena(nullptr);
  const Memory unused(call, shards::plan_shards(call), executor, arena);
  return arena.bytes();
}

bool run_shard_round(const ShardCall &call, int round, const Executor &executor, void *workspace,
                     const void *received, void *send, Misuse *misuse, ShardFault *fault) {
  const ShardPlan plan = shards::plan_shards(call);
  const ShardDigests digests = shards::digest_arguments(call);
  Arena arena(workspace);
  const Memory memory(call, plan, executor, arena);
  if (round == 0) {
    for (int64_t i = 0; i < call.num_cols + kListPadding; ++i) {
      memory.ids[i] = int32_t(call.first_id + i);
    }
  } else if (memory.rows[0].stamp != shards::shard_stamp(round)) {
    return refuse(fault,
                  "round is %d; rounds come in order, from 0 on, with a workspace of their own",
                  round);
  } else if (!judge_headers(call, plan, round - 1, digests, received, fault)) {
    memory.rows[0].stamp = 0;
    return false;
  }
  if (round < plan.num_exchanges()) {
    const ShardHeader header = shards::shard_header(call, digests, round);
    std::memcpy(send, &header, sizeof header);
  }
  const ShardRound work = {round, static_cast<const char *>(received), static_cast<char *>(send),
                           true};
  RoundTasks tasks(call, plan, memory, executor, work);
  *misuse = executor.run(&tasks);
  return true;
}

}  // namespace sampler::cpu
