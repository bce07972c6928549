// What a drafter's tokens are drawn with.
#pragma once

#include <cstdint>

#include "sampler/speculative.h"

namespace sampler::decoding {

// The offset of draft `position` of a round that begins behind num_new new tokens: that of its
// place in the text, so that what is drafted and what is drawn there tend to be the same.
//
// A place behind a rejected draft is drafted again in the next round, with the same word. That does
// no harm where what is kept depends on no later draft. BLOCK and DEFERRED judge all drafts of a
// round together: there each round has words of its own, or the tokens that follow would depend on
// why the ones before them were kept.
inline uint64_t draft_offset(sampler_acceptance acceptance, int64_t num_new, int64_t position) {
  const bool is_whole = acceptance == SAMPLER_ACCEPT_BLOCK || acceptance == SAMPLER_ACCEPT_DEFERRED;
  return is_whole ? uint64_t(num_new) + (uint64_t(position) << 32) : uint64_t(num_new + position);
}

}  // namespace sampler::decoding
