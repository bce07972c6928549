// What a sampler_t points to.
#pragma once

#include "abi/allocator.h"
#include "abi/busy.h"
#include "abi/entry.h"
#include "cpu/executor.h"
#include "cuda/backend.h"
#include "sampler/handle.h"

struct sampler_handle {
  sampler::abi::Allocator allocator;
  sampler::abi::Log log;
  int64_t fallback_token_id;  // what a bad row yields: -1, or the caller's choice
  sampler::cpu::Executor executor;
  sampler::abi::Block pool;
  bool on_cuda;
  bool check_pointers;  // CUDA: each call asks where its arrays are
  sampler::cuda::Device device;
  sampler::abi::Block workspace;  // where the handle's arrays live
  sampler::abi::Owner owner;      // the call that runs
};

namespace sampler::abi {

// A call with a handle.
template <class Body>
sampler_status enter(sampler_handle *handle, const Body &body) noexcept {
  return enter(handle ? handle->log : Log{}, [&](Entry &entry) {
    if (handle) return body(entry);
    return fail(entry, SAMPLER_ERROR_INVALID_ARGUMENT,
                "sampler is NULL; it must come from sampler_create");
  });
}

}  // namespace sampler::abi
