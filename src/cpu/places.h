// Random choices of sampled elements and pivots.
//
// They affect the amount of work, never a result. Their key is unknown to callers, so no row can be
// crafted against them.
#pragma once

#include <cstdint>

namespace sampler::cpu {

// A key that no caller can know: random bits from the system, or if that fails, from AT_RANDOM and
// `address`.
uint64_t unpredictable_places_key(const void *address);

// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
class Places {
 public:
  explicit Places(uint64_t key) : state_(key) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }

  // Uniform in [0, count), for count < 2^32.
  int64_t below(int64_t count) { return int64_t((next() >> 32) * uint64_t(count) >> 32); }

 private:
  uint64_t state_;
};

}  // namespace sampler::cpu
