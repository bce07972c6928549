#include "problem.h"

#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "capi/requests.h"

namespace test_support {

namespace abi = sampler::abi;
namespace capi = sampler::capi;
using namespace sampler::contract;

const Scale kSmall = {{1, 2, 3, 31, 32, 33, 127, 128, 129, 500, 1000, 2048, 2049, 5000}, 5};
const Scale kLarge = {{20000, 32000, 50257, 128256, 262144}, 2};

namespace {

constexpr unsigned char kCanary = 0xC5;
constexpr size_t kCanaryBytes = 16;

// Offset of an array in a block of its own, which is aligned to 16 bytes: gives it the alignment
// that it has in the call's memory.
size_t shift_of(const Array &array) {
  return array.begin % kArrayAlignment;
}

// Bytes that the call may access: the last row has no padding.
size_t extent_of(const Array &array) {
  return array.num_rows == 0 ? 0
                             : size_t(array.num_rows - 1) * array.stride_bytes + array.row_bytes;
}

}  // namespace

Problem::Problem(std::mt19937_64 &random, const Scale &scale) : fixed_(scale.fixed) {
  case_.num_cols = scale.widths[random() % scale.widths.size()];
  case_.num_rows = 1 + int64_t(random() % uint64_t(scale.max_rows));
  case_.seed = random();
  case_.content = random();
  case_.layout = random();
  bad_row_token_ = random() % 4 == 0 ? 0 : -1;
}

// Each input gets a block of its exact size, so that AddressSanitizer detects accesses outside.
void Problem::make(Operation operation) {
  case_.operation = operation;
  call_.emplace(case_, fixed_);
  inputs_.clear();
  for (const Array &array : call_->arrays()) {
    const unsigned char *end = call_->memory().data() + array.begin + extent_of(array);
    const size_t bytes = array.is_output ? 0 : shift_of(array) + extent_of(array);
    inputs_.emplace_back(end - bytes, end);
  }
}

std::string difference(const Outputs &expected, const Outputs &actual) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto &a = expected[i].bytes, &b = actual[i].bytes;
    const auto first = std::mismatch(a.begin(), a.end(), b.begin());
    if (first.first == a.end()) continue;
    return expected[i].name + " differ at byte " + std::to_string(first.first - a.begin());
  }
  return "";
}

template <class Request>
Outputs Problem::bind_outputs(Request *request) const {
  Outputs outputs;
  Structs structs;
  auto input = inputs_.begin();
  call_->bind(
      [&](const Array &array) -> const void * {
        const auto &bytes = *input++;
        if (!array.is_output) return bytes.data() + shift_of(array);
        const size_t size = shift_of(array) + extent_of(array) + kCanaryBytes;
        outputs.push_back({array.name, std::vector<unsigned char>(size, kCanary)});
        return outputs.back().bytes.data() + shift_of(array);
      },
      &structs);
  const sampler_status status = abi::enter(abi::Log(), [&](abi::Entry &entry) {
    abi::Check check(entry);
    std::optional<sampler::contract::Pipeline> pipeline;          // empty, for a call without one
    std::optional<sampler::contract::Reports> reports;            // empty, for a call without them
    std::optional<sampler::contract::Verification> verification;  // likewise
    const capi::RequestContext context = {bad_row_token_, &pipeline, &reports, &verification};
    visit_args(case_.operation, structs, [&](const auto &args) {
      using Made = decltype(capi::to_request(check, args, context));
      if constexpr (std::is_same_v<Made, Request>) {
        *request = capi::to_request(check, args, context);
      }
    });
    check.overlaps();
    return check.status();
  });
  if (status != SAMPLER_OK) throw std::runtime_error(description() + ": " + sampler_last_error());
  return outputs;
}

template Outputs Problem::bind_outputs(SampleRequest *) const;
template Outputs Problem::bind_outputs(FilterRequest *) const;
template Outputs Problem::bind_outputs(SelectRequest *) const;
template Outputs Problem::bind_outputs(VerifyRequest *) const;
template Outputs Problem::bind_outputs(ResidualRequest *) const;

}  // namespace test_support
