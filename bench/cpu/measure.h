// Times of several ways to do something, taken in turn, so that noise of the machine hits all
// alike.
#pragma once

#include <functional>
#include <vector>

namespace cpu_bench {

// Repeats that a contender has in a turn. What ran before it has left caches and branch predictors
// in its own state, so each turn begins with an uncounted run.
constexpr int kRepeatsInTurn = 8;

// A measurement ends when every contender has min_repeats repeats and min_seconds have gone by,
// with all that is uncounted; or after max_seconds, then with few_repeats each at least.
struct Limits {
  int min_repeats = 50;
  int few_repeats = 3;  // at most kRepeatsInTurn
  double min_seconds = 0.1;
  double max_seconds = 0.6;

  // What ran before a contender leaves caches, predictors and the clock in a state of its own; wide
  // vectors were seen to take 0.1 ms to come to their speed. So a turn begins with uncounted runs:
  // one at least, and so many that this time goes by.
  double settle_seconds = 0.0005;
};

struct Series {
  double median_us, best_us;
  int repeats;
};

// In turns: a contender runs uncounted, then several times `warm_up` and the contender, which is
// timed. A contender gets the number of its run.
std::vector<Series> measure(const std::vector<std::function<void(int)>> &contenders,
                            const std::function<void()> &warm_up, const Limits &limits);

}  // namespace cpu_bench
