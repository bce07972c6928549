// What engines do, as parameters: docs/stages.md and docs/coming-from.md.
#pragma once

#include "abi/check.h"
#include "sampler/sampling.h"

namespace sampler::capi {

using namespace abi;

struct Preset;

// The newest preset of an engine, or the one of the version after an "@". Null, and an error, where
// there is none.
const Preset *find_preset(Check &check, const char *name);

sampler_params params_of(const Preset &preset);

// Null: there is no such preset.
const char *preset_name(int32_t index);

}  // namespace sampler::capi
