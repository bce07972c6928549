// Compares a CUDA device with the CPU bit for bit, and times calls on it: all steps in ten minutes,
// each in its own process, or one step.
#include <CLI/CLI.hpp>
#include <cinttypes>
#include <cstdio>
#include <exception>

#include "check.h"
#include "facts.h"
#include "goals.h"
#include "runtime.h"
#include "steps.h"
#include "timing.h"

namespace gpu_check {

namespace {

struct Arguments {
  CheckOptions check;
  TimingOptions timing;
  bool facts = false, check_only = false, time_only = false, cpu_only = false;
  std::string one, all_steps_folder, brief_folder;
};

bool report(const CheckOptions &options, const CheckReport &result) {
  std::printf("%" PRId64 " calls compared %s, %" PRId64 " mismatches", result.num_calls,
              options.device >= 0 ? "between device and CPU" : "on the CPU", result.num_mismatches);
  if (result.num_left_out > 0) std::printf(", %" PRId64 " left out", result.num_left_out);
  std::printf("\n");
  return result.num_mismatches == 0 && (result.num_calls > 0 || !options.filter.empty());
}

int run(Arguments arguments) {
  const int num_devices = arguments.cpu_only ? 0 : num_cuda_devices();
  arguments.timing.filter = arguments.check.filter;
  if (num_devices == 0) {
    arguments.check.device = -1;
  } else {
    CUDA_CHECK(cudaSetDevice(arguments.check.device));
    arguments.timing.device = arguments.check.device;
  }
  if (arguments.facts) {
    if (num_devices == 0) {
      std::printf("skipped: no CUDA device\n");
      return kSkippedStep;
    }
    report_facts(arguments.check.device, arguments.timing.json_path);
    return 0;
  }
  bool passed = true;
  if (!arguments.time_only) passed = report(arguments.check, run_checks(arguments.check));
  if (num_devices == 0) {
    std::printf(arguments.cpu_only ? "skipped: --cpu-only\n" : "skipped: no CUDA device\n");
    if (arguments.time_only) return kSkippedStep;
  } else if (!arguments.check_only && !arguments.check.only) {
    const int num_left_out = run_timing(arguments.timing);
    if (num_left_out > 0)
      std::printf("%d cells left out for want of time or memory\n", num_left_out);
    if (arguments.timing.is_brief) print_beside_goals(arguments.timing.json_path);
  }
  return passed ? 0 : 1;
}

int parse_and_run(int argc, char **argv) {
  Arguments arguments;
  arguments.check.device = 0;
  arguments.check.budget_seconds = 240;
  arguments.timing.json_path = "gpu.json";
  CLI::App app("Compares a CUDA device with the CPU bit for bit, and times calls on it");
  app.add_option("--device", arguments.check.device, "CUDA device number")->capture_default_str();
  app.add_option("--all-steps", arguments.all_steps_folder,
                 "Everything, in ten minutes, results in this folder; see README.txt");
  app.add_option("--brief", arguments.brief_folder,
                 "What a change is looked at by, in three minutes, results in this folder");
  app.add_flag("--with-goals", arguments.timing.is_brief,
               "Times only cells with goals, and prints them beside those");
  app.add_flag("--facts", arguments.facts, "What the device is, and its latencies");
  app.add_flag("--check-only", arguments.check_only, "No timing");
  app.add_flag("--time-only", arguments.time_only, "No checks");
  app.add_flag("--cpu-only", arguments.cpu_only, "As on a machine without a CUDA device");
  app.add_flag("--small", arguments.check.is_small, "Checks on a cut grid, for compute-sanitizer");
  app.add_option("--case", arguments.one, "Checks this one: operation:rows:columns:seed...");
  app.add_option("--check-budget", arguments.check.budget_seconds, "Seconds for the checks")
      ->capture_default_str();
  app.add_option("--budget", arguments.timing.budget_seconds, "Seconds for the timing")
      ->capture_default_str();
  app.add_option("--json", arguments.timing.json_path, "Where the times go, rewritten every cell")
      ->capture_default_str();
  app.add_option("--filter", arguments.check.filter, "Only cases and cells that contain this text");
  CLI11_PARSE(app, argc, argv);
  if (!arguments.all_steps_folder.empty()) {
    const bool passed =
        run_steps(all_steps(argv[0], arguments.all_steps_folder), arguments.all_steps_folder);
    return passed ? 0 : 1;
  }
  if (!arguments.brief_folder.empty()) {
    const bool passed =
        run_steps(brief_steps(argv[0], arguments.brief_folder), arguments.brief_folder);
    return passed ? 0 : 1;
  }
  arguments.timing.command = "./gpu_check";
  for (int i = 1; i < argc; ++i) arguments.timing.command += std::string(" ") + argv[i];
  if (!arguments.one.empty()) {
    Case only;
    if (!from_text(arguments.one, &only)) {
      std::fprintf(stderr, "no case: %s\n", arguments.one.c_str());
      return 2;
    }
    arguments.check.only = only;
  }
  return run(arguments);
}

}  // namespace

}  // namespace gpu_check

int main(int argc, char **argv) {
  try {
    return gpu_check::parse_and_run(argc, argv);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
