// The loops. Arguments have been checked; what fails throws a Failure, or what the standard library
// or a callback throws.
#pragma once

#include "decoding/device_memory.h"
#include "decoding/generation.h"
#include "sampler/decoding.h"

namespace sampler::decoding {

void autoregressive(const Place &place, Generation *generation);
void speculative(const Place &place, const sampler_speculative_args &args, Generation *generation);
void ngram_assisted(const Place &place, const sampler_ngram_assisted_args &args,
                    Generation *generation);
void beam_search(const Place &place, const sampler_beam_search_args &args, Generation *generation);

}  // namespace sampler::decoding
