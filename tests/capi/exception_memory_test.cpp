// The library's memory for exceptions, in this program as in the library: linked in front of a
// static libstdc++.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "malloc_hooks.h"

namespace {

using capi_test::num_allocations;

struct Failure {
  int number;
};

// Holds `depth` exceptions at once, and looks at each after those that came later have gone.
void hold(int depth, bool *is_good) {
  if (depth == 0) return;
  try {
    throw Failure{depth};
  } catch (const Failure &failure) {
    hold(depth - 1, is_good);
    *is_good = *is_good && failure.number == depth;
  }
}

TEST(ExceptionMemory, OfAFewIsThere) {
  bool is_good = true;
  hold(3, &is_good);  // the unwinder may set something up when it is first used
  const int before = num_allocations;
  hold(64, &is_good);
  hold(64, &is_good);
  EXPECT_EQ(num_allocations, before);
  EXPECT_TRUE(is_good);
}

TEST(ExceptionMemory, OfManyIsTaken) {
  bool is_good = true;
  const int before = num_allocations;
  hold(1000, &is_good);
  EXPECT_EQ(num_allocations, before + 1000 - 64);
  hold(64, &is_good);
  EXPECT_EQ(num_allocations, before + 1000 - 64);
  EXPECT_TRUE(is_good);
}

TEST(ExceptionMemory, OfAnySize) {
  struct Large {
    char bytes[5000];
  };
  for (int i = 0; i < 100; ++i) {
    try {
      throw Large{{char(i)}};
    } catch (const Large &large) {
      EXPECT_EQ(large.bytes[0], i);
    }
    try {
      throw std::runtime_error(std::string(1000, 'x'));
    } catch (const std::exception &error) {
      EXPECT_EQ(std::string(error.what()).size(), 1000u);
    }
  }
}

TEST(ExceptionMemory, OfNestedAndRethrownOnes) {
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  int count = -1;
  struct Counter {
    int *count;
    ~Counter() { *count = std::uncaught_exceptions(); }
  };
  try {
    try {
      const Counter counter{&count};
      throw Failure{1};
    } catch (...) {
      throw;
    }
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.number, 1);
  }
  EXPECT_EQ(count, 1);
  EXPECT_EQ(std::uncaught_exceptions(), 0);
}

TEST(ExceptionMemory, OfManyThreads) {
  std::atomic<bool> all_good{true};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      bool is_good = true;
      for (int repetition = 0; repetition < 100; ++repetition) hold(20, &is_good);
      if (!is_good) all_good = false;
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_TRUE(all_good);
}

}  // namespace
