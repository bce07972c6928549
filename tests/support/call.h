// Random calls of every operation, each in one block of bytes, for all suites of random calls:
// after a run on a copy in device memory, that memory must equal the CPU's byte for byte.
#pragma once

#include <sampler/sampler.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rows.h"

namespace test_support {

// The full calls; their names are those of the functions: "sample" for sampler_sample.
enum Operation { kSample, kFilter, kSelect, kVerify, kResidual };
constexpr int kNumOperations = kResidual + 1;
const char *name(Operation operation);

// Everything that determines a call. Text form, as for --case:
// operation:num_rows:num_cols:seed:content:layout.
struct Case {
  Operation operation = kSample;
  int64_t num_rows = 1;  // output rows
  int64_t num_cols = 1;
  uint64_t seed = 0;     // which arrays exist, their types, everything outside of them
  uint64_t content = 0;  // content of the arrays
  uint64_t layout = 0;   // strides and alignment
};

// Fixed choices: types and parameters of all rows. Rows of a fixed kind are good, and have all
// columns unless they are candidate lists.
struct Fixed {
  std::optional<oracle_test::RowKind> row_kind;
  std::optional<sampler_dtype> dtype;
  std::optional<float> temperature;  // of logits
  std::optional<int32_t> top_k;
  std::optional<float> top_p;
  // Each row has all columns, its own position of draft and target, and its own numbers in arrays:
  // no lists, lengths, row_indices or slots.
  bool by_row = false;
};

// An element of an array, widened.
float value_of(const void *values, sampler_dtype dtype, int64_t element);

std::string to_text(const Case &which);
bool from_text(const std::string &text, Case *out);

// The structs of a call.
struct Structs {
  sampler_params params;
  sampler_row_params row_params;
  sampler_report_args reports;  // of sample
  sampler_draft_layout layout;  // of verify
  union Args {  // by operation
    sampler_sample_args sample;
    sampler_filter_args filter;
    sampler_select_args select;
    sampler_verify_args verify;
    sampler_residual_args residual;
  } args;
};

// Calls f(arguments) with the operation's member.
template <class AnyStructs, class F>
auto visit_args(Operation operation, AnyStructs &structs, const F &f) {
  switch (operation) {
    case kSample:
      return f(structs.args.sample);
    case kFilter:
      return f(structs.args.filter);
    case kSelect:
      return f(structs.args.select);
    case kVerify:
      return f(structs.args.verify);
    default:
      return f(structs.args.residual);
  }
}

// Bytes between arrays and in the padding of rows: NaN, or an invalid id, if a call reads them.
constexpr unsigned char kInputGap = 0xFF;
// Bytes of outputs before the call, and of the padding of their rows.
constexpr unsigned char kOutputGap = 0xC5;

// Arrays begin up to 15 elements after a multiple of this many bytes.
constexpr size_t kArrayAlignment = 256;

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
  explicit Call(const Case &which, const Fixed &fixed = {});

  const Case &source() const { return case_; }
  const std::string &description() const { return description_; }
  const std::vector<Array> &arrays() const { return arrays_; }

  // All arrays, with gaps between them. Outputs and gaps are filled with constants.
  std::vector<unsigned char> &memory() { return memory_; }
  const std::vector<unsigned char> &memory() const { return memory_; }

  // Copies the structs with each array at the address that `address` returns.
  using Address = std::function<const void *(const Array &)>;
  void bind(const Address &address, Structs *out) const;

 private:
  friend class Builder;

  Case case_;
  Fixed fixed_;
  std::string description_;
  std::vector<Array> arrays_;
  Structs structs_ = {};  // pointers unset
  std::vector<unsigned char> memory_;
};

}  // namespace test_support
