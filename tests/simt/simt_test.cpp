// The machine that device code is tested on: it computes what CUDA does, and finds what is wrong.
#include "simt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace simt {
namespace {

constexpr std::uint64_t kNumSeeds = 8;

// Any function of a thread's place that differs from thread to thread.
std::uint64_t value_of(int rank, int thread) {
  return Random(std::uint64_t(rank) * kMaxThreads + std::uint64_t(thread)).next() >> 20;
}

// The error that a launch ends with.
template <int kThreads, class Kernel>
Error error_of(int team_size, std::size_t shared_bytes, const Kernel &kernel) {
  try {
    launch<kThreads>(1, team_size, shared_bytes, 5, kernel);
  } catch (const Error &error) {
    return error;
  }
  throw std::logic_error("the launch ended well");
}

int site_at(Kind kind, int line) {
  const Site wanted{kind, {__FILE__, line}};
  const auto site = std::find(sites().begin(), sites().end(), wanted);
  return site == sites().end() ? kNoSite : int(site - sites().begin());
}

// ---- Collectives, for every size of block and team ----------------------------------------------

template <class Size>
class Collectives : public testing::Test {};

using Sizes = testing::Types<std::integral_constant<int, 32>, std::integral_constant<int, 64>,
                             std::integral_constant<int, 512>, std::integral_constant<int, 1024>>;

struct SizeName {
  template <class Size>
  static std::string GetName(int) {
    return std::to_string(Size::value);
  }
};

TYPED_TEST_SUITE(Collectives, Sizes, SizeName);

constexpr int kTeamSizes[] = {1, 2, 4, 8};

// launch<>() of one team of each size, some seeds.
template <int kThreads, class Kernel>
void run_teams(std::size_t shared_bytes, const Kernel &kernel) {
  for (const int team_size : kTeamSizes) {
    // With thousands of fibers, each with its stack against use after return, it takes minutes.
    if (sanitizers::kAreOn && team_size * kThreads > 2048) continue;
    for (std::uint64_t seed = 0; seed < 2; ++seed) {
      SCOPED_TRACE(testing::Message() << "team of " << team_size << ", seed " << seed);
      launch<kThreads>(1, team_size, shared_bytes, seed, kernel);
    }
  }
}

TYPED_TEST(Collectives, BlockSumsAndMaxima) {
  run_teams<TypeParam::value>(0, [](auto &context) {
    std::uint64_t sum = 0, max = 0;
    std::uint32_t num_odd = 0;
    for (int thread = 0; thread < context.kThreads; ++thread) {
      const std::uint64_t value = value_of(context.cluster_rank(), thread);
      sum += value;
      max = std::max(max, value);
      num_odd += value % 2;
    }
    const std::uint64_t value = value_of(context.cluster_rank(), context.thread());
    ASSERT_EQ(context.block_sum(value), sum);
    ASSERT_EQ(context.block_max(value), max);
    ASSERT_EQ(context.block_count(value % 2 != 0), num_odd);
  });
}

TYPED_TEST(Collectives, BlockScans) {
  run_teams<TypeParam::value>(0, [](auto &context) {
    std::uint64_t before = 0, all = 0;
    for (int thread = 0; thread < context.kThreads; ++thread) {
      if (thread < context.thread()) before += value_of(context.cluster_rank(), thread);
      all += value_of(context.cluster_rank(), thread);
    }
    std::uint64_t total = 0;
    const std::uint64_t value = value_of(context.cluster_rank(), context.thread());
    ASSERT_EQ(context.block_exclusive_sum(value, &total), before);
    ASSERT_EQ(total, all);
  });
}

TYPED_TEST(Collectives, WarpOperations) {
  run_teams<TypeParam::value>(0, [](auto &context) {
    const int first = context.warp() * kWarpSize;
    std::uint32_t mask = 0, same = 0;
    std::uint64_t up_to = 0, sum = 0, largest = 0;
    for (int lane = 0; lane < kWarpSize; ++lane) {
      const std::uint64_t value = value_of(context.cluster_rank(), first + lane);
      mask |= std::uint32_t(value % 2) << lane;
      if (lane <= context.lane()) up_to += value;
      sum += value;
      largest = std::max(largest, value % 1000);
      if (lane % 5 == context.lane() % 5) same |= 1u << lane;
    }
    const std::uint64_t value = value_of(context.cluster_rank(), context.thread());
    ASSERT_EQ(context.ballot(value % 2 != 0), mask);
    ASSERT_EQ(context.warp_inclusive_sum(value), up_to);
    ASSERT_EQ(context.warp_sum(value), sum);
    ASSERT_EQ(context.warp_max(std::uint32_t(value % 1000)), largest);
    ASSERT_EQ(context.warp_match(std::uint32_t(context.lane() % 5)), same);
    ASSERT_EQ(context.lowest_bit(same), context.lane() % 5);
    ASSERT_EQ(context.count_bits(same), context.lane() % 5 < 2 ? 7 : 6);
    for (int lane = 0; lane < kWarpSize; ++lane) {
      ASSERT_EQ(context.warp_broadcast(value, lane),
                value_of(context.cluster_rank(), first + lane));
    }
  });
}

// Like a shuffle: each lane names its source.
TYPED_TEST(Collectives, LanesMayBroadcastFromDifferentLanes) {
  run_teams<TypeParam::value>(0, [](auto &context) {
    const int source = (context.lane() + 5) % kWarpSize;
    ASSERT_EQ(context.warp_broadcast(std::uint64_t(context.thread()), source),
              std::uint64_t(context.warp() * kWarpSize + source));
  });
}

TYPED_TEST(Collectives, ResultsOfOneAreNotThoseOfTheNext) {
  run_teams<TypeParam::value>(0, [](auto &context) {
    for (std::uint64_t round = 1; round <= 10; ++round) {
      ASSERT_EQ(context.block_sum(round), round * std::uint64_t(context.kThreads));
      ASSERT_EQ(context.ballot(round % 2 == 0), round % 2 == 0 ? 0xFFFFFFFF : 0);
      ASSERT_EQ(context.block_max(round), round);
    }
  });
}

TYPED_TEST(Collectives, TeamsExchangeSharedMemory) {
  struct Shared {
    std::uint64_t values[TypeParam::value];
  };
  run_teams<TypeParam::value>(sizeof(Shared), [](auto &context) {
    Shared &shared = context.template shared<Shared>();
    shared.values[context.thread()] = value_of(context.cluster_rank(), context.thread());
    context.team_sync();
    for (int rank = 0; rank < context.team_size(); ++rank) {
      const int thread = (context.thread() + rank) % context.kThreads;
      ASSERT_EQ(*context.peer(&shared.values[thread], rank), value_of(rank, thread));
    }
    context.team_sync();
    const int next = (context.cluster_rank() + 1) % context.team_size();
    *context.peer(&shared.values[context.thread()], next) = std::uint64_t(context.cluster_rank());
    context.team_sync();
    const int last = (context.cluster_rank() + context.team_size() - 1) % context.team_size();
    ASSERT_EQ(shared.values[context.thread()], std::uint64_t(last));
    context.team_sync();
  });
}

// ---- The grid -----------------------------------------------------------------------------------

TEST(Grid, EveryThreadRunsOnceAndKnowsItsPlace) {
  std::set<std::tuple<std::int64_t, int, int>> places;
  launch<64>(5, 2, 0, 1, [&](auto &context) {
    EXPECT_EQ(context.num_teams(), 5);
    EXPECT_EQ(context.team_size(), 2);
    EXPECT_EQ(context.warp() * 32 + context.lane(), context.thread());
    EXPECT_TRUE(places.insert({context.team(), context.cluster_rank(), context.thread()}).second);
  });
  ASSERT_EQ(places.size(), 5u * 2 * 64);
  EXPECT_EQ(*places.begin(), std::make_tuple(0, 0, 0));
  EXPECT_EQ(*places.rbegin(), std::make_tuple(4, 1, 63));
}

// Teams, blocks and threads as they pass through three stretches of code.
std::vector<int> order_of(std::uint64_t seed) {
  std::vector<int> order;
  launch<64>(3, 2, 0, seed, [&](auto &context) {
    const int name = int(context.team()) * 1000 + context.cluster_rank() * 100 + context.thread();
    order.push_back(name);
    context.sync();
    order.push_back(name);
    context.ballot(true);
    order.push_back(name);
  });
  return order;
}

TEST(Grid, TheSeedIsTheOrder) {
  std::set<std::vector<int>> orders;
  for (std::uint64_t seed = 0; seed < kNumSeeds; ++seed) {
    EXPECT_EQ(order_of(seed), order_of(seed));
    orders.insert(order_of(seed));
  }
  EXPECT_EQ(orders.size(), kNumSeeds);
}

TEST(Grid, TeamsRunInAnyOrder) {
  std::set<std::vector<std::int64_t>> orders;
  for (std::uint64_t seed = 0; seed < kNumSeeds; ++seed) {
    std::vector<std::int64_t> order;
    launch<32>(8, 1, 0, seed, [&](auto &context) {
      if (context.thread() == 0) order.push_back(context.team());
    });
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), kNumSeeds);
}

