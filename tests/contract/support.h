// What the contract's tests share: inputs that are the same on every platform, and counted checks
// for loops over millions of values.
#pragma once

#include <gtest/gtest.h>

#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "../sized.h"
#include "contract/float_bits.h"
#include "sampler/sampler.h"

namespace sampler::contract::test {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kLargestFloat = std::numeric_limits<float>::max();
constexpr float kSmallestSubnormal = std::numeric_limits<float>::denorm_min();

inline float next_up(float x) {
  return std::nextafter(x, kInfinity);
}
inline float next_down(float x) {
  return std::nextafter(x, -kInfinity);
}

inline std::string hex(uint64_t value) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%" PRIX64, value);
  return text;
}

// splitmix64 (Steele, Lea, Flood 2014). The standard library's distributions differ by platform.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t bits64() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  uint32_t bits32() { return uint32_t(bits64() >> 32); }

  // In [low, high].
  int between(int low, int high) {
    return low + int(uint64_t(bits32()) * uint32_t(high - low + 1) >> 32);
  }

  // Any f32: NaN, infinities and subnormals too.
  float any_float() { return float_of(bits32()); }

  // Any f32 of this biased exponent, 0 (zero, subnormals) to 254; half of them negative.
  float float_of_exponent(int biased_exponent) {
    return float_of((bits32() & 0x807FFFFFu) | uint32_t(biased_exponent) << 23);
  }

  // In [0, 1), a multiple of 2^-24.
  float unit() { return float(bits32() >> 8) * 0x1p-24f; }

 private:
  uint64_t state_;
};

// 64-bit FNV-1a over the bytes of the outputs, which are little-endian wherever this runs.
class Hash {
 public:
  template <class T>
  void add(const T &value) {
    unsigned char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    for (const unsigned char byte : bytes) state_ = (state_ ^ byte) * 0x100000001B3u;
  }
  template <class T>
  void add(const std::vector<T> &values) {
    for (const T &value : values) add(value);
  }

  testing::AssertionResult is(uint64_t expected) const {
    if (state_ == expected) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "the hash is " << hex(state_);
  }

 private:
  uint64_t state_ = 0xCBF29CE484222325u;
};

// Counts what goes wrong in a long loop and remembers the first.
class Failures {
 public:
  void add(uint64_t input) {
    if (count_++ == 0) first_ = input;
  }
  void expect(bool holds, uint64_t input) {
    if (!holds) add(input);
  }
  int64_t count() const { return count_; }

  // To be used as EXPECT_TRUE(failures.none()).
  testing::AssertionResult none() const {
    if (count_ == 0) return testing::AssertionSuccess();
    return testing::AssertionFailure() << count_ << " failures, the first at input " << hex(first_);
  }

 private:
  int64_t count_ = 0;
  uint64_t first_ = 0;
};

inline sampler_rows rows_of(const void *values, sampler_dtype dtype, sampler_input_kind kind,
                            int64_t num_rows, int64_t num_cols, int64_t row_stride = 0) {
  sampler_rows rows = {};
  rows.values = values;
  rows.num_rows = num_rows;
  rows.num_cols = num_cols;
  rows.row_stride = row_stride;
  rows.dtype = dtype;
  rows.kind = kind;
  return rows;
}

}  // namespace sampler::contract::test
