// What tests of the C ABI assert again and again.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "call.h"

namespace capi_test {

// Whether arrays are equal; tells where they first differ rather than all of them.
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

// The name of a test over the numbers of operations.
inline std::string operation_name(const testing::TestParamInfo<int> &info) {
  return operations()[std::size_t(info.param)].name;
}

}  // namespace capi_test
