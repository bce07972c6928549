// The arguments of session.h: read and checked, with their defaults.
#pragma once

#include "abi/check.h"
#include "decoding/session/session.h"

namespace sampler::abi {

SAMPLER_ZERO_TRAITS(sampler_session_options)
SAMPLER_ZERO_TRAITS(sampler_session_add_args)
SAMPLER_ZERO_TRAITS(sampler_session_fork_args)
SAMPLER_ZERO_TRAITS(sampler_session_sequence)
SAMPLER_ZERO_TRAITS(sampler_session_plan_args)
SAMPLER_ZERO_TRAITS(sampler_session_advance_args)

}  // namespace sampler::abi

namespace sampler::decoding {

using abi::Check;
using abi::Entry;

// These functions set errors in `check`.
void read_options(Check &check, const sampler_session_options *user_options, Session::Config *out);

// The arguments of a new sequence. `params` and args.acceptance are the session's if the caller
// gives none.
struct AddArguments {
  sampler_session_add_args args;
  sampler_params params;
  sampler_ngram ngram;
  sampler_unmask_params unmask;
  sampler_session_sequence resumed;
};
void read_arguments(Check &check, Session *session, const sampler_session_add_args *user_args,
                    AddArguments *out);

// Reads a sequence's parameters. Those that sequences share must equal the session's.
void read_params(Check &check, Session *session, const sampler_params *user_params,
                 sampler_params *out);

// Checks the parameters of a text that grows by blocks.
void check_params_of_blocks(Check &check, const sampler_params &params);

// Checks that the sequence exists.
const SessionSequence *check_sequence(Check &check, const Session &session, const char *name,
                                      int64_t sequence);

void read_arguments(Check &check, Session *session, const sampler_session_plan_args *user_args,
                    sampler_session_plan_args *out);
// The result points to `reports`, or to nothing.
void read_arguments(Check &check, Session *session, const sampler_session_advance_args *user_args,
                    sampler_report_args *reports, sampler_session_advance_args *out);

}  // namespace sampler::decoding
