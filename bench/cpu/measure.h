// Times of several ways to do something, taken in turn, so that noise of the machine hits all
// alike.
#pragma once

#include <functional>
#include <vector>

namespace cpu_bench {

struct Limits {
  // A measurement ends when every contender has min_repeats repeats and, together with warm-ups,
  // min_seconds have gone by; or after max_seconds, then with few_repeats each at least.
  int min_repeats = 50;
  int few_repeats = 3;
  double min_seconds = 0.1;
  double max_seconds = 0.6;
};

struct Series {
  double median_us, best_us;
  int repeats;
};

// Each contender runs once uncounted. Then, in turns, `warm_up` and one contender, which is timed.
// A contender gets the number of its run.
std::vector<Series> measure(const std::vector<std::function<void(int)>> &contenders,
                            const std::function<void()> &warm_up, const Limits &limits);

}  // namespace cpu_bench
