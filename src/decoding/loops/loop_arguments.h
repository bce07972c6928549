// The arguments of the loops: read from the caller's structs and checked before anything is called
// back or written.
#pragma once

#include "abi/check.h"
#include "decoding/ngram/ngram_calls.h"
#include "sampler/decoding.h"

namespace sampler::abi {

SAMPLER_ZERO_TRAITS(sampler_model)
SAMPLER_ZERO_TRAITS(sampler_generation_stats)
SAMPLER_DEFAULT_TRAITS(sampler_generation_args)
SAMPLER_DEFAULT_TRAITS(sampler_speculative_args)
SAMPLER_DEFAULT_TRAITS(sampler_beam_search_args)

}  // namespace sampler::abi

namespace sampler::decoding {

// A call's structs in this library's versions; their pointers refer to each other.
struct GenerationArguments {
  sampler_generation_args args;
  sampler_params params;
  sampler_row_params row_params;
  sampler_pipeline pipeline;
  sampler_model target;
  bool has_stages;  // or parameters by text
};

struct SpeculativeArguments {
  GenerationArguments generation;
  sampler_speculative_args args;
  sampler_acceptance_params acceptance;
  sampler_model drafter;
  sampler_ngram ngram;
};

struct BeamSearchArguments {
  GenerationArguments generation;
  sampler_beam_search_args args;
};

void read_arguments(Check &check, const sampler_generation_args *user, GenerationArguments *out);
void read_arguments(Check &check, const sampler_speculative_args *user, SpeculativeArguments *out);
// `on_cuda`: lists of the pipeline are not in host memory.
void read_arguments(Check &check, const sampler_beam_search_args *user, bool on_cuda,
                    BeamSearchArguments *out);

}  // namespace sampler::decoding