// Shuffled, from the first to the last, from the last to the first.
TEST(Grid, TheOrderChangesAtEveryBarrier) {
  std::vector<std::vector<int>> orders(40);
  launch<512>(1, 1, 0, 3, [&](auto &context) {
    for (auto &order : orders) {
      order.push_back(context.thread());
      context.sync();
    }
  });
  std::set<std::vector<int>> shuffled;
  int num_upwards = 0, num_downwards = 0;
  for (const auto &order : orders) {
    const bool is_upwards = std::is_sorted(order.begin(), order.end());
    const bool is_downwards = std::is_sorted(order.rbegin(), order.rend());
    num_upwards += is_upwards;
    num_downwards += is_downwards;
    if (!is_upwards && !is_downwards) shuffled.insert(order);
  }
  EXPECT_GT(num_upwards, 0);
  EXPECT_GT(num_downwards, 0);
  EXPECT_EQ(shuffled.size(), orders.size() - std::size_t(num_upwards + num_downwards));
  EXPECT_GT(shuffled.size(), orders.size() / 2);
}

// A warp that needs no other runs from ballot to ballot while the rest of the block stands still,
// or the warps take turns.
TEST(Grid, WarpsRunAheadOrTakeTurns) {
  std::set<bool> has_run_ahead;
  for (std::uint64_t seed = 0; seed < kNumSeeds; ++seed) {
    std::array<int, 2> progress = {};
    bool is_ahead = false;
    launch<64>(1, 1, 0, seed, [&](auto &context) {
      for (int i = 0; i < 100; ++i) {
        context.ballot(true);
        if (context.lane() == 0) ++progress[std::size_t(context.warp())];
        is_ahead |= std::abs(progress[0] - progress[1]) > 90;
      }
    });
    has_run_ahead.insert(is_ahead);
  }
  EXPECT_EQ(has_run_ahead.size(), 2u);
}

