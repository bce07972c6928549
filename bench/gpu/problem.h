// Runs generated calls: after a run on a copy in device memory, that memory must equal the CPU's
// byte for byte.
#pragma once

#include <sampler/sampler.h>

#include <cstddef>
#include <string>
#include <vector>

#include "call.h"

namespace gpu_check {

using namespace test_support;

class Problem : public Call {
 public:
  using Call::Call;

  // Bytes of workspace that the call needs.
  size_t workspace_bytes(sampler_t sampler) const;

  // Runs the call on a copy of the memory at `base`, with its numbers per slot from `parameters` if
  // that has a copy. Throws if the library refuses the call.
  void run(sampler_t sampler, void *base, const void *parameters, sampler_stream stream,
           void *workspace, size_t workspace_bytes) const;

  // Runs the call on this memory, on the host.
  void run(sampler_t cpu_sampler);

 private:
  // Sets the pointers to arrays in copies of the memory.
  void bind(const void *base, const void *parameters, Structs *out) const;
};

// Differences between problems with the same arrays, whatever their strides and alignment, and
// writes outside outputs. At most one line per array.
std::vector<std::string> differences(const Problem &expected, const Problem &actual);

}  // namespace gpu_check
