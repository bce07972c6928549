// Inputs of the benchmark: rows of logits or probabilities, the same on every machine except the
// last bits that its logarithm and exponential leave open.
#pragma once

#include <sampler/sampler.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cpu_bench {

enum class RowKind {
  kLanguage,  // as of a language model: -1.1 ln(rank) + N(0, 0.3), in random order
  kPeaked,    // the same, except one token of probability 0.95
  kFlat,      // N(0, 0.01)
  kEqual,     // all tokens alike
  kMasked,    // as of a language model, nine of ten tokens at -inf

  // Crafted, to cost as much as may be.
  kDescending,   // as of a language model, in rank order
  kAscending,    // the other way round
  kTwoValues,    // half of the tokens at each of two values
  kThreeValues,  // three neighbouring values of bf16
  kNearTies,     // each value one f32 below another, in random order
  kGeometric,    // values whose logarithms are as dense as f32 lets them be, in random order
  kPeriodic,     // 251 values, again and again
  kKiller,     // what a median of nine elements at fixed places takes for the middle is at the end
  kClustered,  // all large values stand together, in as few groups of 16 as hold them
  kUnsampled,  // every 32nd vector of 16 has small values only
  kHidden,     // few tokens, side by side, weigh what top-p 0.95 cuts at; most others a little less
  kTied,       // 40 large values, and a tenth of all tokens tied below them
};

constexpr int kNumRowKinds = int(RowKind::kTied) + 1;

// "lm", "peaked", "flat", ...
const char *name_of(RowKind kind);

// num_rows rows of logits, no two alike except where the kind makes them.
std::vector<float> make_logits(RowKind kind, int64_t num_rows, int64_t num_cols);

// Each row becomes its softmax.
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

// The values in another type, rounded to nearest, ties to even. Their magnitudes must be below the
// type's largest; infinities stay.
AlignedBytes to_dtype(const std::vector<float> &values, sampler_dtype dtype);

}  // namespace cpu_bench
