// The check: a CUDA handle against a CPU handle or, without a device, two CPU handles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "problem.h"

namespace gpu_check {

struct CheckOptions {
  int device = -1;            // -1: CPU only
  bool is_small = false;      // reduced grid, for compute-sanitizer
  double budget_seconds = 0;  // no problem starts after it
  std::string filter;         // substring of a case's text; empty: all
  std::optional<Case> only;   // one case instead of the grid
};

struct CheckReport {
  int64_t num_calls = 0;
  int64_t num_mismatches = 0;
  int64_t num_left_out = 0;  // for lack of time
};

CheckReport run_checks(const CheckOptions &options);

}  // namespace gpu_check
