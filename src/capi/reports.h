// From what a call wants reported to the contract's Reports, each rule checked on the way.
#pragma once

#include <optional>

#include "capi/check.h"
#include "contract/reports.h"
#include "contract/request.h"
#include "sampler/sampling.h"

namespace sampler::capi {

// `request` has all else. Null: nothing is wanted. The result points into `storage`.
const contract::Reports *read_reports(Check &check, const sampler_sample_args &args,
                                      const contract::SampleRequest &request,
                                      std::optional<contract::Reports> *storage);

}  // namespace sampler::capi
