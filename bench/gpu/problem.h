// Random calls of every operation as one block of bytes: copied to a device and run there, it must
// equal, byte for byte, what the CPU made of it.
#pragma once

#include <sampler/sampler.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gpu_check {

// All that a problem is made from. Text form, which --case takes:
// operation:num_rows:num_cols:seed:content:layout.
struct Case {
  sampler_operation operation = SAMPLER_OP_SAMPLE;
  int64_t num_rows = 1;  // output rows
  int64_t num_cols = 1;
  uint64_t seed = 0;     // which arrays there are, their types, and everything outside of them
  uint64_t content = 0;  // what is in the arrays
  uint64_t layout = 0;   // strides and alignment
};

std::string to_text(const Case &which);
bool from_text(const std::string &text, Case *out);

constexpr int kNumOperations = SAMPLER_OP_RESIDUAL + 1;
const char *name(sampler_operation operation);

// An array of a call, inside the problem's memory.
struct Array {
  const char *name;
  bool is_output;
  size_t pointer;  // offset of the argument that points to it
  size_t begin;    // offset of its first byte in the memory
  size_t row_bytes, stride_bytes;
  int64_t num_rows;
};

class Problem {
 public:
  explicit Problem(const Case &which);

  const Case &source() const { return case_; }
  const std::string &description() const { return description_; }
  const std::vector<Array> &arrays() const { return arrays_; }

  // All arrays, with gaps around them. Outputs and gaps are filled with constants.
  std::vector<unsigned char> &memory() { return memory_; }
  const std::vector<unsigned char> &memory() const { return memory_; }

  // Bytes of workspace that the call needs.
  size_t workspace_bytes(sampler_t sampler) const;

  // Runs the call on a copy of the memory at `base`, but with its numbers per row where
  // `parameters` has a copy. Throws when the library refuses it.
  void run(sampler_t sampler, void *base, const void *parameters, sampler_stream stream,
           void *workspace, size_t workspace_bytes) const;

  // Runs it on this memory, in host memory.
  void run(sampler_t cpu_sampler);

 private:
  template <class Args>
  friend class Builder;

  std::vector<unsigned char> bound_args(const void *base, const void *parameters) const;

  Case case_;
  std::string description_;
  std::vector<Array> arrays_;
  std::vector<unsigned char> args_;  // the operation's struct, pointers unset
  std::vector<unsigned char> memory_;
};

// What differs between problems of the same arrays, apart from strides and alignment; and what was
// written outside of outputs. One line an array at most.
std::vector<std::string> differences(const Problem &expected, const Problem &actual);

}  // namespace gpu_check
