#ifndef GENERATE_CLOCK_H
#define GENERATE_CLOCK_H

#include <time.h>

#include <cstdint>

namespace generate {

// Which time is measured.
enum class Clock {
  kWall,    // that of the system
  kProcess  // in which the process ran: without what others had of its core
};

// Nanoseconds since any moment.
inline std::int64_t nanoseconds(Clock clock) {
  timespec time = {};
  clock_gettime(clock == Clock::kWall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

inline double seconds_since(std::int64_t start, Clock clock) {
  return 1e-9 * static_cast<double>(nanoseconds(clock) - start);
}

}  // namespace generate

#endif  // GENERATE_CLOCK_H