TEST(Grid, DimensionsAreChecked) {
  auto nothing = [](auto &) {};
  EXPECT_THROW(launch<32>(0, 1, 0, 0, nothing), std::invalid_argument);
  EXPECT_THROW(launch<32>(1, 0, 0, 0, nothing), std::invalid_argument);
  EXPECT_THROW(launch<32>(1, 17, 0, 0, nothing), std::invalid_argument);
  EXPECT_THROW(launch<32>(1, 1, kMaxSharedBytes + 1, 0, nothing), std::invalid_argument);
  Options options;
  options.skip_site = int(sites().size());
  EXPECT_THROW(launch<32>(1, 1, 0, 0, nothing, options), std::invalid_argument);
  EXPECT_NO_THROW(launch<32>(1, 16, kMaxSharedBytes, 0, nothing));
}

TEST(Grid, ThreadsComputeInTheDefaultFloatingPointEnvironment) {
  std::fesetround(FE_UPWARD);
  std::set<int> roundings;
  launch<32>(1, 1, 0, 0, [&](auto &) { roundings.insert(std::fegetround()); });
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(roundings, std::set<int>{FE_TONEAREST});
}

// ---- Shared memory ------------------------------------------------------------------------------

TEST(SharedMemory, BeginsAsGarbageInEveryBlock) {
  struct Shared {
    std::uint64_t word;
    unsigned char tail[3];
  };
  std::set<std::uint64_t> words;
  launch<32>(4, 2, sizeof(Shared), 1, [&](auto &context) {
    Shared &shared = context.template shared<Shared>();
    if (context.ballot(true) != 0 && context.thread() == 0) {
      words.insert(shared.word);
      shared.word = 0;
    }
  });
  EXPECT_EQ(words.size(), 8u);
  EXPECT_EQ(words.count(0), 0u);
}

