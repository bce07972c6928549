// Generated calls that run: copied to a device and run there, the memory of one must equal, byte
// for byte, what the CPU made of it.
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

  // Runs the call on a copy of the memory at `base`, but with its numbers per slot where
  // `parameters` has a copy. Throws when the library refuses it.
  void run(sampler_t sampler, void *base, const void *parameters, sampler_stream stream,
           void *workspace, size_t workspace_bytes) const;

  // Runs it on this memory, in host memory.
  void run(sampler_t cpu_sampler);

 private:
  // The arrays in copies of the memory.
  void bind(const void *base, const void *parameters, Structs *out) const;
};

// What differs between problems of the same arrays, apart from strides and alignment; and what was
// written outside of outputs. One line an array at most.
std::vector<std::string> differences(const Problem &expected, const Problem &actual);

}  // namespace gpu_check
