// From sampler_pipeline, and the numbers of the edits in the parameters, to the contract's
// pipeline.
#pragma once

#include "capi/check.h"
#include "capi/views.h"
#include "contract/pipeline.h"
#include "contract/request.h"

namespace sampler::capi {

// `user` null: none. Null where nothing is edited or forced; else `storage`.
const contract::Pipeline *read_pipeline(Check &check, const UserParameters &parameters,
                                        const sampler_pipeline *user, const contract::Rows &input,
                                        int64_t num_slots, int64_t num_rows,
                                        contract::Pipeline *storage);

// Of a call that edits nothing: `function` is its name.
void refuse_edits(Check &check, const UserParameters &parameters, const char *function);

// A token is forced where one is drawn.
void refuse_forced_tokens(Check &check, const UserParameters &parameters, const char *function);

}  // namespace sampler::capi
