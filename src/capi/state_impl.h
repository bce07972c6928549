// What a sampler_state_t points to.
#pragma once

#include "abi/allocator.h"
#include "contract/state_slots.h"
#include "sampler/state.h"

struct sampler_state {
  const sampler_handle *handle;  // whose it is
  sampler::abi::Allocator allocator;
  sampler::abi::Log log;
  size_t bytes;  // of the block, at whose beginning this lies
  sampler::contract::StateSlots slots;
  // CUDA: room for those by slot that the host has; the slots are on the device, too.
  void *numbers;
};

namespace sampler::capi {

using namespace abi;

// A required state of this handle.
inline void check_state(Check &check, const char *name, const sampler_handle *handle,
                        const sampler_state *state) {
  if (!check.ok()) return;
  if (!state) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is NULL; it is required", name);
  } else if (state->handle != handle) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "%s is of another sampler; it must be of the one that is called", name);
  }
}

}  // namespace sampler::capi
