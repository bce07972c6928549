// Steps of a run on a machine that may be available only once: each in its own process, so that a
// fault in one ends neither the others nor their results.
#pragma once

#include <string>
#include <vector>

namespace gpu_check {

struct Step {
  std::string name;
  int seconds;                       // after that it is killed, with its children
  std::vector<std::string> command;  // the program is searched on the PATH
};

enum class StepStatus { kPassed, kFailed, kSkipped, kTimedOut };
const char *name(StepStatus status);

struct StepResult {
  std::string name;
  StepStatus status;
  int exit_status;  // 128 + the signal's number if a signal ended it
  double seconds;
};

// Exit status of a step that does not apply; it prints why.
constexpr int kSkippedStep = 77;

// Runs a step; its output goes to this program's output and to `log_path`.
StepResult run_step(const Step &step, const std::string &log_path);

// Runs all, and writes results to `folder`/steps.json after each. True if none failed.
bool run_steps(const std::vector<Step> &steps, const std::string &folder);

// The steps of three minutes, and of ten: `program` is this one; results go to `folder`.
std::vector<Step> brief_steps(const std::string &program, const std::string &folder);
std::vector<Step> all_steps(const std::string &program, const std::string &folder);

}  // namespace gpu_check
