// The arguments of session.h: read, checked, with their defaults.
#pragma once

#include "capi/check.h"
#include "decoding/session/session.h"

namespace sampler::capi {

SAMPLER_ZERO_TRAITS(sampler_session_options)
SAMPLER_ZERO_TRAITS(sampler_session_add_args)
SAMPLER_ZERO_TRAITS(sampler_session_fork_args)
SAMPLER_ZERO_TRAITS(sampler_session_sequence)
SAMPLER_ZERO_TRAITS(sampler_session_plan_args)
SAMPLER_ZERO_TRAITS(sampler_session_advance_args)

}  // namespace sampler::capi

namespace sampler::decoding {

using capi::Check;
using capi::Entry;

// What is wrong is an error of the check, here and below.
void read_options(Check &check, const sampler_session_options *user_options, Session::Config *out);

// What a sequence is added with. `params` and args.acceptance are the session's where the caller
// gives none.
struct AddArguments {
  sampler_session_add_args args;
  sampler_params params;
  sampler_ngram ngram;
  sampler_session_sequence resumed;
};
void read_arguments(Check &check, Session *session, const sampler_session_add_args *user_args,
                    AddArguments *out);

// Parameters of a sequence: where what no sequence can have of its own is the session's.
void read_params(Check &check, Session *session, const sampler_params *user_params,
                 sampler_params *out);

// The number of a sequence that there is.
const SessionSequence *check_sequence(Check &check, const Session &session, const char *name,
                                      int64_t sequence);

void read_arguments(Check &check, Session *session, const sampler_session_plan_args *user_args,
                    sampler_session_plan_args *out);
// The result points to `reports`, or to nothing.
void read_arguments(Check &check, Session *session, const sampler_session_advance_args *user_args,
                    sampler_report_args *reports, sampler_session_advance_args *out);

}  // namespace sampler::decoding
