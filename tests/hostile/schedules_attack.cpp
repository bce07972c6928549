// Random schedules of a session whose threads and n-grams' memory fail now and then, with NaN rows,
// forks and full contexts: each text is the one that it is alone, and a session takes no memory
// once it is there.
//
// usage: schedules_attack [COUNT [SEED]]
#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "../seed.h"
#include "schedule.h"

namespace {

using session_test::Random;
using session_test::Schedule;
using session_test::ScheduleKind;

constexpr std::int64_t kTexts = 10;  // of a schedule

// What fails once in `odds` times, from when that is above 0.
struct Failing {
  explicit Failing(std::uint64_t seed) : random(seed) {}

  bool fails() {
    const bool result = odds > 0 && random.one_in(odds);
    num_failures += result;
    return result;
  }

  static void *allocate(void *user, std::size_t bytes, std::size_t alignment) {
    if (static_cast<Failing *>(user)->fails()) return nullptr;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  static void deallocate(void *, void *memory, std::size_t, std::size_t) { std::free(memory); }
  sampler_allocator allocator() { return {allocate, deallocate, this}; }

  Random random;
  std::int64_t odds = 0, num_failures = 0;
};

// Tasks of a call. Where it fails one is left out, runs twice, or is of another index.
void run_tasks(void *user, std::int64_t num_tasks, sampler_task_fn task, void *task_user) {
  Failing &failing = *static_cast<Failing *>(user);
  const std::int64_t bad = failing.fails() ? failing.random.between(0, num_tasks - 1) : -1;
  const std::int64_t way = failing.random.between(0, 2);
  for (std::int64_t i = 0; i < num_tasks; ++i) {
    if (i != bad || way == 1) task(task_user, i);
    if (i == bad && way > 0) task(task_user, way == 1 ? i : num_tasks);
  }
}

struct Counts {
  std::int64_t schedules = 0, texts = 0, tokens = 0, failed_calls = 0, failed_memory = 0,
               memory_of_sessions = 0;
  std::map<sampler_finish_reason, std::int64_t> reasons;
};

void attack(std::uint64_t seed, Counts *counts) {
  Random random(seed);
  Failing threads(seed + 1), ngram_memory(seed + 2), session_memory(seed + 3);
  const sampler_allocator ngram_allocator = ngram_memory.allocator();
  sampler_options handle = session_test::handle_options(1, random.one_in(2) ? 5 : -1);
  handle.allocator = session_memory.allocator();
  if (random.one_in(2)) {
    handle.num_threads = 2;
    handle.parallel_for = run_tasks;
    handle.parallel_for_user = &threads;
  }
  ScheduleKind kind = {random.one_in(2), random.one_in(4), random.one_in(4)};
  kind.ngram_memory = &ngram_allocator;
  Schedule schedule(seed, kTexts, kind, handle);
  schedule.expect_failures({SAMPLER_ERROR_CALLBACK, SAMPLER_ERROR_OUT_OF_MEMORY});
  threads.odds = random.between(2, 20);
  ngram_memory.odds = random.between(2, 6);
  session_memory.odds = 1;
  schedule.run();
  EXPECT_EQ(session_memory.num_failures, 0) << "a session took memory";
  ++counts->schedules;
  counts->texts += schedule.num_compared;
  counts->tokens += schedule.num_tokens;
  counts->failed_calls += schedule.num_failed();
  counts->failed_memory += ngram_memory.num_failures;
  for (const auto &[reason, number] : schedule.reasons) counts->reasons[reason] += number;
}

}  // namespace

int main(int argc, char **argv) {
  const std::int64_t count = argc > 1 ? std::atoll(argv[1]) : 100;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : seeded(33);
  Counts counts;
  for (std::int64_t i = 0; i < count; ++i) {
    attack(seed + 10 * static_cast<std::uint64_t>(i), &counts);
    if (!testing::Test::HasFailure()) continue;
    std::printf("schedule %" PRId64 ": schedules_attack 1 %" PRIu64 " repeats it\n", i,
                seed + 10 * static_cast<std::uint64_t>(i));
    return 1;
  }
  std::printf("%" PRId64 " schedules, %" PRId64 " texts of %" PRId64 " tokens as alone; %" PRId64
              " calls and %" PRId64 " allocations have failed\n",
              counts.schedules, counts.texts, counts.tokens, counts.failed_calls,
              counts.failed_memory);
  for (const auto &[reason, number] : counts.reasons)
    std::printf("finish reason %d: %" PRId64 "\n", int(reason), number);
  // A schedule has about nine texts, three failed calls and one failed allocation.
  const bool is_attacked =
      counts.texts > 5 * count && counts.failed_calls > count && counts.failed_memory > count / 4;
  return is_attacked ? 0 : 1;
}
