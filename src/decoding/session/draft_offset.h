// The random offset of a drafter's draws.
#pragma once

#include <cstdint>

#include "sampler/speculative.h"

namespace sampler::decoding {

// The offset of draft `position` of a round that begins after num_new new tokens: that of its
// position in the text, so that drafts and the target's draws there tend to agree.
//
// A position after a rejected draft is drafted again in the next round, with the same random word.
// That is harmless where acceptance depends on no later draft. BLOCK and DEFERRED judge all drafts
// of a round jointly: there each round has its own words, or the tokens that follow would depend on
// why the ones before them were accepted.
inline uint64_t draft_offset(sampler_acceptance acceptance, int64_t num_new, int64_t position) {
  const bool is_whole = acceptance == SAMPLER_ACCEPT_BLOCK || acceptance == SAMPLER_ACCEPT_DEFERRED;
  return is_whole ? uint64_t(num_new) + (uint64_t(position) << 32) : uint64_t(num_new + position);
}

}  // namespace sampler::decoding
