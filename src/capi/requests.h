// From the arguments of a full call to the contract's request, each rule checked on the way. Where
// the check fails the request is of no use. `bad_row_token` is what a bad row yields, where it
// yields a token.
#pragma once

#include <cstdint>

#include "capi/check.h"
#include "contract/request.h"
#include "sampler/sampling.h"
#include "sampler/speculative.h"

namespace sampler::capi {

contract::SampleRequest to_request(Check &check, const sampler_sample_args &args,
                                   int64_t bad_row_token);
contract::RowsRequest to_request(Check &check, const sampler_filter_args &args,
                                 int64_t bad_row_token);
contract::SelectRequest to_request(Check &check, const sampler_select_args &args,
                                   int64_t bad_row_token);
contract::ChainRequest to_request(Check &check, const sampler_verify_args &args,
                                  int64_t bad_row_token);
contract::ResidualRequest to_request(Check &check, const sampler_residual_args &args,
                                     int64_t bad_row_token);

}  // namespace sampler::capi
