// Inputs of the benchmark: rows of logits or probabilities, the same on every machine but for the
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
  kPeaked,    // the same, but for one token of probability 0.95
  kFlat,      // N(0, 0.01)
  kEqual,     // all tokens alike
  kMasked     // as of a language model, nine of ten tokens at -inf
};

// "lm", "peaked", "flat", "equal", "masked"
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
