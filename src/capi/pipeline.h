// From sampler_pipeline, and the numbers of the edits in the parameters, to the contract's
// pipeline.
#pragma once

#include <optional>

#include "abi/check.h"
#include "capi/views.h"
#include "contract/pipeline.h"
#include "contract/request.h"

namespace sampler::capi {

using namespace abi;

// What the call can do: a filter draws nothing.
enum class Draws { kNo, kYes };

// The stages of a call of `handle`, of its argument `rows_name`. `user` null: those of the numbers
// alone. `own_cols`: columns that the input has in memory, fewer than its num_cols in a shard. Null
// where temperature, top-k, top-p and min-p are all, in an order that `rules` can say and then
// does; else `storage`.
const contract::Pipeline *read_pipeline(Check &check, const UserParameters &parameters,
                                        const sampler_pipeline *user, const sampler_handle *handle,
                                        const char *rows_name, const contract::Rows &input,
                                        int64_t own_cols, int64_t num_slots, int64_t num_rows,
                                        Draws draws, contract::FilterRules *rules,
                                        std::optional<contract::Pipeline> *storage);

// The tokens of sampler_score, and those that were kept. `request` has all else; its pipeline, if
// any, is in `storage`.
void read_scored(Check &check, const sampler_score_args &args, const UserParameters &parameters,
                 std::optional<contract::Pipeline> *storage, contract::SampleRequest *request);

// Whether parameters have anything beside temperature, top-k, top-p and min-p.
bool has_other_numbers(const UserParameters &parameters);

// For a call that knows temperature, top-k, top-p and min-p alone: `function` is its name.
void refuse_other_stages(Check &check, const UserParameters &parameters, const char *function);

}  // namespace sampler::capi
