// The full calls, as the simple ones make them.
#pragma once

#include "abi/check.h"
#include "sampler/sampling.h"
#include "sampler/speculative.h"
#include "sampler/unmask.h"

namespace sampler::capi {

using namespace abi;

sampler_status sample(sampler_t sampler, const sampler_sample_args *args, Wording wording) noexcept;
sampler_status filter(sampler_t sampler, const sampler_filter_args *args, Wording wording) noexcept;
sampler_status select(sampler_t sampler, const sampler_select_args *args, Wording wording) noexcept;
sampler_status verify(sampler_t sampler, const sampler_verify_args *args, Wording wording) noexcept;

// As sampler_sample, but with less workspace than it asks for, at the cost of time.
sampler_status sample_of_session(sampler_t sampler, const sampler_sample_args *args) noexcept;

// As sampler_verify, but a bad row only ends its sequence where it is:
// contract::Verification::keeps_verified.
sampler_status verify_up_to_bad_rows(sampler_t sampler, const sampler_verify_args *args) noexcept;
sampler_status verify_up_to_bad_rows_workspace_size(sampler_t sampler,
                                                    const sampler_verify_args *args,
                                                    size_t *out_bytes) noexcept;

// As sampler_unmask, with arrays in host memory and good arguments.
void unmask_on_host(Entry &entry, const sampler_unmask_args &args);

// What any operation on up to max_rows rows of up to max_cols columns, not candidates, needs.
size_t largest_workspace(const sampler_handle &handle, int64_t max_rows, int64_t max_cols);

}  // namespace sampler::capi
