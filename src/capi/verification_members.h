// The members of sampler_verify_args that ask for more than dense chains by the standard rule.
#pragma once

#include "sampler/speculative.h"

namespace sampler::capi {

// The name of the first one that is not 0; null: all are.
const char *first_set_member(const sampler_verify_args &args);

}  // namespace sampler::capi
