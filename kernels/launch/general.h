// What the general kernels take. Each does several operations and has the functions that they share
// once: a kernel an operation would have copies of them all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "launch/plan.h"

namespace sampler::kernels {

// A request of one of several operations.
template <class... Requests>
class OneOf {
 public:
  OneOf(Operation operation, const void *request) : operation_(operation) {
    (copy_if<Requests>(request), ...);
  }

  // Calls f(request) with the request's own type.
  template <class F>
  SAMPLER_HD void visit(const F &f) const {
    (visit_if<Requests>(f), ...);
  }

 private:
  template <class Request>
  void copy_if(const void *request) {
    if (operation_ == kOperationOf<Request>) std::memcpy(bytes_, request, sizeof(Request));
  }
  template <class Request, class F>
  SAMPLER_HD void visit_if(const F &f) const {
    if (operation_ == kOperationOf<Request>) f(*reinterpret_cast<const Request *>(bytes_));
  }

  Operation operation_;
  alignas(std::max_align_t) char bytes_[std::max({sizeof(Requests)...})];
};

// By KernelSet. The second ones need all registers of a multiprocessor.
using PlainRequest = OneOf<contract::SampleRequest, contract::FilterRequest,
                           contract::SelectRequest, contract::ResidualRequest>;
using StagedRequest = OneOf<SpreadRequest, StagedSampleRequest, StagedFilterRequest,
                            contract::VerifyRequest, ExtendedVerifyRequest, ShardRequest>;

}  // namespace sampler::kernels
