// What went wrong in CUDA, as the status of a call.
#pragma once

#include "abi/error.h"
#include "cuda/backend.h"

namespace sampler::abi {

// OK, or the error with its text.
inline sampler_status cuda_status(Entry &entry, const cuda::Error &error) {
  if (!error) return SAMPLER_OK;
  const sampler_status status =
      error.is_out_of_memory ? SAMPLER_ERROR_OUT_OF_MEMORY : SAMPLER_ERROR_CUDA;
  return fail(entry, status, "%s: %s", error.call, error.reason);
}

}  // namespace sampler::abi
