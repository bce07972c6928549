// How a loop stops early: the error text is set, the status travels up to the entry point.
#pragma once

#include "capi/error.h"

namespace sampler::decoding {

struct Failure {
  sampler_status status;
};

inline void require(sampler_status status) {
  if (status != SAMPLER_OK) throw Failure{status};
}

// What a callback of the caller's returned.
inline void require(const capi::Log &log, const char *callback, sampler_status status) {
  if (status == SAMPLER_OK) return;
  throw Failure{status < 0 ? capi::fail(log, status, "%s returned %d", callback, int(status))
                           : capi::fail(log, status, "%s returned %d, %s", callback, int(status),
                                        sampler_status_string(status))};
}

}  // namespace sampler::decoding
