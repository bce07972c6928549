// Benchmark inputs: rows of logits or probabilities, the same on every machine up to the last bits
// of logarithm and exponential.
#pragma once

#include <sampler/sampler.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cpu_bench {

enum class RowKind {
  kLanguage,  // a language model's: -1.1 ln(rank) + N(0, 0.3), in random order
  kPeaked,    // the same, except one token of probability 0.95
  kFlat,      // N(0, 0.01)
  kEqual,     // all values equal
  kMasked,    // a language model's, nine of ten tokens at -inf

  // Adversarial rows.
  kDescending,   // a language model's, in rank order
  kAscending,    // the reverse
  kTwoValues,    // half of the tokens at each of two values
  kThreeValues,  // three adjacent values of bf16
  kNearTies,     // consecutive f32 values, in random order
  kGeometric,    // logarithms as dense as f32 allows, in random order
  kPeriodic,     // 251 values, repeated
  kKiller,       // a median of nine elements at fixed places is always near the end
  kClustered,    // all large values adjacent, in as few groups of 16 as hold them
  kUnsampled,    // every 32nd vector of 16 has only small values
  kHidden,       // few adjacent tokens decide top-p 0.95; most others weigh a little less
  kTied,         // 40 large values, and a tenth of all tokens tied below them
};

constexpr int kNumRowKinds = int(RowKind::kTied) + 1;

// "lm", "peaked", "flat", ...
const char *name_of(RowKind kind);

// num_rows rows of logits, all different unless the kind makes them equal.
std::vector<float> make_logits(RowKind kind, int64_t num_rows, int64_t num_cols);

// Replaces each row by its softmax.
void to_probabilities(std::vector<float> *rows, int64_t num_cols);

// Memory that starts at a cache line.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(size_t bytes);

  std::byte *data() { return memory_.get(); }
  const std::byte *data() const { return memory_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte *memory) const;
  };
  std::unique_ptr<std::byte[], Free> memory_;
  size_t size_ = 0;
};

size_t size_of(sampler_dtype dtype);

// Rounds to another type, to nearest even. Finite magnitudes must be below the type's largest.
AlignedBytes to_dtype(const std::vector<float> &values, sampler_dtype dtype);

}  // namespace cpu_bench
