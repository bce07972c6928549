// Interleaved timing of several contenders, so that the machine's noise affects all alike.
#pragma once

#include <functional>
#include <vector>

namespace cpu_bench {

// Timed repeats of a contender per turn. A turn begins with an uncounted run, since the previous
// contender leaves caches and branch predictors in another state.
constexpr int kRepeatsInTurn = 8;

// A measurement ends when every contender has min_repeats repeats and min_seconds have passed,
// uncounted runs included; or after max_seconds, with at least few_repeats each.
struct Limits {
  int min_repeats = 16;
  int few_repeats = 3;  // at most kRepeatsInTurn
  double min_seconds = 0.02;
  double max_seconds = 0.2;

  // Least time of the uncounted runs, of which there is at least one per turn. The previous
  // contender leaves caches, predictors and the clock in another state; wide vectors were seen to
  // take 0.1 ms to reach their speed.
  double settle_seconds = 0.0005;
};

struct Series {
  double median_us, best_us;
  int repeats;
  double spread = 0.0;  // of the medians that this is the median of, relative to it
};

// One contender's series, at least one, together: the median of medians, the best, all repeats.
Series combine(std::vector<Series> series);

// In turns: each contender runs uncounted, then several times `warm_up` and the timed contender. A
// contender gets the index of its run.
std::vector<Series> measure(const std::vector<std::function<void(int)>> &contenders,
                            const std::function<void()> &warm_up, const Limits &limits);

}  // namespace cpu_bench
