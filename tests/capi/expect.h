// What tests of the C ABI assert again and again.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "call.h"

namespace capi_test {

// A struct that is all 0 except its size.
template <class Struct>
Struct sized() {
  Struct value = {};
  value.struct_size = sizeof value;
  return value;
}

// Whether arrays are equal; reports where they first differ rather than all of them.
inline testing::AssertionResult same_bytes(const std::string &actual, const std::string &expected) {
  if (actual == expected) return testing::AssertionSuccess();
  std::size_t i = 0;
  while (i < actual.size() && i < expected.size() && actual[i] == expected[i]) ++i;
  return testing::AssertionFailure() << "of " << actual.size() << " and " << expected.size()
                                     << " bytes the first " << i << " are equal";
}

// The call is refused: with this status and text, nothing written.
inline void expect_refused(Call *call, sampler_t sampler, sampler_status status,
                           const std::string &message) {
  call->reset_outputs();
  const std::string inputs = call->inputs();
  EXPECT_EQ(call->run(sampler), status);
  EXPECT_EQ(sampler_last_error(), message);
  EXPECT_TRUE(call->outputs_are_untouched());
  EXPECT_TRUE(same_bytes(call->inputs(), inputs));
}

inline void expect_ok(Call *call, sampler_t sampler) {
  call->reset_outputs();
  const sampler_status status = call->run(sampler);
  ASSERT_EQ(status, SAMPLER_OK) << describe(call->spec()) << ": " << sampler_last_error();
}

// The outputs of a call that must succeed.
inline std::string output_of(Call *call, sampler_t sampler) {
  expect_ok(call, sampler);
  return call->output();
}

// The name of a test over operations.
inline std::string operation_name(const testing::TestParamInfo<Op> &info) {
  return operation(info.param).name;
}

// Takes all rows of output from a call.
inline void take_rows(Args *args) {
  const bool has_indices =
      args->operation().has("row_indices") && args->get<void *>("row_indices") != nullptr;
  const bool has_slots = args->operation().has("slots") && args->get<void *>("slots") != nullptr;
  if (has_indices) {
    args->set("num_row_indices", std::int64_t(0));
  } else {
    for (const char *view : {"input.num_rows", "target.num_rows", "draft.num_rows"}) {
      args->set_if_any(view, std::int64_t(0));
    }
  }
  args->set_if_any("kept.num_lists", std::int64_t(0));
  if (has_slots) return;
  args->set_if_any("random.num_seeds", std::int64_t(0));
  args->set_if_any("random.num_offsets", std::int64_t(0));
}

inline auto all_operations() {
  return testing::Values(Op::kSample, Op::kFilter, Op::kSelect, Op::kVerify, Op::kResidual,
                         Op::kScore);
}

inline std::size_t workspace_size(sampler_t sampler, const Args &args) {
  std::size_t bytes = SIZE_MAX;
  EXPECT_EQ(args.operation().workspace_size(sampler, args.data(), &bytes), SAMPLER_OK)
      << sampler_last_error();
  return bytes;
}

}  // namespace capi_test
