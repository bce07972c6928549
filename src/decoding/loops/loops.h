// The loops. Arguments must be checked. Failures throw a Failure, or what a callback throws. All
// memory is allocated before the first callback.
#pragma once

#include "decoding/loops/device_memory.h"
#include "decoding/loops/generation.h"
#include "sampler/decoding.h"

namespace sampler::decoding {

// Most drafts of a round.
inline int64_t most_drafts(const sampler_speculative_args &args) {
  return args.adaptive_gamma && args.gamma_max ? args.gamma_max : args.gamma;
}

void beam_search(const ExecutionTarget &place, const sampler_beam_search_args &args, bool has_edits,
                 Generation *generation);

}  // namespace sampler::decoding