#if defined(SIMT_ASAN)
TEST(SharedMemoryDeathTest, EndsWhereTheLaunchSays) {
  auto touch = [](std::size_t offset) {
    launch<32>(1, 1, 13, 0, [&](auto &context) {
      volatile char *bytes = &context.template shared<char>();
      bytes[offset] = 1;
    });
  };
  touch(12);
  EXPECT_DEATH(touch(13), "heap-buffer-overflow");
}

TEST(SharedMemoryDeathTest, OfABlockThatHasEndedIsGone) {
  auto run = [](bool waits) {
    launch<32>(1, 2, 8, 0, [&](auto &context) {
      volatile std::uint64_t *word = &context.template shared<std::uint64_t>();
      context.team_sync();
      if (context.cluster_rank() == 0) {
        for (int i = 0; i < 100; ++i) {
          context.ballot(true);
          *context.peer(word, 1) = 1;
        }
      }
      if (waits) context.team_sync();
    });
  };
  run(true);
  EXPECT_DEATH(run(false), "use-after-poison");
}
#else
TEST(SharedMemory, OfABlockThatHasNotBegunIsGarbage) {
  std::uint64_t num_lost = 0;
  for (std::uint64_t seed = 0; seed < kNumSeeds; ++seed) {
    launch<32>(1, 2, 8, seed, [&](auto &context) {
      std::uint64_t *word = &context.template shared<std::uint64_t>();
      if (context.cluster_rank() == 0) *context.peer(word, 1) = 17;
      context.team_sync();
      if (context.cluster_rank() == 1 && context.thread() == 0) num_lost += *word != 17;
      context.team_sync();
    });
  }
  EXPECT_GT(num_lost, 0u);
}

TEST(SharedMemory, OfABlockThatHasEndedIsGarbage) {
  bool is_seen = false;
  launch<32>(1, 2, 8, 0, [&](auto &context) {
    std::uint64_t *word = &context.template shared<std::uint64_t>();
    *word = 17;
    context.team_sync();
    for (int i = 0; i < 100 && context.cluster_rank() == 0; ++i) {
      context.ballot(true);
      is_seen |= *context.peer(word, 1) != 17;
    }
  });
  EXPECT_TRUE(is_seen);
}
#endif

// ---- Atomics and vectors ------------------------------------------------------------------------

TEST(Atomics, CountAndHandOutEveryNumberOnce) {
  struct Shared {
    std::uint32_t narrow, bits, largest;
    std::uint64_t wide;
  };
  constexpr std::uint64_t kWideStep = std::uint64_t{1} << 33;
  std::set<std::uint32_t> narrow;
  std::set<std::uint64_t> wide;
  std::uint32_t global = 0;
  launch<64>(1, 4, sizeof(Shared), 1, [&](auto &context) {
    Shared &own = context.template shared<Shared>();
    if (context.thread() == 0) own = Shared{};
    context.team_sync();
    Shared &first = *context.peer(&own, 0);
    narrow.insert(context.atomic_add(&first.narrow, 3u));
    wide.insert(context.atomic_add(&first.wide, kWideStep));
    context.atomic_or(&first.bits, 1u << (context.thread() % 31));
    context.atomic_max(&first.largest, std::uint32_t(context.thread() * 37 % 64));
    context.atomic_add(&global, 1u);
    context.team_sync();
    EXPECT_EQ(first.narrow, 3u * 256);
    EXPECT_EQ(first.wide, kWideStep * 256);
    EXPECT_EQ(first.bits, 0x7FFFFFFFu);
    EXPECT_EQ(context.atomic_or(&first.bits, 0u), 0x7FFFFFFFu);
    EXPECT_EQ(context.atomic_max(&first.largest, 0u), 63u);
    context.team_sync();
  });
  EXPECT_EQ(global, 256u);
  EXPECT_EQ(narrow.size(), 256u);
  EXPECT_EQ(*narrow.rbegin(), 3u * 255);
  EXPECT_EQ(wide.size(), 256u);
  EXPECT_EQ(*wide.rbegin(), kWideStep * 255);
}

