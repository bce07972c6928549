// Random numbers of which tests make their problems: the same from the same seed everywhere.
#ifndef SAMPLER_TESTS_RANDOM_H_
#define SAMPLER_TESTS_RANDOM_H_

#include <cstdint>
#include <random>

namespace tests {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  // In [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
  float unit() { return static_cast<float>(engine_() >> 40) * 0x1p-24F; }
  float within(float low, float high) { return low + (high - low) * unit(); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace tests

#endif  // SAMPLER_TESTS_RANDOM_H_
