#ifndef EXPLAIN_STAGES_H
#define EXPLAIN_STAGES_H

#include <sampler/sampler.h>

#include <string>
#include <vector>

namespace explain {

// The order of the stages that parameters say, whether they are on or not.
std::vector<sampler_stage> order_of(const sampler_params &params);

// What of a stage is on, as text; "" where it is off.
std::string numbers_of(sampler_stage stage, const sampler_params &params,
                       const sampler_pipeline *pipeline);

bool is_edit(sampler_stage stage);

}  // namespace explain

#endif  // EXPLAIN_STAGES_H