// How many threads find another between two atomics of theirs.
int num_interrupted(int yield_interval) {
  Options options;
  options.yield_interval = yield_interval;
  std::uint32_t counter = 0;
  int result = 0;
  launch<512>(
      1, 1, 0, 1,
      [&](auto &context) {
        const std::uint32_t before = context.atomic_add(&counter, 1u);
        result += context.atomic_add(&counter, 1u) != before + 1;
      },
      options);
  return result;
}

TEST(Atomics, LetOthersRunNowAndThen) {
  EXPECT_EQ(num_interrupted(0), 0);
  EXPECT_GT(num_interrupted(16), 10);
  EXPECT_GT(num_interrupted(1), num_interrupted(16));
}

struct alignas(16) Vector16 {
  std::uint32_t words[4];
};
struct alignas(8) Vector8 {
  std::uint32_t words[2];
};

TEST(Vectors, LoadAndStore) {
  alignas(16) std::array<std::uint32_t, 32 * 4> from, to = {};
  std::iota(from.begin(), from.end(), 0);
  launch<32>(1, 1, 0, 1, [&](auto &context) {
    const auto *source = reinterpret_cast<const Vector16 *>(from.data());
    auto *target = reinterpret_cast<Vector8 *>(to.data());
    const Vector16 loaded = context.load_vector(&source[context.thread()]);
    for (int half = 0; half < 2; ++half) {
      context.store_vector(&target[2 * context.thread() + half],
                           Vector8{{loaded.words[2 * half], loaded.words[2 * half + 1]}});
    }
  });
  EXPECT_EQ(from, to);
}

// ---- Broken rules -------------------------------------------------------------------------------

