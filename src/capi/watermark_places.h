// The tokens of an output that a detector scores.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>

#include "contract/philox.h"

namespace sampler::capi {

// A token, and what tells its context from others.
struct ScoredToken {
  std::array<uint64_t, 2> context;
  int64_t place;
};

// Up to `room` tokens. No std::vector: it needs a newer C++ library than programs with libsampler.a
// may have.
class ScoredTokens {
 public:
  explicit ScoredTokens(int64_t room)
      : tokens_(static_cast<ScoredToken *>(
            std::malloc(size_t(room > 0 ? room : 1) * sizeof(ScoredToken)))) {}
  ~ScoredTokens() { std::free(tokens_); }
  ScoredTokens(const ScoredTokens &) = delete;
  ScoredTokens &operator=(const ScoredTokens &) = delete;

  bool has_memory() const { return tokens_ != nullptr; }
  const ScoredToken *begin() const { return tokens_; }
  const ScoredToken *end() const { return tokens_ + count_; }
  int64_t size() const { return count_; }

  void add(const contract::GumbelStream &stream, int64_t place) {
    // The word that the seed has of the context, too.
    tokens_[count_++] = {{stream.offset, stream.stream | (stream.seed << 32)}, place};
  }
  // Keeps the first token of each context, in their order.
  void keep_first_of_contexts();

 private:
  ScoredToken *tokens_;
  int64_t count_ = 0;
};

}  // namespace sampler::capi
