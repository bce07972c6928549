// Random calls of every operation as one block of bytes: copied to a device and run there, it must
// equal, byte for byte, what the CPU made of it.
#pragma once

#include <sampler/sampler.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace test_support {

// The full calls, whose names are those of the functions: "sample" for sampler_sample.
enum Operation { kSample, kFilter, kSelect, kVerify, kResidual };
constexpr int kNumOperations = kResidual + 1;
const char *name(Operation operation);

// All that a call is made from. Text form, which --case takes:
// operation:num_rows:num_cols:seed:content:layout.
struct Case {
  Operation operation = kSample;
  int64_t num_rows = 1;  // output rows
  int64_t num_cols = 1;
  uint64_t seed = 0;     // which arrays there are, their types, and everything outside of them
  uint64_t content = 0;  // what is in the arrays
  uint64_t layout = 0;   // strides and alignment
};

std::string to_text(const Case &which);
bool from_text(const std::string &text, Case *out);

// The structs of a call.
struct Structs {
  sampler_params params;
  sampler_row_params row_params;
  union Args {  // by operation
    sampler_sample_args sample;
    sampler_filter_args filter;
    sampler_select_args select;
    sampler_verify_args verify;
    sampler_residual_args residual;
  } args;
};

// An array of a call, inside the call's memory.
struct Array {
  std::string name;
  bool is_output;
  bool is_parameter;  // a handle with host_parameters takes it from the host
  size_t pointer;     // offset in Structs of the member that points to it
  size_t begin;       // offset of its first byte in the memory
  size_t row_bytes, stride_bytes;
  int64_t num_rows;
};

class Call {
 public:
  explicit Call(const Case &which);

  const Case &source() const { return case_; }
  const std::string &description() const { return description_; }
  const std::vector<Array> &arrays() const { return arrays_; }

  // All arrays, with gaps around them. Outputs and gaps are filled with constants.
  std::vector<unsigned char> &memory() { return memory_; }
  const std::vector<unsigned char> &memory() const { return memory_; }

  // Bytes of workspace that the call needs.
  size_t workspace_bytes(sampler_t sampler) const;

  // Runs the call on a copy of the memory at `base`, but with its numbers per slot where
  // `parameters` has a copy. Throws when the library refuses it.
  void run(sampler_t sampler, void *base, const void *parameters, sampler_stream stream,
           void *workspace, size_t workspace_bytes) const;

  // Runs it on this memory, in host memory.
  void run(sampler_t cpu_sampler);

 private:
  friend class Builder;

  // Sets the pointers.
  void bind(const void *base, const void *parameters, Structs *out) const;

  Case case_;
  std::string description_;
  std::vector<Array> arrays_;
  Structs structs_ = {};  // pointers unset
  std::vector<unsigned char> memory_;
};

// What differs between calls of the same arrays, apart from strides and alignment; and what was
// written outside of outputs. One line an array at most.
std::vector<std::string> differences(const Call &expected, const Call &actual);

}  // namespace test_support
