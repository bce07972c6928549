// ThreadSanitizer as a detector of races between threads of a kernel: it reports those that no
// barrier orders, whatever order they ran in, and nothing else. Only for builds with it.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>

#include "simt.h"

extern "C" const char *__tsan_default_options() {
  return "atexit_sleep_ms=0";
}

namespace simt {
namespace {

struct Shared {
  std::uint64_t words[64];
  std::uint64_t sum;
};

// Runs the kernel in a process of its own and ends that.
template <class Kernel>
void run(const Kernel &kernel) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) launch<64>(3, 2, sizeof(Shared), seed, kernel);
  std::exit(0);
}

const auto kIsRace = testing::ExitedWithCode(66);
const auto kIsFine = testing::ExitedWithCode(0);

// A thread's neighbour in another warp.
template <class Context>
std::uint64_t &neighbour(Context &context, Shared &shared) {
  return shared.words[(context.thread() + 32) % 64];
}

TEST(RaceDeathTest, SyncOrders) {
  const auto kernel = [](auto &context) {
    Shared &shared = context.template shared<Shared>();
    shared.words[context.thread()] = 1;
    context.sync();
    neighbour(context, shared) += 1;
  };
  EXPECT_EXIT(run(kernel), kIsFine, "");
}

TEST(RaceDeathTest, CollectivesOfABlockOrder) {
  const auto kernel = [](auto &context) {
    Shared &shared = context.template shared<Shared>();
    std::uint64_t total;
    shared.words[context.thread()] = 1;
    context.block_sum(1);
    neighbour(context, shared) += 1;
    context.block_max(1);
    shared.words[context.thread()] += 1;
    context.block_exclusive_sum(1, &total);
    neighbour(context, shared) += 1;
    context.block_count(true);
    shared.words[context.thread()] += 1;
  };
  EXPECT_EXIT(run(kernel), kIsFine, "");
}

TEST(RaceDeathTest, WarpOperationsDoNot) {
  const auto kernel = [](auto &context) {
    Shared &shared = context.template shared<Shared>();
    shared.words[context.thread()] = 1;
    context.ballot(true);
    shared.words[context.thread() ^ 1] += 1;
  };
  EXPECT_EXIT(run(kernel), kIsRace, "data race");
}

TEST(RaceDeathTest, TeamSyncOrdersBlocks) {
  const auto kernel = [](auto &context) {
    Shared &shared = context.template shared<Shared>();
    shared.words[context.thread()] = 1;
    context.team_sync();
    *context.peer(&shared.words[context.thread()], 1 - context.cluster_rank()) += 1;
    context.team_sync();
  };
  EXPECT_EXIT(run(kernel), kIsFine, "");
}

TEST(RaceDeathTest, SyncDoesNotOrderBlocks) {
  const auto kernel = [](auto &context) {
    Shared &shared = context.template shared<Shared>();
    context.team_sync();
    shared.words[context.thread()] = 1;
    context.sync();
    *context.peer(&shared.words[context.thread()], 1 - context.cluster_rank()) += 1;
    context.team_sync();
  };
  EXPECT_EXIT(run(kernel), kIsRace, "data race");
}

// What no order of the threads would show.
TEST(RaceDeathTest, PlainCountersRace) {
  std::uint32_t count = 0;
  const auto kernel = [&](auto &) { ++count; };
  EXPECT_EXIT(run(kernel), kIsRace, "data race");
}

TEST(RaceDeathTest, AtomicCountersDoNot) {
  std::uint32_t count = 0;
  const auto kernel = [&](auto &context) { context.atomic_add(&count, 1u); };
  EXPECT_EXIT(run(kernel), kIsFine, "");
}

TEST(RaceDeathTest, AtomicsOrderNothing) {
  std::uint32_t count = 0;
  std::uint64_t word = 0;
  const auto kernel = [&](auto &context) {
    if (context.thread() == 0) ++word;
    if (context.atomic_add(&count, 1u) == 60) ++word;
  };
  EXPECT_EXIT(run(kernel), kIsRace, "data race");
}

TEST(RaceDeathTest, StoresOfTheSameDoNot) {
  std::uint32_t word = 0;
  const auto kernel = [&](auto &context) { context.store_same(&word, 7u); };
  EXPECT_EXIT(run(kernel), kIsFine, "");
}

TEST(RaceDeathTest, StoresOfTheSameOrderNothing) {
  std::uint32_t word = 0;
  const auto kernel = [&](auto &context) {
    context.store_same(&word, 7u);
    if (context.thread() == 0) ++word;
  };
  EXPECT_EXIT(run(kernel), kIsRace, "data race");
}

TEST(RaceDeathTest, AsynchronousCopiesNeedABarrier) {
  struct alignas(8) Pair {
    std::uint32_t word[2];
  };
  const Pair from = {{1, 2}};
  const auto kernel = [&](auto &context) {
    Shared &shared = context.template shared<Shared>();
    context.copy_async(reinterpret_cast<Pair *>(&shared.words[context.thread()]), &from);
    context.commit_copies();
    context.template wait_for_copies<0>();
    neighbour(context, shared) += 1;
  };
  EXPECT_EXIT(run(kernel), kIsRace, "data race");
}

// The last of a team's blocks to count itself reads what all have published.
struct Handed {
  std::uint32_t words[128] = {};
  std::uint32_t count = 0;
  std::uint32_t sum = 0;
};
template <class Context>
bool is_last(Context &context, Handed &handed, Shared &shared, bool has_fences) {
  context.sync();
  if (context.thread() == 0) {
    if (has_fences) context.fence();
    shared.sum = context.atomic_add(&handed.count, 1u) % 2;
    if (has_fences) context.fence();
  }
  context.sync();
  return shared.sum == 1;
}
template <class Context>
int place(Context &context) {
  return context.cluster_rank() * 64 + context.thread();
}

TEST(RaceDeathTest, FencesOrderBlocks) {
  Handed handed;
  const auto kernel = [&](auto &context) {
    context.publish(&handed.words[place(context)], 1u);
    if (!is_last(context, handed, context.template shared<Shared>(), true)) return;
    if (context.thread() == 0) {
      for (const std::uint32_t word : handed.words) handed.sum += word;
    }
  };
  EXPECT_EXIT(run(kernel), kIsFine, "");
}

TEST(RaceDeathTest, BlocksNeedFences) {
  Handed handed;
  const auto kernel = [&](auto &context) {
    context.publish(&handed.words[place(context)], 1u);
    if (!is_last(context, handed, context.template shared<Shared>(), false)) return;
    if (context.thread() == 0) {
      for (const std::uint32_t word : handed.words) handed.sum += word;
    }
  };
  EXPECT_EXIT(run(kernel), kIsRace, "data race");
}

TEST(RaceDeathTest, FreshLoadsDoNot) {
  Handed handed;
  const auto kernel = [&](auto &context) {
    context.publish(&handed.words[place(context)], 1u);
    context.load_fresh(&handed.words[127 - place(context)]);
  };
  EXPECT_EXIT(run(kernel), kIsFine, "");
}

TEST(RaceDeathTest, FencesDoNotOrderABlock) {
  const auto kernel = [](auto &context) {
    Shared &shared = context.template shared<Shared>();
    shared.words[context.thread()] = 1;
    context.fence();
    neighbour(context, shared) += 1;
  };
  EXPECT_EXIT(run(kernel), kIsRace, "data race");
}

}  // namespace
}  // namespace simt
