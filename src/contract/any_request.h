// A request of any operation, passed from the C ABI to a backend.
#pragma once

#include <cstdint>
#include <variant>

#include "contract/host_device.h"
#include "contract/reports.h"
#include "contract/request.h"

namespace sampler::contract {

// Non-owning: the request must outlive it.
class AnyRequest {
 public:
  template <class Request>
  AnyRequest(const Request &request) : request_(&request) {}

  // Calls f(request) with the request's own type. Nothing else branches on the operation.
  template <class F>
  auto visit(const F &f) const {
    return std::visit([&](const auto *request) { return f(*request); }, request_);
  }

 private:
  std::variant<const SampleRequest *, const FilterRequest *, const SelectRequest *,
               const VerifyRequest *, const ResidualRequest *>
      request_;
};

// Number of output rows.
template <class Request>
SAMPLER_HD inline int64_t num_output_rows(const Request &request) {
  return request.num_rows;
}
SAMPLER_HD inline int64_t num_output_rows(const FilterRequest &request) {
  return request.input.num_rows;
}
SAMPLER_HD inline int64_t num_output_rows(const SelectRequest &request) {
  return request.input.num_rows;
}

// Packed lists have offsets to write even for 0 rows.
template <class Request>
inline bool writes_anything(const Request &request) {
  return num_output_rows(request) > 0;
}
inline bool writes_anything(const SampleRequest &request) {
  return request.num_rows > 0 || (request.reports && request.reports->are_lists_packed());
}

// Whether any input rows are candidate lists.
template <class Request>
SAMPLER_HD inline bool reads_lists(const Request &request) {
  return request.input.ids != nullptr;
}
SAMPLER_HD inline bool reads_lists(const VerifyRequest &request) {
  return request.target.ids || request.draft.ids;
}
SAMPLER_HD inline bool reads_lists(const ResidualRequest &) {
  return false;
}

}  // namespace sampler::contract
