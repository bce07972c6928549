// A recorded call: its arguments, what its arrays held before, and what they held afterwards.
#ifndef SAMPLER_TESTS_VECTORS_CASE_H_
#define SAMPLER_TESTS_VECTORS_CASE_H_

#include <sampler/sampler.h>

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "operations.h"

namespace vectors_test {

enum class ElementType { kF32, kF16, kBf16, kI32, kI64, kU32, kU64, kU8 };

// An array's elements, as they lie in memory.
struct Array {
  ElementType type = ElementType::kI32;
  std::string bytes;

  friend bool operator==(const Array &a, const Array &b) {
    return a.type == b.type && a.bytes == b.bytes;
  }
};

using Arrays = std::map<std::string, Array>;  // by member

// Members are named by their paths, as in capi_test::Operation.
struct Case {
  const capi_test::Operation *operation = nullptr;
  std::string name;
  std::map<std::string, std::uint64_t> args;  // bits of scalars; the others have their defaults
  // Among them params.stages, and outputs that the call reads, too, with what they held before.
  Arrays inputs;
  Arrays outputs;  // afterwards
  sampler_status status = SAMPLER_OK;
  std::string error;  // of a call that fails
  std::int64_t fallback_token_id = 0;
  bool use_fallback_token = false;
  bool brings_workspace = false;  // the handle's has no room for it
};

// The type of a member, or of its elements: of all but values and token ids.
ElementType type_of(const capi_test::Member &member);
std::size_t size_of(ElementType type);

// The workspace of a call that does not bring one anyway: the handle's, or one given with the call
// that has the bytes that its workspace_size function returns and not one more.
enum class WorkspaceOf { kHandle, kCall };

// The largest call's. A replaying handle needs no more.
constexpr std::int64_t kMaxRows = 16;
constexpr std::int64_t kMaxCols = 1500;

// Runs the call, with arrays of exactly the elements of `inputs` and `outputs` in heap blocks of
// their own, and gives the case as it should have been recorded. Aborts where the call wrote to
// what it may only read.
Case replayed(const Case &recorded, WorkspaceOf workspace_of);

// Whether the case has the member and whoever leaves it out is noticed: it is an output, or the
// call gives other outputs or another error without it.
bool shows(const Case &recorded, const std::string &member);

// Operations with recorded calls: all but sampler_score, which gives what sampler_sample gave.
struct RecordedOperations {
  const capi_test::Operation *begin() const { return capi_test::operations().data(); }
  const capi_test::Operation *end() const { return begin() + int(capi_test::Op::kScore); }
};

// Calls of a state, of operations() and state_operations(), in their order. A draw has the state in
// its pipeline.
struct StateCase {
  std::string name;
  sampler_state_options options = {};
  std::vector<Case> calls;
};

StateCase replayed(const StateCase &recorded, WorkspaceOf workspace_of);

// Whether that call, or one after it, gives something else without the member.
bool shows(const StateCase &recorded, std::size_t call, const std::string &member);

// The text of state.json, and back.
std::string to_text(const std::vector<StateCase> &cases);
std::vector<StateCase> state_cases_from_text(const std::string &text);

// The name of a call's file, without the folder: "sample.json".
std::string file_name(const capi_test::Operation &operation);

// The text of a call's file, and back. An error in the text throws or aborts.
std::string to_text(const capi_test::Operation &operation, const std::vector<Case> &cases);
std::vector<Case> from_text(const capi_test::Operation &operation, const std::string &text);

}  // namespace vectors_test

#endif  // SAMPLER_TESTS_VECTORS_CASE_H_
