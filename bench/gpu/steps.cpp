#include "steps.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

namespace gpu_check {

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook(20);

[[noreturn]] void fail(const char *what) {
  throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

// Runs the command in the child process, in its own process group, with output to `output`.
[[noreturn]] void become(const Step &step, int output) {
  setpgid(0, 0);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  std::vector<char *> arguments;
  for (const std::string &argument : step.command) {
    arguments.push_back(const_cast<char *>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  std::fprintf(stderr, "%s: %s\n", arguments[0], std::strerror(errno));
  // The tool is not installed.
  _exit(errno == ENOENT ? kSkippedStep : 127);
}

// Prints what was written since `*offset`.
void print_new(int log, off_t *offset) {
  char text[4096];
  for (ssize_t n; (n = pread(log, text, sizeof text, *offset)) > 0; *offset += n) {
    std::fwrite(text, 1, size_t(n), stdout);
  }
  std::fflush(stdout);
}

StepStatus status_of(int exit_status) {
  if (exit_status == 0) return StepStatus::kPassed;
  return exit_status == kSkippedStep ? StepStatus::kSkipped : StepStatus::kFailed;
}

void write_results(const std::vector<StepResult> &results, const std::string &path) {
  Json json = Json::array();
  for (const StepResult &result : results) {
    json.push_back({{"name", result.name},
                    {"status", name(result.status)},
                    {"exit_status", result.exit_status},
                    {"seconds", result.seconds}});
  }
  std::ofstream file(path);
  file << json.dump(1) << '\n';
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

}  // namespace

const char *name(StepStatus status) {
  static const char *const kNames[] = {"passed", "failed", "skipped", "timed out"};
  return kNames[int(status)];
}

StepResult run_step(const Step &step, const std::string &log_path) {
  const int log = open(log_path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0644);
  if (log < 0) fail(log_path.c_str());
  std::fflush(nullptr);
  const Clock::time_point begin = Clock::now();
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) become(step, log);
  setpgid(child, child);  // in both processes: either may be first
  StepResult result = {step.name, StepStatus::kTimedOut, 0, 0.0};
  off_t printed = 0;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    print_new(log, &printed);
    if (Clock::now() - begin > std::chrono::seconds(step.seconds)) {
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
      break;
    }
    std::this_thread::sleep_for(kLook);
  }
  result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  result.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (result.seconds <= step.seconds) result.status = status_of(result.exit_status);
  kill(-child, SIGKILL);  // ends processes that it left running
  print_new(log, &printed);
  close(log);
  return result;
}

bool run_steps(const std::vector<Step> &steps, const std::string &folder) {
  std::filesystem::create_directories(folder);
  std::vector<StepResult> results;
  for (const Step &step : steps) {
    std::printf("==== %s (at most %d s)\n", step.name.c_str(), step.seconds);
    results.push_back(run_step(step, folder + "/" + step.name + ".log"));
    write_results(results, folder + "/steps.json");
    std::printf("==== %s: %s after %.1f s\n", step.name.c_str(), name(results.back().status),
                results.back().seconds);
  }
  for (const StepResult &result : results) {
    std::printf("%-12s %-10s %7.1f s\n", result.name.c_str(), name(result.status), result.seconds);
  }
  return std::all_of(results.begin(), results.end(), [](const StepResult &result) {
    return result.status == StepStatus::kPassed || result.status == StepStatus::kSkipped;
  });
}

namespace {

std::string folder_of(const std::string &program) {
  return program.substr(0, program.rfind('/') + 1);
}

Step sanitizer_step(const char *tool, const std::string &program) {
  return {tool,
          30,
          {"compute-sanitizer", "--tool", tool, "--error-exitcode", "1", program, "--check-only",
           "--small", "--check-budget", "15"}};
}

}  // namespace

std::vector<Step> brief_steps(const std::string &program, const std::string &folder) {
  return {
      {"facts", 20, {program, "--facts", "--json", folder + "/facts.json"}},
      {"once", 20, {program, "--check-only", "--small", "--check-budget", "10"}},
      {"suites", 60, {folder_of(program) + "gpu_suites"}},
      {"times",
       70,
       {program, "--time-only", "--with-goals", "--budget", "55", "--json",
        folder + "/times.json"}},
      sanitizer_step("memcheck", program),
      {"check", 40, {program, "--check-only", "--check-budget", "30"}},
  };
}

std::vector<Step> all_steps(const std::string &program, const std::string &folder) {
  const auto in_folder = [&](const char *file) { return folder + "/" + file; };
  const std::string beside = folder_of(program);
  std::vector<Step> steps = {
      {"facts", 20, {program, "--facts", "--json", in_folder("facts.json")}},
      {"once", 30, {program, "--check-only", "--small", "--check-budget", "20"}},
      {"suites", 60, {beside + "gpu_suites"}},
      {"times", 90, {program, "--time-only", "--budget", "70", "--json", in_folder("times.json")}},
      {"profile",
       110,
       {"ncu", "--set", "detailed", "--launch-count", "1", "--kernel-name",
        "regex:(operation|spread)_kernel", "--force-overwrite", "--export", in_folder("profile"),
        program, "--time-only", "--budget", "1", "--filter", "top_k50_top_p0.9/B=64/V=128256/f32",
        "--json", ""}},
      {"check", 110, {program, "--check-only", "--check-budget", "95"}},
  };
  for (const char *tool : {"memcheck", "racecheck", "synccheck", "initcheck"}) {
    steps.push_back(sanitizer_step(tool, program));
  }
  steps.push_back(
      {"peers",
       60,
       {"python3", beside + "torch_peer.py", "--budget", "50", "--json", in_folder("peers.json")}});
  return steps;
}

}  // namespace gpu_check
