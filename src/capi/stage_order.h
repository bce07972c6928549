// In which order a call's stages run, and which of them may be on.
#pragma once

#include "abi/check.h"
#include "capi/parameters.h"
#include "contract/pipeline.h"

namespace sampler::capi {

using namespace abi;

// Whether params->stages lists an order.
bool lists_stages(const sampler_params &params);

// Sets the edits and windows of `out`, whose lists and numbers have been read. Where temperature,
// top-k, top-p and min-p are all, in an order that FilterRules can say, `rules` say it then.
void read_order(Check &check, const UserParameters &user, contract::FilterRules *rules,
                contract::Pipeline *out);

}  // namespace sampler::capi
