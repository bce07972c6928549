// Times of calls on the device, as JSON that grows with every cell.
#pragma once

#include <string>

namespace gpu_check {

struct TimingOptions {
  int device = 0;
  double budget_seconds = 480;  // no cell starts after it
  std::string filter;           // substring of a cell's name; empty: all
  bool is_brief = false;        // f32 cells with goals alone, a fifth of the time for each
  std::string json_path;
  std::string command;  // recorded with the results
};

// Returns the number of cells not measured, for lack of time or memory.
int run_timing(const TimingOptions &options);

}  // namespace gpu_check
