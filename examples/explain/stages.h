#ifndef EXPLAIN_STAGES_H
#define EXPLAIN_STAGES_H

#include <sampler/sampler.h>

#include <string>
#include <vector>

namespace explain {

// The order of the stages that parameters say, whether they are on or not.
std::vector<sampler_stage> order_of(const sampler_params &params);

bool is_edit(sampler_stage stage);

// Whether the stage can change a row. A top_k is on whatever the length of the row.
bool is_on(sampler_stage stage, const sampler_params &params, const sampler_pipeline &lists);

// The stage's numbers that differ from their defaults: "top_k 40"; and the names of its lists.
std::string numbers_of(sampler_stage stage, const sampler_params &params,
                       const sampler_pipeline &lists);

// Does nothing for other stages than edits.
void turn_off_edit(sampler_stage stage, sampler_params *params, sampler_pipeline *lists);
void turn_off_all_but_edits(sampler_params *params);

}  // namespace explain

#endif  // EXPLAIN_STAGES_H
