#ifndef EXPLAIN_STAGES_H
#define EXPLAIN_STAGES_H

#include <sampler/sampler.h>

#include <string>
#include <vector>

namespace explain {

// The order of the stages that parameters say, whether they are on or not.
std::vector<sampler_stage> order_of(const sampler_params &params);

bool is_edit(sampler_stage stage);

// Whether the lists' guidance_logits guide.
bool guides(const sampler_params &params, const sampler_pipeline &lists);

// Whether the stage can change a row. A top_k is on whatever the length of the row.
bool is_on(sampler_stage stage, const sampler_params &params, const sampler_pipeline &lists);

// The stage's numbers that differ from their defaults: "top_k 40", "penalty_scope all".
std::string numbers_of(sampler_stage stage, const sampler_params &params,
                       const sampler_pipeline &lists);

// One list of a stage, or what stands for all ids, without the stage's others.
struct Part {
  const char *name;        // a member of sampler_pipeline
  sampler_pipeline lists;  // with the history
};
std::vector<Part> parts_of(sampler_stage stage, const sampler_pipeline &lists);

// Leaves one edit on.
void turn_off_other_edits(sampler_stage stage, sampler_params *params, sampler_pipeline *lists);

// Does nothing for other stages than edits.
void turn_off_edit(sampler_stage stage, sampler_params *params, sampler_pipeline *lists);
void turn_off_all_but_edits(sampler_params *params);

}  // namespace explain

#endif  // EXPLAIN_STAGES_H
