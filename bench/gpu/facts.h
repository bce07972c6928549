// What a device is and how long its simplest steps take: the figures that designs are decided by.
#pragma once

#include <string>

namespace gpu_check {

// Prints them, and writes them to `json_path` unless that is empty.
void report_facts(int device, const std::string &json_path);

}  // namespace gpu_check
