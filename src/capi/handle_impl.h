// What is behind a sampler_t.
#pragma once

#include "capi/allocator.h"
#include "capi/busy.h"
#include "capi/error.h"
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
