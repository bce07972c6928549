// The full calls, as the simple ones make them.
#pragma once

#include "capi/check.h"
#include "sampler/sampling.h"
#include "sampler/speculative.h"

namespace sampler::capi {

sampler_status sample(sampler_t sampler, const sampler_sample_args *args, Wording wording) noexcept;
sampler_status filter(sampler_t sampler, const sampler_filter_args *args, Wording wording) noexcept;
sampler_status select(sampler_t sampler, const sampler_select_args *args, Wording wording) noexcept;
sampler_status verify(sampler_t sampler, const sampler_verify_args *args, Wording wording) noexcept;

// As sampler_verify, but a bad row only ends its sequence where it is:
// contract::Verification::keeps_verified.
sampler_status verify_up_to_bad_rows(sampler_t sampler, const sampler_verify_args *args) noexcept;
sampler_status verify_up_to_bad_rows_workspace_size(sampler_t sampler,
                                                    const sampler_verify_args *args,
                                                    size_t *out_bytes) noexcept;

}  // namespace sampler::capi
