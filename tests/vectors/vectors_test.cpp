// Replays the recorded calls: what languages other than C replay, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "case.h"
#include "expect.h"

namespace vectors_test::vectors_test {
namespace {

using capi_test::Op;
using capi_test::Operation;

std::string contents(const std::string &file_name) {
  const std::string path = std::string(SAMPLER_VECTORS_DIR) + "/" + file_name;
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Case> recorded_cases(const Operation &operation) {
  return from_text(operation, contents(file_name(operation)));
}

std::vector<StateCase> recorded_state_cases() {
  return state_cases_from_text(contents("state.json"));
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
INSTANTIATE_TEST_SUITE_P(Of, Vectors,
                         testing::Values(Op::kSample, Op::kFilter, Op::kSelect, Op::kVerify,
                                         Op::kResidual),
                         capi_test::operation_name);

TEST_P(Vectors, InTheHandlesWorkspace) {
  replay(WorkspaceOf::kHandle);
}

TEST_P(Vectors, InAWorkspaceOfTheCall) {
  replay(WorkspaceOf::kCall);
}

void expect_equal(const StateCase &actual, const StateCase &expected) {
  SCOPED_TRACE(expected.name);
  for (std::size_t i = 0; i < expected.calls.size(); ++i) {
    SCOPED_TRACE(i);
    expect_equal(actual.calls[i], expected.calls[i]);
  }
}

TEST(VectorsOfStates, AreReplayed) {
  const std::vector<StateCase> cases = recorded_state_cases();
  EXPECT_FALSE(cases.empty());
  for (const StateCase &recorded : cases) {
    expect_equal(replayed(recorded, WorkspaceOf::kHandle), recorded);
    expect_equal(replayed(recorded, WorkspaceOf::kCall), recorded);
  }
}

// ---- Which members the calls have

// What no call has, with the reason.
const std::map<std::string, std::string> &without_calls() {
  static const std::map<std::string, std::string> reasons = {
      {"sampler_residual: target.candidate_ids", "a residual is not of candidate lists"},
      {"sampler_residual: target.candidate_counts", "a residual is not of candidate lists"},
      {"sampler_residual: target.candidate_id_type", "a residual is not of candidate lists"},
      {"sampler_residual: draft.candidate_ids", "a residual is not of candidate lists"},
      {"sampler_residual: draft.candidate_counts", "a residual is not of candidate lists"},
      {"sampler_residual: draft.candidate_id_type", "a residual is not of candidate lists"},
      {"sampler_verify: reports.out_values", "verification does not report it"},
      {"sampler_verify: reports.num_chosen", "verification does not report it"},
      {"sampler_verify: reports.chosen_token_ids", "verification does not report it"},
      {"sampler_verify: reports.out_chosen_logprobs", "verification does not report it"},
      {"sampler_verify: reports.out_kept_offsets", "verification does not report it"},
      {"sampler_verify: reports.out_removed_by", "verification does not report it"},
      {"exec.stream", "there is none on the CPU"},
      {"exec.workspace", "each replay has its own"},
      {"exec.workspace_bytes", "each replay has its own"},
      {"pipeline.state", "state.json has calls with it"},
      {"sampler_verify: forced_token_ids", "tests/verification compares them with a walk"},
  };
  return reasons;
}

// Whether it stands in no case, or in each as a pointer to what stands there.
bool is_given_by_others(const std::string &member) {
  const std::string last = member.substr(member.rfind('.') + 1);
  for (const char *name : {"struct_size", "reserved", "params", "row_params", "pipeline",
                           "draft_params", "draft_row_params", "reports", "layout", "acceptance"}) {
    if (last == name) return true;
  }
  return false;
}

// The member by its struct: the structs that several calls point to are the same for all.
std::string by_struct(const Operation &operation, std::string member) {
  if (member.compare(0, 6, "draft_") == 0 && member.find('.') != std::string::npos) {
    member = member.substr(6);
  }
  for (const char *shared : {"params.", "row_params.", "pipeline."}) {
    if (member.compare(0, std::strlen(shared), shared) == 0) return member;
  }
  return std::string(operation.name) + ": " + member;
}

bool is_without_calls(const std::string &member, const std::string &by_struct) {
  return without_calls().count(member) || without_calls().count(by_struct);
}

TEST(VectorsHave, EachMemberInACallThatDiffersWithoutIt) {
  std::map<std::string, bool> is_shown;
  for (const Operation &operation : RecordedOperations()) {
    const std::vector<Case> cases = recorded_cases(operation);
    for (const auto &[member, described] : operation.all_members) {
      const std::string name = by_struct(operation, member);
      if (is_given_by_others(member) || is_without_calls(member, name)) continue;
      bool &found = is_shown[name];
      for (const Case &recorded : cases) {
        if (found) break;
        found = shows(recorded, member);
      }
    }
  }
  for (const auto &[member, found] : is_shown) EXPECT_TRUE(found) << member;
}

// Not those of parameters, which other calls show.
TEST(VectorsHave, EachMemberOfStatesInACallThatDiffersWithoutIt) {
  const std::vector<StateCase> cases = recorded_state_cases();
  const auto is_shown = [&](const Operation &operation, const std::string &member) {
    for (const StateCase &recorded : cases) {
      for (std::size_t i = 0; i < recorded.calls.size(); ++i) {
        if (recorded.calls[i].operation != &operation) continue;
        if (shows(recorded, i, member)) return true;
      }
    }
    return false;
  };
  for (const Operation &operation : capi_test::state_operations()) {
    for (const auto &[member, described] : operation.members) {
      const bool is_of_parameters = member.find("params.") != std::string::npos;
      const bool is_a_state = member == "state" || member == "source" || member == "destination";
      if (is_given_by_others(member) || is_of_parameters || is_a_state) continue;
      if (without_calls().count(member)) continue;
      EXPECT_TRUE(is_shown(operation, member)) << operation.name << ": " << member;
    }
  }
}

TEST(VectorsHave, NoMembersThatAreExpectedToBeMissing) {
  for (const Operation &operation : RecordedOperations()) {
    for (const Case &recorded : recorded_cases(operation)) {
      for (const Arrays *arrays : {&recorded.inputs, &recorded.outputs}) {
        for (const auto &[member, array] : *arrays) {
          EXPECT_FALSE(is_without_calls(member, by_struct(operation, member)))
              << recorded.name << ": " << member;
        }
      }
      for (const auto &[member, bits] : recorded.args) {
        EXPECT_FALSE(is_without_calls(member, by_struct(operation, member)))
            << recorded.name << ": " << member;
      }
    }
  }
}

}  // namespace
}  // namespace vectors_test::vectors_test
