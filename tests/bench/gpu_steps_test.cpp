// The steps of a run on a GPU: each ends alone, in time, and leaves what it printed.
#include "steps.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace gpu_check::gpu_steps_test {
namespace {

class StepsTest : public testing::Test {
 protected:
  StepsTest() {
    std::string pattern = testing::TempDir() + "gpu_steps.XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~StepsTest() override { std::filesystem::remove_all(folder_); }

  std::string read(const std::string &file) const {
    std::ifstream in(folder_ + "/" + file);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

  StepResult run(const std::string &script, int seconds = 20) {
    return run_step({"step", seconds, {"sh", "-c", script}}, folder_ + "/step.log");
  }

  std::string folder_;
};

TEST_F(StepsTest, TellHowTheyEnd) {
  EXPECT_EQ(run("exit 0").status, StepStatus::kPassed);
  EXPECT_EQ(run("exit 77").status, StepStatus::kSkipped);
  const StepResult failed = run("exit 3");
  EXPECT_EQ(failed.status, StepStatus::kFailed);
  EXPECT_EQ(failed.exit_status, 3);
  const StepResult crashed = run("kill -SEGV $$");
  EXPECT_EQ(crashed.status, StepStatus::kFailed);
  EXPECT_EQ(crashed.exit_status, 128 + SIGSEGV);
}

TEST_F(StepsTest, LeaveWhatTheyPrint) {
  run("echo one; echo two >&2; exit 1");
  EXPECT_EQ(read("step.log"), "one\ntwo\n");
}

TEST_F(StepsTest, AreSkippedWithoutTheirTool) {
  const Step step = {"step", 20, {"no-such-tool-of-libsampler"}};
  EXPECT_EQ(run_step(step, folder_ + "/step.log").status, StepStatus::kSkipped);
}

// Also what they started, which would go on beside the next step.
TEST_F(StepsTest, AreKilledInTime) {
  const StepResult result = run("(sleep 2; echo late) & sleep 60", 1);
  EXPECT_EQ(result.status, StepStatus::kTimedOut);
  EXPECT_LT(result.seconds, 30.0);
  std::system("sleep 2");
  EXPECT_EQ(read("step.log"), "");
}

TEST_F(StepsTest, GoOnAfterAFault) {
  const std::vector<Step> steps = {{"first", 20, {"sh", "-c", "kill -ABRT $$"}},
                                   {"second", 20, {"sh", "-c", "echo done"}}};
  EXPECT_FALSE(run_steps(steps, folder_));
  EXPECT_EQ(read("second.log"), "done\n");
  const std::string results = read("steps.json");
  EXPECT_NE(results.find("\"failed\""), std::string::npos) << results;
  EXPECT_NE(results.find("\"passed\""), std::string::npos) << results;
}

TEST_F(StepsTest, TakeTenMinutesAtMost) {
  int seconds = 0;
  for (const Step &step : all_steps("./gpu_check", folder_)) seconds += step.seconds;
  EXPECT_LE(seconds, 600);
}

}  // namespace
}  // namespace gpu_check::gpu_steps_test
