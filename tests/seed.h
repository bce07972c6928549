// The seeds of suites that make random inputs and know exactly what is right. A test that must also
// meet something that not all inputs have enough of keeps its own seeds.
#ifndef SAMPLER_TESTS_SEED_H_
#define SAMPLER_TESTS_SEED_H_

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace seed_internal {

// splitmix64
inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

inline std::uint64_t read_run_seed() {
  const char *const text = std::getenv("SAMPLER_TEST_SEED");
  if (!text || !*text) return 0;
  std::uint64_t seed = 0;
  for (const char *next = text; *next; ++next) {
    const auto digit = static_cast<std::uint64_t>(*next - '0');
    if (digit > 9 || seed > (UINT64_MAX - digit) / 10) {
      std::fprintf(stderr, "SAMPLER_TEST_SEED is \"%s\": not a decimal number below 2^64\n", text);
      std::exit(2);
    }
    seed = seed * 10 + digit;
  }
  if (seed != 0) {
    std::printf("random inputs of seed %" PRIu64 ": SAMPLER_TEST_SEED=%" PRIu64 " repeats them\n",
                seed, seed);
    std::fflush(stdout);
  }
  return seed;
}

}  // namespace seed_internal

// A suite's own seed, mixed with the run's, SAMPLER_TEST_SEED. Where that is not set or 0, the
// suite's own: the inputs are the same in every run. The first call of a program prints the run's.
inline std::uint64_t seeded(std::uint64_t seed) {
  static const std::uint64_t run_seed = seed_internal::read_run_seed();
  return run_seed == 0 ? seed : seed_internal::mix(seed_internal::mix(run_seed) + seed);
}

#endif  // SAMPLER_TESTS_SEED_H_
