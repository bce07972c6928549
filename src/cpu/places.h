// Places of a row where work begins: which elements a sample takes, which one is a pivot.
//
// No result depends on them, but how much work finds it does. They follow from a key that a caller
// cannot know, so no row can be made for them.
#pragma once

#include <cstdint>

namespace sampler::cpu {

// A key that no caller can know: the system's random bits, or where it refuses, those that it gave
// the process when it started, for this address.
uint64_t unpredictable_places_key(const void *address);

// The generator SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", 2014).
class Places {
 public:
  explicit Places(uint64_t key) : state_(key) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }

  // In [0, count), for count < 2^32.
  int64_t below(int64_t count) { return int64_t((next() >> 32) * uint64_t(count) >> 32); }

 private:
  uint64_t state_;
};

}  // namespace sampler::cpu
