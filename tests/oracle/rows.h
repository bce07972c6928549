// Rows for comparisons with the oracle: typical and hard ones, the same on every machine.
#ifndef SAMPLER_TESTS_ORACLE_ROWS_H_
#define SAMPLER_TESTS_ORACLE_ROWS_H_

#include <sampler/types.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace oracle_test {

// The standard fixes this engine's output but not that of its distributions.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t word() { return engine_(); }
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }  // [0, 1)
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }
  double normal();
  template <class T>
  const T &pick(const std::vector<T> &from) {
    return from[below(from.size())];
  }

 private:
  std::mt19937_64 engine_;
};

enum class RowKind {
  kNormal,      // N(0, 3)
  kLanguage,    // -1.1 ln(rank) + N(0, 0.3), shuffled: the tail of a language model
  kPeaked,      // one token of probability 0.95
  kFlat,        // N(0, 0.01)
  kEqual,       // one value
  kTwoValues,   // two values, ln 3 apart
  kOneFinite,   // all but one at -inf
  kMasked,      // N(0, 3), half of it -inf
  kCoarse,      // multiples of 1/4: a tie at every cut
  kCloseTies,   // consecutive bf16 values around 8
  kSubnormal,   // below the smallest normal of the type, of both signs
  kHuge,        // around +-1e30 (f16: +-6e4)
  kWide,        // uniform in +-200: most weights vanish
  kHeavyTail,   // one maximum, the rest 13 below: the tail has the mass and the rounding
  kSignedZero,  // -0, +0 and a few others
  kNumKinds
};
const char *name(RowKind kind);

// A row as the library takes it, with its elements widened.
struct TypedRow {
  std::vector<float> values;         // exactly the library's input
  std::vector<std::uint16_t> halfs;  // the same as bits, for 16-bit types
};

// Rounds to the type; finite values stay finite.
TypedRow to_type(const std::vector<float> &values, sampler_dtype dtype);

std::vector<float> make_logits(RowKind kind, std::size_t num_cols, sampler_dtype dtype,
                               Random *random);

// exp(logits - maximum) * sum_scale / their sum. Finite wherever the logits are.
std::vector<float> make_probabilities(const std::vector<float> &logits, double sum_scale);

}  // namespace oracle_test

#endif  // SAMPLER_TESTS_ORACLE_ROWS_H_
