// What a sampler_t points to.
#pragma once

#include "capi/allocator.h"
#include "capi/busy.h"
#include "capi/entry.h"
#include "cpu/executor.h"
#include "cuda/backend.h"
#include "sampler/handle.h"

struct sampler_handle {
  sampler::capi::Allocator allocator;
  sampler::capi::Log log;
  int64_t fallback_token_id;  // what a bad row yields: -1, or the caller's choice
  sampler::cpu::Executor executor;
  sampler::capi::Block pool;
  bool on_cuda;
  bool check_pointers;  // CUDA: each call asks where its arrays are
  sampler::cuda::Device device;
  sampler::capi::Block workspace;  // where the handle's arrays live
  sampler::capi::Owner owner;      // the call that runs
};

namespace sampler::capi {

// What any operation on up to max_rows rows of up to max_cols columns, not candidates, needs.
size_t largest_workspace(const sampler_handle &handle, int64_t max_rows, int64_t max_cols);

// A call with a handle.
template <class Body>
sampler_status enter(sampler_handle *handle, const Body &body) noexcept {
  return enter(handle ? handle->log : Log{}, [&](Entry &entry) {
    if (handle) return body(entry);
    return fail(entry, SAMPLER_ERROR_INVALID_ARGUMENT,
                "sampler is NULL; it must come from sampler_create");
  });
}

}  // namespace sampler::capi
