// The loops. Arguments have been checked; what fails throws a Failure, or what a callback throws.
// All memory is taken before the first callback.
#pragma once

#include "decoding/device_memory.h"
#include "decoding/generation.h"
#include "sampler/decoding.h"

namespace sampler::decoding {

// Drafts of a round, at most.
inline int64_t most_drafts(const sampler_speculative_args &args) {
  return args.adaptive_gamma && args.gamma_max ? args.gamma_max : args.gamma;
}

// `has_stages`: tokens are drawn through stages, or by parameters of each text.
void autoregressive(const ExecutionTarget &place, bool has_stages, Generation *generation);
void speculative_with_model(const ExecutionTarget &place, const sampler_speculative_args &args,
                            bool has_stages, Generation *generation);
void speculative_with_ngrams(const ExecutionTarget &place, const sampler_speculative_args &args,
                             bool has_stages, Generation *generation);
void beam_search(const ExecutionTarget &place, const sampler_beam_search_args &args, bool has_edits,
                 Generation *generation);

}  // namespace sampler::decoding
