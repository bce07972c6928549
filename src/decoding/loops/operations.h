// The library's operations as the loops call them: parameters from the call's arguments, numbers by
// text in host memory, a workspace allocated beforehand.
#pragma once

#include <algorithm>
#include <cstdint>

#include "abi/structs.h"
#include "capi/operations.h"
#include "decoding/loops/cached_model.h"
#include "decoding/loops/device_memory.h"
#include "decoding/loops/failure.h"
#include "decoding/loops/generation.h"
#include "sampler/sampler.h"

namespace sampler::decoding {

// Calls a function of the library; the loop is its host.
template <class Call>
void require_call(const ExecutionTarget &place, const Call &call) {
  require(place.entry->call_host(call));
}

// Rows of a model's logits.
inline sampler_rows rows_of(const sampler_model &model, const LogitRows &logits, int64_t num_rows) {
  sampler_rows rows = {};
  rows.values = logits.data;
  rows.num_rows = num_rows;
  rows.num_cols = model.vocabulary_size;
  rows.row_stride = logits.row_stride;
  rows.dtype = model.logits_dtype;
  return rows;
}

// Workspace of a loop's operations, one after the other.
class Workspace {
 public:
  // For calls on up to max_rows rows of num_cols, and for a call that needs least_bytes.
  Workspace(const ExecutionTarget &place, int64_t max_rows, int64_t num_cols,
            size_t least_bytes = 0)
      : place_(place),
        bytes_(place,
               std::max(least_bytes, capi::largest_workspace(*place.handle, max_rows, num_cols))) {}

  // The handle's log and parallel_for cannot tell these calls from the host's.
  template <class Args>
  void run(sampler_status (*function)(sampler_t, const Args *), Args *args) {
    args->exec = {place_.stream, bytes_.data(), bytes_.size()};
    require(place_.entry->call_host([&] { return function(place_.handle, args); }));
  }

 private:
  ExecutionTarget place_;
  DeviceBytes bytes_;
};

}  // namespace sampler::decoding
