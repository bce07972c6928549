// From the arguments of a full call to the contract's request, each rule checked on the way. Where
// the check fails the request is of no use.
#pragma once

#include <cstdint>
#include <optional>

#include "abi/check.h"
#include "contract/pipeline.h"
#include "contract/reports.h"
#include "contract/request.h"
#include "contract/unmask.h"
#include "contract/verification.h"
#include "sampler/sampling.h"
#include "sampler/speculative.h"
#include "sampler/unmask.h"

namespace sampler::capi {

using namespace abi;

// What a request has besides its arguments.
struct RequestContext {
  int64_t bad_row_token;                        // what a bad row yields, where it yields a token
  std::optional<contract::Pipeline> *pipeline;  // memory for the request's
  std::optional<contract::Reports> *reports;
  std::optional<contract::Verification> *verification;
  const sampler_handle *handle = nullptr;  // whose states the call may have
  bool is_of_session = false;  // contract::Verification::keeps_verified, or may_lack_lists
  int64_t whole_cols = 0;      // above 0: the input is a shard of rows of that many columns
};

contract::SampleRequest to_request(Check &check, const sampler_sample_args &args,
                                   const RequestContext &context);
contract::SampleRequest to_request(Check &check, const sampler_score_args &args,
                                   const RequestContext &context);
contract::FilterRequest to_request(Check &check, const sampler_filter_args &args,
                                   const RequestContext &context);
contract::SelectRequest to_request(Check &check, const sampler_select_args &args,
                                   const RequestContext &context);
contract::VerifyRequest to_request(Check &check, const sampler_verify_args &args,
                                   const RequestContext &context);
// What a call's `acceptance` says, with each of its numbers checked, rates apart; null: nothing.
// The rule is SAMPLER_ACCEPT_DEFAULT nowhere: `in_place_of_default` is the context's.
sampler_acceptance_params read_acceptance_params(Check &check,
                                                 const sampler_acceptance_params *user,
                                                 sampler_acceptance in_place_of_default);
// The members that sampler_verify alone takes are 0.
void check_decoding_acceptance(Check &check, const sampler_acceptance_params &acceptance);
// A member that makes a request more than dense chains by the standard rule:
// contract::Verification.
const char *name_of_more(const contract::VerifyRequest &request);
// NULL: all 0. Numbers that are off are 0. Errors name the struct `name`.
sampler_unmask_params read_unmask_params(Check &check, const char *name,
                                         const sampler_unmask_params *user);
contract::UnmaskRequest to_request(Check &check, const sampler_unmask_args &args,
                                   const RequestContext &context);
contract::ResidualRequest to_request(Check &check, const sampler_residual_args &args,
                                     const RequestContext &context);

}  // namespace sampler::capi