TEST(Errors, BlockWaitsInTwoPlaces) {
  const int line = __LINE__;
  const Error error = error_of<64>(2, 0, [](auto &context) {
    const bool is_stray = context.cluster_rank() == 1 && context.thread() == 40;
    if (is_stray) context.sync();
    if (!is_stray) context.sync();
  });
  EXPECT_EQ(error.kind(), ErrorKind::kDivergence);
  EXPECT_EQ(error.where().rank, 1);
  EXPECT_TRUE(error.where().place.line == line + 3 || error.where().place.line == line + 4);
  const std::string message = error.what();
  for (const std::string &part :
       {"sync at simt_test.cpp:" + std::to_string(line + 3), std::string("thread 40 of block 1"),
        "sync at simt_test.cpp:" + std::to_string(line + 4), std::string("seed 5")}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

TEST(Errors, BlockWaitsInTwoKinds) {
  const Error error = error_of<64>(1, 0, [](auto &context) {
    if (context.warp() == 0) {
      context.block_sum(1);
    } else {
      context.block_max(1);
    }
  });
  EXPECT_EQ(error.kind(), ErrorKind::kDivergence);
}

TEST(Errors, ThreadEndsWhileItsBlockWaits) {
  const Error error = error_of<64>(1, 0, [](auto &context) {
    if (context.thread() == 7) return;
    context.sync();
  });
  EXPECT_EQ(error.kind(), ErrorKind::kEndedThread);
  EXPECT_NE(std::string(error.what()).find("thread 7 of block 0 has ended"), std::string::npos);
}

TEST(Errors, BlockEndsWhileItsTeamWaits) {
  const Error error = error_of<64>(4, 0, [](auto &context) {
    if (context.cluster_rank() != 2) context.team_sync();
  });
  EXPECT_EQ(error.kind(), ErrorKind::kEndedThread);
  EXPECT_NE(std::string(error.what()).find("of block 2 has ended"), std::string::npos);
}

TEST(Errors, LaneIsNotInTheBallot) {
  const Error error = error_of<64>(1, 0, [](auto &context) {
    if (context.thread() != 35) context.ballot(true);
    context.sync();
  });
  EXPECT_EQ(error.kind(), ErrorKind::kDivergence);
  const std::string message = error.what();
  EXPECT_NE(message.find("ballot at"), std::string::npos) << message;
  EXPECT_NE(message.find("thread 35 of block 0 is in sync"), std::string::npos) << message;
}

TEST(Errors, WarpsDivergeInsideAWarpOperation) {
  const Error error = error_of<32>(1, 0, [](auto &context) {
    if (context.lane() < 16) {
      context.ballot(true);
    } else {
      context.warp_inclusive_sum(1);
    }
  });
  EXPECT_EQ(error.kind(), ErrorKind::kDivergence);
}

TEST(Errors, OneBlockSyncsWhereTheTeamDoes) {
  const Error error = error_of<32>(2, 0, [](auto &context) {
    if (context.thread() == 3) {
      context.sync();
    } else {
      context.team_sync();
    }
  });
  EXPECT_EQ(error.kind(), ErrorKind::kDivergence);
}

// Different warps may be in different operations.
TEST(Errors, WarpsMayGoDifferentWays) {
  EXPECT_NO_THROW(launch<64>(1, 1, 0, 1, [](auto &context) {
    if (context.warp() == 0) {
      for (int i = 0; i < 5; ++i) context.ballot(true);
    } else {
      context.warp_inclusive_sum(1);
    }
    context.sync();
  }));
}

TEST(Errors, SharedMemoryIsTooSmall) {
  const Error error =
      error_of<32>(1, 7, [](auto &context) { context.template shared<std::uint64_t>() = 0; });
  EXPECT_EQ(error.kind(), ErrorKind::kSharedSize);
}

TEST(Errors, SumOfNumbersTooLargeForTheWarp) {
  const auto sum = [](std::uint64_t value) {
    return error_of<32>(1, 0, [&](auto &context) { context.warp_sum(value); }).kind();
  };
  EXPECT_EQ(sum(std::uint64_t{1} << 49), ErrorKind::kWarpSum);
  EXPECT_THROW(sum((std::uint64_t{1} << 49) - 1), std::logic_error);  // that it ended well
}

TEST(Errors, PeerIsNotInTheTeam) {
  for (const int rank : {-1, 2}) {
    const Error error = error_of<32>(2, 8, [&](auto &context) {
      context.peer(&context.template shared<std::uint64_t>(), rank);
    });
    EXPECT_EQ(error.kind(), ErrorKind::kPeerRank);
  }
}

TEST(Errors, PeerOfWhatIsNotOwnSharedMemory) {
  for (const int offset : {-1, 3, 1000}) {
    const Error error = error_of<32>(2, 24, [&](auto &context) {
      context.peer(&context.template shared<std::uint64_t>() + offset, 0);
    });
    EXPECT_EQ(error.kind(), ErrorKind::kPeerAddress);
  }
  std::uint64_t global = 0;
  EXPECT_EQ(error_of<32>(2, 24, [&](auto &context) { context.peer(&global, 0); }).kind(),
            ErrorKind::kPeerAddress);
  EXPECT_NO_THROW(launch<32>(1, 2, 24, 0, [](auto &context) {
    context.peer(&context.template shared<std::uint64_t>() + 2, 1);
  }));
}

// A vector type without alignment of its own, so that the pointer is well formed.
struct Packed16 {
  char bytes[16];
};

TEST(Errors, VectorsAreAligned) {
  alignas(16) char bytes[48] = {};
  for (const int offset : {1, 4, 8}) {
    auto *address = reinterpret_cast<Packed16 *>(bytes + offset);
    EXPECT_EQ(error_of<32>(1, 0, [&](auto &context) { context.load_vector(address); }).kind(),
              ErrorKind::kMisaligned);
    EXPECT_EQ(error_of<32>(1, 0, [&](auto &context) { context.store_vector(address, Packed16{}); })
                  .kind(),
              ErrorKind::kMisaligned);
  }
}

TEST(Errors, SharedAccessesAreOfTheBlocksOwnMemory) {
  alignas(16) static char elsewhere[16];
  const auto *outside = reinterpret_cast<const Packed16 *>(elsewhere);
  EXPECT_EQ(error_of<32>(1, 64, [&](auto &context) { context.load_shared(outside); }).kind(),
            ErrorKind::kSharedAddress);
  EXPECT_EQ(error_of<32>(2, 64,
                         [&](auto &context) {
                           auto *own = &context.template shared<std::uint32_t>();
                           context.team_sync();
                           auto *peers = context.peer(own, 1 - context.cluster_rank());
                           context.add_to_shared(peers, std::uint32_t(1));
                         })
                .kind(),
            ErrorKind::kSharedAddress);
}

TEST(Extremes, OfNumbersAndPairs) {
  using Context = SimtContext<32>;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Context::larger(1.0f, 2.0f), 2.0f);
  EXPECT_EQ(Context::smaller(1.0f, 2.0f), 1.0f);
  EXPECT_TRUE(std::isnan(Context::larger(nan, 1.0f)) && std::isnan(Context::larger(1.0f, nan)));
  EXPECT_EQ(Context::smaller(1.0f, nan), 1.0f);
  EXPECT_EQ(Context::smaller(nan, 1.0f), 1.0f);
  // 1 and -2, 0.5 and NaN
  EXPECT_EQ(Context::larger_pair<SAMPLER_BF16>(0xC0003F80u, 0x7FC03F00u), 0x7FC03F80u);
  EXPECT_EQ(Context::smaller_pair<SAMPLER_BF16>(0xC0003F80u, 0x7FC03F00u), 0xC0003F00u);
  EXPECT_EQ(Context::larger_pair<SAMPLER_F16>(0xC0003C00u, 0x7E003800u), 0x7E003C00u);
  EXPECT_EQ(Context::smaller_pair<SAMPLER_F16>(0xC0003C00u, 0x7E003800u), 0xC0003800u);
}

TEST(Errors, NoSuchLane) {
  for (const int lane : {-1, 32}) {
    EXPECT_EQ(error_of<32>(1, 0, [&](auto &context) { context.warp_broadcast(0, lane); }).kind(),
              ErrorKind::kLane);
  }
}

TEST(Errors, WhatAKernelThrowsComesOutAndThreadsAreUnwound) {
  int num_alive = 0;
  struct Counted {
    int &count;
    explicit Counted(int &its_count) : count(its_count) { ++count; }
    ~Counted() { --count; }
  };
  for (std::uint64_t seed = 0; seed < kNumSeeds; ++seed) {
    auto kernel = [&](auto &context) {
      const Counted counted(num_alive);
      context.sync();
      context.ballot(true);
      if (context.cluster_rank() == 1 && context.thread() == 9)
        throw std::out_of_range("device code");
      context.team_sync();
    };
    EXPECT_THROW(launch<64>(2, 2, 0, seed, kernel), std::out_of_range);
    EXPECT_EQ(num_alive, 0);
  }
  int num_run = 0;
  launch<64>(2, 2, 0, 0, [&](auto &context) { num_run += context.block_count(true) == 64; });
  EXPECT_EQ(num_run, 2 * 2 * 64);
}

TEST(Errors, LaunchWithinALaunch) {
  EXPECT_THROW(launch<32>(1, 1, 0, 0, [](auto &) { launch<32>(1, 1, 0, 0, [](auto &) {}); }),
               std::logic_error);
}

// ---- Barriers taken out -------------------------------------------------------------------------

// Runs kernel(context, &is_right) under some seeds with the barrier at `site` taken out; returns
// how many seeds show it by a wrong result.
template <int kThreads, class Kernel>
std::uint64_t num_wrong(int team_size, std::size_t shared_bytes, int site, const Kernel &kernel) {
  Options options;
  options.skip_site = site;
  std::uint64_t result = 0;
  for (std::uint64_t seed = 0; seed < kNumSeeds; ++seed) {
    bool is_right = true;
    launch<kThreads>(
        1, team_size, shared_bytes, seed, [&](auto &context) { kernel(context, &is_right); },
        options);
    result += !is_right;
  }
  return result;
}

struct Words {
  std::uint64_t words[256];
};

constexpr int kReverseLine = __LINE__ + 8;

// Two hazards: a word is read before it is written, and written before it is read.
template <class Context>
void reverse(Context &context, bool *is_right) {
  Words &shared = context.template shared<Words>();
  const int thread = context.thread();
  shared.words[thread] = std::uint64_t(thread);
  context.sync();
  const std::uint64_t read = shared.words[255 - thread];
  context.sync();
  shared.words[thread] = 1000;
  *is_right &= read == std::uint64_t(255 - thread);
}

TEST(Skip, SyncsOfAReversalAreNeeded) {
  const auto kernel = [](auto &context, bool *is_right) { reverse(context, is_right); };
  EXPECT_EQ(num_wrong<256>(1, sizeof(Words), kNoSite, kernel), 0u);
  for (const int line : {kReverseLine, kReverseLine + 2}) {
    const int site = site_at(Kind::kSync, line);
    ASSERT_NE(site, kNoSite);
    EXPECT_GE(num_wrong<256>(1, sizeof(Words), site, kernel), kNumSeeds - 1) << line;
  }
}

TEST(Skip, TeamSyncsAreNeeded) {
  const int line = __LINE__ + 4;
  const auto kernel = [](auto &context, bool *is_right) {
    std::uint64_t &word = context.template shared<std::uint64_t>();
    if (context.thread() == 0) word = std::uint64_t(context.cluster_rank());
    context.team_sync();
    for (int rank = 0; rank < context.team_size(); ++rank) {
      *is_right &= *context.peer(&word, rank) == std::uint64_t(rank);
    }
    context.team_sync();
  };
  EXPECT_EQ(num_wrong<32>(4, 8, kNoSite, kernel), 0u);
  EXPECT_EQ(site_at(Kind::kTeamSync, line + 4), site_at(Kind::kTeamSync, line) + 1);
#if !defined(SIMT_ASAN)  // it ends the process at the first access to a block that has not begun
  EXPECT_EQ(num_wrong<32>(4, 8, site_at(Kind::kTeamSync, line), kernel), kNumSeeds);
  EXPECT_GE(num_wrong<32>(4, 8, site_at(Kind::kTeamSync, line + 4), kernel), kNumSeeds / 2);
#endif
}

// Behind some ballots every warp is somewhere else.
TEST(Skip, SyncBehindWarpOperationsIsNeeded) {
  const int line = __LINE__ + 5;
  const auto kernel = [](auto &context, bool *is_right) {
    Words &shared = context.template shared<Words>();
    shared.words[context.thread()] = 1;
    context.ballot(true);
    context.sync();
    *is_right &= shared.words[(context.thread() + 32) % 256] == 1;
  };
  EXPECT_EQ(num_wrong<256>(1, sizeof(Words), kNoSite, kernel), 0u);
  EXPECT_EQ(num_wrong<256>(1, sizeof(Words), site_at(Kind::kSync, line), kernel), kNumSeeds);
}

TEST(Skip, CollectivesDoNotWait) {
  const int line = __LINE__ + 3;
  const auto kernel = [](auto &context, bool *is_right) {
    std::uint64_t total = 0;
    *is_right &= context.block_sum(1) == 64;
    *is_right &= context.block_max(std::uint64_t(context.thread())) == 63;
    *is_right &= context.block_count(true) == 64;
    *is_right &= context.block_exclusive_sum(1, &total) == std::uint64_t(context.thread());
    *is_right &= total == 64;
  };
  EXPECT_EQ(num_wrong<64>(1, 0, kNoSite, kernel), 0u);
  const Kind kinds[] = {Kind::kBlockSum, Kind::kBlockMax, Kind::kBlockCount,
                        Kind::kBlockExclusiveSum};
  for (int i = 0; i < 4; ++i) {
    const int site = site_at(kinds[i], line + i);
    ASSERT_NE(site, kNoSite) << name_of(kinds[i]);
    EXPECT_GT(num_wrong<64>(1, 0, site, kernel), 0u) << name_of(kinds[i]);
  }
}

TEST(Skip, SitesAreBarriersInOrderOfAppearance) {
  const int line = __LINE__ + 2;
  launch<32>(1, 1, 0, 0, [](auto &context) {
    context.ballot(true);
    for (int i = 0; i < 3; ++i) context.sync();
    context.team_sync();
    context.block_sum(context.warp_inclusive_sum(1));
  });
  EXPECT_EQ(site_at(Kind::kBallot, line), kNoSite);
  EXPECT_EQ(site_at(Kind::kWarpInclusiveSum, line + 3), kNoSite);
  const int first = site_at(Kind::kSync, line + 1);
  ASSERT_NE(first, kNoSite);
  EXPECT_EQ(site_at(Kind::kTeamSync, line + 2), first + 1);
  EXPECT_EQ(site_at(Kind::kBlockSum, line + 3), first + 2);
  EXPECT_EQ(to_string(sites()[std::size_t(first)]),
            "sync at simt_test.cpp:" + std::to_string(line + 1));
}

}  // namespace
}  // namespace simt
