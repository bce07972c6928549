// The timing part: how long calls take on the device, as JSON that grows with every cell.
#pragma once

#include <string>

namespace gpu_check {

struct TimingOptions {
  int device = 0;
  double budget_seconds = 480;  // no cell is begun after it
  std::string filter;           // part of a cell's name; empty: all
  std::string json_path;
  std::string command;  // that the results are recorded with
};

// Cells that were not measured, for want of time or memory.
int run_timing(const TimingOptions &options);

}  // namespace gpu_check
