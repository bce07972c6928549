// The checked request of each operation's arguments.
#pragma once

#include "capi/check.h"
#include "capi/handle_impl.h"
#include "contract/request.h"
#include "sampler/sampler.h"

namespace sampler::capi {

using contract::ChainRequest;
using contract::ResidualRequest;
using contract::RowsRequest;
using contract::SampleRequest;
using contract::SelectRequest;

SampleRequest to_request(Check &, const sampler_sample_args &, const sampler_handle &);
SampleRequest to_request(Check &, const sampler_top_k_top_p_args &, const sampler_handle &);
SampleRequest to_request(Check &, const sampler_top_k_args &, const sampler_handle &);
SampleRequest to_request(Check &, const sampler_top_p_args &, const sampler_handle &);
SampleRequest to_request(Check &, const sampler_min_p_args &, const sampler_handle &);
SampleRequest to_request(Check &, const sampler_argmax_args &, const sampler_handle &);
RowsRequest to_request(Check &, const sampler_softmax_args &, const sampler_handle &);
RowsRequest to_request(Check &, const sampler_top_k_renorm_args &, const sampler_handle &);
RowsRequest to_request(Check &, const sampler_top_p_renorm_args &, const sampler_handle &);
RowsRequest to_request(Check &, const sampler_top_k_mask_args &, const sampler_handle &);
SelectRequest to_request(Check &, const sampler_top_k_select_args &, const sampler_handle &);
ChainRequest to_request(Check &, const sampler_chain_speculative_args &, const sampler_handle &);
ResidualRequest to_request(Check &, const sampler_residual_args &, const sampler_handle &);

}  // namespace sampler::capi
