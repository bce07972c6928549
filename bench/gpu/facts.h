// A device's properties and the time of its simplest steps, on which designs are based.
#pragma once

#include <string>

namespace gpu_check {

// Prints them, and writes them to `json_path` unless that is empty.
void report_facts(int device, const std::string &json_path);

}  // namespace gpu_check
