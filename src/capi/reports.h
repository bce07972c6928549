// From what a call wants reported to the contract's Reports, each rule checked on the way.
#pragma once

#include <initializer_list>
#include <optional>

#include "abi/check.h"
#include "contract/reports.h"
#include "contract/request.h"
#include "sampler/sampling.h"

namespace sampler::capi {

using namespace abi;

// What a call's `reports` says; null: nothing.
sampler_report_args read_report_args(Check &check, const sampler_report_args *user);

// A report that a function may be asked for.
struct AskedReport {
  const char *name;
  bool is_set;
};
// Those that `function` does not have must not be set.
void refuse_reports(Check &check, const char *function, std::initializer_list<AskedReport> reports);

// `request` has all but its reports, its pipeline among it. What is too much for its own members
// goes into `storage`.
void read_reports(Check &check, const sampler_report_args &args,
                  std::optional<contract::Reports> *storage, contract::SampleRequest *request);

}  // namespace sampler::capi
