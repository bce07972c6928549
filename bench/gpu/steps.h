// Steps of a run on a machine that may be had once: each in a process of its own, so that a fault
// in one ends neither the others nor what they have written.
#pragma once

#include <string>
#include <vector>

namespace gpu_check {

struct Step {
  std::string name;
  int seconds;                       // after which it is killed, with all that it started
  std::vector<std::string> command;  // the program is looked for on the PATH
};

enum class StepStatus { kPassed, kFailed, kSkipped, kTimedOut };
const char *name(StepStatus status);

struct StepResult {
  std::string name;
  StepStatus status;
  int exit_status;  // 128 and the signal's number, where a signal ended it
  double seconds;
};

// Exit status of a step that has nothing to do here; it prints why.
constexpr int kSkippedStep = 77;

// Runs it; what it prints goes where this program's output goes, and to `log_path`.
StepResult run_step(const Step &step, const std::string &log_path);

// Runs all, and writes results to `folder`/steps.json after each. True when none failed.
bool run_steps(const std::vector<Step> &steps, const std::string &folder);

// The ten minutes: `program` is this one, `folder` is where results go.
std::vector<Step> all_steps(const std::string &program, const std::string &folder);

}  // namespace gpu_check
