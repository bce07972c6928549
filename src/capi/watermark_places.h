// The tokens of an output that a detector scores.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "contract/philox.h"

namespace sampler::capi {

// A token, and what tells its context from others.
struct ScoredToken {
  ScoredToken(const contract::GumbelStream &stream, int64_t its_place)
      // The word that the seed has of the context, too.
      : context{stream.offset, stream.stream | (stream.seed << 32)}, place(its_place) {}

  std::array<uint64_t, 2> context;
  int64_t place;
};

// Keeps the first token of each context, in their order.
void keep_first_of_contexts(std::vector<ScoredToken> *tokens);

}  // namespace sampler::capi
