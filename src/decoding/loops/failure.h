// How a loop stops early: the error text is set, the exception carries the status to the entry
// point.
#pragma once

#include "abi/entry.h"
#include "abi/error.h"

namespace sampler::decoding {

struct Failure {
  sampler_status status;
};

inline void require(sampler_status status) {
  if (status != SAMPLER_OK) throw Failure{status};
}

// Calls a host's function, which must return SAMPLER_OK.
template <class Callback>
void call_back(abi::Entry *entry, const char *name, const Callback &callback) {
  const sampler_status status = entry->call_host(callback);
  if (status != SAMPLER_OK) throw Failure{abi::fail_in_host(*entry, name, status)};
}

}  // namespace sampler::decoding
