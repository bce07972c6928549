// Replays the recorded calls: what languages other than C replay, too.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "case.h"
#include "expect.h"

namespace vectors_test {
namespace {

using capi_test::Operation;

std::vector<Case> recorded_cases(const Operation &operation) {
  const std::string path = std::string(SAMPLER_VECTORS_DIR) + "/" + file_name(operation);
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return from_text(operation, {std::istreambuf_iterator<char>(file), {}});
}

void expect_equal(const Case &actual, const Case &expected) {
  SCOPED_TRACE(expected.name);
  EXPECT_EQ(actual.status, expected.status);
  EXPECT_EQ(actual.error, expected.error);
  for (const auto &[member, array] : expected.outputs) {
    EXPECT_TRUE(capi_test::same_bytes(actual.outputs.at(member).bytes, array.bytes)) << member;
  }
}

class Vectors : public testing::TestWithParam<capi_test::Op> {
 protected:
  void replay(WorkspaceOf workspace_of) {
    const std::vector<Case> cases = recorded_cases(capi_test::operation(GetParam()));
    EXPECT_FALSE(cases.empty());
    for (const Case &recorded : cases) expect_equal(replayed(recorded, workspace_of), recorded);
  }
};
INSTANTIATE_TEST_SUITE_P(Of, Vectors, capi_test::all_operations(), capi_test::operation_name);

TEST_P(Vectors, InTheHandlesWorkspace) {
  replay(WorkspaceOf::kHandle);
}

TEST_P(Vectors, InAWorkspaceOfTheCall) {
  replay(WorkspaceOf::kCall);
}

}  // namespace
}  // namespace vectors_test
