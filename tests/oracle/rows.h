// Rows for the comparison with the oracle: likely ones and hard ones, the same on every machine.
#ifndef SAMPLER_TESTS_ORACLE_ROWS_H_
#define SAMPLER_TESTS_ORACLE_ROWS_H_

#include <sampler/types.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace oracle_test {

// The standard fixes this engine's output but not that of its distributions, hence our own.
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
  kOneFinite,   // all -inf but one
  kMasked,      // N(0, 3), half of it -inf
  kCoarse,      // multiples of 1/4: a tie at every cut
  kCloseTies,   // neighbours in bf16 around 8, and nothing between them
  kSubnormal,   // below the smallest normal of the type, of both signs
  kHuge,        // +-1e30 (f16: +-6e4) and near them
  kWide,        // uniform in +-200: most weights vanish
  kHeavyTail,   // one maximum, the rest 13 below: the tail has the mass and the rounding
  kSignedZero,  // -0, +0 and a few others
  kNumKinds
};
const char *name(RowKind kind);

// A row as the library takes it, with what its elements widen to.
struct TypedRow {
  std::vector<float> values;         // exactly what the library sees
  std::vector<std::uint16_t> halfs;  // the same as bits, for the 16-bit types
};

// Rounds to the type; a finite value stays finite.
TypedRow to_type(const std::vector<float> &values, sampler_dtype dtype);

std::vector<float> make_logits(RowKind kind, std::size_t num_cols, sampler_dtype dtype,
                               Random *random);

// exp(logits - maximum) times `sum_scale` over their sum. Finite wherever logits are.
std::vector<float> make_probabilities(const std::vector<float> &logits, double sum_scale);

}  // namespace oracle_test

#endif  // SAMPLER_TESTS_ORACLE_ROWS_H_
