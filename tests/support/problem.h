// Random requests for every operation, and their outputs as bytes: generated calls, with their
// arguments as the library reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "call.h"
#include "contract/request.h"

namespace test_support {

// Kinds of request.
constexpr int kNumRequests = kNumOperations;

// Widths and row counts to choose from.
struct Scale {
  std::vector<int64_t> widths;
  int64_t max_rows;
  Fixed fixed = {};
};

extern const Scale kSmall;
extern const Scale kLarge;

// An output array after a run, with its canaries.
struct Output {
  std::string name;
  std::vector<unsigned char> bytes;
};

// Filled when the request given to bind_outputs() runs.
using Outputs = std::vector<Output>;

// "" if the bytes are equal, else the difference.
std::string difference(const Outputs &expected, const Outputs &actual);

class Problem {
 public:
  Problem(std::mt19937_64 &random, const Scale &scale);

  // Points the request's outputs at new arrays.
  template <class Request>
  Outputs bind_outputs(Request *request) const;

  // Calls f(request) with a request of kind `which` % kNumRequests.
  template <class F>
  auto visit(int which, const F &f) {
    make(Operation(which % kNumRequests));
    switch (which % kNumRequests) {
      case kSample:
        return f(request<sampler::contract::SampleRequest>());
      case kFilter:
        return f(request<sampler::contract::FilterRequest>());
      case kSelect:
        return f(request<sampler::contract::SelectRequest>());
      case kVerify:
        return f(request<sampler::contract::VerifyRequest>());
      default:
        return f(request<sampler::contract::ResidualRequest>());
    }
  }

  std::string description() const { return to_text(case_); }

 private:
  void make(Operation operation);

  template <class Request>
  Request request() {
    Request request;
    outputs_ = bind_outputs(&request);
    return request;
  }

  Case case_;
  Fixed fixed_;
  int64_t bad_row_token_;
  std::optional<Call> call_;
  std::vector<std::vector<unsigned char>> inputs_;  // by array
  Outputs outputs_;
};

}  // namespace test_support
