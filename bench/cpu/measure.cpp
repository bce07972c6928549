#include "measure.h"

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace cpu_bench {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Series summary(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return {seconds[seconds.size() / 2] * 1e6, seconds.front() * 1e6, int(seconds.size())};
}

class Contender {
 public:
  explicit Contender(const std::function<void(int)> &run) : run_(run) {}

  int repeats() const { return int(seconds_.size()); }
  Series series() const { return summary(seconds_); }

  void take_turn(const std::function<void()> &warm_up, const std::function<bool()> &is_late,
                 const Limits &limits) {
    const Clock::time_point begin = Clock::now();
    do run_(num_runs_++);
    while (seconds_since(begin) < limits.settle_seconds);
    for (int i = 0; i < kRepeatsInTurn; ++i) {
      if (repeats() >= limits.few_repeats && is_late()) return;
      warm_up();
      const Clock::time_point start = Clock::now();
      run_(num_runs_++);
      seconds_.push_back(seconds_since(start));
    }
  }

 private:
  const std::function<void(int)> &run_;
  std::vector<double> seconds_;
  int num_runs_ = 0;
};

}  // namespace

Series combine(std::vector<Series> series) {
  std::sort(series.begin(), series.end(),
            [](const Series &a, const Series &b) { return a.median_us < b.median_us; });
  Series all = series[series.size() / 2];
  all.spread = (series.back().median_us - series.front().median_us) / all.median_us;
  all.repeats = 0;
  for (const Series &one : series) {
    all.best_us = std::min(all.best_us, one.best_us);
    all.repeats += one.repeats;
  }
  return all;
}

std::vector<Series> measure(const std::vector<std::function<void(int)>> &runs,
                            const std::function<void()> &warm_up, const Limits &limits) {
  const Clock::time_point begin = Clock::now();
  const auto is_late = [&] { return seconds_since(begin) >= limits.max_seconds; };
  std::vector<Contender> contenders(runs.begin(), runs.end());
  bool is_done = false;
  while (!is_done) {
    is_done = seconds_since(begin) >= limits.min_seconds;
    for (Contender &contender : contenders) {
      contender.take_turn(warm_up, is_late, limits);
      is_done = is_done && contender.repeats() >= limits.min_repeats;
    }
    is_done = is_done || is_late();
  }
  std::vector<Series> results;
  results.reserve(contenders.size());
  for (const Contender &contender : contenders) results.push_back(contender.series());
  return results;
}

}  // namespace cpu_bench
