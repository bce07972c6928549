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

}  // namespace

std::vector<Series> measure(const std::vector<std::function<void(int)>> &contenders,
                            const std::function<void()> &warm_up, const Limits &limits) {
  const Clock::time_point begin = Clock::now();
  for (const auto &contender : contenders) contender(0);
  std::vector<std::vector<double>> times(contenders.size());
  for (int repeat = 1;; ++repeat) {
    const double elapsed = seconds_since(begin);
    if (repeat > limits.min_repeats && elapsed >= limits.min_seconds) break;
    if (repeat > limits.few_repeats && elapsed >= limits.max_seconds) break;
    for (size_t i = 0; i < contenders.size(); ++i) {
      warm_up();
      const Clock::time_point start = Clock::now();
      contenders[i](repeat);
      times[i].push_back(seconds_since(start));
    }
  }
  std::vector<Series> results;
  results.reserve(times.size());
  for (auto &series : times) results.push_back(summary(std::move(series)));
  return results;
}

}  // namespace cpu_bench
