// Logarithm and power from f64 operations alone, so that a loop decides the same on every machine.
// Errors are a few units in the last place.
#pragma once

#include <cstdint>
#include <cstring>

namespace sampler::decoding {

constexpr double kLn2 = 0x1.62e42fefa39efp-1;

// Returns m in [sqrt(1/2), sqrt(2)) with x = m * 2^*exponent. For finite x >= 2^-1022, as every
// positive f32 is.
inline double split(double x, int *exponent) {
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  constexpr uint64_t kSqrtHalf = 0x3FE6A09E667F3BCD;
  const int64_t shift = int64_t(bits - kSqrtHalf) >> 52;
  *exponent = int(shift);
  bits -= uint64_t(shift) << 52;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// For finite x >= 2^-1022. For m in [sqrt(1/2), sqrt(2)): 2 artanh(z) with z = (m - 1) / (m + 1),
// |z| < 0.172. The series has z^2 < 0.03: terms to z^25 reach 2^-65 of the first.
inline double natural_log(double x) {
  int exponent;
  const double m = split(x, &exponent);
  const double z = (m - 1) / (m + 1), square = z * z;
  double sum = 0;
  for (int n = 25; n >= 1; n -= 2) sum = sum * square + 1.0 / n;
  return exponent * kLn2 + 2 * z * sum;
}

// For x in [-700, 700]. For |x| <= ln(2) / 2 the series to x^13 reaches 2^-60.
inline double exponential(double x) {
  const int n = int(x / kLn2 + (x < 0 ? -0.5 : 0.5));
  const double rest = x - n * kLn2;
  double sum = 1;
  for (int i = 14; i >= 1; --i) sum = 1 + sum * rest / i;
  const uint64_t bits = uint64_t(1023 + n) << 52;
  double scale;
  std::memcpy(&scale, &bits, sizeof scale);
  return sum * scale;
}

// x^y for x >= 1 and y >= 0, at most e^700.
inline double power(double x, double y) {
  const double exponent = y * natural_log(x);
  return exponential(exponent < 700 ? exponent : 700);
}

}  // namespace sampler::decoding
