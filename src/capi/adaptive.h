// From the parameters to the numbers of adaptive stages, each rule checked on the way.
#pragma once

#include <cstdint>

#include "abi/check.h"
#include "capi/views.h"
#include "contract/adaptive_values.h"

namespace sampler::capi {

using namespace abi;

// `top_p`: as read_parameters() or read_top_p() has read it.
contract::AdaptiveParameters read_adaptive(Check &check, const UserParameters &user,
                                           const contract::PerSlot<float> &top_p,
                                           int64_t num_slots);

}  // namespace sampler::capi
